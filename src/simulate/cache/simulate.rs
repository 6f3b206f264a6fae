//! Simulation of a trace under a policy: tokens that each request reads, writes and sends in full.
//!
//! The rules are those of Anthropic's prompt caching, as documented; the folder's `mod.rs` has
//! them. Tokens between the read and the last marker are written, and the rest is input. A marker
//! over a prefix below the model's minimum is ignored.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::entries::{Entries, Partition};
use super::outcome::{Outcome, refusal};
use super::{BetaKey, Lookback, Policy, Sent, SentMarkers, TtlChange, effective};
use crate::base::{Basis, Millis, Tokens, Ttl};
use crate::requests::prompt::{LOOKBACK, Level, Marker, NodeId, Prompt, PromptTrace, Repair};

/// Applies the rules to every prompt, in order.
pub fn simulate(trace: &PromptTrace, policy: &Policy) -> Vec<Outcome> {
    let entries = Entries::new(trace.paths(), policy.lifetimes, policy.ttl_grace);
    let mut cache = Cache { trace, policy, entries };
    trace.prompts.iter().map(|prompt| cache.request(prompt)).collect()
}

/// Repeats of each prompt of a trace after itself.
#[derive(Clone, Debug)]
pub struct Repeats {
    /// Interval, in milliseconds.
    pub every: i64,
    /// Number of repeats of each prompt.
    pub counts: Vec<i64>,
}

/// Consecutive repeats of a prompt that are billed alike.
#[derive(Clone, Copy, Debug)]
pub struct RepeatRun {
    /// Index of the repeated prompt.
    pub place: usize,
    /// Time of the first repeat.
    pub at: Millis,
    /// Number of repeats.
    pub count: i64,
    /// Billing of each repeat.
    pub outcome: Outcome,
}

/// Applies the rules to every prompt and to its repeats in the order of sending; repeats of the
/// same time come last, in the order of their prompts.
///
/// Repeats are made one by one and kept as runs, as there may be many more of them than of prompts.
/// `again` makes the repeat of a prompt.
pub fn simulate_repeated(
    trace: &PromptTrace,
    repeats: &Repeats,
    again: impl Fn(&Prompt) -> Option<Prompt>,
    policy: &Policy,
) -> (Vec<Outcome>, Vec<RepeatRun>) {
    let entries = Entries::new(trace.paths(), policy.lifetimes, policy.ttl_grace);
    let mut sending = Sending {
        cache: Cache { trace, policy, entries },
        repeats,
        again,
        waiting: BinaryHeap::new(),
        runs: Vec::new(),
    };
    let mut order: Vec<usize> = (0..trace.prompts.len()).collect();
    order.sort_by_key(|place| trace.prompts[*place].start);
    let mut outcomes = vec![Outcome::default(); order.len()];
    for place in order {
        let prompt = &trace.prompts[place];
        sending.repeat_until(Some(prompt.start));
        outcomes[place] = sending.cache.request(prompt);
        sending.wait(place, 1, 0);
    }
    sending.repeat_until(None);
    (outcomes, sending.runs)
}

/// Cache, and the repeats that are to be sent to it.
struct Sending<'a, F> {
    cache: Cache<'a>,
    repeats: &'a Repeats,
    again: F,
    /// Next repeat of each prompt, as a min-heap: time, prompt, number from 1 on, and the run of
    /// the repeat before it.
    waiting: BinaryHeap<Reverse<(Millis, usize, i64, usize)>>,
    runs: Vec<RepeatRun>,
}

impl<F: Fn(&Prompt) -> Option<Prompt>> Sending<'_, F> {
    /// Queues the repeat of a prompt with this number, if there is one.
    fn wait(&mut self, place: usize, number: i64, run: usize) {
        if number <= self.repeats.counts[place] {
            let delay = number.saturating_mul(self.repeats.every);
            let at = Millis::new(self.cache.trace.prompts[place].start.get().saturating_add(delay));
            self.waiting.push(Reverse((at, place, number, run)));
        }
    }

    /// Sends all repeats before a time.
    fn repeat_until(&mut self, end: Option<Millis>) {
        while let Some(&Reverse((at, place, number, run))) = self.waiting.peek() {
            if end.is_some_and(|end| at >= end) {
                return;
            }
            self.waiting.pop();
            let Some(prompt) = (self.again)(&self.cache.trace.prompts[place]) else { continue };
            let prompt = Prompt { start: at, readable_from: at, ..prompt };
            let outcome = self.cache.request(&prompt);
            let known =
                self.runs.get_mut(run).filter(|known| number > 1 && known.outcome == outcome);
            let run = if let Some(known) = known {
                known.count += 1;
                run
            } else {
                self.runs.push(RepeatRun { place, at, count: 1, outcome });
                self.runs.len() - 1
            };
            self.wait(place, number + 1, run);
        }
    }
}

struct Cache<'a> {
    trace: &'a PromptTrace,
    policy: &'a Policy,
    entries: Entries<'a>,
}

/// Longest readable prefix of a prompt.
#[derive(Clone, Copy, Debug)]
struct Hit {
    node: NodeId,
    end: Tokens,
    basis: Basis,
    ttl: Ttl,
}

impl<'a> Cache<'a> {
    fn request(&mut self, prompt: &Prompt) -> Outcome {
        // Measured: for some versions of a client, entries for five minutes live a few seconds longer.
        self.entries.set_grace_of_five_minutes(prompt.grace());
        let sent = self.sent(prompt);
        if let Some(refusal) = refusal(&sent).or(prompt.refusal()) {
            let basis = Basis::Derived;
            return Outcome { refusal: Some(refusal), basis, ..Outcome::default() };
        }
        let effective = effective(sent, prompt.minimum);
        if effective.is_empty() {
            return Outcome { input: prompt.total, basis: prompt.basis, ..Outcome::default() };
        }
        self.send_background(prompt, &effective);
        let hit = self.find(prompt, &effective, prompt.start);
        let hit = self.find_repaired(prompt).into_iter().chain(hit).max_by_key(|hit| hit.end);
        self.use_entries(prompt, &effective, hit, prompt.start, prompt.readable_from);
        let (read, basis) = self.read(prompt, hit);
        let most = self.trace.most_of(prompt);
        Outcome { found: hit.map(|hit| hit.node), ..split(prompt, most, &effective, read, basis) }
    }

    fn sent(&self, prompt: &Prompt) -> SentMarkers<'a> {
        let trace = self.trace;
        trace
            .markers_of(prompt)
            .iter()
            .filter_map(|marker| {
                let level = trace.node(marker.node).level;
                Some((marker, self.policy.markers.ttl(marker, level, prompt.is_agent)?))
            })
            .collect()
    }

    /// Tokens that a request reads: by the rules, except for openings and breaks, which only the
    /// record shows.
    fn read(&self, prompt: &Prompt, hit: Option<Hit>) -> (Tokens, Basis) {
        let (found, basis) = match hit {
            Some(hit) if hit.end >= prompt.shared_prefix => (hit.end, hit.basis),
            _ => (prompt.shared_prefix, prompt.shared_prefix_basis),
        };
        let kept = prompt.broken_read().filter(|_| self.policy.keeps_breaks);
        let most = found.max(prompt.system_prefix);
        let (read, basis) = match (prompt.opening(), kept) {
            (Some(opening), _) if prompt.repair().is_none() || opening > found => {
                (opening, Basis::Derived)
            }
            // A break falls back to the prefix that is warm before the messages, even if the policy
            // has let the chain itself expire: the recorded read shows that it was warm.
            (_, Some(broken)) if broken <= most => (broken, Basis::Derived),
            (_, Some(_)) => (most, Basis::Estimated),
            (_, None) => (found, basis),
        };
        (read.min(self.trace.most_of(prompt)), basis)
    }

    /// Sends a background request, whose message marker is at its own end.
    fn send_background(&mut self, prompt: &Prompt, sent: &[Sent<'a>]) {
        let Some(background) = prompt.background() else { return };
        let Some(((last, ttl), others)) = sent.split_last() else { return };
        let own = Marker { node: background.node, ..**last };
        let mut sent = SentMarkers::from_slice(others);
        sent.push((&own, *ttl));
        // With a shorter lifetime than the recorded one, a request that is only assumed restarts no clock.
        let is_shorter = last.ttl.is_some_and(|recorded| *ttl < recorded);
        let before = prompt.predecessor.filter(|_| is_shorter && !background.was_seen);
        let at = before.map_or(background.at, |before| self.trace.prompts[before].start);
        let hit = self.find(prompt, &sent, at);
        self.use_entries(prompt, &sent, hit, at, at);
    }

    /// Longest prefix that any of the markers finds.
    fn find(&self, prompt: &Prompt, sent: &[Sent<'_>], now: Millis) -> Option<Hit> {
        let blocks = |node: NodeId| self.trace.node(node).blocks;
        let mut longest: Option<(NodeId, Ttl)> = None;
        // Backwards, as no marker finds anything after itself.
        for sent in sent.iter().rev() {
            let (marker, _) = sent;
            if longest.is_some_and(|(longest, _)| blocks(longest) >= blocks(marker.node)) {
                break;
            }
            let found = self.find_from(prompt, *sent, now).filter(|(found, _)| {
                longest.is_none_or(|(longest, _)| blocks(*found) > blocks(longest))
            });
            longest = found.or(longest);
        }
        let (hit, ttl) = longest?;
        // A request's own markers have the most exact sizes.
        let own = sent.iter().find(|(marker, _)| marker.node == hit);
        let (end, basis) = own.map_or_else(
            || (self.trace.end_in(prompt, hit), self.trace.node(hit).basis),
            |(marker, _)| (marker.end, marker.basis),
        );
        Some(Hit { node: hit, end, basis, ttl })
    }

    /// Prefix of the previous request that a repaired one finds: the entry at the last marker, as
    /// the previous request would find it itself.
    fn find_repaired(&self, prompt: &Prompt) -> Option<Hit> {
        let repair = prompt.repair()?;
        let before = &self.trace.prompts[prompt.predecessor?];
        let sent = *effective(self.sent(before), before.minimum).last()?;
        let (marker, own) = sent;
        let partition = self.read_partition(before, sent, marker.node);
        let ttl = self.entries.readable(marker.node, partition, prompt.start);
        let ttl = ttl.or_else(|| (repair == Repair::KeptAlive).then_some(own))?;
        let deleted = prompt.deleted.saturating_sub(before.deleted);
        let end = marker.end.saturating_sub(deleted).min(self.trace.most_of(prompt));
        Some(Hit { node: marker.node, end, basis: Basis::Estimated, ttl })
    }

    /// Nearest readable entry at a marker or before it, within its lookback.
    fn find_from(&self, prompt: &Prompt, sent: Sent<'_>, now: Millis) -> Option<(NodeId, Ttl)> {
        let (marker, _) = sent;
        let from = self.count(marker.node);
        let mut within_reach =
            self.trace.path(marker.node).take_while(|node| from - self.count(*node) < LOOKBACK);
        within_reach.find_map(|node| {
            if !prompt.may_find(node) {
                return None;
            }
            let partition = self.read_partition(prompt, sent, node);
            Some((node, self.entries.readable(node, partition, now)?))
        })
    }

    fn count(&self, node: NodeId) -> u32 {
        match self.policy.lookback {
            Lookback::Positions => self.trace.node(node).positions,
            Lookback::Blocks => self.trace.node(node).blocks,
            Lookback::Unlimited => 0,
        }
    }

    /// Refreshes the prefix that was read, and stores an entry at every marker that lacks one.
    ///
    /// Entries below the hit are free of charge.
    fn use_entries(
        &mut self,
        prompt: &Prompt,
        sent: &[Sent<'_>],
        hit: Option<Hit>,
        now: Millis,
        readable_from: Millis,
    ) {
        if let Some(hit) = hit {
            let first = sent.first().map(|(_, ttl)| *ttl);
            let others = sent.iter().map(|(_, ttl)| *ttl).filter(|ttl| Some(*ttl) != first);
            // If each TTL has its own cache, the entries of both are refreshed. Otherwise one cache
            // holds all.
            let ttls = first.into_iter().chain(others.take(1));
            let caches = if self.policy.ttl_change == TtlChange::Keeps { 1 } else { 2 };
            for ttl in ttls.take(caches) {
                self.entries.refresh(hit.node, self.partition(prompt, false, ttl), now);
                if self.entries.has_global() {
                    self.entries.refresh(hit.node, self.partition(prompt, true, ttl), now);
                }
            }
        }
        // A prefix that other traffic keeps warm lives as long as that traffic, whatever the TTL.
        let own = hit.filter(|hit| prompt.opening().is_none() && hit.end >= prompt.shared_prefix);
        for (marker, ttl) in sent {
            let partition = self.partition(prompt, marker.is_global, *ttl);
            if self.entries.readable(marker.node, partition, now).is_none() {
                let ttl = own.map_or(*ttl, |hit| self.policy.reading.ttl_behind(hit.ttl, *ttl));
                self.entries.store(marker.node, partition, ttl, now, readable_from);
            }
        }
    }

    /// Cache for the entries that a request stores at its markers of a TTL.
    fn partition(&self, prompt: &Prompt, is_global: bool, ttl: Ttl) -> Partition {
        Partition {
            model: prompt.model,
            scope: prompt.scope.filter(|_| !is_global),
            betas: prompt.betas.filter(|_| self.policy.betas == BetaKey::Key),
            session: prompt.session.filter(|_| !self.policy.shares_sessions),
            is_global,
            ttl: (self.policy.ttl_change == TtlChange::Loses).then_some(ttl),
        }
    }

    /// Cache in which a marker looks for the entry of a node.
    ///
    /// If sessions are kept apart, it is that of the session that wrote the node, and for the
    /// system prompt that of the session that the request continues.
    fn read_partition(&self, prompt: &Prompt, sent: Sent<'_>, node: NodeId) -> Partition {
        let (marker, ttl) = sent;
        let own = self.partition(prompt, marker.is_global, ttl);
        if own.session.is_none() {
            return own;
        }
        let writer = match self.trace.node(node).level {
            Level::Messages => self.trace.node(node).session,
            Level::System => self
                .trace
                .node(prompt.node)
                .parent
                .filter(|before| self.trace.node(*before).level == Level::Messages)
                .and_then(|before| self.trace.node(before).session),
        };
        Partition { session: writer.or(own.session), ..own }
    }
}

/// Bills a prompt: the read, then the writes up to the last marker, then input.
///
/// Tokens before the last one-hour marker are written for an hour. `most` is the cacheable part of
/// the prompt, in tokens.
fn split(prompt: &Prompt, most: Tokens, sent: &[Sent<'_>], read: Tokens, basis: Basis) -> Outcome {
    let limit = |marker: &Marker| marker.end.max(read).min(most);
    let hour = sent.iter().rfind(|(_, ttl)| *ttl == Ttl::OneHour).map(|(marker, _)| *marker);
    let last = sent.last().map(|(marker, _)| *marker);
    let hour_end = hour.map_or(read, limit);
    let end = last.map_or(read, limit).max(hour_end);
    let mut basis = basis;
    if hour_end > read {
        basis = basis.max(hour.map_or(Basis::Derived, |marker| marker.basis));
    }
    basis = basis.max(last.map_or(Basis::Derived, |marker| marker.basis));
    let mut outcome =
        Outcome { read, input: prompt.total.saturating_sub(end), basis, ..Outcome::default() };
    outcome.add_written(Ttl::OneHour, hour_end.saturating_sub(read));
    outcome.add_written(Ttl::FiveMinutes, end.saturating_sub(hour_end));
    outcome
}
