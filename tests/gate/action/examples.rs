//! The examples for CI: workflows, GitLab, the hook, and the sample repository.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use super::document::{Action, Job, Step, Workflow, read};
use crate::common::{cachesim, entries, json, project, text};

pub(crate) const SAMPLE: &str = "docs/ci/sample";

fn workflows() -> Vec<PathBuf> {
    let folder = project(SAMPLE).join(".github/workflows");
    let paths = entries(folder);
    assert_eq!(paths.len(), 2);
    paths
}

fn each_job(check: impl Fn(&Path, &Job)) {
    for path in workflows() {
        let workflow: Workflow = read(&path);
        workflow.jobs.values().for_each(|job| check(&path, job));
    }
}

#[test]
fn workflows_give_the_action_its_inputs_and_take_its_outputs() {
    let action: Action = read(&project("action.yml"));
    each_job(|path, job| {
        let is_ours = |step: &&Step| {
            step.uses.as_ref().is_some_and(|uses| uses.starts_with("OWNER/cachesim@"))
        };
        let ours: Vec<&Step> = job.steps.iter().filter(is_ours).collect();
        assert_eq!(ours.len(), 1, "{path:?}");
        for input in ours[0].with.keys() {
            assert!(action.inputs.contains_key(input), "{path:?}: {input}");
        }
        let id = ours[0].id.as_deref().expect("an id");
        for reference in job.steps.iter().flat_map(Step::references) {
            let Some(rest) = reference.strip_prefix("steps.") else { continue };
            let (step, output) = rest.split_once(".outputs.").expect("an output");
            assert!(step == id && action.outputs.contains_key(output), "{path:?}: {reference}");
        }
    });
}

#[test]
fn workflows_ask_for_little_and_their_scripts_hold_no_expressions() {
    for path in workflows() {
        let workflow: Workflow = read(&path);
        assert!(
            workflow.permissions.is_empty(),
            "{}: nothing but what a job asks for",
            workflow.name
        );
        assert!(!workflow.on.to_string().contains("pull_request_target"));
    }
    each_job(|path, job| {
        let write = |(name, value): (&String, &String)| (value == "write").then(|| name.clone());
        let written: BTreeSet<String> = job.permissions.iter().filter_map(write).collect();
        let is_check = path.ends_with("cachesim.yml");
        let expected =
            if is_check { &["pull-requests", "security-events"][..] } else { &["contents"] };
        assert_eq!(written.iter().collect::<Vec<_>>(), expected);
        for step in &job.steps {
            if let Some(uses) = &step.uses {
                let official = ["actions/", "github/", "OWNER/cachesim@v"];
                assert!(official.iter().any(|start| uses.starts_with(start)), "{uses}");
            }
            let Some(script) = &step.run else { continue };
            assert_eq!(step.shell.as_deref(), Some("bash"));
            assert!(
                script.starts_with("set -euo pipefail\n") && !script.contains("${{"),
                "{script}"
            );
            assert_parses("bash", script);
        }
    });
}

/// Whether a shell can read a script.
fn assert_parses(shell: &str, script: &str) {
    let output = Command::new(shell).args(["-n", "-c", script]).output().expect("a shell");
    assert!(output.status.success(), "{script}\n{}", text(&output.stderr));
}

#[test]
fn the_gitlab_jobs_hang_together() {
    let pipeline: Value = read(&project(SAMPLE).join(".gitlab-ci.yml"));
    let stages = pipeline["stages"].as_array().expect("stages");
    for name in ["cachesim", "note"] {
        let job = &pipeline[name];
        assert!(stages.contains(&job["stage"]), "{name}");
        for line in job["script"].as_array().expect("a script") {
            assert_parses("sh", line.as_str().expect("a line"));
        }
    }
    assert_eq!(pipeline["note"]["needs"][0], "cachesim");
    assert_eq!(pipeline["cachesim"]["artifacts"]["when"], "always", "after a failure above all");
    let junit = pipeline["cachesim"]["artifacts"]["reports"]["junit"].as_str().expect("a file");
    let script = pipeline["cachesim"]["script"].to_string();
    assert!(script.contains(&format!("--export junit={junit}")), "{script}");
}

#[test]
fn the_hook_of_the_example_is_one_of_this_repository() {
    let hooks: Value = read(&project(".pre-commit-hooks.yaml"));
    let example: Value = read(&project(SAMPLE).join(".pre-commit-config.yaml"));
    let wanted = &example["repos"][0]["hooks"][0]["id"];
    let hook = hooks.as_array().expect("hooks").iter().find(|hook| hook["id"] == *wanted);
    let hook = hook.expect("the hook");
    assert_eq!((&hook["language"], &hook["entry"]), (&"rust".into(), &"cachesim check".into()));
    assert_eq!(hook["pass_filenames"], false, "a budget is about all sessions");
}

#[test]
fn the_session_of_the_sample_costs_what_its_budgets_say() {
    // Sonnet 4.5: $3 in full, $3.75 written for five minutes, $0.30 read, $15 answered, for a million.
    //     input      written             read            answered
    // 1   3 × 3  +  1,772 × 3.75                       +  95 × 15  =  8,079.00
    // 2   3 × 3  +    147 × 3.75  +  1,772 × 0.30      +  60 × 15  =  1,991.85
    // 3   3 × 3  +    107 × 3.75  +  1,919 × 0.30      +  60 × 15  =  1,885.95
    // 4   3 × 3  +    113 × 3.75  +  2,026 × 0.30      + 180 × 15  =  3,740.55   together 15,697.35
    let sessions = project(SAMPLE).join("sessions");
    let path = sessions.to_str().expect("a plain path");
    let report = json(&["analyze", path, "--format", "json", "-q", "--strategy", "billed"]);
    assert_eq!(report["totals"]["billed"]["cost_usd"], "0.01569735");
    assert_eq!(report["sessions"].as_array().map(Vec::len), Some(1));
    // Read: 1,772 + 1,919 + 2,026 = 5,717 of 1,775 + 1,922 + 2,029 + 2,142 = 7,868, which is 72.7 %.
    assert_eq!(report["totals"]["billed"]["cache_read_input_tokens"], 5_717);
    let findings = json(&["lint", path, "--format", "json"]);
    assert_eq!(findings["findings"].as_array().map(Vec::len), Some(0), "{findings}");

    let config =
        fs::read_to_string(project(SAMPLE).join("cachesim.toml")).expect("a configuration");
    let config: toml::Table = config.parse().expect("TOML");
    let budgets = config["budget"].as_array().expect("budgets");
    // A quarter more than today's, to the next hundredth of a cent.
    assert_eq!(budgets[0]["max"].as_str(), Some("0.0196 USD"));
    assert_eq!(budgets[2]["min"].as_str(), Some("70 %"));
}

#[test]
fn the_sample_passes_its_own_budgets() {
    let sample = project(SAMPLE);
    let mut check = cachesim();
    check.current_dir(sample).env_remove("CACHESIM_NO_CONFIG");
    let output = check.args(["check", "--format", "json"]).output();
    let output = output.expect("the program runs");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let check: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(check["verdict"], "pass");
}

#[test]
fn no_example_names_a_project_of_someone() {
    let files = walkdir::WalkDir::new(project("docs/ci")).into_iter();
    for file in
        files.map(|entry| entry.expect("an entry")).filter(|file| file.file_type().is_file())
    {
        let text = fs::read_to_string(file.path()).expect("a text");
        for (place, _) in
            text.match_indices("/cachesim@").chain(text.match_indices("/cachesim.git"))
        {
            assert!(text[..place].ends_with("OWNER"), "{:?}", file.path());
        }
    }
}
