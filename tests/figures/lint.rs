//! `lint`: each rule on a capture made for it, with prices worked out by hand.

use std::fs;

use serde_json::{Value, json};

use cachesim::explain::lint::Rule;

use crate::common::{cachesim, json as report, project, run, stdout, text};

/// Text that is long enough to be cached by Claude Opus 5 (512 tokens, here of one byte).
fn stable() -> String {
    "Keep the build green. ".repeat(100)
}

fn marked(text: &str) -> Value {
    json!({"type": "text", "text": text, "cache_control": {"type": "ephemeral"}})
}

fn plain(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

fn tool(name: &str, description: &str) -> Value {
    json!({"name": name, "description": description, "input_schema": {"type": "object"}})
}

/// A request body with one question.
fn body(tools: &[Value], system: &[Value], question: &Value) -> Value {
    json!({
        "model": "claude-opus-5",
        "tools": tools,
        "system": system,
        "messages": [{"role": "user", "content": [question]}],
    })
}

fn ask(system: &[Value]) -> Value {
    body(&[], system, &plain("Go on."))
}

/// The requests of one session, half a minute apart.
fn records(bodies: &[Value]) -> String {
    let record = |(number, body): (usize, &Value)| {
        let (minute, second) = (number / 2, number % 2 * 30);
        let record = json!({
            "timestamp": format!("2026-09-01T10:{minute:02}:{second:02}.000Z"),
            "request_id": format!("r{}", number + 1),
            "request": body,
        });
        record.to_string()
    };
    bodies.iter().enumerate().map(record).collect::<Vec<_>>().join("\n")
}

fn lint(capture: &str, arguments: &[&str]) -> Value {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("capture.jsonl");
    fs::write(&path, capture).expect("a file");
    let path = path.to_str().expect("plain");
    let all = [
        &[
            "lint",
            path,
            "-q",
            "--format",
            "json",
            "--tokens",
            "bytes:1",
            "--attribution",
            "literal",
        ],
        arguments,
    ]
    .concat();
    serde_json::from_str(&stdout(&all)).expect("JSON")
}

fn findings(bodies: &[Value]) -> Vec<Value> {
    lint(&records(bodies), &[])["findings"].as_array().expect("findings").clone()
}

/// Rules and places, in the order given.
fn found(bodies: &[Value]) -> Vec<(String, String)> {
    let text = |finding: &Value, key: &str| finding[key].as_str().expect("a string").to_owned();
    findings(bodies).iter().map(|one| (text(one, "rule"), text(one, "place"))).collect()
}

fn only(bodies: &[Value]) -> Value {
    let all = findings(bodies);
    assert_eq!(all.len(), 1, "{all:#?}");
    all.into_iter().next().expect("one")
}

#[test]
fn a_growing_conversation_is_clean() {
    let step = |number: usize| {
        let mut messages = vec![json!({"role": "user", "content": "Fix module 3."})];
        for turn in 0..number {
            let call = json!({"type": "tool_use", "id": format!("toolu_{turn}"), "name": "Read", "input": {"n": turn}});
            messages.push(json!({"role": "assistant", "content": [call]}));
            let result = json!({"type": "tool_result", "tool_use_id": format!("toolu_{turn}"), "content": "text"});
            messages.push(json!({"role": "user", "content": [result]}));
        }
        json!({
            "model": "claude-opus-5",
            "tools": [tool("Read", "Reads a file.")],
            "system": [marked(&stable())],
            "messages": messages,
            "cache_control": {"type": "ephemeral"},
        })
    };
    assert!(findings(&[step(0), step(1), step(2), step(3)]).is_empty());
}

#[test]
fn forks_are_held_against_their_parents() {
    let path = project("fixtures/captured-forks");
    let path = path.to_str().expect("plain");
    let report = stdout(&["lint", path, "-q", "--format", "json", "--tokens", "bytes:1"]);
    let report: Value = serde_json::from_str(&report).expect("JSON");
    let findings = report["findings"].as_array().expect("findings");
    let of = |rule: &str| {
        let found = findings.iter().find(|one| one["rule"] == rule && one["fork"] == true);
        let one = found.expect("a finding");
        (one["request_id"].clone(), one["tokens"].clone(), one["cost_usd"].clone())
    };
    // At 6.25 - 0.50 dollars a million. Without Agent all that the parent had but Agent comes back;
    // after a preview 100 + 300 tokens and what the result and the preview have in common.
    assert_eq!(of("tool-set"), (json!("tools-f"), json!(3600), json!("0.0207")));
    assert_eq!(of("setting-changed"), (json!("thinking-f"), json!(1400), json!("0.00805")));
    assert_eq!(of("history-rewritten").0, "decisions-f");
    let nested = findings.iter().find(|one| one["rule"] == "nested-fork").expect("a finding");
    assert_eq!(nested["request_id"], "cloned-n");
    assert_eq!(findings.iter().filter(|one| one["fork"] == true).count(), 3);
}

#[test]
fn tools_in_another_order_lose_everything() {
    let (read, write) = (tool("Read", "Reads."), tool("Write", "Writes."));
    let system = [marked(&stable())];
    let question = plain("Go on.");
    let finding = only(&[
        body(&[read.clone(), write.clone()], &system, &question),
        body(&[write.clone(), read.clone()], &system, &question),
    ]);
    assert_eq!(finding["rule"], "tool-order");
    assert_eq!(finding["detail"], "`Write` stands where `Read` stood");
    // What was cached: both tools and the system prompt, at $6.25 - $0.50 a million tokens.
    let block = plain(&stable()).to_string().len();
    let tokens = (read.to_string().len() + write.to_string().len() + block) as u64;
    assert_eq!(finding["tokens"], tokens);
    let micro = tokens * 575;
    assert_eq!(finding["cost_usd"], format!("0.0{micro:07}").trim_end_matches('0'));
}

#[test]
fn a_changed_schema_names_the_tool_and_the_field() {
    let system = [marked(&stable())];
    let other = json!({"name": "Read", "description": "Reads.", "input_schema": {"type": "object", "required": ["path"]}});
    let finding = only(&[
        body(&[tool("Read", "Reads.")], &system, &plain("Go on.")),
        body(&[other], &system, &plain("Go on.")),
    ]);
    assert_eq!(finding["rule"], "tool-schema");
    assert_eq!(finding["place"], "tools[0]");
    assert_eq!(finding["detail"], "`Read`: input_schema.required changed");
}

#[test]
fn words_that_change_in_front_of_stable_text_are_named() {
    for (before, after, rule) in [
        ("Now 2026-09-01T10:00:00Z.", "Now 2026-09-01T10:00:30Z.", "timestamp"),
        ("Turn 1 of many.", "Turn 2 of many.", "counter"),
        ("Run 7f3c9a21b4 begins.", "Run e02b77d915 begins.", "random-id"),
        (
            "Tree d41d8cd98f00b204e9800998ecf8427e.",
            "Tree 0cc175b9c0f1b6a831c399e269772661.",
            "hash",
        ),
        ("Be brief.", "Be thorough.", "dynamic-before-boundary"),
        (
            "x-anthropic-billing-header: cch=a1b2c;",
            "x-anthropic-billing-header: cch=d3e4f;",
            "attribution-changes",
        ),
    ] {
        let with = |head: &str| ask(&[plain(head), marked(&stable())]);
        let finding = only(&[with(before), with(after)]);
        assert_eq!(finding["rule"], rule);
        assert_eq!(finding["place"], "system[0]");
        let same = before.bytes().zip(after.bytes()).take_while(|(one, other)| one == other);
        let same = same.count();
        // `serde_json` writes the keys in alphabetical order, so the text comes first.
        assert_eq!(finding["byte"], (r#"{"text":""#.len() + same) as u64, "{rule}");
        let shown = finding["after"].as_str().expect("shown");
        assert!(shown.contains(&after[..same + 2]), "{shown}");
    }
}

#[test]
fn a_change_behind_the_last_marker_is_another_matter() {
    let with =
        |tail: &str, question: &Value| body(&[], &[marked(&stable()), plain(tail)], question);
    let question = plain("Go on.");
    assert!(findings(&[with("Be brief.", &question), with("Be thorough.", &question)]).is_empty());
    // With a marker on the messages it is in front of what is cached.
    let question = marked("Go on.");
    let finding = only(&[with("Be brief.", &question), with("Be thorough.", &question)]);
    assert_eq!(finding["rule"], "system-changed");
    // The marked part was read; of the rest all that the first request had cached would have been, unchanged.
    let tail = plain("Be brief.").to_string().len() + plain("Go on.").to_string().len();
    assert_eq!(finding["tokens"], tail as u64);
}

#[test]
fn keys_in_another_order_are_named() {
    let one = records(&[ask(&[marked(&stable())])]);
    let text = stable();
    let turned = format!(
        r#"{{"timestamp":"2026-09-01T10:00:30.000Z","request_id":"r2","request":{{"model":"claude-opus-5","tools":[],"system":[{{"type":"text","text":"{text}","cache_control":{{"type":"ephemeral"}}}}],"messages":[{{"role":"user","content":[{{"text":"Go on.","type":"text"}}]}}]}}}}"#
    );
    let found = lint(&format!("{one}\n{turned}"), &[]);
    assert_eq!(found["findings"][0]["rule"], "key-order");
    assert_eq!(found["findings"][0]["place"], "system[0]");
}

#[test]
fn a_rewritten_message_and_a_changed_setting_are_named() {
    let turn = |first: &str, effort: &str| {
        json!({
            "model": "claude-opus-5",
            "system": [marked(&stable())],
            "messages": [
                {"role": "user", "content": [plain(first)]},
                {"role": "assistant", "content": "Done."},
                {"role": "user", "content": [marked("And now?")]},
            ],
            "output_config": {"effort": effort},
        })
    };
    let rules =
        found(&[turn("Fix it all, and say how.", "low"), turn("Old text was cleared here", "low")]);
    assert_eq!(rules, [("history-rewritten".to_owned(), "messages[0].content[0]".to_owned())]);
    let rules = found(&[turn("Fix it.", "low"), turn("Fix it.", "high")]);
    assert_eq!(rules, [("setting-changed".to_owned(), "effort".to_owned())]);
}

#[test]
fn markers_of_no_use_are_named() {
    let short = ask(&[marked("Be brief.")]);
    let finding = only(&[short]);
    assert_eq!(finding["rule"], "below-minimum");
    assert_eq!(finding["place"], "system[0]");
    // Each question is another one, and marked: what it writes is never read.
    let questions = ["cats and dogs", "the weather", "prime numbers", "tea"];
    let bodies: Vec<Value> = questions
        .iter()
        .map(|subject| body(&[], &[marked(&stable())], &marked(&format!("Tell me of {subject}."))))
        .collect();
    assert_eq!(found(&bodies), [("never-read".to_owned(), "messages".to_owned())]);
}

#[test]
fn an_entry_out_of_reach_is_named() {
    let turns = |count: usize| {
        let mut messages = vec![json!({"role": "user", "content": [plain(&stable())]})];
        for turn in 0..count {
            let role = if turn % 2 == 0 { "assistant" } else { "user" };
            messages.push(json!({"role": role, "content": [plain(&format!("Line {turn}."))]}));
        }
        json!({"model": "claude-opus-5", "messages": messages, "cache_control": {"type": "ephemeral"}})
    };
    assert!(findings(&[turns(0), turns(19)]).is_empty(), "19 positions back is in reach");
    let finding = only(&[turns(0), turns(20)]);
    assert_eq!(finding["rule"], "beyond-lookback");
    assert_eq!(finding["tokens"], plain(&stable()).to_string().len() as u64);
}

/// The first request caches system prompt and question, the second marks the system prompt alone: the
/// question, which comes back, is sent in full.
#[test]
fn a_marker_in_front_of_what_was_cached_is_named() {
    let first = body(&[], &[marked(&stable())], &marked(&stable()));
    let mut second = body(&[], &[marked(&stable())], &plain(&stable()));
    let messages = second["messages"].as_array_mut().expect("messages");
    messages.push(json!({"role": "assistant", "content": [plain("So it is.")]}));
    messages.push(json!({"role": "user", "content": [plain("Go on.")]}));
    let finding = only(&[first.clone(), second.clone()]);
    assert_eq!(finding["rule"], "marker-missing");
    assert_eq!(finding["detail"], "the last marker stands in front of the end of what was cached");
    assert_eq!(finding["tokens"], plain(&stable()).to_string().len() as u64);
    // `breaks` has a name for the same.
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("capture.jsonl");
    fs::write(&path, records(&[first, second])).expect("a file");
    let path = path.to_str().expect("plain");
    let found = stdout(&["breaks", path, "-q", "--format", "jsonl", "--tokens", "bytes:1"]);
    let found: Value = serde_json::from_str(found.trim_end()).expect("one break");
    assert_eq!(found["cause"], "lookback_exceeded");
    assert_eq!(found["rewritten_tokens"], finding["tokens"]);
}

/// A capture in a folder, and how a gate over it ends: the exit code, and all that is said.
struct Gated(tempfile::TempDir);

impl Gated {
    fn new(bodies: &[Value]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("capture.jsonl"), records(bodies)).expect("a file");
        Self(folder)
    }

    fn ends(&self, arguments: &[&str]) -> (Option<i32>, String) {
        let mut command = cachesim();
        let base = ["lint", "capture.jsonl", "--tokens", "bytes:1", "--attribution", "literal"];
        let command = command.current_dir(self.0.path()).args(base).args(arguments);
        let output = command.output().expect("the program runs");
        (output.status.code(), text(&output.stdout) + &text(&output.stderr))
    }
}

/// Tools in another order, and an unmarked rest that looks like a moment.
fn disordered() -> Vec<Value> {
    let system = [marked(&(stable() + " It is 2026-09-01T10:00:00Z."))];
    let (read, write) = (tool("Read", "Reads."), tool("Write", "Writes."));
    let asked = plain("Go on.");
    vec![
        body(&[read.clone(), write.clone()], &system, &asked),
        body(&[write, read], &system, &asked),
    ]
}

#[test]
fn findings_fail_a_run_where_that_is_asked_for() {
    let gated = Gated::new(&disordered());
    for (arguments, code) in [
        (&[][..], 0),
        (&["--fail-on", "error"], 0),
        (&["--fail-on", "warning"], 1),
        (&["--fail-on", "note"], 1),
        (&["--fail-on", "tool-order"], 1),
        (&["--fail-on", "error,tool-order"], 1),
        (&["--fail-on", "tool-set"], 0),
        (&["--fail-on", "warning", "--ignore", "tool-order"], 0),
        (&["--fail-on", "note", "--ignore", "tool-order"], 1),
        (&["--fail-on", "note", "--ignore", "tool-order,looks-volatile"], 0),
        (&["--fail-on", "note", "--select", "tool-set,key-order"], 0),
        (&["--fail-on", "note", "--select", "looks-volatile"], 1),
        (&["--fail-on", "grave"], 2),
        (&["--select", "tool-ordre"], 2),
        (&["--explain", "tool-order"], 2),
    ] {
        let (ended, said) = gated.ends(arguments);
        assert_eq!(ended, Some(code), "{arguments:?}: {said}");
    }
    let (_, said) = gated.ends(&["--fail-on", "note"]);
    assert!(
        said.ends_with(
            "cachesim: --fail-on: 1 finding of tool-order, 1 finding of looks-volatile\n"
        ),
        "{said}"
    );
    let (_, said) = gated.ends(&["--select", "looks-volatile"]);
    assert!(
        !said.contains("tool-order") && said.contains("0 errors, 0 warnings, 1 note"),
        "{said}"
    );
}

#[test]
fn accepted_findings_are_left_out_until_they_change() {
    let gated = Gated::new(&disordered());
    for hidden in [&["--hide-text"][..], &[]] {
        let save = [&["--format", "json", "-o", "accepted.json"], hidden].concat();
        assert_eq!(gated.ends(&save).0, Some(0));
        let (ended, said) = gated.ends(&["--fail-on", "note", "--accepted", "accepted.json"]);
        assert_eq!(ended, Some(0), "{said}");
        assert!(said.contains("Nothing new found"), "{said}");
        assert!(said.contains("Left out: 2 findings that --accepted names."), "{said}");
    }
    // The same findings in prompts that are 500 bytes longer, each a token here: what came after the tools is lost.
    let mut longer = disordered();
    for body in &mut longer {
        let text =
            format!("{}{}", "x".repeat(500), body["system"][0]["text"].as_str().expect("a text"));
        body["system"][0]["text"] = json!(text);
    }
    let worse = Gated::new(&longer);
    fs::copy(gated.0.path().join("accepted.json"), worse.0.path().join("accepted.json"))
        .expect("a file");
    let (ended, said) = worse.ends(&["--fail-on", "note", "--accepted", "accepted.json"]);
    assert_eq!(ended, Some(0), "{said}");
    let more =
        "2 findings that --accepted names. They lose 500 tokens more than when they were accepted.";
    assert!(said.contains(more), "{said}");
    let (_, said) = worse.ends(&["--accepted", "accepted.json", "--format", "json"]);
    assert!(said.contains("\"accepted_more_tokens\": 500"), "{said}");
    // The same rule at the same place, and another tool that moved.
    let mut bodies = disordered();
    let tools = bodies[1]["tools"].as_array_mut().expect("tools");
    tools.push(tool("Web", "Searches."));
    let changed = Gated::new(&bodies);
    fs::copy(gated.0.path().join("accepted.json"), changed.0.path().join("accepted.json"))
        .expect("a file");
    let (ended, said) = changed.ends(&["--fail-on", "warning", "--accepted", "accepted.json"]);
    assert_eq!(ended, Some(1), "{said}");
    assert!(said.contains("1 finding of tool-set"), "{said}");
    let mended = Gated::new(&disordered()[..1]);
    fs::copy(gated.0.path().join("accepted.json"), mended.0.path().join("accepted.json"))
        .expect("a file");
    let (_, said) = mended.ends(&["--accepted", "accepted.json"]);
    assert!(said.contains("Not found here: 1 finding that --accepted names."), "{said}");
    for (content, problem) in [
        ("", "it has no findings of lint"),
        (
            "{\"schema\": \"cachesim.report/v1\", \"findings\": []}",
            "its schema is `cachesim.report/v1`",
        ),
    ] {
        fs::write(changed.0.path().join("accepted.json"), content).expect("a file");
        let (ended, said) = changed.ends(&["--accepted", "accepted.json"]);
        assert_eq!(ended, Some(2), "{said}");
        assert!(said.contains("accepted.json") && said.contains(problem), "{said}");
        assert!(said.contains("cachesim lint PATH --format json -o FILE"), "{said}");
    }
    let (ended, said) = changed.ends(&["--accepted", "nowhere.json"]);
    assert!(ended == Some(2) && said.contains("nowhere.json"), "{said}");
}

/// One request cannot be compared with another. That is not a clean result.
#[test]
fn nothing_compared_is_not_nothing_found() {
    let gated = Gated::new(&disordered()[..1]);
    let (ended, said) = gated.ends(&["--ignore", "looks-volatile"]);
    assert_eq!(ended, Some(0));
    assert!(said.starts_with("Nothing could be compared\n"), "{said}");
    let gate = |on| gated.ends(&["--ignore", "looks-volatile", "--fail-on", on]);
    let (ended, said) = gate("warning");
    assert_eq!(ended, Some(3), "{said}");
    assert!(said.contains("no request follows another"), "{said}");
    assert_eq!(gate("tool-order").0, Some(3));
    // What a single request shows was looked at.
    assert_eq!(gate("error").0, Some(0));
    assert_eq!(gate("below-minimum").0, Some(0));
    assert_eq!(gated.ends(&["--fail-on", "note"]).0, Some(1));
    let document = lint(&records(&disordered()[..1]), &[]);
    assert_eq!(document["compared_requests"], 0);
    assert_eq!(lint(&records(&disordered()), &[])["compared_requests"], 1);
}

#[test]
fn every_rule_explains_itself_and_is_in_the_guide() {
    let guide = fs::read_to_string(project("docs/lint.md")).expect("the guide");
    for rule in Rule::ALL {
        let page = stdout(&["lint", "--explain", rule.name()]);
        let words = page.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(page.starts_with(&format!("{}: {}\n", rule.severity().name(), rule.name())));
        assert!(words.ends_with(rule.explanation()), "{page}");
        assert!(guide.contains(&format!("\n### {}\n", rule.name())), "{}", rule.name());
    }
}

#[test]
fn refused_requests_are_errors() {
    let five = ask(&[marked("a"), marked("b"), marked("c"), marked("d"), marked(&stable())]);
    let hour = json!({"type": "text", "text": stable(), "cache_control": {"type": "ephemeral", "ttl": "1h"}});
    let order = ask(&[marked("a"), hour]);
    let errors: Vec<(String, String)> = found(&[five, order]).into_iter().take(2).collect();
    assert_eq!(errors[0].0, "too-many-markers");
    assert_eq!(errors[1].0, "ttl-order");
}

#[test]
fn conditionals_multiply_the_prefixes() {
    let variant = |web: bool, memory: bool| {
        let mut system = vec![plain("You are an agent.")];
        if memory {
            system.push(plain("Memory is on."));
        }
        system.push(marked(&stable()));
        let mut tools = vec![tool("Read", "Reads.")];
        if web {
            tools.push(tool("Web", "Searches."));
        }
        body(&tools, &system, &plain("Go on."))
    };
    let all = findings(&[variant(true, true), variant(false, true), variant(true, false)]);
    let finding = all.iter().find(|one| one["rule"] == "prefix-variants").expect("the rule");
    let detail = finding["detail"].as_str().expect("a string");
    assert!(detail.starts_with("3 prefixes of claude-opus-5 seen, 2^2 = 4 possible"), "{detail}");
    assert!(detail.contains("tool `Web`") && detail.contains("system[1]"), "{detail}");
}

/// A prompt of three sections in front of the boundary, the last of which may be left out, and the
/// others are one of two texts. All are as long as what does not change, so that the barest and the
/// fullest have less than half in common.
fn sections(choices: usize, is_optional: bool) -> Value {
    let mut system = vec![plain("Keep the build green.")];
    for (bit, name) in ["style", "tools", "memory"].into_iter().enumerate() {
        match (choices & (1 << bit) != 0, is_optional) {
            (true, _) => system.push(plain(&format!("The {name} are those of the project."))),
            (false, false) => system.push(plain(&format!("The {name} are the usual ones."))),
            (false, true) => {}
        }
    }
    system.push(marked(&stable()));
    ask(&system)
}

/// 2^3 prefixes, all of them seen: with each section there or not, and with one of two texts each.
/// Three optional sections, and a prompt with none of them.
#[test]
fn the_bare_variant_of_the_fixture_is_counted() {
    let fixture = project("fixtures/conditional-sections");
    let path = fixture.to_str().expect("a plain path");
    let report = report(&["lint", path, "-q", "--format", "json", "--tokens", "bytes:1"]);
    let findings = report["findings"].as_array().expect("findings");
    let found = findings.iter().find(|one| one["rule"] == "prefix-variants").expect("the rule");
    let detail = found["detail"].as_str().expect("a string");
    assert!(detail.starts_with("8 prefixes of claude-opus-5 seen, 2^3 = 8 possible"), "{detail}");
}

/// Global entries are those of all organisations. Behind the boundary the conditionals would be written all the same, so
/// that of the 2,100, 2,100 and 2,200 tokens of the further variants 2,000 each are lost, written for $6.25 and not read
/// for $0.50 a million.
#[test]
fn organisations_share_global_entries() {
    let path = project("fixtures/prefixes-of-organisations");
    let path = path.to_str().expect("a plain path");
    let report = report(&["lint", path, "-q", "--format", "json", "--tokens", "bytes:1"]);
    let findings = report["findings"].as_array().expect("findings");
    let found = findings.iter().find(|one| one["rule"] == "prefix-variants").expect("the rule");
    let detail = found["detail"].as_str().expect("a string");
    assert!(detail.starts_with("4 prefixes of claude-opus-5 seen, 2^2 = 4 possible"), "{detail}");
    assert_eq!((&found["tokens"], &found["cost_usd"]), (&json!(6_000), &json!("0.0345")));
}

#[test]
fn every_variant_of_three_sections_is_counted() {
    for is_optional in [true, false] {
        let bodies: Vec<Value> = (0..8).map(|choices| sections(choices, is_optional)).collect();
        let all = findings(&bodies);
        let finding = all.iter().find(|one| one["rule"] == "prefix-variants").expect("the rule");
        let detail = finding["detail"].as_str().expect("a string");
        let seen =
            "8 prefixes of claude-opus-5 seen, 2^3 = 8 possible; conditional: system[1] from";
        assert!(detail.starts_with(seen), "{detail}");
        assert_eq!(detail.matches("one of 2 texts").count(), if is_optional { 0 } else { 3 });
        assert_eq!(finding["requests"], 7);
    }
}

/// Nothing but what says who the client is, and one optional section: the bare prompt is a variant,
/// that of a side question is none.
#[test]
fn a_bare_variant_is_one_and_a_side_question_is_none() {
    let identity = plain("You are Claude Code, Anthropic's official CLI for Claude.");
    let rules = marked(&stable());
    let full: Vec<Value> =
        (0..4).map(|number| tool(&format!("Tool{number}"), "Does it.")).collect();
    let bare = body(&[], &[identity.clone(), rules.clone()], &plain("Go on."));
    let with_tools = body(&full, &[identity.clone(), rules], &plain("Go on."));
    let side =
        body(&[], &[identity, marked(&stable().replace("build", "title"))], &plain("Title?"));
    let all = findings(&[with_tools, bare, side]);
    let finding = all.iter().find(|one| one["rule"] == "prefix-variants").expect("the rule");
    let detail = finding["detail"].as_str().expect("a string");
    assert!(detail.starts_with("2 prefixes of claude-opus-5 seen, 2^4 = 16 possible"), "{detail}");
}

#[test]
fn hidden_variants_name_tools_only_where_there_are_some() {
    let detail = |bodies: &[Value]| {
        let found = lint(&records(bodies), &["--hide-text"]);
        let all = found["findings"].as_array().expect("findings").clone();
        let finding = all.into_iter().find(|one| one["rule"] == "prefix-variants");
        finding.expect("the rule")["detail"].as_str().expect("a string").to_owned()
    };
    let seen = "2 prefixes of claude-opus-5 seen, 2^1 = 2 possible; conditional: ";
    let without_tools = detail(&[sections(1, true), sections(0, true)]);
    assert_eq!(without_tools, format!("{seen}system[1] from byte 9"));
    let system = [marked(&stable())];
    let web = [tool("Web", "Searches.")];
    let question = plain("Go on.");
    let with_tools = detail(&[body(&web, &system, &question), body(&[], &system, &question)]);
    assert_eq!(with_tools, format!("{seen}1 tool"));
}

#[test]
fn text_that_looks_volatile_is_a_note() {
    let system = [plain("Session 6fe4e511-70ab-4c00-8000-00000000000a."), marked(&stable())];
    let finding = only(&[ask(&system), ask(&system)]);
    assert_eq!(
        (&finding["rule"], &finding["severity"]),
        (&json!("looks-volatile"), &json!("note"))
    );
}

#[test]
fn text_is_hidden_where_it_is_asked_for() {
    let secret = |number: usize| ask(&[plain(&format!("Swordfish-{number}")), marked(&stable())]);
    let capture = records(&[secret(1), secret(2)]);
    let shown = lint(&capture, &[]).to_string();
    assert!(shown.contains("Swordfish"));
    let hidden = lint(&capture, &["--hide-text"]);
    assert!(!hidden.to_string().contains("wordfish"));
    assert_eq!(hidden["findings"][0]["before"], Value::Null);
    assert!(hidden["findings"][0]["byte"].is_number());
}

#[test]
fn sarif_points_at_the_line() {
    let path = project("fixtures/captured-clock");
    let sarif = stdout(&["lint", path.to_str().expect("plain"), "--format", "sarif"]);
    let sarif: Value = serde_json::from_str(&sarif).expect("JSON");
    assert_eq!(sarif["version"], "2.1.0");
    let run = &sarif["runs"][0];
    let result = &run["results"][0];
    assert_eq!(result["ruleId"], "timestamp");
    assert_eq!(result["level"], "warning");
    let index = usize::try_from(result["ruleIndex"].as_u64().expect("an index")).expect("small");
    assert_eq!(run["tool"]["driver"]["rules"][index]["id"], "timestamp");
    let location = &result["locations"][0]["physicalLocation"];
    assert_eq!(location["artifactLocation"]["uri"], "session.jsonl");
    assert_eq!(location["region"]["startLine"], 2);
}

#[test]
fn a_transcript_has_nothing_to_lint() {
    let path = project("fixtures/tool-loop");
    let output = run(&["lint", path.to_str().expect("plain")]);
    assert_eq!(output.status.code(), Some(3));
    assert!(text(&output.stderr).contains("no captured prompt in the input"));
}

/// Of requests that have nothing but the system prompt in common only that could have been read: the
/// questions have to be written anyway.
#[test]
fn the_price_is_that_of_what_comes_back() {
    let head = |second: &str| plain(&format!("Now 2026-09-01T10:00:{second}Z."));
    let with = |second: &str, question: &str| {
        let question = marked(&format!("{question} {}", question.repeat(40)));
        body(&[], &[head(second), marked(&stable())], &question)
    };
    let finding = only(&[with("00", "Tea?"), with("30", "Cats and dogs?"), with("50", "Why?")]);
    assert_eq!(finding["rule"], "timestamp");
    // One digit differs each time.
    let front = head("00").to_string().len() - 1 + plain(&stable()).to_string().len();
    assert_eq!(finding["tokens"], 2 * front as u64);
    // At $6.25 - $0.50 a million tokens.
    let micro = 2 * front as u64 * 575;
    assert_eq!(finding["cost_usd"], format!("0.0{micro:07}").trim_end_matches('0'));
}

/// The entry in reach has expired; that one out of reach, of an hour, has not.
#[test]
fn an_expiry_is_not_blamed_on_the_lookback() {
    let turns = |count: usize, ttl: &str| {
        let mut messages = vec![json!({"role": "user", "content": [plain(&stable())]})];
        for turn in 0..count {
            let role = if turn % 2 == 0 { "assistant" } else { "user" };
            messages.push(json!({"role": role, "content": [plain(&format!("Line {turn}."))]}));
        }
        let marker = json!({"type": "ephemeral", "ttl": ttl});
        json!({"model": "claude-opus-5", "messages": messages, "cache_control": marker})
    };
    let at = |time: &str, id: &str, body: &Value| {
        let record = json!({"timestamp": format!("2026-09-01T{time}.000Z"), "request_id": id, "request": body});
        record.to_string()
    };
    let capture = [
        at("10:00:00", "r1", &turns(0, "1h")),
        at("10:01:00", "r2", &turns(12, "5m")),
        at("10:01:30", "r3", &turns(24, "5m")),
        at("10:08:00", "r4", &turns(26, "5m")),
    ];
    let found = lint(&capture.join("\n"), &[]);
    let rules: Vec<&Value> =
        found["findings"].as_array().expect("findings").iter().map(|one| &one["rule"]).collect();
    assert_eq!(rules, ["ttl-changed"]);
}

/// A record of a session: minutes after ten, body and usage.
fn record(session: &str, minute: u32, body: &Value, usage: &Value) -> String {
    let record = json!({
        "timestamp": format!("2026-09-01T10:{minute:02}:00.000Z"),
        "request_id": format!("{session}{minute}"), "session_id": session,
        "request": body, "usage": usage,
    });
    record.to_string()
}

/// Usage that writes for five minutes and reads.
fn usage(written: u64, read: u64) -> Value {
    json!({
        "input_tokens": 1, "output_tokens": 1, "cache_read_input_tokens": read,
        "cache_creation_input_tokens": written,
        "cache_creation": {"ephemeral_5m_input_tokens": written, "ephemeral_1h_input_tokens": 0},
    })
}

fn list(report: &Value) -> &[Value] {
    report["findings"].as_array().expect("findings")
}

/// The third request comes ten minutes after the second. For five minutes 2,225 bytes are written twice ($6.25 a
/// million) and read once ($0.50); for an hour they are written once ($10) and read twice: $2 a million less.
#[test]
fn an_hour_that_was_not_granted_has_a_price() {
    let block = json!({"type": "text", "text": stable(), "cache_control": {"type": "ephemeral", "ttl": "1h"}});
    let capture = [(0, 2_225, 0), (1, 0, 2_225), (11, 2_225, 0)];
    let lines = |gap: u32| -> Vec<String> {
        let at = |minute: u32| if minute > 1 { minute - gap } else { minute };
        let line = |(minute, written, read): &(u32, u64, u64)| {
            record("s", at(*minute), &ask(std::slice::from_ref(&block)), &usage(*written, *read))
        };
        capture.iter().map(line).collect()
    };
    let report = lint(&lines(0).join("\n"), &["--select", "ttl-not-granted"]);
    let [finding] = list(&report) else { panic!("{report:#}") };
    assert_eq!((&finding["tokens"], &finding["cost_usd"]), (&json!(2_225), &json!("0.00445")));
    // Within five minutes an hour only costs more.
    let report = lint(&lines(9).join("\n"), &["--select", "ttl-not-granted"]);
    let [finding] = list(&report) else { panic!("{report:#}") };
    assert_eq!((&finding["tokens"], &finding["cost_usd"]), (&json!(0), &json!("0")));
}

/// One session lacks a marker in its second request, another has none at all: 2,225 bytes of the system prompt, and as
/// many with a question of 31.
#[test]
fn a_missing_marker_does_not_hide_a_session_without_any() {
    let question = plain("Go on.");
    let first = [ask(&[marked(&stable())]), ask(&[plain(&stable())])];
    let second = |turns: usize| {
        let mut body = ask(&[plain(&stable().replace("green", "clean"))]);
        let messages = body["messages"].as_array_mut().expect("messages");
        for _ in 0..turns {
            messages.push(json!({"role": "assistant", "content": [plain("So it is.")]}));
            messages.push(json!({"role": "user", "content": [question]}));
        }
        body
    };
    let lines = [
        record("a", 0, &first[0], &Value::Null),
        record("a", 1, &first[1], &Value::Null),
        record("b", 2, &second(0), &Value::Null),
        record("b", 3, &second(1), &Value::Null),
    ];
    let report = lint(&lines.join("\n"), &[]);
    let [finding] = list(&report) else { panic!("{report:#}") };
    assert_eq!((&finding["rule"], &finding["requests"]), (&json!("marker-missing"), &json!(2)));
    assert_eq!(finding["tokens"], 2_225 + 2_225 + 31);
}

#[test]
fn variants_of_one_agent_do_not_hide_what_differs_between_sessions_of_another() {
    let folder = tempfile::tempdir().expect("a folder");
    for fixture in ["conditional-sections/session.jsonl", "sessions-that-differ/seu.jsonl"] {
        let name = fixture.replace('/', "-");
        let from = project(&format!("fixtures/{fixture}"));
        fs::copy(from, folder.path().join(name)).expect("copied");
    }
    let path = folder.path().to_str().expect("plain");
    let found = stdout(&["lint", path, "-q", "--format", "json", "--tokens", "bytes:1"]);
    let report: Value = serde_json::from_str(&found).expect("JSON");
    let requests = |rule: &str| {
        let such = list(&report).iter().find(|one| one["rule"] == rule);
        such.map(|one| one["requests"].as_u64().expect("a number"))
    };
    assert!(requests("prefix-variants").is_some(), "{found}");
    assert_eq!(requests("differs-between-sessions"), Some(3), "{found}");
}

#[test]
fn misspelt_markers_are_found_wherever_they_stand() {
    let marker = json!({"type": "ephemeral"});
    let with = |pointer: &str, name: &str| {
        let mut body =
            body(&[tool("Read", "Reads a file.")], &[marked(&stable())], &plain("Go on."));
        let call =
            json!({"type": "tool_use", "id": "t", "name": "Read", "input": {"cacheControl": 1}});
        let result = json!({"type": "tool_result", "tool_use_id": "t", "content": [plain("text")]});
        let text = json!({"type": "tool_result", "tool_use_id": "t", "content": "no cacheControl"});
        let messages = body["messages"].as_array_mut().expect("messages");
        messages.push(json!({"role": "assistant", "content": [call]}));
        messages.push(json!({"role": "user", "content": [result, text]}));
        let part = body.pointer_mut(pointer).expect("a part");
        part.as_object_mut().expect("an object").insert(name.to_owned(), marker.clone());
        body
    };
    let places = [
        "",
        "/tools/0",
        "/system/0",
        "/messages/0",
        "/messages/0/content/0",
        "/messages/2/content/0/content/0",
        "/messages/2/content/1",
    ];
    for place in places {
        for name in ["cacheControl", "cache-control", "Cache_Control"] {
            let finding = only(&[with(place, name)]);
            assert_eq!(finding["rule"], "request-refused", "{place} {name}");
            assert!(finding["detail"].as_str().is_some_and(|words| words.contains("another name")));
        }
    }
    assert!(findings(&[with("/system/0", "cache_control")]).is_empty());
}

/// Each step adds less than the minimum of 512, and comes again behind the only marker: 31, 93 and 155 bytes.
#[test]
fn steps_that_no_marker_reaches_are_named_however_small() {
    let step = |turns: usize| {
        let mut body = ask(&[marked(&stable())]);
        let messages = body["messages"].as_array_mut().expect("messages");
        for turn in 0..turns {
            messages
                .push(json!({"role": "assistant", "content": [plain(&format!("Did {turn}."))]}));
            messages.push(json!({"role": "user", "content": [plain("Go on.")]}));
        }
        body
    };
    let finding = only(&[step(0), step(1), step(2), step(3)]);
    assert_eq!((&finding["rule"], &finding["requests"]), (&json!("marker-missing"), &json!(3)));
    assert_eq!(finding["tokens"], 31 + 93 + 155);
}

/// The gateway marks by itself: usage shows that what the body does not mark is read.
#[test]
fn what_was_read_by_its_usage_is_not_called_unread() {
    let turns = |count: usize| {
        let mut body = ask(&[plain(&"Keep the build green. ".repeat(400))]);
        let messages = body["messages"].as_array_mut().expect("messages");
        for turn in 0..count {
            messages
                .push(json!({"role": "assistant", "content": [plain(&format!("Did {turn}."))]}));
            messages.push(json!({"role": "user", "content": [plain("Go on.")]}));
        }
        body
    };
    let capture = |has_usage: bool| {
        let line = |(number, (written, read)): (u32, (u64, u64))| {
            let usage = if has_usage { usage(written, read) } else { Value::Null };
            record("s", number, &turns(number as usize), &usage)
        };
        let lines: Vec<String> =
            (0..).zip([(2_020, 0), (10, 2_020), (10, 2_030)]).map(line).collect();
        lines.join("\n")
    };
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("capture.jsonl");
    let found = |has_usage| {
        fs::write(&path, capture(has_usage)).expect("a file");
        let path = path.to_str().expect("plain");
        let report: Value =
            serde_json::from_str(&stdout(&["lint", path, "-q", "--format", "json"])).expect("JSON");
        list(&report).to_vec()
    };
    assert_eq!(found(false)[0]["rule"], "marker-missing");
    assert_eq!(found(true), Vec::<Value>::new());
}

#[test]
fn only_what_was_computed_is_said_to_be_lost_or_not() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("capture.jsonl");
    let page = |bodies: &[Value]| {
        fs::write(&path, records(bodies)).expect("a file");
        stdout(&["lint", path.to_str().expect("plain"), "-q", "--tokens", "bytes:1"])
    };
    let refused = page(&[ask(&vec![marked(&stable()); 5])]);
    assert!(refused.contains("1 request. The service refuses"), "{refused}");
    let turn = |effort: &str| {
        let mut body = ask(&[marked(&stable())]);
        body["output_config"] = json!({"effort": effort});
        body["messages"][0]["content"][0]["cache_control"] = json!({"type": "ephemeral"});
        body
    };
    let changed = page(&[turn("low"), turn("medium")]);
    // The object in which the program keeps settings is no part of a request.
    assert!(
        changed.contains("\u{201c}\"low\"\u{201d} became \u{201c}\"medium\"\u{201d}"),
        "{changed}"
    );
}

/// Rules for everybody first, with the marker, and the user behind: the repair of the guide.
#[test]
fn sessions_that_follow_the_advice_are_clean() {
    let session = |user: &str| {
        let name = plain(&format!("The name of the user, who is to be called by it, is {user}."));
        ask(&[marked(&stable()), name])
    };
    let line = |(number, user): (u32, &str)| record(user, number, &session(user), &Value::Null);
    let lines: Vec<String> = (0..).zip(["Ada", "Grace", "Edsger"]).map(line).collect();
    assert_eq!(list(&lint(&lines.join("\n"), &[])), Vec::<Value>::new());
}
