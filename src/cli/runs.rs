//! Runs of parts, read again: a manifest, and the rows that it names.

use std::path::{Path, PathBuf};
use std::{fs, iter};

use tempfile::TempDir;

use super::args::DomainArgs;
use super::domains::Histories;
use super::part_key::{PartKey, definition, is_in_place};
use super::parts::{one_each, same_settings, whole, write_part};
use super::rows::{metadata, needs_parquet};
use super::{CliError, Progress, Setup, tell_unpriced};
use crate::base::Ordered as _;
use crate::explain::run::{RunBreaks, RunRequest, RunSums, SnapshotOfRows};
use crate::explain::snapshot::Snapshot;
use crate::read::input::{MOST_REPORT, read_text};
use crate::report::{
    BREAK_SCHEMA, Inputs, LEDGER_SCHEMA, LedgerOf, Manifest, Part, PartSettings, RunTurns, counted,
    each_request, stored_breaks,
};
use crate::simulate::pricing::PriceTable;
use crate::simulate::strategy::{Applicability, Obstacle, Strategy};

/// Run with all of its parts.
pub(super) struct StoredRun {
    /// Folder for parts.
    folder: PathBuf,
    /// The same folder, if it exists for this run alone.
    _temporary: Option<TempDir>,
    pub(super) manifest: Manifest,
    /// Inputs of all parts together.
    pub(super) inputs: Inputs,
}

/// The record and its replay.
fn own() -> [Strategy; 2] {
    [Strategy::billed(), Strategy::expected()]
}

/// Strategies with the record and its replay, which the amounts spent and lost are computed from.
pub(super) fn with_own(strategies: &[Strategy]) -> Vec<Strategy> {
    let missing = own().into_iter().filter(|own| strategies.iter().all(|one| one.name != own.name));
    strategies.iter().cloned().chain(missing).collect()
}

/// Fails if a manifest contradicts itself, or its parts have no rows of the record.
fn check_manifest(manifest: &Manifest, path: &Path) -> Result<(), CliError> {
    let name = path.display();
    let contradiction = |what: &str| {
        CliError::NoInput(format!("{name}: {what}; run `cachesim fleet gather` again"))
    };
    // A manifest is a file like any other: its paths are checked before they are opened.
    if !manifest.parts.iter().all(is_in_place) {
        return Err(contradiction("a part is not where its domain and key say"));
    }
    if !manifest.adds_up() {
        return Err(contradiction("its parts have other sums than it says"));
    }
    let names = &manifest.settings.strategies;
    if let Some(missing) = own().iter().find(|own| names.iter().all(|name| *name != own.name)) {
        return Err(CliError::NoInput(format!(
            "{name}: its parts have no rows of {}; make them with billed and replay among the strategies",
            missing.name
        )));
    }
    one_each(&manifest.parts)?;
    same_settings(&manifest.parts)
}

/// Reader of a run's rows.
pub(super) trait RunReader {
    /// Begins the next part.
    fn begin(&mut self, part: &Part);

    /// Returns true if the reader takes the rows of the domain at this place.
    fn wants(&self, _domain: usize) -> bool {
        true
    }

    /// Adds a request, and takes its break out of those of its part.
    fn add(&mut self, request: &RunRequest<'_>, breaks: &mut RunBreaks);
}

impl RunReader for RunSums {
    fn begin(&mut self, part: &Part) {
        self.begin_domain(part.compared);
    }

    fn add(&mut self, request: &RunRequest<'_>, breaks: &mut RunBreaks) {
        self.add(request, breaks);
    }
}

impl RunReader for RunTurns<'_> {
    fn begin(&mut self, _: &Part) {
        self.begin_domain();
    }

    fn add(&mut self, request: &RunRequest<'_>, breaks: &mut RunBreaks) {
        self.add(request, breaks);
    }

    fn wants(&self, domain: usize) -> bool {
        self.page().has_turns_of(domain)
    }
}

impl RunReader for SnapshotOfRows {
    fn begin(&mut self, _: &Part) {}

    fn add(&mut self, request: &RunRequest<'_>, breaks: &mut RunBreaks) {
        self.add(request, breaks);
    }
}

impl StoredRun {
    /// Reads a manifest, and checks every file that it names.
    ///
    /// # Errors
    /// It is not a manifest, is of another version, contradicts itself, or a file is not the one that it
    /// describes.
    pub(super) fn open(path: &Path) -> Result<Self, CliError> {
        let run = Self::of_any_version(path)?;
        let (made_by, version) = (&run.manifest.settings.tool_version, env!("CARGO_PKG_VERSION"));
        // Another version may have other rules, so its figures are not reported as this one's.
        if made_by != version {
            return Err(CliError::NoInput(format!(
                "{}: its parts were made by version {made_by}, and this is version {version}; make them again",
                path.display()
            )));
        }
        Ok(run)
    }

    /// The same for parts of any version: as a baseline, figures are compared as they are.
    ///
    /// # Errors
    /// As for [`open`](Self::open).
    pub(super) fn of_any_version(path: &Path) -> Result<Self, CliError> {
        needs_parquet("a run of parts")?;
        let name = path.display();
        if !path.is_file() && path.exists() {
            let message = format!("{name}: its parts lie beside a manifest; give the file itself");
            return Err(CliError::NoInput(message));
        }
        let text = read_text(path, MOST_REPORT)
            .map_err(|source| CliError::NoInput(format!("{name}: {source}")))?;
        let manifest = Manifest::parse(&text).ok_or_else(|| {
            let what = "not the manifest of a run, as `cachesim fleet gather` writes it";
            CliError::NoInput(format!("{name}: {what}"))
        })?;
        check_manifest(&manifest, path)?;
        let folder = path.parent().unwrap_or(Path::new("")).to_owned();
        whole(&folder, &manifest.parts)?;
        let mut inputs = Inputs::default();
        manifest.parts.iter().for_each(|part| inputs.add(&part.inputs));
        Ok(Self { folder, _temporary: None, manifest, inputs })
    }

    /// Reads and simulates domains one after another, and keeps their rows in a folder of its own until the
    /// end.
    ///
    /// # Errors
    /// Errors of reading domains, or the folder cannot be written.
    pub(super) fn of_domains(setup: &Setup<'_>, domains: &DomainArgs) -> Result<Self, CliError> {
        needs_parquet("this command over --domains")?;
        let failed = |source| CliError::OutputFile { path: std::env::temp_dir(), source };
        // Rows go to files, so that memory holds one domain at a time.
        let temporary = tempfile::Builder::new().prefix("cachesim-").tempdir().map_err(failed)?;
        let (mut parts, mut inputs) = (Vec::new(), Inputs::default());
        Histories::of(setup, domains)?.each(setup, |domain, run| {
            let key = PartKey::numbered(domain.unwrap_or_default(), parts.len(), setup);
            let described =
                [LEDGER_SCHEMA, BREAK_SCHEMA].map(|schema| metadata(setup, iter::empty(), schema));
            let of_domain = Inputs::of(&run.study.history);
            inputs.add(&of_domain);
            parts.push(write_part(temporary.path(), &key, described, Some(run), of_domain)?);
            Ok(())
        })?;
        let nothing = || CliError::NoInput("no request in any domain".to_owned());
        let manifest = Manifest::of(parts).ok_or_else(nothing)?;
        let folder = temporary.path().to_owned();
        Ok(Self { folder, _temporary: Some(temporary), manifest, inputs })
    }

    /// Refuses an output in the place of one of the run's files.
    pub(super) fn refuse_output(&self, output: &Path) -> Result<(), CliError> {
        let below = |folder: &str| fs::canonicalize(self.folder.join(folder)).ok();
        let folders = ["parts", "breaks"].map(below);
        let is_part = fs::canonicalize(output)
            .is_ok_and(|output| folders.iter().flatten().any(|folder| output.starts_with(folder)));
        if is_part && output.as_os_str() != "-" {
            let message =
                format!("--output: {} is a part of the run; give another file", output.display());
            return Err(CliError::Usage(message));
        }
        Ok(())
    }

    /// Applies `--strict` and `--strict-prices` to a whole run.
    pub(super) fn tell(
        &self,
        strict: bool,
        strict_prices: bool,
        quiet: bool,
    ) -> Result<(), CliError> {
        if strict && self.inputs.damaged_places() > 0 {
            return Err(CliError::DamagedInput);
        }
        tell_unpriced(&self.manifest.unpriced(), strict_prices, quiet)
    }

    /// Snapshot of the run under all its strategies.
    ///
    /// # Errors
    /// As for [`read`](Self::read).
    pub(super) fn snapshot(&self) -> Result<Snapshot, CliError> {
        let settings = &self.manifest.settings;
        let shown: Vec<Option<usize>> = (0..settings.strategies.len()).map(Some).collect();
        let mut rows = SnapshotOfRows::new(&settings.strategies);
        self.read(&shown, &mut rows)?;
        let strategies = settings.strategies.iter();
        let strategies = strategies.map(|name| (name.clone(), self.applicability(name)));
        Ok(Snapshot {
            prices: Some(self.prices()),
            options: settings.options.clone(),
            damage: self.inputs.damaged_places(),
            ..rows.finish(&strategies.collect::<Vec<_>>())
        })
    }

    /// Name of the prices of all rows.
    pub(super) fn prices(&self) -> String {
        let prices = &self.manifest.settings.prices;
        let has_others = self.manifest.parts.iter().any(|part| part.elsewhere > 0);
        if has_others { PriceTable::with_providers(prices) } else { prices.clone() }
    }

    /// Applicability of a strategy: whole if it can act in any part.
    pub(super) fn applicability(&self, strategy: &str) -> Applicability {
        let with_rows = self.manifest.parts.iter().filter(|part| part.ledger.rows > 0);
        // `None` as soon as the strategy acts in one part.
        let idle: Option<Vec<&Vec<String>>> =
            with_rows.map(|part| part.inapplicable.get(strategy)).collect();
        match idle {
            Some(idle) if !idle.is_empty() => {
                let names: Vec<&String> = idle.into_iter().flatten().ordered();
                let obstacles = names.into_iter().filter_map(|name| Obstacle::by_name(name));
                Applicability::None(obstacles.collect())
            }
            _ => Applicability::Whole,
        }
    }

    /// Fails if a strategy differs from the one that made the rows of its name.
    pub(super) fn same_definitions(&self, strategies: &[Strategy]) -> Result<(), CliError> {
        let PartSettings { strategies: names, definitions, .. } = &self.manifest.settings;
        for (name, made_by) in names.iter().zip(definitions) {
            let given = strategies.iter().find(|strategy| strategy.name == *name);
            if given.is_some_and(|given| definition(given) != *made_by) {
                return Err(CliError::Usage(format!(
                    "--strategy: `{name}` is another strategy than the one by which the rows were made; give the file \
                     that the parts were made with"
                )));
            }
        }
        Ok(())
    }

    /// For each strategy, the number of parts in which it can do nothing.
    pub(super) fn idle(&self, strategies: &[Strategy]) -> Vec<u64> {
        let idle = |strategy: &Strategy| {
            let parts = self.manifest.parts.iter();
            parts.filter(|part| part.inapplicable.contains_key(&*strategy.name)).count() as u64
        };
        strategies.iter().map(idle).collect()
    }

    /// Sums of the run under some of its strategies.
    ///
    /// # Errors
    /// As for [`read`](Self::read).
    pub(super) fn sums(&self, compared: &[Strategy]) -> Result<RunSums, CliError> {
        let strategies = with_own(compared);
        let shown = self.shown(&strategies);
        let applicable = |one: Strategy| {
            let applicability = self.applicability(&one.name);
            (one, applicability)
        };
        let strategies = strategies.into_iter().map(applicable).collect();
        let mut sums = RunSums::new(strategies, compared.len());
        self.read(&shown, &mut sums)?;
        Ok(sums.finished())
    }

    /// For each strategy of the rows, its index among `strategies`.
    pub(super) fn shown(&self, strategies: &[Strategy]) -> Vec<Option<usize>> {
        let names = self.manifest.settings.strategies.iter();
        names.map(|name| strategies.iter().position(|strategy| strategy.name == *name)).collect()
    }

    /// Passes the rows of all parts to a reader, part by part in the order of their domains.
    ///
    /// `shown` has, for each strategy of the run, its index among the reported ones.
    ///
    /// # Errors
    /// A file is not such a part, or a break belongs to no request.
    pub(super) fn read(
        &self,
        shown: &[Option<usize>],
        reader: &mut impl RunReader,
    ) -> Result<(), CliError> {
        let strategies = &self.manifest.settings.strategies;
        let is_idle_everywhere: Vec<bool> =
            strategies.iter().map(|name| !self.applicability(name).is_applicable()).collect();
        let own = own().map(|own| strategies.iter().position(|name| *name == own.name));
        let parts = self.manifest.parts.len() as u64;
        let progress = Progress::of_steps("adding up parts", parts);
        for (domain, part) in self.manifest.parts.iter().enumerate() {
            progress.add(1);
            reader.begin(part);
            if !reader.wants(domain) {
                continue;
            }
            // A part in which a strategy cannot act counts as recorded, unless the strategy acts in none.
            let as_recorded: Vec<bool> = strategies
                .iter()
                .zip(&is_idle_everywhere)
                .map(|(name, everywhere)| !everywhere && part.inapplicable.contains_key(name))
                .collect();
            let [ledger, breaks] =
                [&part.ledger, &part.breaks].map(|file| self.folder.join(&file.path));
            let failed =
                |path: &Path, source| CliError::NoInput(format!("{}: {source}", path.display()));
            let mut found =
                stored_breaks(&breaks, &part.domain).map_err(|error| failed(&breaks, error))?;
            let of = LedgerOf {
                domain: &part.domain,
                strategies,
                shown,
                as_recorded: &as_recorded,
                own,
            };
            each_request(&ledger, of, |request| reader.add(request, &mut found))
                .map_err(|error| failed(&ledger, error))?;
            // The reader takes breaks out as their requests come: the rest belongs to no row.
            if found.left() > 0 {
                let breaks = counted(found.left(), "break", "breaks");
                return Err(CliError::NoInput(format!(
                    "{}: {breaks} of requests that have no rows; run `cachesim fleet part` for domain {} again",
                    self.folder.join(&part.breaks.path).display(),
                    part.domain
                )));
            }
        }
        Ok(())
    }
}
