//! `check`: a baseline is saved, a prompt changes, and the change is judged, named and priced.
//!
//! Figures are worked out from those of `fixtures/reviewed-tools`: tokens are bytes, at $0.30 a million
//! read and $3.75 written.

use std::fs;
use std::path::Path;
use std::process::Output;

use cachesim::explain::budget::Metric;
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use serde_json::Value;
use tempfile::TempDir;

use crate::common::{cachesim, project, text};

/// A folder with the sessions of the fixture and a baseline saved from them.
struct Review {
    folder: TempDir,
}

const DESCRIPTION: &str = "each with its file.";

impl Review {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        fs::create_dir(folder.path().join("sessions")).expect("a folder");
        let review = Self { folder };
        review.put(&original());
        let saved = review.check(&["--export", "report=baseline.json"]);
        assert_eq!(saved.status.code(), Some(0), "{}", text(&saved.stderr));
        review
    }

    fn put(&self, sessions: &str) {
        self.write("sessions/sessions.jsonl", sessions);
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, content: &str) {
        fs::write(self.path(name), content).expect("a file");
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).expect("a file")
    }

    fn check(&self, arguments: &[&str]) -> Output {
        cachesim()
            .current_dir(self.folder.path())
            // The configuration beside the sessions is meant to be found.
            .env_remove("CACHESIM_NO_CONFIG")
            .args(["check", "sessions", "--tokens", "bytes:1"])
            .args(arguments)
            .output()
            .expect("the program runs")
    }

    fn against_baseline(&self, arguments: &[&str]) -> Output {
        self.check(&[&["--baseline", "baseline.json"], arguments].concat())
    }
}

fn original() -> String {
    fs::read_to_string(project("fixtures/reviewed-tools/sessions.jsonl")).expect("the fixture")
}

/// The sessions with 600 bytes more in the description of a tool.
fn longer() -> String {
    let more = format!("{DESCRIPTION}{}", "x".repeat(600));
    original().replace(DESCRIPTION, &more)
}

/// The sessions with another word in that description, in the last request of `mend` alone.
fn changed_in_the_middle() -> String {
    let (first, last) = ("Searches the workspace", "Searched the workspace");
    let is_meant = |line: &str| line.contains("mend-3");
    let change =
        |line: &str| if is_meant(line) { line.replace(first, last) } else { line.to_owned() };
    original().lines().map(|line| change(line) + "\n").collect()
}

/// The sessions with a tool more behind the others.
fn extended() -> String {
    let tool = r#"{"name":"wait","description":"Waits.","input_schema":{"type":"object"}}"#;
    original().replace("}], \"system\":", &format!("}}, {tool}], \"system\":"))
}

#[test]
fn a_tool_more_moves_no_marker() {
    let review = Review::new();
    review.put(&extended());
    let page = text(&review.against_baseline(&[]).stdout);
    assert!(page.contains("wait"), "{page}");
    assert!(!page.contains("other markers"), "{page}");
}

fn failed(output: &Output, code: i32) -> String {
    assert_eq!(
        output.status.code(),
        Some(code),
        "{}{}",
        text(&output.stdout),
        text(&output.stderr)
    );
    text(&output.stderr)
}

#[test]
fn unchanged_sessions_pass() {
    let review = Review::new();
    let output = review.against_baseline(&[]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let page = text(&output.stdout);
    assert!(page.starts_with("Prompt cache check passed\n"), "{page}");
    assert!(page.contains("2 sessions are in the baseline, too (2 by id)."), "{page}");
    assert!(page.contains("Nothing differs in what both have."), "{page}");
    assert!(page.contains("$0.0185 → $0.0185 ($0.0000)"), "{page}");
}

/// Each of two sessions writes the 600 bytes once, and reads them as often as it goes on: mend
/// $0.0099813 + 600 × ($3.75 + 2 × $0.30) / 10⁶ = $0.0125913, explain $0.0085254 + 600 × ($3.75 +
/// $0.30) / 10⁶ = $0.0109554; together $0.0185067 → $0.0235467, 27.2 % more.
#[test]
fn a_longer_description_fails_and_is_named_with_sessions_and_dollars() {
    let review = Review::new();
    review.put(&longer());
    let exports =
        ["markdown=comment.md", "summary=summary.md", "junit=check.xml", "json=check.json"];
    let exports: Vec<&str> = exports.iter().flat_map(|export| ["--export", export]).collect();
    let output = review.against_baseline(&exports);
    let error = failed(&output, 1);
    assert!(error.contains("2 budgets are not kept: cost, cost of a session"), "{error}");

    let page = text(&output.stdout);
    assert!(page.contains("tools[1] `search_code`"), "{page}");
    assert!(page.contains("description changed"), "{page}");
    for figure in
        ["mend", "explain", "$0.0185 → $0.0235 (+$0.0050), +27.2 %", "$0.0126", "+$0.0026"]
    {
        assert!(page.contains(figure), "{figure}: {page}");
    }

    let comment = review.read("comment.md");
    assert!(comment.starts_with("<!-- cachesim-check:default -->\n## Prompt cache check failed\n"));
    let cells = table_cells(&comment);
    for cell in ["tools[1] `search_code`", "mend (sessions.jsonl)", "explain (sessions.jsonl)"] {
        assert!(cells.iter().any(|other| other == cell), "{cell}: {cells:?}");
    }
    for cell in ["$0.0100", "$0.0126", "+$0.0026", "$0.0085", "$0.0110", "+$0.0024", "FAILS"] {
        assert!(cells.iter().any(|other| other == cell), "{cell}: {cells:?}");
    }
    assert_eq!(comment.split_once('\n').expect("lines").1, review.read("summary.md"));

    let xml = review.read("check.xml");
    let cases = junit_cases(&xml);
    let (_, failure) = cases.iter().find(|(name, _)| name == "cost of a session").expect("a case");
    let failure = failure.as_deref().expect("a failure");
    for words in
        ["mend", "explain", "$0.0126", "baseline $0.0100", "tools[1] `search_code`", "+$0.0050"]
    {
        assert!(failure.contains(words), "{words}: {failure}");
    }
    let failures = cases.iter().filter(|(_, failure)| failure.is_some()).count();
    assert_eq!((cases.len(), failures), (8, 2));

    let check: Value = serde_json::from_str(&review.read("check.json")).expect("JSON");
    assert_eq!(check["verdict"], "fail");
    let difference = &check["difference"];
    assert_eq!(difference["cost_before_usd"], "0.0185067");
    assert_eq!(difference["cost_usd"], "0.0235467");
    assert_eq!(difference["difference_usd"], "0.00504");
    assert_eq!(difference["matched"]["id"], 2);
    let prompts = difference["prompts"].as_array().expect("a list");
    assert_eq!(prompts.len(), 1, "{prompts:?}");
    assert_eq!(prompts[0]["tool"], "search_code");
    assert_eq!(prompts[0]["fields"], serde_json::json!(["description"]));
    assert_eq!(prompts[0]["bytes_before"], 231);
    assert_eq!(prompts[0]["bytes"], 831);
    assert_eq!(prompts[0]["requests"], 5);
    let tool = r#"{"name":"search_code","description":"Searches the workspace for a pattern and returns the lines that match it, each with its file."#;
    let first = &prompts[0]["first_difference"];
    let (from, to) = (first[0].as_u64().expect("a byte"), first[1].as_u64().expect("a byte"));
    assert!((from..to).contains(&(tool.len() as u64)) && to - from == 16, "{first}");
    let mend = &difference["sessions"][0];
    assert_eq!(mend["session_id"], "mend");
    assert_eq!(mend["cost_usd"], "0.0125913");
    assert_eq!(mend["difference_usd"], "0.00261");
    assert_eq!(mend["turns"].as_array().map(Vec::len), Some(3));
}

/// The last request reads nothing of the 2,163 tokens that it could have read: 2,163 × ($3.75 − $0.30)
/// / 10⁶ = $0.00746235 more than $0.0099813.
#[test]
fn a_description_that_changes_on_the_way_is_a_break_at_its_turn() {
    let review = Review::new();
    review.put(&changed_in_the_middle());
    let output = review.against_baseline(&["--export", "json=check.json"]);
    failed(&output, 1);
    let check: Value = serde_json::from_str(&review.read("check.json")).expect("JSON");
    let sessions = check["difference"]["sessions"].as_array().expect("a list");
    assert_eq!(sessions.len(), 1, "explain is as it was");
    assert_eq!(sessions[0]["difference_usd"], "0.00746235");
    let turns = sessions[0]["turns"].as_array().expect("a list");
    assert_eq!(turns.len(), 1);
    assert_eq!(turns[0]["now"]["number"], 3);
    assert_eq!(turns[0]["now"]["line"], 3);
    assert_eq!(turns[0]["cache_read_input_tokens_before"], 2_163);
    assert_eq!(turns[0]["cache_read_input_tokens"], 0);
    let reasons = turns[0]["reasons"].as_str().expect("a text");
    assert!(reasons.starts_with("the cache broke: the tools changed ("), "{reasons}");
    assert!(reasons.contains("the prompt has other bytes"), "{reasons}");
    let breaks = &check["budgets"].as_array().expect("a list")[6];
    assert_eq!(breaks["name"], "unexpected breaks");
    assert_eq!(breaks["status"], "warn");
    assert_eq!(breaks["figure"]["value"], "1");
    let variants = &check["budgets"].as_array().expect("a list")[7];
    assert_eq!(
        (&variants["figure"]["value"], &variants["baseline"]["value"]),
        (&"2".into(), &"1".into())
    );
}

#[test]
fn budgets_of_a_configuration_replace_the_defaults() {
    let review = Review::new();
    review.write(
        "cachesim.toml",
        r#"
            [check]
            baseline = "baseline.json"
            [[budget]]
            name = "explain"
            metric = "cost_per_session"
            max = "0.009 USD"
            level = "warn"
            message = "Mind the price."
            [[budget]]
            metric = "hit_rate"
            min = "57.8 %"
            [[budget]]
            metric = "cost_per_request"
            max_increase = "0 %"
            [[budget]]
            metric = "written_tokens"
            max = "4446 tokens"
            strategy = "replay"
            [[budget]]
            metric = "cost"
            max = "$0.0317"
            strategy = "none"
            files = "sess*.jsonl"
        "#,
    );
    let output = review.check(&["--format", "json"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let check: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let budgets = check["budgets"].as_array().expect("a list");
    let found: Vec<[String; 3]> = budgets
        .iter()
        .map(|budget| {
            let text = |value: &'_ Value| value.as_str().expect("a text").to_owned();
            [text(&budget["name"]), text(&budget["status"]), text(&budget["figure"]["value"])]
        })
        .collect();
    // mend costs $0.0099813, more than a cent less a tenth. 6,114 of 10,560 tokens are 57.897… %.
    // Without a cache all 10,560 are sent at $3 a million: $0.03168.
    assert_eq!(found[0], ["explain", "warn", "0.0099813"]);
    assert_eq!(found[1][1], "pass");
    assert!(found[1][2].starts_with("57.8977"), "{}", found[1][2]);
    assert_eq!(found[2][1], "pass");
    assert_eq!(found[3], ["written_tokens at most 4,446 tokens (strategy replay)", "pass", "4446"]);
    assert_eq!(found[4][1], "pass");
    assert_eq!(found[4][2], "0.03168");
    assert_eq!(budgets[0]["message"], "Mind the price.");
    assert_eq!(budgets[0]["exceeded"][0]["session_id"], "mend");
    assert_eq!(check["verdict"], "warn");
}

#[test]
fn what_cannot_be_answered_does_not_pass() {
    let review = Review::new();
    let cases = [
        (
            "metric = \"cost\"\nmax = \"1 EUR\"",
            2,
            "cachesim.toml:3:7: `max` is an amount of dollars",
        ),
        (
            "metrik = \"cost\"",
            2,
            "cachesim.toml:2:1: `metrik` is no key of a budget (did you mean `metric`, `min` or `message`?)",
        ),
        (
            "metric = \"cost\"\nmax = \"$1\"\nmodel = \"gpt-*\"",
            3,
            "cachesim.toml:1: the budget `cost at most $1.00 (model gpt-*)`: selects no request",
        ),
        (
            "metric = \"cost\"\nmax_increase = \"5 %\"",
            2,
            "is about a baseline; give one with --baseline FILE",
        ),
        ("metric = \"cost\"\nmax = \"$1\"\nfiles = \"other/**\"", 3, "selects no request"),
    ];
    for (budget, code, words) in cases {
        review.write("cachesim.toml", &format!("[[budget]]\n{budget}\n"));
        let error = failed(&review.check(&[]), code);
        assert!(error.contains(words), "{error}");
    }
}

#[test]
fn a_baseline_that_is_none_is_refused_with_what_to_do() {
    let review = Review::new();
    let report = review.read("baseline.json");
    let newer = report.replace("cachesim.report/v1", "cachesim.report/v2");
    let cases = [
        (
            newer.as_str(),
            "cachesim.report/v2, written by cachesim 0.2.0; this version reads cachesim.report/v1: update cachesim",
        ),
        (
            "{\"schema\":\"cachesim.ledger/v1\"}",
            "it is no report (its schema is `cachesim.ledger/v1`); save one with",
        ),
        ("{}", "it is no report (its schema is missing); save one with"),
        ("", "line 1, column 0: EOF while parsing a value; save one with"),
        ("{\"schema\":\"cachesim.report/v1\"}", "missing field `totals`"),
        ("[1]", "save one with"),
    ];
    for (content, words) in cases {
        review.write("other.json", content);
        let error = failed(&review.check(&["--baseline", "other.json"]), 2);
        assert!(error.contains("other.json: cannot be a baseline: "), "{error}");
        assert!(error.contains(words), "{error}");
    }
    let error = failed(&review.check(&["--baseline", "missing.json"]), 2);
    assert!(error.contains("cannot read the baseline missing.json"), "{error}");
    let damaged = report.replacen("\"parent\": 0", "\"parent\": 900", 1);
    review.write("other.json", &damaged);
    let error = failed(&review.check(&["--baseline", "other.json"]), 2);
    assert!(error.contains("it is damaged: block 1 makes no sense"), "{error}");
}

#[test]
fn both_sides_are_measured_and_priced_alike_or_it_is_said() {
    let review = Review::new();
    let output = cachesim()
        .current_dir(review.folder.path())
        .args(["check", "sessions", "--baseline", "baseline.json"])
        .output()
        .expect("the program runs");
    let error = failed(&output, 2);
    assert!(error.contains("with --assume tokens=bytes:1, this run with tokens=exact"), "{error}");
    let report = review.read("baseline.json");
    let id = report.split("\"id\": \"").nth(1).and_then(|rest| rest.split('"').next());
    let older = report.replace(id.expect("the prices"), "older-prices");
    review.write("older.json", &older);
    let page = text(&review.check(&["--baseline", "older.json"]).stdout);
    assert!(page.contains("The baseline was priced with older-prices, this run with anthropic-"));
}

/// Whatever a baseline holds, the run ends with a verdict or a sentence.
#[test]
fn a_damaged_baseline_never_ends_in_a_panic() {
    let review = Review::new();
    let report = review.read("baseline.json");
    let values =
        ["null", "-1", "1e400", "99999999999999999999", "\"\"", "[]", "{}", "true", "\"5m\""];
    // Each scalar of the document in turn gives way to another value.
    let places: Vec<usize> =
        report.match_indices("\": ").map(|(at, found)| at + found.len()).collect();
    for (number, at) in places.iter().enumerate().step_by(3) {
        let rest = &report[*at..];
        let length = rest.find([',', '\n']).unwrap_or(rest.len());
        let value = values[number % values.len()];
        let damaged = format!("{}{value}{}", &report[..*at], &rest[length..]);
        review.write("damaged.json", &damaged);
        let output = review.check(&["--baseline", "damaged.json", "--format", "json"]);
        let code = output.status.code();
        assert!(matches!(code, Some(0..=3)), "{code:?} at {at}: {}", text(&output.stderr));
    }
    for cut in (0..report.len()).step_by(997) {
        review.write("damaged.json", &report[..cut]);
        failed(&review.check(&["--baseline", "damaged.json"]), 2);
    }
}

/// A report that was saved by `analyze` has sums, and no requests.
#[test]
fn a_report_without_requests_is_a_baseline_for_sums() {
    let review = Review::new();
    let saved = cachesim()
        .current_dir(review.folder.path())
        .args(["analyze", "sessions", "--tokens", "bytes:1", "--format", "json", "-o", "sums.json"])
        .output()
        .expect("the program runs");
    assert!(saved.status.success(), "{}", text(&saved.stderr));
    review.put(&longer());
    let output = review.check(&["--baseline", "sums.json"]);
    failed(&output, 1);
    let page = text(&output.stdout);
    assert!(page.contains("$0.0185 → $0.0235 (+$0.0050), +27.2 %"), "{page}");
    assert!(page.contains("The baseline has no single requests"), "{page}");
    let budget = "[[budget]]\nmetric = \"cost_per_request\"\nmax_increase = \"5 %\"\n";
    review.write("cachesim.toml", budget);
    let error = failed(&review.check(&["--baseline", "sums.json"]), 2);
    assert!(error.contains("the baseline has no single requests; save it with"), "{error}");
}

#[test]
fn nothing_read_and_nothing_priced_do_not_pass() {
    let review = Review::new();
    review.put(&original().replace("claude-sonnet-4-5", "some-model-of-ours"));
    let error = failed(&review.check(&[]), 3);
    assert!(error.contains("nothing was priced"), "{error}");
    review.put("");
    let error = failed(&review.check(&[]), 3);
    assert!(error.contains("no request in "), "{error}");
    let output = cachesim().args(["check", "no/such/folder"]).output().expect("the program runs");
    failed(&output, 3);
}

#[test]
fn sessions_are_found_by_file_and_by_order_where_ids_are_new() {
    let review = Review::new();
    let renamed = original().replace("\"mend\"", "\"m2\"").replace("\"explain\"", "\"e2\"");
    review.put(&renamed);
    let page = text(&review.against_baseline(&[]).stdout);
    assert!(page.contains("2 sessions are in the baseline, too (2 by file)."), "{page}");
    fs::rename(review.path("sessions/sessions.jsonl"), review.path("sessions/other.jsonl"))
        .expect("renamed");
    let page = text(&review.against_baseline(&[]).stdout);
    assert!(page.contains("2 sessions are in the baseline, too (2 by order)."), "{page}");
    assert!(page.contains("Nothing differs in what both have."), "{page}");
}

#[test]
fn sessions_of_one_side_are_named_and_not_compared() {
    let review = Review::new();
    let mend: String = original()
        .lines()
        .filter(|line| line.contains("\"session_id\": \"mend\""))
        .map(|line| line.to_owned() + "\n")
        .collect();
    review.put(&mend);
    let output = review.against_baseline(&[]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let page = text(&output.stdout);
    assert!(page.contains("1 session is in the baseline, too (1 by id); 1 in the baseline alone."));
    assert!(page.contains("Sessions in the baseline alone (1)"), "{page}");
    review.put(&original());
    review.write("sessions/third.jsonl", &mend.replace("\"mend", "\"third"));
    let output = review.against_baseline(&[]);
    assert_eq!(output.status.code(), Some(0), "a session more is no dearer session");
    let page = text(&output.stdout);
    assert!(page.contains("too (2 by id); 1 in the run alone."), "{page}");
    assert!(page.contains("$0.0185 → $0.0185 ($0.0000)"), "{page}");
}

#[test]
fn the_same_input_gives_the_same_bytes_with_any_number_of_threads() {
    let review = Review::new();
    review.put(&longer());
    for format in ["text", "markdown", "summary", "json", "junit", "sarif", "report"] {
        let one = review.against_baseline(&["--format", format, "--jobs", "1"]);
        let many = review.against_baseline(&["--format", format, "--jobs", "8"]);
        assert!(!one.stdout.is_empty(), "{format}");
        assert_eq!(text(&one.stdout), text(&many.stdout), "{format}");
    }
}

/// A baseline that is saved, read and saved again is the same.
#[test]
fn a_report_renews_the_baseline_it_was_held_against() {
    let review = Review::new();
    let before = review.read("baseline.json");
    let output = review.against_baseline(&["--export", "report=baseline.json"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(before, review.read("baseline.json"));
    assert!(!before.contains("Searches the workspace"), "no text of a prompt is saved");
}

#[test]
fn comments_stay_under_the_limit_however_much_changed() {
    let review = Review::new();
    let many: String = (0..600)
        .map(|number| {
            let id = format!("session-{number:04}-{}", "long-".repeat(12));
            original()
                .replace("\"mend\"", &format!("\"{id}\""))
                .replace("\"explain\"", &format!("\"x-{id}\""))
        })
        .collect();
    review.put(&many);
    review.check(&["--export", "report=many.json"]);
    review.put(&many.replace(DESCRIPTION, &format!("{DESCRIPTION}{}", "y".repeat(600))));
    let output = review.check(&[
        "--baseline",
        "many.json",
        "--top",
        "2000",
        "--export",
        "markdown=comment.md",
        "--export",
        "summary=summary.md",
    ]);
    failed(&output, 1);
    let comment = review.read("comment.md");
    assert!(comment.chars().count() < 65_536 && comment.len() > 50_000, "{}", comment.len());
    assert!(comment.contains("in the report."), "what was cut is said");
    let summary = review.read("summary.md");
    assert!(summary.len() < 1 << 20 && summary.len() > comment.len(), "{}", summary.len());
}

#[test]
fn names_are_escaped_in_every_output() {
    let review = Review::new();
    let hostile = original().replace("\"mend\"", "\"<script>|`\\u001b[31m\"");
    review.put(&hostile.replace(DESCRIPTION, "another."));
    let exports = ["--export", "markdown=comment.md", "--export", "junit=check.xml"];
    let output = review.against_baseline(&exports);
    let comment = review.read("comment.md");
    for page in [&text(&output.stdout), &comment, &review.read("check.xml")] {
        assert!(!page.contains('\u{1b}'), "{page}");
    }
    assert!(!comment.contains("<script>"), "{comment}");
    junit_cases(&review.read("check.xml"));
}

#[test]
fn outputs_are_not_inputs_and_exports_are_named_fully() {
    let review = Review::new();
    let error = failed(&review.check(&["--export", "json=sessions/sessions.jsonl"]), 2);
    assert!(error.contains("--export: sessions/sessions.jsonl is an input"), "{error}");
    assert_eq!(review.read("sessions/sessions.jsonl"), original());
    for (export, words) in [
        ("junit", "expected FORMAT=FILE"),
        ("junit=", "expected a file"),
        ("xml=a", "one of text, markdown, summary, json, junit, sarif, report"),
    ] {
        let error = failed(&review.check(&["--export", export]), 2);
        assert!(error.contains(words), "{error}");
    }
    let error = failed(&review.check(&["--tag", "a-->b"]), 2);
    assert!(error.contains("letters, digits"), "{error}");
}

/// Transcripts have a record, and breaks; there is nothing to lint.
#[test]
fn transcripts_are_checked_as_billed() {
    let folder = project("fixtures/first-look");
    let output = cachesim()
        .args(["check", "--format", "json"])
        .arg(&folder)
        .output()
        .expect("the program runs");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let check: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(check["strategy"], "billed");
    assert_eq!(check["verdict"], "warn");
    let status = |at: usize| check["budgets"][at]["status"].as_str().expect("a text").to_owned();
    assert_eq!([status(0), status(1), status(2)], ["left_out", "left_out", "warn"]);
    // 12,600 tokens sent again inside the TTL: $0.1197 of $0.5753 (README).
    let share = check["budgets"][2]["figure"]["value"].as_str().expect("a text").to_owned();
    assert!(share.starts_with("20.8"), "{share}");
}

/// The comment in the guide is a real one.
#[test]
fn the_guide_shows_a_comment_as_it_is() {
    let review = Review::new();
    review.put(&longer());
    let comment = text(&review.against_baseline(&["--format", "markdown"]).stdout);
    let guide = fs::read_to_string(project("docs/ci.md")).expect("the guide");
    assert!(guide.contains(&format!("```markdown\n{}\n```", comment.trim_end())), "{comment}");
}

/// The third request of mend has 2,330 bytes (`expected.toml`), and 600 more after the change. Its tools
/// are as long as in every request.
#[test]
fn prompts_and_tools_have_budgets_in_bytes() {
    let review = Review::new();
    let budget = |metric: &str, limit: &str| {
        review.write(
            "cachesim.toml",
            &format!("[[budget]]\nmetric = '{metric}_bytes_per_request'\n{limit}\n"),
        );
    };
    budget("prompt", "max = '2330 bytes'");
    assert_eq!(review.check(&[]).status.code(), Some(0));
    budget("prompt", "max = '2329 bytes'");
    let output = review.check(&[]);
    assert_eq!(output.status.code(), Some(1));
    let page = text(&output.stdout);
    assert!(page.contains("mend (sessions.jsonl), request 3: 2,330 bytes"), "{page}");
    budget("prompt", "max = 2329\nsession = 'expl*'");
    assert_eq!(review.check(&[]).status.code(), Some(0), "explain has 2,116 at most");
    review.put(&longer());
    for (metric, limit) in
        [("tool", "max_increase = '599 bytes'"), ("prompt", "max_increase = '1 %'")]
    {
        budget(metric, limit);
        let output = review.against_baseline(&[]);
        assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
        let page = text(&output.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
        let grown = "tools[1] `search_code`: description changed, first in bytes 128 to 143; 231 bytes \
                     became 831";
        assert!(page.contains(grown), "{page}");
    }
    budget("tool", "max_increase = '600 bytes'");
    assert_eq!(review.against_baseline(&[]).status.code(), Some(0));
    review.write("sessions/sessions.jsonl", "");
    fs::remove_file(review.path("sessions/sessions.jsonl")).expect("a file");
    let transcript = project("fixtures/first-look/session.jsonl");
    fs::copy(transcript, review.path("sessions/session.jsonl")).expect("a file");
    let error = failed(&review.check(&[]), 2);
    assert!(error.contains("baseline"), "{error}");
    budget("tool", "max = 1");
    let error = failed(&review.check(&[]), 3);
    assert!(error.contains("there is no captured prompt"), "{error}");
}

/// A configured baseline is made by the command that saves it, and missed by every other.
#[test]
fn the_first_baseline_is_made_in_spite_of_the_configuration() {
    let review = Review::new();
    let saved = review.read("baseline.json");
    fs::remove_file(review.path("baseline.json")).expect("a file");
    let budget = "[[budget]]\nmetric = 'cost'\nmax_increase = '5 %'\n";
    let check = "[check]\nbaseline = 'baseline.json'\n";
    review.write("cachesim.toml", &format!("{check}{budget}"));
    let error = failed(&review.check(&[]), 2);
    assert!(error.contains("--save-baseline") && error.contains("baseline.json"), "{error}");
    let error = failed(&review.check(&["--export", "report=other.json"]), 2);
    assert!(error.contains("cannot read the baseline"), "{error}");
    let first = review.check(&["--export", "report=baseline.json"]);
    assert_eq!(first.status.code(), Some(0), "{}", text(&first.stderr));
    let page = text(&first.stdout);
    assert!(page.starts_with("Prompt cache check passed with warnings\n"), "{page}");
    assert!(page.contains("Not checked, since this run saves the first baseline: cost"), "{page}");
    assert_eq!(review.read("baseline.json"), saved);
    assert!(review.check(&[]).status.success());
    // What is there and cannot be read is an error all the same.
    review.write("baseline.json", "{");
    failed(&review.check(&["--export", "report=baseline.json"]), 2);
}

#[test]
fn the_guide_names_every_metric() {
    let guide = fs::read_to_string(project("docs/configuration.md")).expect("the guide");
    let table = guide.split_once("| metric |").expect("the table").1;
    let rows = table.lines().skip(2).map_while(|row| row.strip_prefix("| `"));
    let named: Vec<&str> = rows.filter_map(|row| row.split('`').next()).collect();
    assert_eq!(named, Metric::ALL.map(|metric| metric.name));
}

/// The texts of all table cells of a page; the page has no HTML but its marker and folds.
fn table_cells(markdown: &str) -> Vec<String> {
    let (mut cells, mut cell) = (Vec::new(), None);
    for event in Parser::new_ext(markdown, Options::ENABLE_TABLES) {
        match event {
            Event::Start(Tag::TableCell) => cell = Some(String::new()),
            Event::End(TagEnd::TableCell) => cells.extend(cell.take()),
            Event::Text(text) | Event::Code(text) => {
                if let Some(cell) = &mut cell {
                    cell.push_str(&text);
                }
            }
            Event::Html(html) | Event::InlineHtml(html) => {
                let tags = ["<!-- cachesim-check:", "<details><summary>", "</details>"];
                assert!(tags.iter().any(|tag| html.starts_with(tag)), "{html}");
            }
            _ => {}
        }
    }
    cells
}

/// The cases of a JUnit document with their failures: message and details.
fn junit_cases(xml: &str) -> Vec<(String, Option<String>)> {
    let document = roxmltree::Document::parse(xml).expect("XML");
    let root = document.root_element();
    assert_eq!(root.tag_name().name(), "testsuites");
    let suite = root.children().find(|node| node.has_tag_name("testsuite")).expect("a suite");
    let cases: Vec<_> = suite.children().filter(|node| node.has_tag_name("testcase")).collect();
    let count =
        |name: &str| suite.attribute(name).expect("a count").parse::<usize>().expect("a number");
    let failures =
        cases.iter().filter(|case| case.children().any(|node| node.has_tag_name("failure")));
    assert_eq!((count("tests"), count("failures")), (cases.len(), failures.count()));
    let failure = |case: &roxmltree::Node<'_, '_>| {
        let failure = case.children().find(|node| node.has_tag_name("failure"))?;
        Some(format!("{}\n{}", failure.attribute("message")?, failure.text().unwrap_or_default()))
    };
    cases
        .iter()
        .map(|case| (case.attribute("name").expect("a name").to_owned(), failure(case)))
        .collect()
}

/// A path of the corpus against itself: every figure of a baseline survives being saved.
#[test]
fn the_corpus_against_itself_has_no_difference() {
    let Some(corpus) = crate::common::transcripts("corpus") else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let baseline = folder.path().join("baseline.json");
    let check = |arguments: &[&std::ffi::OsStr]| {
        cachesim().arg("check").arg(&corpus).args(arguments).args(["-q"]).output().expect("runs")
    };
    let export = format!("report={}", baseline.display());
    check(&["--export".as_ref(), export.as_ref()]);
    assert!(Path::new(&baseline).exists());
    let output =
        check(&["--baseline".as_ref(), baseline.as_ref(), "--format".as_ref(), "json".as_ref()]);
    let check: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(check["difference"]["sessions"].as_array().map(Vec::len), Some(0));
    assert_eq!(check["difference"]["difference_usd"], "0");
    assert_eq!(check["difference"]["matched"]["id"], 82);
    assert_eq!(check["difference"]["cost_usd"], check["difference"]["cost_before_usd"]);
}

/// Neither the configuration nor, by another format, the baseline is lost.
#[test]
fn the_configuration_and_the_baseline_are_no_outputs() {
    let review = Review::new();
    let baseline = review.read("baseline.json");
    review.write("cachesim.toml", "[check]\nbaseline = 'baseline.json'\n");
    for arguments in [
        ["--save-baseline", "cachesim.toml"],
        ["--export", "json=cachesim.toml"],
        ["-o", "./cachesim.toml"],
    ] {
        let error = failed(&review.check(&arguments), 2);
        assert!(error.contains("cachesim.toml is the configuration of this run"), "{error}");
    }
    for arguments in [["-o", "baseline.json"], ["--export", "json=baseline.json"]] {
        let error = failed(&review.check(&arguments), 2);
        assert!(error.contains("baseline.json is the baseline"), "{error}");
    }
    let error = failed(&review.check(&["--save-baseline", "-"]), 2);
    assert!(error.contains("--format report is for standard output"), "{error}");
    assert_eq!(review.read("baseline.json"), baseline);
}

/// Bytes have no price.
#[test]
fn budgets_on_bytes_need_no_price() {
    let review = Review::new();
    let unpriced = original().replace("claude-sonnet-4-5", "nobodys-model");
    review.put(&unpriced);
    let size = "[[budget]]\nmetric = 'tool_bytes_per_request'\nmax = '5k bytes'\n";
    review.write("cachesim.toml", size);
    let passed = review.check(&[]);
    assert_eq!(passed.status.code(), Some(0), "{}", text(&passed.stderr));
    let cost = "[[budget]]\nmetric = 'cost'\nmax = '1 USD'\n";
    review.write("cachesim.toml", &format!("{size}{cost}"));
    let error = failed(&review.check(&[]), 3);
    assert!(error.contains("nothing was priced"), "{error}");
}
