//! Where the output goes and how wide it is.

use std::env;
use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, IsTerminal, Write};

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

/// A file whose old content goes with the first write.
struct Replacing {
    file: File,
    is_empty: bool,
}

impl Write for Replacing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.is_empty {
            self.file.set_len(0)?;
            self.is_empty = true;
        }
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
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
        let is_standard = args.output.as_os_str() == "-";
        let writer: Box<dyn Write> = if is_standard {
            Box::new(BufWriter::new(io::stdout().lock()))
        } else {
            let path = &args.output;
            // Emptied only when there is something to write: what stands there outlives an error.
            let file = OpenOptions::new()
                .write(true)
                .create(true)
                .truncate(false)
                .open(path)
                .map_err(|source| CliError::OutputFile { path: path.clone(), source })?;
            Box::new(BufWriter::new(Replacing { file, is_empty: false }))
        };
        let is_terminal = is_standard && io::stdout().is_terminal();
        let style = TextStyle { width: width(is_terminal), bold: bold(args.color, is_terminal) };
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
