//! A folder in which the commands of a page are run: the project's files as links, a home with sessions, and the program
//! on the PATH.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

use crate::common::{cachesim, project, transcripts};
use crate::gate::action::script;

/// What a page may name of the project.
const LINKED: [&str; 6] = ["docs", "fixtures", "integrations", "reports", "schemas", "strategies"];

pub(super) struct Sandbox {
    folder: TempDir,
    /// Whether the collections of the reference data are there.
    has_corpus: bool,
}

impl Sandbox {
    pub(super) fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let inside = |name: &str| folder.path().join(name);
        for name in ["bin", "project", "home/.claude/projects/-home-me-shop"] {
            fs::create_dir_all(inside(name)).expect("a folder");
        }
        for name in LINKED {
            symlink(project(name), inside("project").join(name)).expect("a link");
        }
        symlink(cachesim().get_program(), inside("bin/cachesim")).expect("a link");
        // A newcomer has no program yet: Cargo builds and runs it, and tests it.
        let cargo = "#!/bin/bash\n[[ $1 == run ]] || exit 0\nwhile [[ $1 != -- ]]; do shift; done\nshift\nexec cachesim \"$@\"\n";
        script(&inside("bin"), "cargo", cargo);
        // Two people's sessions, and the collections of the reference data, where they are.
        for (name, fixture) in [("ann", "context-kinds"), ("ben", "captured-clock")] {
            let folder = inside("project/sessions").join(name);
            fs::create_dir_all(&folder).expect("a folder");
            let session = project("fixtures").join(fixture).join("session.jsonl");
            fs::copy(session, folder.join("session.jsonl")).expect("a session");
        }
        fs::write(inside("project/domains.tsv"), "ann\tann\nben\tben\n").expect("written");
        let collections = ["corpus", "corpus-b"].map(|name| (name, transcripts(name)));
        let has_corpus = collections.iter().all(|(_, folder)| folder.is_some());
        for (name, folder) in collections.into_iter().filter_map(|(name, one)| Some((name, one?))) {
            symlink(folder, inside("project").join(name)).expect("a link");
        }
        let session = project("fixtures/first-look/session.jsonl");
        fs::copy(session, inside("home/.claude/projects/-home-me-shop/session.jsonl"))
            .expect("a session");
        Self { folder, has_corpus }
    }

    /// Whether what a line of bash names is there.
    pub(super) fn has_inputs_of(&self, line: &str) -> bool {
        self.has_corpus || !line.contains(" corpus")
    }

    /// Runs a line of bash.
    pub(super) fn run(&self, line: &str) -> Output {
        let inside = |name: &str| self.folder.path().join(name);
        let path = std::env::var("PATH").expect("a PATH");
        Command::new("bash")
            .args(["-c", line])
            .current_dir(inside("project"))
            .env_clear()
            .env("PATH", format!("{}:{path}", inside("bin").display()))
            .env("HOME", inside("home"))
            .env("LANG", "C.UTF-8")
            .env("COLUMNS", "100")
            .env("SOURCE_DATE_EPOCH", "1796083200")
            .stdin(Stdio::null())
            .output()
            .expect("bash runs")
    }
}
