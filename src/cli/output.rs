//! Where the output goes and how wide it is.

use std::env;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};

use super::args::{ColorArg, OutputArgs};
use super::error::CliError;
use crate::report::{Document, TextStyle};

/// The width where there is no terminal, so that logs are reproducible.
const DEFAULT_WIDTH: u16 = 120;

/// Tables need some room; a narrower terminal wraps them itself.
const LEAST_WIDTH: u16 = 80;

/// Says something on standard error. Nobody listening is no reason to stop.
pub(super) fn say(text: &str) {
    let _ignored = writeln!(anstream::stderr(), "cachesim: {text}");
}

/// A file whose old content goes with the first write. One that was not there before, and to which
/// nothing was written for an error, is not there afterwards.
struct Replacing {
    file: File,
    is_empty: bool,
    /// The file, while it is new and nothing is known to be finished.
    unfinished: Option<PathBuf>,
}

impl Drop for Replacing {
    fn drop(&mut self) {
        if let Some(path) = self.unfinished.take().filter(|_| !self.is_empty) {
            // What cannot be removed stays, as an empty file.
            let _ignored = fs::remove_file(path);
        }
    }
}

impl Write for Replacing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.is_empty {
            // Devices and pipes have no old content.
            if self.file.metadata()?.is_file() {
                self.file.set_len(0)?;
            }
            self.is_empty = true;
        }
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.unfinished = None;
        self.file.flush()
    }
}

/// An open output.
pub(super) struct Output {
    writer: Box<dyn Write>,
    style: TextStyle,
}

impl Output {
    /// Opens the output, before the long work, so that a bad path fails early.
    pub(super) fn open(args: &OutputArgs) -> Result<Self, CliError> {
        if args.output.as_os_str() != "-" {
            return Self::to_file(&args.output, args.color);
        }
        let is_terminal = io::stdout().is_terminal();
        let style = TextStyle { width: width(is_terminal), bold: bold(args.color, is_terminal) };
        Ok(Self { writer: Box::new(BufWriter::new(io::stdout().lock())), style })
    }

    /// Opens a file.
    pub(super) fn to_file(path: &Path, color: ColorArg) -> Result<Self, CliError> {
        let is_new = !path.exists();
        // Emptied only when there is something to write: what stands there outlives an error.
        let file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)
            .map_err(|source| CliError::OutputFile { path: path.to_owned(), source })?;
        let writer = Box::new(BufWriter::new(Replacing {
            file,
            is_empty: false,
            unfinished: is_new.then(|| path.to_owned()),
        }));
        let style = TextStyle { width: width(false), bold: bold(color, false) };
        Ok(Self { writer, style })
    }

    pub(super) fn text(mut self, document: &Document) -> Result<(), CliError> {
        self.writer.write_all(document.to_text(self.style).as_bytes())?;
        self.close()
    }

    pub(super) fn markdown(mut self, document: &Document) -> Result<(), CliError> {
        self.writer.write_all(document.to_markdown().as_bytes())?;
        self.close()
    }

    pub(super) fn write(
        mut self,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), CliError> {
        write(&mut self.writer)?;
        self.close()
    }

    fn close(mut self) -> Result<(), CliError> {
        Ok(self.writer.flush()?)
    }
}

/// Writes files into a folder, which is made where it is missing.
pub(super) fn write_files(
    folder: &Path,
    files: impl IntoIterator<Item = (String, Vec<u8>)>,
) -> Result<(), CliError> {
    let fail = |path: &Path, source| CliError::OutputFile { path: path.to_owned(), source };
    fs::create_dir_all(folder).map_err(|source| fail(folder, source))?;
    for (name, bytes) in files {
        let path = folder.join(name);
        fs::write(&path, bytes).map_err(|source| fail(&path, source))?;
    }
    Ok(())
}

fn width(is_terminal: bool) -> u16 {
    let from_environment = env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let from_terminal = || terminal_size::terminal_size().map(|(width, _)| width.0);
    from_environment
        .or_else(|| is_terminal.then(from_terminal).flatten())
        .unwrap_or(DEFAULT_WIDTH)
        .max(LEAST_WIDTH)
}

fn bold(color: ColorArg, is_terminal: bool) -> bool {
    match color {
        ColorArg::Always => true,
        ColorArg::Never => false,
        ColorArg::Auto => {
            let is_refused = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
                || env::var_os("TERM").is_some_and(|term| term == "dumb");
            let is_forced = env::var_os("CLICOLOR_FORCE").is_some_and(|value| value != "0");
            (is_terminal || is_forced) && !is_refused
        }
    }
}
