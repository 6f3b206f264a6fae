//! Strategies that can do nothing to an input say so in every output, and claim no saving.

use std::fs;

use serde_json::Value;

use crate::common::{cachesim, fixture, json, run, stdout, text};

const DESIGNS: [&str; 8] = [
    "tools-sorted",
    "static-first",
    "stable-first",
    "deferred-tools",
    "global-scope",
    "no-global-scope",
    "latched-settings",
    "stable-attribution",
];
const MANAGEMENTS: [&str; 7] = [
    "microcompact-60m",
    "cached-microcompact",
    "microcompact-both",
    "result-budget-50k",
    "clear-results-180k",
    "compact-100k",
    "session-memory-100k",
];
const AGENTS: [&str; 3] = ["forked-agents", "staggered-agents", "agents-at-once"];

/// The obstacles of strategies on a fixture, and whether each is applicable.
fn obstacles(name: &str, strategies: &[&str]) -> Vec<(bool, Vec<String>)> {
    let path = fixture(name);
    let strategies = [&["billed"], strategies].concat().join(",");
    let report = json(&["compare", &path, "-q", "--format", "json", "--strategy", &strategies]);
    let of_strategy = |strategy: &Value| {
        let codes = strategy["obstacles"].as_array().into_iter().flatten();
        let codes = codes.map(|one| one["code"].as_str().expect("a code").to_owned());
        (strategy["applicable"] == true, codes.collect())
    };
    report["strategies"].as_array().expect("strategies").iter().skip(1).map(of_strategy).collect()
}

fn all_are(name: &str, strategies: &[&str], code: &str) {
    for (strategy, found) in strategies.iter().zip(obstacles(name, strategies)) {
        assert_eq!(found, (false, vec![code.to_owned()]), "{name}: {strategy}");
    }
}

fn none_is(name: &str, strategies: &[&str]) {
    for (strategy, found) in strategies.iter().zip(obstacles(name, strategies)) {
        assert_eq!(found, (true, Vec::new()), "{name}: {strategy}");
    }
}

/// A transcript of one main conversation of six requests, with prompts of up to 31,302 tokens and no
/// tool results.
#[test]
fn transcripts_have_no_prompts_to_design() {
    all_are("first-look", &DESIGNS, "no_captured_prompt");
    all_are("first-look", &MANAGEMENTS[..6], "nothing_to_take_out");
    // Its memory is written, and costs something, before there is anything to compact.
    none_is("first-look", &["session-memory-100k"]);
    all_are("first-look", &["latched-ttl"], "no_ttl_change");
    all_are("first-look", &["forked-agents"], "no_known_parent");
    all_are("first-look", &AGENTS[1..], "no_agents_together");
    all_are("first-look", &["skip-cache-write"], "no_side_query");
    none_is("first-look", &["none", "5m", "mixed", "last-two", "5m-pinged", "cheapest-layout"]);
    none_is("sub-agents", &AGENTS);
}

/// Two captured requests of one conversation, whose tools change places.
#[test]
fn captures_do_not_tell_what_lies_between() {
    all_are("unsorted-tools", &MANAGEMENTS, "no_transcript");
    all_are("unsorted-tools", &["forked-agents"], "no_known_parent");
    all_are("unsorted-tools", &["sessions-apart"], "nothing_shared");
    all_are("unsorted-tools", &["static-first"], "prompts_as_designed");
    all_are("unsorted-tools", &DESIGNS[3..], "prompts_as_designed");
    none_is("unsorted-tools", &["stable-first"]);
    none_is("unsorted-tools", &["tools-sorted", "5m", "1h", "last-two", "1h-pinged"]);
    none_is("captured-starts-of-agents", &["staggered-agents", "agents-at-once"]);
}

/// A strategy of several parts acts if one of them does; the others are named.
#[test]
fn a_part_that_does_nothing_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("mine.toml");
    let strategies = "schema = \"cachesim.strategy/v1\"\n\
                      [[strategy]]\nname = \"both\"\nttl = \"5m\"\nprompt = { tools = \"sorted\" }\n\
                      [[strategy]]\nname = \"one\"\nprompt = { tools = \"sorted\" }\n";
    fs::write(&file, strategies).expect("a file");
    let file = file.to_str().expect("a plain path");
    let found = obstacles("first-look", &[file]);
    let code = vec!["no_captured_prompt".to_owned()];
    assert_eq!(found, [(true, code.clone()), (false, code)]);
    let path = fixture("first-look");
    for command in ["analyze", "compare"] {
        let shown = stdout(&[command, &path, "-q", "--strategy", &format!("5m,{file}")]);
        assert!(shown.contains("`both`: applicable in part, since there is no captured prompt"));
        assert!(shown.contains("`one`: not applicable, since there is no captured prompt"));
    }
}

#[test]
fn a_gate_on_a_strategy_without_figures_is_an_error() {
    let path = fixture("first-look");
    let gate = "static-first.cost < billed.cost";
    let output =
        run(&["compare", &path, "-q", "--strategy", "billed,static-first", "--fail-if", gate]);
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
}

/// No row of `analyze` claims figures, and it is no base: the others are held against the first with figures.
#[test]
fn there_are_no_rows() {
    let path = fixture("first-look");
    let rows = stdout(&["analyze", &path, "-q", "--format", "jsonl", "--strategy", "static-first"]);
    assert_eq!(rows, "");
    let strategies = ["--strategy", "static-first,5m"];
    let report = json(&[&["compare", &path, "-q", "--format", "json"], &strategies[..]].concat());
    assert_eq!(report["base"], "5m");
    assert!(report["strategies"][0]["difference_usd"].is_null());
    assert!(report["strategies"][1]["paired"].is_null());
    assert_eq!(report["strategies"][1]["totals"]["requests"], 6);
}

#[test]
fn charts_and_the_page_say_it() {
    let path = fixture("first-look");
    for kind in ["strategies", "cost"] {
        let chart = stdout(&["chart", kind, &path, "-q", "--strategy", "billed,5m,static-first"]);
        assert!(chart.contains("not applicable"), "{kind}: {chart}");
    }
    let page = stdout(&["report", &path, "-q", "--strategy", "billed,5m,static-first"]);
    assert!(page.contains("not applicable"));
}

#[test]
fn a_budget_on_it_is_an_error() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("cachesim.toml");
    let budget = "[[budget]]\nname = \"cost\"\nmetric = \"cost\"\nmax = \"$9\"\nstrategy = \"static-first\"\n";
    fs::write(&file, budget).expect("a file");
    let mut command = cachesim();
    command.env_remove("CACHESIM_NO_CONFIG").arg("--config").arg(&file);
    let output = command.args(["check", &fixture("first-look"), "-q"]).output().expect("it runs");
    let message = text(&output.stderr);
    assert!(
        message.contains("the strategy `static-first` is not applicable: there is no captured")
    );
    assert_ne!(output.status.code(), Some(0));
}
