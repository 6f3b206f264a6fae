//! Signals by which the system and the user ask for something.

use std::io;
use std::sync::mpsc::Sender;
#[cfg(unix)]
use std::time::Duration;

use super::Signal;

/// Time within which signals count as one.
#[cfg(unix)]
const AT_ONCE: Duration = Duration::from_millis(300);

/// Sends the requests of signals. A second signal to end does so at once: the watch may wait for the reader
/// of its lines.
#[cfg(unix)]
pub(super) fn listen(sender: &Sender<Signal>) -> io::Result<()> {
    use std::thread;
    use std::time::Instant;

    use super::exec::end_running;
    use super::screen::give_back;
    use crate::cli::output_file::heeded_of;
    use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP};
    use signal_hook::iterator::Signals;

    let heard = heeded_of([SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP]);
    let mut signals = Signals::new(heard)?;
    let sender = sender.clone();
    let answer = move || {
        let mut asked: Option<Instant> = None;
        for signal in signals.forever() {
            if signal == SIGTSTP {
                drop(sender.send(Signal::Stop));
                continue;
            }
            // One end may come as several signals: from the shell, and from the terminal.
            if asked.is_some_and(|asked| asked.elapsed() > AT_ONCE) {
                end_running();
                give_back();
                std::process::exit(128 + signal);
            }
            asked = asked.or_else(|| Some(Instant::now()));
            drop(sender.send(Signal::End));
        }
    };
    thread::Builder::new().name("signals".to_owned()).spawn(answer).map(drop)
}

/// Does nothing: the console ends the program.
#[cfg(not(unix))]
pub(super) fn listen(_: &Sender<Signal>) -> io::Result<()> {
    Ok(())
}

/// Returns true if the terminal is the program's, and not that of a job in the foreground.
#[cfg(unix)]
pub(super) fn is_in_front() -> bool {
    use rustix::process::getpgrp;
    use rustix::termios::tcgetpgrp;

    tcgetpgrp(io::stdout()).map_or(true, |group| group == getpgrp())
}
