//! Runs a command for each event, one after the other, beside the watch.

use std::io::{self, Write as _};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Longest time that a command may run.
const LONGEST: Duration = Duration::from_secs(60);

/// Longest time that a running command may take once the watch ends.
const LAST: Duration = Duration::from_secs(2);

/// Most events that wait for the command.
const MOST_WAITING: usize = 1_000;

/// Time between two checks of a running command.
const BETWEEN_LOOKS: Duration = Duration::from_millis(20);

/// Thread that runs a command for each event.
pub(super) struct Runner {
    lines: SyncSender<Vec<u8>>,
    ends: Arc<AtomicBool>,
    thread: JoinHandle<usize>,
}

impl Runner {
    /// Starts the thread, and no command yet. `tell` is called with error messages.
    pub(super) fn start(
        command: String,
        tell: impl Fn(String) + Send + 'static,
    ) -> io::Result<Self> {
        let (lines, receiver) = mpsc::sync_channel(MOST_WAITING);
        let ends = Arc::new(AtomicBool::new(false));
        let work = Work { command, ends: Arc::clone(&ends) };
        let thread = thread::Builder::new()
            .name("exec".to_owned())
            .spawn(move || work.run_all(&receiver, tell))?;
        Ok(Self { lines, ends, thread })
    }

    /// Has the command run with `line` on its standard input; false if too many events wait already.
    pub(super) fn run(&self, line: Vec<u8>) -> bool {
        self.lines.try_send(line).is_ok()
    }

    /// Waits for the running command, and returns the number of events for which none was started.
    pub(super) fn finish(self) -> usize {
        self.ends.store(true, Ordering::Relaxed);
        drop(self.lines);
        self.thread.join().unwrap_or_default()
    }
}

struct Work {
    command: String,
    ends: Arc<AtomicBool>,
}

impl Work {
    /// Runs the command for all lines until the watch ends, and returns the number of the rest.
    fn run_all(&self, lines: &Receiver<Vec<u8>>, tell: impl Fn(String)) -> usize {
        for line in lines {
            if self.ends.load(Ordering::Relaxed) {
                return 1 + lines.iter().count();
            }
            if let Err(problem) = self.run(&line) {
                tell(format!("--exec: {problem}"));
            }
        }
        0
    }

    fn run(&self, line: &[u8]) -> Result<(), String> {
        let mut child = shell(&self.command)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| format!("cannot run a shell: {error}"))?;
        RUNNING.store(child.id(), Ordering::Relaxed);
        if let Some(mut input) = child.stdin.take() {
            // A command need not read it. A line is shorter than a pipe takes without a reader.
            let _is_read = input.write_all(line);
        }
        let result = self.wait(&mut child);
        RUNNING.store(NONE, Ordering::Relaxed);
        result
    }

    fn wait(&self, child: &mut Child) -> Result<(), String> {
        let mut until = Instant::now() + LONGEST;
        let mut has_ended = false;
        loop {
            match child.try_wait() {
                Ok(Some(status)) if status.success() => return Ok(()),
                Ok(Some(status)) => return Err(format!("the command failed: {status}")),
                Ok(None) => {}
                Err(error) => return Err(format!("cannot wait for the command: {error}")),
            }
            if self.ends.load(Ordering::Relaxed) && !has_ended {
                has_ended = true;
                until = until.min(Instant::now() + LAST);
            }
            if Instant::now() >= until {
                end_running();
                let _has_ended = child.kill();
                let _is_gone = child.wait();
                return Err("the command took too long and was ended".to_owned());
            }
            thread::sleep(BETWEEN_LOOKS);
        }
    }
}

/// Process of the running command.
static RUNNING: AtomicU32 = AtomicU32::new(NONE);

/// Value of `RUNNING` while no command runs.
const NONE: u32 = 0;

/// Ends the running command, with all processes that it started.
pub(super) fn end_running() {
    #[cfg(unix)]
    {
        use rustix::process::{Pid, Signal, kill_process_group};

        let group = i32::try_from(RUNNING.load(Ordering::Relaxed)).ok().and_then(Pid::from_raw);
        let _has_ended = group.map(|group| kill_process_group(group, Signal::KILL));
    }
}

fn shell(command: &str) -> Command {
    let (shell, option) = if cfg!(windows) { ("cmd", "/C") } else { ("sh", "-c") };
    let mut shell = Command::new(shell);
    shell.args([option, command]);
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut shell, 0);
    shell
}
