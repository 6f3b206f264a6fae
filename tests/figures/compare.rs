//! `compare` as it is used: figures, gates, errors, formats.

use serde_json::Value;

use crate::common::{json, project, run, shared, stdout, text};

fn session() -> String {
    project("fixtures/first-look").to_str().expect("a plain path").to_owned()
}

fn compare(arguments: &[&str]) -> std::process::Output {
    let session = session();
    let mut all = vec!["compare", session.as_str()];
    all.extend(arguments);
    run(&all)
}

fn stderr(arguments: &[&str]) -> (Option<i32>, String) {
    let output = compare(arguments);
    (output.status.code(), text(&output.stderr))
}

/// The costs are those worked out in `fixtures/first-look/expected.toml`: $0.57531 billed; the bound
/// has to be below the cheapest of the strategies.
#[test]
fn strategies_stand_side_by_side() {
    let report =
        json(&["compare", &session(), "--strategy", "billed,5m,1h", "--format", "json", "-q"]);
    assert_eq!(report["schema"], "cachesim.compare/v1");
    assert_eq!(report["base"], "billed");
    let billed = &report["strategies"][0];
    assert_eq!(billed["totals"]["cost_usd"], "0.57531");
    assert_eq!(billed["main"], billed["totals"]);
    let five_minutes = &report["strategies"][1];
    // 5m, request by request, in expected.toml: $0.482211 in all.
    let expected: toml::Value = toml::from_str(
        &std::fs::read_to_string(project("fixtures/first-look/expected.toml")).expect("a file"),
    )
    .expect("TOML");
    let cost = expected["totals"]["5m"]["cost_usd"].as_str().expect("a cost");
    assert_eq!(five_minutes["totals"]["cost_usd"], cost);
    let number = |value: &Value| value.as_str().expect("money").parse::<f64>().expect("a number");
    let difference = number(&five_minutes["difference_usd"]);
    assert!((difference - (number(&five_minutes["totals"]["cost_usd"]) - 0.57531)).abs() < 1e-12);
    assert!(number(&report["bound"]["cost_usd"]) < number(&five_minutes["totals"]["cost_usd"]));
    let other_reading = number(&report["bound"]["other_reading_cost_usd"]);
    assert!(other_reading <= number(&report["bound"]["cost_usd"]));
}

#[test]
fn a_gate_fails_with_1_and_only_where_it_holds() {
    // 1h costs what was billed, since all was written for an hour.
    let holds = ["--strategy", "billed,1h", "--fail-if", "1h.cost >= billed.cost", "-q"];
    let (code, message) = stderr(&holds);
    assert_eq!(code, Some(1));
    assert_eq!(message, "cachesim: --fail-if '1h.cost >= billed.cost' is true\n");
    let (code, message) =
        stderr(&["--strategy", "billed,1h", "--fail-if", "1h.cost > billed.cost * 1.01", "-q"]);
    assert_eq!((code, message.as_str()), (Some(0), ""));
}

#[test]
fn what_cannot_be_compared_is_named() {
    let cases = [
        (&["--strategy", "last-tow"][..], "did you mean `last-two`"),
        (&["--fail-if", "billed.cots > 1"], "billed.cots"),
        (&["--fail-if", "2h.cost > 1"], "`2h` is not compared"),
        (&["--fail-if", "billed.cost >"], "--fail-if 'billed.cost >'"),
        (&["--provider", "opanai"], "did you mean `openai`"),
        (&["--strategy", "no-such-file.toml"], "cannot read the strategy file"),
    ];
    for (arguments, expected) in cases {
        let (code, message) = stderr(arguments);
        assert_eq!(code, Some(2), "{arguments:?}: {message}");
        assert!(message.contains(expected), "{arguments:?}: {message}");
    }
}

#[test]
fn strategy_files_are_read_and_their_errors_have_a_place() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("strategies.toml");
    let path = file.to_str().expect("a plain path");
    let strategies = |strategies: &str| {
        let text = format!("schema = \"cachesim.strategy/v1\"\n{strategies}");
        std::fs::write(&file, text).expect("it can be written");
    };
    strategies("[[strategy]]\nname = \"lives\"\nttl = [\"5m\", \"1h\"]\n");
    let report = json(&["compare", &session(), "--strategy", path, "--format", "json", "-q"]);
    let names: Vec<&str> = report["strategies"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|strategy| strategy["strategy"].as_str().expect("a name"))
        .collect();
    assert_eq!(names, ["lives[ttl=5m]", "lives[ttl=1h]"]);
    strategies("[[strategy]]\nname = \"lives\"\ntl = \"5m\"\n");
    let (code, message) = stderr(&["--strategy", path]);
    assert_eq!(code, Some(2));
    assert!(message.contains(":4:1: ") && message.contains("`ttl`"), "{message}");
    strategies("[[strategy]]\nname = \"many\"\nmarkers.even = 5\n");
    assert_eq!(stderr(&["--strategy", path]).0, Some(2));
}

#[test]
fn every_format_has_every_strategy() {
    let names = ["billed", "replay", "none", "5m", "1h", "mixed", "optimal"];
    for format in ["table", "markdown", "csv", "json", "jsonl"] {
        let printed = stdout(&["compare", &session(), "--format", format, "-q"]);
        let is_for_people = ["table", "markdown"].contains(&format);
        for name in names {
            let label =
                if is_for_people && name == "replay" { "expected by the rules" } else { name };
            assert!(printed.contains(label), "{format} without {label}");
        }
    }
    let lines = stdout(&["compare", &session(), "--format", "jsonl", "-q"]);
    let of_lines = lines.lines().map(|line| -> Value { serde_json::from_str(line).expect("JSON") });
    assert!(of_lines.zip(names).all(|(line, name)| line["strategy"] == name));
    let list = stdout(&["strategies"]);
    assert!(names.iter().all(|name| list.contains(name)));
}

#[test]
fn output_is_the_same_with_any_number_of_threads() {
    let all = "billed,none,cheapest-layout,cheapest-pings,four-even,forked-agents,compact-100k";
    let Some(folder) = shared("corpus/marot__spotter") else { return };
    let folder = folder.to_str().expect("a plain path");
    let printed = |jobs| {
        stdout(&["compare", folder, "--strategy", all, "--format", "json", "-q", "--jobs", jobs])
    };
    assert_eq!(printed("1"), printed("4"));
}

#[test]
fn rollouts_are_held_against_the_rules_of_their_provider() {
    let Some(folder) = shared("corpus/entireio__entire-graph") else { return };
    let folder = folder.to_str().expect("a plain path");
    let arguments =
        ["compare", folder, "--strategy", "billed", "--provider", "openai,openai-5.6", "-q"];
    let mut json_too = arguments.to_vec();
    json_too.extend(["--format", "json"]);
    let report = json(&json_too);
    let rollouts = report["rollouts"].as_array().expect("a list");
    assert!(rollouts.iter().any(|one| one["requests"].as_u64() > Some(100)), "{rollouts:?}");
    assert!(stdout(&arguments).contains("recorded reads against the documented rules"));
}

/// The figures are those of `fixtures/automatic-one-string/expected.toml`.
#[test]
fn prompt_designs_of_files_combine_with_providers() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("prompts.toml");
    let strategies = r#"
        schema = "cachesim.strategy/v1"
        [[strategy]]
        name = "ordered"
        prompt = { tools = "sorted", system = "stable-first", reminders = "last" }
        [[strategy]]
        name = "ordered-and-cleared"
        prompt.system = "stable-first"
        context.microcompact = { gap = "1h", keep_recent = 5 }
        [[strategy]]
        name = "hour"
        ttl = "1h"
    "#;
    std::fs::write(&file, strategies).expect("a file");
    let (input, file) = (project("fixtures/automatic-one-string"), file.display().to_string());
    let input = input.to_str().expect("a plain path");
    let compare = |more: &[&str]| {
        let all = ["compare", input, "--tokens", "bytes:1", "--strategy", &file];
        run(&[&all[..], &["--provider", "deepseek"], more].concat())
    };
    let output = compare(&["--format", "json"]);
    assert!(text(&output.stderr).contains(
        "ordered-and-cleared is not put under --provider: it does more than to change prompts"
    ));
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let found: Vec<(&str, &str)> = report["strategies"]
        .as_array()
        .expect("strategies")
        .iter()
        .filter_map(|one| Some((one["strategy"].as_str()?, one["totals"]["cost_usd"].as_str()?)))
        .filter(|(name, _)| name.starts_with("deepseek"))
        .collect();
    // As nothing can be kept alive, the least is what the prompts cost.
    let expected = [
        ("deepseek", "0.006447164"),
        ("deepseek+optimal", "0.006447164"),
        ("deepseek+at-worst", "0.006447164"),
        ("deepseek+at-best", "0.006447164"),
        ("deepseek+ordered", "0.004716792"),
    ];
    assert_eq!(found, expected);
    let gate = compare(&["-q", "--fail-if", "deepseek+ordered.cost < deepseek.cost * 0.8"]);
    assert_eq!(gate.status.code(), Some(1));
}
