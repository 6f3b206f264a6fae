//! The folders of a user's projects and the parts of `metadata.user_id` through every output.

use std::fs;
use std::path::Path;

use rayon::prelude::*;
use serde_json::Value;
use tempfile::TempDir;

use super::runs;
use crate::common::{cachesim, project, text};

/// What stands in paths of this user.
const SECRETS: [&str; 4] = ["annzq", "vaultzq", "clientzq", "tunnelzq"];

const SESSION: &str = "5e1f0000-0000-4000-8000-000000000001";

const CONFIG: &str = "
[defaults]
project_names = \"NAMES\"

[[budget]]
metric = \"cost_per_session\"
max = \"0.0001 USD\"
";

/// A home with two projects in it, a session of each, and a capture.
fn home() -> TempDir {
    let home = tempfile::Builder::new().prefix("annzq").tempdir().expect("a folder");
    let at = home.path().to_string_lossy().into_owned();
    let dashed = at.replace(|c: char| !c.is_ascii_alphanumeric(), "-");
    let read = |fixture: &str| {
        fs::read_to_string(project("fixtures").join(fixture).join("session.jsonl"))
            .expect("a fixture")
    };
    for (number, (fixture, name)) in
        [("break-inside-ttl", "clientzq"), ("sub-agents", "tunnelzq")].into_iter().enumerate()
    {
        let lines = read(fixture).replace("/w/demo", &format!("{at}/vaultzq/{name}"));
        let id = format!("5e1f000{number}");
        let lines =
            lines.replace("5e1f0000", &id).replace("00000000-", &format!("0000000{number}-"));
        let lines = lines
            .replace("\"msg_", &format!("\"msg_{number}"))
            .replace("\"req_", &format!("\"req_{number}"));
        let folder = home.path().join(format!("all/{dashed}-vaultzq-{name}"));
        fs::create_dir_all(&folder).expect("a folder");
        let file = format!("{}.jsonl", SESSION.replace("5e1f0000", &id));
        fs::write(folder.join(file), lines + "torn {\n").expect("a file");
    }
    let folder = home.path().join("all/vaultzq/clientzq");
    fs::create_dir_all(&folder).expect("a folder");
    fs::write(folder.join("capture.jsonl"), read("unsorted-tools")).expect("a file");
    for names in ["relative", "hash"] {
        let config = home.path().join(format!("{names}.toml"));
        fs::write(config, CONFIG.replace("NAMES", names)).expect("a file");
    }
    fs::copy(home.path().join("hash.toml"), home.path().join("config.toml")).expect("a file");
    home
}

fn run(home: &Path, arguments: &[&str]) -> [String; 2] {
    let mut command = cachesim();
    command.env("HOME", home).current_dir(home).args(arguments);
    let output = command.output().expect("the program runs");
    assert!(output.status.code().is_some_and(|code| code < 70), "{arguments:?}");
    [String::from_utf8_lossy(&output.stdout).into_owned(), text(&output.stderr)]
}

/// All runs with the files named by their whole paths, and what they print.
fn outputs(home: &Path, names: &str) -> Vec<(String, String)> {
    let all = home.join("all").display().to_string();
    let config = format!("{names}.toml");
    run(home, &["check", &all, "--config", &config, "--format", "report", "-o", "baseline.json"]);
    let baseline = fs::read_to_string(home.join("baseline.json")).expect("a baseline");
    let mut outputs = vec![("a baseline".to_owned(), baseline)];
    let runs: Vec<Vec<String>> = runs().into_iter().map(|(words, _)| words).collect();
    let printed = runs.par_iter().filter(|words| !words.contains(&"png".to_owned())).map(|words| {
        let before = [""].into_iter().chain(words.iter().map(String::as_str));
        let words = words.iter().zip(before).map(|(word, before)| match word.as_str() {
            // Of an option it is a value.
            "all" if !before.starts_with("--") => all.as_str(),
            "config.toml" => config.as_str(),
            word => word,
        });
        let words: Vec<&str> = words.chain(["--verbose"]).collect();
        let words = if words.contains(&"--config") {
            words
        } else {
            [&words[..], &["--config", &config]].concat()
        };
        (words.join(" "), run(home, &words).concat())
    });
    outputs.extend(printed.collect::<Vec<_>>());
    for command in ["redact", "place"] {
        let words = [
            command,
            &all,
            "-o",
            &format!("{command}-{names}"),
            "--project-names",
            names,
            "--verbose",
        ];
        outputs.push((words.join(" "), run(home, &words)[1].clone()));
    }
    let explain = ["explain", "req_", &all, "--config", &config];
    outputs.push(("explain".to_owned(), run(home, &explain).concat()));
    outputs
}

#[test]
fn homes_are_in_no_output_and_projects_in_none_under_hash() {
    let home = home();
    for (run, output) in outputs(home.path(), "relative") {
        assert!(!output.contains(SECRETS[0]), "{run}: {output}");
    }
    for (run, output) in outputs(home.path(), "hash") {
        for secret in SECRETS {
            assert!(!output.contains(secret), "{secret}: {run}: {output}");
        }
    }
}

/// What is printed is accepted, and a file of a project has its digest, too.
#[test]
fn digests_of_projects_are_names() {
    let home = home();
    let by_project =
        ["analyze", "all", "--by", "project", "--json", "-q", "--project-names", "hash"];
    let groups: Value = serde_json::from_str(&run(home.path(), &by_project)[0]).expect("JSON");
    let names: Vec<&str> = groups["groups"]
        .as_array()
        .expect("groups")
        .iter()
        .filter_map(|group| group["name"].as_str())
        .filter(|name| name.starts_with("project-"))
        .collect();
    assert_eq!(names.len(), 2, "{groups}");
    for name in names {
        let rows = [
            "analyze",
            "all",
            "--format",
            "jsonl",
            "-q",
            "--project-names",
            "hash",
            "--project",
            name,
        ];
        let rows = run(home.path(), &rows)[0].clone();
        let files: Vec<Value> =
            rows.lines().map(|row| serde_json::from_str(row).expect("a row")).collect();
        assert!(!files.is_empty());
        for row in files {
            let file = row["file"].as_str().expect("a file");
            assert!(file.starts_with(&format!("{name}/")), "{file} of {name}");
        }
    }
}

#[test]
fn of_a_user_id_only_the_session_is_shown() {
    const FORMS: [&str; 14] = [
        r#""user_annzq_account_vaultzq_session_5e1f""#,
        r#""user_annzq_account__session_5e1f""#,
        r#""user_annzq_account_vaultzq""#,
        r#""session_5e1f_account_vaultzq_user_annzq""#,
        r#""annzq@vaultzq_session_5e1f@clientzq""#,
        r#""session_annzq session_5e1f vaultzq""#,
        r#""{\"device_id\":\"annzq\",\"account_uuid\":\"vaultzq\",\"session_id\":\"5e1f\"}""#,
        r#""{\"device_id\":\"annzq\",\"account_uuid\":\"vaultzq\"}""#,
        r#""{\"session_id\":\"user_annzq_account_vaultzq_session_5e1f\"}""#,
        r#""{\"device_id\":\"annzq\",\"session_id\":7}""#,
        r#"" {\"account_uuid\":\"annzq_session_vaultzq\"""#,
        r#"["annzq", {"session_id": "vaultzq"}]"#,
        r#"{"account": "annzq", "session_id": {"id": "vaultzq"}}"#,
        r#""[\"annzq\"]""#,
    ];
    let line =
        fs::read_to_string(project("fixtures/claude-trace-log/session.jsonl")).expect("a log");
    let folder = tempfile::tempdir().expect("a folder");
    fs::create_dir(folder.path().join("all")).expect("a folder");
    fs::write(folder.path().join("config.toml"), CONFIG.replace("NAMES", "relative"))
        .expect("a file");
    for (number, form) in FORMS.iter().enumerate() {
        let form: Value = serde_json::from_str(form).expect("JSON");
        let mut lines = String::new();
        for line in line.lines() {
            let mut line: Value = serde_json::from_str(line).expect("JSON");
            if let Some(body) = line.pointer_mut("/request/body").filter(|body| body.is_object()) {
                body["metadata"] = serde_json::json!({"user_id": form});
            }
            lines += &line.to_string().replace("\"msg_", &format!("\"msg_{number}"));
            lines.push('\n');
        }
        fs::write(folder.path().join(format!("all/log{number}.jsonl")), lines).expect("a file");
    }
    runs().par_iter().for_each(|(words, _)| {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let printed = run(folder.path(), &words).concat();
        for secret in SECRETS {
            assert!(!printed.contains(secret), "{secret}: {words:?}: {printed}");
        }
    });
    let rows = run(folder.path(), &["analyze", "all", "--format", "jsonl"])[0].clone();
    assert!(rows.contains("\"session_id\":\"5e1f\""), "the session has its name");
}
