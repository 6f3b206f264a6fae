//! Limits of reading: the files that are read at all, the bytes held of one, the unpacked size of a compressed one,
//! and the memory of the process.
//!
//! Sessions are read without a limit, as their lines are not held; everything else is read whole, up to
//! [`MOST_SETTINGS`] or [`MOST_REPORT`]. A process with bounded memory (`--max-memory`) checks it with
//! every quarter of a megabyte, and stops reading when it has used all but an eighth of it, so that it can
//! still say so.

use std::fs::{File, Metadata};
use std::io::Read;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::{fs, io};

use super::Kind;

/// Largest configuration or strategy file, in bytes. Usual ones have a few hundred.
pub const MOST_SETTINGS: u64 = 1 << 20;

/// Largest saved report, list of accepted findings or price file, in bytes.
pub const MOST_REPORT: u64 = 64 << 20;

/// Bytes to which any compressed file may unpack, whatever its size.
const MOST_UNPACKED: u64 = 1_000_000_000;

/// Largest ratio of unpacked to compressed size beyond that. Sessions have 5 to 20.
const MOST_RATIO: u64 = 100;

/// Bytes between two checks of the memory.
const BETWEEN_LOOKS: u64 = 256 * 1024;

/// Divisor of the memory that is kept for work in progress.
const RESERVE: u64 = 8;

/// Folders of devices, of processes and of the kernel's view of itself.
const SYSTEM_FOLDERS: [&str; 3] = ["/dev", "/proc", "/sys"];

/// Folder among them whose files are ordinary.
const SHARED_MEMORY: &str = "/dev/shm";

/// Limit that reading came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Exceeded {
    /// Unpacked size of a compressed file that is far larger than it looks.
    #[error(
        "it unpacks to more than 1 GB and to over 100 times its size, as no session does; if it is one, \
         unpack it first"
    )]
    Unpacked,
    /// Memory that the process may have.
    #[error("the memory that the run may have is used up")]
    Memory,
}

impl Exceeded {
    /// Limit that an error is about, if it is about one.
    pub fn of(error: &io::Error) -> Option<Self> {
        error.get_ref()?.downcast_ref().copied()
    }

    /// Kind under which an error of reading is counted.
    pub(crate) fn kind(error: &io::Error) -> Kind {
        match Self::of(error) {
            Some(Self::Unpacked) => Kind::UnpacksTooFar,
            Some(Self::Memory) => Kind::OutOfMemory,
            None => Kind::UnreadableFile,
        }
    }
}

/// Returns true if a path without links is in a folder of the system.
pub(crate) fn is_of_system(path: &Path) -> bool {
    SYSTEM_FOLDERS.iter().any(|folder| path.starts_with(folder)) && !path.starts_with(SHARED_MEMORY)
}

/// Name of a special file: neither an ordinary file nor a pipe. `None` also if there is nothing.
pub(super) fn special(path: &Path, metadata: &Metadata) -> Option<&'static str> {
    if metadata.is_dir() {
        return Some("a folder");
    }
    if let Some(what) = node(metadata) {
        return Some(what);
    }
    // Some of these never end, and some block forever.
    let is_shown =
        metadata.is_file() && fs::canonicalize(path).is_ok_and(|path| is_of_system(&path));
    is_shown.then_some("a file of the kernel's")
}

/// Name of a file that takes no room on a disk, except pipes and the empty device.
#[cfg(unix)]
fn node(metadata: &Metadata) -> Option<&'static str> {
    use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
    let kind = metadata.file_type();
    if kind.is_socket() {
        return Some("a socket");
    }
    let is_empty = || fs::metadata("/dev/null").is_ok_and(|null| null.rdev() == metadata.rdev());
    ((kind.is_char_device() && !is_empty()) || kind.is_block_device()).then_some("a device")
}

#[cfg(not(unix))]
fn node(_: &Metadata) -> Option<&'static str> {
    None
}

/// Reads a file that is not a session, or a pipe, whole.
///
/// # Errors
/// The system refuses it, it is a special file, or it has more than `most` bytes.
pub(crate) fn read_whole(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    // Checked before it is opened: opening alone may have an effect on a device.
    let metadata = fs::metadata(path)?;
    if let Some(what) = special(path, &metadata) {
        return Err(io::Error::other(format!("it is {what}; give a file or a pipe")));
    }
    bounded(File::open(path)?, metadata.len(), most)
}

/// Reads a source of `expected` bytes whole.
fn bounded(source: impl Read, expected: u64, most: u64) -> io::Result<Vec<u8>> {
    // One byte of extra room finds the end without growing the buffer.
    let room = usize::try_from(expected.min(most) + 1).unwrap_or_default();
    let mut bytes = Vec::with_capacity(room);
    // Bounded by the bytes read, not by the size that the system reports: pipes have none.
    source.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        let most = most >> 20;
        return Err(io::Error::other(format!(
            "it has more than {most} MiB, the most that is read of such a file; give the right one"
        )));
    }
    Ok(bytes)
}

/// Reads a text file that is not a session, or a pipe, whole.
///
/// # Errors
/// As for [`read_whole`], or it is not UTF-8.
pub(crate) fn read_text(path: &Path, most: u64) -> io::Result<String> {
    text_of(read_whole(path, most)?)
}

/// Reads standard input whole, as text.
///
/// # Errors
/// The system refuses it, or it has more than `most` bytes or is not UTF-8.
pub(crate) fn read_standard_input(most: u64) -> io::Result<String> {
    text_of(read_standard_input_bytes(most)?)
}

/// Reads standard input whole.
///
/// # Errors
/// The system refuses it, or it has more than `most` bytes.
pub(crate) fn read_standard_input_bytes(most: u64) -> io::Result<Vec<u8>> {
    bounded(io::stdin(), 0, most)
}
fn text_of(bytes: Vec<u8>) -> io::Result<String> {
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        io::Error::other(format!("it is not UTF-8 from byte {} on; save it as UTF-8", at + 1))
    })
}

/// Source that is read within the limits.
pub(super) struct Bounded<R> {
    source: R,
    read: u64,
    looked: u64,
    /// Size of the compressed file beneath, if it is one.
    packed: Option<Packed>,
    memory: Option<MemoryBound>,
}

/// Size of a compressed file.
#[derive(Clone, Default)]
pub(super) struct Packed {
    /// Bytes on disk; 0 if unknown.
    size: u64,
    /// Bytes read of it.
    read: Arc<AtomicU64>,
}

impl Packed {
    pub(super) fn new(size: u64) -> Self {
        Self { size, read: Arc::default() }
    }

    /// Reader of a compressed file that counts its bytes.
    pub(super) fn count<R: Read>(&self, source: R) -> impl Read + use<R> {
        CountedRead { source, count: Arc::clone(&self.read) }
    }

    fn allows(&self, unpacked: u64) -> bool {
        // A pipe has no size: the bytes read so far count instead.
        let size = self.size.max(self.read.load(Ordering::Relaxed));
        // A small file may unpack far, and a large one may be large: only both together are refused.
        unpacked <= MOST_UNPACKED || unpacked / MOST_RATIO <= size
    }
}

struct CountedRead<R> {
    source: R,
    count: Arc<AtomicU64>,
}

impl<R: Read> Read for CountedRead<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.source.read(buffer)?;
        self.count.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

impl<R: Read> Bounded<R> {
    pub(super) fn new(source: R, packed: Option<Packed>) -> Self {
        Self { source, read: 0, looked: 0, packed, memory: MemoryBound::of_process() }
    }
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.packed.as_ref().is_some_and(|packed| !packed.allows(self.read)) {
            return Err(io::Error::other(Exceeded::Unpacked));
        }
        if self.read >= self.looked {
            self.looked = self.read + BETWEEN_LOOKS;
            if self.memory.is_some_and(MemoryBound::is_reached) {
                return Err(io::Error::other(Exceeded::Memory));
            }
        }
        let count = self.source.read(buffer)?;
        self.read += count as u64;
        Ok(count)
    }
}

/// Memory that this process may have, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryBound(pub u64);

/// Limit of this process.
static MEMORY: OnceLock<MemoryBound> = OnceLock::new();

impl MemoryBound {
    /// Limits the memory of this process. The first limit holds.
    pub fn set(self) {
        MEMORY.get_or_init(|| self);
    }

    /// Limit of this process, if it has one.
    pub fn of_process() -> Option<Self> {
        MEMORY.get().copied()
    }

    /// Returns true if the work should end, because little memory is left; `false` if the system does not say.
    pub fn is_reached(self) -> bool {
        own_memory().is_some_and(|bytes| bytes > self.0 - self.0 / RESERVE)
    }
}

/// Bytes of memory that this process takes from others: those that it has written to, without files.
#[cfg(target_os = "linux")]
fn own_memory() -> Option<u64> {
    // Columns in pages: the address space, the pages in memory, and those of them that are files'.
    let sizes = fs::read_to_string("/proc/self/statm").ok()?;
    let mut pages = sizes.split(' ').skip(1).map(str::parse::<u64>);
    let (resident, of_files) = (pages.next()?.ok()?, pages.next()?.ok()?);
    // The system can take back the pages of files, as those of the program itself.
    Some(resident.saturating_sub(of_files) * rustix::param::page_size() as u64)
}

#[cfg(not(target_os = "linux"))]
fn own_memory() -> Option<u64> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(path: &Path, most: u64) -> String {
        read_whole(path, most).expect_err("refused").to_string()
    }

    #[test]
    fn a_file_is_read_up_to_its_limit() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("file");
        fs::write(&path, vec![b'x'; 1 << 20]).expect("written");
        assert_eq!(read_whole(&path, 1 << 20).expect("read").len(), 1 << 20);
        fs::write(&path, vec![b'x'; (1 << 20) + 1]).expect("written");
        assert!(error(&path, 1 << 20).starts_with("it has more than 1 MiB"));
        assert_eq!(error(folder.path(), 1), "it is a folder; give a file or a pipe");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn devices_sockets_and_files_of_the_kernel_are_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let socket = folder.path().join("socket");
        let _bound = std::os::unix::net::UnixListener::bind(&socket).expect("a socket");
        for (path, what) in [
            (Path::new("/dev/zero"), "a device"),
            (Path::new("/dev/urandom"), "a device"),
            (Path::new("/proc/self/statm"), "a file of the kernel's"),
            (&socket, "a socket"),
        ] {
            assert_eq!(error(path, 10), format!("it is {what}; give a file or a pipe"));
        }
        assert_eq!(read_whole(Path::new("/dev/null"), 0).expect("nothing"), b"");
    }

    #[test]
    fn size_and_ratio_must_both_be_beyond_measure() {
        let packed = |size| Packed::new(size);
        assert!(packed(1).allows(MOST_UNPACKED));
        assert!(!packed(1).allows(MOST_UNPACKED + 1));
        assert!(!packed(20_000_000).allows(2_000_000_100));
        assert!(packed(20_000_000).allows(2_000_000_099));
        let unknown = packed(0);
        let mut bytes = vec![0; 20_000_000];
        unknown.count(io::repeat(0)).read_exact(&mut bytes).expect("read");
        assert!(unknown.allows(2_000_000_099), "what was read counts where the size is unknown");
    }
}
