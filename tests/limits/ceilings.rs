//! Code lines and crates stay below `benches/limits.toml`. A workflow counts the rest every week, in a clone
//! (`benches/clone.py`).

use std::process::Command;

use crate::common::{has, project, text};

#[test]
fn nothing_is_more_than_its_limit() {
    if !has(&["python3"]) {
        return;
    }
    let output = Command::new("python3").arg(project("benches/limits.py")).output();
    let output = output.expect("python3 runs");
    let told = text(&output.stdout);
    assert!(output.status.success(), "{told}{}", text(&output.stderr));
    assert_eq!(told.lines().count(), 2, "{told}");
}
