//! Inputs that cannot hurt: devices, files without an end, folders of the kernel's, compressed files that
//! unpack beyond measure, a thousand threads, and a bound of memory that is kept.
//!
//! Every run has a limit on its memory (`ulimit -v`) and is killed after minutes, so that a fault is a
//! failure and no machine that stands still; no test measures time.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::thread;
use std::time::Duration;

use serde_json::Value;

use crate::common::{first_look, project, skip, stdout, text, utf8};

/// The address space of a run, in KiB: far more than any needs here, far less than a machine has.
const ADDRESSES: u64 = 6 << 20;

/// When a run that hangs is killed.
const HANGS_AFTER: Duration = Duration::from_secs(300);

fn command(arguments: &[&str]) -> assert_cmd::Command {
    let mut command = assert_cmd::Command::new("sh");
    let script = format!("ulimit -v {ADDRESSES}; exec \"$0\" \"$@\"");
    command.args(["-c", &script, env!("CARGO_BIN_EXE_cachesim")]).args(arguments);
    command.env_clear().env("HOME", "/nonexistent").env("CACHESIM_NO_CONFIG", "1");
    command.timeout(HANGS_AFTER);
    command
}

fn guarded(arguments: &[&str]) -> Output {
    command(arguments).output().expect("the program runs")
}

/// Runs the program, expects a code, and returns what it said.
fn ends(arguments: &[&str], code: i32) -> String {
    let output = guarded(arguments);
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {error}");
    error
}

/// The JSON of a run that succeeds.
fn report(arguments: &[&str]) -> Value {
    let output = guarded(arguments);
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

fn capture() -> String {
    utf8(&project("fixtures/captured-clock/session.jsonl")).to_owned()
}

/// A pipe with a name. `None`, noted, where none can be made.
fn pipe(path: &Path) -> Option<()> {
    let made = std::process::Command::new("mkfifo").arg(path).status();
    if !made.is_ok_and(|status| status.success()) {
        skip("mkfifo");
        return None;
    }
    Some(())
}

/// The options that take a file which is no session, in a command that reads it.
fn with_file(file: &str) -> Vec<Vec<String>> {
    let (session, capture) = (first_look(), capture());
    [
        &["analyze", &session, "--config", file][..],
        &["analyze", &session, "--prices", file],
        &["prices", "list", "--prices", file],
        &["check", &session, "--baseline", file],
        &["lint", &capture, "--accepted", file],
    ]
    .iter()
    .map(|arguments| arguments.iter().map(|&one| one.to_owned()).collect())
    .collect()
}

fn refused(arguments: &[String]) -> String {
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    ends(&arguments, 2)
}

#[test]
fn only_files_and_pipes_are_read_whole() {
    let folder = tempfile::tempdir().expect("a folder");
    let socket = folder.path().join("socket");
    let _open = UnixListener::bind(&socket).expect("a socket");
    for (file, what) in [
        ("/dev/zero", "a device"),
        ("/dev/urandom", "a device"),
        (utf8(folder.path()), "a folder"),
        (utf8(&socket), "a socket"),
    ] {
        for arguments in with_file(file) {
            let error = refused(&arguments);
            let expected = format!("it is {what}; give a file or a pipe");
            assert!(error.contains(&expected) && error.contains(file), "{arguments:?}: {error}");
        }
        let strategies = folder.path().join("own.toml");
        symlink(file, &strategies).expect("a link");
        let arguments = ["compare", &first_look(), "--strategy", utf8(&strategies)];
        let error = ends(&arguments, 2);
        assert!(error.contains(&format!("it is {what}; give a file or a pipe")), "{error}");
        fs::remove_file(&strategies).expect("removed");
    }
}

#[test]
fn files_beyond_their_limit_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("large.toml");
    let large = |bytes| File::create(&file).and_then(|file| file.set_len(bytes)).expect("written");
    large((64 << 20) + 1);
    for arguments in with_file(utf8(&file)) {
        let error = refused(&arguments);
        let limit = if arguments.iter().any(|one| one == "--config") { 1 } else { 64 };
        let expected = format!("it has more than {limit} MiB");
        assert!(error.contains(&expected), "{arguments:?}: {error}");
    }
    large((1 << 20) + 1);
    let error = ends(&["compare", &first_look(), "--strategy", utf8(&file)], 2);
    assert!(error.contains("it has more than 1 MiB"), "{error}");
}

/// A configuration, prices and a baseline through pipes, as process substitution gives them.
#[test]
fn pipes_are_read_whole() {
    let folder = tempfile::tempdir().expect("a folder");
    let Some(()) = pipe(&folder.path().join("pipe")) else { return };
    let baseline = folder.path().join("baseline.json");
    ends(&["check", &first_look(), "--export", &format!("report={}", utf8(&baseline))], 0);
    let prices =
        "[[model]]\nid = 'acme-1'\nprices = [{ from = '2026-01-01', input = 1, output = 5 }]\n";
    for (option, bytes) in [
        ("--config", b"[defaults]\nlookback = 'blocks'\n".to_vec()),
        ("--baseline", fs::read(&baseline).expect("a baseline")),
        ("--prices", prices.as_bytes().to_vec()),
    ] {
        let file = folder.path().join("file");
        fs::write(&file, &bytes).expect("written");
        let session = first_look();
        let run = |path: &str| {
            let name = if option == "--baseline" { "check" } else { "analyze" };
            guarded(&[name, &session, option, path])
        };
        let expected = run(utf8(&file));
        let pipe = folder.path().join("pipe");
        let writer = thread::spawn({
            let pipe = pipe.clone();
            move || fs::write(pipe, bytes)
        });
        let through = run(utf8(&pipe));
        writer.join().expect("no panic").expect("written");
        assert_eq!(through.status.code(), expected.status.code(), "{option}");
        assert_eq!(text(&through.stdout), text(&expected.stdout), "{option}");
    }
}

/// A folder with a session and all that is no file; its figures are those of the session.
#[test]
fn a_walk_leaves_what_is_no_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path();
    fs::copy(first_look(), path.join("session.jsonl")).expect("copied");
    let expected = report(&["analyze", utf8(path), "--json"]);
    for (link, target) in [
        ("a", "/proc"),
        ("b", "/dev"),
        ("c", "/sys"),
        ("d.jsonl", "/dev/zero"),
        ("e.jsonl", "/proc/kmsg"),
        ("f", "/proc/self/root/proc"),
    ] {
        symlink(target, path.join(link)).expect("a link");
    }
    let Some(()) = pipe(&path.join("g.jsonl")) else { return };
    let _open = UnixListener::bind(path.join("h.jsonl")).expect("a socket");
    let mut found = report(&["analyze", utf8(path), "--json"]);
    assert_eq!(found["inputs"]["skipped"]["special_file"], 8, "{}", found["inputs"]);
    found["inputs"]["skipped"] = expected["inputs"]["skipped"].clone();
    assert_eq!(found, expected);
    let error = ends(&["analyze", utf8(path), "-v"], 0);
    for named in [
        "a: neither file nor pipe: it is a folder of the kernel's",
        "d.jsonl: neither file nor pipe: it is a device",
        "g.jsonl: neither file nor pipe: it is a pipe",
        "h.jsonl: neither file nor pipe: it is a socket",
        "8 × neither file nor pipe",
    ] {
        assert!(error.contains(named), "{named}: {error}");
    }
}

#[test]
fn devices_and_folders_of_the_kernel_are_no_input() {
    for path in ["/dev/zero", "/proc", "/proc/self/../kmsg"] {
        let error = ends(&["analyze", path], 3);
        assert!(error.contains("neither file nor pipe"), "{path}: {error}");
    }
}

/// Process substitution: a transcript, bundles and a redaction, which reads twice.
#[test]
fn a_named_pipe_is_an_input() {
    let folder = tempfile::tempdir().expect("a folder");
    let pipe_path = folder.path().join("pipe.jsonl");
    let Some(()) = pipe(&pipe_path) else { return };
    let bundles = project("fixtures/place-cache-edits/session.jsonl");
    for (arguments, input) in [
        (&["analyze", "--format", "csv"][..], PathBuf::from(first_look())),
        (&["analyze", "--format", "csv"], bundles.clone()),
        (&["place"], bundles),
        (&["redact", "-q"], first_look().into()),
    ] {
        let file = folder.path().join("file").join("pipe.jsonl");
        fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
        fs::copy(&input, &file).expect("copied");
        let run = |path: &Path| {
            let (name, options) = arguments.split_first().expect("a command");
            guarded(&[&[name, utf8(path), "-o", "-"], options].concat())
        };
        let writer = thread::spawn({
            let pipe = pipe_path.clone();
            move || fs::copy(input, pipe)
        });
        let through = run(&pipe_path);
        writer.join().expect("no panic").expect("written");
        assert_eq!(through.status.code(), Some(0), "{arguments:?}: {}", text(&through.stderr));
        assert_eq!(text(&through.stdout), text(&run(&file).stdout), "{arguments:?}");
    }
}

fn packed(piece: &[u8]) -> Vec<u8> {
    let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    out.write_all(piece).and_then(|()| out.finish()).expect("memory")
}

/// 1.1 GB out of 1 MB in members one behind another: a line without an end.
#[test]
fn what_unpacks_beyond_measure_is_given_up() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path();
    fs::copy(first_look(), path.join("session.jsonl")).expect("copied");
    let expected = report(&["analyze", utf8(path), "--json"]);
    let endless = packed(&vec![b'x'; 100_000_000]).repeat(11);
    fs::write(path.join("endless.jsonl.gz"), endless).expect("written");
    let found = report(&["analyze", utf8(path), "--json"]);
    assert_eq!(found["inputs"]["skipped"]["unpacks_too_far"], 1, "{}", found["inputs"]);
    assert_eq!(found["totals"], expected["totals"]);
    let redacted = tempfile::tempdir().expect("a folder");
    let error = ends(&["redact", utf8(path), "--strict", "-o", utf8(redacted.path())], 4);
    let named =
        "endless.jsonl.gz:1: compressed file that unpacks too far: it unpacks to more than 1 GB";
    assert!(error.contains(named) && error.contains("it is left out"), "{error}");
    let files: Vec<_> = fs::read_dir(redacted.path()).expect("a folder").collect();
    assert_eq!(files.len(), 1, "{files:?}");
}

/// Lines that nobody looks into, 100,000 bytes each.
#[test]
fn lines_that_unpack_beyond_measure_are_given_up() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("lines.jsonl.gz");
    let line = format!("{{\"type\":\"file-history-snapshot\",\"x\":\"{}\"}}\n", "x".repeat(99_960));
    assert_eq!(line.len(), 100_000);
    let lines = packed(line.repeat(1_000).as_bytes()).repeat(11);
    fs::write(&file, lines).expect("written");
    let error = ends(&["analyze", &first_look(), utf8(&file), "--strict"], 4);
    assert!(error.contains("compressed file that unpacks too far"), "{error}");
}

/// Far beyond the ratio and far below the size.
#[test]
fn what_compresses_well_is_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("session.jsonl.gz");
    let session = fs::read_to_string(first_look()).expect("a fixture");
    let spaces = format!("{}\n", " ".repeat(20_000_000));
    let packed = packed((session + &spaces).as_bytes());
    assert!(packed.len() < 200_000, "{}", packed.len());
    fs::write(&file, packed).expect("written");
    let rows = |path: &str| stdout(&["analyze", path, "-q", "--format", "csv"]);
    let plain = folder.path().join("session.jsonl");
    fs::copy(first_look(), &plain).expect("copied");
    assert_eq!(rows(utf8(&file)).replace("session.jsonl.gz", "session.jsonl"), rows(utf8(&plain)));
}

/// A block takes more memory than its bytes, so that a line of nothing else is not read.
#[test]
fn lines_of_more_blocks_than_are_read_are_named() {
    let many = |block: &str, count: usize| format!("[{}]", vec![block; count].join(","));
    let session = fs::read_to_string(first_look()).expect("a session");
    let in_session = session.replacen("\"Add a flag.\"", "\"MANY\"", 1);
    let captured = fs::read_to_string(capture()).expect("a capture");
    let mut line: Value =
        serde_json::from_str(captured.lines().next().expect("a line")).expect("JSON");
    line["request"]["messages"] = Value::from("MANY");
    let of_messages = line.to_string();
    line["request"]["messages"] = serde_json::json!([{"role": "user", "content": "MANY"}]);
    let of_blocks = line.to_string();
    line["request"]["messages"] = serde_json::json!([{"role": "user", "content": "go"}]);
    line["request"]["system"] = Value::from("MANY");
    let of_system = line.to_string();
    line["request"]["tools"] = Value::from("MANY");
    line["request"]["system"] = Value::from("go");
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("session.jsonl");
    for (line, block, most) in [
        (in_session, r#"{"type":"text","text":"x"}"#, 100_000),
        (of_messages, r#"{"role":"user","content":"x"}"#, 99_000),
        (of_blocks, r#"{"type":"text","text":"x"}"#, 99_000),
        (of_system, r#"{"type":"text","text":"x"}"#, 99_000),
        (line.to_string(), r#"{"name":"x"}"#, 99_000),
    ] {
        for (count, is_long) in [(most, false), (100_001, true)] {
            fs::write(&path, line.replace("\"MANY\"", &many(block, count)) + "\n")
                .expect("written");
            let said = text(&guarded(&["analyze", utf8(&path)]).stderr);
            assert_eq!(said.contains("too long"), is_long, "{count} {block}: {said}");
        }
    }
}

#[test]
fn threads_are_four_for_each_core_at_most() {
    let session = first_look();
    let expected = stdout(&["analyze", &session, "-q"]);
    let output = guarded(&["analyze", &session, "-v", "--jobs", "2000"]);
    assert_eq!(text(&output.stdout), expected);
    let most = 4 * thread::available_parallelism().expect("cores").get();
    let named = format!("--jobs 2000: {most} threads run, four for each core");
    assert!(text(&output.stderr).contains(&named), "{}", text(&output.stderr));
    let output = guarded(&["analyze", &session, "-v", "--jobs", "2"]);
    assert!(!text(&output.stderr).contains("--jobs"), "{}", text(&output.stderr));
}

/// A conversation of so many requests, each with an entry of the user's before it.
fn long_session(requests: usize) -> String {
    let mut lines = String::new();
    let mut parent = "null".to_owned();
    for number in 0..requests {
        let (hour, minute, second) = (number / 3_600 % 24, number / 60 % 60, number % 60);
        let day = 1 + number / 86_400;
        let time = format!("2026-08-{day:02}T{hour:02}:{minute:02}:{second:02}");
        let (asked, answered) = (2 * number, 2 * number + 1);
        let id = |number: usize| format!("\"00000000-0000-4000-8000-{number:012}\"");
        let common = r#""isSidechain":false,"sessionId":"s-1","version":"2.1.219","cwd":"/w""#;
        writeln!(
            lines,
            r#"{{"parentUuid":{parent},{common},"type":"user","uuid":{},"timestamp":"{time}.000Z","message":{{"role":"user","content":"Go on."}}}}"#,
            id(asked)
        )
        .expect("a text");
        writeln!(
            lines,
            r#"{{"parentUuid":{},{common},"type":"assistant","uuid":{},"timestamp":"{time}.500Z","requestId":"req_{number}","message":{{"id":"msg_{number}","type":"message","role":"assistant","model":"claude-opus-5","content":[{{"type":"text","text":"Done."}}],"stop_reason":"end_turn","usage":{{"input_tokens":2,"cache_creation_input_tokens":100,"cache_read_input_tokens":{},"cache_creation":{{"ephemeral_5m_input_tokens":100,"ephemeral_1h_input_tokens":0}},"output_tokens":10}}}}}}"#,
            id(asked),
            id(answered),
            100 * number
        )
        .expect("a text");
        parent = id(answered);
    }
    lines
}

const TOO_LITTLE: &str =
    "the run needs more than the 32 MiB of memory that it may have; raise --max-memory";

/// What stood in the output stays, in every command that reads sessions.
#[test]
#[cfg(target_os = "linux")]
fn a_run_that_needs_more_memory_ends_cleanly() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path();
    let session = path.join("session.jsonl");
    fs::write(&session, long_session(100_000)).expect("written");
    let out = path.join("out");
    for command in
        ["analyze", "advise", "blocks", "breaks", "compare", "context", "verify", "check", "report"]
    {
        fs::write(&out, "old").expect("written");
        let arguments =
            [command, utf8(&session), "-o", utf8(&out), "--jobs", "1", "--max-memory", "32M"];
        let error = ends(&arguments, 3);
        assert!(error.contains(TOO_LITTLE), "{command}: {error}");
        assert_eq!(fs::read(&out).expect("read"), b"old");
        assert_eq!(fs::read_dir(path).expect("a folder").count(), 2, "{command}");
    }
}

/// A redaction holds the words of its input, and what comes through a pipe.
#[test]
#[cfg(target_os = "linux")]
fn a_redaction_keeps_the_bound() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("out");
    let arguments = ["redact", "-", "-o", utf8(&out), "--max-memory", "32M"];
    let output = command(&arguments).write_stdin(long_session(100_000)).output().expect("it runs");
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("memory"), "{}", text(&output.stderr));
    assert!(!out.exists());
}

/// What is held of one line, and a file that is no session.
#[test]
#[cfg(target_os = "linux")]
fn what_grows_at_once_keeps_the_bound() {
    let folder = tempfile::tempdir().expect("a folder");
    let session = folder.path().join("session.jsonl");
    let mut file = File::create(&session).expect("a file");
    file.write_all(b"{\"type\":\"user\",\"x\":\"").expect("written");
    file.write_all(&vec![b'x'; 60_000_000]).expect("written");
    file.write_all(b"\"}\n").expect("written");
    let prices = folder.path().join("prices.json");
    File::create(&prices).and_then(|file| file.set_len(64 << 20)).expect("written");
    let out = folder.path().join("out");
    fs::write(&out, "old").expect("written");
    let arguments = ["analyze", utf8(&session), "-o", utf8(&out), "--max-memory", "32M"];
    assert!(ends(&arguments, 3).contains(TOO_LITTLE));
    let session = first_look();
    ends(
        &["analyze", &session, "-o", utf8(&out), "--prices", utf8(&prices), "--max-memory", "32M"],
        3,
    );
    assert_eq!(fs::read(&out).expect("read"), b"old");
    // What it may have left is removed by the next one.
    ends(&["analyze", &session, "-o", utf8(&out)], 0);
    assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 3);
}

/// The most that a run had in memory beside files, as the kernel counted it.
#[test]
#[cfg(target_os = "linux")]
fn a_bounded_run_never_has_more_than_its_bound() {
    let folder = tempfile::tempdir().expect("a folder");
    let session = folder.path().join("session.jsonl");
    fs::write(&session, long_session(100_000)).expect("written");
    let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_cachesim"))
        .args(["analyze", utf8(&session), "-q", "--max-memory", "40M"])
        .env("CACHESIM_NO_CONFIG", "1")
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .expect("the program runs");
    let mut most = 0;
    while child.try_wait().expect("it can be waited for").is_none() {
        let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"));
        let size = line.and_then(|size| size.trim().strip_suffix(" kB")?.parse::<u64>().ok());
        most = most.max(size.unwrap_or_default());
    }
    assert!((1..40 << 10).contains(&most), "{most} KiB");
    assert_eq!(child.wait().expect("it ended").code(), Some(3));
}

/// The bound changes nothing of a run that keeps it, however it is given.
#[test]
#[cfg(target_os = "linux")]
fn a_run_within_its_memory_gives_the_same_bytes() {
    let folder = tempfile::tempdir().expect("a folder");
    let session = folder.path().join("session.jsonl");
    fs::write(&session, long_session(2_000)).expect("written");
    for arguments in [&["analyze", "--format", "json"][..], &["breaks"], &["redact", "-q"]] {
        let (name, options) = arguments.split_first().expect("a command");
        let run =
            |more: &[&str]| guarded(&[&[name, utf8(&session), "-o", "-"], options, more].concat());
        let bound = run(&["--max-memory", "1GiB"]);
        assert_eq!(bound.status.code(), Some(0), "{}", text(&bound.stderr));
        assert_eq!(text(&bound.stdout), text(&run(&[]).stdout), "{name}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn the_bound_can_be_configured() {
    let folder = tempfile::tempdir().expect("a folder");
    let session = folder.path().join("session.jsonl");
    fs::write(&session, long_session(100_000)).expect("written");
    let config = folder.path().join("cachesim.toml");
    fs::write(&config, "[defaults]\nmax_memory = '32 MiB'\n").expect("written");
    let arguments = ["analyze", utf8(&session), "--config", utf8(&config), "--jobs", "1"];
    assert!(ends(&arguments, 3).contains(TOO_LITTLE));
    let mut of_environment = command(&["analyze", utf8(&session), "--jobs", "1"]);
    let output = of_environment.env("CACHESIM_MAX_MEMORY", "32m").output().expect("it runs");
    assert!(text(&output.stderr).contains(TOO_LITTLE), "{}", text(&output.stderr));
    for (size, why) in [
        ("1M", "the program itself needs 32M"),
        ("much", "expected a size such as 512M or 2GiB"),
        ("-1", "unexpected argument"),
        ("99999999999999T", "no machine has so much"),
    ] {
        let error = ends(&["analyze", &first_look(), "--max-memory", size], 2);
        assert!(error.contains(why), "{size}: {error}");
    }
}
