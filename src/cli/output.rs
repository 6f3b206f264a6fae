//! Where the output goes and how wide it is. A file is replaced as a whole, or not at all.

use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::io::{BufWriter, IsTerminal, StdoutLock, Write};
use std::path::{Path, PathBuf};
use std::{env, fs, io};

use tempfile::NamedTempFile;

use super::args::{ColorArg, OutputArgs, OutputFormat};
use super::error::CliError;
use crate::report::{Document, TextStyle, terminal_safe};

/// The width without a terminal, fixed so that logs are reproducible.
const DEFAULT_WIDTH: u16 = 120;

/// Tables need some room. A narrower terminal wraps them itself.
const LEAST_WIDTH: u16 = 40;

/// Prints a line to standard error. That nobody reads it is no reason to stop.
pub(super) fn say(text: &str) {
    let _ignored = writeln!(anstream::stderr(), "cachesim: {}", terminal_safe(text));
}

/// An open output.
pub(super) struct Output {
    writer: Target,
    style: TextStyle,
}

enum Target {
    Standard(BufWriter<StdoutLock<'static>>),
    /// A file, and the path that the user gave for it.
    File(BufWriter<OutputFile>, PathBuf),
}

impl Output {
    /// Opens the output before the long work, so that a bad path fails early.
    pub(super) fn open(args: &OutputArgs) -> Result<Self, CliError> {
        if args.output.as_os_str() != "-" {
            return Self::to_file(&args.output, args.color);
        }
        let is_terminal = io::stdout().is_terminal();
        let style = TextStyle {
            width: width(is_terminal),
            bold: bold(args.color, is_terminal),
            bars: is_terminal && !is_dumb(),
        };
        Ok(Self { writer: Target::Standard(BufWriter::new(io::stdout().lock())), style })
    }

    /// Opens a file, which is replaced once everything is written.
    pub(super) fn to_file(path: &Path, color: ColorArg) -> Result<Self, CliError> {
        let file = OutputFile::open(path).map_err(|source| failed(path, source))?;
        let style = TextStyle { width: width(false), bold: bold(color, false), bars: false };
        Ok(Self { writer: Target::File(BufWriter::new(file), path.to_owned()), style })
    }

    /// Whether the output is a terminal.
    pub(super) fn is_terminal(&self) -> bool {
        matches!(self.writer, Target::Standard(_)) && io::stdout().is_terminal()
    }

    /// The file that is replaced, with links resolved. `None` for streams and devices.
    pub(super) fn place(&self) -> Option<&Path> {
        match &self.writer {
            Target::Standard(_) => None,
            Target::File(file, _) => file.get_ref().place(),
        }
    }

    /// Writes a result in a format. The document is made only where it is shown.
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
                self.write(|out| out.write_all(document.to_markdown().as_bytes()))
            }
            OutputFormat::Own(format) => self.write_or(|out| own(format, out)),
        }
    }

    /// Writes a document for a terminal.
    pub(super) fn text(self, document: &Document) -> Result<(), CliError> {
        let style = self.style;
        self.write(|out| document.write_text(style, out))
    }

    /// Writes, and puts a file in its place.
    pub(super) fn write(
        self,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), CliError> {
        self.write_or(write)
    }

    /// The same where more can fail than writing.
    fn write_or<E>(
        self,
        write: impl FnOnce(&mut dyn Write) -> Result<(), E>,
    ) -> Result<(), CliError>
    where
        CliError: From<E>,
    {
        match self.writer {
            Target::Standard(mut out) => {
                write(&mut out)?;
                Ok(out.flush()?)
            }
            Target::File(mut file, path) => {
                write(&mut file)?;
                finish(file).map_err(|source| failed(&path, source))
            }
        }
    }
}

/// Refuses a file name that promises another format, as the file would not open. Names without a
/// known ending are left to the user.
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

fn failed(path: &Path, source: io::Error) -> CliError {
    CliError::OutputFile { path: path.to_owned(), source }
}

/// Writes files into a folder, and creates the folder where it is missing.
pub(super) fn write_files(
    folder: &Path,
    files: impl IntoIterator<Item = (String, Vec<u8>)>,
) -> Result<(), CliError> {
    fs::create_dir_all(folder).map_err(|source| failed(folder, source))?;
    for (name, bytes) in files {
        let path = folder.join(name);
        let write = || {
            let mut file = OutputFile::open(&path)?;
            file.write_all(&bytes)?;
            file.finish()
        };
        write().map_err(|source| failed(&path, source))?;
    }
    Ok(())
}

fn width(is_terminal: bool) -> u16 {
    known_width(is_terminal).unwrap_or(DEFAULT_WIDTH).max(LEAST_WIDTH)
}

fn known_width(is_terminal: bool) -> Option<u16> {
    let from_environment = env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let from_terminal = || terminal_size::terminal_size().map(|(width, _)| width.0);
    from_environment.or_else(|| is_terminal.then(from_terminal).flatten())
}

/// Lines of help are no longer, as longer ones are hard to read.
const MOST_HELP: u16 = 100;

/// The width of help.
pub(super) fn help_width() -> u16 {
    known_width(io::stdout().is_terminal()).unwrap_or(MOST_HELP).clamp(LEAST_WIDTH, MOST_HELP)
}

fn bold(color: ColorArg, is_terminal: bool) -> bool {
    match color {
        ColorArg::Always => true,
        ColorArg::Never => false,
        ColorArg::Auto => {
            let is_refused =
                env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty()) || is_dumb();
            let is_forced = env::var_os("CLICOLOR_FORCE").is_some_and(|value| value != "0");
            (is_terminal || is_forced) && !is_refused
        }
    }
}

/// Whether the terminal can show only plain text.
fn is_dumb() -> bool {
    env::var_os("TERM").is_some_and(|term| term == "dumb")
}

/// How many links are followed, as many as Linux follows.
const MOST_LINKS: usize = 40;

/// Folders that hold devices and the program's own streams.
const SYSTEM_FOLDERS: [&str; 2] = ["/dev", "/proc"];

/// The folder among them whose files are ordinary.
const SHARED_MEMORY: &str = "/dev/shm";

/// An output file. The old content stays until [`OutputFile::finish`].
pub(super) enum OutputFile {
    /// A device, a pipe or a stream of this program, which has no content to replace.
    Direct(File),
    /// A temporary file next to the one that it will replace.
    Replacement(NamedTempFile, PathBuf),
}

impl OutputFile {
    /// Opens a file, and fails now where it could not be replaced later.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let old = match OpenOptions::new().append(true).open(path) {
            Ok(file) => Some(file),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        let place = place(path)?;
        let permissions = match old {
            Some(file) if is_of_system(&place) => return Ok(Self::Direct(file)),
            Some(file) => match file.metadata() {
                Ok(metadata) if metadata.is_file() => Some(metadata.permissions()),
                _ => return Ok(Self::Direct(file)),
            },
            None => None,
        };
        let folder = place.parent().unwrap_or(Path::new("."));
        let file = beside(folder)?;
        if let Some(permissions) = permissions {
            file.as_file().set_permissions(permissions)?;
        }
        Ok(Self::Replacement(file, place))
    }

    /// The file that is replaced, with links resolved. `None` where the output is written directly.
    pub(super) fn place(&self) -> Option<&Path> {
        match self {
            Self::Direct(_) => None,
            Self::Replacement(_, place) => Some(place),
        }
    }

    /// Moves what was written over the old content.
    pub(super) fn finish(mut self) -> io::Result<()> {
        self.flush()?;
        match self {
            Self::Direct(_) => Ok(()),
            Self::Replacement(file, place) => Ok(file.persist(place).map(|_| ())?),
        }
    }
}

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Direct(file) => file.write(bytes),
            Self::Replacement(file, _) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Direct(file) => file.flush(),
            Self::Replacement(file, _) => file.flush(),
        }
    }
}

/// Creates a temporary file with the permissions of an ordinary new file, under a name that no
/// command takes for an input.
fn beside(folder: &Path) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".cachesim-").suffix(".tmp");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    // The error without its path: the temporary name would tell the user nothing.
    builder.tempfile_in(folder).map_err(|error| error.kind().into())
}

/// Follows links to the final path, save for links of the system, which name open streams. The file
/// may be missing, its folder may not.
pub(super) fn place(path: &Path) -> io::Result<PathBuf> {
    // A path with a slash at its end names a folder, whether that exists or not.
    if path.as_os_str().as_encoded_bytes().last() == Some(&b'/') {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    let mut path = path.to_owned();
    for _ in 0..MOST_LINKS {
        let name = path.file_name().ok_or(io::ErrorKind::NotFound)?;
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = fs::canonicalize(folder.unwrap_or(Path::new(".")))?;
        let here = folder.join(name);
        if is_of_system(&here) {
            return Ok(here);
        }
        match fs::read_link(&here) {
            Ok(next) => path = folder.join(next),
            Err(_) => return Ok(here),
        }
    }
    Err(io::Error::other("too many links"))
}

fn is_of_system(place: &Path) -> bool {
    SYSTEM_FOLDERS.iter().any(|folder| place.starts_with(folder))
        && !place.starts_with(SHARED_MEMORY)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).expect("a folder");
        let names = entries.map(|entry| entry.expect("an entry").file_name());
        let mut names: Vec<String> = names.map(|name| name.into_string().expect("plain")).collect();
        names.sort();
        names
    }

    #[test]
    fn the_old_content_stands_until_the_end() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("report.html");
        fs::write(&path, "old").expect("written");
        let mut file = OutputFile::open(&path).expect("it opens");
        file.write_all(b"new").expect("written");
        file.flush().expect("flushed");
        assert_eq!(fs::read(&path).expect("read"), b"old");
        file.finish().expect("finished");
        assert_eq!(fs::read(&path).expect("read"), b"new");
        assert_eq!(names(folder.path()), ["report.html"]);
    }

    #[test]
    fn nothing_is_left_of_what_is_not_finished() {
        let folder = tempfile::tempdir().expect("a folder");
        for (name, old) in [("old", Some("old")), ("new", None)] {
            let path = folder.path().join(name);
            if let Some(old) = old {
                fs::write(&path, old).expect("written");
            }
            let mut file = OutputFile::open(&path).expect("it opens");
            file.write_all(b"half of").expect("written");
            drop(file);
            assert_eq!(fs::read_to_string(&path).ok().as_deref(), old, "{name}");
        }
        assert_eq!(names(folder.path()), ["old"]);
    }

    #[test]
    fn what_cannot_be_a_file_fails_at_once() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path();
        let kind = |path: PathBuf| OutputFile::open(&path).err().map(|error| error.kind());
        assert_eq!(kind(path.join("missing/file")), Some(io::ErrorKind::NotFound));
        assert_eq!(kind(path.to_owned()), Some(io::ErrorKind::IsADirectory));
        assert_eq!(kind(path.join("missing/")), Some(io::ErrorKind::IsADirectory));
        assert_eq!(kind(PathBuf::new()), Some(io::ErrorKind::NotFound));
        assert!(names(path).is_empty());
    }

    #[test]
    #[cfg(unix)]
    fn links_stay_and_what_they_lead_to_is_replaced() {
        use std::os::unix::fs::symlink;
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path();
        fs::create_dir(path.join("elsewhere")).expect("a folder");
        fs::write(path.join("elsewhere/old"), "old").expect("written");
        symlink("elsewhere/old", path.join("link")).expect("a link");
        symlink("link", path.join("link-to-link")).expect("a link");
        symlink("elsewhere/new", path.join("dangling")).expect("a link");
        for (link, target) in [("link-to-link", "elsewhere/old"), ("dangling", "elsewhere/new")] {
            let mut file = OutputFile::open(&path.join(link)).expect("it opens");
            let canonical = fs::canonicalize(path).expect("canonical").join(target);
            assert_eq!(file.place(), Some(canonical.as_path()));
            file.write_all(link.as_bytes()).expect("written");
            file.finish().expect("finished");
            assert!(path.join(link).is_symlink(), "{link}");
            assert_eq!(fs::read_to_string(path.join(target)).expect("read"), link);
        }
        assert_eq!(names(&path.join("elsewhere")), ["new", "old"]);
        symlink("circle", path.join("circle")).expect("a link");
        assert!(OutputFile::open(&path.join("circle")).is_err());
    }

    #[test]
    #[cfg(unix)]
    fn permissions_are_kept_and_new_ones_are_ordinary() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().expect("a folder");
        let mode = |name: &str| {
            let metadata = fs::metadata(folder.path().join(name)).expect("a file");
            metadata.permissions().mode() & 0o7777
        };
        let replace = |name: &str| {
            let file = OutputFile::open(&folder.path().join(name)).expect("it opens");
            file.finish().expect("finished");
        };
        fs::write(folder.path().join("ordinary"), "").expect("written");
        replace("new");
        assert_eq!(mode("new"), mode("ordinary"));
        let narrow = fs::Permissions::from_mode(0o640);
        fs::set_permissions(folder.path().join("ordinary"), narrow).expect("set");
        replace("ordinary");
        assert_eq!(mode("ordinary"), 0o640);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn devices_are_written_directly() {
        for device in ["/dev/null", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"] {
            let Ok(file) = OutputFile::open(Path::new(device)) else {
                eprintln!("skipped: {device} cannot be opened here");
                continue;
            };
            assert!(matches!(file, OutputFile::Direct(_)), "{device}");
            assert_eq!(file.place(), None);
            file.finish().expect("nothing to do");
        }
    }
}
