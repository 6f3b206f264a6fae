//! Ledger: a history under several strategies, priced.
//!
//! It is the one table that everything after the simulator reads: for each request and strategy,
//! its tokens and their exact cost. Rollups add up its rows and nothing else.

mod expiry;
mod filter;
mod rows;
mod totals;

pub use expiry::Expiry;
pub use filter::{Filter, FilterError, MAIN_AGENT, Selection, Session};
pub use rows::{Row, RowTokens};
pub use totals::{Breakdown, Totals};

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use rustc_hash::FxHashSet;

use crate::base::{ByKey, Picodollars, Tokens, Ttl, TtlPlan, side_by_side};
use crate::requests::content::Ratios;
use crate::requests::conversation::{History, RequestIndex};
use crate::requests::prompt::{PromptTrace, Step};
use crate::simulate::cache::{Outcome, Reading};
use crate::simulate::management::{Effects, Management, Sketch};
use crate::simulate::pricing::{
    PriceContext, PriceTable, Rates, RequestRates, price_context, rates_in,
};
use crate::simulate::provider::{Provider, Unmarked, of_own_caches};
use crate::simulate::strategy::{
    Added, Applicability, Assumptions, Design, Material, Purpose, Simulated, Strategy,
    StrategyKind, try_design,
};

/// Number of requests that are added up on one thread.
const CHUNK: usize = 8_192;

/// Figures of a strategy.
#[derive(Debug)]
pub struct StrategyColumn {
    /// Strategy of the column.
    pub strategy: Strategy,
    /// Outcomes of the requests, or `None` for the record itself.
    pub simulated: Option<Simulated>,
    /// Rates, if the strategy's prompts are not the recorded ones.
    rates: Option<RequestRates>,
}

impl StrategyColumn {
    /// Column of a strategy.
    fn new(
        strategy: Strategy,
        simulated: Option<Simulated>,
        history: &History,
        prices: &PriceTable,
    ) -> Self {
        let sent = simulated.as_ref().and_then(|simulated| simulated.totals.as_ref());
        let has_rates = simulated.as_ref().is_some_and(|one| one.rates.is_some());
        let rates = sent.filter(|_| !has_rates).map(|sent| {
            let sent = sent.iter().map(|sent| (RequestIndex::new(sent.priced_as), sent.total));
            RequestRates::as_sent(history, prices, sent)
        });
        Self { strategy, simulated, rates }
    }

    /// Outcome of each request, or `None` for the record itself.
    pub fn outcomes(&self) -> Option<&[Outcome]> {
        self.simulated.as_ref().map(|simulated| simulated.outcomes.as_slice())
    }

    /// Other provider that serves the requests, if any.
    fn provider(&self) -> Option<&'static Provider> {
        self.simulated.as_ref()?.provider
    }

    /// Rates of the column's requests, if they are not those of the recorded ones.
    fn own_rates(&self) -> Option<&RequestRates> {
        self.rates.as_ref().or_else(|| self.simulated.as_ref()?.rates.as_ref())
    }

    /// Applicability of the strategy to the input.
    pub fn applicability(&self) -> &Applicability {
        const RECORD: &Applicability = &Applicability::Whole;
        self.simulated.as_ref().map_or(RECORD, |simulated| &simulated.applicability)
    }

    /// Choices of a search, in words, for each service.
    pub fn chosen(&self) -> Option<String> {
        let choices = &self.simulated.as_ref()?.choices;
        (!choices.is_empty()).then(|| choices.join("; "))
    }

    /// TTLs of all markers, if the strategy sets them.
    fn ttl_plan(&self) -> Option<TtlPlan> {
        let chosen = self.simulated.as_ref().and_then(|simulated| simulated.chosen.as_ref());
        match (&self.strategy.kind, chosen) {
            // Lifetimes elsewhere are not Claude's TTLs.
            (StrategyKind::Elsewhere(..) | StrategyKind::Own(_), _) => None,
            (StrategyKind::Counterfactual(design), _) | (_, Some(design)) => design.ttl,
            _ => None,
        }
    }

    /// Returns true if markers keep their recorded TTLs, unless the strategy sets others.
    fn keeps_ttls(&self) -> bool {
        !matches!(
            self.strategy.kind,
            StrategyKind::Elsewhere(..) | StrategyKind::Own(_) | StrategyKind::Optimal(_)
        )
    }

    /// Request whose model a request is sent to.
    fn priced_as(&self, index: RequestIndex) -> RequestIndex {
        let totals = self.simulated.as_ref().and_then(|simulated| simulated.totals.as_ref());
        let sent = totals.and_then(|totals| totals.get(index.get()));
        sent.map_or(index, |sent| RequestIndex::new(sent.priced_as))
    }

    /// Additional requests of the strategy after a request.
    fn added_after(&self, index: RequestIndex) -> Vec<Added> {
        let simulated = self.simulated.as_ref();
        let simulated = simulated.filter(|simulated| simulated.applicability.is_applicable());
        simulated.map_or_else(Vec::new, |simulated| simulated.added_after(index))
    }
}

/// Effects of context management under a strategy.
#[derive(Clone, Copy, Debug)]
pub struct ManagedColumn {
    /// Rule of the management.
    pub management: Management,
    /// Effects of the rule.
    pub effects: Effects,
    /// Totals of the requests that the management sent itself.
    pub own: Totals,
}

/// Rows for every request and strategy, made on demand.
#[derive(Debug)]
pub struct Ledger<'a> {
    /// Requests of the rows.
    pub history: &'a History,
    /// Relation of each request to the one before it.
    pub steps: &'a [Step],
    /// Price table.
    pub prices: &'a PriceTable,
    /// Assumptions of every simulation.
    pub assumptions: Assumptions,
    /// Strategies, in output order.
    pub columns: Vec<StrategyColumn>,
    /// Bound (the least that any markers, TTLs and pings could have cost) under each requested reading.
    pub bounds: Vec<StrategyColumn>,
    /// Requests to caches that are not Anthropic's.
    own_caches: Arc<FxHashSet<RequestIndex>>,
    /// Prompt size of each request.
    totals: Arc<[Tokens]>,
    rates: Arc<RequestRates>,
    /// Bytes per token, learned on first use.
    ratios: Arc<OnceLock<Ratios>>,
}

impl<'a> Ledger<'a> {
    /// Simulates every strategy over the trace of `history`.
    pub fn new(
        history: &'a History,
        steps: &'a [Step],
        trace: &PromptTrace,
        prices: &'a PriceTable,
        strategies: &[Strategy],
        assumptions: &Assumptions,
    ) -> Self {
        Self::with_bounds(history, steps, trace, prices, (strategies, &[]), assumptions)
    }

    /// The same for captured prompts whose sizes come from their bytes only, priced by the
    /// requested settings.
    pub(crate) fn counted(
        history: &'a History,
        steps: &'a [Step],
        trace: &PromptTrace,
        prices: &'a PriceTable,
        strategies: &[Strategy],
        assumptions: &Assumptions,
    ) -> Self {
        let empty = Self::empty(history, steps, trace, prices, assumptions);
        let asked = RequestRates::as_asked(history, prices, empty.totals.iter().copied());
        Self { rates: Arc::new(asked), ..empty }.filled(trace, (strategies, &[]), |_| ()).0
    }

    /// Simulates every strategy, and the bound under each of some readings.
    pub fn with_bounds(
        history: &'a History,
        steps: &'a [Step],
        trace: &PromptTrace,
        prices: &'a PriceTable,
        simulated: (&[Strategy], &[Reading]),
        assumptions: &Assumptions,
    ) -> Self {
        let empty = Self::empty(history, steps, trace, prices, assumptions);
        empty.filled(trace, simulated, |_| ()).0
    }

    /// Ledger without columns.
    pub(crate) fn empty(
        history: &'a History,
        steps: &'a [Step],
        trace: &PromptTrace,
        prices: &'a PriceTable,
        assumptions: &Assumptions,
    ) -> Self {
        let totals: Arc<[Tokens]> = trace.prompts.iter().map(|prompt| prompt.total).collect();
        // Every simulation needs the paths of the tree. Computed here, none waits for another one to do so.
        let (rates, _) = rayon::join(
            || RequestRates::new(history, prices, totals.iter().copied()),
            || trace.paths(),
        );
        Self {
            history,
            steps,
            prices,
            assumptions: *assumptions,
            columns: Vec::new(),
            bounds: Vec::new(),
            own_caches: Arc::new(of_own_caches(history)),
            totals,
            rates: Arc::new(rates),
            ratios: Arc::default(),
        }
    }

    /// The same ledger with columns of its own.
    fn with_columns(&self, columns: Vec<StrategyColumn>) -> Self {
        Self {
            columns,
            bounds: Vec::new(),
            own_caches: Arc::clone(&self.own_caches),
            totals: Arc::clone(&self.totals),
            rates: Arc::clone(&self.rates),
            ratios: Arc::clone(&self.ratios),
            ..*self
        }
    }

    /// The same requests with the columns of strategies in place of its own, and with bounds.
    ///
    /// Bounds take longest, so `beside` runs in parallel with them on the ledger without bounds.
    pub(crate) fn filled<T: Send>(
        &self,
        trace: &PromptTrace,
        (strategies, readings): (&[Strategy], &[Reading]),
        beside: impl FnOnce(&Self) -> T + Send,
    ) -> (Self, T) {
        let bounds = readings.iter().map(|reading| Strategy::bound(Some(*reading)));
        let bounds: Vec<Strategy> = bounds.collect();
        let (bounds, (ledger, result)) = rayon::join(
            || self.simulate(&bounds, trace),
            || {
                let ledger = self.with_columns(self.simulate(strategies, trace));
                let result = beside(&ledger);
                (ledger, result)
            },
        );
        (Self { bounds, ..ledger }, result)
    }

    /// Simulates strategies over the same requests.
    fn simulate(&self, strategies: &[Strategy], trace: &PromptTrace) -> Vec<StrategyColumn> {
        let Self { history, steps, prices, ref assumptions, ref rates, ref ratios, .. } = *self;
        let unmarked = Unmarked::of(history, trace);
        // Requests without markers come last, and follow the rules of their own services:
        // `add_unmarked` appends them.
        let marked = unmarked.as_ref().map(|_| trace.first(history.sent_with_markers().len()));
        let designed = marked.as_ref().unwrap_or(trace);
        let material = Material { history, steps, trace: designed, rates, ratios, assumptions };
        let column = |strategy: &Strategy| {
            let sends_all = strategy.sends_all();
            let material = if sends_all { Material { trace, ..material } } else { material };
            let mut simulated = strategy.simulate(material);
            if let Some(simulated) = &mut simulated {
                simulated.keep_recorded(strategy, history, &self.own_caches);
            }
            let apart = unmarked.as_ref().filter(|_| !sends_all);
            if let (Some(simulated), Some(unmarked)) = (&mut simulated, apart) {
                simulated.add_unmarked(strategy, unmarked);
            }
            StrategyColumn::new(strategy.clone(), simulated, history, prices)
        };
        side_by_side(strategies, column)
    }

    /// Ledger of one design over the same requests; `None` if the design cannot act on them.
    pub(crate) fn on_trial(
        &self,
        design: Design,
        trace: &PromptTrace,
        assumptions: &Assumptions,
    ) -> Option<Self> {
        let Self { history, steps, prices, .. } = *self;
        let unmarked = Unmarked::of(history, trace);
        let marked = unmarked.as_ref().map(|_| trace.first(history.sent_with_markers().len()));
        let trace = marked.as_ref().unwrap_or(trace);
        let (rates, ratios) = (&self.rates, &self.ratios);
        let material = Material { history, steps, trace, rates, ratios, assumptions };
        let mut simulated = try_design(&design, material)?;
        let strategy = Strategy {
            name: Cow::Borrowed("on trial"),
            summary: Cow::Borrowed("a design on trial"),
            kind: StrategyKind::Counterfactual(design),
        };
        simulated.keep_recorded(&strategy, history, &self.own_caches);
        if let Some(unmarked) = &unmarked {
            simulated.add_unmarked(&strategy, unmarked);
        }
        let column = StrategyColumn::new(strategy, Some(simulated), history, prices);
        Some(Self { assumptions: *assumptions, ..self.with_columns(vec![column]) })
    }

    /// Bytes per token, by session and kind of content.
    pub(crate) fn ratios(&self) -> &Ratios {
        self.ratios.get_or_init(|| Ratios::learn(self.history, self.steps))
    }

    /// Lower bound of the cost of some requests with prompts of the sketched sizes: all of each
    /// prompt is charged at the lowest of its rates, as if it were read from cache in full, and no
    /// request is refused.
    pub(crate) fn least_cost(&self, sketch: &Sketch, selection: &Selection) -> Picodollars {
        let history = self.history;
        let sent = sketch.totals.iter().enumerate();
        let sent = sent.map(|(index, total)| (RequestIndex::new(index), *total));
        let rates = RequestRates::as_sent(history, self.prices, sent);
        let least = |index: RequestIndex, prompt: Tokens, output: Tokens| {
            // An unknown price must not raise a lower bound.
            let Some(rates) = rates.of(index) else { return Picodollars::ZERO };
            let Rates { input, cache_write_5m, cache_write_1h, cache_read, output: answer, .. } =
                *rates;
            let lowest = input.min(cache_write_5m).min(cache_write_1h).min(cache_read);
            lowest.times(prompt) + answer.times(output)
        };
        let own = selection.requests().map(|index| {
            let usage = history.request(index).usage.as_ref();
            least(
                index,
                sketch.totals[index.get()],
                usage.map_or(Tokens::ZERO, |usage| usage.output),
            )
        });
        let own: Picodollars = own.sum();
        let selected: FxHashSet<RequestIndex> = if sketch.added.is_empty() {
            FxHashSet::default()
        } else {
            selection.requests().collect()
        };
        let added = sketch.added.iter().map(|(after, prompt, output)| {
            let after = RequestIndex::new(*after);
            let is_selected = selected.contains(&after);
            if is_selected { least(after, *prompt, *output) } else { Picodollars::ZERO }
        });
        own + added.sum()
    }

    /// Column of a strategy, if it was requested.
    pub fn column(&self, name: &str) -> Option<&StrategyColumn> {
        self.columns.iter().find(|column| column.strategy.name == name)
    }

    /// Column of the record, if it was requested.
    pub fn billed(&self) -> Option<&StrategyColumn> {
        self.columns.iter().find(|column| column.strategy.is_record())
    }

    /// Column of the rules' expectation of the recorded requests, if it was requested.
    pub fn expected(&self) -> Option<&StrategyColumn> {
        self.columns.iter().find(|column| column.strategy.is_replay())
    }

    /// Column with one lifetime for every marker, if it was requested.
    pub fn lifetime(&self, ttl: Ttl) -> Option<&StrategyColumn> {
        let kind = Strategy::lifetime(ttl).kind;
        self.columns.iter().find(|column| column.strategy.kind == kind)
    }

    /// Column of the bound under a reading, if it was requested.
    pub fn bound(&self, reading: Reading) -> Option<&StrategyColumn> {
        let kind = StrategyKind::Optimal(Some(reading));
        self.bounds.iter().find(|column| column.strategy.kind == kind)
    }

    /// Returns true if a request's cache is not Anthropic's, so that it counts as recorded.
    pub fn has_own_cache(&self, index: RequestIndex) -> bool {
        self.own_caches.contains(&index)
    }

    /// Prompt size of a request.
    #[inline]
    pub fn prompt_total(&self, index: RequestIndex) -> Tokens {
        self.totals[index.get()]
    }

    /// Effects of context management, under a strategy that has it.
    pub fn managed(&self, column: &StrategyColumn) -> Option<ManagedColumn> {
        let simulated = column.simulated.as_ref()?;
        let (management, effects) =
            simulated.managed.filter(|_| simulated.applicability.is_applicable())?;
        let mut own = Totals::default();
        for index in (0..self.history.requests.len()).map(RequestIndex::new) {
            let is_of_management = |row: &Row<'_>| {
                let of_management = [Purpose::Compaction, Purpose::SessionMemory];
                row.added.is_some_and(|(purpose, _)| of_management.contains(&purpose))
            };
            for row in self.added_rows(column, index).filter(is_of_management) {
                own.add(&row);
            }
        }
        Some(ManagedColumn { management, effects, own })
    }

    /// Totals over some requests.
    pub fn totals(
        &self,
        column: &StrategyColumn,
        requests: impl IntoIterator<Item = RequestIndex>,
    ) -> Totals {
        let add = |mut totals: Totals, index: RequestIndex| {
            let is_recorded = self.each_row(column, index, |row| totals.add(row));
            totals.unrecorded += u64::from(!is_recorded);
            totals
        };
        let requests = requests.into_iter();
        // Short sums, as of a session, are not worth a thread.
        if requests.size_hint().1.is_some_and(|most| most <= CHUNK) {
            return requests.fold(Totals::default(), add);
        }
        let requests: Vec<RequestIndex> = requests.collect();
        let chunks: Vec<&[RequestIndex]> = requests.chunks(CHUNK).collect();
        let of_chunk = |chunk: &&[RequestIndex]| chunk.iter().copied().fold(Totals::default(), add);
        side_by_side(&chunks, of_chunk).into_iter().fold(Totals::default(), |mut all, chunk| {
            all += chunk;
            all
        })
    }

    /// Models without a price, by name, with the number of requests of each.
    pub fn unpriced_models(
        &self,
        requests: impl IntoIterator<Item = RequestIndex>,
    ) -> Vec<(&str, usize)> {
        if self.is_priced() {
            return Vec::new();
        }
        let mut counts: ByKey<&str, usize> = ByKey::new();
        // The record has the most rows of a request. If it has none, any simulation will do.
        let columns: Vec<_> = self.billed().into_iter().chain(&self.columns).collect();
        for index in requests {
            for column in &columns {
                let is_recorded = self.each_row(column, index, |row| {
                    if row.cost.is_none() {
                        *counts.entry(row.model).or_default() += 1;
                    }
                });
                if is_recorded {
                    break;
                }
            }
        }
        counts.into_iter().collect()
    }

    /// Returns true if every row certainly has a price.
    fn is_priced(&self) -> bool {
        let mut columns = self.columns.iter().filter_map(StrategyColumn::own_rates);
        let mut requests = self.history.requests.iter().filter_map(|one| one.usage.as_ref());
        self.rates.is_complete()
            && columns.all(RequestRates::is_complete)
            // Samplings that were billed apart may be of another model, whose price is looked up row by row.
            && requests.all(|usage| usage.iterations_apart.is_empty())
    }

    fn price_context(&self, index: RequestIndex) -> PriceContext<'a> {
        price_context(self.history, index, self.prompt_total(index))
    }

    /// Rates of a request, or `None` if its model has no price.
    pub fn rates_of(&self, index: RequestIndex) -> Option<&Rates> {
        self.rates.of(index)
    }

    /// Rates of a request with a prompt of another size.
    pub fn rates_for(&self, index: RequestIndex, prompt: Tokens) -> Option<Rates> {
        let context = price_context(self.history, index, prompt);
        rates_in(self.prices, self.history, index, &context)
    }

    /// Returns true if the row of a request under a strategy has a price.
    pub fn has_price(&self, column: &StrategyColumn, index: RequestIndex) -> bool {
        self.row_tokens(column, index).is_some() && self.rates_under(column, index).is_some()
    }

    fn rates_under<'s>(
        &'s self,
        column: &'s StrategyColumn,
        index: RequestIndex,
    ) -> Option<&'s Rates> {
        column.own_rates().unwrap_or(&self.rates).of(index)
    }
}
