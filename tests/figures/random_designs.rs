//! Prompt designs on random and hostile captures: against bodies that were rewritten before they were
//! read, and the laws that hold for every design.

use std::collections::BTreeMap;

use cachesim::base::units::Tokens;
use cachesim::read::input::{Discovered, Source, discover};
use cachesim::requests::conversation::{History, ReadOptions, read};
use cachesim::requests::prompt::PromptTrace;
use cachesim::simulate::cache::{
    AutomaticPolicy, Outcome, Rules, TokenRatio, simulate, simulate_automatic,
};
use cachesim::simulate::design::{
    Attribution, Deferral, Deferred, PromptDesign, Reminders, Scopes, Settings, SystemPrompt, Tools,
};
use cachesim::simulate::provider::by_name;
use proptest::prelude::*;

use crate::capture_file::capture_file;
use crate::common::{project, shared};
use crate::figures::designs::{RULES, read_bytes, traces};
use crate::naive::{self, Expected, Json};

/// Every design that there is.
fn designs() -> Vec<PromptDesign> {
    let mut designs = Vec::new();
    for tools in [Tools::AsSent, Tools::Sorted] {
        for system in [SystemPrompt::AsSent, SystemPrompt::StaticFirst] {
            for scopes in [Scopes::AsSent, Scopes::Off, Scopes::On] {
                for settings in [Settings::AsSent, Settings::Latched] {
                    for attribution in [Attribution::AsSent, Attribution::Stable] {
                        designs.push(PromptDesign {
                            tools,
                            system,
                            scopes,
                            settings,
                            attribution,
                            ..PromptDesign::default()
                        });
                    }
                }
            }
        }
    }
    for tools in [Tools::AsSent, Tools::Sorted] {
        for system in [SystemPrompt::AsSent, SystemPrompt::StableFirst] {
            for scopes in [Scopes::AsSent, Scopes::On] {
                let reminders = Reminders::Last;
                designs.push(PromptDesign {
                    tools,
                    system,
                    scopes,
                    reminders,
                    ..PromptDesign::default()
                });
            }
        }
    }
    let all = PromptDesign {
        deferred_tools: Deferred::All,
        tool_search: Some(Tokens(60)),
        ..PromptDesign::default()
    };
    let last = designs.last().copied().expect("a design");
    designs.push(all);
    designs.push(last.with(all));
    designs
}

/// A record whose body is rewritten.
fn rewritten(line: &str, rewrite: fn(Json) -> Json) -> String {
    let Json::Object(members) = Json::parse(line) else { panic!("no record: {line}") };
    let member = |(name, value)| {
        let value = if name == "request" { rewrite(value) } else { value };
        (name, value)
    };
    Json::Object(members.into_iter().map(member).collect()).canonical()
}

/// Tools that are loaded by name, with the markers where they were in the list.
fn sort_tools(body: Json) -> Json {
    let Json::Object(mut members) = body else { return body };
    for (name, value) in &mut members {
        let Json::List(tools) = value else { continue };
        if name != "tools" {
            continue;
        }
        tools.retain(|tool| tool.get("defer_loading") != Some(&Json::Bool(true)));
        let markers: Vec<Option<Json>> =
            tools.iter().map(|tool| tool.get("cache_control").cloned()).collect();
        let key = |tool: &Json| {
            let name = tool.text("name").unwrap_or_default().to_owned();
            (name.starts_with("mcp__"), name)
        };
        tools.sort_by_key(key);
        for (tool, marker) in tools.iter_mut().zip(markers) {
            *tool = tool.without("cache_control");
            if let (Json::Object(members), Some(marker)) = (tool, marker) {
                members.push(("cache_control".to_owned(), marker));
            }
        }
    }
    Json::Object(members)
}

/// No marker has a scope. One inside a result is part of its bytes, so that the result has to have one
/// of its own.
fn drop_scopes(body: Json) -> Json {
    let Json::Object(members) = body else { return body };
    let member = |(name, value): (String, Json)| {
        let value = match (&*name, value) {
            ("cache_control", marker) => marker.without("scope"),
            ("tools" | "system", Json::List(blocks)) => without_scopes(blocks),
            ("messages", Json::List(messages)) => {
                Json::List(messages.into_iter().map(without_scopes_inside).collect())
            }
            (_, other) => other,
        };
        (name, value)
    };
    Json::Object(members.into_iter().map(member).collect())
}

fn without_scopes_inside(message: Json) -> Json {
    let Json::Object(members) = message else { return message };
    let member = |(name, value)| match value {
        Json::List(blocks) => (name, without_scopes(blocks)),
        other => (name, other),
    };
    Json::Object(members.into_iter().map(member).collect())
}

fn without_scopes(blocks: Vec<Json>) -> Json {
    let without = |block: Json| {
        let inner = match block.text("type") {
            Some("tool_result") => block.items("content").last(),
            _ => None,
        };
        let marker = block.get("cache_control").or_else(|| inner?.get("cache_control"));
        let Some(marker) = marker.map(|marker| marker.without("scope")) else { return block };
        let mut block = block.without("cache_control");
        if let Json::Object(members) = &mut block {
            members.push(("cache_control".to_owned(), marker));
        }
        block
    };
    Json::List(blocks.into_iter().map(without).collect())
}

fn expected(outcome: &Outcome) -> Expected {
    match outcome.refusal {
        Some(refusal) => Expected::Invalid(refusal.name().to_owned()),
        None => Expected::Tokens {
            input_tokens: outcome.input.0,
            cache_read_input_tokens: outcome.read.0,
            ephemeral_5m_input_tokens: outcome.write_5m.0,
            ephemeral_1h_input_tokens: outcome.write_1h.0,
        },
    }
}

/// What a trace says about each request of a history, by its id.
fn told(history: &History, trace: &PromptTrace) -> BTreeMap<String, Expected> {
    let ids = history.requests.iter().map(|request| history.text(request.request));
    let ids = ids.map(|id| id.expect("an id").to_owned());
    ids.zip(simulate(trace, &RULES).iter().map(expected)).collect()
}

/// What the naive rules say about rewritten records.
fn worked_out(lines: &[String]) -> BTreeMap<String, Expected> {
    let ids = lines.iter().map(|line| {
        let record = Json::parse(line);
        record.text("request_id").expect("an id").to_owned()
    });
    ids.zip(naive::simulate(lines, 1)).collect()
}

/// What each request reads from a cache that matches single tokens.
fn read_elsewhere(trace: &PromptTrace) -> Vec<Tokens> {
    let provider = by_name("gemini").expect("a provider");
    let Rules::Automatic(mut cache) = provider.rules else { panic!("it is automatic") };
    cache.counting.minimum = Tokens(1);
    let policy = AutomaticPolicy { cache, keeps_breaks: false };
    let outcomes = simulate_automatic(trace, &policy, |_| TokenRatio::ONE);
    outcomes.into_iter().map(|outcome| outcome.read).collect()
}

fn is_as_if_rewritten(lines: &[String], design: PromptDesign, rewrite: fn(Json) -> Json) {
    let history = read_bytes(lines);
    let [_, designed] = traces(&history, design);
    let rewritten: Vec<String> = lines.iter().map(|line| rewritten(line, rewrite)).collect();
    assert_eq!(told(&history, &designed), worked_out(&rewritten));
    let elsewhere = read_elsewhere(&designed);
    // Once more changes nothing.
    let history = read_bytes(&rewritten);
    let [as_sent, designed] = traces(&history, design);
    assert_eq!(read_elsewhere(&as_sent), elsewhere);
    assert_eq!(read_elsewhere(&designed), elsewhere);
    assert_eq!(simulate(&as_sent, &RULES), simulate(&designed, &RULES));
}

/// Every request is there, and every token of it; only another attribution line has another size, and
/// where tools are deferred, what is not called is not there.
fn keeps_the_laws(history: &History) {
    for design in designs() {
        let [as_sent, designed] = traces(history, design);
        assert_eq!(as_sent.prompts.len(), designed.prompts.len());
        let outcomes = simulate(&designed, &RULES);
        for ((sent, prompt), outcome) in as_sent.prompts.iter().zip(&designed.prompts).zip(outcomes)
        {
            let blocks = |trace: &PromptTrace, node| trace.node(node).blocks;
            // Blocks that are cut have a frame each, and the last stable and the last shared one get a marker.
            let is_cut = design.system == SystemPrompt::StableFirst;
            let is_changed = design.attribution != Attribution::AsSent || is_cut;
            match design.deferral() {
                None => {
                    assert!(
                        is_cut || blocks(&as_sent, sent.node) == blocks(&designed, prompt.node)
                    );
                    assert!(is_changed || sent.total == prompt.total, "{design:?}");
                }
                Some(Deferral { search, .. }) => {
                    assert!(is_changed || prompt.total <= sent.total + search, "{design:?}");
                }
            }
            if outcome.refusal.is_none() {
                assert_eq!(outcome.total(), prompt.total, "{design:?}");
            }
            let markers = designed.markers_of(prompt);
            assert!(markers.is_sorted_by_key(|marker| marker.node), "{design:?}");
            let most = as_sent.markers_of(sent).len();
            let most = if is_cut && (1..4).contains(&most) { (most + 2).min(4) } else { most };
            assert!(markers.len() <= most, "{design:?}");
            let path: Vec<_> = designed.path(prompt.node).collect();
            assert!(markers.iter().all(|marker| path.contains(&marker.node)), "{design:?}");
        }
        if design == PromptDesign::default() {
            assert_eq!(simulate(&as_sent, &RULES), simulate(&designed, &RULES));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, max_shrink_iters: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn sorted_tools_are_as_if_sent_sorted(lines in capture_file(24)) {
        let design = PromptDesign { tools: Tools::Sorted, ..PromptDesign::default() };
        is_as_if_rewritten(&lines, design, sort_tools);
    }

    #[test]
    fn without_scopes_is_as_if_sent_without(lines in capture_file(24)) {
        let design = PromptDesign { scopes: Scopes::Off, ..PromptDesign::default() };
        is_as_if_rewritten(&lines, design, drop_scopes);
    }

    #[test]
    fn every_design_keeps_the_laws(lines in capture_file(16)) {
        keeps_the_laws(&read_bytes(&lines));
    }
}

/// Bodies in which tools, blocks and settings are nearly anything.
#[test]
fn hostile_bodies_are_designed_all_the_same() {
    let deep = format!("{}{}", "[".repeat(100), "]".repeat(100));
    let odd = [
        "7",
        "null",
        "[]",
        "{}",
        r#""\ud800""#,
        r#"{"name":"\udc00\ud800"}"#,
        r#"{"name":7,"cache_control":{}}"#,
        r#"{"type":"thinking","cache_control":{"ttl":"1h","scope":"global"}}"#,
        r#"{"type":"text","text":"x-anthropic-billing-header"}"#,
        r#"{"type":"text","text":["x-anthropic-billing-header"]}"#,
        r#"{"text":"x-anthropic-billing-header\u0000","cache_control":{"scope":"global"}}"#,
        r#"{"type":"tool_result","content":[{"cache_control":{}}]}"#,
        &deep,
    ];
    let mut lines = Vec::new();
    for (number, one) in odd.iter().enumerate() {
        for (place, other) in odd.iter().enumerate() {
            let lists = [
                format!(r#""tools":[{one},{other}],"system":[{other},{one}]"#),
                format!(r#""tools":[{other}],"system":[{one},{one}],"cache_control":{{}}"#),
                format!(
                    r#""thinking":{one},"tool_choice":{other},"speed":"{place}","betas":{one}"#
                ),
            ];
            let settings = &lists[(number + place) % 3];
            lines.push(format!(
                r#"{{"timestamp":"2026-09-01T10:{number:02}:{place:02}Z","request_id":"{}","session_id":"{}","request":{{"model":"m",{settings},"messages":[{{"role":{one},"content":[{other}]}}]}}}}"#,
                lines.len(),
                place % 2,
            ));
        }
    }
    let history = read_bytes(&lines);
    assert!(history.requests.len() > 100, "{} requests", history.requests.len());
    keeps_the_laws(&history);
    let sources = vec![Source::in_memory("capture.jsonl", lines.join("\n").as_bytes())];
    let options = ReadOptions { keeps_bytes: true, ..ReadOptions::default() };
    keeps_the_laws(&read(Discovered { sources, ..Discovered::default() }, options, |_| ()));
}

/// Real exchanges where there are any, and all fixtures: transcripts, captures, bundles and logs.
#[test]
fn every_input_is_designed() {
    let fixtures = project("fixtures");
    for folder in [Some(fixtures), shared("captures")].into_iter().flatten() {
        let options = ReadOptions { keeps_bytes: true, ..ReadOptions::default() };
        let history = read(discover(&[folder]), options, |_| ());
        assert!(history.captured.requests.len() > 10);
        keeps_the_laws(&history);
    }
}
