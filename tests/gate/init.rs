//! `init`: what it writes passes its own check, with limits worked out by hand, and it writes nowhere else.

use std::fs;
use std::path::Path;
use std::process::Output;

use tempfile::TempDir;

use crate::common::{cachesim, names, project, text};

/// A repository with the session of a fixture.
fn repository(fixture: &str) -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let sessions = folder.path().join("sessions");
    fs::create_dir(&sessions).expect("a folder");
    let session = project("fixtures").join(fixture).join("session.jsonl");
    fs::copy(session, sessions.join("session.jsonl")).expect("a session");
    folder
}

/// The same with the sources of the action, as its own.
fn repository_with_action(fixture: &str) -> TempDir {
    let folder = repository(fixture);
    let action = folder.path().join(".github/actions/cachesim");
    fs::create_dir_all(&action).expect("a folder");
    fs::copy(project("action.yml"), action.join("action.yml")).expect("an action");
    folder
}

fn run(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = cachesim();
    command.current_dir(folder).env_remove("CACHESIM_NO_CONFIG");
    command.args(arguments).output().expect("the program runs")
}

/// What was said on standard error, by a run with this exit code.
fn said(output: &Output, code: i32) -> String {
    assert_eq!(output.status.code(), Some(code), "{}", text(&output.stderr));
    text(&output.stderr)
}

#[test]
fn it_shows_and_writes_only_with_yes() {
    let folder = repository_with_action("first-look");
    let shown = run(folder.path(), &["init"]);
    assert!(said(&shown, 0).contains("nothing is written. --yes writes it."));
    assert_eq!(names(folder.path()), [".github", "sessions"]);
    let applied = run(folder.path(), &["init", "--yes"]);
    assert!(said(&applied, 0).contains("wrote cachesim.toml, baseline.json, .github/workflows/"));
    assert_eq!(names(folder.path()), [".github", "baseline.json", "cachesim.toml", "sessions"]);
    assert_eq!(text(&shown.stdout), text(&applied.stdout));
    // Everything but the baseline is shown as it is written.
    for path in ["cachesim.toml", ".github/workflows/cachesim.yml"] {
        let written = fs::read_to_string(folder.path().join(path)).expect("a file");
        assert!(text(&shown.stdout).contains(written.trim_end()), "{path}");
    }
    said(&run(folder.path(), &["check"]), 0);
}

/// The sources of the action are built, and it has every input that it is given.
#[test]
#[cfg(unix)] // as the documents of the action are read
fn the_workflow_runs_the_action_of_the_repository() {
    use crate::gate::action::{Action, Workflow, read};

    let folder = repository_with_action("first-look");
    said(&run(folder.path(), &["init", "--apply"]), 0);
    let workflow: Workflow = read(&folder.path().join(".github/workflows/cachesim.yml"));
    let [checkout, check] = workflow.jobs["check"].steps.as_slice() else { panic!("two steps") };
    assert_eq!(checkout.with["submodules"], true);
    assert_eq!(check.uses.as_deref(), Some("./.github/actions/cachesim"));
    assert_eq!(check.with["install"], "build");
    let action: Action = read(&folder.path().join(".github/actions/cachesim/action.yml"));
    assert!(check.with.keys().all(|input| action.inputs.contains_key(input)));
}

/// A program that knows where its releases are names one; any other says what is to be filled in.
#[test]
fn no_workflow_names_a_place_that_is_nobodys() {
    let folder = repository("first-look");
    let applied = run(folder.path(), &["init", "--apply"]);
    if let Some(name) = env!("CARGO_PKG_REPOSITORY").strip_prefix("https://github.com/") {
        let written = fs::read_to_string(folder.path().join(".github/workflows/cachesim.yml"));
        let release = format!("uses: {name}@v{}\n", env!("CARGO_PKG_VERSION"));
        return assert!(written.expect("a workflow").contains(&release));
    }
    assert!(said(&applied, 2).contains("git submodule add ADDRESS .github/actions/cachesim"));
    assert!(text(&applied.stdout).contains("[check]"), "the other files are shown");
    assert_eq!(names(folder.path()), ["sessions"]);
    said(&run(folder.path(), &["init", "--apply", "--ci", "none"]), 0);
}

/// The session costs $0.5753 and read 121,500 of 163,512 tokens, 74.3 %; of its two breaks one is an expiry.
#[test]
fn the_limits_are_as_worked_out_by_hand() {
    let folder = repository("first-look");
    said(&run(folder.path(), &["init", "--apply", "--ci", "none"]), 0);
    let text = fs::read_to_string(folder.path().join("cachesim.toml")).expect("a file");
    let written: toml::Table = text.parse().expect("TOML");
    let budgets = written["budget"].as_array().expect("budgets");
    let limits = budgets.iter().map(|budget| {
        let limit = ["max", "min", "max_increase"].iter().find_map(|key| budget.get(key));
        let level = budget["level"].as_str().expect("a word");
        (budget["metric"].as_str().expect("a name"), limit.expect("a limit").to_string(), level)
    });
    let expected = [
        // 0.5753 × 1.25 = 0.719…
        ("cost_per_session", "\"0.72 USD\"", "fail"),
        ("cost_per_session", "\"5 %\"", "fail"),
        ("hit_rate", "\"72 %\"", "warn"),
        ("breaks", "1", "warn"),
    ];
    let expected = expected.map(|(metric, limit, level)| (metric, limit.to_owned(), level));
    assert_eq!(limits.collect::<Vec<_>>(), expected);
    assert!(!folder.path().join(".github").exists());
}

/// Captured prompts have budgets on what the service refuses and on their size, too.
#[test]
fn captures_have_budgets_of_their_own() {
    let folder = repository("captured-clock");
    said(&run(folder.path(), &["init", "--apply", "--ci", "none"]), 0);
    let text = fs::read_to_string(folder.path().join("cachesim.toml")).expect("a file");
    for part in [
        "metric = \"lint_findings\"\nmax = 0\nseverity = \"error\"\n",
        "\"prompt_bytes_per_request\"",
    ] {
        assert!(text.contains(part), "{text}");
    }
    said(&run(folder.path(), &["check"]), 0);
}

#[test]
fn what_is_there_stays() {
    let folder = repository("first-look");
    fs::write(folder.path().join("cachesim.toml"), "# mine\n").expect("written");
    let refused = run(folder.path(), &["init", "--apply", "--ci", "none"]);
    assert!(said(&refused, 2).contains("cachesim.toml is there already, so nothing is written"));
    assert_eq!(names(folder.path()), ["cachesim.toml", "sessions"]);
    assert_eq!(fs::read(folder.path().join("cachesim.toml")).expect("a file"), b"# mine\n");
}

#[test]
fn nothing_outside_of_the_folder_is_read_or_written() {
    let folder = repository("first-look");
    let outside = repository("first-look");
    let absolute = outside.path().to_str().expect("plain").to_owned();
    for path in ["../sessions", "sessions/../..", absolute.as_str()] {
        let refused = run(folder.path(), &["init", "--apply", path]);
        assert!(said(&refused, 2).contains("cachesim redact PATH -o sessions"), "{path}");
    }
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(outside.path(), folder.path().join("others")).expect("a link");
        let refused = run(folder.path(), &["init", "--apply", "others"]);
        assert!(said(&refused, 2).contains("leads out of this folder"));
        fs::remove_file(folder.path().join("others")).expect("a link");
        let elsewhere = repository_with_action("first-look");
        let github = elsewhere.path().join(".github");
        std::os::unix::fs::symlink(&github, folder.path().join(".github")).expect("a link");
        let refused = run(folder.path(), &["init", "--apply"]);
        assert!(said(&refused, 2).contains("a link leads out of this folder"));
        assert_eq!(names(&github), ["actions"]);
        assert_eq!(names(folder.path()), [".github", "sessions"]);
    }
}

#[test]
fn without_sessions_it_says_how_to_get_some() {
    let folder = tempfile::tempdir().expect("a folder");
    let missing = said(&run(folder.path(), &["init"]), 3);
    assert!(missing.contains("sessions is not in this folder"), "{missing}");
    assert!(missing.contains("cachesim redact ~/.claude/projects -o sessions"), "{missing}");
    fs::create_dir(folder.path().join("sessions")).expect("a folder");
    said(&run(folder.path(), &["init"]), 3);
}

/// GitHub reads workflows at the root alone.
#[test]
fn a_folder_of_a_repository_has_no_workflow() {
    let root = tempfile::tempdir().expect("a folder");
    fs::create_dir(root.path().join(".git")).expect("a folder");
    let folder = root.path().join("agent");
    fs::rename(repository("first-look").keep(), &folder).expect("moved");
    let refused = run(&folder, &["init", "--apply"]);
    assert!(said(&refused, 2).contains("GitHub reads workflows at the root"));
    assert_eq!(names(&folder), ["sessions"]);
    said(&run(&folder, &["init", "--apply", "--ci", "none"]), 0);
    said(&run(&folder, &["check"]), 0);
}

/// Prices of a model that has none built in become part of the configuration.
#[test]
fn prices_of_ones_own_are_kept() {
    let folder = repository("first-look");
    let session = folder.path().join("sessions/session.jsonl");
    let text = fs::read_to_string(&session).expect("a session");
    fs::write(&session, text.replace("claude-opus-5", "own-model-1")).expect("written");
    assert!(said(&run(folder.path(), &["init"]), 3).contains("--prices FILE"));
    let prices = r#"{"own-model-1": {"input_cost_per_token": 3e-6, "output_cost_per_token": 1.5e-5,
        "cache_read_input_token_cost": 3e-7, "cache_creation_input_token_cost": 3.75e-6,
        "cache_creation_input_token_cost_above_1hr": 6e-6, "litellm_provider": "anthropic", "mode": "chat"}}"#;
    fs::write(folder.path().join("prices.json"), prices).expect("written");
    said(&run(folder.path(), &["init", "--apply", "--ci", "none", "--prices", "prices.json"]), 0);
    let written = fs::read_to_string(folder.path().join("cachesim.toml")).expect("a file");
    assert!(written.contains("[defaults]\nprices = [\"prices.json\"]\n"), "{written}");
    said(&run(folder.path(), &["check"]), 0);
}
