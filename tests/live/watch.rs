//! `watch`: sessions of the corpus replayed, files that become others, budgets and commands, and the table on a terminal.

mod terminal;

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{BufRead as _, BufReader, Read, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::common::{files, run, shared, signal, text, utf8};
use crate::live::statusline::{AFTER, first_look};

/// The id of the first session.
const FIRST_LOOK: &str = "5e1f0000-0000-4000-8000-000000000001";

/// Nothing that is waited for takes so long.
const AT_MOST: Duration = Duration::from_secs(60);

/// What stands before a line of standard error.
const SAID: &str = "said: ";

fn send_lines(from: impl Read + Send + 'static, before: &'static str, to: Sender<String>) {
    thread::spawn(move || {
        let lines = BufReader::new(from).lines().map_while(Result::ok);
        lines.map(|line| format!("{before}{line}")).try_for_each(|line| to.send(line))
    });
}

/// The watch of a folder, which ends with this.
struct Watch {
    child: Child,
    lines: Receiver<String>,
}

impl Watch {
    /// Watches at a moment of the trace, at which the clock stands still.
    fn of(folder: &Path, moment: &str, arguments: &[&str]) -> Self {
        let at: jiff::Timestamp = moment.parse().expect("a moment");
        Self::with_clock(folder, Some(at), arguments)
    }

    fn with_clock(folder: &Path, at: Option<jiff::Timestamp>, arguments: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cachesim"));
        command.arg("watch").arg(folder).args(arguments).env_clear();
        command.envs(at.map(|at| ("SOURCE_DATE_EPOCH", at.as_second().to_string())));
        let mut child = command
            .envs([("HOME", "/nonexistent"), ("CACHESIM_NO_CONFIG", "1")])
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program runs");
        let (sender, lines) = mpsc::channel();
        send_lines(child.stdout.take().expect("a pipe"), "", sender.clone());
        send_lines(child.stderr.take().expect("a pipe"), SAID, sender);
        Self { child, lines }
    }

    /// The lines up to the first that is meant.
    fn until(&self, is_meant: impl Fn(&str) -> bool) -> Vec<String> {
        let began = Instant::now();
        let mut lines = Vec::new();
        loop {
            let left = AT_MOST.saturating_sub(began.elapsed());
            let line = self.lines.recv_timeout(left);
            lines.push(line.unwrap_or_else(|_| panic!("no such line in {lines:#?}")));
            if lines.last().is_some_and(|line| is_meant(line)) {
                return lines;
            }
        }
    }

    /// Up to the first event that is meant.
    fn events_until(&self, is_meant: impl Fn(&Value) -> bool) -> Vec<Value> {
        let event = |line: &str| serde_json::from_str::<Value>(line).expect("JSON");
        let lines = self.until(|line| is_meant(&event(line)));
        lines.iter().map(|line| event(line)).collect()
    }

    /// Asks it to end, as Ctrl-C and the system do: the other lines.
    fn end(mut self) -> Vec<String> {
        let pid = self.child.id().to_string();
        signal("TERM", &pid);
        let rest = self.lines.iter().collect();
        let status = self.child.wait().expect("it ends");
        assert_eq!(status.code(), Some(0), "{rest:?}");
        rest
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let _has_ended = self.child.kill();
    }
}

fn add(path: &Path, content: &str) {
    let mut file = OpenOptions::new().append(true).open(path).expect("a file");
    file.write_all(content.as_bytes()).expect("written");
}

/// A session with its breaks, and its lines with when they are written at a hundred times their speed.
struct Replay {
    lines: Vec<(Duration, Vec<u8>)>,
    breaks: Vec<Value>,
}

impl Replay {
    /// `None` of a session without a break, and of one that takes longer.
    fn of(path: &Path, longest: Duration) -> Option<Self> {
        let content = fs::read(path).expect("a session");
        let mut lines: Vec<(Duration, Vec<u8>)> = Vec::new();
        let (mut first, mut at) = (None, Duration::ZERO);
        for line in content.split_inclusive(|byte| *byte == b'\n') {
            let moment = serde_json::from_slice::<Value>(line).ok();
            let moment = moment.and_then(|line| line["timestamp"].as_str()?.parse().ok());
            if let Some(moment) = moment.map(jiff::Timestamp::as_millisecond) {
                let since = moment - *first.get_or_insert(moment);
                at = at.max(Duration::from_millis(u64::try_from(since).unwrap_or(0) / 100));
            }
            lines.push((at, line.to_vec()));
        }
        if at > longest {
            return None;
        }
        let rows = run(&["breaks", utf8(path), "--format", "jsonl", "-q"]);
        let rows = text(&rows.stdout);
        let rows = rows.lines().map(|line| serde_json::from_str::<Value>(line).expect("a row"));
        let breaks: Vec<Value> = rows.collect();
        (!breaks.is_empty()).then_some(Self { lines, breaks })
    }
}

/// The breaks of each session, each as it is told, by when its request was sent.
fn by_session<'a>(breaks: impl Iterator<Item = &'a Value>) -> BTreeMap<String, Vec<[String; 3]>> {
    let mut all: BTreeMap<String, Vec<[String; 3]>> = BTreeMap::new();
    for one in breaks {
        let at = one.get("start").unwrap_or(&one["at"]);
        let what = one.get("event").unwrap_or(one);
        let told = [at, &what["cause"], &what["excess_usd"]].map(ToString::to_string);
        all.entry(one["session_id"].to_string()).or_default().push(told);
    }
    all
}

/// Fifteen sessions of two agents at once, each at a hundred times its speed, in files of one name; of
/// each line a half is written with the next one.
#[test]
fn a_replay_shows_every_break_once_and_in_order() {
    let Some(corpus) = shared("corpus") else { return };
    let sessions = files(corpus, ".jsonl");
    let longest = Duration::from_secs(20);
    let replays: Vec<Replay> =
        sessions.iter().filter_map(|path| Replay::of(path, longest)).collect();
    let all: usize = replays.iter().map(|replay| replay.breaks.len()).sum();
    assert_eq!((replays.len(), all), (15, 35));
    let folder = tempfile::tempdir().expect("a folder");
    let watch = Watch::of(folder.path(), AFTER, &["--jsonl"]);
    let mut open: Vec<File> = Vec::new();
    let mut due: Vec<(Duration, usize, &[u8])> = Vec::new();
    for (place, replay) in replays.iter().enumerate() {
        let path = folder.path().join(place.to_string());
        fs::create_dir(&path).expect("a folder");
        open.push(File::create(path.join("full.jsonl")).expect("a file"));
        due.extend(replay.lines.iter().map(|(at, line)| (*at, place, line.as_slice())));
    }
    due.sort_by_key(|(at, ..)| *at);
    let began = Instant::now();
    let mut half_written: Option<(usize, &[u8])> = None;
    for (at, place, line) in due {
        thread::sleep(at.saturating_sub(began.elapsed()));
        if let Some((place, rest)) = half_written.take() {
            open[place].write_all(rest).expect("written");
        }
        let (half, rest) = line.split_at(line.len() / 2);
        open[place].write_all(half).expect("written");
        half_written = Some((place, rest));
    }
    let (place, rest) = half_written.expect("the last line");
    open[place].write_all(rest).expect("written");
    // Whatever was written before another session has come before it.
    fs::write(folder.path().join("last.jsonl"), first_look()).expect("written");
    let events = watch.events_until(|event| event["session_id"] == FIRST_LOOK);
    let breaks = events.iter().filter(|event| event["event"]["kind"] == "break");
    let told = by_session(breaks.filter(|event| event["session_id"] != FIRST_LOOK));
    let mut rows = by_session(replays.iter().flat_map(|replay| &replay.breaks));
    for breaks in rows.values_mut() {
        breaks.sort();
    }
    assert_eq!(told, rows);
    // Nothing was done to a file but that it grew.
    assert!(events.iter().all(|event| event["event"]["kind"] != "file"), "{events:#?}");
    let rest = watch.end();
    assert!(rest.iter().all(|line| line.contains("\"session\"")), "{rest:#?}");
}

/// What is done to a file, and what is told of it.
#[test]
fn a_file_that_becomes_another_is_told_and_followed() {
    let content = first_look();
    let lines: Vec<&str> = content.split_inclusive('\n').collect();
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.jsonl");
    fs::write(&path, lines[..11].concat()).expect("written");
    let watch = Watch::of(folder.path(), AFTER, &["--jsonl"]);
    let cost = |requests: u64| {
        move |event: &Value| {
            event["event"]["kind"] == "session" && event["event"]["requests"] == requests
        }
    };
    watch.events_until(cost(5));
    let changed = |to: &str, requests: u64| {
        let events = watch.events_until(cost(requests));
        let changes: Vec<&Value> = events
            .iter()
            .filter(|event| event["event"]["kind"] == "file")
            .map(|one| &one["event"]["change"])
            .collect();
        assert_eq!(changes, [to], "{events:#?}");
        let breaks = events.iter().filter(|event| event["event"]["kind"] == "break").count();
        assert_eq!(breaks, 0, "{events:#?}");
    };
    // Truncated in place.
    let file = OpenOptions::new().write(true).open(&path).expect("a file");
    file.set_len(lines[..6].concat().len() as u64).expect("cut");
    changed("shortened", 3);
    // Written anew in place, and longer.
    let other = content.replace("msg_", "other_").replace("req_", "others_");
    let others: Vec<&str> = other.split_inclusive('\n').collect();
    fs::write(&path, others[..9].concat()).expect("written");
    changed("rewritten", 4);
    // Rotated: the old file has another name, and a new one the old.
    fs::rename(&path, folder.path().join("a.1.jsonl")).expect("moved");
    fs::write(folder.path().join("b.tmp"), lines[..6].concat()).expect("written");
    fs::rename(folder.path().join("b.tmp"), &path).expect("moved");
    changed("replaced", 3);
    // Written anew by a program that moves the whole over what was there: it went on.
    fs::write(folder.path().join("b.tmp"), lines[..9].concat()).expect("written");
    fs::rename(folder.path().join("b.tmp"), &path).expect("moved");
    assert_eq!(watch.events_until(cost(4)).len(), 1);
    // Deleted, and there again.
    fs::remove_file(&path).expect("removed");
    let gone = watch.events_until(|event| event["event"]["kind"] == "file").pop();
    let gone = gone.expect("an event");
    assert_eq!(
        (&gone["event"]["change"], &gone["session_id"]),
        (&"gone".into(), &FIRST_LOOK.into())
    );
    fs::write(&path, lines[..9].concat()).expect("written");
    watch.events_until(cost(4));
    // And its break comes when it is written, once.
    add(&path, &lines[9..].concat());
    let events = watch.events_until(cost(6));
    let breaks: Vec<&Value> =
        events.iter().filter(|event| event["event"]["kind"] == "break").collect();
    assert_eq!(breaks.len(), 1, "{events:#?}");
    assert_eq!(breaks[0]["event"]["excess_usd"], "0.13395");
    let rest = watch.end();
    assert!(rest.iter().all(|line| !line.contains("\"break\"")), "{rest:#?}");
}

/// The day cost $0.57531: three requests of it are there when the watch begins. Then 12,600 tokens are written again at
/// $10 a million instead of $0.50, and 14,100.
#[test]
fn a_budget_is_told_once_and_commands_run_at_events() {
    let content = first_look();
    let lines: Vec<&str> = content.split_inclusive('\n').collect();
    let folder = tempfile::tempdir().expect("a folder");
    let (path, told) = (folder.path().join("a.jsonl"), folder.path().join("told.txt"));
    fs::write(&path, lines[..6].concat()).expect("written");
    let command = format!("cat >> '{}'", utf8(&told));
    let arguments = ["--budget", "0.5", "--exec", &command];
    let watch = Watch::of(folder.path(), AFTER, &arguments);
    let first = watch.until(|line| line.contains("cost $"));
    assert_eq!(first.len(), 1);
    add(&path, &lines[6..].concat());
    let shown = watch.until(|line| line.contains("more than $0.50"));
    let cause = "an entry for an hour expired";
    let expected = [
        "10:20:10 5e1f0000 demo: the cache broke, $0.1197 more than reading: the service dropped the entry".to_owned(),
        format!("11:46:40 5e1f0000 demo: the cache broke, $0.1340 more than reading: {cause}"),
        "11:50:40 5e1f0000 demo: cost $0.58 · warm 56m, next $0.0237 (cold $0.3210) · 32,102 tokens".to_owned(),
        "11:50:40 today cost $0.58, more than $0.50".to_owned(),
    ];
    assert_eq!(shown, expected);
    let began = Instant::now();
    let lines_told = || fs::read_to_string(&told).unwrap_or_default().lines().count();
    while lines_told() < 3 && began.elapsed() < AT_MOST {
        thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(watch.end(), [""; 0]);
    let told = fs::read_to_string(&told).expect("the command ran");
    let events = told.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let events: Vec<String> = events.map(|event| event["event"]["kind"].to_string()).collect();
    assert_eq!(events, ["\"break\"", "\"break\"", "\"budget\""]);
}

#[test]
fn a_command_that_fails_is_told() {
    let content = first_look();
    let lines: Vec<&str> = content.split_inclusive('\n').collect();
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.jsonl");
    fs::write(&path, lines[..6].concat()).expect("written");
    let watch = Watch::of(folder.path(), AFTER, &["--exec", "exit 7"]);
    watch.until(|line| line.contains("cost $"));
    // What never had a request was no session, and is not missed.
    let other = folder.path().join("settings.json");
    fs::write(&other, "{}").expect("written");
    thread::sleep(Duration::from_millis(1_500));
    fs::remove_file(&other).expect("removed");
    fs::remove_file(&path).expect("removed");
    let told = watch.until(|line| line.ends_with("its file is gone"));
    assert_eq!(told, ["11:50:40 5e1f0000 demo: its file is gone"]);
    let said = "said: cachesim: --exec: the command failed: exit status: 7";
    watch.until(|line| line == said);
    assert_eq!(watch.end(), [""; 0]);
}

/// Sub-agents count to their session and are told apart; a folder that is not there yet is watched once it is.
#[test]
fn what_comes_later_is_found() {
    let content = first_look();
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path().join("later");
    let watch = Watch::of(&root, AFTER, &["--jsonl"]);
    watch.until(|line| line.starts_with("said: cachesim: ") && line.contains(" is not there; "));
    let agents = root.join("p/s/subagents");
    fs::create_dir_all(&agents).expect("a folder");
    fs::write(root.join("p/s.jsonl"), &content).expect("written");
    let agent = content.replace("msg_", "a_").replace("req_", "b_");
    let agent = agent.replace("\"isSidechain\":false", "\"isSidechain\":true,\"agentId\":\"a1\"");
    fs::write(agents.join("agent-a1.jsonl"), agent).expect("written");
    let mut events = watch.events_until(|event| event["event"]["kind"] == "session");
    let is_agent = events.last().is_some_and(|event| event["agent_id"] == "a1");
    events.extend(watch.events_until(|event| {
        event["event"]["kind"] == "session" && (event["agent_id"] == "a1") != is_agent
    }));
    let sessions: Vec<&Value> =
        events.iter().filter(|event| event["event"]["kind"] == "session").collect();
    assert!(sessions.iter().all(|event| event["session_id"] == FIRST_LOOK));
    assert!(sessions.iter().all(|event| event["event"]["cost_usd"] == "0.57531"), "{sessions:#?}");
    watch.end();
}

/// The first session, so that its cache expires in so many seconds.
fn expiring(seconds: i64) -> String {
    let last: jiff::Timestamp = "2026-08-03T11:46:40Z".parse().expect("a moment");
    let later = jiff::Timestamp::now().duration_since(last);
    let later = later - jiff::SignedDuration::from_secs(3_600 - seconds);
    let content = first_look();
    let lines = content.lines().map(|line| {
        let mut line: Value = serde_json::from_str(line).expect("a line");
        if let Some(at) = line["timestamp"].as_str() {
            let at: jiff::Timestamp = at.parse().expect("a moment");
            line["timestamp"] = (at + later).to_string().into();
        }
        format!("{line}\n")
    });
    lines.collect()
}

/// An event of each kind, by a clock that goes on.
pub(crate) fn every_event() -> Vec<Value> {
    let content = expiring(5);
    let lines: Vec<&str> = content.split_inclusive('\n').collect();
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.jsonl");
    fs::write(&path, lines[..9].concat()).expect("written");
    // Where it is about noon, no day begins in the middle of the session.
    let east = 12 - i64::from(jiff::Timestamp::now().to_zoned(jiff::tz::TimeZone::UTC).hour());
    let zone = format!("Etc/GMT{:+}", -east);
    let arguments = ["--jsonl", "--budget", "0.0001", "--timezone", &zone];
    let watch = Watch::with_clock(folder.path(), None, &arguments);
    let mut events = watch.events_until(|event| event["event"]["kind"] == "session");
    add(&path, &lines[9..].concat());
    events.extend(watch.events_until(|event| event["event"]["kind"] == "cold"));
    fs::remove_file(&path).expect("removed");
    events.extend(watch.events_until(|event| event["event"]["kind"] == "file"));
    watch.end();
    events
}

/// The prices are those of `hook`: $0.02366 where it is read, and $0.32101 where it is not.
#[test]
fn a_cache_that_expires_is_told_once() {
    let events = every_event();
    let of = |kind: &str| -> Vec<&Value> {
        let events = events.iter().map(|event| &event["event"]);
        events.filter(|event| event["kind"] == kind).collect()
    };
    let expected = json!({ "kind": "cold", "warm_usd": "0.02366", "cold_usd": "0.32101" });
    assert_eq!(of("cold"), [&expected]);
    assert_eq!(of("budget").len(), 1, "{events:#?}");
    assert_eq!(of("break").len(), 2, "{events:#?}");
}

/// What is open now, and nothing more.
#[test]
fn once_is_enough() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("a.jsonl"), first_look()).expect("written");
    let mut watch = Watch::of(folder.path(), AFTER, &["--once"]);
    let line = "11:50:40 5e1f0000 demo: cost $0.58 · warm 56m, next $0.0237 (cold $0.3210) · 32,102 tokens";
    assert_eq!(watch.lines.iter().collect::<Vec<_>>(), [line]);
    assert!(watch.child.wait().expect("it ends").success());
}

/// What cannot be read is told once, though it is tried each second, and read once it can be.
#[test]
fn a_file_that_cannot_be_read_is_told() {
    let content = first_look();
    let lines: Vec<&str> = content.split_inclusive('\n').collect();
    let folder = tempfile::tempdir().expect("a folder");
    let (path, other) = (folder.path().join("a.jsonl"), folder.path().join("other"));
    fs::write(&path, lines[..9].concat()).expect("written");
    let watch = Watch::of(folder.path(), AFTER, &[]);
    watch.until(|line| line.contains("cost $"));
    // Its name leads to a folder.
    std::os::unix::fs::symlink(folder.path(), &other).expect("a link");
    fs::rename(&other, &path).expect("moved");
    let told = watch.until(|line| line.contains("file"));
    let expected = "11:50:40 5e1f0000 demo: its file cannot be read: it is no file";
    assert_eq!(told, [expected]);
    thread::sleep(Duration::from_millis(2_500));
    fs::write(&other, &content).expect("written");
    fs::rename(&other, &path).expect("moved");
    let told = watch.until(|line| line.contains("cost $0.58"));
    assert!(told.iter().all(|line| !line.contains("file")), "{told:#?}");
    watch.end();
}

/// A watch whose reader has left ends, though nothing happens.
#[test]
fn it_ends_with_its_reader() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("a.jsonl"), first_look()).expect("written");
    let program = env!("CARGO_BIN_EXE_cachesim");
    let mut child = Command::new(program)
        .args(["watch", utf8(folder.path())])
        .env("CACHESIM_NO_CONFIG", "1")
        .env("SOURCE_DATE_EPOCH", "1785757840")
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program runs");
    let mut out = BufReader::new(child.stdout.take().expect("a pipe"));
    let mut line = String::new();
    out.read_line(&mut line).expect("a line");
    assert!(line.contains("5e1f0000 demo: cost $0.58"), "{line}");
    drop(out);
    assert_eq!(child.wait().expect("it ends").code(), Some(0));
}
