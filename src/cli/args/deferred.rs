//! The options of a command, which need not be put together where another command is run.

use std::cell::Cell;
use std::ops::Deref;

use clap::{ArgMatches, Args, Command, CommandFactory as _, Error, FromArgMatches};

use super::Cli;

/// The options of a command.
#[derive(Debug)]
pub(in crate::cli) struct Deferred<T>(pub(in crate::cli) T);

thread_local! {
    /// Whether options are put together once it is known which command is run.
    static DEFERS: Cell<bool> = const { Cell::new(false) };
}

/// The program with the options of the command alone that a command line names: to put all together takes longer than
/// everything else at the start. It parses what [`Cli::command`] parses. Its help and its errors are not for people:
/// whoever sees some parses again.
pub(in crate::cli) fn parsing_program() -> Command {
    DEFERS.set(true);
    let program = Cli::command();
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
