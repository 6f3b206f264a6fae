//! `advise`: the changes add up, the first one names what is wrong, and dollars are those worked out by
//! hand.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use cachesim::base::ttl::Ttl;
use cachesim::base::units::{Millis, Picodollars, Tokens};
use cachesim::explain::advice::{Advice, AdviceEntry};
use cachesim::explain::breaks::{Analysis, Cause, Contradiction, Options};
use cachesim::read::input::discover;
use cachesim::requests::conversation::{History, ReadOptions, read};
use cachesim::requests::prompt::{PromptTrace, Repair, Step, build, steps};
use cachesim::simulate::ledger::{Ledger, Selection};
use cachesim::simulate::management::{Compaction, Management};
use cachesim::simulate::pricing::PriceTable;
use cachesim::simulate::strategy::{
    Anchor, Assumptions, Design, KeepAlive, Layout, Starts, Strategy, StrategyKind,
};
use enumset::enum_set;
use serde_json::{Value, json};

use crate::common::{self, files, fixtures, project, shared, stdout};

/// Everything that changes are applied to.
struct Input {
    history: History,
    steps: Vec<Step>,
    trace: PromptTrace,
    prices: PriceTable,
    assumptions: Assumptions,
}

impl Input {
    fn new(path: PathBuf) -> Self {
        let options = ReadOptions { keeps_bytes: true, ..ReadOptions::default() };
        let history = read(discover(&[path]), options, |_| {});
        let steps = steps(&history);
        let assumptions = Assumptions::default();
        let trace = build(&history, &steps, assumptions.shared_prefix);
        Self { history, steps, trace, prices: PriceTable::built_in(), assumptions }
    }

    fn ledger(&self, trace: &PromptTrace, strategies: &[Strategy]) -> Ledger<'_> {
        let Self { history, steps, prices, assumptions, .. } = self;
        Ledger::new(history, steps, trace, prices, strategies, assumptions)
    }

    fn advice(&self) -> (Option<Advice>, Analysis) {
        self.told(Advice::new)
    }

    /// What is told of all requests, and their breaks.
    fn told<T>(
        &self,
        tell: impl FnOnce(&Ledger<'_>, &PromptTrace, &Selection, &Analysis) -> T,
    ) -> (T, Analysis) {
        let strategies = ["billed", "replay", "5m", "1h"]
            .map(|name| Strategy::by_name(name).expect("a strategy"));
        let ledger = self.ledger(&self.trace, &strategies);
        let selection = Selection::new(&self.history, None, None);
        let options = Options::default();
        let analysis = Analysis::new(&ledger, &self.trace, &self.steps, &selection, options)
            .expect("the record and its replay");
        (tell(&ledger, &self.trace, &selection, &analysis), analysis)
    }

    /// What all requests cost with some changes, applied by their names alone.
    fn cost(&self, codes: &[&str], analysis: &Analysis) -> Picodollars {
        let mut trace = self.trace.clone();
        let mut design = Design::default();
        for code in codes {
            if *code == "long_pauses" || Cause::by_name(code).is_some() {
                self.repair(&mut trace, code, analysis);
            } else {
                set(&mut design, code);
            }
        }
        let strategy = Strategy {
            name: "all".into(),
            summary: "all changes".into(),
            kind: StrategyKind::Counterfactual(design),
        };
        let ledger = self.ledger(&trace, &[strategy]);
        let column = &ledger.columns[0];
        let selection = Selection::new(&self.history, None, None);
        let rows = selection.requests().flat_map(|index| ledger.rows(column, index));
        // Samplings billed apart are in every strategy, and no change concerns them.
        rows.filter(|row| row.iteration.is_none()).filter_map(|row| row.cost).sum()
    }

    /// Takes the breaks of a cause out of the trace.
    fn repair(&self, trace: &mut PromptTrace, code: &str, analysis: &Analysis) {
        for found in &analysis.breaks.list {
            let is_expiry = matches!(found.cause, Cause::TtlExpired5m | Cause::TtlExpired1h);
            let is_long = found.gap.is_some_and(|gap| gap >= Ttl::OneHour.millis());
            let (is_meant, repair) = match code {
                "long_pauses" => (is_expiry && is_long, Repair::KeptAlive),
                _ => (found.cause.name() == code, Repair::Found),
            };
            let has_predecessor = self.history.request(found.request).predecessor.is_some();
            if is_meant && has_predecessor {
                let prompt = &mut trace.prompts[found.request.get()];
                let rare = prompt.rare.get_or_insert_default();
                rare.broken_read = None;
                rare.repair = Some(repair);
            }
        }
    }
}

/// Sets what the change of a name sets.
fn set(design: &mut Design, code: &str) {
    let minutes = |minutes: i64| minutes * 60_000;
    let pings = |every, limit| Some(KeepAlive { every, limit, agents: false });
    match code {
        "compact-150k" => {
            let threshold = Some(Tokens(150_000));
            let compaction = Compaction { threshold, ..Compaction::default() };
            design.management = Some(Box::new(Management::Compaction(compaction)));
        }
        "pings-4m30s" => design.keep_alive = pings(270_000, minutes(30)),
        "pings-55m" => design.keep_alive = pings(minutes(55), minutes(240)),
        "system-and-last" => {
            design.layout = Layout::At(enum_set!(Anchor::System | Anchor::Last));
        }
        "system-and-last-two" => {
            let anchors = enum_set!(Anchor::System | Anchor::Previous | Anchor::Last);
            design.layout = Layout::At(anchors);
        }
        name => set_named(design, name),
    }
}

fn set_named(design: &mut Design, name: &str) {
    let strategy = Strategy::by_name(name).unwrap_or_else(|| panic!("{name}"));
    let StrategyKind::Counterfactual(named) = strategy.kind else { panic!("{name}") };
    design.ttl = named.ttl.or(design.ttl);
    design.latches_ttl |= named.latches_ttl;
    if named.layout != Layout::AsRecorded {
        design.layout = named.layout;
    }
    if named.management.is_some() {
        design.management = named.management;
    }
    design.sharing.forks_agents |= named.sharing.forks_agents;
    design.sharing.skips_cache_writes |= named.sharing.skips_cache_writes;
    if named.sharing.starts != Starts::AsRecorded {
        design.sharing.starts = named.sharing.starts;
    }
    let (own, other) = (&mut design.prompt, named.prompt);
    let as_sent = cachesim::simulate::design::PromptDesign::default();
    if other.tools != as_sent.tools {
        own.tools = other.tools;
    }
    if other.system != as_sent.system {
        own.system = other.system;
    }
    if other.reminders != as_sent.reminders {
        own.reminders = other.reminders;
    }
    if other.settings != as_sent.settings {
        own.settings = other.settings;
    }
    if other.attribution != as_sent.attribution {
        own.attribution = other.attribution;
    }
    if other.deferral().is_some() {
        (own.deferred_tools, own.tool_search) = (other.deferred_tools, other.tool_search);
    }
}

/// Applies the changes in their order, one more each time: each saves what it promises, and so do all.
fn assert_adds_up(path: &Path) {
    let input = Input::new(path.to_owned());
    let (advice, analysis) = input.advice();
    let Some(advice) = advice else { return };
    let recorded = input.cost(&[], &analysis);
    assert_eq!(advice.bill.recorded, recorded, "{}: recorded", path.display());
    let mut codes = Vec::new();
    let mut before = recorded;
    for entry in advice.changes.iter().chain(&advice.out_of_reach) {
        codes.push(entry.change.code);
        let after = input.cost(&codes, &analysis);
        assert_eq!(entry.saving, before.minus(after), "{}: {codes:?}", path.display());
        before = after;
        if codes.len() == advice.changes.len() {
            assert_eq!(advice.saving(), recorded.minus(after), "{}: all", path.display());
        }
    }
}

#[test]
fn changes_add_up_on_every_fixture() {
    for folder in fixtures() {
        assert_adds_up(&folder);
    }
}

#[test]
fn changes_add_up_on_every_session_of_the_corpus() {
    let parts = ["corpus", "corpus-b"].map(shared);
    for session in parts.into_iter().flatten().flat_map(|part| files(part, ".jsonl")) {
        assert_adds_up(&session);
    }
}

#[test]
fn changes_add_up_over_a_whole_tree() {
    if let Some(tree) = shared("corpus-b") {
        assert_adds_up(&tree);
    }
}

/// A conversation that reads everything a day and a half after each request, which no lifetime allows, grows by so
/// many tokens with each request, and answers so many.
fn read_against_the_rules(requests: u64, growth: u64, output: u64) -> String {
    read_after_pauses(1, requests, growth, output)
}

/// The same with pauses between groups of so many requests, which follow each other after a minute.
fn read_after_pauses(group: u64, requests: u64, growth: u64, output: u64) -> String {
    let start = Millis::new(1_785_715_200_000);
    let line = |number: u64| {
        let passed = 129_600_000 * (number / group) + 60_000 * (number % group);
        let at = start.plus(i64::try_from(passed).expect("few requests"));
        let usage = json!({
            "input_tokens": 2, "cache_read_input_tokens": number * growth, "output_tokens": output,
            "cache_creation_input_tokens": growth,
            "cache_creation": {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": growth},
        });
        assistant_line(number, at, &usage).to_string() + "\n"
    };
    (0..requests).map(line).collect::<Vec<String>>().concat()
}

/// The only lines of a conversation without tools.
fn assistant_line(number: u64, at: Millis, usage: &Value) -> Value {
    let before = number.checked_sub(1).map(|before| format!("a{before}"));
    json!({
        "type": "assistant", "uuid": format!("a{number}"), "parentUuid": before,
        "sessionId": "s", "version": "2.1.219", "timestamp": at.to_string(),
        "requestId": format!("r{number}"),
        "message": {
            "id": format!("m{number}"), "model": "claude-opus-5", "role": "assistant",
            "content": [{"type": "text", "text": "done"}], "stop_reason": "end_turn",
            "usage": usage,
        },
    })
}

/// Where the rules charge far more than was billed, what a change saves by them was mostly never paid. No change
/// is advised then, and the first lines promise nothing.
#[test]
fn no_change_is_advised_that_saves_what_nobody_paid() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("session.jsonl");
    // At $5 a million tokens: writes for an hour cost $10, for five minutes $6.25, reads $0.50, output $25.
    // Two requests that grow by 100,000 tokens: billed are two writes for $2 and a read for $0.05. The rules charge
    // 300,000 tokens written for an hour, $3, and for five minutes $1.875.
    let is_supported = |output: u64| {
        fs::write(&path, read_against_the_rules(2, 100_000, output)).expect("written");
        let input = Input::new(path.clone());
        let advice = input.advice().0.expect("prices");
        let cents = |cents: i128| Picodollars(cents * 10_000_000_000);
        // The answers, and two tokens after the last marker of each request.
        let besides = cents(i128::from(output / 1_000) * 5) + Picodollars(2 * 2 * 5_000_000);
        assert_eq!(advice.bill.billed, Some(cents(205) + besides));
        assert_eq!(advice.bill.recorded, cents(300) + besides);
        assert_eq!(advice.bill.unexplained(), Some(cents(-95)));
        advice.unsupported.is_none()
    };
    // Five minutes save $1.125, more than the $0.95 that were never billed, however much the answers cost.
    assert!(is_supported(0));
    assert!(is_supported(100_000));
    // Of three such requests $3.15 are billed, and $6 charged: $2.85 more. Five minutes save $2.25, and cost $3.75.
    // Answers of 100,000 tokens cost $7.50 more, on both sides.
    for output in [0, 100_000] {
        fs::write(&path, read_against_the_rules(3, 100_000, output)).expect("written");
        let input = Input::new(path.clone());
        let (advice, _) = input.advice();
        let advice = advice.expect("prices");
        assert!(advice.changes.is_empty() && advice.out_of_reach.is_empty());
        assert_eq!(advice.saving(), Picodollars::ZERO);
        let best = advice.unsupported.as_ref().expect("a change that is not supported");
        assert_eq!((best.change.code, best.alone), ("5m", Picodollars(2_250_000_000_000)));
        let first = input.told(Advice::first).0.expect("prices");
        let alone = first.entry.map(|entry| (entry.change.code, entry.alone));
        assert_eq!((alone, first.bill), (Some(("5m", best.alone)), advice.bill));
        let path = path.to_str().expect("a plain path");
        let printed = stdout(&["advise", path, "-q"]);
        assert!(printed.contains("\nBest change   unknown  the rules charge $"), "{printed}");
        assert!(printed.contains("No change is advised."), "{printed}");
        let report = common::json(&["advise", path, "-q", "--format", "json"]);
        let told = &report["advice"];
        assert_eq!((&told["changes"], &told["saving_usd"]), (&json!([]), &json!("0")));
        assert_eq!(told["unsupported"]["code"], "5m");
        let applied = common::run(&["advise", "--apply", "5m", path, "-q", "--yes"]);
        let said = common::text(&applied.stderr);
        assert_eq!(applied.status.code(), Some(2), "{said}");
        assert!(said.contains("no change is advised"), "{said}");
    }
}

/// Compaction saves by the rules many times what was billed. What of that the bill supports is what was billed
/// beyond what the requests would have cost.
#[test]
fn no_saving_is_larger_than_what_was_spent() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("session.jsonl");
    fs::write(&path, read_against_the_rules(300, 30_000, 0)).expect("written");
    let advice = Input::new(path.clone()).advice().0.expect("prices");
    // The rules predict none of these reads, so nothing is to be believed.
    assert_eq!((advice.withheld, advice.changes.len()), (Some(Contradiction::Reads), 0));
    // Of these they predict half.
    fs::write(&path, read_after_pauses(2, 300, 30_000, 0)).expect("written");
    let input = Input::new(path.clone());
    let advice = input.advice().0.expect("prices");
    // 9 million tokens written for an hour at $10 a million, 1,345.5 million read at $0.50, two tokens each at $5.
    let billed = Picodollars(762_753_000_000_000);
    assert_eq!(advice.bill.billed, Some(billed));
    assert!(advice.changes.iter().any(|entry| entry.change.code == "compact-150k"));
    assert!(advice.saving() > billed);
    let left = advice.bill.recorded.minus(advice.saving());
    assert!(left < billed);
    assert_eq!(advice.supported(), billed.minus(left));
    let path = path.to_str().expect("a plain path");
    let report = common::json(&["advise", path, "-q", "--format", "json"]);
    let told = &report["advice"];
    assert_eq!(told["saving_usd"], json!(advice.saving()));
    assert_eq!(told["supported_usd"], json!(advice.supported()));
    let printed = stdout(&["advise", path, "-q"]);
    assert!(printed.contains("Of $762.75 that was spent,"), "{printed}");
    assert!(printed.contains("was never billed). The first,"), "{printed}");
    assert!(
        printed.contains("of what the rules charge") && !printed.contains("of spent"),
        "{printed}"
    );
}

/// What some of the requests cost is not held against what the rules charge for all of them.
#[test]
fn a_record_of_some_requests_is_no_bill() {
    let session = project("fixtures/attribution-behind-a-gateway/session.jsonl");
    let recorded = fs::read_to_string(session).expect("a session");
    let mut lines: Vec<Value> =
        recorded.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let advice = |lines: &[Value]| {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("session.jsonl");
        let text: Vec<String> = lines.iter().map(|line| format!("{line}\n")).collect();
        fs::write(&path, text.concat()).expect("written");
        let path = path.to_str().expect("a plain path");
        common::json(&["advise", path, "-q", "--format", "json"])["advice"].clone()
    };
    let whole = advice(&lines);
    let answer = lines[1]["response"]["body"].as_object_mut().expect("an answer");
    assert!(answer.remove("usage").is_some());
    let part = advice(&lines);
    let code = |advice: &Value| advice["changes"][0]["code"].clone();
    assert!(code(&whole).is_string());
    assert_eq!(code(&part), code(&whole));
    // The first request costs by the rules what it costs where both are recorded. The second, for which nothing is
    // billed, is in no difference.
    assert_eq!(part["unexplained_usd"], whole["unexplained_usd"]);
    assert_eq!(part["unsupported"], Value::Null);
}

/// A conversation of 26,000 requests, more than are tried side by side, which grows by so many tokens with
/// each. After a pause of five minutes and more everything is written again.
fn long_conversation(growth: u64, pause: i64) -> String {
    let mut lines = String::new();
    let mut at = Millis::new(1_785_715_200_000);
    for number in 0..26_000_u64 {
        at = at.plus(pause);
        let prompt = 30_000 + growth * number;
        let read = if number > 0 && pause < 300_000 { prompt - growth } else { 0 };
        let usage = json!({
            "input_tokens": 2, "cache_read_input_tokens": read, "output_tokens": 1,
            "cache_creation_input_tokens": prompt - read,
        });
        let line = assistant_line(number, at, &usage);
        writeln!(lines, "{line}").expect("a string takes everything");
    }
    lines
}

/// Where there are many requests, the first change is found without trying all. It is the first of all that
/// are tried.
#[test]
fn the_first_change_of_a_long_session_is_the_one_that_saves_most() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("session.jsonl");
    // Small prompts after short pauses and after long ones, and prompts that become large.
    for (growth, pause, code) in
        [(1, 20_000, None), (1, 400_000, Some("1h")), (40, 20_000, Some("compact-100k"))]
    {
        fs::write(&path, long_conversation(growth, pause)).expect("written");
        let input = Input::new(path.clone());
        let all = input.advice().0.expect("prices").changes;
        let first = input.told(Advice::first).0.expect("prices").entry;
        let told = |entry: &AdviceEntry| (entry.change.code, entry.alone);
        assert_eq!(first.as_ref().map(told), all.first().map(told));
        assert_eq!(first.map(|entry| entry.change.code), code);
    }
}

/// The advice on a fixture, read as its own figures are.
fn advice(fixture: &str) -> Value {
    let folder = project("fixtures").join(fixture);
    let expected = fs::read_to_string(folder.join("expected.toml")).expect("expected.toml");
    let expected: toml::Value = toml::from_str(&expected).expect("TOML");
    let more = expected.get("arguments").and_then(toml::Value::as_array);
    let more: Vec<&str> = more.into_iter().flatten().filter_map(toml::Value::as_str).collect();
    let path = folder.to_str().expect("a plain path");
    let report = common::json(&[&["advise", path, "-q", "--format", "json"], &more[..]].concat());
    assert_eq!(report["schema"], "cachesim.advice/v1");
    report["advice"].clone()
}

/// What each fixture was made to show is what the first change is about.
#[test]
fn the_first_change_names_the_defect() {
    let defects = [
        // Thirty thousand tokens are written again though nothing expired.
        ("break-inside-ttl", "system_prompt_changed"),
        // The service itself says that the tools changed.
        ("verdict-of-the-service", "tools_changed"),
        // The same tools in another order.
        ("unsorted-tools", "tools-sorted"),
        // A gateway does not leave the attribution line out of the key.
        ("attribution-behind-a-gateway", "stable-attribution"),
        // A beta feature comes and goes.
        ("beta-features-that-flip", "betas_changed"),
        // The third request comes exactly five minutes after the second.
        ("expiry-5m", "1h"),
        // A pause of over an hour, which no lifetime outlives.
        ("expiry-1h-shared-prefix", "long_pauses"),
        // Sub-agents that start together each write what they have in common.
        ("starts-of-agents", "staggered-agents"),
        // Another model reads nothing of what the first one wrote.
        ("model-switch", "model_changed"),
        // A clock in the system prompt.
        ("captured-clock", "system_prompt_changed"),
        // All is written for an hour, and nothing is needed after five minutes.
        ("tool-loop", "5m"),
        // Forks whose tools are not their parents'.
        ("recorded-forks", "tools_changed"),
        // Edits that were sent once and not again.
        ("cached-edits-as-billed", "cached_microcompaction_changed"),
        // Definitions of tools that nobody calls.
        ("deferred-tools", "deferred-tools"),
    ];
    let first = |fixture| advice(fixture)["changes"][0]["code"].clone();
    let wrong: Vec<String> = defects
        .into_iter()
        .filter(|(fixture, code)| first(fixture) != *code)
        .map(|(fixture, code)| format!("{fixture}: {} and not {code}", first(fixture)))
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// The changes of a fixture: code, what each saves besides those before it, and what it saves alone.
fn savings(fixture: &str) -> Vec<[String; 3]> {
    let advice = advice(fixture);
    let changes = advice["changes"].as_array().expect("changes").iter();
    let word = |change: &Value, name: &str| change[name].as_str().expect("a word").to_owned();
    changes
        .map(|change| ["code", "saving_usd", "alone_usd"].map(|name| word(change, name)))
        .collect()
}

/// Opus 5: a token written for an hour costs 10, for five minutes 6.25 and read 0.50 millionths of a
/// dollar.
#[test]
fn dollars_are_those_worked_out_by_hand() {
    // Requests (read, written for an hour): 12,000 and 30,000; 12,000 and 31,000; 43,000 and 500. Without the
    // break the second reads 42,000 and writes 1,000: 30,000 · (10 − 0.50) = $0.285. For five minutes
    // all 61,500 written cost 3.75 less, $0.230625 alone; of the 31,500 that are left without the break,
    // $0.118125.
    let expected = [["system_prompt_changed", "0.285", "0.285"], ["5m", "0.118125", "0.230625"]];
    assert_eq!(savings("break-inside-ttl"), expected);
    // Requests (read, written for five minutes): 12,000 and 3,000; 15,000 and 500; 0 and 15,900. For an hour
    // the third reads 15,500 and writes 400: 3,900 are written at 10 and not 19,400 at 6.25, and 15,500
    // more are read: 0.12125 − 0.039 − 0.00775 = $0.0745. A ping each 4.5 minutes would find nothing after
    // the second, since 299.9 s went by, and the third is 300 s later: one ping reads 15,500 for 0.00775
    // and answers one token for 0.000025, another one after the third reads 15,900.
    assert_eq!(savings("expiry-5m")[0], ["1h", "0.0745", "0.0745"]);
    // The second sub-agent of the batch reads 9,000, as the third one does, and not 4,000: 5,000 · (6.25 −
    // 0.50) = $0.02875. For five minutes the 3,000 that the main conversation wrote for an hour cost 3.75
    // less: $0.01125.
    let expected = [["staggered-agents", "0.02875", "0.02875"], ["5m", "0.01125", "0.01125"]];
    assert_eq!(savings("starts-of-agents"), expected);
    // Captured, a token a byte, for five minutes: 5,500 are read and 7,500 written where the features flip,
    // $0.049625. Where each request finds what the one before had cached, 2,500 are written first and 500
    // by each of three, and 2,500, 3,000 and 3,500 are read: 0.025 + 0.0045, which is $0.020125 less.
    let expected = [["betas_changed", "0.020125", "0.020125"]];
    assert_eq!(savings("beta-features-that-flip"), expected);
}

/// Changes that a strategy file can say, under `compare`.
#[test]
fn a_strategy_file_of_the_changes_costs_what_is_promised() {
    let fixture = project("fixtures/response-without-usage");
    let fixture = fixture.to_str().expect("a plain path");
    let advice = common::json(&["advise", fixture, "-q", "--format", "json"])["advice"].clone();
    let codes: Vec<&Value> =
        advice["changes"].as_array().expect("changes").iter().map(|one| &one["code"]).collect();
    assert_eq!(codes, ["compact-100k", "5m"]);
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("all.toml");
    let text = "schema = \"cachesim.strategy/v1\"\n[[strategy]]\nname = \"all\"\nttl = \"5m\"\n\
                [strategy.context.compact]\nthreshold = 100000\n";
    fs::write(&file, text).expect("a file");
    let list = format!("as-recorded,{}", file.to_str().expect("a plain path"));
    let report = common::json(&["compare", fixture, "-q", "--format", "json", "--strategy", &list]);
    let dollars = |value: &Value| -> Picodollars {
        value.as_str().expect("dollars").parse().expect("a number")
    };
    let cost = |place: usize| dollars(&report["strategies"][place]["totals"]["cost_usd"]);
    assert_eq!(dollars(&advice["recorded_usd"]), cost(0));
    assert_eq!(dollars(&advice["saving_usd"]), cost(0).minus(cost(1)));
}

#[test]
fn the_answer_stands_first() {
    let fixture = project("fixtures/break-inside-ttl");
    let fixture = fixture.to_str().expect("a plain path");
    insta::assert_snapshot!(stdout(&["advise", fixture, "-q", "--top", "1"]), @"
    Spent          $0.6540  3 requests, 1 session
    Hit rate        52.1 %  67,000 of 128,506 prompt tokens
    Breaks cost    $0.2850  1 break: the system prompt changed
    Best change   -$0.2850  at most: Keep one system prompt for a conversation
    Best caching   $0.2503  the same prompts, no breaks, best markers, TTLs, pings

    Of $0.6540 that was spent, 2 changes together would have saved at most $0.4031 (61.6 %). The first, keep one system
    prompt for a conversation: at most $0.2850.

    The changes stand in the order of what each saves alone. Each is simulated on top of those before it, so the savings add
    up. They begin with the record as it is simulated, breaks included: $0.6540.

    The best 1 of 2 changes

    #  change                           would save  of spent  who                  how sure                  evidence
    ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────
    1  Keep one system prompt for  at most $0.2850    43.6 %  the agent's builder  simulated; cause: medium  session.jsonl:4
       a conversation

    1. Keep one system prompt for a conversation

    Would have saved at most $0.2850 (43.6 % of what was spent).

    1 request read less than the one before had cached (the system prompt changed), and sent 30,000 tokens again.

    Capture two such requests, and let `cachesim lint` name the first byte that differs. Who builds the agent can do it.
    Request: `system`: the same bytes; what changes goes into the last message.

    At most: each of these requests would have read what the one before had cached; how many can be avoided is not known.
    Evidence: session.jsonl:4.
    ");
}

#[test]
fn nothing_can_be_ranked_without_prices() {
    let folder = tempfile::tempdir().expect("a folder");
    let line = fs::read_to_string(project("fixtures/tool-loop/session.jsonl")).expect("a session");
    let file = folder.path().join("session.jsonl");
    fs::write(&file, line.replace("claude-opus-5", "nobodys-model")).expect("a file");
    let file = file.to_str().expect("a plain path");
    let report = common::json(&["advise", file, "-q", "--format", "json"]);
    assert_eq!(report["advice"], Value::Null);
    let printed = stdout(&["advise", file, "-q"]);
    let said = "No model of these requests has a price, so nothing can be ranked.";
    assert!(printed.trim_end().ends_with(said), "{printed}");
}
