//! Sums of a run: by strategy, session, model, cause and day.

use std::cmp::Reverse;
use std::sync::Arc;

use super::{RunBreak, RunBreaks, RunRequest};
use rustc_hash::FxHashSet;

use crate::base::{Basis, ByKey, Millis, Order as _, Picodollars, Symbol, Symbols};
use crate::explain::analysis::Answer;
use crate::explain::breaks::{Cause, Sum, Summary};
use crate::explain::compare::{Comparison, StrategySums};
use crate::simulate::ledger::Totals;
use crate::simulate::strategy::{Applicability, Assumptions, Strategy};

/// Session of a run.
#[derive(Clone, Debug)]
pub struct RunSession {
    /// Position of its domain among the added ones.
    pub domain: usize,
    /// Position among the sessions of its domain.
    pub place: usize,
    /// Id of the session, among [`RunSums::symbols`].
    pub id: Symbol,
    /// First file, relative to the folder of all domains.
    pub file: Arc<str>,
    /// Number of files with its requests.
    pub files: usize,
    /// Start time of its first request.
    pub began: Millis,
    /// Number of its requests.
    pub requests: usize,
    /// Sums under each strategy.
    pub totals: Vec<Totals>,
    /// Sums of its breaks.
    pub breaks: Sum,
}

/// Sums of a run. Requests are added session by session.
#[derive(Debug, Default)]
pub struct RunSums {
    /// Strategies, with their applicability over all domains. Compared ones come first; the record and its replay are
    /// among the others if they are not compared.
    pub strategies: Vec<(Strategy, Applicability)>,
    /// Number of compared strategies.
    pub compared: usize,
    /// Sessions, domain by domain.
    pub sessions: Vec<RunSession>,
    /// Ids of sessions.
    pub symbols: Symbols,
    /// Sums of each strategy.
    sums: Vec<StrategySums>,
    /// Billed cost at each time of day, by quarters of hours since the Unix epoch: no time zone changes within one.
    pub billed: ByKey<i64, Picodollars>,
    /// Start times of the first and the last request.
    span: Option<(Millis, Millis)>,
    /// Most expensive breaks, with the index of their session.
    pub most_expensive: Vec<(usize, RunBreak)>,
    breaks: Sum,
    expected_breaks: Sum,
    by_cause: ByKey<Cause, Sum>,
    breaks_basis: Option<Basis>,
    /// Number of requests that were compared with the ones before them.
    looked_at: u64,
    domains: usize,
    /// Files of the last session.
    files: FxHashSet<Arc<str>>,
}

/// Milliseconds in a quarter of an hour.
pub const QUARTER: i64 = 900_000;

/// Number of breaks that are kept one by one.
const MOST_BREAKS: usize = 100;

impl RunSums {
    /// Empty sums under some strategies; the first `compared` are compared.
    pub fn new(strategies: Vec<(Strategy, Applicability)>, compared: usize) -> Self {
        let sums = vec![StrategySums::default(); strategies.len()];
        Self { strategies, compared, sums, ..Self::default() }
    }

    /// Begins a domain with this number of requests that were compared with the ones before them.
    pub fn begin_domain(&mut self, compared: u64) {
        self.domains += 1;
        self.looked_at += compared;
    }

    /// Adds a request of the domain that began last, with its break taken out of the domain's breaks.
    pub fn add(&mut self, request: &RunRequest<'_>, breaks: &mut RunBreaks) {
        let session = self.session(request);
        self.add_rows(session, request);
        let span = self.span.get_or_insert((request.start, request.start));
        *span = (span.0.min(request.start), span.1.max(request.start));
        if let Some(found) = breaks.take(request) {
            self.add_break(session, found);
        }
    }

    /// Index of a request's session.
    fn session(&mut self, request: &RunRequest<'_>) -> usize {
        let id = self.symbols.intern(request.session);
        let domain = self.domains.saturating_sub(1);
        let last = self.sessions.last().filter(|last| last.domain == domain);
        let place = last.map_or(0, |last| last.place + 1);
        if last.is_none_or(|last| last.id != id) {
            let file: Arc<str> = Arc::from(request.file);
            self.files.clear();
            self.files.insert(Arc::clone(&file));
            self.sessions.push(RunSession {
                domain,
                place,
                id,
                file,
                files: 1,
                began: request.start,
                requests: 0,
                totals: vec![Totals::default(); self.strategies.len()],
                breaks: Sum::default(),
            });
        } else if !self.files.contains(request.file) {
            self.files.insert(Arc::from(request.file));
        }
        let at = self.sessions.len() - 1;
        let session = &mut self.sessions[at];
        session.files = self.files.len();
        session.began = session.began.min(request.start);
        session.requests += 1;
        at
    }

    fn add_rows(&mut self, session: usize, request: &RunRequest<'_>) {
        for place in 0..self.strategies.len() {
            let rows = || request.under(place);
            self.sums[place].add(request.agent.is_some(), request.model, rows());
            self.sessions[session].totals[place].add_request(rows());
            if self.strategies[place].0.is_record() {
                let cost: Picodollars = rows().filter_map(|row| row.cost).sum();
                *self.billed.entry(request.time.get().div_euclid(QUARTER)).or_default() += cost;
            }
        }
    }

    fn add_break(&mut self, session: usize, found: RunBreak) {
        let (rewritten, excess) = (found.rewritten, found.excess);
        self.breaks.add_figures(rewritten, excess);
        if found.cause.is_expected() {
            self.expected_breaks.add_figures(rewritten, excess);
        }
        self.by_cause.entry(found.cause).or_default().add_figures(rewritten, excess);
        self.breaks_basis = self.breaks_basis.max(Some(found.basis));
        self.sessions[session].breaks.add_figures(rewritten, excess);
        self.most_expensive.push((session, found));
        // Sorted only when there are twice as many, so that each break costs little.
        if self.most_expensive.len() > 2 * MOST_BREAKS {
            self.keep_most_expensive();
        }
    }

    fn keep_most_expensive(&mut self) {
        // Among equals the first ones stay, since the sort is stable.
        self.most_expensive.order_by_key(|(_, found)| Reverse((found.excess, found.rewritten)));
        self.most_expensive.truncate(MOST_BREAKS);
    }

    /// Sorts the most expensive breaks, once all requests were added.
    #[must_use]
    pub fn finished(mut self) -> Self {
        self.keep_most_expensive();
        self
    }

    /// Sums of breaks.
    pub fn summary(&self) -> Summary {
        Summary::of_causes(self.breaks, self.expected_breaks, self.by_cause.clone())
    }

    /// Number of requests that were compared with the ones before them.
    pub fn looked_at(&self) -> u64 {
        self.looked_at
    }

    /// Positions of the record and of its replay among the strategies.
    pub fn own(&self) -> [Option<usize>; 2] {
        let place = |is: fn(&Strategy) -> bool| {
            self.strategies.iter().position(|(strategy, _)| is(strategy))
        };
        [place(Strategy::is_record), place(Strategy::is_replay)]
    }

    /// Comparison of the strategies side by side.
    pub fn comparison(&self, assumptions: Assumptions) -> Comparison<'_> {
        let columns = self.strategies.iter().zip(&self.sums).take(self.compared).enumerate();
        let columns = columns.map(|(place, ((strategy, applicability), sums))| {
            let costs = self.sessions.iter().map(|session| (session.id, &session.totals[place]));
            (strategy, applicability, sums, costs.collect())
        });
        Comparison::of_sums(columns.collect(), assumptions)
    }

    /// First figures of a report.
    pub fn answer(&self) -> Answer {
        let [record, replay] = self.own().map(|place| place.map(|place| &self.sums[place]));
        // A replay that lacks requests would look cheaper than the bill.
        let simulated = replay.map(|sums| sums.totals).filter(|totals| totals.unrecorded == 0);
        Answer {
            sessions: self.sessions.len(),
            span: self.span,
            billed: record.map(|sums| sums.totals).unwrap_or_default(),
            of_agents: [record, replay]
                .map(|sums| sums.map(|sums| sums.agents).unwrap_or_default()),
            simulated,
            compared: self.looked_at,
            breaks: self.breaks,
            expected_breaks: self.expected_breaks,
            breaks_basis: self.breaks_basis.unwrap_or(Basis::Derived),
            by_cause: self.summary().by_cause,
            change: None,
            unsimulated: None,
            waterfall: None,
            contradiction: None,
            // Rows of a run have no counts of clients.
            client: None,
        }
    }
}
