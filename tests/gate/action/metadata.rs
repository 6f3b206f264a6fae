//! `action.yml`: every name that it uses exists, and every script is there.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use super::document::{Action, Step, expressions, read, references};
use super::runner::outputs;
use crate::common::{files, project, skip, text};

const SCRIPTS: &str = "integrations/github-action";

fn action() -> Action {
    read(&project("action.yml"))
}

/// The outputs that the script of a step sets, by the words after `output`.
fn outputs_of(step: &Step) -> BTreeSet<String> {
    let script = step.run.as_deref().unwrap_or("").trim_matches('"');
    let Some(path) = script.strip_prefix("$GITHUB_ACTION_PATH/") else { return BTreeSet::new() };
    let text = fs::read_to_string(project(path)).expect("a script");
    let words = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    words
        .filter(|words| words.len() > 2 && ["output", "output_file"].contains(&words[0]))
        .map(|words| words[1].to_owned())
        .collect()
}

#[test]
fn every_input_and_output_that_is_used_exists_and_is_used() {
    let action = action();
    let steps = &action.runs.steps;
    let mut used: BTreeSet<&str> = steps.iter().flat_map(Step::references).collect();
    for output in action.outputs.values() {
        used.extend(expressions(&output.value).into_iter().flat_map(references));
    }
    let inputs: BTreeSet<String> =
        action.inputs.keys().map(|name| format!("inputs.{name}")).collect();
    let used_inputs = used.iter().filter(|name| name.starts_with("inputs."));
    assert_eq!(used_inputs.map(|name| (*name).to_owned()).collect::<BTreeSet<_>>(), inputs);

    let set: BTreeSet<String> = steps
        .iter()
        .filter_map(|step| Some((step.id.as_deref()?, outputs_of(step))))
        .flat_map(|(id, names)| {
            names.into_iter().map(move |name| format!("steps.{id}.outputs.{name}"))
        })
        .collect();
    let used_outputs = used.iter().filter(|name| name.starts_with("steps."));
    assert_eq!(used_outputs.map(|name| (*name).to_owned()).collect::<BTreeSet<_>>(), set);
}

#[test]
fn scripts_hold_no_expressions_and_are_executable() {
    let action = action();
    assert_eq!(action.runs.using, "composite");
    for step in &action.runs.steps {
        let name = step.name.as_deref().expect("every step has a name");
        let Some(script) = &step.run else { continue };
        assert_eq!(step.shell.as_deref(), Some("bash"), "{name}");
        assert!(!script.contains("${{"), "{name}: values reach a script by the environment");
        if let Some(path) = script.trim_matches('"').strip_prefix("$GITHUB_ACTION_PATH/") {
            let metadata =
                fs::metadata(project(path)).unwrap_or_else(|error| panic!("{path}: {error}"));
            assert_eq!(metadata.permissions().mode() & 0o111, 0o111, "{path} is executable");
        } else {
            assert!(script.starts_with("set -euo pipefail\n"), "{name}");
            assert!(script.lines().count() <= 15, "{name}: a script of its own");
        }
    }
    for entry in fs::read_dir(project(SCRIPTS)).expect("the scripts") {
        let text = fs::read_to_string(entry.expect("an entry").path()).expect("a script");
        assert!(
            text.contains("\nset -euo pipefail\n") || text.starts_with("# shellcheck shell=bash\n")
        );
    }
}

#[test]
fn only_actions_of_the_runner_s_makers_are_used() {
    for step in &action().runs.steps {
        let Some(uses) = &step.uses else { continue };
        assert!(uses.starts_with("actions/"), "{uses}");
    }
}

/// A tag can be moved to another commit.
#[test]
fn actions_are_pinned_by_commit() {
    let workflows = files(project(".github/workflows"), ".yml");
    for file in workflows.into_iter().chain([project("action.yml")]) {
        let text = fs::read_to_string(&file).expect("a file");
        for uses in text.lines().filter_map(|line| line.split_once("uses: ")).map(|(_, uses)| uses)
        {
            let (commit, version) = uses
                .split_once('@')
                .and_then(|(_, version)| version.split_once(" # v"))
                .unwrap_or_else(|| panic!("{}: {uses}", file.display()));
            let is_commit =
                commit.len() == 40 && commit.bytes().all(|byte| byte.is_ascii_hexdigit());
            assert!(is_commit && !version.is_empty(), "{}: {uses}", file.display());
        }
    }
}

#[test]
fn everything_is_described_and_the_guide_has_all_of_it() {
    let action = action();
    assert!(!action.name.is_empty() && action.branding.contains_key("icon"));
    let guide = fs::read_to_string(project("docs/ci.md")).expect("the guide");
    let inputs = action.inputs.iter().map(|(name, input)| (name, &input.description));
    let outputs = action.outputs.iter().map(|(name, output)| (name, &output.description));
    for (name, description) in inputs.chain(outputs) {
        assert!(description.ends_with('.'), "{name}: {description}");
        assert!(guide.contains(&format!("`{name}`")), "{name} is not in the guide");
    }
    // What the guide's table says of defaults.
    for (name, input) in action.inputs.iter().filter(|(_, input)| !input.default.is_empty()) {
        let row = guide.lines().find(|line| line.starts_with(&format!("| `{name}` |")));
        let row = row.unwrap_or_else(|| panic!("{name} has a row"));
        assert!(row.ends_with(&format!("| `{}` |", input.default)), "{row}");
    }
    assert!(action.description.len() < 125, "what a listing shows of it");
}

#[test]
fn outputs_are_read_as_the_runner_reads_them() {
    let written = "plain=a=b<<c\nlong<<END\none\ntwo=2\nEND\nempty<<E\n\nE\n";
    let expected = [("plain", "a=b<<c"), ("long", "one\ntwo=2"), ("empty", "")];
    let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
    assert_eq!(outputs(written), expected);
}

#[test]
fn shellcheck_has_nothing_to_say_where_it_is_installed() {
    let scripts = fs::read_dir(project(SCRIPTS)).expect("the scripts");
    let scripts = scripts.map(|entry| entry.expect("an entry").path());
    let mut command = Command::new("shellcheck");
    command.args(["--external-sources", "--source-path", SCRIPTS]).args(scripts);
    let Ok(output) = command.current_dir(project("")).output() else {
        return skip("shellcheck");
    };
    assert!(output.status.success(), "{}", text(&output.stdout));
}
