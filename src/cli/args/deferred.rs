//! Options of a command that are built only if the command is run.

use std::cell::Cell;
use std::ops::Deref;

use clap::{ArgMatches, Args, Command, Error, FromArgMatches};

/// Options of a command, built late.
#[derive(Debug)]
pub(in crate::cli) struct Deferred<T>(pub(in crate::cli) T);

thread_local! {
    /// True while the options of commands are left to be built later.
    static DEFERS: Cell<bool> = const { Cell::new(false) };
}

/// Program whose commands have their options built once they are run.
pub(super) fn deferring(program: impl FnOnce() -> Command) -> Command {
    // A flag outside, as clap passes nothing on to `augment_args`.
    DEFERS.set(true);
    let program = program();
    DEFERS.set(false);
    program
}

impl<T> Deref for Deferred<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Args> Args for Deferred<T> {
    fn augment_args(command: Command) -> Command {
        if DEFERS.get() { command.defer(T::augment_args) } else { T::augment_args(command) }
    }

    fn augment_args_for_update(command: Command) -> Command {
        T::augment_args_for_update(command)
    }
}

impl<T: Args> FromArgMatches for Deferred<T> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        T::from_arg_matches(matches).map(Self)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        self.0.update_from_arg_matches(matches)
    }
}
