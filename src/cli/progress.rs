//! Bar of long work on a terminal, with what is being done.

use std::env;
use std::io::{self, IsTerminal as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Time without a bar.
const QUIET_TIME: Duration = Duration::from_secs(1);

/// Time between two drawings while nothing is added.
const TICK: Duration = Duration::from_millis(250);

/// True if no bar is drawn.
static IS_HIDDEN: AtomicBool = AtomicBool::new(false);

/// Bar that appears if the work is long, and is gone with this value.
pub(super) struct Progress(ProgressBar);

impl Progress {
    /// Lets no later bar be drawn: the command is to be quiet, or its results go to the terminal while it works.
    pub(super) fn hide_all() {
        IS_HIDDEN.store(true, Ordering::Relaxed);
    }

    /// Bar of some bytes.
    pub(super) fn of_bytes(doing: &'static str, total: u64) -> Self {
        Self::new(doing, "{spinner} {msg}  {bar:24} {bytes} of {total_bytes}  {eta}", total)
    }

    /// Bar of some steps.
    pub(super) fn of_steps(doing: &'static str, total: u64) -> Self {
        Self::new(doing, "{spinner} {msg}  {bar:24} {pos} of {len}", total)
    }

    fn new(doing: &'static str, template: &str, total: u64) -> Self {
        let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::hidden());
        bar.set_message(doing);
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        // Some CI systems act as a terminal; their logs would keep every state of the bar.
        let is_hidden = IS_HIDDEN.load(Ordering::Relaxed);
        if !is_hidden && io::stderr().is_terminal() && env::var_os("CI").is_none() {
            let later = bar.downgrade();
            let appear = move || {
                thread::sleep(QUIET_TIME);
                if let Some(bar) = later.upgrade().filter(|bar| !bar.is_finished()) {
                    bar.set_draw_target(ProgressDrawTarget::stderr());
                    bar.enable_steady_tick(TICK);
                }
            };
            // Without a thread there is no bar.
            drop(thread::Builder::new().spawn(appear));
        }
        Self(bar)
    }

    /// Adds work that is done.
    pub(super) fn add(&self, done: u64) {
        self.0.inc(done);
    }

    /// Ends a step, and says what the next one does.
    pub(super) fn next(&self, doing: &'static str) {
        self.0.set_message(doing);
        self.add(1);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
