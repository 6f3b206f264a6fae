//! Verification of the rules against the record.
//!
//! The simulated reads of `replay` are compared with the recorded ones. The shares leave out the first
//! requests of chains and the first ones after a change of model, as their recorded read is an input of the
//! simulation.

use derive_more::AddAssign;
use serde::Serialize;

use super::novelties::Novelties;
use crate::base::{ByKey, Client, Millis, Order as _, Tokens, Ttl};
use crate::explain::breaks::{Reconciliation, add_each};
use crate::explain::client_count::ClientCount;
use crate::requests::conversation::{History, Request, RequestIndex};
use crate::requests::prompt::{
    MeasuredRule, NOISE, Step, StepKind, ends_of_suggestion, is_break, is_large_miss,
};
use crate::simulate::ledger::{Ledger, Row, Selection, StrategyColumn};
use crate::simulate::provider::{NotSimulated, expectation};

/// Most requests in the list of the worst.
const WORST_LISTED: usize = 20;

/// Smallest prefix, left in the cache by a prompt, whose expiry shows.
const SMALLEST_TELLING_PREFIX: Tokens = Tokens(5_000);

/// Numbers of requests that were compared, or not.
#[derive(AddAssign, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Coverage {
    /// All requests.
    pub requests: u64,
    /// Simulated requests: all for which the rules expect anything.
    pub simulated: u64,
    /// The compared requests.
    pub compared: u64,
    /// First requests of a chain.
    pub openings: u64,
    /// First requests after a change of model.
    pub model_changes: u64,
    /// Captured requests without usage to compare with.
    pub without_usage: u64,
    /// Requests sent too soon after a write for it to be read.
    pub too_recent: u64,
    /// Requests after a suggestion that no line shows, or without one that was expected.
    pub suggestions: u64,
    /// Requests to services whose caches need no markers, with rules and figures of their own.
    pub unmarked: u64,
}

/// Agreement of simulated and recorded reads.
#[derive(AddAssign, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Agreement {
    /// The compared requests.
    pub requests: u64,
    /// Requests whose read is predicted within 1 % of the prompt.
    pub within: u64,
    /// Requests whose read is predicted exactly.
    pub exact: u64,
    /// Sum of |simulated − recorded read|.
    pub error: Tokens,
    /// Sum of the prompts.
    pub prompt: Tokens,
}

impl Agreement {
    fn add(&mut self, comparison: &ComparedRead) {
        self.requests += 1;
        self.within += u64::from(comparison.is_within());
        self.exact += u64::from(comparison.simulated == comparison.recorded);
        self.error += comparison.error();
        self.prompt += comparison.prompt;
    }
}

/// Agreement of the rules of a service without markers with the record.
#[derive(AddAssign, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServiceAgreement {
    /// All compared requests.
    pub all: Agreement,
    /// Compared requests that did not lose the prefix that the rules find.
    pub outside_breaks: Agreement,
    /// Requests that continue one of less than five minutes before.
    pub soon: u64,
    /// Requests of `soon` whose read is within 1 % of the prompt, or within a step of the rules.
    pub soon_within_step: u64,
}

impl ServiceAgreement {
    fn add(&mut self, comparison: &ComparedRead, step: &Step, spacing: Tokens) {
        self.all.add(comparison);
        if !is_lost(comparison) {
            self.outside_breaks.add(comparison);
        }
        let continues = step.kind == StepKind::Continued;
        if continues && step.gap.is_some_and(|gap| gap < Ttl::FiveMinutes.millis()) {
            self.soon += 1;
            // A prompt that ends in the middle of a step may leave that step, too.
            let is_near = comparison.error() <= spacing + SLACK;
            self.soon_within_step += u64::from(is_near || comparison.is_within());
        }
    }
}

/// Returns true if a request read so much less than the rules find as for a break elsewhere.
fn is_lost(comparison: &ComparedRead) -> bool {
    let lost = comparison.simulated.saturating_sub(comparison.recorded);
    is_large_miss(lost, comparison.simulated)
}

/// Tokens by which a read may further fall short of the last step of a prompt. (Measured of `OpenAI`'s.)
const SLACK: Tokens = Tokens(128);

/// Requests that are not simulated.
#[derive(AddAssign, Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Unsimulated {
    /// Number of requests.
    pub requests: u64,
    /// Requests that continue another one.
    pub pairs: u64,
    /// Requests of `pairs` that read the prompt before within 1 %, as from a cache that keeps everything.
    #[serde(rename = "pairs_within_1_percent")]
    pub pairs_within: u64,
}

impl Unsimulated {
    fn add(&mut self, history: &History, request: &Request) {
        self.requests += 1;
        let Some(previous) = history.predecessor(request) else { return };
        let prompt = request.prompt_total();
        let most = previous.prompt_total().min(prompt);
        let error = request.recorded().prompt.read.abs_diff(most);
        self.pairs += 1;
        self.pairs_within += u64::from(u128::from(error.0) * 100 <= u128::from(prompt.0));
    }
}

/// Recorded and simulated expiries.
#[derive(AddAssign, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Expiries {
    /// Pairs of requests with a long enough gap.
    pub pairs: u64,
    /// Pairs that expired in the record.
    pub recorded: u64,
    /// Pairs that expired in the simulation.
    pub simulated: u64,
    /// Pairs that expired in both.
    pub both: u64,
}

/// Decisions of a measured rule, by the verdict of the record.
#[derive(AddAssign, Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RuleCount {
    /// Requests whose read is nearer to the rule's than to the one without the rule.
    pub agreeing: u64,
    /// All other requests.
    pub against: u64,
}

/// A badly predicted request.
#[derive(Clone, Copy, Debug)]
pub struct Worst {
    /// Index of the request.
    pub request: RequestIndex,
    /// Relation to its predecessor.
    pub kind: StepKind,
    /// True if the request is a break.
    pub is_break: bool,
    /// Recorded read.
    pub recorded: Tokens,
    /// Read by the rules.
    pub simulated: Tokens,
}

/// The result of a verification.
#[derive(Debug, Default)]
pub struct Verification {
    /// Numbers of requests that were compared, or not.
    pub coverage: Coverage,
    /// Agreement over all compared requests.
    pub all: Agreement,
    /// Agreement over the compared requests without large misses.
    pub without_large_misses: Agreement,
    /// Large misses: over 2,000 tokens and over 5 % less than was left, inside the TTL, on the same model.
    ///
    /// [`Breaks`](crate::explain::breaks::Breaks) also has smaller ones and expiries.
    pub large_misses: u64,
    /// Agreement over requests sent so soon after the answer before that its write could not be read.
    ///
    /// No line separates these from others sent as soon. They are in no figure but the dollars.
    pub too_recent: Agreement,
    /// Agreement over requests at the beginning of a turn that read as if the client had asked for a
    /// suggestion before and none was expected, or the reverse.
    ///
    /// Both were seen under the same lines. They are in no figure but the dollars.
    pub suggestions: Agreement,
    /// Decisions of the measured rules, by the client versions that they hold for.
    pub rules: ByKey<(MeasuredRule, String), RuleCount>,
    /// Recorded and simulated expiries.
    pub expiries: Expiries,
    /// Dollars: the record, the rules, and the part of the difference that breaks explain.
    pub dollars: Reconciliation,
    /// Rows of all strategies whose parts were checked.
    pub conserved_rows: u64,
    /// Rows whose parts do not add up to the prompt; always 0.
    pub violations: u64,
    /// Agreement by client version.
    pub by_client_version: ByKey<String, Agreement>,
    /// Agreement by model.
    pub by_model: ByKey<String, Agreement>,
    /// Agreement over requests sent without markers, by client and model.
    ///
    /// They are in no other figure but the dollars.
    pub unmarked: ByKey<(Client, String), ServiceAgreement>,
    /// Requests that count as recorded under all rules, by reason and by model.
    pub not_simulated: ByKey<(NotSimulated, String), Unsimulated>,
    /// Clients' own counts beside the sums of lines, by session.
    pub client_counts: ByKey<String, ClientCount>,
    /// Names in lines that the program does not know.
    pub novelties: Novelties,
    /// Badly predicted requests, the worst first.
    pub worst: Vec<Worst>,
}

struct ComparedRead {
    recorded: Tokens,
    simulated: Tokens,
    prompt: Tokens,
}

impl ComparedRead {
    fn of(request: &Request, replay: &Row<'_>) -> Self {
        Self {
            recorded: request.recorded().prompt.read,
            simulated: replay.billing.read,
            prompt: request.prompt_total(),
        }
    }

    fn error(&self) -> Tokens {
        self.simulated.abs_diff(self.recorded)
    }

    fn is_within(&self) -> bool {
        u128::from(self.error().0) * 100 <= u128::from(self.prompt.0)
    }
}

/// Days, from 2026-03-18 on and before 2026-05-05 (UTC), on which some writes could not be read for a moment.
///
/// (Measured: 76 of 698 requests within a second of the answer's first line, none of 796 later ones; 1 of
/// 3,146 as soon on other days. Requests with the same lines had both outcomes.)
const LATE_WRITES: (Millis, Millis) =
    (Millis::new(1_773_792_000_000), Millis::new(1_777_939_200_000));

/// Longest such moment, in milliseconds.
const TOO_RECENT: i64 = 1_000;

/// Returns true if a request, sent within a moment of the previous answer, read exactly as much as the
/// request before, which had written more.
fn is_too_recent(
    history: &History,
    request: &Request,
    step: &Step,
    comparison: &ComparedRead,
) -> bool {
    let Some(previous) = history.predecessor(request) else { return false };
    let Some(usage) = &previous.usage else { return false };
    let (before, (from, until)) = (&usage.prompt, LATE_WRITES);
    step.kind == StepKind::Continued
        && (from..until).contains(&request.start)
        && previous.answered.is_some_and(|answered| request.start.since(answered) < TOO_RECENT)
        && before.written() > Tokens::ZERO
        && comparison.recorded == before.read
        && comparison.recorded < comparison.simulated
}

/// Returns true if a request read to the end of the case that was not expected: with a suggestion that no
/// line shows, or without one.
fn is_unrecorded_suggestion(
    history: &History,
    request: &Request,
    step: &Step,
    comparison: &ComparedRead,
) -> bool {
    let Some((without, with)) = ends_of_suggestion(history, request, step) else { return false };
    let is_at = |read: Tokens, end: Tokens| read.abs_diff(end) <= NOISE;
    let crosses = |simulated, recorded| {
        is_at(comparison.simulated, simulated) && is_at(comparison.recorded, recorded)
    };
    without.abs_diff(with) > NOISE && (crosses(without, with) || crosses(with, without))
}

/// Compares the `replay` column of a ledger with the record; `None` if either column is missing.
pub fn verify(
    ledger: &Ledger<'_>,
    steps: &[Step],
    selection: &Selection,
    dollars: Reconciliation,
) -> Option<Verification> {
    let replay = ledger.expected()?;
    let billed = ledger.billed()?;
    let novelties = Novelties::of(ledger.history);
    let client_counts = ClientCount::by_session(ledger, selection);
    let mut verification =
        Verification { dollars, client_counts, novelties, ..Verification::default() };
    for index in selection.requests() {
        verification.count_conservation(ledger, index);
        let (Some(_), Some(row)) = (ledger.row(billed, index), ledger.row(replay, index)) else {
            verification.coverage.without_usage += 1;
            continue;
        };
        verification.compare(ledger, &row, &steps[index.get()]);
        if !ledger.has_own_cache(index) {
            verification.add_expiry(ledger, replay, index, &steps[index.get()]);
        }
    }
    let history = ledger.history;
    verification.worst.order_by_key(|worst| {
        (std::cmp::Reverse(worst.simulated.abs_diff(worst.recorded)), worst.request)
    });
    verification.worst.truncate(WORST_LISTED);
    debug_assert_eq!(verification.violations, 0, "tokens are conserved");
    debug_assert!(verification.coverage.requests <= history.requests.len() as u64);
    Some(verification)
}

impl Verification {
    /// Number of requests with a record but without a price, which are in no dollar amount.
    pub fn unpriced(&self) -> u64 {
        self.dollars.left_out.saturating_sub(self.coverage.without_usage)
    }

    /// Adds the verification of another history, but for its worst requests, whose indices mean nothing
    /// outside of it.
    pub fn absorb(&mut self, other: Self) {
        self.coverage += other.coverage;
        self.all += other.all;
        self.without_large_misses += other.without_large_misses;
        self.large_misses += other.large_misses;
        self.too_recent += other.too_recent;
        self.suggestions += other.suggestions;
        add_each(&mut self.rules, other.rules);
        self.expiries += other.expiries;
        self.dollars += other.dollars;
        self.conserved_rows += other.conserved_rows;
        self.violations += other.violations;
        add_each(&mut self.by_client_version, other.by_client_version);
        add_each(&mut self.by_model, other.by_model);
        add_each(&mut self.unmarked, other.unmarked);
        add_each(&mut self.not_simulated, other.not_simulated);
        self.client_counts.extend(other.client_counts);
        self.novelties.absorb(other.novelties);
        self.worst.clear();
    }

    fn count_conservation(&mut self, ledger: &Ledger<'_>, index: RequestIndex) {
        let prompt = ledger.prompt_total(index);
        let columns = ledger.columns.iter().chain(&ledger.bounds);
        let rows = columns.filter_map(|column| ledger.row(column, index));
        // All figures of a refused request are zero.
        for row in rows.filter(|row| row.refusal.is_none()) {
            let billing = row.billing;
            let parts = billing.read + billing.write_5m + billing.write_1h + billing.input;
            self.conserved_rows += 1;
            self.violations += u64::from(parts != prompt);
        }
    }

    fn compare(&mut self, ledger: &Ledger<'_>, replay: &Row<'_>, step: &Step) {
        self.coverage.requests += 1;
        self.coverage.simulated += 1;
        let history = ledger.history;
        let request = history.request(replay.request);
        let is_marked = history.is_marked(replay.request);
        let expected = if ledger.has_own_cache(replay.request) {
            Some(Err(NotSimulated::OwnCache))
        } else {
            (!is_marked).then(|| expectation(history, replay.request))
        };
        if let Some(Err(reason)) = expected {
            self.coverage.simulated -= 1;
            self.coverage.unmarked += 1;
            let count = self.not_simulated.entry((reason, replay.model.to_owned())).or_default();
            return count.add(history, request);
        }
        match step.kind {
            StepKind::Opening => return self.coverage.openings += 1,
            StepKind::ModelChange => return self.coverage.model_changes += 1,
            StepKind::Continued | StepKind::Rewritten | StepKind::Expired => {}
        }
        let comparison = ComparedRead::of(request, replay);
        if let Some(Ok(service)) = expected {
            self.coverage.unmarked += 1;
            let key = (request.client, replay.model.to_owned());
            return self.unmarked.entry(key).or_default().add(
                &comparison,
                step,
                service.rules.counting().step,
            );
        }
        let version = history.text(request.client_version).unwrap_or("unknown");
        if is_too_recent(history, request, step, &comparison) {
            self.coverage.too_recent += 1;
            return self.too_recent.add(&comparison);
        }
        if is_unrecorded_suggestion(history, request, step, &comparison) {
            self.coverage.suggestions += 1;
            return self.suggestions.add(&comparison);
        }
        self.coverage.compared += 1;
        if let Some(rule) = step.rule {
            let count = self.rules.entry((rule, version.to_owned())).or_default();
            // Without the rule an expired entry would not be read, and any other read to its end.
            let without = match rule {
                _ if step.kind == StepKind::Expired => Tokens::ZERO,
                MeasuredRule::LateExpiry => Tokens::ZERO,
                MeasuredRule::HookContextMoves
                | MeasuredRule::FirstLoadedTools
                | MeasuredRule::InterruptedRequest
                | MeasuredRule::FailedStream
                | MeasuredRule::LongStep => step.previous_end,
            };
            let is_nearer = comparison.error() < without.abs_diff(comparison.recorded);
            let place = if is_nearer { &mut count.agreeing } else { &mut count.against };
            *place += 1;
        }
        let is_break = is_break(request, step);
        self.all.add(&comparison);
        if is_break {
            self.large_misses += 1;
        } else {
            self.without_large_misses.add(&comparison);
        }
        self.by_client_version.entry(version.to_owned()).or_default().add(&comparison);
        self.by_model.entry(replay.model.to_owned()).or_default().add(&comparison);
        if !comparison.is_within() {
            self.worst.push(Worst {
                request: replay.request,
                kind: step.kind,
                is_break,
                recorded: comparison.recorded,
                simulated: comparison.simulated,
            });
        }
    }

    /// Adds a pair of consecutive requests of one chain and model, over 1.3 TTLs apart, with over 5,000
    /// cached tokens after the earlier one.
    ///
    /// It expired if less than half of what was cached was read.
    fn add_expiry(
        &mut self,
        ledger: &Ledger<'_>,
        replay: &StrategyColumn,
        index: RequestIndex,
        step: &Step,
    ) {
        let (Some(gap), Some(ttl)) = (step.gap, step.predecessor_ttl) else {
            return;
        };
        let is_telling = step.kind != StepKind::ModelChange
            && step.previous_end > SMALLEST_TELLING_PREFIX
            // Starts are known to a few seconds, and some entries outlive their TTL: only clear gaps count.
            && gap * 10 > ttl.millis() * 13;
        if !is_telling {
            return;
        }
        let is_expired = |read: Tokens| read.0 * 2 < step.previous_end.0;
        let recorded = is_expired(ledger.history.request(index).recorded().prompt.read);
        let Some(simulated) = ledger.row(replay, index).map(|row| is_expired(row.billing.read))
        else {
            return;
        };
        self.expiries.pairs += 1;
        self.expiries.recorded += u64::from(recorded);
        self.expiries.simulated += u64::from(simulated);
        self.expiries.both += u64::from(recorded && simulated);
    }
}
