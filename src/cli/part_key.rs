//! Keys of parts: the same key means the same rows.

use std::fmt::{self, Write as _};
use std::fs;
use std::time::UNIX_EPOCH;

use blake2::digest::consts::U16;
use blake2::{Blake2b, Digest};

use super::{CliError, Setup};
use crate::base::Zone;
use crate::read::input::{Location, Source};
use crate::report::{Part, PartFile, PartSettings};
use crate::simulate::strategy::Strategy;
use crate::study::StudyOptions;

/// Place of a part, below the folder for parts.
pub(super) struct PartKey {
    /// Digest of the domain's name, which may hold any character.
    folder: String,
    /// Name of the domain, as it is shown.
    pub(super) domain: String,
    /// Digest of all that the rows are made from.
    pub(super) key: String,
    /// Settings that the rows are made with.
    pub(super) settings: PartSettings,
}

impl PartKey {
    /// Key of files by their labels, sizes and versions (or times of change), and of all settings that
    /// figures depend on.
    ///
    /// # Errors
    /// A file is standard input, or does not exist.
    pub(super) fn new(
        domain: &str,
        sources: &[Source],
        setup: &Setup<'_>,
    ) -> Result<Self, CliError> {
        let settings = settings(setup);
        let mut digest = Digested::default();
        let mut versions = 0;
        for source in sources {
            let (version, is_listed) = version(source, setup)?;
            versions += usize::from(is_listed);
            digest.add(format_args!("{}\0{version}\0", source.label));
        }
        if versions < setup.input.versions() {
            let listed = setup.input.versions();
            return Err(CliError::Usage(format!(
                "--paths-from: {} of {listed} versions are of no file that is read; give versions of files, and not \
                 of folders",
                listed - versions
            )));
        }
        digest.add(format_args!("\0{domain}\0{}", settings.settings));
        let folder = folder_of(domain);
        Ok(Self {
            folder,
            domain: domain.to_owned(),
            key: digest.finish(),
            settings: settings.clone(),
        })
    }

    /// Key for a run of its own, whose parts nothing else knows: the part's number.
    pub(super) fn numbered(domain: &str, number: usize, setup: &Setup<'_>) -> Self {
        Self {
            folder: folder_of(domain),
            domain: domain.to_owned(),
            key: format!("{number:032x}"),
            settings: settings(setup).clone(),
        }
    }

    /// Path of the ledger's rows.
    pub(super) fn ledger(&self) -> String {
        format!("parts/{}/{}.parquet", self.folder, self.key)
    }

    /// Path of the breaks.
    pub(super) fn breaks(&self) -> String {
        format!("breaks/{}/{}.parquet", self.folder, self.key)
    }

    /// Path of the line that describes both.
    pub(super) fn line(&self) -> String {
        format!("parts/{}/{}.json", self.folder, self.key)
    }
}

/// Returns true if the files of a part are at the paths of its domain and key.
pub(super) fn is_in_place(part: &Part) -> bool {
    // The key becomes part of a path, so it may hold nothing but digits.
    let is_digest = part.key.len() == 32 && part.key.bytes().all(|byte| byte.is_ascii_hexdigit());
    let place = format!("{}/{}.parquet", folder_of(&part.domain), part.key);
    let is_at = |file: &PartFile, folder| file.path == format!("{folder}/{place}");
    is_digest && is_at(&part.ledger, "parts") && is_at(&part.breaks, "breaks")
}

/// Folder of a domain among parts: a digest of its name, which may hold any character.
pub(super) fn folder_of(domain: &str) -> String {
    hex(&Blake2b::<U16>::digest(domain))
}

/// Size of a file with its version in the list, or with its time of change; and true if the list has its
/// version.
fn version(source: &Source, setup: &Setup<'_>) -> Result<(String, bool), CliError> {
    let Location::File(path) = &source.location else {
        let message = "part: standard input has no version; give files";
        return Err(CliError::Usage(message.to_owned()));
    };
    let failed = |source: std::io::Error| {
        CliError::NoInput(format!("{}: {source}; take it out of the list", path.display()))
    };
    let metadata = fs::metadata(path).map_err(failed)?;
    let size = metadata.len();
    if let Some(version) = setup.input.version_of(path, &source.label) {
        return Ok((format!("{size}\0{version}"), true));
    }
    let changed = metadata.modified().map_err(failed)?;
    let nanoseconds = changed.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos());
    Ok((format!("{size}\0{nanoseconds}"), false))
}

/// Settings that rows are made with: every option that figures depend on, and all prices. The time zone is
/// not one, as rows have moments.
pub(super) fn settings<'s>(setup: &'s Setup<'_>) -> &'s PartSettings {
    setup.settings.get_or_init(|| settings_of(setup))
}

fn settings_of(setup: &Setup<'_>) -> PartSettings {
    let tool_version = env!("CARGO_PKG_VERSION");
    let options = StudyOptions { zone: Zone::default(), ..setup.options.clone() };
    let mut digest = Digested::default();
    digest.add(format_args!("{tool_version}\0{options:?}\0{:?}", setup.strategies));
    PartSettings {
        tool_version: tool_version.to_owned(),
        prices: setup.options.prices.id.clone(),
        prices_as_of: setup.options.prices.as_of.clone(),
        definitions: setup.strategies.iter().map(definition).collect(),
        options: setup.options.assumptions.options(),
        keeps_breaks: setup.options.assumptions.keeps_breaks,
        strategies: setup.strategies.iter().map(|strategy| strategy.name.to_string()).collect(),
        settings: digest.finish(),
    }
}

/// Digest of a strategy's definition, as another one of the same name may differ.
pub(super) fn definition(strategy: &Strategy) -> String {
    let mut digest = Digested::default();
    digest.add(format_args!("{strategy:?}"));
    digest.finish()
}

/// Digest that text is written to.
#[derive(Default)]
struct Digested(Blake2b<U16>);

impl Digested {
    fn add(&mut self, text: fmt::Arguments<'_>) {
        // Infallible: a digest takes any text.
        let _infallible = self.write_fmt(text);
    }

    fn finish(self) -> String {
        hex(&self.0.finalize())
    }
}

impl fmt::Write for Digested {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.update(text);
        Ok(())
    }
}

/// Bytes in hexadecimal digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    let mut digits = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        // Infallible: a string takes any text.
        let _infallible = write!(digits, "{byte:02x}");
    }
    digits
}
