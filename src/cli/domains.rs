//! Runs over the domains of an input, one after another: each is read, worked and freed before the next.

use std::io::Write;
use std::path::Path;

use clap::Args;

use super::args::{DomainArgs, FormatArgs, Formats, InputArgs, OutputArgs, OutputFormat, RunArgs};
use super::prepared::{Telling, Unpriced};
use super::{
    CliError, Output, PreparedRun, Progress, Setup, discovered, enough_memory, refuse_lost, size,
    tell_damage, tell_unpriced, warn,
};
use crate::base::{Order as _, ProjectNaming};
use crate::explain::analysis::Answer;
use crate::read::input::{
    Diagnostics, Discovered, Domain, DomainRule, MOST_REPORT, Source, read_text,
};
use crate::report::{AllDomains, Document, DomainSums, counted, write_domain_result};
use crate::requests::conversation::read;
use crate::requests::seams::Seams;
use crate::simulate::ledger::FilterError;
use crate::study::StudyError;

/// Number of domains that a table lists by default.
const MOST_DOMAINS: usize = 20;

/// Results of a run in a format, for one history or for domains.
pub(super) struct RunView<'a, O> {
    domains: &'a DomainArgs,
    output: Output,
    format: OutputFormat<O>,
    /// Number of domains to list.
    top: usize,
}

impl<'a, O: Copy> RunView<'a, O> {
    /// View of the results that options ask for.
    pub(super) fn new(domains: &'a DomainArgs, format: OutputFormat<O>, output: Output) -> Self {
        Self { domains, output, format, top: MOST_DOMAINS }
    }

    /// The same with this number of domains in tables, if it is given.
    pub(super) fn listing(self, top: Option<usize>) -> Self {
        Self { top: top.unwrap_or(self.top), ..self }
    }

    /// Shows people the document of the only history, or the sums of all domains and a line for each; or writes for
    /// programs what `own` writes of each.
    ///
    /// Errors of a domain end the run.
    pub(super) fn show<S: DomainSums>(
        self,
        setup: &Setup<'_>,
        document: impl FnOnce(&PreparedRun) -> Result<Document, CliError>,
        sums: impl FnMut(&PreparedRun) -> Result<(Answer, S), CliError>,
        mut own: impl FnMut(O, &PreparedRun, &mut dyn Write) -> Result<(), CliError>,
    ) -> Result<(), CliError> {
        if self.domains.domains.is_some() {
            return self.show_domains(setup, sums, own);
        }
        let run = setup.whole()?;
        self.output.show(self.format, || document(&run), |format, out| own(format, &run, out))
    }

    fn show_domains<S: DomainSums>(
        self,
        setup: &Setup<'_>,
        mut sums: impl FnMut(&PreparedRun) -> Result<(Answer, S), CliError>,
        mut own: impl FnMut(O, &PreparedRun, &mut dyn Write) -> Result<(), CliError>,
    ) -> Result<(), CliError> {
        let Self { domains, output, format, top } = self;
        let document = || {
            let mut all = AllDomains::default();
            let without_requests = Histories::of(setup, domains)?.each(setup, |domain, run| {
                let (answer, sums) = sums(run)?;
                let of = (&run.study.history, &run.study.prices);
                all.add(domain.unwrap_or_default(), of, answer, sums);
                Ok(())
            })?;
            Ok(all.document(top, without_requests))
        };
        output.show(format, document, |format, out| {
            let each = |domain: Option<&str>, run: &PreparedRun| {
                write_domain_result(domain.unwrap_or_default(), out, |out| own(format, run, out))
            };
            let without_requests = Histories::of(setup, domains)?.each(setup, each)?;
            if without_requests > 0 && !setup.output.quiet {
                let domains = counted(without_requests, "domain has", "domains have");
                warn(format!("{domains} no request that is asked for, and no line"));
            }
            Ok::<(), CliError>(())
        })
    }
}

impl<O: Args, F: Formats> RunArgs<O, FormatArgs<F>> {
    /// View of the results that the options ask for.
    pub(super) fn view(&self, output: Output) -> RunView<'_, F::Own> {
        RunView::new(&self.domains, self.format.chosen, output)
    }
}

/// Reads the rule of `--domains`.
fn rule(asked: &str) -> Result<DomainRule, CliError> {
    if let Some(depth) = asked.strip_prefix("depth:") {
        // `parse` alone would take a sign.
        let is_number = depth.bytes().all(|byte| byte.is_ascii_digit());
        let depth = depth.parse().ok().filter(|depth| is_number && *depth > 0);
        return depth.map(DomainRule::Depth).ok_or_else(|| {
            CliError::Usage(format!("--domains {asked}: expected depth:N with N from 1 on"))
        });
    }
    let unreadable = |source| {
        CliError::Usage(format!(
            "--domains {asked}: cannot read the file: {source}; give depth:N, or a file of lines with a domain, \
             a tab and a path"
        ))
    };
    let table = read_text(Path::new(asked), MOST_REPORT).map_err(unreadable)?;
    Ok(DomainRule::parse(&table, asked)?)
}

/// Work on each history; a domain's name comes with it.
type Work<'w> = dyn FnMut(Option<&str>, &PreparedRun) -> Result<(), CliError> + 'w;

/// Input, as one history or as several.
pub(super) enum Histories {
    /// All of the input as one history.
    Whole(Discovered),
    /// Domains, each a history by itself, with the diagnostics of their paths.
    Domains(Vec<Domain>, Diagnostics),
}

impl Histories {
    /// Histories that the arguments name.
    pub(super) fn of(setup: &Setup<'_>, args: &DomainArgs) -> Result<Self, CliError> {
        let (input, output) = (setup.input, setup.output);
        let Some(asked) = &args.domains else {
            return Ok(Self::Whole(discovered(input, output)?));
        };
        let (domains, diagnostics) = divided(asked, input, output, &setup.options.read.naming)?;
        Ok(Self::Domains(domains, diagnostics))
    }

    /// Returns true if rows have domains.
    pub(super) fn are_domains(&self) -> bool {
        matches!(self, Self::Domains(..))
    }

    /// Files of all histories, in the order in which they are read.
    pub(super) fn sources(&self) -> impl Iterator<Item = &Source> {
        let (whole, domains) = match self {
            Self::Whole(discovered) => (discovered.sources.as_slice(), &[][..]),
            Self::Domains(domains, _) => (&[][..], domains.as_slice()),
        };
        whole.iter().chain(domains.iter().flat_map(|domain| &domain.sources))
    }

    /// Works on each history in order; a domain's name comes with it. Returns the number of domains without a
    /// requested request.
    ///
    /// # Errors
    /// Errors of `work` and of a run over one input, or a request in two domains. Domains without a requested
    /// request are left out, unless all of them are.
    pub(super) fn each(
        self,
        setup: &Setup<'_>,
        mut work: impl FnMut(Option<&str>, &PreparedRun) -> Result<(), CliError>,
    ) -> Result<u64, CliError> {
        // Behind a reference, so that the loop is compiled once for all closures.
        self.each_by(setup, &mut work)
    }

    fn each_by(self, setup: &Setup<'_>, work: &mut Work<'_>) -> Result<u64, CliError> {
        match self {
            Self::Whole(discovered) => work(None, &setup.whole_of(discovered)?).map(|()| 0),
            Self::Domains(domains, diagnostics) => {
                let mut told = Told { diagnostics, ..Told::default() };
                let worked = each_domain(domains, setup, &mut told, work);
                // Damage is reported even if a domain failed, as it may be the cause.
                let told = told.tell(setup);
                worked.and_then(|without_requests| told.map(|()| without_requests))
            }
        }
    }
}

/// Domains of an input, with the diagnostics of its paths.
pub(super) fn divided(
    asked: &str,
    input: &InputArgs,
    output: &OutputArgs,
    naming: &ProjectNaming,
) -> Result<(Vec<Domain>, Diagnostics), CliError> {
    let rule = rule(asked)?;
    refuse_lost(Path::new(asked), "--domains", &output.output)?;
    if input.root.is_none() && (input.paths.len() != 1 || input.paths_from.is_some()) {
        return Err(CliError::Usage(
            "--domains: files are known by their paths below one folder; give one PATH, or --root DIR".to_owned(),
        ));
    }
    let Discovered { sources, diagnostics } = discovered(input, output)?;
    let unused = rule.unused(&sources);
    if let (Some(first), false) = (unused.first(), output.quiet) {
        let paths = counted(unused.len() as u64, "path leads", "paths lead");
        warn(format!("--domains {asked}: {paths} to no file, {first} first"));
    }
    Ok((named(&rule, rule.divide(sources)?, naming)?, diagnostics))
}

/// Domains with the names that are shown, in the order of these.
fn named(
    rule: &DomainRule,
    mut domains: Vec<Domain>,
    naming: &ProjectNaming,
) -> Result<Vec<Domain>, CliError> {
    for domain in &mut domains {
        domain.name = match rule {
            DomainRule::Depth(_) => naming.domain_of_folders(&domain.name),
            DomainRule::Listed(_) => naming.domain(&domain.name),
        };
    }
    domains.order_by(|one, other| one.name.cmp(&other.name));
    match domains.windows(2).find(|pair| pair[0].name == pair[1].name) {
        Some(pair) => Err(CliError::Usage(format!(
            "--domains: two domains are called {}, as names are shown without the way to a home; name them in a file",
            pair[0].name
        ))),
        None => Ok(domains),
    }
}

fn each_domain(
    domains: Vec<Domain>,
    setup: &Setup<'_>,
    told: &mut Told,
    work: &mut Work<'_>,
) -> Result<u64, CliError> {
    let mut seams = Seams::default();
    let mut last_reason = None;
    let mut worked = 0;
    let count = domains.len() as u64;
    let bytes = size(domains.iter().flat_map(|domain| &domain.sources));
    let progress = Progress::of_bytes("reading domains", bytes);
    for Domain { name, sources } in domains {
        let discovered = Discovered { sources, ..Discovered::default() };
        // The problems of a domain's files are reported with those of all domains.
        let options = setup.options.read.clone();
        let history = read(discovered, options, |bytes| progress.add(bytes));
        enough_memory(&history.diagnostics)?;
        told.files += history.files.len();
        told.diagnostics.absorb(history.diagnostics.clone());
        // Before any filter: a request in two domains is an error, whatever is reported.
        seams.add(&name, &history)?;
        match setup.run(history, Telling::Later) {
            Ok(run) => {
                work(Some(&name), &run).map_err(|error| error.in_domain(&name))?;
                worked += 1;
                for (model, requests) in run.unpriced.take() {
                    *told.unpriced.entry(model).or_default() += requests;
                }
            }
            Err(CliError::Study(reason)) if has_nothing_asked_for(&reason) => {
                last_reason = Some(reason);
            }
            Err(error) => return Err(error.in_domain(&name)),
        }
    }
    match last_reason {
        Some(StudyError::NoRequest) if worked == 0 => {
            let domains = counted(count, "domain", "domains");
            Err(CliError::NoInput(format!("no request in {domains}; see `cachesim sources`")))
        }
        Some(reason) if worked == 0 => {
            let domains = counted(count, "domain", "domains");
            Err(CliError::NoInput(format!("nothing in {domains}; in the last: {reason}")))
        }
        _ => Ok(count - worked),
    }
}

/// Returns true if a domain has nothing that was requested, though others may.
pub(super) fn has_nothing_asked_for(reason: &StudyError) -> bool {
    matches!(
        reason,
        StudyError::NoRequest
            | StudyError::NoCapturedPrompt
            | StudyError::NothingLive
            | StudyError::Filter(FilterError::Unknown { .. } | FilterError::Nothing { .. })
    )
}

/// Messages that are printed once for all domains.
#[derive(Default)]
struct Told {
    files: usize,
    diagnostics: Diagnostics,
    unpriced: Unpriced,
}

impl Told {
    fn tell(&self, setup: &Setup<'_>) -> Result<(), CliError> {
        tell_unpriced(&self.unpriced, false, setup.output.quiet)?;
        tell_damage(&self.diagnostics, self.files, setup.input.strict, setup.output)
    }
}
