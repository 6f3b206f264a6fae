//! Command line: the only room that touches the terminal, the environment and exit codes.

mod args;
mod client_settings;
mod command_line;
mod commands;
mod configuration;
mod consent;
mod domains;
mod error;
mod folders;
mod input;
mod kept;
mod limits;
mod listed;
mod looking;
mod output;
mod output_file;
mod part_key;
mod parts;
mod places;
mod prepared;
mod progress;
mod rows;
mod runs;
mod say;
#[cfg(feature = "mcp")]
mod serving;
mod span;
mod strategies;
mod terminal;
mod typed;
#[cfg(feature = "watch")]
mod watching;

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
#[cfg(target_os = "linux")]
use std::io;
use std::io::Write;
use std::process::ExitCode;
#[cfg(unix)]
use std::sync::Arc;
use std::thread;
#[cfg(target_os = "linux")]
use std::time::Duration;
use std::{env, panic};

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{ArgMatches, Args, CommandFactory, FromArgMatches};
use rayon::ThreadPoolBuilder;

use args::{
    Cli, Command, FleetCommand, HelpForm, InputArgs, MemoryArgs, OutputArgs, RunArgs,
    assumption_of, parsing_program,
};
use error::CliError;
use input::{discovered, enough_memory, read_given, refuse_lost, shown_path, size, tell_damage};
use limits::Limits;
use looking::Looking;
use output::Output;
use output_file::OutputFile;
use prepared::{PreparedRun, Setup, tables, tell_unpriced};
use progress::Progress;
use runs::{StoredRun, with_own};
use say::{say, say_warnings, warn};
use strategies::{strategies, unknown_name};

use crate::explain::config::Configuration;
use crate::read::input::MemoryBound;
use crate::report::terminal_safe;

/// Runs the program, and returns its exit code.
pub fn main() -> ExitCode {
    outlive_full_files();
    // A panic is a bug and has its own exit code. The panic hook has printed its message by now.
    let ended = panic::catch_unwind(start);
    // An error or a panic leaves no answer that warnings would have to wait for.
    say_warnings();
    match ended {
        Ok(Ok(())) => ExitCode::from(error::DONE),
        Ok(Err(error)) => {
            let code = safe_for_hooks(error.exit_code());
            if code != error::DONE {
                error.lines().iter().for_each(|line| say(line));
            }
            ExitCode::from(code)
        }
        Err(_) => {
            say("this is a bug; please report it with the lines above");
            ExitCode::from(error::BUG)
        }
    }
}

/// Exit code that is safe for an event's hook: at 2, Claude Code would stop its work.
fn safe_for_hooks(code: u8) -> u8 {
    let commands = Cli::command();
    let is_command = |word: &OsString| commands.get_subcommands().any(|one| word == one.get_name());
    // The value of an option may have the name of a command.
    let words: Vec<OsString> = env::args_os().collect();
    let mut pairs = words.windows(2).filter(|pair| pair[0] != "--config");
    let is_hook = pairs.find(|pair| is_command(&pair[1])).is_some_and(|pair| pair[1] == "hook");
    if is_hook && code == error::USAGE { error::GATE_FAILED } else { code }
}

/// Parses the command line at most twice: as typed, to learn which configuration applies, and again with the
/// configured defaults if there are any.
///
/// So `--help` needs no configuration.
fn start() -> Result<(), CliError> {
    // Fitting all help into the terminal takes a millisecond, so it is done only if some of it is shown.
    let matches = parsing_program().try_get_matches_from(typed::words());
    let matches =
        matches.unwrap_or_else(|_| or_exit(program().try_get_matches_from(typed::words())));
    let typed = or_exit(Cli::from_arg_matches(&matches));
    let configuration = configuration::read(&typed.configuration)?;
    if is_quiet(&matches) {
        Progress::hide_all();
    } else {
        for told in configuration::unknown_variables() {
            warn(told);
        }
    }
    let cli = if configuration.is_plain() { typed } else { configuration::parse(&configuration) };
    run(&cli, &configuration)
}

/// Returns true if the command is to print nothing but errors.
fn is_quiet(matches: &ArgMatches) -> bool {
    match matches.subcommand() {
        Some((_, matches)) => is_quiet(matches),
        None => matches.try_get_one("quiet").ok().flatten().copied().unwrap_or_default(),
    }
}

/// Command line with help that fits the terminal.
fn program() -> clap::Command {
    // `-h`, or one of several flags in one word.
    let is_short = |word: &OsStr| {
        let flags = word.to_str().and_then(|word| word.strip_prefix('-')).unwrap_or_default();
        flags.ends_with('h') && flags.bytes().all(|flag| flag.is_ascii_alphabetic())
    };
    let is_short = env::args_os().take_while(|word| word != "--").any(|word| is_short(&word));
    args::fitted(Cli::command(), HelpForm { width: terminal::help_width().into(), is_short })
}

/// Tip on the limits of `check`, which are not options.
const LIMITS_TIP: &str =
    "limits are [[budget]] tables of cachesim.toml, such as metric = \"cost\" with max = \"$0.50\"";

/// Replaces a hidden option by its assumption in an error, and leads users who look for limits among the
/// options of `check` to their place.
fn with_tip(mut error: clap::Error) -> clap::Error {
    let Some(ContextValue::String(option)) = error.get(ContextKind::InvalidArg) else {
        return error;
    };
    if let Some(assumption) = assumption_of(option) {
        let option = ContextValue::String(assumption);
        error.insert(ContextKind::InvalidArg, option);
        error.remove(ContextKind::SuggestedArg);
        error.remove(ContextKind::Suggested);
        error.remove(ContextKind::TrailingArg);
        return error;
    }
    let is_limit = ["--max", "--min", "--budget"].iter().any(|limit| option.starts_with(limit));
    let is_of_check = env::args_os().any(|argument| argument == "check");
    if error.kind() == ErrorKind::UnknownArgument && is_limit && is_of_check {
        let tip = vec![LIMITS_TIP.into()];
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(tip));
    }
    error
}

/// Parsed value, or the end of the run with help or an error.
///
/// An error quotes its argument, which must not control a terminal or begin a line as a command.
fn or_exit<T>(parsed: Result<T, clap::Error>) -> T {
    parsed.unwrap_or_else(|error| {
        let error = with_tip(error);
        let text = error.render().to_string();
        let lines: Vec<_> = text.lines().map(terminal_safe).collect();
        if error.use_stderr() && lines.iter().any(|line| matches!(line, Cow::Owned(_))) {
            let _ignored = writeln!(anstream::stderr(), "{}", lines.join("\n"));
        } else {
            let _ignored = error.print();
        }
        let code = u8::try_from(error.exit_code()).unwrap_or(error::USAGE);
        std::process::exit(i32::from(safe_for_hooks(code)))
    })
}

fn run(cli: &Cli, configuration: &Configuration) -> Result<(), CliError> {
    match &cli.command {
        Command::Advise(args) => over(args, || commands::advise(args)),
        Command::Analyze(args) => over(args, || commands::analyze(args)),
        Command::Blocks(args) => over(args, || commands::blocks(args)),
        Command::Breaks(args) => over(args, || commands::breaks(args)),
        Command::Explain(args) => over(args, || commands::explain(args)),
        Command::Compare(args) => over(args, || commands::compare(args)),
        Command::Context(args) => over(args, || commands::context(args)),
        Command::Chart(args) => over(args, || commands::chart(args, configuration)),
        Command::Verify(args) => over(args, || commands::verify(args)),
        Command::Report(args) => over(args, || commands::report(args)),
        Command::Lint(args) => over(args, || commands::lint(args)),
        Command::Check(args) => over(args, || commands::check(args, configuration)),
        Command::Fleet { command: FleetCommand::Domains(args) } => {
            with_threads(&args.input, &args.output, || commands::domains(args))
        }
        Command::Fleet { command: FleetCommand::Part(args) } => {
            with_threads(&args.input, &args.output, || commands::part(args))
        }
        Command::Fleet { command: FleetCommand::Gather(args) } => commands::gather(args),
        Command::Place(args) => within(args.memory).and_then(|()| commands::place(args)),
        Command::Hook(args) => commands::hook(args),
        Command::Mcp(args) => {
            // It runs until the client leaves: warnings would wait as long.
            say_warnings();
            commands::mcp(args, &cli.configuration)
        }
        Command::Tokens(args) => commands::tokens(args),
        Command::Redact(args) => within(args.memory).and_then(|()| commands::redact(args)),
        Command::Fork(args) => commands::fork(args),
        Command::Prices(args) => commands::prices(args),
        Command::Init(args) => commands::init(args),
        Command::Config(args) => commands::config(args, configuration),
        Command::Sources(args) => in_pool(ThreadPoolBuilder::new(), || commands::sources(args)),
        Command::Statusline(args) => commands::statusline(args),
        Command::Watch(args) => {
            say_warnings();
            commands::watch(args)
        }
        Command::Strategies(args) => commands::strategies(args),
        Command::Schema(args) => commands::schema(args),
        Command::Completions(args) => commands::completions(args),
        Command::Man(args) => commands::man(args),
    }
}

/// Runs a command over requests, with its threads.
fn over<O: Args, F: Args>(
    args: &RunArgs<O, F>,
    work: impl FnOnce() -> Result<(), CliError> + Send,
) -> Result<(), CliError> {
    with_threads(&args.input, &args.output, work)
}

/// Most threads of this run for each core: more of them only wait for each other.
const MOST_THREADS: usize = 4;

fn with_threads<T: Send>(
    input: &InputArgs,
    output: &OutputArgs,
    work: impl FnOnce() -> Result<T, CliError> + Send,
) -> Result<T, CliError> {
    within(input.memory)?;
    let mut pool = ThreadPoolBuilder::new();
    if let Some(jobs) = input.jobs {
        let most = MOST_THREADS * thread::available_parallelism().map_or(1, usize::from);
        let threads = usize::from(jobs).min(most);
        if threads < usize::from(jobs) && output.verbose {
            warn(format!("--jobs {jobs}: {threads} threads run, four for each core"));
        }
        pool = pool.num_threads(threads);
    }
    in_pool(pool, work)
}

fn in_pool<T: Send>(
    pool: ThreadPoolBuilder,
    work: impl FnOnce() -> Result<T, CliError> + Send,
) -> Result<T, CliError> {
    let failed = |error| CliError::Usage(format!("cannot start the threads: {error}"));
    pool.build().map_err(failed)?.install(work)
}

/// Bounds the memory of the run. Readers check it themselves (`read/input/bounds.rs`); after reading, a
/// thread does.
fn within(memory: MemoryArgs) -> Result<(), CliError> {
    memory.max_memory.map_or(Ok(()), |bytes| limit_memory(MemoryBound(bytes)))
}

/// Time between two checks of the memory. Filling an eighth of it takes longer.
#[cfg(target_os = "linux")]
const BETWEEN_LOOKS: Duration = Duration::from_millis(2);

/// Factor by which reservations may exceed the bound, written to or not. Allocations beyond it fail.
#[cfg(target_os = "linux")]
const MOST_RESERVED: u64 = 4;

#[cfg(target_os = "linux")]
fn limit_memory(bound: MemoryBound) -> Result<(), CliError> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    use signal_hook::consts::SIGABRT;
    use std::sync::atomic::AtomicBool;

    let failed = |error: io::Error| CliError::Usage(format!("--max-memory: {error}"));
    let Rlimit { maximum, .. } = getrlimit(Resource::Data);
    let reserved = bound.0.saturating_mul(MOST_RESERVED);
    // The soft limit must not exceed the hard one.
    let current = Some(maximum.map_or(reserved, |maximum| reserved.min(maximum)));
    setrlimit(Resource::Data, Rlimit { current, maximum }).map_err(|error| failed(error.into()))?;
    // A failed allocation aborts, with a line that has its size.
    let code = i32::from(error::NO_INPUT);
    let always = Arc::new(AtomicBool::new(true));
    signal_hook::flag::register_conditional_shutdown(SIGABRT, code, always).map_err(failed)?;
    bound.set();
    let look = move || {
        while !bound.is_reached() {
            thread::sleep(BETWEEN_LOOKS);
        }
        // Exiting runs no destructors, so temporary files are removed first.
        output_file::end_with(|| {
            say_warnings();
            let error = CliError::memory();
            say(&error.to_string());
            std::process::exit(i32::from(error.exit_code()))
        });
    };
    thread::Builder::new().name("memory".to_owned()).spawn(look).map(drop).map_err(failed)
}

#[cfg(not(target_os = "linux"))]
fn limit_memory(_: MemoryBound) -> Result<(), CliError> {
    let message = "--max-memory: this system keeps no bound of memory; leave it out, or use Linux";
    Err(CliError::Usage(message.to_owned()))
}

/// Lets writes beyond the limit of a file's size (`ulimit -f`) fail as on a full disk. By default the signal
/// ends the program in the middle.
fn outlive_full_files() {
    #[cfg(unix)]
    signal_hook::flag::register(signal_hook::consts::SIGXFSZ, Arc::default()).ok();
}
