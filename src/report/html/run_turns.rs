//! Sessions of a run's page: their order and names, the choice of those with turns on the page, and these turns, for
//! which the rows are read a second time.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::io;

use super::sessions::{SessionFigures, first_of};
use super::turns::{RecordedTokens, RowTurn, SessionTurns, TurnFigures};
use super::{data_block, dearest_first, with_turns};
use crate::base::{ByKey, Order as _, Ordered as _};
use crate::explain::run::{RunBreak, RunBreaks, RunRequest, RunSums};
use crate::report::SessionNames;
use crate::report::breaks_view::certainty_of;
use crate::simulate::ledger::Row;

/// Most sessions that are listed for their costs. No browser opens a page with more at once.
const MOST_SESSIONS: usize = 5_000;

/// Sessions of a run as its page has them.
pub struct RunPage {
    pub(super) sessions: Vec<SessionFigures>,
    /// Numbers of the sessions on the page, by their places among the sums.
    pub(super) numbers: ByKey<usize, usize>,
    /// Numbers of the sessions whose turns are on the page, by domain and place in it.
    chosen: BTreeMap<(usize, usize), usize>,
    /// Place of each shown strategy among those of the sums.
    pub(super) shown: Vec<usize>,
    /// Places of the record and of the replay among those of the sums.
    own: [Option<usize>; 2],
}

impl RunPage {
    /// Sessions, domain by domain, under the applicable strategies.
    pub fn new(sums: &RunSums) -> Self {
        let applicable = sums.strategies.iter().take(sums.compared).enumerate();
        let applicable = applicable.filter(|(_, (_, one))| one.is_applicable());
        let shown: Vec<usize> = applicable.map(|(place, _)| place).collect();
        let order = listed(sums, shown.first().copied().unwrap_or_default());
        let numbers = order.iter().enumerate().map(|(number, at)| (*at, number)).collect();
        let ids = sums.sessions.iter().map(|session| session.id);
        let names = SessionNames::among(&sums.symbols, ids);
        let figures = |(number, at): (usize, &usize)| {
            let session = &sums.sessions[*at];
            SessionFigures {
                number,
                short_name: names.name(session.id),
                name: sums.symbols.text(session.id).to_owned(),
                title: String::new(),
                project: String::new(),
                files: first_of(&session.file, session.files),
                began: session.began,
                requests: session.requests,
                lost: session.breaks.costs.whole(),
                by_strategy: shown.iter().map(|place| session.totals[*place]).collect(),
            }
        };
        let sessions: Vec<SessionFigures> = order.iter().enumerate().map(figures).collect();
        let chosen = with_turns(&dearest_first(&sessions)).into_iter().map(|session| {
            let of_domain = &sums.sessions[order[session.number]];
            ((of_domain.domain, of_domain.place), session.number)
        });
        let chosen = chosen.collect();
        Self { sessions, numbers, chosen, shown, own: sums.own() }
    }

    /// Place of the strategy that ranks sessions and domains.
    pub(super) fn shown_first(&self) -> usize {
        self.shown.first().copied().unwrap_or_default()
    }

    /// Returns true if any session of a domain has its turns on the page.
    pub fn has_turns_of(&self, domain: usize) -> bool {
        self.chosen.range((domain, 0)..=(domain, usize::MAX)).next().is_some()
    }
}

/// Turns in the making, from rows that come in the same order as for the sums.
pub struct RunTurns<'p> {
    page: &'p RunPage,
    /// Number of domains that have begun.
    domains: usize,
    /// Last session: its id, its place in its domain, and its turns if they are on the page.
    session: String,
    place: Option<usize>,
    turns: Vec<RowTurn>,
    blocks: io::Result<Vec<(usize, String)>>,
}

impl<'p> RunTurns<'p> {
    /// Turns of no session yet.
    pub fn new(page: &'p RunPage) -> Self {
        let (session, place, turns) = (String::new(), None, Vec::new());
        Self { page, domains: 0, session, place, turns, blocks: Ok(Vec::new()) }
    }

    /// Page of these turns.
    pub fn page(&self) -> &RunPage {
        self.page
    }

    /// Begins a domain.
    pub fn begin_domain(&mut self) {
        self.end_session();
        self.domains += 1;
        self.place = None;
    }

    /// Adds a request.
    pub fn add(&mut self, request: &RunRequest<'_>, breaks: &mut RunBreaks) {
        // Two domains may have sessions of the same id: the first request of a domain always begins one.
        if self.place.is_none() || self.session != request.session {
            self.end_session();
            self.place = Some(self.place.map_or(0, |place| place + 1));
            request.session.clone_into(&mut self.session);
        }
        // Taken in any case: a break that no request takes counts as left over.
        let found = breaks.take(request);
        if self.number().is_none() {
            return;
        }
        let rows_of = |place: usize| -> Vec<Row<'_>> { request.under(place).copied().collect() };
        let recorded = recorded(request, self.page.own);
        let shown = self.page.shown.iter();
        self.turns.push(RowTurn {
            agent: request.agent.map(str::to_owned),
            start: request.start,
            recorded,
            is_lower_bound: request.output_is_lower_bound,
            lost: found.map(|found| {
                (found.expected.saturating_sub(found.read), found.cause, certainty(&found))
            }),
            figures: shown.map(|place| TurnFigures::of(&rows_of(*place), recorded)).collect(),
        });
    }

    /// Number of the last session, if its turns are on the page.
    fn number(&self) -> Option<usize> {
        let key = (self.domains.checked_sub(1)?, self.place?);
        self.page.chosen.get(&key).copied()
    }

    fn end_session(&mut self) {
        let turns = std::mem::take(&mut self.turns);
        let (Some(number), false) = (self.number(), turns.is_empty()) else { return };
        let block = data_block(&SessionTurns::of_rows(&turns, self.page.shown.len()));
        match (&mut self.blocks, block) {
            (Ok(blocks), Ok(block)) => blocks.push((number, block)),
            (blocks @ Ok(_), Err(error)) => *blocks = Err(error),
            (Err(_), _) => {}
        }
    }

    /// Turns of the most expensive sessions first, each with the number of its session.
    pub(super) fn blocks(mut self) -> io::Result<Vec<(usize, String)>> {
        self.end_session();
        let mut blocks = self.blocks?;
        let dearest = dearest_first(&self.page.sessions);
        let ranks: ByKey<usize, usize> =
            dearest.iter().enumerate().map(|(rank, session)| (session.number, rank)).collect();
        blocks.order_by_key(|(number, _)| ranks.get(number).copied());
        Ok(blocks)
    }
}

/// Sessions on the page, domain by domain: the most expensive ones under a strategy, and those of the listed breaks.
fn listed(sums: &RunSums, strategy: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..sums.sessions.len()).collect();
    order.order_by_key(|at| Reverse(sums.sessions[*at].totals[strategy].cost()));
    order.truncate(MOST_SESSIONS);
    // Listed breaks link to their sessions, which have to be on the page.
    let with_breaks = sums.most_expensive.iter().map(|(session, _)| *session);
    order.into_iter().chain(with_breaks).ordered()
}

/// Word for the certainty of a break's cause; empty if the service named the cause.
fn certainty(found: &RunBreak) -> &'static str {
    let inferred = found.evidence.first().filter(|evidence| evidence.cause == found.cause);
    inferred.map_or("", |evidence| certainty_of(evidence.confidence))
}

/// Prompt and output of a request, as recorded or by the rules. For a refused request the prompt is that of the first
/// strategy that sends it.
fn recorded(request: &RunRequest<'_>, own: [Option<usize>; 2]) -> RecordedTokens {
    let is_sent =
        |row: &&Row<'_>| row.iteration.is_none() && row.added.is_none() && row.refusal.is_none();
    let mut rows = own.into_iter().flatten().filter_map(|place| request.under(place).find(is_sent));
    let row = rows.next().or_else(|| request.rows.iter().map(|(_, row)| row).find(is_sent));
    RecordedTokens {
        prompt: row.map(|row| row.billing.prompt()).unwrap_or_default(),
        output: row.filter(|row| row.is_output_known).map(|row| row.billing.output),
    }
}
