//! Files of a folder for parts: written as a whole, and identified by their digests.

use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use blake2::digest::consts::U32;
use blake2::{Blake2b, Digest};

use super::output::finish;
use super::part_key::{PartKey, hex};
use super::{CliError, OutputFile, PreparedRun};
use crate::base::{ByKey, Order as _, side_by_side};
use crate::explain::breaks::Options;
use crate::report::{
    BreakFile, Inputs, LedgerFile, Metadata, Part, PartFile, RowEncoding, stored_rows,
};
use crate::simulate::ledger::{Ledger, StrategyColumn};

/// First fault of the files of a part, with its file. `None` if they are there as they were written.
pub(super) fn fault(folder: &Path, part: &Part) -> Option<(PathBuf, String)> {
    part.files().into_iter().find_map(|(file, schema)| {
        let path = folder.join(&file.path);
        let fault = fault_of(&path, file, schema)?;
        Some((path, fault))
    })
}

fn fault_of(path: &Path, file: &PartFile, schema: &str) -> Option<String> {
    let metadata = match fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Some("it is missing".to_owned());
        }
        Err(error) => return Some(error.to_string()),
        Ok(metadata) => metadata,
    };
    // Before it is opened: a pipe or a device has no end.
    if !metadata.is_file() {
        return Some("it is no file".to_owned());
    }
    // Cheap checks come first: the digest reads the whole file.
    if metadata.len() != file.bytes {
        return Some(format!("it is torn: it has {} bytes of {}", metadata.len(), file.bytes));
    }
    match digest_of(path) {
        Err(error) => return Some(error.to_string()),
        Ok(digest) if digest != file.digest => return Some("it is another file".to_owned()),
        Ok(_) => {}
    }
    match stored_rows(path) {
        Err(error) => Some(error.to_string()),
        Ok((_, found)) if found.as_deref() != Some(schema) => {
            Some(format!("it has no rows of {schema}"))
        }
        Ok((rows, _)) if rows != file.rows => {
            Some(format!("it has {rows} rows, and not {}", file.rows))
        }
        Ok(_) => None,
    }
}

fn digest_of(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let mut digest = Blake2b::<U32>::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        let read = file.read(&mut buffer)?;
        if read == 0 {
            return Ok(hex(&digest.finalize()));
        }
        digest.update(&buffer[..read]);
    }
}

/// Fails if parts were made with different programs or options than the first one.
pub(super) fn same_settings(parts: &[Part]) -> Result<(), CliError> {
    let Some(first) = parts.first() else { return Ok(()) };
    let Some(other) = parts.iter().find(|part| part.settings != first.settings) else {
        return Ok(());
    };
    let (one, two) = (&first.settings, &other.settings);
    let what = if one.tool_version != two.tool_version {
        format!("version {} and version {}", one.tool_version, two.tool_version)
    } else if one.prices != two.prices {
        format!("prices {} and prices {}", one.prices, two.prices)
    } else if one.strategies != two.strategies {
        format!("strategies {} and {}", one.strategies.join(","), two.strategies.join(","))
    } else {
        "other options".to_owned()
    };
    Err(CliError::NoInput(format!(
        "the parts of {} and {} were not made by the same program and options: {what}; make all of them again",
        first.domain, other.domain
    )))
}

/// Fails if a domain has several parts.
pub(super) fn one_each(parts: &[Part]) -> Result<(), CliError> {
    let mut keys: ByKey<&str, &str> = ByKey::new();
    for part in parts {
        if let Some(other) = keys.insert(&part.domain, &part.key) {
            return Err(CliError::NoInput(format!(
                "domain {} has two parts, {other} and {}; leave the line of the older one out",
                part.domain, part.key
            )));
        }
    }
    Ok(())
}

/// Fails if a file is not the one that its part describes.
pub(super) fn whole(folder: &Path, parts: &[Part]) -> Result<(), CliError> {
    let fault_of = |part: &Part| fault(folder, part).map(|found| (part.domain.clone(), found));
    let mut faults: Vec<_> = side_by_side(parts, fault_of).into_iter().flatten().collect();
    // The same fault is reported at any number of threads.
    faults.order();
    let Some((domain, (path, reason))) = faults.first() else { return Ok(()) };
    let more =
        if faults.len() > 1 { format!(" (and {} more)", faults.len() - 1) } else { String::new() };
    Err(CliError::NoInput(format!(
        "{}: {reason}{more}; run `cachesim fleet part` for domain {domain} again",
        path.display()
    )))
}

/// Writes a file below the folder for parts, as a whole.
pub(super) fn write_file(
    folder: &Path,
    path: String,
    rows: impl FnOnce(&mut dyn Write) -> Result<u64, CliError>,
) -> Result<PartFile, CliError> {
    let place = folder.join(&path);
    let failed = CliError::unwritable(&place);
    fs::create_dir_all(place.parent().unwrap_or(folder)).map_err(&failed)?;
    let file = OutputFile::open(&place).map_err(&failed)?;
    let mut out = Digesting { out: BufWriter::new(file), digest: Blake2b::new(), bytes: 0 };
    let rows = rows(&mut out).map_err(|error| match error {
        CliError::Write(source) => failed(source),
        other => other,
    })?;
    let (bytes, digest) = (out.bytes, hex(&out.digest.finalize()));
    finish(out.out).map_err(failed)?;
    Ok(PartFile { path, rows, bytes, digest })
}

/// Writes the files of a part: the rows of a domain, or none if it has no request.
pub(super) fn write_part(
    folder: &Path,
    key: &PartKey,
    described: [Metadata; 2],
    run: Option<&PreparedRun>,
    inputs: Inputs,
) -> Result<Part, CliError> {
    let domain = Some(key.domain.as_str());
    let [of_ledger, of_breaks] = described.map(RowEncoding::Parquet);
    let (mut inapplicable, mut compared) = (ByKey::new(), 0);
    let elsewhere = run.map_or(0, |run| run.study.history.sent_elsewhere().len() as u64);
    let ledger = write_file(folder, key.ledger(), |out| {
        let mut file = LedgerFile::new(of_ledger, true, out)?;
        let rows = match run {
            Some(run) => {
                let ledger = run.ledger()?;
                inapplicable = obstacles(&ledger);
                file.write(&ledger, &run.study.selection, domain)?
            }
            None => 0,
        };
        file.finish()?;
        Ok(rows)
    })?;
    let breaks = write_file(folder, key.breaks(), |out| {
        let mut file = BreakFile::new(of_breaks, true, false, out)?;
        let rows = match run {
            Some(run) => {
                let findings = run.study.breaks_in(run.study.evidence(), Options::default())?;
                compared = findings.analysis.breaks.compared;
                file.write(&run.study.history, &findings.analysis.breaks, domain)?
            }
            None => 0,
        };
        file.finish()?;
        Ok(rows)
    })?;
    let mut part =
        Part::new((&key.domain, &key.key), key.settings.clone(), inputs, [ledger, breaks]);
    (part.inapplicable, part.elsewhere, part.compared) = (inapplicable, elsewhere, compared);
    part.unpriced = run.map(|run| run.unpriced.borrow().clone()).unwrap_or_default();
    Ok(part)
}

/// Strategies without rows, with their obstacles.
fn obstacles(ledger: &Ledger<'_>) -> ByKey<String, Vec<String>> {
    let idle = ledger.columns.iter().filter(|column| !column.applicability().is_applicable());
    let names = |column: &StrategyColumn| {
        let obstacles = column.applicability().obstacles().iter();
        (column.strategy.name.to_string(), obstacles.map(|one| one.name().to_owned()).collect())
    };
    idle.map(names).collect()
}

/// File whose digest is computed as it is written.
struct Digesting {
    out: BufWriter<OutputFile>,
    digest: Blake2b<U32>,
    bytes: u64,
}

impl Write for Digesting {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.digest.update(&bytes[..written]);
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
