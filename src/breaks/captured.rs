//! Causes of a captured request's miss: the two requests themselves say what differs, to the byte.

use super::candidate::{Candidate, Confidence, Evidence};
use super::cause::Cause;
use super::reads::Reads;
use crate::cache::LOOKBACK;
use crate::conversation::{History, RequestIndex};
use crate::difference::{Difference, DifferenceKind, differences};
use crate::prompt::{Prompt, PromptTrace, Step};
use crate::ttl::Ttl;
use crate::units::Tokens;
use crate::wording::duration;

/// A captured request and the one before it.
pub(super) struct CapturedCase<'a> {
    pub(super) history: &'a History,
    pub(super) reads: &'a Reads<'a>,
    pub(super) trace: &'a PromptTrace,
    pub(super) steps: &'a [Step],
    pub(super) index: RequestIndex,
    pub(super) previous: RequestIndex,
}

impl CapturedCase<'_> {
    /// Every cause that fits, the surest first.
    pub(super) fn candidates(&self) -> Vec<Candidate> {
        let mut candidates: Vec<Candidate> =
            [self.scope(), self.expiry(), self.write_not_visible(), self.below_minimum()]
                .into_iter()
                .flatten()
                .collect();
        let differences = differences(self.history, self.previous, self.index);
        candidates.extend(self.differing(&differences));
        candidates.extend(self.lookback());
        if differences.is_empty() && candidates.is_empty() {
            candidates.push(self.server_side());
        }
        candidates.sort_by_key(|candidate| std::cmp::Reverse(candidate.confidence));
        candidates
    }

    fn prompt(&self) -> &Prompt {
        &self.trace.prompts[self.index.0]
    }

    fn shown_by(&self, field: &'static str, meaning: impl Into<String>) -> Vec<Evidence> {
        vec![Evidence::of_field(self.history.request(self.index), field, meaning)]
    }

    /// Each organisation or workspace has caches of its own.
    fn scope(&self) -> Option<Candidate> {
        let scope = |index: RequestIndex| self.trace.prompts[index.0].scope;
        let meaning = "sent to another organisation or workspace than the request before";
        (scope(self.index) != scope(self.previous)).then(|| {
            Candidate::new(Cause::ScopeChanged, Confidence::High, self.shown_by("scope", meaning))
        })
    }

    fn expiry(&self) -> Option<Candidate> {
        let (gap, ttl) = (self.steps[self.index.0].gap?, self.entry_ttl()?);
        let meaning = format!(
            "{} after the start of the request before; its entry was for {}",
            duration(gap),
            ttl.name()
        );
        let is_over = gap >= ttl.millis();
        is_over.then(|| {
            Candidate::new(
                Cause::expiry(ttl),
                Confidence::High,
                self.shown_by("timestamp", meaning),
            )
        })
    }

    /// The TTL of what the request before left: that of the last request that wrote something, as an
    /// entry keeps the TTL it was written with.
    fn entry_ttl(&self) -> Option<Ttl> {
        let before = |index: &RequestIndex| self.history.request(*index).predecessor;
        let mut writers = std::iter::successors(Some(self.previous), before);
        let writer = writers.find(|index| self.reads.split(*index).written() > Tokens::ZERO)?;
        self.steps[writer.0].ttl.map(|ttl| ttl.messages)
    }

    fn write_not_visible(&self) -> Option<Candidate> {
        let before = &self.trace.prompts[self.previous.0];
        let meaning = "it was sent before the response to the request before had begun";
        (self.prompt().start < before.readable_from).then(|| {
            Candidate::new(
                Cause::WriteNotVisible,
                Confidence::High,
                self.shown_by("timestamp", meaning),
            )
        })
    }

    fn below_minimum(&self) -> Option<Candidate> {
        let prompt = self.prompt();
        let meaning = format!(
            "a prompt of {} tokens, and the model caches from {} on",
            prompt.total.0, prompt.minimum.0
        );
        (prompt.total < prompt.minimum).then(|| {
            Candidate::new(Cause::BelowMinimum, Confidence::High, self.shown_by("request", meaning))
        })
    }

    /// The differences: the first in the prefix is sure to have broken it, what stands behind it
    /// could not matter any more, and what stands beside the prefix explains what is left.
    fn differing(&self, differences: &[Difference]) -> Vec<Candidate> {
        // The attribution line is no part of the prefix of Anthropic's own service.
        let is_prefix = |one: &Difference| {
            one.before.is_some() || one.after.is_some() || one.kind == DifferenceKind::Model
        };
        let first = differences
            .iter()
            .position(|one| is_prefix(one) && one.kind != DifferenceKind::Attribution);
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

    /// The prefix came back, and every marker stands too far behind its end.
    fn lookback(&self) -> Option<Candidate> {
        let entry = self.trace.markers_of(&self.trace.prompts[self.previous.0]).last()?.node;
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
                "the nearest marker stands {nearest} positions behind the entry, and looks back \
                 over {LOOKBACK}"
            ),
            None => "no marker stands behind the entry".to_owned(),
            Some(_) => return None,
        };
        Some(Candidate::new(
            Cause::LookbackExceeded,
            Confidence::High,
            self.shown_by("request", meaning),
        ))
    }

    fn server_side(&self) -> Candidate {
        let is_alive = self.steps[self.index.0].predecessor_ttl.is_some();
        let meaning = "inside the TTL, and the whole prefix came back byte for byte";
        if is_alive {
            Candidate::new(
                Cause::LikelyServerSide,
                Confidence::Medium,
                self.shown_by("usage", meaning),
            )
        } else {
            let meaning = "the request before had no marker";
            Candidate::new(Cause::Unknown, Confidence::Low, self.shown_by("request", meaning))
        }
    }

    /// What could have been read: all that the request before had cached, or, where the conversation
    /// begins with another message, only what stands in front of the messages.
    pub(super) fn expected(&self, previous_end: Tokens) -> Tokens {
        if !self.steps[self.index.0].is_rewritten {
            return previous_end;
        }
        let wire = |index| self.history.wire(index).map(|wire| wire.leaf);
        let shared = wire(self.previous)
            .zip(wire(self.index))
            .and_then(|(before, after)| self.history.captured.tree.shared(before, after));
        let Some(shared) = shared else { return Tokens::ZERO };
        // The nodes of captured prompts stand in the trace as in their tree, behind the others.
        let prompt = self.prompt();
        let own_leaf = wire(self.index).map_or(0, |leaf| leaf.0 as usize);
        let first = prompt.node.0 - own_leaf;
        let end = self.trace.nodes[first + shared.0 as usize].end;
        end.min(previous_end)
    }
}
