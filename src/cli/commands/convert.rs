//! Commands that write their input in another form: `redact` and `place`.

use std::collections::HashSet;
use std::fs;
use std::io::{self, BufWriter, IsTerminal as _, Read, Write};
use std::path::{Path, PathBuf};

use ruzstd::encoding::{CompressionLevel, compress_to_vec};

use crate::cli::args::{Json, OutputFormat, PlaceArgs, RedactArgs};
use crate::cli::input::{name_damage, name_foreign_files, sources};
use crate::cli::output::finish;
use crate::cli::output_file::is_temporary;
use crate::cli::{
    CliError, Output, OutputFile, Progress, enough_memory, say, size, tell_damage, warn,
};
use crate::read::harness::{Harness, place_lines};
use crate::read::input::{Diagnostics, Exceeded, Kind, Location, OpenSource, Source, discover};
use crate::redact::{Extent, Outline, Recognised, Redaction, Survey, as_lines, kept};
use crate::report::{counted, grouped, kept_document, write_kept, write_record};

/// Bytes in a frame of a Zstandard file.
///
/// The library has no streaming encoder, so a file is made of whole frames; each begins without the text
/// before it, which costs less with larger frames.
const FRAME: usize = 8 << 20;

/// File name of standard input in an output folder.
const STANDARD_INPUT: &str = "stdin.jsonl";

/// Source, with the number of the argument that named it.
struct Input {
    source: Source,
    /// Way to walk through it, if it could be opened.
    outline: Option<Outline>,
    argument: usize,
    /// File that it comes from, if it is one.
    file: Option<PathBuf>,
    /// Number of bytes that the first pass read.
    surveyed: u64,
}

impl Input {
    fn survey(&self, survey: &mut Survey) -> io::Result<Extent> {
        match self.outline {
            Some(outline) => survey.read_as(&self.source, outline),
            None => survey.read(&self.source),
        }
    }

    fn write(&self, redaction: &Redaction, out: &mut dyn Write) -> io::Result<Extent> {
        match self.outline {
            Some(outline) => redaction.write_as(&self.source, outline, out),
            None => redaction.write(&self.source, out),
        }
    }
}

/// Zstandard file: a frame for each write, and an empty frame if nothing is written.
struct Frames<W> {
    file: W,
    is_begun: bool,
}

impl<W: Write> Write for Frames<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.is_begun = true;
        self.file.write_all(&compress_to_vec(bytes, CompressionLevel::Fastest))?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if !self.is_begun {
            self.write(&[])?;
        }
        self.file.flush()
    }
}

/// Place of the output.
enum Target {
    StandardOutput,
    File(PathBuf),
    Folder(PathBuf),
}

impl Target {
    /// Opens a single output file before the long work, so that a bad path fails early.
    fn open(&self) -> Result<Option<OutputFile>, CliError> {
        match self {
            Self::File(path) => Ok(Some(open(path)?)),
            Self::StandardOutput | Self::Folder(_) => Ok(None),
        }
    }
}

/// Sums over the redacted files.
#[derive(Default)]
struct RedactedSums {
    files: u64,
    lines: u64,
    bytes: u64,
    strings: u64,
}

/// Writes sessions and captures without their text.
pub(in crate::cli) fn redact(args: &RedactArgs) -> Result<(), CliError> {
    if args.explain {
        return explain(args);
    }
    if !matches!(args.format.chosen, OutputFormat::Text) {
        let message = "--format: only --explain has formats; what is redacted keeps its own";
        return Err(CliError::Usage(message.to_owned()));
    }
    let target = target(args)?;
    let mut diagnostics = Diagnostics::default();
    let inputs = inputs(args, &mut diagnostics)?;
    let naming = args.naming.naming();
    refuse_to_overwrite(args, &inputs, &target)?;
    let opened = target.open()?;
    let mut survey = Survey::default();
    // The first pass finds the key and the words that must not appear by chance; the second one replaces.
    let readable = surveyed(inputs, &mut survey, &mut diagnostics);
    diagnostics.name_files(|label| naming.label(label));
    enough_memory(&diagnostics)?;
    if !args.output.quiet {
        name_foreign_files(&diagnostics, readable.len());
        name_damage(&diagnostics, args.output.verbose);
    }
    let redaction = survey.finish(args.tool_names());
    let sums = write_all(&readable, &redaction, (&target, opened, args.inputs.len()))?;
    if !args.output.quiet {
        say(&format!(
            "redacted {} and {} bytes in {}; {} strings were looked at. Lengths, times and {} stay",
            counted(sums.lines, "line", "lines"),
            grouped(sums.bytes),
            counted(sums.files, "file", "files"),
            grouped(sums.strings),
            args.kept(),
        ));
    }
    if args.strict && diagnostics.has_damage() {
        return Err(CliError::DamagedInput);
    }
    Ok(())
}

/// Lists the data that stays, by the tables of the redactor.
fn explain(args: &RedactArgs) -> Result<(), CliError> {
    let output = Output::open(&args.output)?;
    let kept = kept(args.tool_names());
    let document = || Ok(kept_document(&kept));
    output.show(args.format.chosen, document, |Json, out| write_kept(&kept, out))
}

fn target(args: &RedactArgs) -> Result<Target, CliError> {
    let path = &args.output.output;
    let is_one_file = args.inputs.len() == 1 && !args.inputs[0].is_dir();
    if path.as_os_str() == "-" {
        return if is_one_file {
            Ok(Target::StandardOutput)
        } else {
            let message =
                "--output: what is read from a folder needs a folder; give one with -o FOLDER";
            Err(CliError::Usage(message.to_owned()))
        };
    }
    if is_one_file && !path.is_dir() {
        return Ok(Target::File(path.clone()));
    }
    let is_empty = match fs::read_dir(path) {
        // Files that a killed run left are removed with the first new file.
        Ok(entries) => entries.flatten().all(|entry| is_temporary(&entry.file_name())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => true,
        Err(source) => return Err(CliError::OutputFile { path: path.clone(), source }),
    };
    if !is_empty {
        let path = path.display();
        return Err(CliError::Usage(format!(
            "--output: {path} is not empty; give a new folder, so that nothing old is mixed in"
        )));
    }
    Ok(Target::Folder(path.clone()))
}

/// Sources of the arguments, each once.
fn inputs(args: &RedactArgs, diagnostics: &mut Diagnostics) -> Result<Vec<Input>, CliError> {
    let mut seen = HashSet::new();
    let mut inputs = Vec::new();
    let mut left = Vec::new();
    for (argument, path) in args.inputs.iter().enumerate() {
        let discovered = discover(std::slice::from_ref(path));
        diagnostics.absorb(discovered.diagnostics);
        for source in discovered.sources {
            // Arguments may overlap, such as a folder and a file in it.
            if !seen.insert(identity(&source)) {
                continue;
            }
            match input(source, argument)? {
                Found::Input(input) => inputs.push(input),
                Found::Left(why) => left.push(why),
                Found::NoSession => {}
            }
        }
    }
    if !args.output.quiet {
        left.iter().for_each(warn);
    }
    if inputs.is_empty() && !left.is_empty() {
        let message = "nothing to redact: the fields of none of these sessions are known";
        return Err(CliError::NoInput(message.to_owned()));
    }
    if inputs.is_empty() {
        let message = "no *.jsonl file (also .gz, .zst) and no JSON document of an agent's in the \
                       given folders; give a file or a folder with sessions or captures";
        return Err(CliError::NoInput(message.to_owned()));
    }
    Ok(inputs)
}

/// Source among those of the arguments.
enum Found {
    Input(Input),
    /// Source that is left out, with the reason.
    Left(String),
    NoSession,
}

/// Recognises a source, for an argument.
fn input(source: Source, argument: usize) -> Result<Found, CliError> {
    let file = match &source.location {
        Location::File(path) => Some(path.clone()),
        Location::StandardInput | Location::Memory(_) => None,
    };
    let source = if source.is_read_once() { held(&source)? } else { source };
    let source = match as_lines(&source) {
        Ok(lines) => lines.unwrap_or(source),
        // A source that cannot be opened is reported when it is read.
        Err(_) if source.open().is_err() => source,
        Err(error) => return Ok(Found::Left(format!("{}: {error}; it is left out", source.label))),
    };
    let (recognised, outline) = Recognised::of(&source).ok().unzip();
    Ok(match recognised {
        Some(Recognised::NoSession) => Found::NoSession,
        Some(Recognised::Unknown(what)) => {
            Found::Left(format!("{}: {what}; redaction does not know its fields yet", source.label))
        }
        // A source that cannot be opened is reported when it is read.
        Some(Recognised::Known) | None => {
            Found::Input(Input { source, outline, argument, file, surveyed: 0 })
        }
    })
}

/// Holds a source that can be read only once in memory, as redaction reads its sources twice.
fn held(source: &Source) -> Result<Source, CliError> {
    let mut bytes = Vec::new();
    let read = source.open().and_then(|mut input| input.read_to_end(&mut bytes));
    read.map_err(|error| match Exceeded::of(&error) {
        Some(Exceeded::Memory) => CliError::memory(),
        _ => CliError::NoInput(format!("cannot read {}: {error}", source.label)),
    })?;
    let is_stream = matches!(source.location, Location::StandardInput);
    Ok(Source::in_memory(if is_stream { STANDARD_INPUT } else { &source.label }, &bytes))
}

fn identity(source: &Source) -> PathBuf {
    match &source.location {
        Location::File(path) => fs::canonicalize(path).unwrap_or_else(|_| path.clone()),
        Location::StandardInput | Location::Memory(_) => PathBuf::from("-"),
    }
}

/// Refuses an output that is an input, which would be lost before the second pass, and an output folder among
/// the inputs, whose files the next run would read with them.
fn refuse_to_overwrite(
    args: &RedactArgs,
    inputs: &[Input],
    target: &Target,
) -> Result<(), CliError> {
    let (Target::File(path) | Target::Folder(path)) = target else { return Ok(()) };
    let place = resolved(path);
    let is_input = |input: &Input| input.file.as_ref().is_some_and(|file| resolved(file) == place);
    let is_around = |input: &PathBuf| input.is_dir() && place.starts_with(resolved(input));
    if inputs.iter().any(is_input) || args.inputs.iter().any(is_around) {
        let path = path.display();
        return Err(CliError::Usage(format!(
            "--output: {path} is an input, or lies in a folder that is one; give another place"
        )));
    }
    Ok(())
}

/// Path that may not exist yet, with its links resolved.
fn resolved(path: &Path) -> PathBuf {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let known = absolute.ancestors().find_map(|front| Some((front, fs::canonicalize(front).ok()?)));
    match known {
        Some((front, canonical)) => match absolute.strip_prefix(front) {
            Ok(rest) if rest.as_os_str().is_empty() => canonical,
            Ok(rest) => canonical.join(rest),
            Err(_) => absolute,
        },
        None => absolute,
    }
}

/// Sources that the first pass could read.
fn surveyed(inputs: Vec<Input>, survey: &mut Survey, diagnostics: &mut Diagnostics) -> Vec<Input> {
    let bytes = size(inputs.iter().map(|input| &input.source));
    let progress = Progress::of_bytes("looking for text", bytes);
    let mut read = |input: Input| {
        progress.add(input.source.size);
        let label = &input.source.label;
        match input.survey(survey) {
            Ok(Extent { error, lines, bytes, .. }) => {
                if let Some(error) = error {
                    // Nothing is written of a source that exceeds a bound.
                    let is_left = Exceeded::of(&error).is_some();
                    let used =
                        if is_left { "it is left out" } else { "what was read before it is used" };
                    let detail = format!("{error}; {used}");
                    diagnostics.add(Exceeded::kind(&error), label, lines, detail);
                    if is_left {
                        return None;
                    }
                }
                Some(Input { surveyed: bytes, ..input })
            }
            Err(error) => {
                diagnostics.add(Kind::UnreadableFile, label, 0, error.to_string());
                None
            }
        }
    };
    inputs.into_iter().filter_map(&mut read).collect()
}

fn write_all(
    inputs: &[Input],
    redaction: &Redaction,
    (target, mut opened, arguments): (&Target, Option<OutputFile>, usize),
) -> Result<RedactedSums, CliError> {
    if inputs.is_empty() {
        let message = "no file could be read; see above";
        return Err(CliError::NoInput(message.to_owned()));
    }
    let bytes = size(inputs.iter().map(|input| &input.source));
    if matches!(target, Target::StandardOutput) && io::stdout().is_terminal() {
        Progress::hide_all();
    }
    let progress = Progress::of_bytes("taking text out", bytes);
    let mut sums = RedactedSums::default();
    for input in inputs {
        let extent = match target {
            Target::StandardOutput => {
                let mut out = BufWriter::new(io::stdout().lock());
                let extent = input.write(redaction, &mut out)?;
                out.flush()?;
                unchanged(input, &extent)?;
                extent
            }
            Target::File(path) => write_file(input, redaction, path, opened.take())?,
            Target::Folder(folder) => {
                let label = redaction.label(&input.source.label);
                let path = placed(folder, &label, input.argument, arguments);
                write_file(input, redaction, &path, None)?
            }
        };
        progress.add(input.source.size);
        sums.files += 1;
        sums.lines += extent.lines;
        sums.bytes += extent.bytes;
        sums.strings += extent.strings;
    }
    Ok(sums)
}

/// Fails if the second pass read another number of bytes than the first.
fn unchanged(input: &Input, written: &Extent) -> Result<(), CliError> {
    if written.error.as_ref().and_then(Exceeded::of) == Some(Exceeded::Memory) {
        return Err(CliError::memory());
    }
    if written.bytes == input.surveyed {
        return Ok(());
    }
    Err(CliError::Usage(format!(
        "{} changed while it was redacted: {} bytes were read, then {}; run it again",
        input.source.label,
        grouped(input.surveyed),
        grouped(written.bytes)
    )))
}

/// Path of an output file. With several arguments each has a folder of its own, numbered in their order.
fn placed(folder: &Path, label: &str, argument: usize, arguments: usize) -> PathBuf {
    if arguments == 1 {
        return folder.join(label);
    }
    let width = arguments.to_string().len();
    folder.join(format!("{:0width$}", argument + 1)).join(label)
}

/// Opens a file, and creates its folder if it is missing.
fn open(path: &Path) -> Result<OutputFile, CliError> {
    let folder = path.parent().map_or(Ok(()), fs::create_dir_all);
    let file = folder.and_then(|()| OutputFile::open(path));
    file.map_err(CliError::unwritable(path))
}

/// Writes a file, compressed by the extension of its name.
fn write_file(
    input: &Input,
    redaction: &Redaction,
    path: &Path,
    opened: Option<OutputFile>,
) -> Result<Extent, CliError> {
    let failed = CliError::unwritable(path);
    let mut file = BufWriter::new(opened.map_or_else(|| open(path), Ok)?);
    let written = match path.extension().and_then(|ending| ending.to_str()) {
        Some("gz") => {
            let mut out = flate2::write::GzEncoder::new(&mut file, flate2::Compression::default());
            let extent = input.write(redaction, &mut out);
            extent.and_then(|extent| out.finish().map(|_| extent))
        }
        Some("zst") => {
            let frames = Frames { file: &mut file, is_begun: false };
            let mut out = BufWriter::with_capacity(FRAME, frames);
            let extent = input.write(redaction, &mut out);
            extent.and_then(|extent| out.flush().map(|()| extent))
        }
        _ => input.write(redaction, &mut file),
    };
    let extent = written.map_err(&failed)?;
    unchanged(input, &extent)?;
    finish(file).map_err(&failed)?;
    Ok(extent)
}

/// Places the markers in bundles, and prints each capture record as soon as it is read.
pub(in crate::cli) fn place(args: &PlaceArgs) -> Result<(), CliError> {
    let discovered = sources(&args.bundles, &args.output)?;
    let output = Output::open(&args.output)?;
    let mut diagnostics = discovered.diagnostics;
    let naming = args.naming.naming();
    let mut harness = Harness::new();
    let mut placed = 0;
    output.write(|out| {
        for source in discovered.sources.iter().filter(|source| !source.may_be_other) {
            placed += place_source(source, &mut harness, &mut diagnostics, out)?;
            enough_memory(&diagnostics)?;
        }
        Ok::<(), CliError>(())
    })?;
    diagnostics.name_files(|label| naming.label(label));
    tell_damage(&diagnostics, discovered.sources.len(), args.strict, &args.output)?;
    if placed == 0 {
        let message = "no bundle in the input: a bundle is an object with a `prompt`, one a line";
        return Err(CliError::NoInput(message.to_owned()));
    }
    Ok(())
}

/// Prints the records of one source and returns their number.
fn place_source(
    source: &Source,
    harness: &mut Harness,
    diagnostics: &mut Diagnostics,
    out: &mut dyn Write,
) -> io::Result<u64> {
    let mut open = match OpenSource::open(source) {
        Ok(open) => open,
        Err(error) => {
            diagnostics.add(Kind::UnreadableFile, &source.label, 0, error.to_string());
            return Ok(0);
        }
    };
    let (mut records, mut written) = (0, Ok(()));
    place_lines(&mut open, harness, diagnostics, |_, placed, _| {
        records += 1;
        // `place_lines` cannot be stopped: after an error, nothing more is written.
        if written.is_ok() {
            written = write_record(placed.text(), out);
        }
    });
    written.map(|()| records)
}
