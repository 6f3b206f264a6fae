//! Commands that explain: `explain`, `breaks`, `context` and `verify`.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{env, fs};

use crate::base::{ProjectNaming, Ttl};
use crate::cli::args::{BreaksArgs, ContextArgs, ExplainArgs, Json, Rows, VerifyArgs};
use crate::cli::domains::Histories;
use crate::cli::input::discovered_file;
use crate::cli::{CliError, Output, PreparedRun, Setup, strategies};
use crate::explain::analysis::Verification;
use crate::explain::breaks::Options;
use crate::explain::story::{LocateError, LocatedRequest, has_id, locate, story};
use crate::read::input::{Discovered, Domain, Source};
use crate::report::{
    AgreementSums, BREAK_SCHEMA, BreakFile, BreaksViewOptions, ContentSums, Document, LossSums,
    Shown, breaks_document, context_document, explain_document, verify_document, write_breaks,
    write_context, write_explanation, write_verification,
};
use crate::requests::conversation::ReadOptions;
use crate::simulate::cache::Reading;
use crate::simulate::ledger::Selection;
use crate::simulate::strategy::Strategy;
use crate::study::{AdviceAndAnswer, Findings, StudyError, evidence_strategies};

/// Number of items of a context: none, as contexts are summed over sessions.
const NO_ITEMS: usize = 0;

/// Refuses swapped arguments: paths first, and a request in place of a path.
fn refuse_swapped(args: &ExplainArgs) -> Result<(), CliError> {
    let is_path = |path: &Path| path == Path::new("-") || path.exists();
    let paths = &args.input.paths;
    if !Path::new(&args.request).exists()
        || (!paths.is_empty() && paths.iter().all(|path| is_path(path)))
    {
        return Ok(());
    }
    let example = paths.iter().find(|path| !is_path(path));
    let example = example.map_or("REQUEST".into(), |path| path.display().to_string());
    Err(CliError::Usage(format!(
        "the request stands first, and `{0}` is a file or folder: `cachesim explain {example} {0}`",
        args.request
    )))
}

/// Shows the story of one request.
pub(in crate::cli) fn explain(args: &ExplainArgs) -> Result<(), CliError> {
    refuse_swapped(args)?;
    let strategies = strategies(&args.strategy, args.output.quiet)?;
    let output = Output::open(&args.output)?;
    let options = args.simulation.read_options(true);
    let assumptions = args.simulation.assumptions(args.breaks.are_kept, Reading::Literal);
    let setup = args.setup(options, strategies, assumptions)?;
    let mut search = Search::default();
    let (histories, request) = with_its_file(args, &setup)?;
    histories.each(&setup, |domain, run| {
        let (history, selection) = (&run.study.history, &run.study.selection);
        match locate(history, selection, &request) {
            Ok(located) => {
                let is_exact = has_id(history, located.index, &request);
                let story = ToldStory::of(args, run, located)?;
                search.found.push((is_exact, domain.unwrap_or_default().to_owned(), story));
            }
            Err(error) => {
                search.missed = Some(match search.missed.take() {
                    Some(before) => before.or(error),
                    None => error,
                });
            }
        }
        Ok(())
    })?;
    let ToldStory { document, json } = search.story(&args.request)?;
    output.show(args.format.chosen, || Ok(document), |Json, out| out.write_all(&json))
}

/// Input with the file of `FILE:LINE`, wherever that is, and the request by its label there.
fn with_its_file(args: &ExplainArgs, setup: &Setup<'_>) -> Result<(Histories, String), CliError> {
    // This error counts only if no file is asked for: that file alone may be enough.
    let given = Histories::of(setup, &args.domains);
    let Some(asked) = AskedFile::of(args, setup) else {
        return match (given, args.request.rsplit_once(':')) {
            (Err(CliError::NoSessions { .. }), Some((name, _))) if name.contains(['/', '.']) => {
                let missing = format!("{name}: no such file, and no sessions to look for it in");
                Err(CliError::NoInput(missing))
            }
            (given, _) => Ok((given?, args.request.clone())),
        };
    };
    let mut histories = match given {
        Err(_) if !args.input.is_named() => Histories::Whole(Discovered::default()),
        given => given?,
    };
    match &mut histories {
        Histories::Whole(discovered) => asked.add_to(discovered, args)?,
        Histories::Domains(domains, _) => asked.choose(domains)?,
    }
    let found = histories.sources().find(|one| one.is_file(&asked.path));
    let label = found.map(|one| asked.naming.label(&one.label));
    let request =
        label.map_or_else(|| args.request.clone(), |label| format!("{label}:{}", asked.line));
    Ok((histories, request))
}

/// File of `FILE:LINE`, if it exists.
struct AskedFile<'a> {
    /// Name as it was typed.
    name: &'a str,
    /// Path without links.
    path: PathBuf,
    line: u64,
    naming: &'a ProjectNaming,
}

impl<'a> AskedFile<'a> {
    fn of(args: &'a ExplainArgs, setup: &'a Setup<'_>) -> Option<Self> {
        let (name, line) = args.request.rsplit_once(':')?;
        let below_home = name.strip_prefix("~/").zip(env::home_dir());
        let path = below_home.map_or_else(|| PathBuf::from(name), |(rest, home)| home.join(rest));
        let path = fs::canonicalize(path).ok().filter(|path| path.is_file())?;
        let line = line.parse().ok().filter(|line| *line > 0)?;
        Some(Self { name, path, line, naming: &setup.options.read.naming })
    }

    /// Returns true if one of the sources is the file.
    fn is_among(&self, sources: &[Source]) -> bool {
        sources.iter().any(|one| one.is_file(&self.path))
    }

    /// Returns true if the name, as it was typed, is that of one of the sources.
    fn is_name_of(&self, sources: &[Source]) -> bool {
        let end = format!("/{}", self.name);
        let is_called = |label: &str| label == self.name || label.ends_with(&end);
        sources.iter().any(|one| is_called(&one.label) || is_called(&self.naming.label(&one.label)))
    }

    /// Adds the file, unless it is there, or the given input has one of the same name.
    ///
    /// Without a PATH it is read alone. If several files have one label, it gets its whole path as label.
    fn add_to(&self, discovered: &mut Discovered, args: &ExplainArgs) -> Result<(), CliError> {
        let is_named = args.input.is_named();
        if !self.is_among(&discovered.sources) {
            if is_named && self.is_name_of(&discovered.sources) {
                return Ok(());
            }
            let own = discovered_file(&args.input, &args.output, &self.path)?;
            if !is_named {
                *discovered = Discovered::default();
            }
            discovered.sources.extend(own.sources);
        }
        let labels: Vec<Arc<str>> =
            discovered.sources.iter().map(|one| Arc::clone(&one.label)).collect();
        let own = discovered.sources.iter_mut().find(|one| one.is_file(&self.path));
        let is_shared =
            |one: &&mut Source| labels.iter().filter(|label| **label == one.label).count() > 1;
        if let Some(own) = own.filter(is_shared) {
            own.label = self.path.to_string_lossy().into();
        }
        Ok(())
    }

    /// Leaves the domain of the file alone, or all domains if one has a file of the same name.
    fn choose(&self, domains: &mut Vec<Domain>) -> Result<(), CliError> {
        if domains.iter().any(|domain| self.is_among(&domain.sources)) {
            domains.retain(|domain| self.is_among(&domain.sources));
        } else if !domains.iter().any(|domain| self.is_name_of(&domain.sources)) {
            let name = self.name;
            return Err(CliError::Usage(format!(
                "--domains: {name} is in no domain; give a PATH that has it, or leave out --domains"
            )));
        }
        Ok(())
    }
}

/// Search for a request in all histories.
#[derive(Default)]
struct Search {
    /// Stories of requests that may be meant, each with true for the very id, and its domain.
    found: Vec<(bool, String, ToldStory)>,
    /// Reason that the other domains have none.
    missed: Option<LocateError>,
}

impl Search {
    /// Story of the request with this id, or of the only one that may be meant.
    fn story(mut self, request: &str) -> Result<ToldStory, CliError> {
        if self.found.iter().any(|(is_exact, ..)| *is_exact) {
            self.found.retain(|(is_exact, ..)| *is_exact);
        }
        let mut found = self.found.into_iter();
        match (found.next(), found.next()) {
            (Some((_, first, _)), Some((_, second, _))) => Err(CliError::Usage(format!(
                "`{request}` is in two domains, {first} and {second}; give the whole id, or its file with all folders and \
                 its line"
            ))),
            (Some((_, _, story)), None) => Ok(story),
            (None, _) => Err(self.missed.map_or(StudyError::NoRequest.into(), CliError::from)),
        }
    }
}

/// Story of a request, in every format.
struct ToldStory {
    document: Document,
    json: Vec<u8>,
}

impl ToldStory {
    fn of(
        args: &ExplainArgs,
        run: &PreparedRun,
        located: LocatedRequest<'_>,
    ) -> Result<Self, CliError> {
        let ledger = run.ledger()?;
        let asked = run.study.history.request(located.index);
        let alone = Selection::of(&run.study.history, |request| std::ptr::eq(request, asked));
        let breaks = run.study.breaks_among(&run.study.record_and_replay(), &alone)?;
        let story = story(&ledger, located, &breaks.list);
        // In all formats at once, as the run is freed before the right story is known.
        let mut json = Vec::new();
        write_explanation(&ledger, &story, args.show_text, &mut json)?;
        Ok(Self { document: explain_document(&ledger, &story, args.show_text), json })
    }
}

/// Shows every request that read less than it could have.
pub(in crate::cli) fn breaks(args: &BreaksArgs) -> Result<(), CliError> {
    let output = Output::open(&args.output)?;
    // Breaks are found by comparison with a replay that keeps none of them.
    let assumptions = args.simulation.assumptions(false, Reading::Literal);
    let read = args.simulation.read_options(true);
    let setup = args.setup(read, evidence_strategies(), assumptions)?;
    let options = Options { rule: args.rule, ignores_server_reason: args.ignore_server_reason };
    if let Some(rows) = args.format.chosen.rows() {
        return break_rows(args, &setup, rows, options, output);
    }
    let view = BreaksViewOptions {
        top: args.top,
        shows_text: args.show_text,
        has_evidence: args.output.verbose || output.is_whole(),
    };
    let document = |run: &PreparedRun| {
        let findings = run.study.breaks_in(run.evidence()?, options)?;
        let AdviceAndAnswer { advice, answer } = findings.advice_and_answer(Reading::Conservative);
        let (study, analysis) = (&run.study, &findings.analysis);
        let assumptions = study.assumptions();
        let (history, advice) = (&study.history, advice.as_ref());
        Ok(breaks_document(history, &study.steps, &answer, analysis, advice, &assumptions, view))
    };
    let sums = |run: &PreparedRun| {
        let findings = run.study.breaks_in(run.evidence()?, options)?;
        let AdviceAndAnswer { advice, answer } = findings.advice_and_answer(Reading::Conservative);
        let history = &run.study.history;
        Ok((answer, LossSums::of(history, findings.analysis, advice.as_ref(), view)))
    };
    args.view(output).show(&setup, document, sums, |_, run, out| {
        let findings = run.study.breaks_in(run.evidence()?, options)?;
        let best_caching = findings.figures().best_caching();
        Ok(write_breaks(&run.study.history, &findings.analysis, best_caching, out)?)
    })
}

/// Writes a row for each break, domain by domain if there are several.
fn break_rows(
    args: &BreaksArgs,
    setup: &Setup<'_>,
    rows: Rows,
    options: Options,
    output: Output,
) -> Result<(), CliError> {
    let histories = Histories::of(setup, &args.domains)?;
    let encoding = rows.encoding(&output, setup, &histories, BREAK_SCHEMA)?;
    output.write(|out| -> Result<(), CliError> {
        let mut file = BreakFile::new(encoding, histories.are_domains(), args.show_text, out)?;
        histories.each(setup, |domain, run| {
            let findings = run.study.breaks_in(run.evidence()?, options)?;
            file.write(&run.study.history, &findings.analysis.breaks, domain)?;
            Ok(())
        })?;
        Ok(file.finish()?)
    })
}

/// Shows the content of the context.
pub(in crate::cli) fn context(args: &ContextArgs) -> Result<(), CliError> {
    let output = Output::open(&args.output)?;
    let options = ReadOptions {
        counts_contents: args.simulation.counts_contents(),
        ..args.simulation.read_options(true)
    };
    let assumptions = args.simulation.assumptions(true, Reading::Literal);
    let setup = args.setup(options, vec![Strategy::billed()], assumptions)?;
    let top = usize::from(args.top);
    let document = |run: &PreparedRun| {
        let ledger = run.ledger()?;
        let context = run.study.context(&ledger, top)?;
        let answer = run.study.breaks(Options::default())?.answer();
        Ok(context_document(&answer, &ledger, &context, top))
    };
    let sums = |run: &PreparedRun| {
        let answer = run.study.breaks(Options::default())?.figures();
        let context = run.study.context(&run.ledger()?, NO_ITEMS)?;
        Ok((answer, ContentSums::of(&run.study.history, &context, top)))
    };
    args.view(output).show(&setup, document, sums, |Json, run, out| {
        let ledger = run.ledger()?;
        Ok(write_context(&ledger, &run.study.context(&ledger, top)?, out)?)
    })
}

/// Shows how well the rules reproduce the recorded usage.
pub(in crate::cli) fn verify(args: &VerifyArgs) -> Result<(), CliError> {
    let output = Output::open(&args.output)?;
    let options = ReadOptions {
        counts_contents: args.counts && args.simulation.counts_contents(),
        ..args.simulation.read_options(true)
    };
    let assumptions = args.simulation.assumptions(true, Reading::Literal);
    let setup = args.setup(options, verified_strategies(), assumptions)?;
    let counts = |run: &PreparedRun| args.counts.then(|| run.study.counts());
    let document = |run: &PreparedRun| {
        let (findings, verification) = verified(run)?;
        let counts = counts(run);
        let shown = Shown { rules: args.rules, counts: counts.as_ref() };
        let breaks = findings.analysis.summary.clone();
        let told = (&verification, &breaks);
        Ok(verify_document(&run.study.history, &findings.answer(), told, shown))
    };
    let sums = |run: &PreparedRun| {
        let (findings, verification) = verified(run)?;
        let counts = counts(run);
        let shown = Shown { rules: args.rules, counts: counts.as_ref() };
        let (answer, breaks) = (findings.figures(), findings.analysis.summary.clone());
        Ok((answer, AgreementSums::of(&run.study.history, (verification, breaks), shown)))
    };
    args.view(output).show(&setup, document, sums, |Json, run, out| {
        let (_, verification) = verified(run)?;
        Ok(write_verification(&run.study.history, &verification, counts(run).as_ref(), out)?)
    })
}

/// The record and its replay, and strategies that are simulated so that their rows are checked for lost tokens.
fn verified_strategies() -> Vec<Strategy> {
    let [five_minutes, one_hour] = [Ttl::FiveMinutes, Ttl::OneHour].map(Strategy::lifetime);
    let (billed, expected) = (Strategy::billed(), Strategy::expected());
    vec![billed, expected, Strategy::uncached(), five_minutes, one_hour, Strategy::mixed()]
}

/// Breaks of a run, with the agreement of the rules with its record.
fn verified(run: &PreparedRun) -> Result<(Findings<'_>, Verification), CliError> {
    let ledger = run.ledger()?;
    let findings = run.study.breaks(Options::default())?;
    let sums = findings.analysis.summary.reconciliation;
    let verification = run.study.verify(&ledger, sums)?;
    Ok((findings, verification))
}
