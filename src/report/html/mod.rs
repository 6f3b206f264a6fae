//! The report as one HTML page that contains everything it needs and loads nothing.
//!
//! The first figures are HTML, written by a template (askama) that escapes every value. The turns of each session are a
//! block of JSON next to it, column by column. The script of the page reads a block when its session is opened, so that
//! a page with many turns opens at once. The script makes elements and text, never markup, and the policy of the page
//! allows only that script and that style sheet.
//!
//! Beyond 60,000 requests or 8 MB of turns, those of the cheapest sessions are left out, and the page says so. Times
//! are UTC, with the offsets of the time zone, so that the page and the program agree. On narrow screens a turn is
//! reduced to its dollars and events.

mod answer;
mod break_lines;
mod origin;
mod run;
mod run_turns;
mod safe_text;
mod sessions;
mod turns;

pub use run::{RunView, write_run_page};
pub use run_turns::{RunPage, RunTurns};

use std::io;
use std::io::Write;

use answer::{AnswerView, Figure, answer};
use askama::Template;
use break_lines::{BreakIndex, BreakLine, break_lines};
use rustc_hash::FxHashMap;
use safe_text::{PageText, content_policy, data_block};
use sessions::{
    Embedded, SessionLine, ShownStrategies, dearest_first, embedded, session_figures,
    session_lines, sessions_block, times, with_turns,
};
use turns::turns_block;

use super::advice::{CHANGES_NOTE, changes};
use super::breaks_view::causes;
use super::context_view::{kinds, named};
use super::{Align, Grid, Inputs, compare_view, counted, dollars, grouped, verify};
use crate::base::{Millis, Picodollars, Symbol, Zone, side_by_side};
use crate::explain::advice::Advice;
use crate::explain::analysis::{Answer, Verification};
use crate::explain::breaks::Analysis;
use crate::explain::compare::Comparison;
use crate::explain::context::Context;
use crate::simulate::ledger::{Ledger, Selection, StrategyColumn};
use crate::simulate::strategy::Assumptions;

const SCRIPT: &str = include_str!("report.js");
const STYLE: &str = include_str!("report.css");

/// Strategies whose costs the turns show side by side.
const BESIDE: [&str; 3] = ["billed", "5m", "1h"];

/// Contents of the page.
#[derive(Debug)]
pub struct PageView<'a> {
    /// First figures of the page.
    pub answer: &'a Answer,
    /// Advised changes, or `None` if nothing has a price.
    pub advice: Option<&'a Advice>,
    /// Strategies to show, with the base first, and their bounds.
    pub ledger: &'a Ledger<'a>,
    /// Comparison of these strategies.
    pub comparison: &'a Comparison<'a>,
    /// Ledger of the record and of the strategies that price breaks, under the literal rules.
    pub evidence: &'a Ledger<'a>,
    /// Breaks of `evidence`.
    pub analysis: &'a Analysis,
    /// Agreement of the rules with the record.
    pub verification: &'a Verification,
    /// Composition of the contexts.
    pub context: &'a Context,
    /// Reported requests.
    pub selection: &'a Selection,
    /// Assumptions of the simulations in `ledger`.
    pub assumptions: &'a Assumptions,
    /// Charts, which keep their order within a section.
    pub charts: &'a [PageChart],
    /// Style rules for the charts, which follow those of the page.
    pub chart_style: &'a str,
    /// Titles of sessions.
    pub titles: &'a FxHashMap<Symbol, String>,
    /// True if names and words of captured prompts are shown.
    pub shows_text: bool,
}

impl<'a> PageView<'a> {
    /// Strategies that the page shows. Inapplicable ones have no figures.
    fn shown(&self) -> impl Iterator<Item = &'a StrategyColumn> + use<'a> {
        let columns: &'a [StrategyColumn] = &self.ledger.columns;
        columns.iter().filter(|column| column.applicability().is_applicable())
    }
}

impl<'a> PageView<'a> {
    /// Strategies whose costs the turns show side by side: the most informative of those shown, else the first.
    fn beside(&self) -> Vec<&'a StrategyColumn> {
        let is_beside = |column: &&StrategyColumn| BESIDE.contains(&column.strategy.name.as_ref());
        let beside: Vec<&StrategyColumn> = self.shown().filter(is_beside).collect();
        // A page with none of these strategies still has costs at its turns.
        if beside.is_empty() { self.shown().take(1).collect() } else { beside }
    }

    fn strategies(&self) -> ShownStrategies<'a> {
        fn name(column: &StrategyColumn) -> &str {
            &column.strategy.name
        }
        ShownStrategies {
            names: self.shown().map(name).collect(),
            beside: self.beside().into_iter().map(name).collect(),
        }
    }
}

/// Writes the page.
///
/// # Errors
/// Writing to `out` fails.
pub fn write_page(view: &PageView<'_>, out: &mut dyn Write) -> io::Result<()> {
    Page::of(view)?.write_into(out)
}

/// Table of the ranked changes.
fn advised(view: &PageView<'_>) -> Grid {
    let changes_of = |advice: &Advice| {
        changes(view.ledger.history, advice, &advice.changes, advice.changes.len())
    };
    view.advice.map_or_else(Grid::default, changes_of)
}

/// A table with its caption.
struct CaptionedTable {
    caption: String,
    grid: Grid,
    /// True for each column with a known value.
    shown: Vec<bool>,
}

impl CaptionedTable {
    fn of(caption: impl Into<String>, grid: Grid) -> Self {
        let shown = (0..grid.columns().len())
            .map(|column| !grid.is_unknown(column) && !grid.is_short_form(column))
            .collect();
        Self { caption: caption.into(), grid, shown }
    }

    /// Returns true for a table without rows, which is not shown.
    fn is_empty(&self) -> bool {
        self.grid.is_empty()
    }

    /// Returns true if a column is shown. The first one always is.
    fn is_shown(&self, column: usize) -> bool {
        column == 0 || self.shown.get(column).copied().unwrap_or_default()
    }

    /// Style class of a column's cells.
    fn class(&self, column: usize) -> &'static str {
        match self.grid.columns().get(column) {
            Some((_, Align::Right)) => "number",
            Some((_, Align::Wrapped)) => "words",
            Some((_, Align::Left | Align::Name | Align::Bar)) | None => "name",
        }
    }
}

/// Data of the template.
#[derive(Template)]
#[template(path = "html/report.html")]
struct Page<'a> {
    policy: String,
    script: &'static str,
    style: String,
    version: &'static str,
    charts: &'a [PageChart],
    answer: Vec<Figure>,
    names: Vec<&'a str>,
    beside: Vec<&'a str>,
    zone: &'a str,
    span: Option<String>,
    strategies: CaptionedTable,
    /// True if the table has the distance of strategies from a bound.
    above_optimal: bool,
    strategy_notes: Vec<String>,
    apart: Option<String>,
    /// Note on charts that this page lacks.
    charts_note: Option<&'static str>,
    context: CaptionedTable,
    /// Domains of a run.
    domains: CaptionedTable,
    has_projects: bool,
    sessions: Vec<SessionLine>,
    sessions_note: Option<String>,
    count: String,
    sessions_block: String,
    embedded: Embedded,
    causes: CaptionedTable,
    changes: CaptionedTable,
    changes_note: &'static str,
    breaks: Vec<BreakLine>,
    all_breaks: String,
    coverage: String,
    verification: Vec<CaptionedTable>,
    verification_note: Option<String>,
    diagnostics: CaptionedTable,
    table_id: &'a str,
    table_as_of: &'a str,
    prices: CaptionedTable,
    unpriced: CaptionedTable,
    inputs: String,
    assumptions: Vec<String>,
}

impl<'a> Page<'a> {
    /// # Errors
    /// The data of the page cannot be JSON.
    fn of(view: &'a PageView<'a>) -> io::Result<Self> {
        let history = view.ledger.history;
        let breaks = BreakIndex::new(history, &view.analysis.breaks.list);
        let sessions = session_figures(view, &breaks);
        let dearest = dearest_first(&sessions);
        let with_turns: Vec<_> = with_turns(&dearest).into_iter().collect();
        let blocks = side_by_side(&with_turns, |session| {
            let requests = &view.selection.sessions[session.number];
            Ok((session.number, turns_block(view, &breaks, requests)?))
        });
        let blocks = blocks.into_iter().collect::<io::Result<Vec<_>>>()?;
        // Only encoded blocks have a size, so the limit in bytes comes after the one in requests.
        let embedded = embedded(blocks, sessions.len());
        let strategies = view.strategies();
        // One text, as the policy has the hash of the whole style sheet.
        let style = format!("{STYLE}{}", view.chart_style);
        let incomplete = sessions.iter().filter(|session| session.is_incomplete()).count() as u64;
        let (analysis, verification) = (view.analysis, view.verification);
        let all = counted(sessions.len() as u64, "session", "sessions");
        Ok(Self {
            policy: content_policy(SCRIPT, &style),
            script: SCRIPT,
            style,
            version: env!("CARGO_PKG_VERSION"),
            charts: view.charts,
            answer: answer(&AnswerView {
                answer: view.answer,
                comparison: view.comparison,
                advice: view.advice,
            }),
            zone: history.zone.name(),
            span: span(view),
            strategies: CaptionedTable::of(
                "Costs and tokens of all requests",
                compare_view::totals(view.comparison),
            ),
            above_optimal: compare_view::has_bound(view.comparison),
            strategy_notes: compare_view::notes(view.comparison, view.assumptions.reading),
            apart: Some(view.answer.billed.apart)
                .filter(|apart| *apart > Picodollars::ZERO)
                .map(|apart| dollars(Some(apart))),
            charts_note: None,
            context: CaptionedTable::of(
                "What the prompts held, and what carrying it cost",
                kinds(&named(history, &view.context.kinds), &view.context.bill, usize::MAX),
            ),
            domains: CaptionedTable::of("", Grid::default()),
            has_projects: sessions.iter().any(|session| !session.project.is_empty()),
            sessions: session_lines(&history.zone, &dearest),
            sessions_note: (incomplete > 0).then(|| incomplete_note(incomplete)),
            count: format!("{} of {all}", grouped(sessions.len() as u64)),
            sessions_block: sessions_block(&strategies, &history.zone, &times(view), &sessions)?,
            names: strategies.names,
            beside: strategies.beside,
            embedded,
            causes: CaptionedTable::of("Breaks by cause", causes(&analysis.summary)),
            changes: CaptionedTable::of("What to change", advised(view)),
            changes_note: CHANGES_NOTE,
            breaks: break_lines(view),
            all_breaks: counted(analysis.breaks.list.len() as u64, "break", "breaks"),
            coverage: verify::coverage(&Inputs::of(history), verification),
            verification: verification_tables(verification),
            verification_note: verify::unpriced(verification),
            diagnostics: CaptionedTable::of(
                "What in the input was not as expected",
                origin::diagnostics(view),
            ),
            table_id: &view.ledger.prices.id,
            table_as_of: &view.ledger.prices.as_of,
            prices: CaptionedTable::of("Dollars for a million tokens", origin::used_prices(view)),
            unpriced: CaptionedTable::of("Models without a price", origin::unpriced_models(view)),
            inputs: origin::inputs(view),
            assumptions: origin::assumptions(view),
        })
    }

    /// Charts of a section.
    fn charts<const COUNT: usize>(&self, ids: &[&str; COUNT]) -> Vec<&PageChart> {
        charts_of(self.charts, ids)
    }
}

/// Times of the first and the last request.
fn span(view: &PageView<'_>) -> Option<String> {
    Some(span_of(&view.ledger.history.zone, view.answer.span?))
}

fn span_of(zone: &Zone, (first, last): (Millis, Millis)) -> String {
    format!("{} to {} ({})", zone.moment(first), zone.moment(last), zone.name())
}

fn incomplete_note(sessions: u64) -> String {
    format!(
        "Of {} not every request has a price and a record: the cost is that of the rest, and the \
         difference is unknown.",
        counted(sessions, "session", "sessions"),
    )
}

fn verification_tables(verification: &Verification) -> Vec<CaptionedTable> {
    vec![
        CaptionedTable::of("How far the rules and the record agree", verify::figures(verification)),
        CaptionedTable::of("By model", verify::groups("model", &verification.by_model)),
        CaptionedTable::of(
            "By client version",
            verify::groups("client", &verification.by_client_version),
        ),
    ]
}

/// A chart: an SVG without style attributes, which the page's policy would block.
#[derive(Clone, Debug)]
pub struct PageChart {
    /// Kind of chart, which decides its section: `strategies`, `cost`, `breaks`, `gaps`, `daily`, `turns`, `context` or
    /// `waterfall`.
    pub id: &'static str,
    /// Caption of the chart.
    pub title: String,
    /// Drawing for wide pages and for narrow ones, inserted as it is.
    pub svg: String,
}

/// Charts with some ids, in the order of the ids.
fn charts_of<'a>(charts: &'a [PageChart], ids: &[&str]) -> Vec<&'a PageChart> {
    ids.iter().flat_map(|id| charts.iter().filter(move |chart| chart.id == *id)).collect()
}
