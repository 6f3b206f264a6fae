//! Every command that writes, under faults: a full disk, a folder that takes nothing, a kill at each
//! write and at the move, two runs at once, closed pipes, interruptions. The old file stands there whole or
//! the new one does, no temporary file is left that the next run trips over, and the exit code is right.
//! `TEST_EVERY_CALL=1` lets every call of the system fail once, of which tests otherwise try some.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::Duration;

use rayon::prelude::*;
use tempfile::TempDir;

use crate::common::{is_thorough, names, project, signal, skip, text, utf8};

const PROGRAM: &str = env!("CARGO_BIN_EXE_cachesim");

/// A command that writes one file: its arguments, `OUT` for the file.
const WRITERS: [&[&str]; 23] = [
    &["analyze", "SESSION", "-o", "OUT"],
    &["analyze", "SESSION", "--format", "csv", "-o", "OUT"],
    &["analyze", "SESSION", "--format", "jsonl", "-o", "OUT"],
    &["advise", "SESSION", "-o", "OUT"],
    &["compare", "SESSION", "--format", "json", "-o", "OUT"],
    &["breaks", "SESSION", "-o", "OUT"],
    &["explain", "req_A", "SESSION", "-o", "OUT"],
    &["context", "SESSION", "-o", "OUT"],
    &["blocks", "SESSION", "-o", "OUT"],
    &["chart", "turns", "SESSION", "--format", "svg", "-o", "OUT"],
    &["chart", "turns", "SESSION", "--format", "png", "-o", "OUT"],
    &["report", "SESSION", "-o", "OUT"],
    &["verify", "SESSION", "-o", "OUT"],
    &["check", "SESSION", "-o", "OUT"],
    &["check", "SESSION", "--export", "report=OUT"],
    &["place", "BUNDLES", "-o", "OUT"],
    &["lint", "CAPTURE", "-o", "OUT"],
    &["redact", "SESSION", "-o", "OUT"],
    &["fork", "--parent", "150000", "--children", "8", "-o", "OUT"],
    &["strategies", "-o", "OUT"],
    &["prices", "list", "-o", "OUT"],
    &["schema", "report", "-o", "OUT"],
    &["man", "-o", "OUT"],
];

/// Commands that write a folder, `OUT` for it.
const FOLDER_WRITERS: [&[&str]; 3] = [
    &["redact", "SESSION", "CAPTURE", "-o", "OUT"],
    &["schema", "--all", "OUT"],
    &["man", "--all", "OUT"],
];

/// The arguments with paths in place of words.
fn arguments(writer: &[&str], out: &Path) -> Vec<String> {
    let fixture =
        |name: &str| utf8(&project("fixtures").join(name).join("session.jsonl")).to_owned();
    let path = |word: &&str| match *word {
        "SESSION" => fixture("first-look"),
        "BUNDLES" => fixture("place-cache-edits"),
        "CAPTURE" => fixture("captured-clock"),
        word => word.replace("OUT", utf8(out)),
    };
    writer.iter().map(path).collect()
}

/// A command around the program, in an environment that holds nothing of the user's.
fn around(program: &str, before: &[&str]) -> Command {
    let mut command = Command::new(program);
    let path = std::env::var_os("PATH").unwrap_or_default();
    command.args(before).env_clear().env("PATH", path).env("CACHESIM_NO_CONFIG", "1");
    command.env("HOME", "/nonexistent");
    command
}

fn run(arguments: &[String]) -> Output {
    around(PROGRAM, &[]).args(arguments).output().expect("the program runs")
}

/// A folder with an old output, and what a run without faults makes of it.
struct Place {
    folder: TempDir,
    out: PathBuf,
    arguments: Vec<String>,
    new: Vec<u8>,
}

const OLD: &[u8] = b"old";

impl Place {
    fn new(writer: &[&str]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let out = folder.path().join("out");
        let arguments = arguments(writer, &out);
        let output = run(&arguments);
        let error = text(&output.stderr);
        assert!(output.status.code().is_some_and(|code| code < 2), "{arguments:?}: {error}");
        let new = fs::read(&out).expect("an output");
        assert_ne!(new, OLD);
        fs::write(&out, OLD).expect("written");
        Self { folder, out, arguments, new }
    }

    fn names(&self) -> Vec<String> {
        names(self.folder.path())
    }

    /// The old content is there and nothing else.
    fn is_untouched(&self, why: &str) {
        let found = fs::read(&self.out).expect("an output");
        assert_eq!(found, OLD, "{why}: {:?}", self.arguments);
        assert_eq!(self.names(), ["out"], "{why}: {:?}", self.arguments);
    }

    /// The next run succeeds and leaves nothing else.
    fn goes_on(&self, why: &str) {
        let output = run(&self.arguments);
        let error = text(&output.stderr);
        assert!(output.status.code().is_some_and(|code| code < 2), "{why}: {error}");
        assert!(fs::read(&self.out).expect("an output") == self.new, "{why}: {:?}", self.arguments);
        assert_eq!(self.names(), ["out"], "{why}: {:?}", self.arguments);
        fs::write(&self.out, OLD).expect("written");
    }
}

/// `/dev/full` fails each write with "no space left", as the output file and as standard output.
#[test]
#[cfg(target_os = "linux")]
fn a_full_device_is_an_error() {
    for writer in WRITERS {
        let arguments = arguments(writer, Path::new("/dev/full"));
        let output = run(&arguments);
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {error}");
        assert!(
            error.contains("cannot write to /dev/full: No space left"),
            "{arguments:?}: {error}"
        );
        let Some(at) = arguments.iter().position(|one| one == "-o") else { continue };
        let full = fs::OpenOptions::new().write(true).open("/dev/full").expect("a device");
        let mut command = around(PROGRAM, &[]);
        let output = command.args(&arguments[..at]).args(["-o", "-"]).stdout(full).output();
        let output = output.expect("the program runs");
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {error}");
        assert!(error.contains("cannot write: No space left"), "{arguments:?}: {error}");
    }
}

/// A disk that takes no byte: the limit of a file's size, whose signal the program outlives.
#[test]
fn a_full_disk_leaves_the_old_file() {
    for writer in WRITERS {
        let place = Place::new(writer);
        let limited = ["-c", "ulimit -f 0; exec \"$0\" \"$@\"", PROGRAM];
        let output = around("sh", &limited).args(&place.arguments).output().expect("it runs");
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{:?}: {error}", place.arguments);
        let named = format!("cannot write to {}: File too large", place.out.display());
        assert!(error.contains(&named), "{:?}: {error}", place.arguments);
        place.is_untouched("a full disk");
        place.goes_on("after a full disk");
    }
}

/// Of several files each is there whole or not at all.
#[test]
fn a_full_disk_leaves_no_half_of_a_folder() {
    for writer in FOLDER_WRITERS {
        let folder = tempfile::tempdir().expect("a folder");
        let (whole, cut) = (folder.path().join("whole"), folder.path().join("cut"));
        let all = arguments(writer, &whole);
        assert!(run(&all).status.success(), "{all:?}");
        let some = arguments(writer, &cut);
        let limited = ["-c", "ulimit -f 8; exec \"$0\" \"$@\"", PROGRAM];
        let output = around("sh", &limited).args(&some).output().expect("it runs");
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{some:?}: {error}");
        assert!(error.contains("File too large"), "{some:?}: {error}");
        let found = files(&cut);
        assert!(found.len() < files(&whole).len(), "{some:?}");
        for (name, bytes) in found {
            assert!(
                fs::read(whole.join(&name)).expect("the same name") == bytes,
                "{some:?}: {name:?}"
            );
        }
    }
}

/// Every file below a folder, by its relative path.
fn files(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(here) = folders.pop() {
        for name in names(&here) {
            let path = here.join(name);
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(folder).expect("below it").to_owned();
                found.push((name, fs::read(path).expect("a file")));
            }
        }
    }
    found
}

/// A folder in which nothing can be made, whoever asks.
#[test]
#[cfg(target_os = "linux")]
fn a_folder_that_takes_nothing_is_an_error() {
    for writer in WRITERS {
        for out in ["/proc/new", "/nonexistent/new"] {
            let arguments = arguments(writer, Path::new(out));
            // A redaction makes the folders that it lacks.
            if arguments[0] == "redact" && out.starts_with("/nonexistent") {
                continue;
            }
            let output = run(&arguments);
            let error = text(&output.stderr);
            assert_eq!(output.status.code(), Some(2), "{arguments:?}: {error}");
            let named = format!("cannot write to {out}: ");
            assert!(error.contains(&named), "{arguments:?}: {error}");
            assert!(output.stdout.is_empty(), "{arguments:?}");
        }
    }
    for writer in FOLDER_WRITERS {
        let output = run(&arguments(writer, Path::new("/proc/new")));
        assert_eq!(output.status.code(), Some(2), "{writer:?}: {}", text(&output.stderr));
    }
}

/// Whether calls of the system can be made to fail here.
fn has_strace() -> bool {
    let tried = Command::new("strace").args(["-o", "/dev/null", "true"]).output();
    let has = tried.is_ok_and(|output| output.status.success());
    if !has {
        skip("strace");
    }
    has
}

/// Runs the program and kills it at a call of the system. Says whether it was killed.
fn killed_at(place: &Place, calls: &str, number: usize) -> bool {
    let trace = format!("trace={calls}");
    let inject = format!("inject={calls}:signal=KILL:when={number}");
    let before = ["-f", "-qq", "-o", "/dev/null", "-e", &trace, "-e", &inject, PROGRAM];
    let mut child = around("strace", &before)
        .args(&place.arguments)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("strace runs");
    let status = child.wait().expect("it ends");
    let killed = status.signal() == Some(9);
    assert!(killed || status.code().is_some_and(|code| code < 2), "{status:?}");
    killed
}

/// Runs the program with calls of the system that fail: `number`, counted for each thread, or all of them.
fn failed_at(place: &Place, calls: &str, error: &str, number: Option<usize>) -> Output {
    let when = number.map_or_else(String::new, |number| format!(":when={number}"));
    let inject = format!("inject={calls}:error={error}{when}");
    let before = ["-f", "-qq", "-o", "/dev/null", "-e", &inject, PROGRAM];
    around("strace", &before).args(&place.arguments).output().expect("strace runs")
}

/// Which of the files that a thread opens are opened in the output's folder to be written, each counted in its
/// thread.
fn written_openings(place: &Place) -> Vec<usize> {
    let log = tempfile::NamedTempFile::new().expect("a file");
    let before = ["-f", "-qq", "-e", "trace=openat", "-o", utf8(log.path()), PROGRAM];
    let output = around("strace", &before).args(&place.arguments).output().expect("strace runs");
    assert!(output.status.code().is_some_and(|code| code < 2), "{}", text(&output.stderr));
    fs::write(&place.out, OLD).expect("written");
    let log = fs::read_to_string(log.path()).expect("a log");
    let folder = format!("\"{}/", utf8(place.folder.path()));
    let mut opened: BTreeMap<&str, usize> = BTreeMap::new();
    let mut written = Vec::new();
    for line in log.lines().filter(|line| line.contains("openat(")) {
        let thread = line.split_whitespace().next().expect("a thread");
        let number = opened.entry(thread).or_default();
        *number += 1;
        let is_written = line.contains("O_WRONLY") || line.contains("O_RDWR");
        written.extend((is_written && line.contains(&folder)).then_some(*number));
    }
    written
}

/// A file system that is read only from the time on when the output is looked at, made, or moved to its place.
#[test]
#[cfg(target_os = "linux")]
fn a_read_only_file_system_is_an_error() {
    if !is_thorough() {
        return;
    }
    if !has_strace() {
        return;
    }
    for writer in WRITERS {
        let place = Place::new(writer);
        let openings = written_openings(&place);
        assert!(!openings.is_empty(), "{writer:?}");
        let openings = openings.into_iter().map(|number| ("openat", Some(number)));
        for (calls, number) in openings.chain([("rename,renameat,renameat2", None)]) {
            let output = failed_at(&place, calls, "EROFS", number);
            let error = text(&output.stderr);
            assert_eq!(output.status.code(), Some(2), "{:?}: {calls}: {error}", place.arguments);
            // The system's words, or the standard library's for the kind of error.
            let named = format!("cannot write to {}: read-only file", place.out.display());
            let is_named = error.replace(": Read-only", ": read-only").contains(&named);
            assert!(is_named, "{:?}: {calls}: {error}", place.arguments);
            place.is_untouched("a read-only file system");
        }
        place.goes_on("after a read-only file system");
    }
}

/// No more writes of a run than this are tried, one by one.
const MOST_WRITES: usize = 6;

#[test]
#[cfg(target_os = "linux")]
fn a_kill_leaves_the_old_file_or_the_new_one() {
    if !is_thorough() {
        return;
    }
    if !has_strace() {
        return;
    }
    for writer in WRITERS {
        let place = Place::new(writer);
        let mut kills = 0;
        for (calls, most) in [("write", MOST_WRITES), ("rename,renameat,renameat2", 2)] {
            for number in 1..=most {
                if !killed_at(&place, calls, number) {
                    break;
                }
                kills += 1;
                let found = fs::read(&place.out).expect("an output");
                let why = format!("killed at {calls} {number}");
                assert!(found == OLD || found == place.new, "{why}: {:?}", place.arguments);
                place.goes_on(&why);
            }
            fs::write(&place.out, OLD).expect("written");
        }
        assert!(kills >= 2, "{:?}: {kills}", place.arguments);
    }
}

/// What a killed run left in the folder of a redaction is not in the way of the next one.
#[test]
fn an_abandoned_file_is_no_content() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join(".cachesim-abandoned.tmp"), "half").expect("written");
    let output = run(&arguments(&["redact", "SESSION", "-o", "OUT"], folder.path()));
    assert!(output.status.success(), "{}", text(&output.stderr));
    let left = names(folder.path());
    assert!(left.len() == 1 && !left[0].starts_with(".cachesim-"), "{left:?}");
}

#[test]
fn two_runs_at_once_leave_one_of_both_outputs() {
    let formats = ["csv", "jsonl"];
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("out");
    let with = |format| arguments(&["analyze", "SESSION", "--format", format, "-o", "OUT"], &out);
    let outputs = formats.map(|format| {
        assert!(run(&with(format)).status.success());
        fs::read(&out).expect("an output")
    });
    for _ in 0..10 {
        let runs = formats.map(|format| {
            let mut command = around(PROGRAM, &[]);
            command.args(with(format)).stderr(Stdio::piped()).spawn().expect("it runs")
        });
        for one in runs {
            let output = one.wait_with_output().expect("it ends");
            assert!(output.status.success(), "{}", text(&output.stderr));
        }
        assert!(outputs.contains(&fs::read(&out).expect("an output")));
        assert_eq!(names(folder.path()), ["out"]);
    }
}

/// A reader that goes, as `head` does, is no error; neither are streams that were never open.
#[test]
fn closed_streams_are_no_errors() {
    for writer in WRITERS {
        let all = arguments(writer, Path::new("-"));
        if all.iter().any(|one| one.starts_with("report=")) {
            continue;
        }
        let mut child = around(PROGRAM, &[])
            .args(&all)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program runs");
        drop(child.stdout.take());
        let output = child.wait_with_output().expect("it ends");
        let error = text(&output.stderr);
        assert!(output.status.code().is_some_and(|code| code < 2), "{all:?}: {error}");
        assert!(!error.contains("pipe") && !error.contains("panicked"), "{all:?}: {error}");
        for redirection in [">&-", "2>&-", ">&- 2>&-"] {
            let script = format!("exec \"$0\" \"$@\" {redirection}");
            let output = around("sh", &["-c", &script, PROGRAM]).args(&all).output();
            let status = output.expect("it runs").status;
            assert!(
                status.code().is_some_and(|code| code < 2),
                "{all:?} {redirection}: {status:?}"
            );
        }
    }
}

/// A pipe by its name whose reader goes.
#[test]
fn a_closed_pipe_with_a_name_is_no_error() {
    let folder = tempfile::tempdir().expect("a folder");
    let pipe = folder.path().join("pipe");
    if !Command::new("mkfifo").arg(&pipe).status().is_ok_and(|status| status.success()) {
        return skip("mkfifo");
    }
    let reader = thread::spawn({
        let pipe = pipe.clone();
        move || fs::File::open(pipe).and_then(|mut pipe| pipe.read(&mut [0; 1])).expect("read")
    });
    // More than a pipe holds, so that some is written when the reader has gone.
    let output = run(&arguments(&["report", "SESSION", "-o", "OUT"], &pipe));
    assert_eq!(reader.join().expect("read"), 1);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
}

/// A run that has opened its output and waits for input that does not come.
struct Waiting {
    folder: TempDir,
    child: Child,
}

impl Waiting {
    /// `None`, noted, where no pipe can be made.
    fn start(before: &str, writer: &[&str]) -> Option<Self> {
        let folder = tempfile::tempdir().expect("a folder");
        let (out, input) = (folder.path().join("out"), folder.path().join("input.jsonl"));
        if !Command::new("mkfifo").arg(&input).status().is_ok_and(|status| status.success()) {
            skip("mkfifo");
            return None;
        }
        fs::write(&out, OLD).expect("written");
        let mut all = arguments(writer, &out);
        all.iter_mut().filter(|one| *one == "INPUT").for_each(|one| utf8(&input).clone_into(one));
        let script = format!("{before} exec \"$0\" \"$@\"");
        let mut command = around("sh", &["-c", &script, PROGRAM]);
        let child = command.args(all).stderr(Stdio::null()).stdout(Stdio::null()).spawn();
        let waiting = Self { folder, child: child.expect("it runs") };
        // A guard against hanging, not a measure.
        for _ in 0..6_000 {
            if waiting.has_temporary() {
                return Some(waiting);
            }
            thread::sleep(Duration::from_millis(10));
        }
        panic!("{writer:?}: no output was opened");
    }

    fn has_temporary(&self) -> bool {
        names(self.folder.path()).iter().any(|name| name.starts_with(".cachesim-"))
    }

    fn signal(&self, name: &str) {
        signal(name, &self.child.id().to_string());
    }
}

/// A command that opens its output before it reads.
const WAITING_WRITERS: [&[&str]; 4] = [
    &["analyze", "INPUT", "-o", "OUT"],
    &["report", "INPUT", "-o", "OUT"],
    &["check", "INPUT", "--export", "json=OUT"],
    &["place", "INPUT", "-o", "OUT"],
];

#[test]
fn an_interruption_leaves_nothing_behind() {
    for writer in WAITING_WRITERS {
        for (name, number) in [("INT", 2), ("TERM", 15), ("HUP", 1)] {
            let Some(mut waiting) = Waiting::start("", writer) else { return };
            waiting.signal(name);
            let status = waiting.child.wait().expect("it ends");
            assert_eq!(status.signal(), Some(number), "{writer:?}: {status:?}");
            assert_eq!(names(waiting.folder.path()), ["input.jsonl", "out"], "{writer:?} {name}");
            assert_eq!(fs::read(waiting.folder.path().join("out")).expect("read"), OLD);
        }
    }
}

/// As under `nohup`.
#[test]
#[cfg(target_os = "linux")]
fn a_signal_that_is_ignored_stays_so() {
    let Some(mut waiting) = Waiting::start("trap '' HUP;", WAITING_WRITERS[0]) else { return };
    waiting.signal("HUP");
    // The input comes only now.
    let session = project("fixtures/first-look/session.jsonl");
    fs::copy(session, waiting.folder.path().join("input.jsonl")).expect("written");
    assert!(waiting.child.wait().expect("it ends").success());
    assert_ne!(fs::read(waiting.folder.path().join("out")).expect("read"), OLD);
}

/// A run that is at work keeps its temporary file, whoever else writes there.
#[test]
fn the_file_of_a_run_at_work_is_not_abandoned() {
    let Some(mut waiting) = Waiting::start("", WAITING_WRITERS[0]) else { return };
    let other = waiting.folder.path().join("other");
    assert!(run(&arguments(&["analyze", "SESSION", "-o", "OUT"], &other)).status.success());
    assert!(waiting.has_temporary());
    waiting.signal("KILL");
    assert_eq!(waiting.child.wait().expect("it ends").signal(), Some(9));
    assert!(waiting.has_temporary(), "nobody can remove it now");
    assert!(run(&arguments(&["analyze", "SESSION", "-o", "OUT"], &other)).status.success());
    assert_eq!(names(waiting.folder.path()), ["input.jsonl", "other", "out"]);
}

/// Where no thread can be started, work is done without one or refused.
#[test]
#[cfg(target_os = "linux")]
fn a_lack_of_threads_is_no_bug() {
    if !has_strace() {
        return;
    }
    let session = utf8(&project("fixtures/first-look/session.jsonl")).to_owned();
    let commands: [&[&str]; 8] = [
        &["tokens", &session],
        &["sources"],
        &["config", "show"],
        &["prices", "list"],
        &["analyze", &session],
        &["lint", &session],
        &["check", &session],
        &["strategies"],
    ];
    for command in commands {
        let inject =
            ["-f", "-qq", "-o", "/dev/null", "-e", "inject=clone,clone3:error=EAGAIN", PROGRAM];
        let output = around("strace", &inject).args(command).output().expect("strace runs");
        let code = output.status.code();
        assert!(code.is_some_and(|code| code < 70), "{command:?}: {}", text(&output.stderr));
    }
}

/// Where the system reports no changes, `watch` looks for them itself.
#[test]
#[cfg(all(target_os = "linux", feature = "watch"))]
fn a_watch_that_cannot_listen_is_no_bug() {
    if !has_strace() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let session = project("fixtures/first-look/session.jsonl");
    fs::copy(session, folder.path().join("session.jsonl")).expect("a copy");
    for fault in [
        "inotify_init1:error=EIO",
        "inotify_add_watch:error=ENOSPC",
        "inotify_add_watch:error=EINTR",
        "epoll_create1:error=EIO",
        "epoll_ctl:error=ENOSPC",
        "epoll_wait:error=EIO",
    ] {
        let inject = format!("inject={fault}");
        let before = ["-f", "-qq", "-o", "/dev/null", "-e", &inject, PROGRAM];
        let mut watch = around("strace", &before);
        watch.args(["watch", "--once", "--jsonl"]).arg(folder.path());
        let output = watch.output().expect("strace runs");
        assert!(output.status.success(), "{fault}: {}", text(&output.stderr));
    }
}

/// Commands beside the writers whose calls of the system fail one by one; `OUT` is a settings file, too.
const OTHERS: [&[&str]; 10] = [
    &["tokens", "SESSION"],
    &["sources"],
    &["config", "show"],
    &["init", "SESSION", "--dry-run"],
    &["statusline", "--transcript", "SESSION"],
    &["statusline", "--install", "--yes", "--settings", "OUT"],
    &["hook", "--install", "--yes", "--settings", "OUT"],
    &["check", "SESSION", "--save-baseline", "OUT"],
    &["fleet", "domains", "SESSION"],
    &["watch", "--once", "--jsonl", "SESSION"],
];

/// Calls of the standard library and the libraries of signals and memory, which take no error of these.
#[cfg(target_os = "linux")]
const NOT_OURS: [&str; 15] = [
    "arch_prctl",
    "brk",
    "execve",
    "exit",
    "exit_group",
    "futex",
    "getrandom",
    "madvise",
    "mmap",
    "mprotect",
    "munmap",
    "poll",
    "recvfrom",
    "rt_sigaction",
    "rt_sigreturn",
];

/// Runs a command in a folder of its own, whose `out` is a settings file. Returns what it says, and the file.
#[cfg(target_os = "linux")]
fn alone(command: &[&str], before: &[&str]) -> (Output, Vec<u8>) {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("out");
    fs::write(&out, "{}").expect("written");
    let mut program = around("timeout", &["--signal", "KILL", "60", "strace", "-f", "-qq"]);
    program.args(before).arg(PROGRAM).args(arguments(command, &out)).stdin(Stdio::null());
    program.env("HOME", folder.path().join("home"));
    fs::create_dir(folder.path().join("home")).expect("a folder");
    let output = program.output().expect("strace runs");
    (output, fs::read(out).expect("a file"))
}

/// Calls of the system that a command makes, with the largest number of a thread.
#[cfg(target_os = "linux")]
fn calls_of(command: &[&str]) -> (BTreeMap<String, usize>, Vec<u8>) {
    let log = tempfile::NamedTempFile::new().expect("a file");
    let (_, out) = alone(command, &["-o", utf8(log.path())]);
    let mut counted: BTreeMap<(String, String), usize> = BTreeMap::new();
    for line in fs::read_to_string(log.path()).expect("a log").lines() {
        let words = line.split_once(' ').map(|(thread, rest)| (thread, rest.trim_start()));
        let Some((thread, rest)) = words else { continue };
        let Some((call, _)) = rest.split_once('(') else { continue };
        if call.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
            *counted.entry((call.to_owned(), thread.to_owned())).or_default() += 1;
        }
    }
    let mut calls = BTreeMap::new();
    for ((call, _), count) in counted {
        let most: &mut usize = calls.entry(call).or_default();
        *most = count.max(*most);
    }
    (calls, out)
}

/// Whatever call fails, the run ends with a code that is documented, and settings are whole.
#[test]
#[cfg(target_os = "linux")]
fn a_call_that_fails_is_no_bug() {
    if !is_thorough() || !has_strace() {
        return;
    }
    let commands: Vec<&[&str]> = WRITERS.into_iter().chain(OTHERS).collect();
    let tries: Vec<(&[&str], Vec<u8>, String, usize)> = commands
        .par_iter()
        .flat_map_iter(|command| {
            let (calls, new) = calls_of(command);
            let calls = calls.into_iter().filter(|(call, _)| !NOT_OURS.contains(&call.as_str()));
            let numbered = calls.flat_map(|(call, count)| {
                (1..=count.min(40)).map(move |number| (call.clone(), number))
            });
            let tried = |(call, number)| (*command, new.clone(), call, number);
            numbered.map(tried).collect::<Vec<_>>()
        })
        .collect();
    let step = if std::env::var_os("TEST_EVERY_CALL").is_some() { 1 } else { 41 };
    assert!(tries.len() > 1_000, "{}", tries.len());
    let faults: Vec<String> = tries
        .into_par_iter()
        .step_by(step)
        .filter_map(|(command, new, call, number)| {
            let error = if call.starts_with("clone") { "EAGAIN" } else { "EIO" };
            let inject = format!("inject={call}:error={error}:when={number}");
            let (output, out) = alone(command, &["-o", "/dev/null", "-e", &inject]);
            let said = text(&output.stderr);
            // The loader of libraries, before the program begins; a folder's end, whose error the standard library takes
            // for a bug.
            let is_loading = output.status.code() == Some(127);
            let is_closing = said.contains("unexpected error during closedir");
            let is_right = output.status.code().is_some_and(|code| code <= 5)
                && !said.contains("panicked")
                && (!command.contains(&"--settings") || out == b"{}" || out == new);
            let fault = format!("{command:?}: {inject}: {:?} {said}", output.status);
            (!is_right && !is_loading && !is_closing).then_some(fault)
        })
        .collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
