//! Signals by which the system and the user ask for something.

use std::io;
use std::sync::mpsc::Sender;

use super::Signal;

/// Sends what is asked for. A second signal to end does that at once: the watch may wait for whoever reads its lines.
#[cfg(unix)]
pub(super) fn listen(sender: &Sender<Signal>) -> io::Result<()> {
    use std::thread;

    use super::screen::give_back;
    use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP};
    use signal_hook::iterator::Signals;

    let is_heard = |signal: &i32| !is_ignored(*signal);
    let heard = [SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP].into_iter().filter(is_heard);
    let mut signals = Signals::new(heard)?;
    let sender = sender.clone();
    let answer = move || {
        let mut was_asked = false;
        for signal in signals.forever() {
            if signal == SIGTSTP {
                drop(sender.send(Signal::Stop));
                continue;
            }
            if was_asked {
                give_back();
                std::process::exit(128 + signal);
            }
            was_asked = true;
            drop(sender.send(Signal::End));
        }
    };
    thread::Builder::new().name("signals".to_owned()).spawn(answer).map(drop)
}

/// The console ends the program.
#[cfg(not(unix))]
pub(super) fn listen(_: &Sender<Signal>) -> io::Result<()> {
    Ok(())
}

/// Whether whoever started the program had a signal ignored, as `nohup` does. Only Linux says so.
#[cfg(unix)]
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}
