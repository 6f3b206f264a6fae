//! Output of the program: its place and its form.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::io::{BufWriter, IsTerminal, StdoutLock, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::{env, fs, io};

use super::args::{ColorArg, DocumentArgs, Json, OutputArgs, OutputFormat, WrittenArgs};
use super::say::COUNTS_WARNINGS;
use super::terminal::{height, is_dumb, width};
use super::{CliError, OutputFile};
use crate::report::{Document, TextStyle};

/// Open output.
pub(super) struct Output {
    writer: Target,
    style: TextStyle,
}

enum Target {
    Standard(BufWriter<StdoutLock<'static>>),
    /// File with the path that the user gave for it.
    File(BufWriter<OutputFile>, PathBuf),
}

impl Output {
    /// Opens the output before the long work, so that a bad path fails early.
    pub(super) fn open(args: &OutputArgs) -> Result<Self, CliError> {
        let mut output = Self::of_text(args)?.fitted(args.all);
        output.style.notes = args.notes;
        let is_cut = output.style.height.is_some() && !args.notes && !args.verbose;
        COUNTS_WARNINGS.store(is_cut && io::stderr().is_terminal(), Ordering::Relaxed);
        Ok(output)
    }

    /// Fits the document to the height of a terminal, unless all of it is asked for.
    pub(super) fn fitted(mut self, all: bool) -> Self {
        self.style.height = height(self.is_terminal()).filter(|_| !all);
        self
    }

    /// Opens the output of a command that writes no document.
    pub(super) fn of_text(args: &WrittenArgs) -> Result<Self, CliError> {
        if args.output.as_os_str() != "-" {
            return Self::to_file(&args.output, args.color);
        }
        Ok(Self::standard(args.color))
    }

    /// Opens standard output.
    pub(super) fn standard(color: ColorArg) -> Self {
        let style = style(color, io::stdout().is_terminal());
        Self { writer: Target::Standard(BufWriter::new(io::stdout().lock())), style }
    }

    /// Opens a file, which is replaced once everything is written.
    pub(super) fn to_file(path: &Path, color: ColorArg) -> Result<Self, CliError> {
        let file = OutputFile::open(path).map_err(CliError::unwritable(path))?;
        let writer = Target::File(BufWriter::new(file), path.to_owned());
        Ok(Self { writer, style: style(color, false) })
    }

    /// Returns true if the output is a terminal.
    pub(super) fn is_terminal(&self) -> bool {
        matches!(self.writer, Target::Standard(_)) && io::stdout().is_terminal()
    }

    /// Returns true if everything is written, and not only what fits on a screen.
    pub(super) fn is_whole(&self) -> bool {
        self.style.height.is_none()
    }

    /// File that is replaced, with links resolved. `None` for streams and devices.
    pub(super) fn place(&self) -> Option<&Path> {
        match &self.writer {
            Target::Standard(_) => None,
            Target::File(file, _) => file.get_ref().place(),
        }
    }

    /// Writes a result in a format. The document is made only if it is shown.
    pub(super) fn show<O, E>(
        self,
        format: OutputFormat<O>,
        document: impl FnOnce() -> Result<Document, CliError>,
        own: impl FnOnce(O, &mut dyn Write) -> Result<(), E>,
    ) -> Result<(), CliError>
    where
        CliError: From<E>,
    {
        match format {
            OutputFormat::Text => self.text(&document()?),
            OutputFormat::Markdown => {
                let document = document()?;
                self.write::<io::Error>(|out| out.write_all(document.to_markdown().as_bytes()))
            }
            OutputFormat::Own(format) => self.write(|out| own(format, out)),
        }
    }

    /// Writes a document for a terminal, followed by lines: unchanged, or on a terminal as `readable` formats
    /// them for its width.
    pub(super) fn text_before(
        self,
        document: &Document,
        lines: &str,
        readable: impl FnOnce(&str, u16) -> String,
    ) -> Result<(), CliError> {
        let (style, is_terminal) = (self.style, self.is_terminal());
        self.write::<io::Error>(|out| {
            document.write_text(style, out)?;
            let lines =
                if is_terminal { readable(lines, style.width).into() } else { Cow::from(lines) };
            out.write_all(lines.as_bytes())
        })
    }

    /// Writes a document for a terminal.
    pub(super) fn text(self, document: &Document) -> Result<(), CliError> {
        let style = self.style;
        self.write::<io::Error>(|out| document.write_text(style, out))
    }

    /// Writes, and moves a file to its place if nothing failed.
    pub(super) fn write<E>(
        self,
        write: impl FnOnce(&mut dyn Write) -> Result<(), E>,
    ) -> Result<(), CliError>
    where
        CliError: From<E>,
    {
        // Behind a reference, so that `written` is compiled once for all closures.
        let mut write = Some(write);
        self.written(&mut |out| match write.take() {
            Some(write) => write(out).map_err(CliError::from),
            None => Ok(()),
        })
    }

    /// Writes by calling `write` once.
    fn written(
        self,
        write: &mut dyn FnMut(&mut dyn Write) -> Result<(), CliError>,
    ) -> Result<(), CliError> {
        match self.writer {
            Target::Standard(mut out) => {
                write(&mut out)?;
                Ok(out.flush()?)
            }
            Target::File(mut file, path) => {
                // A failed write is about this file, so the error names its path.
                let failed = CliError::unwritable(&path);
                write(&mut file).map_err(|error| match error {
                    CliError::Write(source) => failed(source),
                    other => other,
                })?;
                finish(file).map_err(failed)
            }
        }
    }
}

impl DocumentArgs {
    /// Writes a document, or the same for programs.
    pub(super) fn show(
        &self,
        document: impl FnOnce() -> Document,
        json: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), CliError> {
        let output = Output::open(&self.output)?;
        output.show(self.format.chosen, || Ok(document()), |Json, out| json(out))
    }
}

/// Form of a document of any length, with its notes.
fn style(color: ColorArg, is_terminal: bool) -> TextStyle {
    TextStyle {
        width: width(is_terminal),
        bold: bold(color, is_terminal),
        bars: is_terminal && !is_dumb(),
        height: None,
        notes: true,
    }
}

/// Refuses a terminal as the output, which cannot show it.
pub(super) fn refuse_terminal(output: &WrittenArgs, message: &str) -> Result<(), CliError> {
    let is_terminal = output.output.as_os_str() == "-" && io::stdout().is_terminal();
    if is_terminal { Err(CliError::Usage(message.to_owned())) } else { Ok(()) }
}

/// Refuses a file name that promises another format, as the file would not open.
///
/// Names without a known extension are left to the user.
pub(super) fn refuse_other_formats(output: &Path, own: &[&str]) -> Result<(), CliError> {
    const KNOWN: [&str; 11] =
        ["pdf", "jpg", "jpeg", "gif", "webp", "html", "htm", "json", "csv", "svg", "png"];
    let name = output.extension().and_then(OsStr::to_str).map(str::to_ascii_lowercase);
    let is_other = |name: &String| KNOWN.contains(&name.as_str()) && !own.contains(&name.as_str());
    match name.filter(is_other) {
        Some(name) => Err(CliError::Usage(format!(
            "-o {}: the output is no .{name}; name the file .{}",
            output.display(),
            own.join(" or ."),
        ))),
        None => Ok(()),
    }
}

/// Flushes the buffer and moves the file to its place.
pub(super) fn finish(file: BufWriter<OutputFile>) -> io::Result<()> {
    file.into_inner()?.finish()
}

/// Writes files into a folder, and creates the folder if it is missing.
pub(super) fn write_files(
    folder: &Path,
    files: impl IntoIterator<Item = (String, Vec<u8>)>,
) -> Result<(), CliError> {
    fs::create_dir_all(folder).map_err(CliError::unwritable(folder))?;
    let mut files = files.into_iter();
    files.try_for_each(|(name, bytes)| replace(&folder.join(name), |out| out.write_all(&bytes)))
}

/// Writes a file as a whole.
pub(super) fn replace(
    place: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), CliError> {
    let written = || {
        let mut out = BufWriter::new(OutputFile::open(place)?);
        write(&mut out)?;
        finish(out)
    };
    written().map_err(CliError::unwritable(place))
}

/// Returns true if a terminal is written to with colours.
#[cfg(feature = "watch")]
pub(super) fn has_colours(color: ColorArg) -> bool {
    bold(color, true)
}

fn bold(color: ColorArg, is_terminal: bool) -> bool {
    match color {
        ColorArg::Always => true,
        ColorArg::Never => false,
        ColorArg::Auto => {
            // By its convention, NO_COLOR counts only if it is not empty.
            let is_refused =
                env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty()) || is_dumb();
            let is_forced = env::var_os("CLICOLOR_FORCE").is_some_and(|value| value != "0");
            (is_terminal || is_forced) && !is_refused
        }
    }
}
