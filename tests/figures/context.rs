//! `context`: the kinds add up to the usage and to its cost, whatever the sessions look like.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use cachesim::base::units::{Millis, Picodollars, Tokens};
use cachesim::explain::context::{ContextKind, context, windows};
use cachesim::read::input::discover;
use cachesim::requests::conversation::{ReadOptions, RequestIndex, read};
use cachesim::requests::prompt::{self, SharedPrefix};
use cachesim::simulate::ledger::{Ledger, Selection};
use cachesim::simulate::pricing::PriceTable;
use cachesim::simulate::strategy::{Assumptions, Strategy as Policy};
use proptest::prelude::*;
use serde_json::Value;

use crate::common::{
    count, is_thorough, json, known_picodollars, project, run, shared, stdout, text, transcripts,
};

const CLASSES: [&str; 4] = [
    "input_tokens",
    "cache_read_input_tokens",
    "ephemeral_5m_input_tokens",
    "ephemeral_1h_input_tokens",
];

/// By bytes, as sizes of most sessions here are made up.
fn context_of(path: &Path, arguments: &[&str]) -> Value {
    context_by("estimated", path, arguments)
}

fn context_by(counting: &str, path: &Path, arguments: &[&str]) -> Value {
    let path = path.to_str().expect("a plain path");
    json(&[&["context", path, "-q", "--format", "json", "--tokens", counting], arguments].concat())
}

fn billed_of(path: &Path, arguments: &[&str]) -> Value {
    let path = path.to_str().expect("a plain path");
    let all = ["analyze", path, "-q", "--format", "json", "--strategy", "billed"];
    json(&[&all, arguments].concat())
}

/// An exact amount of dollars as it is written.
fn picodollars(amount: &Value) -> Picodollars {
    Picodollars(known_picodollars(amount))
}

/// The kinds of a part of the report are its totals, and these are what `analyze` says.
fn adds_up(part: &Value, billed: &Value) -> Result<(), String> {
    let kinds = part["kinds"].as_array().expect("kinds");
    let (totals, prompts) = (&part["totals"], &part["totals"]["prompts"]);
    let apart = picodollars(&totals["apart_usd"]) > Picodollars::ZERO;
    for class in CLASSES {
        let sum: u64 = kinds.iter().map(|kind| count(kind, class)).sum();
        // Samplings that were billed apart have prompts of their own.
        if sum != count(prompts, class) || (!apart && sum != count(billed, class)) {
            return Err(format!("{class}: {sum}, {prompts}, {billed}"));
        }
    }
    let cost: Picodollars = kinds.iter().map(|kind| picodollars(&kind["cost_usd"])).sum();
    if cost != picodollars(&prompts["cost_usd"]) {
        return Err(format!("the kinds cost {cost}, the prompts {}", prompts["cost_usd"]));
    }
    let beside = ["output_cost_usd", "searches_cost_usd", "apart_usd"]
        .map(|line| picodollars(&totals[line]));
    let all = cost + beside.into_iter().sum();
    if all != picodollars(&totals["cost_usd"]) || totals["cost_usd"] != billed["cost_usd"] {
        return Err(format!("{all} of {}, {}", totals["cost_usd"], billed["cost_usd"]));
    }
    Ok(())
}

/// Everything adds up, in all sessions together and in each.
fn all_adds_up(path: &Path, arguments: &[&str]) -> Result<(), String> {
    for counting in ["exact", "estimated"] {
        all_adds_up_by(counting, path, arguments)?;
    }
    Ok(())
}

fn all_adds_up_by(counting: &str, path: &Path, arguments: &[&str]) -> Result<(), String> {
    let context = context_by(counting, path, arguments);
    let report = billed_of(path, arguments);
    adds_up(&context, &report["totals"]["billed"])?;
    let sessions = |of: &Value| of["sessions"].as_array().expect("sessions").clone();
    let (parts, billed) = (sessions(&context), sessions(&report));
    assert_eq!(parts.len(), billed.len());
    for (part, billed) in parts.iter().zip(&billed) {
        assert_eq!(part["session_id"], billed["session_id"]);
        adds_up(part, &billed["totals"]["billed"])?;
    }
    Ok(())
}

fn fixture() -> std::path::PathBuf {
    project("fixtures/context-kinds/session.jsonl")
}

/// Worked out by hand. The first prompt has 18,200 tokens; its two visible pieces of 40 and 406
/// bytes, with 40 more each for their frames, are 34 and 186 tokens at 2.4 bytes for one. Each later
/// prompt grew by the answer and by 1,000, 600, 400 and 40 tokens; the 600 are shared by 1,302 and
/// 48 bytes, the 40 by 114 and 53.
#[test]
fn sizes_are_what_prompts_grew_by() {
    let context = context_of(&fixture(), &[]);
    let sizes: BTreeMap<String, u64> = context["kinds"]
        .as_array()
        .expect("kinds")
        .iter()
        .map(|kind| {
            let tool = kind["tool"].as_str().unwrap_or_default();
            let name = kind["kind"].as_str().expect("a name");
            (format!("{name} {tool}").trim().to_owned(), count(kind, "tokens"))
        })
        .collect();
    let expected = [
        ("agent_reports", 400),
        ("answers", 1_400),
        ("commands", 27),
        ("files", 1_000),
        ("hidden_prefix", 17_980),
        ("reminders", 186),
        ("tool_results Bash", 579),
        ("tool_results mcp__notes__search", 21),
        ("user_text", 47),
    ];
    let found: Vec<(&str, u64)> = sizes.iter().map(|(name, size)| (name.as_str(), *size)).collect();
    assert_eq!(found, expected);
}

/// The file's 1,000 tokens came in with the second request, which wrote all but its last two, and
/// were read by three more; the third wrote those two.
#[test]
fn a_result_is_written_once_and_read_on_every_later_turn() {
    let context = context_of(&fixture(), &["--top", "1"]);
    let items = context["items"].as_array().expect("items");
    let [item] = items.as_slice() else { panic!("one item") };
    assert_eq!((item["kind"].as_str(), item["line"].as_u64()), (Some("files"), Some(4)));
    assert_eq!((count(item, "tokens"), count(item, "requests")), (1_000, 4));
    assert_eq!(count(item, "ephemeral_1h_input_tokens"), 1_000);
    assert_eq!(count(item, "input_tokens"), 2);
    assert_eq!(count(item, "cache_read_input_tokens"), 998 + 2 * 1_000);
    // 1,000 · $10 + 2 · $5 and 2,998 · $0.50 for a million.
    assert_eq!(item["write_cost_usd"], "0.01001");
    assert_eq!(item["read_cost_usd"], "0.001499");
    assert_eq!(item["cost_usd"], "0.011509");
    assert_eq!(item["basis"], "derived");
}

#[test]
fn every_fixture_adds_up() {
    if !is_thorough() {
        return;
    }
    for folder in crate::figures::fixtures::folders() {
        if let Err(difference) = all_adds_up(folder, &[]) {
            panic!("{}: {difference}", folder.display());
        }
    }
}

#[test]
fn a_part_of_a_session_adds_up() {
    for arguments in [["--since", "2026-08-03T10:00:10Z"], ["--until", "2026-08-03T10:00:10Z"]] {
        all_adds_up(&fixture(), &arguments).expect("the same sums");
    }
}

#[test]
fn the_corpus_adds_up() {
    let Some(corpus) = transcripts("corpus") else { return };
    all_adds_up(&corpus, &[]).expect("the same sums");
    let context = context_by("exact", &corpus, &[]);
    let path = corpus.to_str().expect("plain");
    assert!(!context.to_string().contains(path));
    let sent = |kind: &Value| -> u64 { CLASSES.iter().map(|class| count(kind, class)).sum() };
    let kinds = context["kinds"].as_array().expect("kinds");
    let of =
        |name: &str| -> u64 { kinds.iter().filter(|kind| kind["kind"] == name).map(sent).sum() };
    let all = sent(&context["totals"]["prompts"]);
    assert!(of("unattributed") * 33 < all, "more than 3 % cannot be told");
    assert!(of("hidden_prefix") * 10 > all && of("hidden_prefix") * 4 < all);
}

#[test]
fn captured_prompts_and_threads_change_nothing_of_the_sums() {
    if let Some(captures) = shared("captures") {
        all_adds_up(&captures, &[]).expect("the same sums");
    }
    let folder = project("fixtures");
    let folder = folder.to_str().expect("plain");
    for format in ["table", "json", "markdown"] {
        let with =
            |jobs: &str| run(&["context", folder, "-q", "--format", format, "--jobs", jobs]).stdout;
        assert_eq!(with("1"), with("8"), "{format}");
    }
}

#[test]
fn names_of_tools_are_escaped() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("evil\u{1b}[31m.jsonl");
    let usage = r#""usage":{"cache_read_input_tokens":9000,"output_tokens":5}"#;
    let lines = format!(
        r#"{{"type":"assistant","uuid":"a","sessionId":"s\u001b[2J","timestamp":"2026-08-03T10:00:00Z","requestId":"r","message":{{"id":"m","model":"claude-opus-5","content":[{{"type":"tool_use","id":"t","name":"x\u001b]0;|<b>\u0007"}}],{usage}}}}}
{{"type":"user","uuid":"b","parentUuid":"a","timestamp":"2026-08-03T10:00:01Z","message":{{"content":[{{"type":"tool_result","tool_use_id":"t","content":"secret words"}}]}}}}
{{"type":"assistant","uuid":"c","parentUuid":"b","timestamp":"2026-08-03T10:00:02Z","requestId":"r2","message":{{"id":"m2","model":"claude-opus-5","content":[],{}}}}}"#,
        usage.replace("9000", "9100"),
    );
    std::fs::write(&path, lines).expect("a file");
    for format in ["table", "markdown", "json"] {
        let printed = stdout(&["context", path.to_str().expect("plain"), "--format", format]);
        assert!(!printed.contains('\u{1b}') && !printed.contains('\u{7}'), "{printed:?}");
        assert!(!printed.contains("secret"), "{printed}");
        assert!(format != "markdown" || !printed.contains("<b>"), "{printed}");
        assert!(printed.contains("]0;"), "the tool is named: {printed}");
    }
}

#[test]
fn keys_stand_in_a_fixed_order() {
    let path = fixture();
    let report = stdout(&["context", path.to_str().expect("plain"), "--format", "json", "-q"]);
    let keys =
        ["schema", "tool_version", "prices", "inputs", "kinds", "totals", "items", "sessions"];
    let positions: Vec<usize> = keys
        .iter()
        .map(|key| report.find(&format!("\n  \"{key}\"")).unwrap_or_else(|| panic!("{key}")))
        .collect();
    assert!(positions.is_sorted(), "{positions:?}");
    assert!(report.contains("\"schema\": \"cachesim.context/v1\""));
}

/// Request by request the kinds hold the prompt, and over all requests what the tables say they
/// carried.
#[test]
fn windows_hold_what_was_carried() {
    let mut folders = vec![project("fixtures/context-kinds"), project("fixtures/compaction")];
    folders.extend(shared("corpus/entireio__git-sync"));
    for folder in folders {
        let discovered = discover(&[folder]);
        let history = read(discovered, ReadOptions::default(), |_| {});
        let steps = prompt::steps(&history);
        let trace = prompt::build(&history, &steps, SharedPrefix::Auto);
        let prices = PriceTable::built_in();
        let billed = [Policy::by_name("billed").expect("a strategy")];
        let assumptions = Assumptions::default();
        let ledger = Ledger::new(&history, &steps, &trace, &prices, &billed, &assumptions);
        let selection = Selection::new(&history, None, None);
        let all = context(&ledger, &steps, &trace, &selection, 0).expect("the record");
        for (session, carried) in selection.sessions.iter().zip(&all.sessions) {
            let is_main = |index: &RequestIndex| history.request(*index).agent.is_none();
            if !session.requests.iter().all(is_main) {
                continue;
            }
            let windows =
                windows(&ledger, &steps, &trace, session, usize::MAX).expect("the record");
            let mut sent: BTreeMap<ContextKind, Tokens> = BTreeMap::new();
            for window in &windows.requests {
                let total: Tokens = window.tokens.iter().copied().sum();
                assert_eq!(total, history.request(window.request).prompt_total());
                for (kind, tokens) in windows.kinds.iter().zip(&window.tokens) {
                    *sent.entry(*kind).or_default() += *tokens;
                }
            }
            let kinds = carried.kinds.iter().filter(|kind| kind.carried.tokens() > Tokens::ZERO);
            let carried: BTreeMap<ContextKind, Tokens> =
                kinds.map(|kind| (kind.kind, kind.carried.tokens())).collect();
            assert_eq!(sent, carried);
        }
    }
}

#[test]
fn the_tables() {
    let folder = project("fixtures/sub-agents");
    insta::assert_snapshot!(stdout(&["context", folder.to_str().expect("plain"), "-q"]));
    assert_eq!(text(&run(&["context", folder.to_str().expect("plain"), "-q"]).stderr), "");
}

/// What each kind's items have, each counted once, and over all requests.
type Sizes = BTreeMap<String, (u64, u64)>;

/// The sizes of the kinds of a session of which the beginning is always the same: a prompt of 100
/// tokens (200 bytes and a frame of 40, at 2.4 bytes for one) after a hidden prefix of 19,900, and an
/// answer of 100.
fn sizes_behind_a_prompt(more: &str) -> Sizes {
    let lines =
        format!("{}{}{more}", user("u0", "", &"p".repeat(200)), answer("u0", [0, 19_998, 100]));
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("s.jsonl");
    std::fs::write(&path, lines).expect("a file");
    all_adds_up(&path, &[]).expect("the same sums");
    let context = context_of(&path, &[]);
    let kinds = context["kinds"].as_array().expect("kinds").iter();
    let sent = |kind: &Value| -> u64 { CLASSES.iter().map(|class| count(kind, class)).sum() };
    let named = |kind: &Value| kind["kind"].as_str().expect("a name").to_owned();
    kinds.map(|kind| (named(kind), (count(kind, "tokens"), sent(kind)))).collect()
}

fn user(id: &str, fields: &str, content: &str) -> String {
    format!(
        r#"{{"type":"user","uuid":"{id}",{fields}"sessionId":"s","timestamp":"2026-08-03T10:00:00Z","message":{{"content":"{content}"}}}}
"#
    )
}

/// A prompt of 100 tokens: 200 bytes and its frame.
fn next_prompt(id: &str, parent: &str) -> String {
    user(id, &format!(r#""parentUuid":"{parent}","#), &"p".repeat(200))
}

/// The summary behind a boundary, 500 tokens: 1,160 bytes and its frame.
fn summary() -> String {
    user("c", r#""parentUuid":"b","isCompactSummary":true,"#, &"s".repeat(1_160))
}

/// Read, written and answered; two more tokens are sent in full. Its call is `t` and its line's id.
fn answer(parent: &str, [read, written, output]: [u64; 3]) -> String {
    format!(
        r#"{{"type":"assistant","uuid":"a-{parent}","parentUuid":"{parent}","sessionId":"s","timestamp":"2026-08-03T10:00:01Z","requestId":"r-{parent}","message":{{"id":"m-{parent}","model":"claude-opus-5","stop_reason":"tool_use","content":[{{"type":"text","text":"Next."}},{{"type":"tool_use","id":"t-{parent}","name":"Bash"}}],"usage":{{"input_tokens":2,"cache_read_input_tokens":{read},"cache_creation_input_tokens":{written},"output_tokens":{output}}}}}}}
"#
    )
}

/// A result of 2,000 tokens, and an answer of 400 to it: a prompt of 22,100.
fn result_and_answer() -> String {
    result("v1", "u0") + &answer("v1", [19_998, 2_100, 400])
}

/// A result of 2,000 tokens: 4,800 bytes with its quotes and its frame.
fn result(id: &str, to: &str) -> String {
    format!(
        r#"{{"type":"user","uuid":"{id}","parentUuid":"a-{to}","sessionId":"s","timestamp":"2026-08-03T10:00:00Z","message":{{"content":[{{"type":"tool_result","tool_use_id":"t-{to}","content":"{}"}}]}}}}
"#,
        "r".repeat(4_800)
    )
}

fn sizes<const N: usize>(expected: [(&str, (u64, u64)); N]) -> Sizes {
    expected.into_iter().map(|(name, sizes)| (name.to_owned(), sizes)).collect()
}

/// The third prompt has 21,500 tokens: the hidden prefix, a summary of 1,160 bytes and a prompt of
/// 200, which are 500 and 100 tokens; 1,000 are unaccounted for.
#[test]
fn a_compaction_leaves_the_hidden_prefix_and_the_summary() {
    let boundary = r#"{"type":"system","subtype":"compact_boundary","uuid":"b","parentUuid":null,"logicalParentUuid":"a-v1","sessionId":"s"}
"#;
    let next = next_prompt("u2", "c");
    let last = answer("u2", [15_000, 6_498, 10]);
    let more = [&result_and_answer(), boundary, &summary(), &next, &last].concat();
    let expected = sizes([
        ("hidden_prefix", (19_900, 3 * 19_900)),
        ("user_text", (200, 2 * 100 + 100)),
        ("answers", (100, 100)),
        ("tool_results", (2_000, 2_000)),
        ("summaries", (500, 500)),
        ("unattributed", (1_000, 1_000)),
    ]);
    assert_eq!(sizes_behind_a_prompt(&more), expected);
}

/// The third prompt has 21,000 tokens, of which 1,100 are after the hidden prefix: two prompts and
/// two answers of 700 together, and so 400 that are left of the result.
#[test]
fn a_microcompaction_takes_from_results() {
    let boundary = r#"{"type":"system","subtype":"microcompact_boundary","uuid":"b","parentUuid":"a-v1","sessionId":"s"}
"#;
    let next = next_prompt("u2", "b");
    let last = answer("u2", [15_000, 5_998, 10]);
    let more = [&result_and_answer(), boundary, &next, &last].concat();
    let expected = sizes([
        ("hidden_prefix", (19_900, 3 * 19_900)),
        ("user_text", (200, 3 * 100 + 100)),
        ("answers", (500, 2 * 100 + 400)),
        ("tool_results", (2_000, 2_000 + 400)),
    ]);
    assert_eq!(sizes_behind_a_prompt(&more), expected);
}

/// Behind the summary of 500 tokens the result and its answer are kept, 2,000 and 400 tokens; 1,000 of
/// 23,900 are unaccounted for.
#[test]
fn what_a_compaction_keeps_behind_its_summary_counts_as_what_it_is() {
    let boundary = r#"{"type":"system","subtype":"compact_boundary","uuid":"b","parentUuid":null,"logicalParentUuid":"a-v1","sessionId":"s","compactMetadata":{"preservedSegment":{"headUuid":"v1","anchorUuid":"c","tailUuid":"a-v1"}}}
"#;
    let next = next_prompt("u2", "c");
    let last = answer("u2", [15_000, 8_898, 10]);
    let more = [&result_and_answer(), boundary, &summary(), &next, &last].concat();
    let expected = sizes([
        ("hidden_prefix", (19_900, 3 * 19_900)),
        ("user_text", (200, 2 * 100 + 100)),
        ("answers", (500, 100 + 400)),
        ("tool_results", (2_000, 2 * 2_000)),
        ("summaries", (500, 500)),
        ("unattributed", (1_000, 1_000)),
    ]);
    assert_eq!(sizes_behind_a_prompt(&more), expected);
}

/// In front of the summary the first prompt and its answer stand as they stood, 100 tokens each; 1,000 of
/// 21,700 are unaccounted for.
#[test]
fn what_a_compaction_keeps_in_front_of_its_summary_stays() {
    let boundary = r#"{"type":"system","subtype":"compact_boundary","uuid":"b","parentUuid":null,"logicalParentUuid":"a-v1","sessionId":"s","compactMetadata":{"preservedMessages":{"anchorUuid":"b","uuids":["u0","a-u0"],"allUuids":["u0","a-u0"]}}}
"#;
    let next = next_prompt("u2", "c");
    let last = answer("u2", [19_998, 1_700, 10]);
    let more = [&result_and_answer(), boundary, &summary(), &next, &last].concat();
    let expected = sizes([
        ("hidden_prefix", (19_900, 3 * 19_900)),
        ("user_text", (200, 3 * 100 + 100)),
        ("answers", (100, 2 * 100)),
        ("tool_results", (2_000, 2_000)),
        ("summaries", (500, 500)),
        ("unattributed", (1_000, 1_000)),
    ]);
    assert_eq!(sizes_behind_a_prompt(&more), expected);
}

/// Of two results of 2,000 tokens the first is cleared. The third prompt has 24,500 tokens; the last
/// 22,710, which is 110 more for an answer and a prompt, and 1,900 less.
#[test]
fn a_microcompaction_takes_from_the_results_that_it_names() {
    let boundary = r#"{"type":"system","subtype":"microcompact_boundary","uuid":"b","parentUuid":"a-v2","sessionId":"s","microcompactMetadata":{"compactedToolIds":["t-u0"]}}
"#;
    let second = result("v2", "v1") + &answer("v2", [22_098, 2_400, 10]);
    let next = next_prompt("u3", "b");
    let last = answer("u3", [19_998, 2_710, 10]);
    let more = [&result_and_answer(), &second, boundary, &next, &last].concat();
    let expected = sizes([
        ("hidden_prefix", (19_900, 4 * 19_900)),
        ("user_text", (200, 4 * 100 + 100)),
        ("answers", (510, 100 + 500 + 510)),
        ("tool_results", (4_000, 2_000 + 4_000 + 2_100)),
    ]);
    assert_eq!(sizes_behind_a_prompt(&more), expected);
}

/// The result and the answer to it are cut out: of the third prompt's 20,200 tokens none is theirs.
#[test]
fn a_snip_takes_out_what_it_names() {
    let snip = r#"{"type":"system","subtype":"snip","uuid":"b","parentUuid":"a-v1","sessionId":"s","removedUuids":["v1","a-v1"]}
"#;
    let next = next_prompt("u2", "b");
    let last = answer("u2", [19_998, 200, 10]);
    let more = [&result_and_answer(), snip, &next, &last].concat();
    let expected = sizes([
        ("hidden_prefix", (19_900, 3 * 19_900)),
        ("user_text", (200, 3 * 100 + 100)),
        ("answers", (100, 2 * 100)),
        ("tool_results", (2_000, 2_000)),
    ]);
    assert_eq!(sizes_behind_a_prompt(&more), expected);
}

/// A summary of 500 tokens takes the place of the result and the answer to it.
#[test]
fn a_collapse_puts_its_summary_in_the_place_of_what_it_archived() {
    let commit = format!(
        r#"{{"type":"marble-origami-commit","sessionId":"s","firstArchivedUuid":"v1","lastArchivedUuid":"a-v1","summary":"{}"}}
"#,
        "s".repeat(1_158)
    );
    let next = next_prompt("u2", "a-v1");
    let last = answer("u2", [19_998, 700, 10]);
    let more = [&result_and_answer(), commit.as_str(), &next, &last].concat();
    let expected = sizes([
        ("hidden_prefix", (19_900, 3 * 19_900)),
        ("user_text", (200, 3 * 100 + 100)),
        ("answers", (100, 2 * 100)),
        ("tool_results", (2_000, 2_000)),
        ("summaries", (500, 500)),
    ]);
    assert_eq!(sizes_behind_a_prompt(&more), expected);
}

/// The service deletes 1,500 tokens: the third prompt has 21,100, 500 more for an answer and a prompt.
#[test]
fn what_the_service_deletes_is_taken_from_results() {
    let next = next_prompt("u2", "a-v1");
    let last = answer("u2", [20_598, 500, 10]);
    let last = last.replace(r#""usage":{"#, r#""usage":{"cache_deleted_input_tokens":1500,"#);
    let more = [&result_and_answer(), next.as_str(), &last].concat();
    let expected = sizes([
        ("hidden_prefix", (19_900, 3 * 19_900)),
        ("user_text", (200, 3 * 100 + 100)),
        ("answers", (500, 2 * 100 + 400)),
        ("tool_results", (2_000, 2_000 + 500)),
    ]);
    assert_eq!(sizes_behind_a_prompt(&more), expected);
}

/// The last answer is nothing but a call that nobody answered, and the session is resumed: of 22,400
/// tokens 300 are new, none of them the answer's 400.
#[test]
fn an_answer_that_a_resumed_session_drops_is_not_carried() {
    let call = answer("v1", [19_998, 2_100, 400]).replace(r#"{"type":"text","text":"Next."},"#, "");
    let prompt = user("u2", r#""parentUuid":"a-v1","#, &"p".repeat(680));
    let last = answer("u2", [22_098, 300, 10]);
    let more = [result("v1", "u0"), call, prompt, last].concat();
    let expected = sizes([
        ("hidden_prefix", (19_900, 3 * 19_900)),
        ("user_text", (400, 3 * 100 + 300)),
        ("answers", (100, 2 * 100)),
        ("tool_results", (2_000, 2 * 2_000)),
    ]);
    assert_eq!(sizes_behind_a_prompt(&more), expected);
}

/// A sub-agent's first request reads the 19,998 tokens that the main conversation had cached: its
/// hidden prefix, and 98 of its prompt. Of 502 more, its task has 100.
#[test]
fn a_fork_goes_on_from_its_parent() {
    let fields = r#""isSidechain":true,"agentId":"g","#;
    let task = user("g0", fields, &"p".repeat(200));
    let first = answer("g0", [19_998, 500, 10]);
    let first = first.replace(r#""sessionId""#, &format!(r#"{fields}"sessionId""#));
    let expected = sizes([
        ("hidden_prefix", (19_900, 2 * 19_900)),
        ("user_text", (200, 100 + 98 + 100)),
        ("unattributed", (402, 402)),
    ]);
    assert_eq!(sizes_behind_a_prompt(&(task + &first)), expected);
}

/// A request of a random session, and what the client adds in front of it.
#[derive(Clone, Debug)]
struct Ask {
    back: usize,
    gap_seconds: i64,
    /// Tokens read, written for an hour, for five minutes, and sent in full.
    split: (u64, u64, u64, u64),
    output: u64,
    model: &'static str,
    is_snapshot: bool,
    is_compacted: bool,
    is_agent: bool,
    /// Bytes of a prompt, a result, an attachment.
    contents: (usize, usize, usize),
}

fn ask() -> impl Strategy<Value = Ask> {
    let back = prop_oneof![8 => Just(1_usize), 1 => 2_usize..6];
    let gap = prop_oneof![5 => 1_i64..200, 1 => 3_500_i64..3_700];
    let split = (0_u64..40_000, 0_u64..9_000, 0_u64..3_000, 0_u64..30);
    let model = prop_oneof![
        9 => Just("claude-opus-5"),
        1 => Just("claude-opus-4-8"),
        1 => Just("claude-sonnet-4-5"),
        1 => Just("glm-4.7"),
    ];
    let flags = (prop::bool::weighted(0.2), prop::bool::weighted(0.1), prop::bool::weighted(0.1));
    let contents = (0_usize..400, 0_usize..4_000, 0_usize..900);
    (back, gap, split, 0_u64..3_000, model, flags, contents).prop_map(
        |(back, gap_seconds, split, output, model, flags, contents)| Ask {
            back,
            gap_seconds,
            split,
            output,
            model,
            is_snapshot: flags.0,
            is_compacted: flags.1,
            is_agent: flags.2,
            contents,
        },
    )
}

fn transcript(asks: &[Ask]) -> String {
    let mut lines = String::new();
    let mut seconds = 0_i64;
    for (number, ask) in asks.iter().enumerate() {
        seconds += ask.gap_seconds;
        let at = Millis::new(1_785_747_600_000 + seconds * 1_000);
        let parent = number
            .checked_sub(ask.back.min(number.max(1)))
            .map_or_else(|| "null".to_owned(), |before| format!("\"a{before}\""));
        let frame = format!(
            r#""sessionId":"s","version":"2.1.200","isSidechain":{},"timestamp":"{at}""#,
            ask.is_agent,
        );
        let mut parent = parent;
        if ask.is_compacted {
            let fields = r#""subtype":"compact_boundary","parentUuid":null"#;
            writeln!(
                lines,
                r#"{{"type":"system",{fields},"logicalParentUuid":{parent},"uuid":"b{number}",{frame}}}"#
            )
            .expect("a string takes everything");
            parent = format!("\"b{number}\"");
        }
        let (prompt, result, attachment) = ask.contents;
        let before = number.saturating_sub(1);
        writeln!(
            lines,
            r#"{{"type":"user","uuid":"u{number}","parentUuid":{parent},{frame},"message":{{"role":"user","content":"{}"}}}}
{{"type":"user","uuid":"v{number}","parentUuid":"u{number}",{frame},"message":{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"t{before}","content":"{}"}}]}}}}
{{"type":"attachment","uuid":"w{number}","parentUuid":"v{number}",{frame},"attachment":{{"type":"file","content":"{}"}}}}"#,
            "p".repeat(prompt),
            "r".repeat(result),
            "f".repeat(attachment),
        )
        .expect("a string takes everything");
        let (read, hour, five, input) = ask.split;
        let stop = if ask.is_snapshot { "null" } else { "\"tool_use\"" };
        writeln!(
            lines,
            r#"{{"type":"assistant","uuid":"a{number}","parentUuid":"w{number}",{frame},"requestId":"r{number}","message":{{"id":"m{number}","model":"{model}","stop_reason":{stop},"content":[{{"type":"tool_use","id":"t{number}","name":"Bash"}}],"usage":{{"input_tokens":{input},"cache_read_input_tokens":{read},"cache_creation_input_tokens":{written},"cache_creation":{{"ephemeral_5m_input_tokens":{five},"ephemeral_1h_input_tokens":{hour}}},"output_tokens":{output}}}}}}}"#,
            model = ask.model,
            written = hour + five,
            output = ask.output,
        )
        .expect("a string takes everything");
    }
    lines
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Whatever grows, shrinks, branches, is compacted or changes its model.
    #[test]
    fn kinds_add_up(asks in prop::collection::vec(ask(), 1..40)) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("s.jsonl");
        std::fs::write(&path, transcript(&asks)).expect("a file");
        prop_assert_eq!(all_adds_up(&path, &[]), Ok(()));
    }

    /// Each request for itself: what one day's report holds of a session is that of its requests.
    #[test]
    fn each_request_adds_up(
        asks in prop::collection::vec(ask(), 1..15),
        which in any::<prop::sample::Index>(),
    ) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("s.jsonl");
        std::fs::write(&path, transcript(&asks)).expect("a file");
        let until: i64 = asks[..=which.index(asks.len())].iter().map(|ask| ask.gap_seconds).sum();
        let at = |seconds: i64| Millis::new(1_785_747_600_000 + seconds * 1_000).to_string();
        let (since, until) = (at(until), at(until + 1));
        let arguments = ["--since", since.as_str(), "--until", until.as_str()];
        let context = context_of(&path, &arguments);
        prop_assert_eq!(&context["totals"]["requests"], 1);
        prop_assert_eq!(all_adds_up(&path, &arguments), Ok(()));
    }
}
