//! An output file stands there complete or not at all, whatever goes wrong.

use std::fs;
use std::path::Path;

use crate::common::{cachesim, first_look, names, project, run, skip, stdout, text, utf8};

/// Runs the program, expects that it refuses, and returns what it said.
fn refused(arguments: &[&str]) -> String {
    let output = run(arguments);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    assert!(output.stdout.is_empty(), "{arguments:?}");
    text(&output.stderr)
}

#[test]
fn a_file_has_what_standard_output_would_have() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("rows.csv");
    fs::write(&file, "x".repeat(100_000)).expect("written");
    let arguments = ["analyze", &first_look(), "-q", "--format", "csv"];
    assert_eq!(stdout(&[&arguments[..], &["-o", utf8(&file)]].concat()), "");
    assert_eq!(fs::read_to_string(&file).expect("read"), stdout(&arguments));
    assert_eq!(names(folder.path()), ["rows.csv"]);
}

/// The path is tried before the input, which is missing here.
#[test]
fn bad_paths_fail_before_the_work() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path();
    for output in [path.join("missing/file"), path.to_owned(), path.join("new/")] {
        let error = refused(&["analyze", "no-such-input", "-o", utf8(&output)]);
        assert!(error.contains(&format!("cannot write to {}", output.display())), "{error}");
    }
    let export = format!("json={}", utf8(&path.join("missing/file")));
    let error = refused(&["check", &first_look(), "--export", &export]);
    assert!(error.contains("cannot write to"), "{error}");
    assert!(names(path).is_empty());
}

#[test]
fn an_error_leaves_what_stood_there_and_nothing_new() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path();
    let damaged = path.join("damaged.jsonl");
    let session = fs::read_to_string(first_look()).expect("a fixture");
    fs::write(&damaged, session + "{\"type\":\"user\",").expect("written");
    fs::write(path.join("old"), "old").expect("written");
    for output in ["old", "new"] {
        let output = path.join(output);
        let arguments = ["analyze", utf8(&damaged), "--strict", "-o", utf8(&output)];
        assert_eq!(run(&arguments).status.code(), Some(4));
    }
    assert_eq!(fs::read(path.join("old")).expect("read"), b"old");
    assert_eq!(names(path), ["damaged.jsonl", "old"]);
}

/// Where nobody may write, root included.
#[test]
#[cfg(target_os = "linux")]
fn what_may_not_be_written_fails_before_the_work() {
    let in_a_file = project("Cargo.toml/new");
    for path in ["/proc/new", utf8(&in_a_file)] {
        let error = refused(&["analyze", "no-such-input", "-o", path]);
        assert!(error.contains("cannot write to"), "{error}");
        assert!(!error.contains("no-such-input"), "{error}");
    }
}

#[test]
#[cfg(unix)]
fn a_link_stays_and_its_file_is_replaced() {
    let folder = tempfile::tempdir().expect("a folder");
    let (file, link) = (folder.path().join("file"), folder.path().join("link"));
    fs::write(&file, "old").expect("written");
    std::os::unix::fs::symlink("file", &link).expect("a link");
    stdout(&["analyze", &first_look(), "-o", utf8(&link)]);
    assert!(link.is_symlink());
    assert_eq!(fs::read_to_string(file).expect("read"), stdout(&["analyze", &first_look()]));
}

/// A file that a shell opened as standard output is added to, as the shell asked.
#[test]
#[cfg(target_os = "linux")]
fn streams_by_their_names_are_written_directly() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("log");
    let expected = stdout(&["analyze", &first_look()]);
    for times in 1..=2 {
        let log = fs::OpenOptions::new().create(true).append(true).open(&file).expect("a file");
        let status = std::process::Command::new(env!("CARGO_BIN_EXE_cachesim"))
            .args(["analyze", &first_look(), "-o", "/dev/stdout"])
            .env("CACHESIM_NO_CONFIG", "1")
            .stdout(log)
            .status()
            .expect("the program runs");
        assert!(status.success());
        assert_eq!(fs::read_to_string(&file).expect("read"), expected.repeat(times));
    }
    stdout(&["analyze", &first_look(), "-o", "/dev/null"]);
    assert!(!Path::new("/dev/null").is_file(), "a device is not replaced");
    assert_eq!(names(folder.path()), ["log"]);
}

#[test]
#[cfg(unix)]
fn pipes_are_written_directly() {
    let folder = tempfile::tempdir().expect("a folder");
    let pipe = folder.path().join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    if !made.is_ok_and(|status| status.success()) {
        return skip("mkfifo");
    }
    let reader = std::thread::spawn({
        let pipe = pipe.clone();
        move || fs::read_to_string(pipe).expect("read")
    });
    stdout(&["analyze", &first_look(), "-o", utf8(&pipe)]);
    assert_eq!(reader.join().expect("read"), stdout(&["analyze", &first_look()]));
    assert_eq!(names(folder.path()), ["pipe"]);
}

/// Two outputs of one file that is not there yet, however it is spelled.
#[test]
fn an_output_is_given_once() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::create_dir(folder.path().join("sub")).expect("a folder");
    let twice = |arguments: &[&str]| {
        let session = first_look();
        let all = [&["check", session.as_str(), "-q"], arguments].concat();
        let output = cachesim().args(&all).current_dir(folder.path()).output().expect("it runs");
        (output.status.code(), text(&output.stderr))
    };
    for arguments in [
        ["--export", "json=one", "--export", "junit=./one"],
        ["--export", "json=one", "--export", "junit=sub/../one"],
        ["-o", "one", "--export", "junit=one"],
    ] {
        let (code, error) = twice(&arguments);
        assert_eq!(code, Some(2), "{arguments:?}: {error}");
        assert!(error.contains("one is an output already"), "{error}");
        assert_eq!(names(folder.path()), ["sub"]);
    }
    let (code, error) = twice(&["--export", "json=one", "--export", "junit=two"]);
    assert!(code.is_some_and(|code| code < 2), "{error}");
    assert_eq!(names(folder.path()), ["one", "sub", "two"]);
}

#[test]
fn files_of_a_folder_are_replaced_whole() {
    let folder = tempfile::tempdir().expect("a folder");
    let page = folder.path().join("cachesim.1");
    fs::write(&page, "x".repeat(1_000_000)).expect("written");
    stdout(&["man", "--all", utf8(folder.path())]);
    assert_eq!(fs::read_to_string(&page).expect("read"), stdout(&["man"]));
    assert!(names(folder.path()).iter().all(|name| name.ends_with(".1")));
    let blocked = tempfile::tempdir().expect("a folder");
    fs::create_dir(blocked.path().join("cachesim.1")).expect("a folder");
    let error = refused(&["man", "--all", utf8(blocked.path())]);
    assert!(error.contains("cachesim.1"), "{error}");
}
