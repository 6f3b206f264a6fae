//! The command line: the only room that touches the terminal, the environment and exit codes.

mod args;
mod commands;
mod configuration;
mod error;
mod gate;
mod input;
mod limits;
mod output;
mod prepared;
mod strategies;

use std::borrow::Cow;
use std::io::Write;
use std::process::ExitCode;
use std::{env, panic};

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{ArgMatches, CommandFactory, FromArgMatches};

use args::{Cli, Command};
use error::CliError;
use output::say;

use crate::explain::config::Configuration;
use crate::report::terminal_safe;

/// Runs the program.
#[must_use]
pub fn main() -> ExitCode {
    // A panic is a bug and has its own exit code. The panic hook has printed its message by now.
    match panic::catch_unwind(start) {
        Ok(Ok(())) => ExitCode::from(error::DONE),
        Ok(Err(error)) => {
            let code = error.exit_code();
            if code != error::DONE {
                say(&error.to_string());
            }
            ExitCode::from(code)
        }
        Err(_) => {
            say("this is a bug; please report it with the lines above");
            ExitCode::from(error::BUG)
        }
    }
}

/// Parses the command line twice at most: once as typed, to learn which configuration applies, and
/// again with the configured defaults where there are any. So `--help` needs no configuration.
fn start() -> Result<(), CliError> {
    let matches = or_exit(program().try_get_matches());
    let typed = or_exit(Cli::from_arg_matches(&matches));
    let configuration = configuration::read(&typed.configuration)?;
    if !is_quiet(&matches) {
        for told in configuration::unknown_variables() {
            say(&told);
        }
    }
    let cli = if configuration.is_plain() { typed } else { configuration::parse(&configuration) };
    run(&cli, &configuration)
}

/// Whether the command is to say nothing but errors.
fn is_quiet(matches: &ArgMatches) -> bool {
    match matches.subcommand() {
        Some((_, matches)) => is_quiet(matches),
        None => matches.try_get_one("quiet").ok().flatten().copied().unwrap_or_default(),
    }
}

/// The command line, with help that fits the terminal.
fn program() -> clap::Command {
    args::fitted(Cli::command(), usize::from(output::help_width()))
}

/// The limits of `check`, which are no options.
const LIMITS_TIP: &str =
    "limits are [[budget]] tables of cachesim.toml, such as metric = \"cost\" with max = \"$0.50\"";

/// Leads who looks for limits among the options of `check` to the place where they are.
fn with_tip(mut error: clap::Error) -> clap::Error {
    let Some(ContextValue::String(option)) = error.get(ContextKind::InvalidArg) else {
        return error;
    };
    let is_limit = ["--max", "--min", "--budget"].iter().any(|limit| option.starts_with(limit));
    let is_of_check = env::args_os().any(|argument| argument == "check");
    if error.kind() == ErrorKind::UnknownArgument && is_limit && is_of_check {
        let tip = vec![LIMITS_TIP.into()];
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(tip));
    }
    error
}

/// What was typed, or the end of the run with help or an error. An error quotes its argument, which
/// must not control a terminal or begin a line as a command.
fn or_exit<T>(parsed: Result<T, clap::Error>) -> T {
    parsed.unwrap_or_else(|error| {
        let error = with_tip(error);
        let text = error.render().to_string();
        let lines: Vec<_> = text.lines().map(terminal_safe).collect();
        if error.use_stderr() && lines.iter().any(|line| matches!(line, Cow::Owned(_))) {
            let _ignored = writeln!(anstream::stderr(), "{}", lines.join("\n"));
            std::process::exit(error.exit_code());
        }
        error.exit()
    })
}

fn run(cli: &Cli, configuration: &Configuration) -> Result<(), CliError> {
    match &cli.command {
        Command::Advise(args) => with_threads(args.input.jobs, || commands::advise(args)),
        Command::Analyze(args) => with_threads(args.input.jobs, || commands::analyze(args)),
        Command::Breaks(args) => with_threads(args.input.jobs, || commands::breaks(args)),
        Command::Explain(args) => with_threads(args.input.jobs, || commands::explain(args)),
        Command::Compare(args) => with_threads(args.input.jobs, || commands::compare(args)),
        Command::Context(args) => with_threads(args.input.jobs, || commands::context(args)),
        Command::Chart(args) => {
            with_threads(args.input.jobs, || commands::chart(args, configuration))
        }
        Command::Verify(args) => with_threads(args.input.jobs, || commands::verify(args)),
        Command::Report(args) => with_threads(args.input.jobs, || commands::report(args)),
        Command::Place(args) => commands::place(args),
        Command::Lint(args) => with_threads(args.input.jobs, || commands::lint(args)),
        Command::Redact(args) => commands::redact(args),
        Command::Fork(args) => commands::fork(args),
        Command::Prices(args) => commands::prices(args),
        Command::Check(args) => {
            with_threads(args.input.jobs, || commands::check(args, configuration))
        }
        Command::Config(args) => commands::config(args, configuration),
        Command::Strategies(args) => commands::strategies(args),
        Command::Schema(args) => commands::schema(args),
        Command::Completions(args) => commands::completions(args),
        Command::Man(args) => commands::man(args),
    }
}

fn with_threads(
    jobs: Option<u16>,
    work: impl FnOnce() -> Result<(), CliError> + Send,
) -> Result<(), CliError> {
    let mut pool = rayon::ThreadPoolBuilder::new();
    if let Some(jobs) = jobs {
        pool = pool.num_threads(usize::from(jobs));
    }
    let pool = pool
        .build()
        .map_err(|error| CliError::Usage(format!("--jobs: cannot start the threads: {error}")))?;
    pool.install(work)
}
