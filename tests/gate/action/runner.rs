//! A runner in a temporary folder: it takes the steps of `action.yml` in their order, with the shell,
//! the files and the environment that GitHub's documentation describes. It knows the few expressions
//! that the action uses; other actions are noted, not run.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

use super::document::{Action, Step, read};
use crate::common::{project, text};

pub(crate) struct Runner {
    folder: TempDir,
    inputs: BTreeMap<String, String>,
    /// Bytes that the summary of every step holds already.
    pub(crate) summary_taken: usize,
    /// The repository that the pull request comes from.
    pub(crate) head: &'static str,
}

/// What became of a run of the action.
pub(crate) struct Run {
    pub(crate) outputs: BTreeMap<String, String>,
    /// What the steps added to the page of the run.
    pub(crate) summary: String,
    pub(crate) log: String,
    /// The lines that a runner takes for commands of a workflow.
    pub(crate) commands: Vec<String>,
    /// The exit code of the first step that failed.
    pub(crate) failed: Option<i32>,
    /// The other actions that were used, with their inputs.
    pub(crate) used: Vec<(String, BTreeMap<String, String>)>,
    runner: Runner,
}

impl Runner {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        for name in ["workspace", "temp", "path"] {
            fs::create_dir(folder.path().join(name)).expect("a folder");
        }
        let action: Action = read(&project("action.yml"));
        let inputs = action.inputs.into_iter().map(|(name, input)| (name, input.default)).collect();
        Self { folder, inputs, summary_taken: 0, head: "me/mine" }
    }

    /// With another value of an input.
    pub(crate) fn with(mut self, input: &str, value: &str) -> Self {
        let former = self.inputs.insert(input.to_owned(), value.to_owned());
        assert!(former.is_some(), "{input} is no input");
        self
    }

    /// Where the repository is checked out.
    pub(crate) fn workspace(&self) -> PathBuf {
        self.folder.path().join("workspace")
    }

    /// A folder in front of all others on the PATH.
    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join("path")
    }

    /// Puts a file into the workspace.
    pub(crate) fn with_file(self, name: &str, content: impl AsRef<[u8]>) -> Self {
        let path = self.workspace().join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, content).expect("written");
        self
    }

    pub(crate) fn run(self) -> Run {
        let action: Action = read(&project("action.yml"));
        let mut run = Run {
            outputs: BTreeMap::new(),
            summary: String::new(),
            log: String::new(),
            commands: Vec::new(),
            failed: None,
            used: Vec::new(),
            runner: self,
        };
        let mut known = run.known();
        for (index, step) in action.runs.steps.iter().enumerate() {
            run.take(step, index, &mut known);
        }
        for (name, output) in &action.outputs {
            run.outputs.insert(name.clone(), interpolated(&output.value, &known));
        }
        run
    }
}

impl Run {
    pub(crate) fn output(&self, name: &str) -> &str {
        self.outputs.get(name).unwrap_or_else(|| panic!("{name} is no output"))
    }

    /// The content of the file that an output names.
    pub(crate) fn file(&self, output: &str) -> String {
        fs::read_to_string(self.output(output)).unwrap_or_else(|error| panic!("{output}: {error}"))
    }

    pub(crate) fn workspace(&self) -> PathBuf {
        self.runner.workspace()
    }

    /// The inputs that another action was given.
    pub(crate) fn given(&self, action: &str) -> &BTreeMap<String, String> {
        let found = self.used.iter().find(|(name, _)| name.starts_with(action));
        &found.unwrap_or_else(|| panic!("{action} was not used")).1
    }

    /// The values that expressions can name at the beginning.
    fn known(&self) -> BTreeMap<String, String> {
        let inputs = self.runner.inputs.iter();
        let inputs = inputs.map(|(name, value)| (format!("inputs.{name}"), value.clone()));
        let github = [
            ("github.token", "a token"),
            ("github.action_repository", "OWNER/cachesim"),
            ("github.action_ref", "v0.2.0"),
            ("github.repository", "me/mine"),
            ("github.event.pull_request.number", "7"),
            ("github.event.pull_request.head.repo.full_name", self.runner.head),
        ];
        let github = github.map(|(name, value)| (name.to_owned(), value.to_owned()));
        inputs.chain(github).collect()
    }

    fn take(&mut self, step: &Step, index: usize, known: &mut BTreeMap<String, String>) {
        if !self.is_due(step, known) {
            return;
        }
        let Some(script) = &step.run else {
            let with = |value: &Value| interpolated(value.as_str().expect("a text"), known);
            let with = step.with.iter().map(|(name, value)| (name.clone(), with(value))).collect();
            self.used.push((step.uses.clone().expect("an action"), with));
            return;
        };
        assert_eq!(step.shell.as_deref(), Some("bash"));
        let folder = self.runner.folder.path().join(format!("step-{index}"));
        fs::create_dir(&folder).expect("a folder");
        fs::write(folder.join("script.sh"), script).expect("written");
        fs::write(folder.join("output"), "").expect("written");
        let taken = " ".repeat(self.runner.summary_taken);
        fs::write(folder.join("summary"), &taken).expect("written");

        let mut command = self.command(&folder);
        command.envs(step.env.iter().map(|(name, value)| (name, interpolated(value, known))));
        let output = command.output().expect("bash");
        for log in [text(&output.stdout), text(&output.stderr)] {
            self.commands.extend(commands(&log));
            self.log.push_str(&log);
        }
        if !output.status.success() && self.failed.is_none() {
            self.failed = Some(output.status.code().expect("an exit code"));
        }

        let summary = fs::read_to_string(folder.join("summary")).expect("a summary");
        self.summary.push_str(summary.strip_prefix(&taken).expect("what was there stays"));
        let written = fs::read_to_string(folder.join("output")).expect("outputs");
        for (name, value) in outputs(&written) {
            let id = step.id.as_deref().expect("a step with outputs has an id");
            known.insert(format!("steps.{id}.outputs.{name}"), value);
        }
    }

    /// The command that runs the script of a step, as the documentation gives it for `bash`.
    fn command(&self, folder: &Path) -> Command {
        let runner = self.runner.folder.path();
        let path = std::env::var("PATH").expect("a PATH");
        let mut command = Command::new("bash");
        command
            .args(["--noprofile", "--norc", "-eo", "pipefail"])
            .arg(folder.join("script.sh"))
            .current_dir(self.runner.workspace())
            .env_clear()
            .env("PATH", format!("{}:{path}", self.runner.path().display()))
            .env("HOME", runner)
            .env("LANG", "C.UTF-8")
            .env("CI", "true")
            .env("GITHUB_ACTIONS", "true")
            .env("GITHUB_ACTION_PATH", project(""))
            .env("GITHUB_SERVER_URL", "https://git.example")
            .env("GITHUB_REPOSITORY", "me/mine")
            .env("GITHUB_WORKSPACE", self.runner.workspace())
            .env("GITHUB_OUTPUT", folder.join("output"))
            .env("GITHUB_STEP_SUMMARY", folder.join("summary"))
            .env("RUNNER_OS", "Linux")
            .env("RUNNER_ARCH", "X64")
            .env("RUNNER_TEMP", runner.join("temp"));
        command
    }

    /// Whether a step is run: without `always()` only where none failed before.
    fn is_due(&self, step: &Step, known: &BTreeMap<String, String>) -> bool {
        let condition = step.condition.as_deref().unwrap_or("");
        let mut terms: Vec<&str> = condition.split("&&").map(str::trim).collect();
        terms.retain(|term| !term.is_empty());
        let always = terms.contains(&"always()");
        terms.retain(|term| *term != "always()");
        (always || self.failed.is_none()) && terms.iter().all(|term| holds(term, known))
    }
}

/// Whether a comparison with a literal or another name holds.
fn holds(term: &str, known: &BTreeMap<String, String>) -> bool {
    let (operator, equal) = if term.contains(" == ") { (" == ", true) } else { (" != ", false) };
    let (name, other) = term.split_once(operator).expect("a comparison");
    let literal = other.strip_prefix('\'').and_then(|text| text.strip_suffix('\''));
    // The other side may be a name, too.
    let other = literal.unwrap_or_else(|| resolved(other, known));
    (resolved(name, known) == other) == equal
}

/// The value of a name; that of an output which no step has set is empty.
fn resolved<'a>(name: &str, known: &'a BTreeMap<String, String>) -> &'a str {
    match known.get(name) {
        Some(value) => value,
        None if name.starts_with("steps.") => "",
        None => panic!("{name} is nothing that this runner knows"),
    }
}

/// A text with the values of its expressions.
fn interpolated(text: &str, known: &BTreeMap<String, String>) -> String {
    let mut parts = text.split("${{");
    let mut result = parts.next().expect("a first part").to_owned();
    for part in parts {
        let (name, rest) = part.split_once("}}").expect("an expression that ends");
        result.push_str(resolved(name.trim(), known));
        result.push_str(rest);
    }
    result
}

/// The outputs in a step's file: `name=value`, or `name<<delimiter`, lines, the delimiter.
pub(crate) fn outputs(written: &str) -> Vec<(String, String)> {
    let mut lines = written.lines();
    let mut found = Vec::new();
    while let Some(line) = lines.next() {
        let equals = line.find('=').unwrap_or(usize::MAX);
        match line.find("<<") {
            Some(place) if place < equals => {
                let (name, delimiter) = (&line[..place], &line[place + 2..]);
                let value: Vec<&str> =
                    lines.by_ref().take_while(|line| *line != delimiter).collect();
                found.push((name.to_owned(), value.join("\n")));
            }
            _ => {
                let (name, value) = line.split_once('=').expect("an output");
                found.push((name.to_owned(), value.to_owned()));
            }
        }
    }
    found
}

/// The lines of a log that are commands of a workflow, those between `stop-commands` left out.
fn commands(log: &str) -> Vec<String> {
    let mut stopped: Option<String> = None;
    let mut found = Vec::new();
    for line in log.lines().map(str::trim_start) {
        if let Some(word) = &stopped {
            if line == format!("::{word}::") {
                stopped = None;
            }
        } else if let Some(word) = line.strip_prefix("::stop-commands::") {
            stopped = Some(word.to_owned());
        } else if line.starts_with("::") || line.starts_with("##[") {
            found.push(line.to_owned());
        }
    }
    assert_eq!(stopped, None, "commands are read again behind what was not to be read");
    found
}
