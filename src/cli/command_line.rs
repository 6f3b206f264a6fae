//! Command by which Claude Code runs this program, as its settings have it.

use std::path::Path;
use std::{env, fs};

use super::CliError;
use super::args::{PriceArgs, platform_name};

/// Name of this program.
const PROGRAM: &str = "cachesim";

/// Command with its options.
pub(super) struct CommandLine(Vec<String>);

impl CommandLine {
    /// Command of this program.
    pub(super) fn of(command: &str) -> Result<Self, CliError> {
        Ok(Self(vec![program()?, command.to_owned()]))
    }

    /// Adds an option.
    pub(super) fn add(&mut self, option: &str, value: &str) {
        self.0.extend([option.to_owned(), value.to_owned()]);
    }

    /// Adds the prices of the options.
    pub(super) fn add_prices(&mut self, args: &PriceArgs) -> Result<(), CliError> {
        for file in &args.files {
            // Claude Code runs the command in another folder, so paths must be absolute.
            let place = fs::canonicalize(file).map_err(CliError::unreadable("price file", file))?;
            self.add("--prices", &text_of(&place)?);
        }
        if args.platform.is_some()
            && let Some(platform) = platform_name(args.platform)
        {
            self.add("--platform", platform);
        }
        Ok(())
    }

    /// Command as a word list for a shell.
    pub(super) fn for_shell(&self) -> Result<String, CliError> {
        shlex::try_join(self.0.iter().map(String::as_str))
            .map_err(|error| CliError::Usage(format!("no shell takes such an option: {error}")))
    }
}

/// Name of this program in a shell if that leads here, otherwise its path.
fn program() -> Result<String, CliError> {
    let failed = |error| CliError::Usage(format!("cannot find this program: {error}"));
    let place = env::current_exe().and_then(fs::canonicalize).map_err(failed)?;
    let folders = env::var_os("PATH").unwrap_or_default();
    let first = env::split_paths(&folders)
        .map(|folder| folder.join(PROGRAM).with_extension(env::consts::EXE_EXTENSION))
        .find(|path| path.is_file());
    if first.and_then(|first| fs::canonicalize(first).ok()).is_some_and(|first| first == place) {
        return Ok(PROGRAM.to_owned());
    }
    text_of(&place)
}

fn text_of(path: &Path) -> Result<String, CliError> {
    let problem = || CliError::Usage(format!("{}: the name is no text", path.display()));
    path.to_str().map(str::to_owned).ok_or_else(problem)
}
