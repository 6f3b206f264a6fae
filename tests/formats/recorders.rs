//! `integrations/recorders/`: each records requests to a mock of the service, and what it recorded is read. Tests of a
//! tiny agent fail where its prefix moves.

use std::process::Command;

use crate::common::{cachesim, project, skip, text};

/// Those that are run with every change. `integrations/recorders/test/test.py` without names runs others, too, whose
/// libraries are large.
const RECORDERS: [&str; 7] =
    ["python", "python-async", "pytest", "typescript", "vitest", "mitmproxy", "raw"];

#[test]
fn what_is_recorded_is_what_was_sent_and_billed() {
    let mut tests = Command::new("python3");
    tests
        .args(["-B", "test.py"])
        .args(RECORDERS)
        .current_dir(project("integrations/recorders/test"))
        .env_remove("CI") // what is missing is counted here
        .env("CACHESIM", cachesim().get_program())
        .env("RECORDERS_ENV", project("target/recorders"));
    let Ok(output) = tests.output() else {
        return skip("python3");
    };
    let said = text(&output.stdout);
    assert!(output.status.success(), "{said}");
    if said.contains("skipped: ") {
        println!("{said}");
        skip("libraries of recorders");
    }
}
