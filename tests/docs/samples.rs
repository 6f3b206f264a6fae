//! The samples in `reports/` are what the program makes of their sessions today.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::{cachesim, project, text};

/// The names of the samples in a folder.
fn samples(folder: &Path) -> BTreeSet<String> {
    let paths = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("one").path());
    let is_sample = |path: &PathBuf| {
        path.extension().is_some_and(|extension| extension == "svg" || extension == "html")
    };
    let name = |path: PathBuf| path.file_name().expect("a name").to_string_lossy().into_owned();
    paths.filter(is_sample).map(name).collect()
}

#[test]
fn the_samples_are_current() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = cachesim().get_program().to_owned();
    let made = Command::new("bash")
        .arg(project("reports/make.sh"))
        .arg(folder.path())
        .env("CACHESIM", program)
        .output()
        .expect("bash runs");
    assert!(made.status.success(), "{}", text(&made.stderr));
    let kept = project("reports");
    let names = samples(folder.path());
    assert_eq!(names.len(), 9, "{names:?}");
    assert_eq!(names, samples(&kept));
    for name in names {
        let (made, kept) = (folder.path().join(&name), kept.join(&name));
        let is_same = fs::read(made).expect("a sample") == fs::read(kept).expect("a sample");
        assert!(is_same, "{name} is not current; reports/make.sh makes it anew");
    }
    let readme = fs::read_to_string(project("reports/README.md")).expect("the README");
    for name in samples(&kept) {
        assert!(readme.contains(&format!("({name})")), "{name} is not in reports/README.md");
    }
}
