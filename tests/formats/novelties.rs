//! Names in Claude Code's lines that the program does not know, and the rule that decides of each known one.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use cachesim::read::input::Source;
use cachesim::read::transcript::{EntryKind, load};
use serde_json::{Value, json};

use crate::common::{cachesim, files, fixture, json, lines, project, stdout, text, transcripts};

/// What decides whether an attachment was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rule {
    /// Its type: it was.
    Sent,
    /// Its type: it was not.
    Unsent,
    /// The event of its hook.
    Event,
}

/// Every attachment of the corpora.
const ATTACHMENTS: [(&str, Rule); 44] = [
    ("agent_listing_delta", Rule::Sent),
    ("already_read_file", Rule::Sent),
    ("async_hook_response", Rule::Sent),
    ("auto_mode", Rule::Sent),
    ("command_permissions", Rule::Unsent),
    ("compact_file_reference", Rule::Sent),
    ("credential_org", Rule::Unsent),
    ("date", Rule::Sent),
    ("date_change", Rule::Sent),
    ("deferred_tools_delta", Rule::Sent),
    ("deferred_tools_record", Rule::Unsent),
    ("diagnostics", Rule::Sent),
    ("directory", Rule::Sent),
    ("edited_text_file", Rule::Sent),
    ("environment", Rule::Sent),
    ("file", Rule::Sent),
    ("hook_additional_context", Rule::Sent),
    ("hook_cancelled", Rule::Unsent),
    ("hook_non_blocking_error", Rule::Unsent),
    ("hook_success", Rule::Event),
    ("hook_system_message", Rule::Unsent),
    ("instructions", Rule::Sent),
    ("invoked_skills", Rule::Sent),
    ("mcp_instructions_delta", Rule::Sent),
    ("model", Rule::Sent),
    ("nested_memory", Rule::Sent),
    ("opened_file_in_ide", Rule::Sent),
    ("plan_mode", Rule::Sent),
    ("plan_mode_exit", Rule::Sent),
    ("plan_mode_reentry", Rule::Sent),
    ("prompt_snapshot", Rule::Unsent),
    ("queued_command", Rule::Sent),
    ("read_truncation_notice", Rule::Sent),
    ("remote_session_change", Rule::Sent),
    ("session_context", Rule::Sent),
    ("skill_listing", Rule::Sent),
    ("task_reminder", Rule::Sent),
    ("task_status", Rule::Sent),
    ("todo_reminder", Rule::Sent),
    ("total_tokens_reminder", Rule::Sent),
    ("ultra_effort_enter", Rule::Sent),
    ("ultra_effort_exit", Rule::Sent),
    ("workflow_keyword_request", Rule::Sent),
    // No client's: the rule for all that is not known.
    ("something_new", Rule::Unsent),
];

/// Every type of line of the corpora; of those besides the first ones nothing is sent.
const LINES: &str = "assistant user attachment system progress agent-color agent-name agent-setting ai-title
    artifact-autoreact-ledger artifact-comment-monitor atis-latch bridge-session content-replacement cost-state
    custom-title file-history-snapshot frame-link last-prompt marble-origami-commit mode permission-mode pr-link
    queue-operation relocated summary worktree-state";

fn unknown(command: &[&str]) -> Value {
    json(command)["unknown"].clone()
}

#[test]
fn unknown_names_are_counted_by_client() {
    let session = fixture("unknown-names");
    let of = |part: &str, name: &str, lines: u64| json!({"part": part, "name": name, "by_client_version": {"2.1.401": lines}});
    let expected = json!([
        of("client", "2.1.401", 2),
        of("line", "tide-table", 2),
        of("system", "ebb", 1),
        of("attachment", "moon_phase", 1),
        of("usage", "cache_creation.ephemeral_24h_input_tokens", 1),
        of("usage", "moon_tokens", 1),
    ]);
    assert_eq!(unknown(&["verify", &session, "--format", "json"]), expected);
    // As the places of sessions have it.
    let home = tempfile::tempdir().expect("a folder");
    let folder = home.path().join(".claude/projects/-w-bay");
    fs::create_dir_all(&folder).expect("a folder");
    fs::copy(format!("{session}/session.jsonl"), folder.join("s.jsonl")).expect("a copy");
    let sources = |format: &str| {
        let mut command = cachesim();
        command.env_clear().env("HOME", home.path()).args(["sources", "--format", format]);
        text(&command.output().expect("the program runs").stdout)
    };
    let read: Value = serde_json::from_str(&sources("json")).expect("JSON");
    assert_eq!(read["unknown"], expected);
    let page = sources("table");
    for words in ["known up to client 2.1.289", "moon_phase", "2.1.401: 2", "2 requests"] {
        assert!(page.contains(words), "{words}: {page}");
    }
    let readme = fs::read_to_string(project("README.md")).expect("README.md");
    assert!(readme.contains("2.1.289"), "README says up to which client lines are known");
}

#[test]
fn what_is_no_identifier_is_not_named() {
    let file = tempfile::Builder::new().suffix(".jsonl").tempfile().expect("a file");
    let session = fs::read_to_string(fixture("unknown-names/session.jsonl")).expect("a session");
    let renamed = session.replace("tide-table", "my secret").replace("moon_phase", &"m".repeat(65));
    fs::write(file.path(), renamed).expect("a file");
    let path = file.path().to_str().expect("a path");
    let page = stdout(&["verify", path]);
    assert!(page.contains("(no name)") && !page.contains("secret") && !page.contains("mmmm"));
}

#[test]
fn the_type_of_an_attachment_decides_whether_it_was_sent() {
    let session = fs::read_to_string(fixture("unknown-names/session.jsonl")).expect("a session");
    let is_sent = |attachment: &Value| {
        let with = |line: &str| {
            let mut line: Value = serde_json::from_str(line).expect("JSON");
            if line["type"] == "attachment" {
                line["attachment"] = attachment.clone();
            }
            line
        };
        let all: Vec<Value> = session.lines().map(with).collect();
        let read = load(&Source::in_memory("s.jsonl", lines(&all).as_bytes()));
        read.entries.iter().any(
            |entry| matches!(entry.kind, EntryKind::Attachment { size, .. } if size.bytes() > 0),
        )
    };
    for (name, rule) in ATTACHMENTS {
        let attachment = |event: &str| json!({"type": name, "content": "waxing ".repeat(1200), "hookEvent": event});
        let expected = match rule {
            Rule::Sent => [true; 3],
            Rule::Unsent => [false; 3],
            Rule::Event => [true, true, false],
        };
        let events = ["SessionStart", "UserPromptSubmit", "PostToolUse"];
        assert_eq!(events.map(|event| is_sent(&attachment(event))), expected, "{name}");
    }
}

#[test]
fn of_every_type_in_the_corpora_a_rule_is_stated() {
    let known: BTreeSet<&str> = LINES.split_whitespace().collect();
    for corpus in ["corpus", "corpus-b", "corpus-c", "cases/real", "cases/newest-client"] {
        let Some(folder) = transcripts(corpus) else { return };
        let mut unstated: BTreeMap<String, String> = BTreeMap::new();
        for path in files(&folder, ".jsonl") {
            for line in fs::read(&path).expect("a file").split(|byte| *byte == b'\n') {
                let Ok(line) = serde_json::from_slice::<Types>(line) else { continue };
                let attachment = line.attachment.and_then(|one| one.r#type);
                let is_stated = |name: &String| ATTACHMENTS.iter().any(|(known, _)| name == known);
                let attachment = attachment.filter(|name| !is_stated(name));
                let name = line.r#type.filter(|name| !known.contains(&name[..]));
                let name = name.filter(|_| line.session_id.is_some());
                for name in attachment.into_iter().chain(name) {
                    unstated.entry(name).or_insert_with(|| path.display().to_string());
                }
            }
        }
        assert_eq!(unstated, BTreeMap::new(), "{corpus}");
        let folder = folder.to_str().expect("a path");
        let unknown = unknown(&["verify", folder, "--format", "json"]);
        let unknown = unknown.as_array().expect("a list").iter();
        let names: Vec<&Value> = unknown.map(|one| &one["name"]).collect();
        // Made by hand after what is reported of this client.
        let newer: &[&str] = if corpus == "cases/newest-client" { &["2.1.330"] } else { &[] };
        assert_eq!(names, newer, "{corpus}");
    }
}

#[derive(serde::Deserialize)]
struct Types {
    r#type: Option<String>,
    #[serde(rename = "sessionId")]
    session_id: Option<String>,
    attachment: Option<Attachment>,
}

#[derive(serde::Deserialize)]
struct Attachment {
    r#type: Option<String>,
}
