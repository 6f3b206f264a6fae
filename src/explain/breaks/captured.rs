//! Causes of a captured request's miss, by the differences between the two requests, to the byte.

use rustc_hash::FxHashMap;
use serde::Deserialize;

use super::case::kept_for;
use super::readable::Reads;
use super::rules::outlasting;
use super::{Candidate, Cause, Confidence, Evidence};
use crate::base::{Order as _, Tokens, Ttl, duration};
use crate::read::input::{List, Shape, Text, only_value};
use crate::requests::conversation::{History, RequestIndex};
use crate::requests::difference::{Difference, comes_back};
use crate::requests::prompt::{NodeId, Prompt, PromptTrace, Step};
use crate::simulate::cache::LOOKBACK;

/// Other fields of a body: the edits that it asks the service to make in its prompt.
#[derive(Default, Deserialize)]
#[serde(default)]
struct OtherFields<'a> {
    #[serde(borrow)]
    context_management: Shape<ContextManagement<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ContextManagement<'a> {
    #[serde(borrow)]
    edits: List<Shape<Edit<'a>>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Edit<'a> {
    #[serde(borrow)]
    r#type: Text<'a>,
}

/// A captured request, with the one before it.
pub(super) struct CapturedCase<'a> {
    pub(super) history: &'a History,
    pub(super) reads: &'a Reads<'a>,
    pub(super) trace: &'a PromptTrace,
    pub(super) steps: &'a [Step],
    pub(super) entry_ttls: &'a [Option<Ttl>],
    pub(super) index: RequestIndex,
    pub(super) previous: RequestIndex,
}

impl CapturedCase<'_> {
    /// Every cause that fits, most certain first.
    pub(super) fn candidates(&self, differences: &[Difference]) -> Vec<Candidate> {
        let mut candidates: Vec<Candidate> = self.scope().into_iter().collect();
        if self.history.is_marked(self.index) {
            let of_markers = [
                self.expiry(),
                self.write_not_visible(),
                self.below_minimum(),
                self.cleared_by_service(),
            ];
            candidates.extend(of_markers.into_iter().flatten());
        } else {
            candidates.extend(self.idle());
        }
        candidates.extend(self.differing(differences));
        candidates.extend(self.lookback());
        // Weak causes do not explain a miss, so the service stays a candidate.
        if candidates.iter().all(|one| one.confidence == Confidence::Low) {
            candidates.push(self.server_side());
        }
        candidates.order_by_key(|candidate| std::cmp::Reverse(candidate.confidence));
        candidates
    }

    fn prompt(&self) -> &Prompt {
        &self.trace.prompts[self.index.get()]
    }

    /// Candidate with evidence in a field of the request.
    fn candidate(
        &self,
        cause: Cause,
        confidence: Confidence,
        field: &'static str,
        meaning: impl Into<String>,
    ) -> Candidate {
        let request = self.history.request(self.index);
        Candidate::new(cause, confidence, vec![Evidence::of_field(request, field, meaning)])
    }

    /// Change of organisation or workspace: each has its own caches.
    fn scope(&self) -> Option<Candidate> {
        let scope = |index: RequestIndex| self.trace.prompts[index.get()].scope;
        let meaning = "sent to another organisation or workspace than the request before";
        (scope(self.index) != scope(self.previous))
            .then(|| self.candidate(Cause::ScopeChanged, Confidence::High, "scope", meaning))
    }

    fn expiry(&self) -> Option<Candidate> {
        let (gap, ttl) = (self.steps[self.index.get()].gap?, self.entry_ttls[self.previous.get()]?);
        let meaning = format!(
            "{} after the start of the request before; its entry was for {}",
            duration(gap),
            ttl.name()
        );
        // Another request may have refreshed the entry in between.
        let end = self.reads.split(self.previous).cached_end();
        let is_over = gap >= ttl.millis() && self.reads.replayed(self.index) < end;
        is_over.then(|| self.candidate(Cause::expiry(ttl), Confidence::High, "timestamp", meaning))
    }

    /// Pause that outlasts the lifetime of a service without markers.
    fn idle(&self) -> Option<Candidate> {
        let gap = self.steps[self.index.get()].gap?;
        let (confidence, meaning) = outlasting(gap, kept_for(self.history, self.index)?)?;
        Some(self.candidate(Cause::IdleTooLong, confidence, "timestamp", meaning))
    }

    fn write_not_visible(&self) -> Option<Candidate> {
        let before = &self.trace.prompts[self.previous.get()];
        let meaning = "it was sent before the response to the request before had begun";
        (self.prompt().start < before.readable_from)
            .then(|| self.candidate(Cause::WriteNotVisible, Confidence::High, "timestamp", meaning))
    }

    fn below_minimum(&self) -> Option<Candidate> {
        let prompt = self.prompt();
        let meaning = format!(
            "a prompt of {} tokens, and the model caches from {} on",
            prompt.total.0, prompt.minimum.0
        );
        (prompt.total < prompt.minimum)
            .then(|| self.candidate(Cause::BelowMinimum, Confidence::High, "request", meaning))
    }

    /// Content that the service took out of the prompt as the request asks it to: the body has grown, and the recorded
    /// prompt has shrunk.
    fn cleared_by_service(&self) -> Option<Candidate> {
        let (before, after) = (self.history.wire(self.previous)?, self.history.wire(self.index)?);
        let tree = &self.history.captured.tree;
        let has_grown = tree.shared(before.leaf, after.leaf) == Some(before.leaf);
        let recorded = |index| {
            let usage = self.history.request(index).usage.as_ref();
            usage.filter(|_| self.reads.is_recorded(index)).map(|usage| usage.prompt.total())
        };
        let gone = recorded(self.previous)?.saturating_sub(recorded(self.index)?);
        let asked: OtherFields<'_> = only_value(self.history.text(after.other_fields)?).ok()?;
        let edits = asked.context_management.0?.edits.0;
        let kinds: Vec<&str> =
            edits.iter().filter_map(|edit| edit.0.as_ref()?.r#type.as_str()).collect();
        let asks = |edit: &str| kinds.iter().any(|kind| kind.starts_with(edit));
        let (cause, what) = if asks("compact_") {
            (Cause::Compaction, "the service compacts")
        } else if asks("clear_tool_uses_") {
            (Cause::Microcompaction, "context editing clears old results")
        } else if asks("clear_thinking_") {
            (Cause::ThinkingStripped, "context editing clears earlier thinking")
        } else {
            return None;
        };
        let meaning = format!(
            "the prompt has {} tokens less than the one before, and the body has grown: {what}",
            gone.0
        );
        (has_grown && gone > Tokens::ZERO)
            .then(|| self.candidate(cause, Confidence::High, "context_management", meaning))
    }

    /// Candidates from the differences.
    ///
    /// The first one in the prefix certainly broke it, later ones no longer matter, and differences outside
    /// of the prefix explain the rest.
    fn differing(&self, differences: &[Difference]) -> Vec<Candidate> {
        // An attribution line that is part of the key breaks the prefix like any other block.
        let first = differences.iter().position(Difference::is_of_prefix);
        let has_prefix = first.is_some();
        differences
            .iter()
            .enumerate()
            .map(|(place, one)| {
                let confidence = if Some(place) == first {
                    Confidence::High
                } else if has_prefix {
                    Confidence::Low
                } else {
                    Confidence::Medium
                };
                Candidate::new(one.kind.into(), confidence, vec![self.evidence(one)])
            })
            .collect()
    }

    fn evidence(&self, difference: &Difference) -> Evidence {
        let from = difference.bytes.as_ref().map(|bytes| format!(", from byte {} on", bytes.byte));
        let meaning =
            format!("{}: {}{}", difference.place, difference.detail, from.unwrap_or_default());
        let quotes = difference
            .bytes
            .as_ref()
            .map(|bytes| format!("“{}” became “{}”", bytes.before, bytes.after));
        let words: Vec<String> = difference.tool.clone().into_iter().chain(quotes).collect();
        Evidence {
            text: (!words.is_empty()).then(|| words.join(": ")),
            ..Evidence::of_field(self.history.request(self.index), "request", meaning)
        }
    }

    /// Exceeded lookback: the prefix came back, but every marker is too far after its end.
    fn lookback(&self) -> Option<Candidate> {
        let entry = self.trace.markers_of(&self.trace.prompts[self.previous.get()]).last()?.node;
        let prompt = self.prompt();
        if !self.trace.path(prompt.node).any(|node| node == entry) {
            return None;
        }
        let position = |node| self.trace.node(node).positions;
        let markers = self.trace.markers_of(prompt).iter();
        let distance = |node| position(node).saturating_sub(position(entry));
        let nearest = markers.filter(|one| one.node >= entry).map(|one| distance(one.node)).min();
        let meaning = match nearest {
            Some(nearest) if nearest >= LOOKBACK => format!(
                "the nearest marker stands {nearest} positions after the entry, and looks back \
                 over {LOOKBACK}"
            ),
            None => "no marker stands after the entry".to_owned(),
            Some(_) => return None,
        };
        Some(self.candidate(Cause::LookbackExceeded, Confidence::High, "request", meaning))
    }

    fn server_side(&self) -> Candidate {
        let step = &self.steps[self.index.get()];
        let dropped =
            |meaning| self.candidate(Cause::LikelyServerSide, Confidence::Medium, "usage", meaning);
        let unknown = |meaning| self.candidate(Cause::Unknown, Confidence::Low, "request", meaning);
        if !self.history.is_marked(self.index) {
            let kept_for = kept_for(self.history, self.index);
            let is_kept = step.gap.zip(kept_for).is_some_and(|(gap, kept_for)| gap * 2 < kept_for);
            return if is_kept {
                dropped(
                    "soon after the request before, and the whole prefix came back byte for byte",
                )
            } else {
                unknown("the whole prefix came back byte for byte")
            };
        }
        match step.predecessor_ttl {
            Some(_) => dropped("inside the TTL, and the whole prefix came back byte for byte"),
            None => unknown("the request before had no marker"),
        }
    }

    /// Tokens that could have been read: everything that the previous request had cached.
    ///
    /// A branch or a new conversation is compared with the longest prefix of its own that had been marked
    /// before, if nothing of the earlier one comes back after they diverge. New deletions by its edits are no
    /// loss.
    pub(super) fn expected(&self, entries: &FirstEntries, previous_end: Tokens) -> Tokens {
        let before = &self.trace.prompts[self.previous.get()];
        let deleted = self.prompt().deleted.saturating_sub(before.deleted);
        self.reachable(entries, previous_end).saturating_sub(deleted)
    }

    fn reachable(&self, entries: &FirstEntries, previous_end: Tokens) -> Tokens {
        let wire = |index| self.history.wire(index).map(|wire| wire.leaf);
        let (Some(before), Some(after)) = (wire(self.previous), wire(self.index)) else {
            return previous_end;
        };
        let tree = &self.history.captured.tree;
        let shared = tree.shared(before, after);
        if shared == Some(before) || comes_back(tree, before, after) {
            return previous_end;
        }
        let Some(shared) = shared else { return Tokens::ZERO };
        // The nodes of captured prompts have the order of their tree, after all others.
        let first = self.prompt().node.index() - after.0 as usize;
        let shared = NodeId::at(first + shared.0 as usize);
        let was_marked =
            |node: &NodeId| entries.get(node).is_some_and(|request| *request < self.index);
        let entry = self.trace.path(shared).find(was_marked);
        entry.map_or(Tokens::ZERO, |node| self.trace.node(node).end.min(previous_end))
    }
}

/// The first captured request with a marker at a node of the trace.
pub(super) type FirstEntries = FxHashMap<NodeId, RequestIndex>;

/// Entries left by captured requests, apart from refused ones.
pub(super) fn first_entries(reads: &Reads<'_>, trace: &PromptTrace) -> FirstEntries {
    let history = reads.history();
    let mut entries = FirstEntries::default();
    // Captured requests follow those of transcripts, and requests without markers come last.
    let captured = history.of_transcripts().len()..history.sent_with_markers().len();
    for index in captured.map(RequestIndex::new).filter(|index| !reads.is_refused(*index)) {
        let prompt = &trace.prompts[index.get()];
        for marker in trace.markers_of(prompt).iter().filter(|one| one.end >= prompt.minimum) {
            entries.entry(marker.node).or_insert(index);
        }
    }
    entries
}

/// TTL of the entry that each request left.
///
/// An entry keeps the TTL it was written with: that of the last request of the chain that wrote something.
pub(super) fn entry_ttls(reads: &Reads<'_>, steps: &[Step]) -> Vec<Option<Ttl>> {
    let mut ttls: Vec<Option<Ttl>> = Vec::with_capacity(steps.len());
    for (index, step) in steps.iter().enumerate() {
        let has_written = reads.split(RequestIndex::new(index)).written() > Tokens::ZERO;
        let own = step.ttl.map(|ttl| ttl.messages);
        let earlier = step.predecessor.and_then(|before| ttls[before.get()]);
        ttls.push(if has_written { own } else { earlier });
    }
    ttls
}
