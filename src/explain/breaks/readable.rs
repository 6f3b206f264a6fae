//! Readable length: the part of a prompt that was still cached, which names the level that changed.
//!
//! Tools are rendered first, then the system prompt, then the messages. Everything before the change can
//! still be read if an entry ends there. Measured over 687 shortfalls with the service's verdicts (transcript
//! format, H.7): nothing readable inside the TTL meant changed tools (5 of 5), the shared prefix a changed
//! system prompt (13 of 13), the end of an earlier request a rewritten message (3 of 3).
//!
//! Also here are the reads and writes of every request (recorded, or by the rules if unknown), and the
//! landmarks: lengths at which the shared prefix, and tools and system prompt, end in other requests.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::base::{Basis, Picodollars, Symbol, Tokens, words};
use crate::read::input::PromptSplit;
use crate::requests::conversation::{ConversationKey, History, Request, RequestIndex};
use crate::requests::prompt::{Step, StepKind};
use crate::simulate::ledger::{Ledger, Row, StrategyColumn};
use crate::simulate::pricing::Billing;

/// Most earlier requests of a chain that are examined.
///
/// Older reads say nothing new, and hostile chains stay linear.
pub(super) const LONGEST_WALK: usize = 2_000;

/// Largest age of a write that is not readable yet, in milliseconds.
pub(super) const SHORT_GAP_MILLIS: i64 = 60_000;

/// Length that a request could still read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readable {
    /// Nothing.
    Nothing,
    /// The read of the previous request, and nothing of its write.
    PreviousRead,
    /// The read of first requests of the same client and model: the part of tools and system prompt that
    /// other traffic keeps warm.
    SharedPrefix,
    /// The rest after compactions of this session: all of tools and system prompt.
    WholeSystem,
    /// The end of the cached prefix of an earlier request of the chain, by its distance.
    EarlierEnd(usize),
    /// A length that an earlier request of the chain read, but where none ended.
    EarlierRead,
    /// A length that is new in this chain.
    NewLength,
}

words! {
    /// Outcome for the cache.
    #[cfg_attr(test, derive(schemars::JsonSchema))]
    pub enum Class {
        /// Nothing was read.
        FellToZero = "fell_to_zero";
        /// Only the prefix that other traffic keeps warm was read.
        FellToSharedPrefix = "fell_to_shared_prefix";
        /// The last write was not readable, the part before it was.
        OneStepBehind = "one_step_behind";
        /// Another part was read.
        Partial = "partial";
    }
}

impl Readable {
    /// Classifies the length that a request read.
    pub(super) fn of(
        reads: &Reads<'_>,
        steps: &[Step],
        landmarks: &ReadLandmarks,
        index: RequestIndex,
    ) -> Self {
        let history = reads.history();
        let request = history.request(index);
        let read = reads.split(index).read;
        if read == Tokens::ZERO {
            return Self::Nothing;
        }
        let ancestors =
            std::iter::successors(request.predecessor, |one| history.request(*one).predecessor);
        let gap_is_short = steps[index.get()].gap.is_some_and(|gap| gap < SHORT_GAP_MILLIS);
        let mut was_read = false;
        for (back, ancestor) in ancestors.take(LONGEST_WALK).enumerate() {
            let split = reads.split(ancestor);
            if back == 0 && split.read == read {
                let is_shared = landmarks.is_shared_prefix(request, read);
                // A client that only appends loses its last write at most.
                let appends = !request.between.has_prompt && gap_is_short;
                return if is_shared && !appends { Self::SharedPrefix } else { Self::PreviousRead };
            }
            // The end of one request may be the read of the next. The end says more.
            if split.cached_end() == read {
                return Self::EarlierEnd(back + 1);
            }
            was_read |= split.read == read;
        }
        if landmarks.is_whole_system(request, read) {
            Self::WholeSystem
        } else if landmarks.is_shared_prefix(request, read) {
            Self::SharedPrefix
        } else if was_read {
            Self::EarlierRead
        } else {
            Self::NewLength
        }
    }

    /// Outcome for the cache.
    pub fn class(self) -> Class {
        match self {
            Self::Nothing => Class::FellToZero,
            Self::PreviousRead => Class::OneStepBehind,
            Self::SharedPrefix => Class::FellToSharedPrefix,
            Self::WholeSystem | Self::EarlierEnd(_) | Self::EarlierRead | Self::NewLength => {
                Class::Partial
            }
        }
    }

    /// Meaning in a few words.
    pub fn meaning(self) -> String {
        match self {
            Self::Nothing => "nothing was readable".to_owned(),
            Self::PreviousRead => {
                "what the request before read was readable, what it wrote was not".to_owned()
            }
            Self::SharedPrefix => {
                "only the prefix that other sessions share was readable".to_owned()
            }
            Self::WholeSystem => {
                "tools and system prompt were readable, as after a compaction".to_owned()
            }
            Self::EarlierEnd(steps) => {
                format!("readable up to the end of the request {steps} before")
            }
            Self::EarlierRead => "a length read before in this chain was readable".to_owned(),
            Self::NewLength => "a length not seen before in this chain was readable".to_owned(),
        }
    }
}

/// Reads and writes of a ledger's requests.
pub(super) struct Reads<'a> {
    pub(super) ledger: &'a Ledger<'a>,
    billed: &'a StrategyColumn,
    replay: &'a StrategyColumn,
    /// Captured sessions counted in bytes of which a request has no usage.
    counted: FxHashSet<Symbol>,
}

impl<'a> Reads<'a> {
    /// `None` unless the record and its replay were requested.
    pub(super) fn new(ledger: &'a Ledger<'a>) -> Option<Self> {
        let (billed, replay) = (ledger.billed()?, ledger.expected()?);
        let history = ledger.history;
        let first = history.of_transcripts().len();
        let captured = history.requests[first..].iter().filter(|_| history.is_counted_in_bytes());
        let unknown = captured.filter(|request| request.usage.is_none());
        let counted = unknown.map(|request| request.session).collect();
        Some(Self { ledger, billed, replay, counted })
    }

    pub(super) fn history(&self) -> &'a History {
        self.ledger.history
    }

    /// Returns true if the split of a request is that of its own usage.
    ///
    /// Recorded tokens cannot be compared with prompts of the same session that are counted in bytes.
    pub(super) fn is_recorded(&self, index: RequestIndex) -> bool {
        let request = self.history().request(index);
        let is_counted =
            self.history().is_captured(index) && self.counted.contains(&request.session);
        request.usage.is_some() && !is_counted
    }

    /// Size of a request's prompt, as that of its split.
    pub(super) fn prompt_total(&self, index: RequestIndex) -> Tokens {
        if self.history().is_captured(index) && self.is_recorded(index) {
            self.split(index).total()
        } else {
            self.ledger.prompt_total(index)
        }
    }

    /// Split of a request's prompt into read, written and sent in full.
    pub(super) fn split(&self, index: RequestIndex) -> PromptSplit {
        let recorded = self.history().request(index).usage.as_ref();
        match recorded.filter(|_| self.is_recorded(index)) {
            Some(usage) => usage.prompt,
            None => self.row(index).map_or_else(PromptSplit::default, |row| split_of(&row.billing)),
        }
    }

    /// Returns true if the service refuses a request by the rules.
    ///
    /// A request with usage was answered.
    pub(super) fn is_refused(&self, index: RequestIndex) -> bool {
        self.row(index).is_some_and(|row| row.refusal.is_some())
    }

    /// Returns true if a request's read and written tokens are those of one prefix.
    pub(super) fn is_one_sampling(&self, index: RequestIndex) -> bool {
        let usage = self.history().request(index).usage.as_ref();
        !self.is_recorded(index) || usage.is_none_or(|usage| !usage.is_sum)
    }

    /// Tokens that a request reads by the rules.
    pub(super) fn replayed(&self, index: RequestIndex) -> Tokens {
        self.ledger.row_tokens(self.replay, index).map_or(Tokens::ZERO, |row| row.billing.read)
    }

    /// Basis of a request's split.
    pub(super) fn basis(&self, index: RequestIndex) -> Basis {
        self.row(index).map_or(Basis::Measured, |row| row.basis)
    }

    fn row(&self, index: RequestIndex) -> Option<Row<'a>> {
        let column = if self.is_recorded(index) { self.billed } else { self.replay };
        self.ledger.row(column, index)
    }

    /// Cost of a request beyond its cost with `rewritten` more tokens read, or `None` if its model has no
    /// price.
    pub(super) fn excess(&self, index: RequestIndex, rewritten: Tokens) -> Option<Picodollars> {
        excess(&self.row(index)?.billing, rewritten, self.ledger, index)
    }

    /// Excess of the request's replay: the rules' charge for the miss.
    pub(super) fn predicted_excess(
        &self,
        index: RequestIndex,
        expected: Tokens,
    ) -> Option<Picodollars> {
        let billing = self.ledger.row_tokens(self.replay, index)?.billing;
        let prompt = self.ledger.prompt_total(index);
        let rewritten = expected.min(prompt).saturating_sub(billing.read);
        excess(&billing, rewritten, self.ledger, index)
    }
}

fn split_of(billing: &Billing) -> PromptSplit {
    PromptSplit {
        input: billing.input,
        read: billing.read,
        write_5m: billing.write_5m,
        write_1h: billing.write_1h,
    }
}

/// Cost of the tokens after the read beyond reading them.
///
/// One-hour writes come before five-minute writes, and both before the input.
fn excess(
    billing: &Billing,
    rewritten: Tokens,
    ledger: &Ledger<'_>,
    index: RequestIndex,
) -> Option<Picodollars> {
    let rates = ledger.rates_of(index)?;
    let mut read_again = *billing;
    let mut left = rewritten;
    // The tokens right after the read come first.
    for part in [&mut read_again.write_1h, &mut read_again.write_5m, &mut read_again.input] {
        let moved = left.min(*part);
        *part = part.saturating_sub(moved);
        left = left.saturating_sub(moved);
        read_again.read += moved;
    }
    Some(billing.cost(rates).minus(read_again.cost(rates)))
}

/// Percentage below which prefixes differ by a word alone: a date, a path, a tool that was loaded.
const SAME_WITHIN_PERCENT: u64 = 1;

/// Most lengths near a read that are examined, as hostile sessions may have any number.
const MOST_NEAR: usize = 1_000;

/// Kind of a session: model, client, and agents or main chains. Only sessions of one kind are comparable.
type SessionKind = (Symbol, Option<Symbol>, bool);

/// Landmarks: lengths that reads have shown.
#[derive(Debug, Default)]
pub(super) struct ReadLandmarks {
    /// Reads of first requests and after expiries, in ascending order, each with its session.
    shared: FxHashMap<SessionKind, Vec<(Tokens, Symbol)>>,
    /// Reads after compactions of the messages, in ascending order.
    systems: FxHashMap<ConversationKey, Vec<Tokens>>,
    /// Read of the first request of each conversation.
    own_openings: FxHashMap<ConversationKey, Tokens>,
}

fn kind(request: &Request) -> SessionKind {
    (request.model, request.client_version, request.agent.is_some())
}

impl ReadLandmarks {
    /// Collects the lengths that the requests of transcripts show.
    pub(super) fn collect(history: &History, steps: &[Step]) -> Self {
        let mut landmarks = Self::default();
        for (request, step) in history.of_transcripts().iter().zip(steps) {
            let read = request.recorded().prompt.read;
            if read == Tokens::ZERO {
                continue;
            }
            match step.kind {
                StepKind::Opening => {
                    landmarks.add_shared(request, read);
                    landmarks.own_openings.entry(request.conversation()).or_insert(read);
                }
                // A larger read shows that the conversation itself had not expired.
                StepKind::Expired if read.0 * 2 < step.previous_end.0 => {
                    landmarks.add_shared(request, read);
                }
                StepKind::Rewritten
                    // A read up to the kept messages is more than tools and system prompt.
                    if request.between.has_compaction
                        && step.readable_place().is_none_or(|kept| read < kept) =>
                {
                    landmarks.systems.entry(request.conversation()).or_default().push(read);
                }
                _ => {}
            }
        }
        for shared in landmarks.shared.values_mut() {
            shared.sort_unstable();
            shared.dedup();
        }
        for systems in landmarks.systems.values_mut() {
            systems.sort_unstable();
            systems.dedup();
        }
        landmarks
    }

    fn add_shared(&mut self, request: &Request, read: Tokens) {
        self.shared.entry(kind(request)).or_default().push((read, request.session));
    }

    /// Returns true if the conversation's first request, or other sessions' first requests or expiries, read
    /// about as much.
    pub(super) fn is_shared_prefix(&self, request: &Request, read: Tokens) -> bool {
        if self.is_own_opening(request, read) {
            return true;
        }
        let shared = self.shared.get(&kind(request)).map(Vec::as_slice).unwrap_or_default();
        let margin = read.share(SAME_WITHIN_PERCENT, 100);
        let from = shared.partition_point(|(one, _)| *one < read.saturating_sub(margin));
        let near = shared[from..].iter().take_while(|(one, _)| *one <= read + margin);
        // Only another session shows that a prefix is shared.
        near.take(MOST_NEAR).any(|(_, session)| *session != request.session)
    }

    /// Returns true if the first request of the conversation read about as much.
    fn is_own_opening(&self, request: &Request, read: Tokens) -> bool {
        let opening = self.own_openings.get(&request.conversation());
        opening.is_some_and(|opening| is_about(*opening, read))
    }

    /// Returns true if compactions of the session left exactly this, and it is not the shared prefix.
    pub(super) fn is_whole_system(&self, request: &Request, read: Tokens) -> bool {
        let systems = self.systems.get(&request.conversation());
        !self.is_own_opening(request, read)
            && systems.is_some_and(|systems| systems.binary_search(&read).is_ok())
    }

    /// Least size of a conversation's tools and system prompt that reads show.
    pub(super) fn system_end(&self, request: &Request) -> Tokens {
        let systems = self.systems.get(&request.conversation());
        let largest = systems.and_then(|systems| systems.last());
        let own = self.own_openings.get(&request.conversation());
        largest.into_iter().chain(own).copied().max().unwrap_or_default()
    }
}

/// Returns true if two lengths differ by a word at most.
fn is_about(one: Tokens, other: Tokens) -> bool {
    one.abs_diff(other) <= one.max(other).share(SAME_WITHIN_PERCENT, 100)
}
