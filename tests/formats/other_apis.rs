//! Captured requests of other services' APIs: one conversation in each, judged by the rules of its own service alone.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json as value};

use crate::common::{
    count, json, ledger, lines, project, prompt_of, run, shared, stdout, text, utf8,
};

/// Whole prompts of three requests, and what each read. In steps of 512 tokens the service keeps 4,608 of the first
/// prompt and 5,120 of the second one.
const PROMPTS: [(u64, u64); 3] = [(4_900, 0), (5_300, 4_608), (5_700, 0)];

/// Tokens that the third request could have read.
const COULD: u64 = 5_120;

/// A conversation whose third request has its tools in another order, a line for each request.
fn conversation(api: &str) -> Vec<Value> {
    let system = "You help with code. ".repeat(200);
    let question = |number: usize| format!("Question {number}. ").repeat(20);
    let tool = |name: &str| value!({"name": name, "description": "Reads a file.", "parameters": {"type": "object"}});
    let names = |number: usize| if number < 2 { ["read", "write"] } else { ["write", "read"] };
    let request = |number: usize| {
        let tools: Vec<Value> = names(number).iter().map(|name| tool(name)).collect();
        let asked = (0..=number).map(question);
        match api {
            "responses" => {
                let tools: Vec<Value> = tools
                    .into_iter()
                    .map(|mut tool| {
                        tool["type"] = value!("function");
                        tool
                    })
                    .collect();
                let input = asked.flat_map(|text| {
                    [
                        value!({"role": "user", "content": [{"type": "input_text", "text": text}]}),
                        value!({"role": "assistant", "content": [{"type": "output_text", "text": "Done."}]}),
                    ]
                });
                let input: Vec<Value> = input.take(2 * number + 1).collect();
                value!({"model": "gpt-5.5", "instructions": system, "tools": tools, "input": input})
            }
            "chat" => {
                let tools: Vec<Value> = tools
                    .into_iter()
                    .map(|tool| value!({"type": "function", "function": tool}))
                    .collect();
                let told = asked.flat_map(|text| {
                    [
                        value!({"role": "user", "content": text}),
                        value!({"role": "assistant", "content": "Done."}),
                    ]
                });
                let first = value!({"role": "system", "content": system});
                let messages: Vec<Value> =
                    std::iter::once(first).chain(told).take(2 * number + 2).collect();
                value!({"model": "gpt-5.5", "messages": messages, "tools": tools})
            }
            _ => {
                let told = asked.flat_map(|text| {
                    [
                        value!({"role": "user", "parts": [{"text": text}]}),
                        value!({"role": "model", "parts": [{"text": "Done."}]}),
                    ]
                });
                let contents: Vec<Value> = told.take(2 * number + 1).collect();
                value!({"model": "gemini-2.5-pro", "systemInstruction": {"parts": [{"text": system}]},
                    "contents": contents, "tools": [{"functionDeclarations": tools}]})
            }
        }
    };
    let usage = |(prompt, read): (u64, u64)| match api {
        "responses" => value!({"input_tokens": prompt, "output_tokens": 10,
            "input_tokens_details": {"cached_tokens": read}}),
        "chat" => value!({"prompt_tokens": prompt, "completion_tokens": 10,
            "prompt_tokens_details": {"cached_tokens": read}}),
        _ => {
            value!({"promptTokenCount": prompt, "candidatesTokenCount": 10, "cachedContentTokenCount": read})
        }
    };
    let line = |number: usize| {
        value!({"timestamp": format!("2026-11-10T10:0{number}:00Z"), "request_id": format!("r{number}"),
            "request": request(number), "usage": usage(PROMPTS[number])})
    };
    (0..PROMPTS.len()).map(line).collect()
}

fn written(folder: &Path, api: &str) -> PathBuf {
    let path = folder.join(format!("{api}.jsonl"));
    fs::write(&path, lines(&conversation(api))).expect("a file");
    path
}

fn breaks(path: &Path) -> Vec<Value> {
    let told = stdout(&["breaks", "--format", "jsonl", utf8(path)]);
    told.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

#[test]
fn a_conversation_of_each_api_is_one_chain() {
    let folder = tempfile::tempdir().expect("a folder");
    for api in ["responses", "chat", "gemini"] {
        let path = written(folder.path(), api);
        let rows = ledger(&path, &["--strategy", "billed"]);
        let sums = rows.iter().map(|row| (prompt_of(row), count(row, "cache_read_input_tokens")));
        let sums: Vec<(u64, u64)> = sums.collect();
        assert_eq!(sums, PROMPTS, "{api}");
        let sessions: Vec<&Value> = rows.iter().map(|row| &row["session_id"]).collect();
        assert!(sessions.iter().all(|session| *session == sessions[0]), "{api}");
        let turns = stdout(&["analyze", utf8(&path)]);
        assert_eq!(turns.matches("first of its chain").count(), 1, "{api}: {turns}");
    }
}

/// $5.00 for a million tokens of input and $0.50 for those read, so that what was lost cost 5,120 × $4.50.
#[test]
fn breaks_and_lint_name_the_tools_and_one_price() {
    let folder = tempfile::tempdir().expect("a folder");
    for api in ["responses", "chat"] {
        let path = written(folder.path(), api);
        let list = breaks(&path);
        assert_eq!(list.len(), 1, "{api}: {list:?}");
        assert_eq!(list[0]["cause"], "tools_changed", "{api}");
        assert_eq!(list[0]["rewritten_tokens"], COULD, "{api}");
        assert_eq!(list[0]["excess_usd"], "0.02304", "{api}");
        let lint = json(&["lint", "--format", "json", utf8(&path)]);
        let findings = lint["findings"].as_array().expect("a list");
        assert_eq!(findings.len(), 1, "{api}: {lint}");
        assert_eq!(findings[0]["rule"], "tool-order", "{api}");
        assert_eq!(findings[0]["tokens"], COULD, "{api}");
        assert_eq!(findings[0]["cost_usd"], "0.02304", "{api}");
    }
    // Of Gemini's cache no rule is known, so that what was lost is unknown, too.
    let path = written(folder.path(), "gemini");
    assert_eq!(breaks(&path), [Value::Null; 0]);
    let lint = json(&["lint", "--format", "json", utf8(&path)]);
    assert_eq!(lint["findings"][0]["rule"], "tool-order", "{lint}");
    assert_eq!(lint["findings"][0]["tokens"], 0);
}

/// Rules of `lint` about what only the Messages API has.
const OF_MARKERS: [&str; 14] = [
    "too-many-markers",
    "ttl-order",
    "ttl-conflict",
    "unmarkable-block",
    "request-refused",
    "thinking-refused",
    "thinking-dropped",
    "below-minimum",
    "beyond-lookback",
    "never-read",
    "marker-missing",
    "markers-without-effect",
    "ttl-not-granted",
    "betas-changed",
];

#[test]
fn no_body_is_judged_by_the_rules_of_another_service() {
    let folder = tempfile::tempdir().expect("a folder");
    let own = ["responses", "chat", "gemini"].map(|api| written(folder.path(), api));
    let logs = fs::read_dir(project("fixtures/logs-of-exchanges")).expect("a folder");
    let cases =
        shared("cases/builders/60-formats").map(|cases| fs::read_dir(cases).expect("a folder"));
    let others = logs.chain(cases.into_iter().flatten()).map(|one| one.expect("a file").path());
    let mut judged = 0;
    for path in own.into_iter().chain(others) {
        let shown = utf8(&path);
        let rows = run(&["analyze", "--format", "jsonl", "--strategy", "billed,5m", shown]);
        let rows = text(&rows.stdout);
        // Bodies of clouds name no model, but their version of the Messages API.
        let claude = ["claude", "\"model\":\"unknown\""];
        let is_claude = claude.iter().any(|model| rows.contains(model));
        if is_claude || !rows.contains("\"strategy\":\"billed\"") {
            continue;
        }
        judged += 1;
        assert!(!rows.contains("\"strategy\":\"5m\""), "{shown}: a lifetime of Claude's service");
        let lint = run(&["lint", "--format", "json", shown]);
        let lint: Value = serde_json::from_slice(&lint.stdout).unwrap_or_default();
        for finding in lint["findings"].as_array().into_iter().flatten() {
            let rule = finding["rule"].as_str().expect("a name");
            assert!(!OF_MARKERS.contains(&rule), "{shown}: {finding}");
        }
        for command in ["breaks", "advise"] {
            let told = text(&run(&[command, shown]).stdout);
            for word in ["cache_control", "lookback", "the TTL"] {
                assert!(!told.contains(word), "{shown}: {command}: {told}");
            }
        }
    }
    assert!(judged >= 3, "{judged} files of other services");
}
