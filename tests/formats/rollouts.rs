//! Codex rollouts: what the reader makes of lines, what the trace makes of requests, and how the
//! rules agree with the cached tokens that real ones recorded.

use std::collections::BTreeMap;
use std::path::Path;

use cachesim::base::client::Client;
use cachesim::base::units::{Millis, Tokens};
use cachesim::read::input::{Diagnostics, Discovered, Kind, Source, discover};
use cachesim::requests::conversation::{History, ReadOptions, RequestIndex, read};
use cachesim::requests::prompt::{PromptTrace, SharedPrefix, build, steps};
use cachesim::simulate::ledger::Totals;
use cachesim::simulate::provider::{ALL, RolloutAgreement, agreement, by_name, recorded_step};
use cachesim::{Strategy, Study, StudyOptions, Ttl};
use serde_json::{Value, json};

use crate::common::shared;

/// 2026-10-01T00:00:00Z.
const START: i64 = 1_790_812_800_000;

/// An invented session, with the seconds at which its lines were written.
#[derive(Default)]
struct Session {
    text: String,
    /// Input and output of all requests so far.
    total: (u64, u64),
}

impl Session {
    fn line(&mut self, second: i64, kind: &str, payload: &Value) -> &mut Self {
        let timestamp = Millis::new(START + second * 1_000).to_string();
        let line = json!({"timestamp": timestamp, "type": kind, "payload": payload});
        self.text.push_str(&line.to_string());
        self.text.push('\n');
        self
    }

    fn event(&mut self, second: i64, kind: &str) -> &mut Self {
        self.line(second, "event_msg", &json!({"type": kind}))
    }

    fn item(&mut self, second: i64, kind: &str) -> &mut Self {
        self.line(second, "response_item", &json!({"type": kind}))
    }

    fn report(&mut self, second: i64, last: &Value) -> &mut Self {
        let (input, output) = self.total;
        let total = json!({"input_tokens": input, "output_tokens": output});
        let info = json!({"total_token_usage": total, "last_token_usage": last});
        self.line(second, "event_msg", &json!({"type": "token_count", "info": info}))
    }

    /// The report of a request: (input, cached, output, reasoning).
    fn usage(&mut self, second: i64, tokens: (u64, u64, u64, u64)) -> &mut Self {
        let (input, cached, output, reasoning) = tokens;
        self.total = (self.total.0 + input, self.total.1 + output);
        let last = json!({"input_tokens": input, "cached_input_tokens": cached,
            "output_tokens": output, "reasoning_output_tokens": reasoning});
        self.report(second, &last)
    }

    fn load(&self) -> History {
        load(self.text.as_bytes())
    }
}

fn load(bytes: &[u8]) -> History {
    let sources = vec![Source::in_memory("rollout.jsonl", bytes)];
    let discovered = Discovered { sources, diagnostics: Diagnostics::default() };
    read(discovered, ReadOptions::default(), |_| {})
}

fn trace(history: &History, shared: SharedPrefix) -> PromptTrace {
    build(history, &steps(history), shared)
}

/// Two turns, an interrupted answer, a compaction and a pause.
fn session() -> Session {
    let mut session = Session::default();
    session
        .line(0, "session_meta", &json!({"id": "s-1", "cwd": "/work"}))
        .event(0, "task_started")
        .line(0, "turn_context", &json!({"model": "gpt-5.5"}))
        .event(1, "user_message")
        .item(3, "reasoning")
        .item(4, "function_call")
        .item(5, "function_call_output")
        .usage(5, (20_000, 9_088, 300, 100))
        .item(9, "function_call")
        .usage(10, (20_400, 19_968, 200, 50))
        .line(11, "event_msg", &json!({"type": "token_count", "info": null}))
        .item(12, "reasoning")
        .report(12, &json!({"input_tokens": 20_400}))
        .item(13, "agent_message")
        .line(14, "something_new", &json!({"type": "token_count"}))
        .line(19, "response_item", &json!({"type": "message", "role": "assistant"}))
        .usage(20, (20_700, 20_608, 100, 0))
        .event(99, "task_started")
        .event(100, "user_message")
        .usage(105, (20_500, 19_968, 200, 0))
        .line(200, "compacted", &json!({"message": ""}))
        .usage(205, (21_000, 9_088, 200, 0))
        .event(905, "user_message")
        .usage(910, (21_500, 20_992, 200, 0));
    session
}

#[test]
fn a_request_is_what_a_report_adds() {
    let history = session().load();
    assert_eq!(history.diagnostics.counts().count(), 0);
    let texts = |symbol| history.text(symbol);
    let first = &history.requests[0];
    assert_eq!((texts(Some(first.session)), texts(first.project)), (Some("s-1"), Some("/work")));
    let seconds = |start: Millis| (start.get() - START) / 1_000;
    let requests: Vec<_> = history
        .of_agents
        .iter()
        .map(|request| {
            let flags =
                [request.begins_turn, request.is_after_interruption, request.is_after_compaction];
            let prompt = request.usage.prompt;
            (seconds(request.start), prompt.total().0, prompt.read.0, flags)
        })
        .collect();
    // Sent when the newest result, message or report before the answer was written.
    let expected = [
        (1, 20_000, 9_088, [true, false, false]),
        (5, 20_400, 19_968, [false; 3]),
        (13, 20_700, 20_608, [false, true, false]),
        (100, 20_500, 19_968, [true, false, false]),
        (200, 21_000, 9_088, [false, false, true]),
        (905, 21_500, 20_992, [false; 3]),
    ];
    assert_eq!(requests, expected);
    let first = &history.of_agents[0];
    assert_eq!((first.line, first.usage.output, first.reasoning), (8, Tokens(300), Tokens(100)));
    assert_eq!(
        (first.usage.prompt.written(), texts(Some(first.model))),
        (Tokens(0), Some("gpt-5.5"))
    );
    let ends: Vec<bool> = history.requests.iter().map(|request| request.ends_turn).collect();
    assert_eq!(ends, [false, false, true, false, false, true]);
    let before: Vec<_> =
        history.requests.iter().map(|request| request.predecessor.map(RequestIndex::get)).collect();
    assert_eq!(before, [None, Some(0), Some(1), Some(2), Some(3), Some(4)]);
}

#[test]
fn damage_costs_only_its_line() {
    let mut session = session();
    let whole = session.load().of_agents;
    let torn = session.text.lines().next().expect("a line")[..40].to_owned();
    session.text = format!("{}{torn}\n\n[1]\nnot json\n{{nor this}}\n", session.text);
    session.text.push_str("{\"type\":\"event_msg\",\"type\":\"event_msg\"}\n");
    session.usage(920, (10, 11, 0, 0)).usage(921, (1_000_000_000_000_000_000, 0, 0, 0));
    session.total.0 += 1;
    session.report(922, &json!({"cached_input_tokens": 5}));
    session.line(923, "session_meta", &json!({"id": "s-0"}));
    session.usage(924, (30_000, 0, 0, 0));
    let history = session.load();
    assert_eq!(history.of_agents[..whole.len()], whole);
    assert_eq!(history.of_agents.len(), whole.len() + 1);
    let count = |kind| history.diagnostics.count(kind);
    for (kind, expected) in [
        (Kind::TornLine, 1),
        (Kind::EmptyLine, 1),
        (Kind::NotAnObject, 1),
        (Kind::NotJson, 2),
        (Kind::DuplicateKey, 1),
        (Kind::InvalidUsage, 2),
        (Kind::MissingUsage, 1),
    ] {
        assert_eq!(count(kind), expected, "{kind:?}");
    }
}

#[test]
fn joined_values_and_unknown_counts_are_kept_apart() {
    let mut session = Session::default();
    session.line(0, "session_meta", &json!({"id": "\u{1f600}"}));
    session.usage(5, (20_000, 0, 1, 0));
    session.text = session.text.replace('\n', "") + "\n";
    session.total.0 += 9_000;
    session.report(9, &json!({"input_tokens": 9_000, "cached_input_tokens": null}));
    let history = session.load();
    assert_eq!(history.diagnostics.count(Kind::JoinedLine), 1);
    assert_eq!(history.diagnostics.count(Kind::UsageWithoutCacheCounters), 1);
    let [request] = &history.of_agents[..] else { panic!("one request") };
    assert_eq!(
        (request.usage.prompt.total(), request.usage.prompt.read),
        (Tokens(20_000), Tokens(0))
    );
    assert_eq!(history.symbols.text(request.model), "unknown");
}

#[test]
fn only_rollouts_are_read_as_such() {
    let transcript = br#"{"type":"user","uuid":"a","message":{"role":"user","content":"x"}}"#;
    let foreign = br#"{"type":"something_new","payload":{}}"#;
    for bytes in [&transcript[..], foreign, b""] {
        assert!(load(bytes).requests.is_empty());
    }
}

/// GPT-5.5 on that day: $5 for a million input tokens, $0.50 read, $30 of output, writes free.
#[test]
fn a_rollout_is_billed_and_simulated_by_the_rules_of_its_service() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("rollout.jsonl"), &session().text).expect("a file");
    let study = |folder: &Path| {
        Study::read(&[folder.to_owned()], StudyOptions::default()).expect("requests")
    };
    let strategies = [
        Strategy::billed(),
        Strategy::expected(),
        Strategy::uncached(),
        Strategy::lifetime(Ttl::OneHour),
    ];
    let costs = |study: &Study| -> Vec<Option<String>> {
        let totals = study.totals(&strategies).expect("totals");
        let cost = |totals: &Totals| Some(totals.cost()?.to_string());
        totals.iter().map(|(_, totals)| cost(totals)).collect()
    };
    let alone = study(folder.path());
    // Prompts of 124,100 tokens, answers of 1,200.
    // billed: 99,712 read; expected: 9,088 at first, then in steps of 512 after 384 the whole steps of
    // 20,000, 20,400, and 20,000 twice: 19,840, 20,352, 19,840 twice; and of 21,000 20,864, as the pause is
    // shorter than an hour. All of it 109,824: 14,276 × 5 + 109,824 × 0.5 + 1,200 × 30 millionths.
    let known = [Some("0.207796"), Some("0.162292"), Some("0.6565"), None];
    assert_eq!(costs(&alone), known.map(|cost| cost.map(str::to_owned)));

    // Beside a transcript an hour for all markers changes nothing of it. Of the transcript 2 tokens of
    // input, 9,000 read, 1,000 written and 1 of output cost $0.010785, written for an hour $0.014535.
    let transcript = json!({"type": "assistant", "uuid": "a", "sessionId": "s", "requestId": "r",
        "timestamp": "2026-08-03T10:00:00Z", "message": {"id": "m", "model": "claude-opus-5",
        "content": [], "usage": {"input_tokens": 2, "cache_read_input_tokens": 9_000,
        "cache_creation_input_tokens": 1_000, "output_tokens": 1}}});
    std::fs::write(folder.path().join("s.jsonl"), transcript.to_string()).expect("a file");
    let both = study(folder.path());
    assert_eq!(both.history.requests.len(), 7);
    let costs = costs(&both);
    let known = [Some("0.218581"), Some("0.222331")];
    assert_eq!([&costs[0], &costs[3]], known.map(|cost| cost.map(str::to_owned)).each_ref());
}

#[test]
fn prompts_go_on_from_what_was_kept() {
    let history = session().load();
    let built = trace(&history, SharedPrefix::Auto);
    let kept: Vec<Option<u64>> = built
        .prompts
        .iter()
        .map(|prompt| {
            let parent = built.node(prompt.node).parent;
            parent.map(|parent| built.node(parent).end.0)
        })
        .collect();
    // The fourth dropped the reasoning of the turn before, which began with the first answer; the
    // fifth follows a compaction.
    let expected = [None, Some(20_000), Some(20_400), Some(20_000), Some(20_000), Some(21_000)];
    assert_eq!(kept, expected);
    let warm = |prompt: usize| built.prompts[prompt].shared_prefix;
    assert_eq!((warm(0), warm(1)), (Tokens(0), Tokens(9_088)));
    let cold = trace(&history, SharedPrefix::Cold);
    assert!(cold.prompts.iter().all(|prompt| prompt.shared_prefix == Tokens::ZERO));
}

#[test]
fn the_rules_are_held_against_the_record() {
    let openai = by_name("openai").expect("a provider");
    let history = session().load();
    let trace = trace(&history, SharedPrefix::Auto);
    let step = recorded_step(&history, "gpt-5.5");
    // 9,088, 19,968, 20,608 and 20,992 are 71, 156, 161 and 164 × 128.
    assert_eq!(step, Some(Tokens(128)));
    // Of the requests after the first, under the rules: 20,000 → 19,968; 20,400 → 20,352; 19,968
    // twice; and after 705 seconds only the 9,088 that were warm at first.
    let expected = RolloutAgreement {
        requests: 5,
        within_1_percent: 2,
        within_step: 2,
        within_recorded_step: 2,
        recorded: Tokens(19_968 + 20_608 + 19_968 + 9_088 + 20_992),
        simulated: Tokens(19_968 + 20_352 + 19_968 + 19_968 + 9_088),
        error: Tokens(256 + 10_880 + 11_904),
        both_lost: 0,
        only_recorded_lost: 1,
        only_simulated_lost: 1,
        beyond_predecessor: 1,
    };
    assert_eq!(agreement(&history, &trace, openai), expected);
    let other = by_name("openai-5.6").expect("a provider");
    assert_eq!(agreement(&history, &trace, other), RolloutAgreement::default());
}

/// A request does not see its own cached tokens; only a session's first one tells what was warm.
#[test]
fn a_request_does_not_see_its_own_cached_tokens() {
    let simulated = |history: &History| -> Vec<_> {
        let built = trace(history, SharedPrefix::Auto);
        by_name("openai").expect("a provider").rules.simulate(&built, true)
    };
    let expected = simulated(&session().load());
    assert_eq!(expected[0].read, Tokens(9_088));
    let mut changed = session().load();
    for request in &mut changed.of_agents[1..] {
        let prompt = &mut request.usage.prompt;
        prompt.input = prompt.total().saturating_sub(Tokens(77));
        prompt.read = Tokens(77);
    }
    assert_eq!(simulated(&changed), expected);
}

#[test]
fn mutated_rollouts_panic_nowhere() {
    let text = session().text.into_bytes();
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state % below as u64).expect("smaller than a usize")
    };
    for _ in 0..3_000 {
        let mut bytes = text.clone();
        for _ in 0..=random(6) {
            let place = random(bytes.len());
            match random(4) {
                0 => bytes.truncate(place.max(1)),
                1 => bytes[place] = b"\"{}[]:,\n\\u0919-\xff"[random(16)],
                2 => drop(bytes.remove(place.min(bytes.len() - 1))),
                _ => bytes.extend_from_within(place..),
            }
            if bytes.is_empty() {
                break;
            }
        }
        let history = load(&bytes);
        let trace = trace(&history, SharedPrefix::Auto);
        for provider in ALL {
            let agreement = agreement(&history, &trace, &provider);
            assert!(agreement.requests <= history.of_agents.len() as u64);
        }
    }
}

fn corpus() -> Option<History> {
    Some(read(discover(&[shared("corpus")?]), ReadOptions::default(), |_| {}))
}

/// A second reading of the same files, every line a JSON value.
fn naive_reads(path: &Path) -> Vec<(u64, u64)> {
    let text = std::fs::read_to_string(path).expect("a file");
    let mut before = Value::Null;
    let mut reads = Vec::new();
    for line in text.lines() {
        let value: Value = serde_json::from_str(line).expect("JSON");
        let info = &value["payload"]["info"];
        if value["payload"]["type"] != "token_count" || info["total_token_usage"] == before {
            continue;
        }
        before = info["total_token_usage"].clone();
        let count = |field: &str| info["last_token_usage"][field].as_u64().expect("a count");
        reads.push((count("input_tokens"), count("cached_input_tokens")));
    }
    reads
}

#[test]
fn every_recorded_request_counts_once() {
    let (Some(folder), Some(history)) = (shared("corpus"), corpus()) else { return };
    let mut reads: BTreeMap<usize, Vec<(u64, u64)>> = BTreeMap::new();
    for request in &history.requests[history.sent_with_markers().len()..] {
        if request.client != Client::Codex {
            continue;
        }
        let prompt = request.recorded().prompt;
        reads.entry(request.file).or_default().push((prompt.total().0, prompt.read.0));
    }
    assert_eq!(reads.len(), 12);
    for (file, read) in &reads {
        assert_eq!(*read, naive_reads(&folder.join(&*history.files[*file].label)));
    }
    // And two of another agent.
    assert_eq!(history.of_agents.len(), 1_180);
}

/// GPT-5.5: 531 of 553 within 1 %, 532 within the recorded step, errors of 1.08 % of all reads;
/// GPT-5.6: 501 and 541 of 613, errors of 0.67 %. The documented step of 128 tokens is not what is
/// recorded: reads are 512 or 1,024 apart. What else differs is named by the last figures: prefixes
/// that were gone within minutes (other machines), that lived longer than documented, and answers
/// that were interrupted and left their prompt in the cache.
#[test]
fn the_rules_agree_with_what_was_recorded() {
    let Some(history) = corpus() else { return };
    let trace = trace(&history, SharedPrefix::Auto);
    for (name, requests, within_1_percent, within_recorded_step, per_mille) in
        [("openai", 553, 95, 95, 12), ("openai-5.6", 613, 80, 87, 8)]
    {
        let agreement = agreement(&history, &trace, by_name(name).expect("a provider"));
        assert_eq!(agreement.requests, requests);
        assert!(agreement.within_1_percent * 100 >= requests * within_1_percent, "{agreement:?}");
        let within = agreement.within_recorded_step;
        assert!(within * 100 >= requests * within_recorded_step, "{agreement:?}");
        assert!(agreement.error.0 * 1_000 <= agreement.recorded.0 * per_mille, "{agreement:?}");
        assert!(agreement.only_recorded_lost <= 4, "{agreement:?}");
        assert!(agreement.only_simulated_lost <= 3, "{agreement:?}");
    }
    let step = |model| recorded_step(&history, model);
    assert_eq!(step("gpt-5.5"), Some(Tokens(512)));
    assert_eq!(step("gpt-5.6-terra"), Some(Tokens(512)));
    assert_eq!(step("gpt-5.6-sol"), Some(Tokens(1_024)));
}
