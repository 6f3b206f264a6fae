//! Tokens counted in the vocabularies of models: against the package that they are from, against recorded exchanges, and
//! against what recorded steps added.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use cachesim::base::vocabulary::Vocabulary;
use cachesim::explain::analysis::{Added, CountTally, CountedStep};
use cachesim::tokens::counter;
use cachesim::{Study, StudyOptions};
use serde_json::{Value, json};

use crate::common::{
    cachesim, captures, ledger, project, prompt_of, run, skip, stdout, text, transcripts,
};

const CLAUDES: [Vocabulary; 3] = [Vocabulary::Claude3, Vocabulary::Claude47, Vocabulary::Claude48];

fn count(vocabulary: Vocabulary, text: &str) -> u64 {
    counter(vocabulary).expect("vocabularies").tokens(text)
}

/// Holds lines of texts and of what the package counts against ours, and says how many there were.
fn agree_with(lines: &str) -> usize {
    for line in lines.lines() {
        let line: Value = serde_json::from_str(line).expect("a line of the package's");
        let text = line[0].as_str().expect("a text");
        let ours = CLAUDES.map(|vocabulary| count(vocabulary, text));
        let theirs = [1, 2, 3].map(|place| line[place].as_u64().expect("a count"));
        let beginning: String = text.chars().take(80).collect();
        assert_eq!(ours, theirs, "{beginning:?} and more, {} bytes", text.len());
    }
    lines.lines().count()
}

#[test]
fn texts_count_as_recorded_of_the_package() {
    assert_eq!(agree_with(include_str!("tokens/vectors.jsonl")), 500);
}

/// What the package's documentation says of these, and what its rules say of the edges of a message.
#[test]
fn known_texts_have_known_tokens() {
    let all = |text: &str| CLAUDES.map(|vocabulary| count(vocabulary, text));
    assert_eq!(all("hello, world"), [3, 4, 4]);
    // Nothing is what the frame leaves of a word's beginning, which the newest frame has not.
    assert_eq!(all(""), [1, 1, 0]);
    // One space is the frame's own, two are a token.
    assert_eq!(all(" a"), [1, 1, 2]);
    assert_eq!(all("  a"), [2, 2, 2]);
    // A line feed at the end shares the frame's last token.
    assert_eq!(all("a\n"), all("a"));
    assert_eq!(count(Vocabulary::O200k, "hello, world"), 3);
}

/// Lines of the package's own counts; `None`, noted, where it is not there.
fn of_the_package(arguments: &[&str]) -> Option<String> {
    let output = Command::new("python3")
        .arg(project("tests/figures/tokens/package.py"))
        .args(arguments)
        .env("PYTHONPATH", project("target/ctok"))
        .output();
    let output = output.ok().filter(|output| output.status.success());
    if output.is_none() {
        skip("ctok");
    }
    Some(text(&output?.stdout))
}

#[test]
fn random_texts_of_all_planes_count_as_the_package_counts_them() {
    let Some(lines) = of_the_package(&["20261126", "20000"]) else { return };
    assert_eq!(agree_with(&lines), 20_000);
}

#[test]
fn long_texts_count_as_the_package_counts_them() {
    let Some(lines) = of_the_package(&["--long"]) else { return };
    assert_eq!(agree_with(&lines), 5);
}

/// A text counts as its parts do where a blank line parts them, whatever was counted before.
#[test]
fn what_was_counted_before_changes_nothing() {
    let parts = ["alpha beta", "don't", "x == y;", "Straße", "文字", "12345"];
    for vocabulary in CLAUDES {
        let alone: Vec<u64> = parts.iter().map(|part| count(vocabulary, part)).collect();
        let again: Vec<u64> = parts.iter().map(|part| count(vocabulary, part)).collect();
        assert_eq!(alone, again);
    }
}

/// The exchanges of a file without their usage, one file each, with what was recorded.
fn unsent(file: &Path, scratch: &Path) -> Vec<(PathBuf, Value)> {
    let records = fs::read_to_string(file).expect("a file");
    let each = records.lines().enumerate().map(|(number, line)| {
        let mut record: Value = serde_json::from_str(line).expect("a record");
        record.as_object_mut().expect("an object").remove("usage");
        let stem = file.file_stem().expect("a name").to_string_lossy();
        let path = scratch.join(format!("{stem}-{number}.jsonl"));
        fs::write(&path, record.to_string()).expect("a file");
        (path, record["request"].clone())
    });
    each.collect()
}

fn counted_prompt(path: &Path) -> u64 {
    let rows = ledger(path, &["--strategy", "replay"]);
    prompt_of(&rows[0])
}

#[test]
fn recordings_are_counted_to_the_token() {
    let scratch = tempfile::tempdir().expect("a folder");
    let (mut of_text, mut errors) = (0, Vec::new());
    for file in captures() {
        let recorded = ledger(&file, &["--strategy", "billed"]);
        for ((path, request), recorded) in unsent(&file, scratch.path()).iter().zip(&recorded) {
            let tools = request["tools"].as_array().cloned().unwrap_or_default();
            let is_of_service =
                |tool: &Value| tool["type"].as_str().is_some_and(|kind| kind.starts_with("code_"));
            if tools.iter().any(is_of_service) {
                continue;
            }
            let (counted, recorded) = (counted_prompt(path), prompt_of(recorded));
            if tools.is_empty() {
                assert_eq!(counted, recorded, "{}", path.display());
                of_text += 1;
            } else {
                #[allow(clippy::cast_precision_loss)] // a share
                errors.push(counted.abs_diff(recorded) as f64 / recorded as f64);
            }
        }
    }
    println!("{of_text} of text alone, exact; with tools {errors:?}");
    assert!(errors.is_empty() || (of_text == 18 && errors.len() == 3));
    assert!(errors.iter().all(|error| *error < 0.01), "{errors:?}");
}

/// Where the service ran a tool, usage adds up the prompts before each of its answers. The next request of the recording
/// has these answers, so each of the prompts can be counted.
#[test]
fn recordings_with_tools_of_the_service_add_up() {
    let scratch = tempfile::tempdir().expect("a folder");
    let mut errors = Vec::new();
    for file in captures().iter().filter(|file| file.to_string_lossy().contains("code_execution")) {
        let recorded = ledger(file, &["--strategy", "billed"]);
        let records = fs::read_to_string(file).expect("a file");
        let records: Vec<Value> =
            records.lines().map(|line| serde_json::from_str(line).expect("a record")).collect();
        let [first, second] = &records[..] else { panic!("two requests") };
        let messages = first["request"]["messages"].as_array().expect("messages").len();
        let answer = second["request"]["messages"][messages]["content"].as_array().expect("blocks");
        let is_result = |block: &Value| {
            block["type"].as_str().is_some_and(|kind| kind.ends_with("_tool_result"))
        };
        let ends =
            answer.iter().enumerate().filter(|(_, block)| is_result(block)).map(|(at, _)| at + 1);
        let mut sum = 0;
        for end in std::iter::once(0).chain(ends) {
            let mut sent = first.clone();
            sent.as_object_mut().expect("an object").remove("usage");
            if end > 0 {
                let turn = json!({"role": "assistant", "content": answer[..end]});
                sent["request"]["messages"].as_array_mut().expect("messages").push(turn);
            }
            let path = scratch.path().join("sent.jsonl");
            fs::write(&path, sent.to_string()).expect("a file");
            sum += counted_prompt(&path);
        }
        let recorded = prompt_of(&recorded[0]);
        #[allow(clippy::cast_precision_loss)] // a share
        errors.push(sum.abs_diff(recorded) as f64 / recorded as f64);
    }
    println!("{errors:?}");
    if errors.is_empty() {
        return;
    }
    #[allow(clippy::cast_precision_loss)] // a mean
    let mean = errors.iter().sum::<f64>() / errors.len() as f64;
    assert_eq!(errors.len(), 6);
    assert!(mean < 0.01, "mean {mean}");
    assert!(errors.iter().all(|error| *error < 0.03), "{errors:?}");
}

/// Texts that were replaced before the sessions were published: what was sent is not what stands there.
const REPLACED: [&str; 4] = ["example.com", "example.org", ".example", "REDACTED"];

/// The lines of a step, from the answer before it on.
fn is_replaced(
    study: &Study,
    step: &CountedStep,
    files: &mut BTreeMap<usize, Vec<String>>,
) -> bool {
    let request = study.history.request(step.request);
    let previous = study.history.predecessor(request).expect("a step has one before it");
    let lines = files.entry(request.file).or_insert_with(|| {
        let label = &study.history.files[request.file].label;
        let mut folders = ["corpus", "corpus-b"].into_iter().filter_map(transcripts);
        let bytes = folders.find_map(|folder| fs::read(folder.join(&**label)).ok());
        String::from_utf8_lossy(&bytes.unwrap_or_default()).lines().map(str::to_owned).collect()
    });
    let first = step.lines.iter().copied().chain([request.line]);
    let first = if previous.file == request.file {
        first.chain([previous.line]).min()
    } else {
        first.min()
    };
    let range = usize::try_from(first.unwrap_or(1)).expect("few lines") - 1
        ..usize::try_from(request.line).expect("few lines");
    let has = |line: &String| REPLACED.iter().any(|text| line.contains(text));
    lines.get(range).is_some_and(|lines| lines.iter().any(has))
}

#[test]
fn steps_of_the_corpora_are_counted_within_a_hundredth() {
    let mut tallies: BTreeMap<(String, Added), CountTally> = BTreeMap::new();
    let mut all = CountTally::default();
    let mut replaced = 0;
    for folder in ["corpus", "corpus-b"].into_iter().filter_map(transcripts) {
        let study = Study::read(&[folder], StudyOptions::default()).expect("sessions");
        let mut files = BTreeMap::new();
        for step in study.counted_steps() {
            if is_replaced(&study, &step, &mut files) {
                replaced += 1;
                continue;
            }
            let model = study.history.text(Some(study.history.request(step.request).model));
            let key = (model.unwrap_or_default().to_owned(), step.added);
            tallies.entry(key).or_default().add(&step);
            all.add(&step);
        }
    }
    for ((model, added), tally) in &tallies {
        println!("{model} | {} | {tally:?}", added.name());
    }
    println!("{all:?}, {replaced} replaced");
    if all.steps == 0 {
        return;
    }
    assert!(all.steps > 4_000, "{all:?}");
    assert!(all.within * 100 >= all.steps * 95, "{all:?}");
    assert!(all.exact * 100 >= all.steps * 90, "{all:?}");
}

/// What a session's second request added is shared by what its results are written as.
#[test]
fn pieces_of_a_step_have_counted_sizes() {
    let (first, second) = ("src/main.rs\nsrc/lib.rs", "running 3 tests: all of them passed");
    let own = |text: &str, tool: &str| {
        // A result and what it has more as one of several (read/rendered/frames.rs), and the tool's name.
        count(Vocabulary::Claude48, text) + 5 + 17 + count(Vocabulary::Claude48, tool)
    };
    // What frames all of a message's results goes with the one that stands last in its line.
    let (first_size, second_size) = (own(first, "Glob"), own(second, "Bash") + 6);
    let usage = |read: u64, output: u64| json!({"input_tokens": 2, "cache_read_input_tokens": read, "cache_creation_input_tokens": 0, "output_tokens": output});
    let call =
        |id: &str, name: &str| json!({"type": "tool_use", "id": id, "name": name, "input": {}});
    let result =
        |id: &str, text: &str| json!({"type": "tool_result", "tool_use_id": id, "content": text});
    let line = |number: u32, kind: &str, message: Value| {
        json!({"type": kind, "uuid": format!("u{number}"), "parentUuid": format!("u{}", number - 1), "sessionId": "s",
               "timestamp": format!("2026-08-01T10:00:{number:02}Z"), "version": "2.1.199", "requestId": format!("r{number}"),
               "message": message})
    };
    let answer = |id: &str, content: Value, usage: Value| json!({"id": id, "model": "claude-opus-4-8", "stop_reason": "tool_use", "content": content, "usage": usage});
    let thinking = json!({"type": "thinking", "thinking": "", "signature": "x"});
    let lines = [
        line(1, "user", json!({"role": "user", "content": "go on"})),
        line(
            2,
            "assistant",
            answer("m1", json!([thinking, call("a", "Glob"), call("b", "Bash")]), usage(9_998, 60)),
        ),
        line(
            3,
            "user",
            json!({"role": "user", "content": [result("a", first), result("b", second)]}),
        ),
        line(
            4,
            "assistant",
            answer("m2", json!([]), usage(9_998 + 60 + first_size + second_size, 5)),
        ),
    ];
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("session.jsonl");
    fs::write(&path, lines.map(|line| line.to_string()).join("\n")).expect("a file");
    let path = path.to_str().expect("a plain path");
    let context: Value =
        serde_json::from_str(&stdout(&["context", path, "-q", "--format", "json"])).expect("JSON");
    let tokens = |tool: &str| {
        let items = context["items"].as_array().expect("items");
        let item = items.iter().find(|item| item["tool"] == tool).expect("the tool's result");
        assert_eq!(item["basis"], "derived", "{item}");
        item["tokens"].as_u64().expect("tokens")
    };
    assert_eq!((tokens("Glob"), tokens("Bash")), (first_size, second_size), "{context}");
}

/// A request with tools of a server and of none, that was never sent.
fn body() -> Value {
    json!({
        "model": "claude-opus-4-8",
        "system": "You answer questions about weather.",
        "tools": [
            {"name": "mcp__weather__now", "description": "The weather at a place.",
             "input_schema": {"type": "object", "properties": {"place": {"type": "string"}}}},
            {"name": "mcp__weather__later", "description": "The weather tomorrow.", "input_schema": {"type": "object"}},
            {"name": "Read", "description": "Reads a file.", "input_schema": {"type": "object"}}
        ],
        "messages": [{"role": "user", "content": "Will it rain?"}]
    })
}

fn tokens_of(body: &Value, arguments: &[&str]) -> Value {
    let output = cachesim()
        .args([&["tokens", "-", "--format", "json"], arguments].concat())
        .write_stdin(serde_json::to_string_pretty(body).expect("JSON"))
        .output()
        .expect("the program runs");
    assert!(output.status.success(), "{}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

/// The documented table of the tools' prompt: with Opus 4.8 410 tokens instead of 290, with Sonnet 4.6 589 instead of 497,
/// with Sonnet 4 315 instead of 313; of Fable 5 it does not say. Models of the first vocabulary get the name of a tool
/// that is chosen, and two tokens around it (docs/accuracy.md).
#[test]
fn a_forced_choice_of_tools_is_counted_as_documented() {
    let tokens = |model: &str, choice: &str| {
        let mut body = body();
        body["model"] = model.into();
        body["tool_choice"] = json!({"type": choice, "name": "Read"});
        tokens_of(&body, &[])["prompt"]["tokens"].as_u64().expect("tokens")
    };
    let name = 2 + count(Vocabulary::Claude3, "Read");
    for (model, more, named) in
        [("claude-opus-4-8", 120, 0), ("claude-sonnet-4-6", 92, name), ("claude-sonnet-4", 2, name)]
    {
        assert_eq!(tokens(model, "any"), tokens(model, "auto") + more, "{model}");
        assert_eq!(tokens(model, "tool"), tokens(model, "any") + named, "{model}");
    }
}

/// The schema with an indent of two spaces, and 80 tokens around it (docs/accuracy.md).
#[test]
fn a_schema_for_the_answer_is_counted() {
    let schema = json!({"type": "object", "properties": {"rain": {"type": "boolean"}}, "required": ["rain"]});
    let tokens = |model: &str, field: &str, value: Value| {
        let mut body = body();
        body["model"] = model.into();
        body[field] = value;
        tokens_of(&body, &[])["prompt"].clone()
    };
    let format = json!({"type": "json_schema", "schema": schema});
    let without = tokens("claude-sonnet-4-5", "stream", true.into());
    let pretty = serde_json::to_string_pretty(&schema).expect("JSON");
    let more = 80 + count(Vocabulary::Claude3, &pretty);
    for (field, value) in
        [("output_config", json!({"format": format})), ("output_format", format.clone())]
    {
        let with = tokens("claude-sonnet-4-5", field, value);
        let [with_it, without_it] = [&with, &without].map(|prompt| prompt["tokens"].as_u64());
        assert_eq!(with_it, without_it.map(|tokens| tokens + more), "{field}");
        assert_eq!(with["basis"], without["basis"], "{field}");
    }
    // Of later vocabularies nothing was measured.
    let later = tokens("claude-opus-4-8", "output_format", format);
    assert_eq!(later["basis"], "estimated");
}

#[test]
fn a_body_is_divided_by_part_tool_server_and_block() {
    let parts = |by: &str| -> BTreeMap<String, u64> {
        let object = tokens_of(&body(), &["--by", by]);
        let parts = object["prompt"]["parts"].as_array().expect("parts");
        let of = |part: &Value| {
            let name = part["name"].as_str().expect("a name").to_owned();
            (name, part["tokens"].as_u64().expect("tokens"))
        };
        parts.iter().map(of).collect()
    };
    let whole = tokens_of(&body(), &[])["prompt"]["tokens"].as_u64().expect("tokens");
    let by_part = parts("part");
    assert_eq!(by_part.values().sum::<u64>(), whole);
    assert_eq!(parts("block").values().sum::<u64>(), whole);
    // A message's frame is 6 for the newest models, of which 2 are the turn's.
    assert_eq!(by_part["the frame of the prompt"], 4);
    assert_eq!(by_part["texts"], 2 + count(Vocabulary::Claude48, "Will it rain?"));
    assert_eq!(by_part["the service's prompt for tools"], 290);
    let line = "<function>{\"description\": \"Reads a file.\", \"name\": \"Read\", \"parameters\": {\"type\": \"object\"}}</function>";
    let by_tool = parts("tool");
    assert_eq!(by_tool["Read"], 1 + count(Vocabulary::Claude48, line));
    let by_server = parts("server");
    assert_eq!(by_server["weather"], by_tool["mcp__weather__now"] + by_tool["mcp__weather__later"]);
    assert_eq!(by_server["no MCP server"], by_tool["Read"]);
    assert_eq!(by_part["tools"], by_server["weather"] + by_server["no MCP server"]);
}

#[test]
fn another_model_counts_another_prompt() {
    let of = |model: &str| tokens_of(&body(), &["--model", model])["prompt"].clone();
    assert_eq!(of("claude-sonnet-4-5")["vocabulary"], "claude-3");
    assert_ne!(of("claude-sonnet-4-5")["tokens"], of("claude-opus-4-8")["tokens"]);
    let unknown = of("some-model");
    assert_eq!((&unknown["vocabulary"], &unknown["basis"]), (&Value::Null, &json!("estimated")));
    assert_eq!(of("claude-opus-5")["basis"], "derived");
}

#[test]
fn a_text_is_counted_in_every_vocabulary() {
    let output = cachesim().args(["tokens", "--json"]).write_stdin("hello, world").output();
    let object: Value = serde_json::from_slice(&output.expect("it runs").stdout).expect("JSON");
    let counts: Vec<(&str, u64)> = object["text"]
        .as_array()
        .expect("texts")
        .iter()
        .map(|text| {
            (text["vocabulary"].as_str().expect("a name"), text["tokens"].as_u64().expect("tokens"))
        })
        .collect();
    assert_eq!(counts, [("claude-3", 3), ("claude-4.7", 4), ("claude-4.8", 4), ("o200k_base", 3)]);
    // As documented for one message.
    assert_eq!(object["text"][0]["as_prompt"], 10);
    assert_eq!(object["text"][1]["as_prompt"], 15);
    assert_eq!(object["text"][2]["as_prompt"], 10);
}

#[test]
fn captures_and_bundles_are_counted_by_request() {
    let fixture = |name: &str| project("fixtures").join(name).join("session.jsonl");
    let table = stdout(&["tokens", fixture("captured-clock").to_str().expect("plain")]);
    assert!(table.contains("It is request"), "{table}");
    let first =
        stdout(&["tokens", fixture("captured-clock").to_str().expect("plain"), "--request", "1"]);
    assert!(first.contains("It is request 1 of"), "{first}");
    stdout(&["tokens", fixture("bundled-session").to_str().expect("plain"), "--by", "block"]);
}

#[test]
fn what_cannot_be_counted_says_why() {
    let error = |arguments: &[&str]| {
        let output = run(arguments);
        assert!(!output.status.success(), "{arguments:?}");
        text(&output.stderr)
    };
    assert!(error(&["tokens", "/nonexistent/file"]).contains("cannot read /nonexistent/file"));
    let readme = project("README.md");
    let readme = readme.to_str().expect("plain");
    assert!(error(&["tokens", readme, "--by", "tool"]).contains("a text has no tools"));
    assert!(
        error(&["tokens", readme, "--model", "some-model"])
            .contains("the vocabulary of `some-model` is not known")
    );
    let capture = project("fixtures/captured-clock/session.jsonl");
    assert!(
        error(&["tokens", capture.to_str().expect("plain"), "--request", "99"])
            .contains("give a number from 1 to")
    );
}
