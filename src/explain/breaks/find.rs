//! Search for requests that read less than they could have.
//!
//! The service's own verdicts on misses are joined with the inferred causes.

use rustc_hash::{FxHashMap, FxHashSet};

use super::captured::{CapturedCase, FirstEntries, entry_ttls, first_entries};
use super::case::{Case, Requests, siblings};
use super::readable::{Class, LONGEST_WALK, ReadLandmarks, Readable, Reads};
use super::rules::candidates;
use super::series::pinned;
use super::{Candidate, Cause, Confidence};
use crate::base::{Basis, Order as _, Picodollars, Tokens, Ttl, side_by_side};
use crate::requests::conversation::{History, RequestIndex};
use crate::requests::difference::{Difference, differences};
use crate::requests::prompt::{LARGE_MISS, NOISE, PromptTrace, Step};
use crate::simulate::ledger::{Ledger, Selection};
use crate::simulate::provider::{expectation, kept_by_service};

/// Number of requests that a thread looks at in a row.
const SIDE_BY_SIDE: usize = 1_024;

/// Definition of a shortfall.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DetectionRule {
    /// A read below the end that the previous request had left, the sum of its read and write.
    #[default]
    Complete,
    /// The client's own rule: a read over 5 % and at least 2,000 tokens below that of the previous request,
    /// not on Haiku, and not after a compaction, a microcompaction or a deletion, which the client announces to itself.
    Client,
}

/// Options of the search.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Definition of a break.
    pub rule: DetectionRule,
    /// True if causes are found without the service's verdicts.
    pub ignores_server_reason: bool,
}

/// A request that read less than it could have.
#[derive(Clone, Debug)]
pub struct Break {
    /// Index of the request.
    pub request: RequestIndex,
    /// Outcome for the cache.
    pub class: Class,
    /// True for the first request of a fork, compared with its parent.
    pub is_fork: bool,
    /// Most certain cause.
    pub cause: Cause,
    /// Most certain cause without the service's verdict.
    pub inferred: Cause,
    /// Every cause that fits, most certain first.
    pub candidates: Vec<Candidate>,
    /// First difference of a captured request's prompt from the one before.
    pub changed: Option<Box<Difference>>,
    /// Time from the start of the previous request to its own, in milliseconds.
    pub gap: Option<i64>,
    /// True if the entry should have been alive: its TTL is known and was not exceeded.
    pub is_inside_ttl: bool,
    /// True if the request begins one of several turns in a row that read the same.
    pub is_pinned: bool,
    /// Tokens that could have been read: the read and write of the previous request.
    pub expected: Tokens,
    /// Tokens that were read.
    pub read: Tokens,
    /// Tokens sent again, of those still in the prompt.
    pub rewritten: Tokens,
    /// Basis of these tokens.
    pub basis: Basis,
    /// Cost of the tokens sent again beyond reading them, or `None` if the model has no price.
    pub excess: Option<Picodollars>,
    /// Part of the excess that the rules charge as well: an expiry is one in the replay, too.
    pub predicted: Option<Picodollars>,
}

impl Break {
    /// Tokens read less than possible.
    pub fn shortfall(&self) -> Tokens {
        self.expected.saturating_sub(self.read)
    }
}

/// Result of the search.
#[derive(Debug, Default)]
pub struct Breaks {
    /// Breaks by session, in order of time.
    pub list: Vec<Break>,
    /// Number of requests compared with their predecessors.
    pub compared: u64,
    /// Number of requests after a hole in their chain, without rules, or with a usage that sums several
    /// samplings.
    pub not_comparable: u64,
    /// Number of first requests of a chain, which have no predecessor.
    pub openings: u64,
}

/// Finds the breaks among the selected requests; `None` unless the ledger has `billed` and `replay`.
pub fn find(
    ledger: &Ledger<'_>,
    trace: &PromptTrace,
    steps: &[Step],
    selection: &Selection,
    options: Options,
) -> Option<Breaks> {
    let reads = Reads::new(ledger)?;
    let history = ledger.history;
    let finder = Finder {
        landmarks: ReadLandmarks::collect(history, steps),
        pinned: pinned(history, steps),
        branches: earlier_branches(history),
        entry_ttls: entry_ttls(&reads, steps),
        entries: first_entries(&reads, trace),
        reads,
        trace,
        steps,
        options,
    };
    let requests: Vec<RequestIndex> = selection.requests().collect();
    let chunks: Vec<&[RequestIndex]> = requests.chunks(SIDE_BY_SIDE).collect();
    let mut breaks = Breaks::default();
    for part in side_by_side(&chunks, |requests| finder.look_at_all(requests)) {
        breaks.absorb(part);
    }
    // The client's rule needs a request before, which first requests do not have.
    if options.rule == DetectionRule::Complete {
        finder.add_siblings(selection, &mut breaks);
    }
    Some(breaks)
}

struct Finder<'a> {
    reads: Reads<'a>,
    landmarks: ReadLandmarks,
    /// First requests of turns in a series that reads the same.
    pinned: FxHashSet<RequestIndex>,
    branches: FxHashMap<RequestIndex, RequestIndex>,
    /// TTL of the entry that each request left.
    entry_ttls: Vec<Option<Ttl>>,
    /// First captured request with a marker at a node.
    entries: FirstEntries,
    trace: &'a PromptTrace,
    steps: &'a [Step],
    options: Options,
}

/// Maps each request that continues an already continued one to the first that did.
fn earlier_branches(history: &History) -> FxHashMap<RequestIndex, RequestIndex> {
    // The first request that continues each predecessor.
    let mut first: FxHashMap<RequestIndex, RequestIndex> = FxHashMap::default();
    let mut branches = FxHashMap::default();
    for (index, request) in history.requests.iter().enumerate() {
        let Some(predecessor) = request.predecessor else { continue };
        let index = RequestIndex::new(index);
        let earliest = *first.entry(predecessor).or_insert(index);
        if earliest != index {
            branches.insert(index, earliest);
        }
    }
    branches
}

/// Cause of the first candidate.
fn surest(candidates: &[Candidate]) -> Cause {
    candidates.first().map_or(Cause::Unknown, |candidate| candidate.cause)
}

impl Breaks {
    /// Adds the findings among later requests.
    fn absorb(&mut self, later: Self) {
        let Self { list, compared, not_comparable, openings } = later;
        self.list.extend(list);
        self.compared += compared;
        self.not_comparable += not_comparable;
        self.openings += openings;
    }
}

impl Finder<'_> {
    fn look_at_all(&self, requests: &[RequestIndex]) -> Breaks {
        let mut breaks = Breaks::default();
        for index in requests {
            self.look_at(*index, &mut breaks);
        }
        breaks
    }

    fn look_at(&self, index: RequestIndex, breaks: &mut Breaks) {
        let request = self.reads.history().request(index);
        // A refused request reads nothing and leaves nothing to read.
        if self.reads.is_refused(index) {
            return;
        }
        if request.between.has_hole || !self.is_expected_to_read(index) {
            breaks.not_comparable += 1;
            return;
        }
        let Some(previous) = self.previous(index) else {
            breaks.openings += 1;
            return;
        };
        let is_comparable = |index| self.reads.is_one_sampling(index);
        if !is_comparable(index) || !is_comparable(previous) {
            breaks.not_comparable += 1;
            return;
        }
        breaks.compared += 1;
        let expected = self.expected(index, previous);
        if self.is_break(index, previous, expected) {
            breaks.list.push(self.diagnose(index, previous, expected));
        }
    }

    /// Returns true if rules say how much the request could have read.
    fn is_expected_to_read(&self, index: RequestIndex) -> bool {
        let history = self.reads.history();
        history.is_marked(index) || expectation(history, index).is_ok()
    }

    /// Last request before this one in its chain that the service did not refuse.
    fn previous(&self, index: RequestIndex) -> Option<RequestIndex> {
        let before = |index: &RequestIndex| self.reads.history().request(*index).predecessor;
        let mut chain = std::iter::successors(before(&index), before);
        chain.find(|index| !self.reads.is_refused(*index))
    }

    fn is_break(&self, index: RequestIndex, previous: RequestIndex, expected: Tokens) -> bool {
        let read = self.reads.split(index).read;
        match self.options.rule {
            DetectionRule::Complete => expected.saturating_sub(read) > NOISE,
            DetectionRule::Client => {
                let history = self.reads.history();
                let before = self.reads.split(previous).read;
                let step = &self.steps[index.get()];
                let is_announced = step.is_compacted(history, index)
                    || step.deleted > Tokens::ZERO
                    || history.request(index).between.has_microcompaction;
                !is_announced
                    && history.facts(history.request(index).model).client_reports_breaks
                    && before.saturating_sub(read) >= LARGE_MISS
                    && !read.is_at_least_percent_of(95, before)
            }
        }
    }

    /// Tokens that a request could have read: the read and write of the previous one, less the tokens that
    /// the service has deleted since, which are no loss. Of a service without markers it is all of the previous prompt,
    /// in its steps, if that may have come back.
    fn expected(&self, index: RequestIndex, previous: RequestIndex) -> Tokens {
        let step = &self.steps[index.get()];
        let end = self.reads.split(previous).cached_end().saturating_sub(step.deleted);
        let history = self.reads.history();
        if !history.is_marked(index) {
            let [before, after] = [previous, index].map(|index| history.request(index));
            let comes_back = before.model == after.model && !step.is_rewritten;
            let read = self.reads.split(index).read;
            let kept = kept_by_service(history, previous).filter(|_| comes_back);
            return kept.map_or(end, |kept| kept.missed_by(read).max(end));
        }
        self.captured(index, previous).map_or(end, |case| case.expected(&self.entries, end))
    }

    /// Part of `expected` that this model had cached, if it served the conversation before.
    ///
    /// The cache of another model was lost once, at the first switch to this one.
    fn recoverable(&self, index: RequestIndex, previous: RequestIndex, expected: Tokens) -> Tokens {
        let history = self.reads.history();
        let model = |index: RequestIndex| history.request(index).model;
        let before = |index: &RequestIndex| history.request(*index).predecessor;
        let mut chain = std::iter::successors(Some(previous), before).take(LONGEST_WALK);
        let own = chain.find(|earlier| model(*earlier) == model(index));
        let cached = |own| self.reads.split(own).cached_end();
        let kept = |own| kept_by_service(history, own).map_or(Tokens::ZERO, |kept| kept.tokens);
        own.map_or(expected, |own| cached(own).max(kept(own)).min(expected))
    }

    fn captured(&self, index: RequestIndex, previous: RequestIndex) -> Option<CapturedCase<'_>> {
        let history = self.reads.history();
        history.is_captured(index).then_some(CapturedCase {
            history,
            reads: &self.reads,
            trace: self.trace,
            steps: self.steps,
            entry_ttls: &self.entry_ttls,
            index,
            previous,
        })
    }

    fn diagnose(&self, index: RequestIndex, previous: RequestIndex, expected: Tokens) -> Break {
        let readable = Readable::of(&self.reads, self.steps, &self.landmarks, index);
        let mut changed = None;
        let (inferred, candidates) = match self.captured(index, previous) {
            Some(case) => {
                let differences = differences(self.reads.history(), previous, index);
                let candidates = case.candidates(&differences);
                changed = differences.into_iter().find(Difference::is_of_prefix).map(Box::new);
                (surest(&candidates), candidates)
            }
            None => self.transcript_causes(index, previous, readable),
        };
        let step = &self.steps[index.get()];
        Break {
            cause: surest(&candidates),
            inferred,
            candidates,
            is_fork: self.is_fork(index, previous),
            changed,
            gap: step.gap,
            is_inside_ttl: step.is_inside_ttl(),
            is_pinned: self.pinned.contains(&index),
            expected,
            ..self.unexplained(index, self.recoverable(index, previous, expected), readable.class())
        }
    }

    fn is_fork(&self, index: RequestIndex, previous: RequestIndex) -> bool {
        let history = self.reads.history();
        history.request(index).is_fork_of(history.request(previous))
    }

    /// Inferred cause of a transcript's miss, and all causes that fit.
    fn transcript_causes(
        &self,
        index: RequestIndex,
        previous: RequestIndex,
        readable: Readable,
    ) -> (Cause, Vec<Candidate>) {
        let requests =
            Requests { index, previous, earlier_branch: self.branches.get(&index).copied() };
        let is_pinned = self.pinned.contains(&index);
        let shown = (&self.landmarks, is_pinned);
        let case = Case::new(&self.reads, self.trace, self.steps, shown, requests, readable);
        let mut candidates = candidates(&case);
        let inferred = surest(&candidates);
        if !self.options.ignores_server_reason {
            apply_verdict(&case, &mut candidates);
        }
        (inferred, candidates)
    }

    /// A break without its causes, if `expected` tokens could have been read.
    fn unexplained(&self, index: RequestIndex, expected: Tokens, class: Class) -> Break {
        let read = self.reads.split(index).read;
        let prompt = self.reads.prompt_total(index);
        // Tokens that a shorter prompt no longer has were not sent again.
        let rewritten = expected.min(prompt).saturating_sub(read);
        Break {
            request: index,
            class,
            is_fork: false,
            cause: Cause::Unknown,
            inferred: Cause::Unknown,
            candidates: Vec::new(),
            changed: None,
            gap: None,
            is_inside_ttl: true,
            is_pinned: false,
            expected,
            read,
            rewritten,
            basis: self.reads.basis(index),
            excess: self.reads.excess(index, rewritten),
            predicted: self.reads.predicted_excess(index, expected),
        }
    }

    /// Adds first requests of sub-agents that were sent before a sibling's write could be read.
    fn add_siblings(&self, selection: &Selection, breaks: &mut Breaks) {
        let selected: FxHashSet<RequestIndex> = selection.requests().collect();
        let found = siblings(self.reads.history(), self.steps);
        for sibling in found.into_iter().filter(|one| selected.contains(&one.request)) {
            let readable = Readable::of(&self.reads, self.steps, &self.landmarks, sibling.request);
            let class = match readable.class() {
                Class::FellToZero => Class::FellToZero,
                _ => Class::Partial,
            };
            let cause = Cause::WriteNotVisible;
            breaks.list.push(Break {
                cause,
                inferred: cause,
                candidates: vec![sibling.candidate],
                gap: Some(sibling.gap),
                basis: Basis::Derived,
                ..self.unexplained(sibling.request, sibling.shared, class)
            });
        }
        let place: FxHashMap<RequestIndex, usize> =
            selection.requests().enumerate().map(|(place, index)| (index, place)).collect();
        // Siblings were found after all others, so the order of the selection is restored.
        breaks.list.order_by_key(|one| place.get(&one.request).copied());
    }
}

/// Moves the causes that agree with the service's verdict to the front.
pub(super) fn apply_verdict(case: &Case<'_>, candidates: &mut Vec<Candidate>) {
    let Some(verdict) = case.request.verdict else { return };
    let reason = case.history.symbols.text(verdict.reason);
    let meaning = format!("the service says {}", reason.replace('_', " "));
    let field = "message.diagnostics.cache_miss_reason.type";
    let says_so = |one: &Candidate| one.cause.agrees_with(reason) == Some(true);
    // The service may name a cause that no rule saw a sign of.
    if !candidates.iter().any(says_so)
        && let Some(cause) = named_cause(reason)
    {
        candidates.push(Candidate::new(cause, Confidence::High, Vec::new()));
    }
    for candidate in candidates.iter_mut().filter(|one| says_so(one)) {
        candidate.confidence = Confidence::High;
        candidate.evidence.splice(0..0, case.answer_field(field, meaning.clone()));
    }
    // The service saw a change, or could not compare: nothing says that the prompt was the same.
    candidates.retain(|one| one.cause != Cause::LikelyServerSide);
    candidates.order_by_key(|one| !says_so(one));
}

/// Cause that a verdict names by itself.
///
/// `previous_message_not_found` names none: it only says that the service has nothing to compare with.
fn named_cause(reason: &str) -> Option<Cause> {
    match reason {
        "tools_changed" => Some(Cause::ToolsChanged),
        "system_changed" => Some(Cause::SystemPromptChanged),
        "messages_changed" => Some(Cause::MessagesRewritten),
        "model_changed" => Some(Cause::ModelChanged),
        _ => None,
    }
}
