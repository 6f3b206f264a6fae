//! What is said where sessions and logs are not found, are something else, or are told by several programs.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use rusqlite::Connection;
use tempfile::TempDir;

use crate::common::{cachesim, json, project, run, shared, stdout, text, utf8};

fn folder() -> TempDir {
    tempfile::tempdir().expect("a folder")
}

/// What the program says where it finds nothing.
fn refused(home: &Path, arguments: &[&str]) -> String {
    let output = cachesim().env("HOME", home).args(arguments).output().expect("the program runs");
    assert_eq!(output.status.code(), Some(3), "{arguments:?}");
    text(&output.stderr)
}

/// A copy of a fixture's file.
fn copy(fixture: &str, to: &Path) {
    fs::create_dir_all(to.parent().expect("a folder")).expect("a folder");
    fs::copy(project("fixtures").join(fixture), to).expect("a copy");
}

#[test]
fn what_has_no_place_of_its_own_needs_a_path() {
    let home = folder();
    let error = refused(home.path(), &["analyze", "--source", "litellm"]);
    assert_eq!(
        error,
        "cachesim: no sessions of a coding agent were found\ncachesim: LiteLLM has no place of its own where logs are \
         kept\ncachesim: give files or folders with sessions, as in cachesim analyze PATH\n"
    );
    let error = refused(home.path(), &["analyze", "--source", "qwen"]);
    assert!(
        error.contains("~/.qwen/projects is not there, and 1 other place is not either"),
        "{error}"
    );
}

#[test]
fn a_program_of_which_there_is_nothing_is_named() {
    let sessions = folder();
    copy("first-look/session.jsonl", &sessions.path().join("session.jsonl"));
    let error = refused(sessions.path(), &["analyze", utf8(sessions.path()), "--source", "otel"]);
    assert_eq!(
        error,
        "cachesim: no request of --source otel; the input has 6 requests of claude\n"
    );
}

#[test]
fn a_folder_without_a_file_of_a_known_name_says_which_names_are_looked_at() {
    let empty = folder();
    let error = refused(empty.path(), &["analyze", utf8(empty.path())]);
    for name in ["*.jsonl", "*.json", "*.db", "*.har", "*.csv", "*.parquet"] {
        assert!(error.contains(name), "{name} in {error}");
    }
}

#[test]
fn a_database_of_no_known_program_is_named_with_what_it_lacks() {
    let databases = folder();
    let database = |name: &str, statement: &str| {
        let path = databases.path().join(name);
        Connection::open(&path).expect("a database").execute_batch(statement).expect("a table");
        path
    };
    let other = database("other.db", "CREATE TABLE notes (secret)");
    for path in [other.as_path(), databases.path()] {
        let error = refused(databases.path(), &["analyze", utf8(path)]);
        assert!(error.contains("no request in other.db: it is an SQLite database"), "{error}");
        assert!(error.contains("none of the tables session_v2, session, message"), "{error}");
        assert!(error.contains("threads (Zed)") && !error.contains("notes"), "{error}");
    }
    let nearly =
        database("z.db", "CREATE TABLE threads (id, parent_id, summary, updated_at, data)");
    let error = refused(databases.path(), &["analyze", utf8(&nearly)]);
    let lacking = "of what Zed keeps it has threads, but not threads.folder_paths, threads.created_at, \
                   threads.data_type\n";
    assert!(error.ends_with(lacking), "{error}");
}

#[test]
fn a_table_of_something_else_is_named_with_the_columns_that_it_lacks() {
    let tables = folder();
    let path = tables.path().join("other.csv");
    fs::write(&path, "request_id,model,prompt_tokens\n1,gpt-5.5,7\n").expect("a file");
    for path in [path.as_path(), tables.path()] {
        assert_eq!(
            refused(tables.path(), &["analyze", utf8(path)]),
            "cachesim: no request in other.csv: it is a table without the columns call_type, startTime of a \
             spend log of LiteLLM\n"
        );
    }
}

#[test]
fn every_place_is_listed_with_what_moves_it() {
    let home = folder();
    let listed = |arguments: &[&str]| {
        let mut command = cachesim();
        command.env("HOME", home.path()).env("COLUMNS", "200").env("XDG_DATA_HOME", "/data");
        command.env("XDG_CONFIG_HOME", "/config").env("OPENCODE_DB", "mine.db");
        command.env("OPENCLAW_STATE_DIR", "/claw").env("GEMINI_CLI_HOME", "/gemini");
        text(&command.arg("sources").args(arguments).output().expect("the program runs").stdout)
    };
    let all = listed(&["--all"]);
    for place in [
        "/data/opencode/mine.db ($OPENCODE_DB)",
        "/data/opencode/storage/message ($XDG_DATA_HOME)",
        "/data/kilo/kilo.db ($XDG_DATA_HOME)",
        "/data/amp/threads ($XDG_DATA_HOME)",
        "/data/zed/threads ($XDG_DATA_HOME)",
        "/data/goose/sessions/sessions.db ($XDG_DATA_HOME)",
        "/config/Code/User/globalStorage/github.copilot-chat/agent-traces.db ($XDG_CONFIG_HOME)",
        "/claw/agents ($OPENCLAW_STATE_DIR)",
        "/gemini/.gemini/tmp ($GEMINI_CLI_HOME)",
        "AMP_DATA_DIR, XDG_DATA_HOME",
    ] {
        assert!(all.contains(place), "{place} in {all}");
    }
    assert!(!all.contains("nothing in"), "{all}");
    let short = listed(&[]);
    assert!(
        short.contains("nothing in 11 places") && short.contains("--all lists every place"),
        "{short}"
    );
    assert!(short.contains("COPILOT_HOME, XDG_CONFIG_HOME"), "{short}");
    let in_memory = cachesim().env("OPENCODE_DB", ":memory:").args(["sources", "--all"]).output();
    assert!(!text(&in_memory.expect("the program runs").stdout).contains("opencode.db"));
}

/// The documentation, the help and the table name the same variables.
#[test]
fn variables_that_move_places_are_documented() {
    let sources = json(&["sources", "--format", "json"]);
    let places = sources["places"].as_array().expect("a list");
    let names = places.iter().flat_map(|place| place["variables"].as_array().expect("a list"));
    let names: BTreeSet<&str> = names.map(|name| name.as_str().expect("a name")).collect();
    assert_eq!(names.len(), 14);
    let documented = fs::read_to_string(project("docs/sources.md")).expect("the page");
    let help = stdout(&["sources", "--help"]);
    for name in names {
        assert!(documented.contains(&format!("`{name}`")), "{name} in docs/sources.md");
        assert!(help.contains(name), "{name} in --help");
    }
}

#[test]
fn requests_of_a_log_are_told_under_its_program() {
    let log = project("fixtures/litellm-bodies");
    let groups = json(&["analyze", utf8(&log), "--by", "source", "-q", "--format", "json"]);
    let groups = groups["groups"].as_array().expect("a list");
    let told: Vec<_> = groups.iter().map(|one| (&one["name"], &one["requests"])).collect();
    assert_eq!(told, [(&"litellm".into(), &5.into())]);
    let chosen = stdout(&["analyze", utf8(&log), "--source", "litellm", "-q"]);
    assert!(
        chosen.contains("5 requests, 3 sessions") && !chosen.contains("By program"),
        "{chosen}"
    );
}

/// One session has a request in the transcript and another one in the log.
#[test]
fn a_session_of_two_programs_is_said_under_each() {
    let both = folder();
    copy("first-look/session.jsonl", &both.path().join("session.jsonl"));
    let transcript = fs::read_to_string(both.path().join("session.jsonl")).expect("a session");
    let first: serde_json::Value =
        serde_json::from_str(transcript.lines().next().expect("a line")).expect("JSON");
    let session = first["sessionId"].as_str().expect("a session");
    let row = serde_json::json!({"request_id": "chatcmpl-1", "call_type": "acompletion", "spend": 0.01,
        "startTime": "2026-10-05T10:00:00Z", "endTime": "2026-10-05T10:00:09Z", "model": "gpt-5.5",
        "prompt_tokens": 100, "completion_tokens": 5, "session_id": session,
        "metadata": {"usage_object": {"prompt_tokens": 100, "completion_tokens": 5,
            "prompt_tokens_details": {"cached_tokens": 0}}}});
    fs::write(both.path().join("spend.jsonl"), format!("{row}\n")).expect("a file");
    let shown = stdout(&["analyze", utf8(both.path()), "-q"]);
    assert!(
        shown.contains("1 session of 1 has requests of several programs, and counts under each."),
        "{shown}"
    );
}

/// 5m and 1h mean nothing to Codex, so that it has no figures under them beside others, as it has none alone.
#[test]
fn a_strategy_that_means_nothing_to_a_group_has_no_figure_there() {
    let both = folder();
    copy("first-look/session.jsonl", &both.path().join("a/session.jsonl"));
    copy("agent-codex-records/rollout.jsonl", &both.path().join("b/rollout.jsonl"));
    let path = utf8(both.path());
    let by = |format: &str| stdout(&["analyze", path, "--by", "source", "-q", "--format", format]);
    let table = stdout(&["analyze", path, "--by", "source", "-q"]);
    let row = table.lines().find(|line| line.starts_with("Codex")).expect("a row");
    let cells: Vec<&str> = row.split_whitespace().collect();
    assert_eq!(cells[3..5], ["-", "-"], "{row}");
    let csv = by("csv");
    let header: Vec<&str> = csv.lines().next().expect("a header").split(',').collect();
    let row = csv.lines().find(|line| line.starts_with("codex")).expect("a row");
    let row: Vec<&str> = row.split(',').collect();
    let object: serde_json::Value = serde_json::from_str(&by("json")).expect("JSON");
    let groups = object["groups"].as_array().expect("a list");
    let codex = groups.iter().find(|one| one["name"] == "codex").expect("a group");
    for (strategy, is_told) in [("billed", true), ("5m", false), ("1h", false)] {
        let place = header.iter().position(|name| *name == format!("{strategy}_usd"));
        assert_eq!(!row[place.expect("a column")].is_empty(), is_told, "{strategy} in {csv}");
        assert_eq!(codex["totals"][strategy]["cost_usd"].is_string(), is_told, "{strategy}");
    }
    let claude = groups.iter().find(|one| one["name"] == "claude").expect("a group");
    assert!(claude["totals"]["5m"]["cost_usd"].is_string());
    // The list of sessions has the same.
    let sessions = stdout(&["analyze", path, "-q"]);
    let ends_so = |line: &str| line.split_whitespace().collect::<Vec<_>>().ends_with(&["-", "-"]);
    assert!(sessions.lines().any(ends_so), "{sessions}");
}

#[test]
fn a_printed_name_of_a_session_is_taken() {
    let path = project("fixtures/har-exchanges");
    let table = stdout(&["analyze", utf8(&path), "--by", "session", "-q"]);
    let names = table.lines().filter_map(|line| line.split_whitespace().next());
    let names: Vec<&str> = names.filter(|name| name.starts_with("…0000")).collect();
    assert_eq!(names.len(), 2, "{table}");
    for name in names {
        assert_eq!(run(&["analyze", utf8(&path), "--session", name, "-q"]).status.code(), Some(0));
    }
}

#[test]
fn a_copy_of_a_log_counts_nothing_again() {
    for (fixture, file, requests) in
        [("har-exchanges", "flows.har", 4), ("claude-trace-log", "session.jsonl", 3)]
    {
        let copies = folder();
        for name in ["a", "b"] {
            copy(&format!("{fixture}/{file}"), &copies.path().join(name).join(file));
        }
        let report = json(&["analyze", utf8(copies.path()), "-q", "--format", "json"]);
        let inputs = &report["inputs"];
        assert_eq!(
            (&inputs["requests"], &inputs["duplicates"]),
            (&requests.into(), &requests.into())
        );
    }
}

#[test]
fn lost_input_is_held_against_no_baseline_where_none_is_given() {
    let path = project("fixtures/damaged");
    let page = text(&run(&["check", utf8(&path), "-q"]).stdout);
    assert!(
        page.contains("Input was lost in ") && !page.contains("baseline, and what it held"),
        "{page}"
    );
}

#[test]
fn requests_to_claude_are_not_listed_under_services() {
    let Some(root) = shared("agents/copilot") else { return };
    let page = stdout(&["verify", utf8(&root), "-q"]);
    let (_, section) = page.split_once("Requests outside the rules of markers").expect("a section");
    assert!(
        section.contains("claude-fable-5") && section.contains("Claude's are among them"),
        "{section}"
    );
    assert!(!page.contains("Services whose caches"), "{page}");
}

#[test]
fn what_a_fork_copies_of_its_parent_counts_as_copies() {
    let Some(root) = shared("agents/codex/chikachow__cyspbot") else { return };
    let report = json(&["analyze", utf8(&root), "-q", "--format", "json"]);
    assert_eq!(report["inputs"]["duplicates"], 102);
    assert_eq!(report["inputs"]["requests"], 149);
}
