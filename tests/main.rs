//! Tests of the whole program, in one binary so that it is linked once. `CONTRIBUTING.md` says what each folder holds.
//! `growth` and `memory` are programs of their own, because their allocators count.
//!
//! A test notes whatever it lacks; one line at the end counts the notes, and under `CI` each is a failure.

use std::fs;
use std::path::Path;

use walkdir::WalkDir;

mod common;
mod docs;
mod figures;
mod formats;
/// What the fuzz targets check.
#[path = "../fuzz/targets/mod.rs"]
mod fuzz_targets;
mod gate;
mod limits;
mod live;
mod outputs;

use figures::{capture_file, naive}; // `fuzz/targets` has them at the root

/// They run before these tests, so what they lack is counted here.
#[test]
fn growth_and_memory_have_what_they_need() {
    common::has(&["python3", "valgrind"]);
}

/// A test module that nobody declared would silently never run.
#[test]
fn no_test_file_is_forgotten() {
    let tests = common::project("tests");
    let programs = ["main.rs", "growth.rs", "memory.rs"].map(|name| tests.join(name));
    let files = WalkDir::new(&tests).into_iter().map(|entry| entry.expect("an entry").into_path());
    let modules = files.filter(|path| path.extension().is_some_and(|ending| ending == "rs"));
    for module in modules.filter(|path| !programs.contains(path)) {
        assert!(is_declared(&module), "{} is in no module", module.display());
    }
}

/// Whether the file that this one is a module of declares it.
fn is_declared(file: &Path) -> bool {
    let folder = file.parent().expect("a folder");
    let (module, of) = if file.ends_with("mod.rs") {
        (folder, folder.parent().expect("a folder"))
    } else {
        (file, folder)
    };
    let name = module.file_stem().expect("a name").to_string_lossy();
    let declaration = format!("mod {name};");
    let parents = [of.join("main.rs"), of.join("mod.rs"), of.with_extension("rs")];
    let mut parents = parents.iter().filter_map(|parent| fs::read_to_string(parent).ok());
    parents
        .any(|text| text.lines().any(|line| line.trim_start_matches("pub(crate) ") == declaration))
}
