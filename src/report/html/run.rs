//! Page of a run, made from its rows in the layout of the page over sessions. Anything that rows do not record is left
//! out, and the page says which command shows it.

use std::cmp::Reverse;
use std::io;
use std::io::Write;

use askama::Template;

use super::answer::{AnswerView, answer};
use super::origin::models_without_price;
use super::run_turns::{RunPage, RunTurns};
use super::{
    BESIDE, BreakLine, CaptionedTable, Page, PageChart, SCRIPT, STYLE, ShownStrategies,
    content_policy, dearest_first, embedded, incomplete_note, session_lines, sessions_block,
};
use crate::base::{Millis, Order as _, Picodollars, Zone};
use crate::explain::analysis::Answer;
use crate::explain::breaks::Sum;
use crate::explain::compare::Comparison;
use crate::explain::run::{QUARTER, RunBreak, RunEvidence, RunSums};
use crate::report::breaks_view::{causes, evidence_words};
use crate::report::part_json::Manifest;
use crate::report::{
    Columns, Grid, Inputs, SessionNames, bytes, compare_view, counted, dollars, grouped, part,
    tokens,
};
use crate::simulate::cache::Reading;
use crate::simulate::ledger::Totals;

/// Note on the parts that the page of a run lacks, and where to get them.
const UNTOLD: &str = "Rows hold neither prompts nor what lies between requests: `cachesim report` over the sessions of a \
                      domain also has what to change, the best caching, pauses, what the context held, and how well \
                      the rules hold.";

/// Contents of the page of a run.
pub struct RunView<'a> {
    /// Parts and settings of the run.
    pub manifest: &'a Manifest,
    /// Name of the prices of the rows.
    pub prices: &'a str,
    /// Input of all parts together.
    pub inputs: &'a Inputs,
    /// Sums of the run.
    pub sums: &'a RunSums,
    /// First figures of the page.
    pub answer: &'a Answer,
    /// Strategies to compare.
    pub comparison: &'a Comparison<'a>,
    /// Number of domains in which each strategy cannot act, in the order of the sums.
    pub idle: &'a [u64],
    /// Sessions of the run.
    pub page: &'a RunPage,
    /// Charts of the page.
    pub charts: &'a [PageChart],
    /// Style rules for the charts.
    pub chart_style: &'a str,
    /// Time zone of all times.
    pub zone: &'a Zone,
}

impl RunView<'_> {
    fn strategy_notes(&self) -> Vec<String> {
        let notes = compare_view::notes(self.comparison, self.comparison.assumptions.reading);
        let domains = self.manifest.parts.len() as u64;
        let of_domains = compare_view::domain_notes(&self.sums.strategies, self.idle, domains);
        notes.into_iter().chain(of_domains).collect()
    }
}

/// Writes the page, with the turns of the sessions that have them.
///
/// # Errors
/// Writing to `out` fails.
pub fn write_run_page(
    view: &RunView<'_>,
    turns: RunTurns<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    page(view, turns)?.write_into(out)
}

fn page<'a>(view: &'a RunView<'a>, turns: RunTurns<'_>) -> io::Result<Page<'a>> {
    let (sums, sessions) = (view.sums, &view.page.sessions);
    let settings = &view.manifest.settings;
    let style = format!("{STYLE}{}", view.chart_style);
    let dearest = dearest_first(sessions);
    let strategies = shown_strategies(view);
    let all = counted(sums.sessions.len() as u64, "session", "sessions");
    let summary = sums.summary();
    let apart = view.answer.billed.apart;
    Ok(Page {
        policy: content_policy(SCRIPT, &style),
        script: SCRIPT,
        style,
        version: env!("CARGO_PKG_VERSION"),
        charts: view.charts,
        answer: answer(&AnswerView {
            answer: view.answer,
            comparison: view.comparison,
            advice: None,
        }),
        sessions_block: sessions_block(&strategies, view.zone, &times(sums), sessions)?,
        names: strategies.names,
        beside: strategies.beside,
        zone: view.zone.name(),
        span: view.answer.span.map(|span| super::span_of(view.zone, span)),
        strategies: CaptionedTable::of(
            "Costs and tokens of all requests",
            compare_view::totals(view.comparison),
        ),
        above_optimal: compare_view::has_bound(view.comparison),
        strategy_notes: view.strategy_notes(),
        apart: Some(apart)
            .filter(|apart| *apart > Picodollars::ZERO)
            .map(|apart| dollars(Some(apart))),
        charts_note: Some(UNTOLD),
        // An empty table is not shown: rows hold no contents.
        context: CaptionedTable::of("", Grid::default()),
        domains: domains(view),
        has_projects: false,
        sessions: session_lines(view.zone, &dearest),
        sessions_note: sessions_note(view),
        count: format!("{} of {all}", grouped(sessions.len() as u64)),
        embedded: embedded(turns.blocks()?, sums.sessions.len()),
        causes: CaptionedTable::of("Breaks by cause", causes(&summary)),
        changes: CaptionedTable::of("", Grid::default()),
        changes_note: "",
        breaks: break_lines(view),
        all_breaks: counted(summary.total.breaks, "break", "breaks"),
        coverage: format!(
            "{} compared with the ones before them. Rows do not tell how well the rules hold: `cachesim verify` says \
             it of the sessions of a domain.",
            counted(sums.looked_at(), "request was", "requests were"),
        ),
        verification: Vec::new(),
        verification_note: None,
        diagnostics: CaptionedTable::of(
            "What in the input was not as expected",
            super::origin::kinds_of_diagnostics(
                view.inputs.skipped.iter().map(|(kind, count)| (kind.as_str(), *count)),
            ),
        ),
        table_id: view.prices,
        table_as_of: &settings.prices_as_of,
        prices: CaptionedTable::of("", Grid::default()),
        unpriced: CaptionedTable::of(
            "Models without a price",
            models_without_price(view.manifest.unpriced()),
        ),
        inputs: inputs(view),
        assumptions: assumptions(view),
    })
}

fn shown_strategies<'a>(view: &RunView<'a>) -> ShownStrategies<'a> {
    let sums: &'a RunSums = view.sums;
    let names: Vec<&'a str> =
        view.page.shown.iter().map(|place| sums.strategies[*place].0.name.as_ref()).collect();
    let beside: Vec<&str> = names.iter().copied().filter(|name| BESIDE.contains(name)).collect();
    let beside = if beside.is_empty() { names.iter().copied().take(1).collect() } else { beside };
    ShownStrategies { names, beside }
}

/// Notes on sessions that are not listed, or not complete.
fn sessions_note(view: &RunView<'_>) -> Option<String> {
    let sessions = &view.page.sessions;
    let unlisted = (view.sums.sessions.len() - sessions.len()) as u64;
    let unlisted = (unlisted > 0).then(|| {
        let sessions = counted(unlisted, "session", "sessions");
        format!("{sessions} that cost less are not listed.")
    });
    let incomplete = sessions.iter().filter(|session| session.is_incomplete()).count() as u64;
    let incomplete = (incomplete > 0).then(|| incomplete_note(incomplete));
    let notes: Vec<String> = unlisted.into_iter().chain(incomplete).collect();
    (!notes.is_empty()).then(|| notes.join(" "))
}

/// Sums of a domain under the strategy that the page shows first.
#[derive(Clone, Default)]
struct DomainSums {
    sessions: u64,
    totals: Totals,
    breaks: Sum,
}

/// Most domains in the table.
const MOST_DOMAINS: usize = 200;

/// Table of the domains, most expensive first.
fn domains(view: &RunView<'_>) -> CaptionedTable {
    let parts = &view.manifest.parts;
    let mut sums = vec![DomainSums::default(); parts.len()];
    let strategy = view.page.shown_first();
    for session in &view.sums.sessions {
        let of_domain = &mut sums[session.domain];
        of_domain.sessions += 1;
        of_domain.totals += session.totals[strategy];
        of_domain.breaks += session.breaks;
    }
    let mut domains: Vec<(&str, DomainSums)> =
        parts.iter().map(|part| part.domain.as_str()).zip(sums).collect();
    domains.order_by_key(|(_, sums)| Reverse(sums.totals.cost()));
    // Before the cut: the caption has the number of all domains.
    let all = counted(domains.len() as u64, "domain", "domains");
    domains.truncate(MOST_DOMAINS);
    let shown = &view.comparison.strategies[view.page.shown_first()];
    let spent = shown.totals.cost();
    let mut columns = Columns::<(&str, DomainSums)>::new();
    columns.left("domain", |(name, _)| (*name).to_owned());
    columns.right("sessions", |(_, sums)| sums.sessions);
    columns.right("requests", |(_, sums)| sums.totals.requests);
    columns.right("hit", |(_, sums)| sums.totals.hit_rate());
    columns.right("cost", |(_, sums)| sums.totals.all_costs());
    columns.right("share", |(_, sums)| part(sums.totals.cost(), spent));
    columns.right("breaks cost", |(_, sums)| sums.breaks.costs);
    let grid = columns.grid(&domains);
    let (listed, name) = (grouped(domains.len() as u64), shown.strategy.label());
    CaptionedTable::of(format!("The most expensive {listed} of {all} under {name}"), grid)
}

/// Times in order that enclose all changes of the offset from UTC.
fn times(sums: &RunSums) -> Vec<Millis> {
    let quarters = sums.billed.keys().map(|quarter| Millis::new(quarter.saturating_mul(QUARTER)));
    let began = sums.sessions.iter().map(|session| session.began);
    let mut times: Vec<Millis> = quarters.chain(began).collect();
    times.sort_unstable();
    times
}

fn break_lines(view: &RunView<'_>) -> Vec<BreakLine> {
    let sums = view.sums;
    let ids = sums.sessions.iter().map(|session| session.id);
    let names = SessionNames::among(&sums.symbols, ids);
    let line = |(session, found): &(usize, RunBreak)| {
        let first = found.evidence.first();
        BreakLine {
            session: view.page.numbers.get(session).copied().unwrap_or_default(),
            session_name: names.name(sums.sessions[*session].id),
            project: String::new(),
            sent: view.zone.moment(found.start),
            place: format!("{}:{}", found.file, found.line),
            cause: found.cause.meaning(),
            class: found.class.name().replace('_', " "),
            confidence: first.map_or("–", |first| first.confidence.name()),
            evidence: first.map_or_else(String::new, |first| evidence(found, first)),
            read: tokens(found.read),
            could: tokens(found.expected),
            excess: dollars(found.excess),
        }
    };
    sums.most_expensive.iter().map(line).collect()
}

/// Evidence for the most certain cause.
fn evidence(found: &RunBreak, first: &RunEvidence) -> String {
    let of_first = found.evidence.iter().take_while(|one| one.cause == first.cause);
    let words = of_first.map(|one| {
        let is_own = one.file == found.file;
        evidence_words(&one.meaning, (&one.file, one.line), is_own)
    });
    words.collect::<Vec<_>>().join("; ")
}

fn inputs(view: &RunView<'_>) -> String {
    let inputs = view.inputs;
    format!(
        "Made of the rows of {}, which were made of {} in {}: {}, {} left out.",
        counted(view.manifest.parts.len() as u64, "domain", "domains"),
        bytes(inputs.bytes),
        counted(inputs.files, "file", "files"),
        counted(inputs.requests, "request", "requests"),
        counted(inputs.duplicates, "copy", "copies"),
    )
}

fn assumptions(view: &RunView<'_>) -> Vec<String> {
    let settings = &view.manifest.settings;
    let options = if settings.options.is_empty() {
        "The simulations have the usual options.".to_owned()
    } else {
        format!("The simulations have the options `{}`.", settings.options)
    };
    let rest = "Each domain was simulated by itself, and breaks rest on the rules as documented, by the letter.";
    let reading = match view.comparison.assumptions.reading {
        Reading::Literal => {
            "An entry lives for its own TTL whatever lies before it (`--assume reading=literal`)."
        }
        Reading::Conservative => "No entry outlives the shortest-lived part of its prefix.",
    };
    vec![options, rest.to_owned(), reading.to_owned()]
}
