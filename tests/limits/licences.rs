//! The licences of everything that the program and its tests are built of.

use std::fs;
use std::process::Command;

use serde_json::Value;

use crate::common::{packages, project, skip, text};

/// Each lets the program be used and passed on as it is. `.ci/deny.toml` has the same list.
const ALLOWED: [&str; 9] = [
    "Apache-2.0",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "CC0-1.0",
    "ISC",
    "MIT",
    "MIT-0",
    "Unicode-3.0",
    "Zlib",
];

/// Whether one of the choices that a licence gives has only allowed parts. `/` is an old way to write
/// `OR`; parentheses stand around choices, of which each part then needs one.
fn is_allowed(licence: &str) -> bool {
    let licence = licence.replace('/', " OR ");
    if let Some((first, rest)) =
        licence.strip_prefix('(').and_then(|rest| rest.split_once(") AND "))
    {
        return is_allowed(first) && is_allowed(rest);
    }
    if let Some((rest, last)) = licence.strip_suffix(')').and_then(|rest| rest.split_once(" AND ("))
    {
        return is_allowed(rest) && is_allowed(last);
    }
    let is_known = |part: &str| ALLOWED.contains(&part.trim());
    licence.split(" OR ").any(|choice| choice.split(" AND ").all(is_known))
}

#[test]
fn choices_and_parts_are_told_apart() {
    for allowed in [
        "MIT",
        "MIT/Apache-2.0",
        "GPL-3.0 OR MIT",
        "(MIT OR GPL-2.0) AND Unicode-3.0",
        "Zlib AND (MIT OR X)",
    ] {
        assert!(is_allowed(allowed), "{allowed}");
    }
    for refused in
        ["", "GPL-3.0", "MIT AND GPL-3.0", "(GPL-2.0 OR GPL-3.0) AND MIT", "MIT WITH a wish"]
    {
        assert!(!is_allowed(refused), "{refused}");
    }
}

#[test]
fn every_dependency_has_an_allowed_licence() {
    let Some(packages) = packages() else { return };
    assert!(packages.len() > 100, "{}", packages.len());
    let refused: Vec<String> = packages
        .iter()
        .filter(|package| !package["license"].as_str().is_some_and(is_allowed))
        .map(|package| format!("{}: {}", package["name"], package["license"]))
        .collect();
    assert!(refused.is_empty(), "{refused:?}");
    let foreign: Vec<&Value> = packages
        .iter()
        .filter(|package| !package["source"].is_null())
        .filter(|package| {
            !package["source"].as_str().is_some_and(|source| source.starts_with("registry+"))
        })
        .collect();
    assert!(foreign.is_empty(), "{foreign:?}");
}

/// `packaging/third_party.py` lists what is linked, with holders and texts.
#[test]
fn the_list_of_libraries_is_current() {
    if packages().is_none() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let made = folder.path().join("THIRD_PARTY.md");
    let mut list = Command::new("python3");
    list.arg("-B").arg(project("packaging/third_party.py")).arg(&made);
    let Ok(output) = list.output() else {
        return skip("python3");
    };
    assert!(output.status.success(), "{}", text(&output.stderr));
    let kept = fs::read_to_string(project("THIRD_PARTY.md")).expect("the list");
    let is_same = fs::read_to_string(made).expect("a list") == kept;
    assert!(is_same, "THIRD_PARTY.md is not current; packaging/third_party.py makes it anew");
}
