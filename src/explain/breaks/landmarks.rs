//! Lengths that other requests have shown: where the shared prefix ends, and where tools and system
//! prompt do.

use rustc_hash::FxHashMap;

use crate::base::id::Symbol;
use crate::base::units::Tokens;
use crate::requests::conversation::{ConversationKey, History, Request};
use crate::requests::prompt::{Step, StepKind};

/// Prefixes that differ by less than this share are the same but for a word: a date, a path, a tool
/// that was loaded.
const SAME_WITHIN_PERCENT: u64 = 1;

/// So many lengths near a read are looked at; hostile sessions have any number.
const MOST_NEAR: usize = 1_000;

/// Sessions are comparable for one model and client, main chains and agents apart.
type Kind = (Symbol, Option<Symbol>, bool);

/// What reads have shown.
#[derive(Debug, Default)]
pub(super) struct Landmarks {
    /// What first requests read, and what expiries left, rising, each with its session.
    shared: FxHashMap<Kind, Vec<(Tokens, Symbol)>>,
    /// What was left where the messages were rewritten inside the TTL.
    systems: FxHashMap<ConversationKey, Vec<Tokens>>,
    /// What the first request of a conversation read.
    own_openings: FxHashMap<ConversationKey, Tokens>,
}

fn kind(request: &Request) -> Kind {
    (request.model, request.client_version, request.agent.is_some())
}

impl Landmarks {
    /// Collects what the requests of transcripts show.
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
                StepKind::Expired if read.0 * 2 < step.previous_end.0 => {
                    landmarks.add_shared(request, read);
                }
                StepKind::Rewritten
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

    /// Whether the first request of the conversation read about as much, or other sessions' first
    /// requests or expiries did.
    pub(super) fn is_shared_prefix(&self, request: &Request, read: Tokens) -> bool {
        if self.is_own_opening(request, read) {
            return true;
        }
        let shared = self.shared.get(&kind(request)).map(Vec::as_slice).unwrap_or_default();
        let margin = read.share(SAME_WITHIN_PERCENT, 100);
        let from = shared.partition_point(|(one, _)| *one < read.saturating_sub(margin));
        let near = shared[from..].iter().take_while(|(one, _)| *one <= read + margin);
        near.take(MOST_NEAR).any(|(_, session)| *session != request.session)
    }

    /// Whether the first request of the conversation read about as much.
    fn is_own_opening(&self, request: &Request, read: Tokens) -> bool {
        let opening = self.own_openings.get(&request.conversation());
        opening.is_some_and(|opening| is_about(*opening, read))
    }

    /// Whether compactions of the session left just this, and more than the shared prefix.
    pub(super) fn is_whole_system(&self, request: &Request, read: Tokens) -> bool {
        let systems = self.systems.get(&request.conversation());
        !self.is_own_opening(request, read)
            && systems.is_some_and(|systems| systems.binary_search(&read).is_ok())
    }

    /// How large tools and system prompt of a conversation are at least, as far as reads show.
    pub(super) fn system_end(&self, request: &Request) -> Tokens {
        let systems = self.systems.get(&request.conversation());
        let largest = systems.and_then(|systems| systems.last());
        let own = self.own_openings.get(&request.conversation());
        largest.into_iter().chain(own).copied().max().unwrap_or_default()
    }
}

/// Whether two lengths differ by no more than a word in a prompt.
fn is_about(one: Tokens, other: Tokens) -> bool {
    one.abs_diff(other) <= one.max(other).share(SAME_WITHIN_PERCENT, 100)
}
