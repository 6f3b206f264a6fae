//! Caches with markers at other services, on random conversations, against a second simulator that knows no tree and
//! no clocks of paths: it keeps every prefix that was marked as the list of its blocks.

use cachesim::base::id::Symbols;
use cachesim::base::ttl::{Lifetimes, Ttl};
use cachesim::base::units::{Basis, Millis, Tokens};
use cachesim::requests::prompt::{Level, Marker, Node, NodeId, Prompt, PromptTrace};
use cachesim::simulate::cache::{
    BetaKey, Counting, Lookback, Markers, Policy, Reading, TokenRatio, TtlChange, counted, simulate,
};
use proptest::prelude::*;

/// A request of a random workspace.
#[derive(Clone, Debug)]
struct Ask {
    /// Which earlier node it goes on from.
    from: prop::sample::Index,
    /// The blocks that it adds, by size.
    adds: Vec<u64>,
    /// Tokens after its last block.
    tail: u64,
    gap: i64,
    /// From its start to the beginning of the response.
    wait: i64,
    is_other_model: bool,
    /// The key that the request carries, or the workspace that it is sent from.
    key: usize,
    /// Which blocks of its prompt it marks, and for how long each.
    marks: Vec<(prop::sample::Index, Ttl)>,
}

fn ask() -> impl Strategy<Value = Ask> {
    let gap = prop_oneof![6 => 0_i64..40, 2 => 90_i64..110, 1 => 300_i64..900];
    let wait = prop_oneof![4 => Just(0_i64), 1 => 0_i64..150];
    let adds = prop::collection::vec(0_u64..700, 0..8);
    let ttl = prop::sample::select(vec![Ttl::FiveMinutes, Ttl::OneHour]);
    let marks = prop::collection::vec((any::<prop::sample::Index>(), ttl), 0..=4);
    let is_other = prop::bool::weighted(0.15);
    let key = prop_oneof![6 => Just(0_usize), 1 => Just(1_usize)];
    (any::<prop::sample::Index>(), adds, 0_u64..50, gap, wait, is_other, key, marks).prop_map(
        |(from, adds, tail, gap, wait, is_other_model, key, marks)| Ask {
            from,
            adds,
            tail,
            gap,
            wait,
            is_other_model,
            key,
            marks,
        },
    )
}

fn node(parent: Option<NodeId>, end: u64, blocks: u32) -> Node {
    Node {
        parent,
        end: Tokens(end),
        basis: Basis::Derived,
        positions: blocks,
        blocks,
        level: Level::Messages,
        is_markable: false,
        session: None,
    }
}

/// The workspace as a trace, as a client records it: without markers.
fn trace(asks: &[Ask]) -> PromptTrace {
    let mut symbols = Symbols::default();
    let models = [symbols.intern("a"), symbols.intern("b")];
    let keys = [symbols.intern("one"), symbols.intern("other")];
    let mut trace = PromptTrace::default();
    trace.nodes.push(node(None, 300, 1));
    let mut now = 0;
    for ask in asks {
        now += ask.gap;
        let mut end = NodeId::at(ask.from.index(trace.nodes.len()));
        for size in &ask.adds {
            let before = *trace.node(end);
            trace.nodes.push(node(Some(end), before.end.0 + size, before.blocks + 1));
            end = NodeId::at(trace.nodes.len() - 1);
        }
        let total = Tokens(trace.node(end).end.0 + ask.tail);
        trace.prompts.push(Prompt {
            readable_from: Millis::new(now + ask.wait),
            scope: Some(keys[ask.key]),
            ..Prompt::new(models[usize::from(ask.is_other_model)], Millis::new(now), end, total)
        });
    }
    trace
}

/// The nodes of a prompt, from the root down.
fn path(trace: &PromptTrace, end: NodeId) -> Vec<NodeId> {
    let mut path: Vec<NodeId> = trace.path(end).collect();
    path.reverse();
    path
}

/// The blocks that a request marks, by their number from zero, with the longer lifetime first.
fn marked_blocks(ask: &Ask, blocks: usize) -> Vec<(usize, Ttl)> {
    let mut marks: Vec<(usize, Ttl)> =
        ask.marks.iter().map(|(index, ttl)| (index.index(blocks), *ttl)).collect();
    marks.sort_by_key(|(block, _)| *block);
    marks.dedup_by_key(|(block, _)| *block);
    let longs = marks.iter().filter(|(_, ttl)| *ttl == Ttl::OneHour).count();
    let in_order = marks.into_iter().enumerate();
    let ttl = |number| if number < longs { Ttl::OneHour } else { Ttl::FiveMinutes };
    in_order.map(|(number, (block, _))| (block, ttl(number))).collect()
}

/// The same in the service's counts, with the markers of each request.
fn marked(trace: &PromptTrace, asks: &[Ask], service: &Service) -> PromptTrace {
    let ratio = |prompt: &Prompt| TokenRatio { per_mille: service.per_mille(prompt) };
    let mut counted = counted(trace, &service.counting, ratio);
    counted.markers.clear();
    for (number, ask) in asks.iter().enumerate() {
        let first = counted.markers.len();
        let path = path(&counted, counted.prompts[number].node);
        for (block, ttl) in marked_blocks(ask, path.len()) {
            let place = *counted.node(path[block]);
            counted.markers.push(Marker {
                node: path[block],
                end: place.end,
                basis: place.basis,
                ttl: Some(ttl),
                is_global: false,
                is_automatic: false,
                is_markable: place.is_markable,
            });
        }
        counted.prompts[number].markers = first..counted.markers.len();
    }
    counted
}

/// A service, as documented and as assumed.
#[derive(Clone, Copy, Debug)]
struct Service {
    counting: Counting,
    lifetimes: Lifetimes,
    is_limited: bool,
    /// How many of its tokens a thousand of each model are.
    per_mille: [u64; 2],
}

impl Service {
    fn per_mille(&self, prompt: &Prompt) -> u64 {
        self.per_mille[prompt.model.index()]
    }

    fn policy(&self) -> Policy {
        Policy {
            markers: Markers::AsRecorded,
            keeps_breaks: true,
            ttl_grace: 0,
            shares_sessions: true,
            lookback: if self.is_limited { Lookback::Positions } else { Lookback::Unlimited },
            reading: Reading::Literal,
            ttl_change: TtlChange::Keeps,
            betas: BetaKey::Beside,
            lifetimes: self.lifetimes,
        }
    }
}

fn service() -> impl Strategy<Value = Service> {
    let counting =
        (0_u64..1_500, 1_u64..300, 0_u64..900).prop_map(|(minimum, step, offset)| Counting {
            minimum: Tokens(minimum),
            step: Tokens(step),
            offset: Tokens(offset),
            tail: Tokens::ZERO,
        });
    let lifetimes =
        (1_i64..400, 0_i64..600).prop_map(|(usual, more)| Lifetimes { usual, long: usual + more });
    (counting, lifetimes, any::<bool>(), [500_u64..1_500, 500..1_500]).prop_map(
        |(counting, lifetimes, is_limited, per_mille)| Service {
            counting,
            lifetimes,
            is_limited,
            per_mille,
        },
    )
}

/// A prefix that was marked.
struct Entry {
    blocks: Vec<NodeId>,
    owner: (usize, usize),
    ttl: Ttl,
    used: i64,
    readable_from: i64,
}

/// The rules once more, over whole prefixes.
struct Naive<'a> {
    service: &'a Service,
    entries: Vec<Entry>,
}

/// Read, written for the usual and for the longer lifetime, and sent in full.
type Figures = [u64; 4];

impl Naive<'_> {
    fn figures(trace: &PromptTrace, asks: &[Ask], service: &Service) -> Vec<Figures> {
        let mut naive = Naive { service, entries: Vec::new() };
        let prompts = trace.prompts.iter().zip(asks);
        prompts.map(|(prompt, ask)| naive.request(trace, prompt, ask)).collect()
    }

    /// What the service counts of tokens, and what of these it stores.
    fn count(&self, prompt: &Prompt, tokens: u64) -> (u64, u64) {
        let count = tokens * self.service.per_mille(prompt) / 1_000;
        let Counting { step, offset, .. } = self.service.counting;
        let steps = count.checked_sub(offset.0).map_or(0, |counted| counted % step.0);
        (count, count - steps)
    }

    fn is_alive(&self, entry: &Entry, now: i64) -> bool {
        let lifetime = match entry.ttl {
            Ttl::FiveMinutes => self.service.lifetimes.usual,
            Ttl::OneHour => self.service.lifetimes.long,
        };
        now - entry.used < lifetime
    }

    fn request(&mut self, trace: &PromptTrace, prompt: &Prompt, ask: &Ask) -> Figures {
        let (now, owner) = (prompt.start.get(), (usize::from(ask.is_other_model), ask.key));
        let path = path(trace, prompt.node);
        let end = |blocks: usize| self.count(prompt, trace.node(path[blocks - 1]).end.0).1;
        let total = self.count(prompt, prompt.total.0).0;
        let minimum = self.service.counting.minimum.0;
        let marks: Vec<(usize, Ttl)> = marked_blocks(ask, path.len())
            .into_iter()
            .map(|(block, ttl)| (block + 1, ttl))
            .filter(|(blocks, _)| end(*blocks) >= minimum)
            .collect();
        let Some((last, _)) = marks.last().copied() else { return [0, 0, 0, total] };
        let is_readable = |entry: &Entry| {
            entry.owner == owner && entry.readable_from <= now && self.is_alive(entry, now)
        };
        let in_reach = |blocks: usize| {
            let is_near = |mark: usize| mark - blocks < 20 || !self.service.is_limited;
            marks.iter().any(|(mark, _)| *mark >= blocks && is_near(*mark))
        };
        let found = self.entries.iter().filter(|entry| {
            is_readable(entry) && path.starts_with(&entry.blocks) && in_reach(entry.blocks.len())
        });
        let hit = found.map(|entry| entry.blocks.len()).max();
        let read = hit.map_or(0, end);
        let readable: Vec<bool> = self.entries.iter().map(is_readable).collect();
        let long = marks.iter().rfind(|(_, ttl)| *ttl == Ttl::OneHour);
        let long_end = long.map_or(read, |(blocks, _)| end(*blocks).max(read));
        let written = end(last).max(long_end);
        for (entry, is_readable) in self.entries.iter_mut().zip(&readable) {
            if *is_readable && path[..hit.unwrap_or(0)].starts_with(&entry.blocks) {
                entry.used = now;
            }
        }
        for (blocks, ttl) in marks {
            self.store(&path[..blocks], owner, ttl, now, prompt.readable_from.get());
        }
        [read, written - long_end, long_end - read, total - written]
    }

    /// Stores a prefix, unless one is there to be read. Requests that write it before it can be read keep the longer
    /// lifetime, the later start and the earlier time from which it can be read.
    fn store(&mut self, blocks: &[NodeId], owner: (usize, usize), ttl: Ttl, now: i64, from: i64) {
        let alive: Vec<bool> = self.entries.iter().map(|entry| self.is_alive(entry, now)).collect();
        let mut alive = alive.into_iter();
        let is_same = |entry: &Entry| entry.owner == owner && entry.blocks == blocks;
        // What has died is gone.
        self.entries.retain(|entry| alive.next().unwrap_or(false) || !is_same(entry));
        match self.entries.iter_mut().find(|entry| is_same(entry)) {
            Some(entry) if entry.readable_from <= now => {}
            Some(entry) => {
                entry.ttl = entry.ttl.max(ttl);
                entry.used = entry.used.max(now);
                entry.readable_from = entry.readable_from.min(from);
            }
            None => {
                let blocks = blocks.to_vec();
                self.entries.push(Entry { blocks, owner, ttl, used: now, readable_from: from });
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn the_naive_simulator_agrees(asks in prop::collection::vec(ask(), 1..50), service in service()) {
        let trace = trace(&asks);
        let marked = marked(&trace, &asks, &service);
        let outcomes = simulate(&marked, &service.policy());
        let figures: Vec<Figures> = outcomes
            .iter()
            .map(|one| [one.read.0, one.write_5m.0, one.write_1h.0, one.input.0])
            .collect();
        prop_assert_eq!(figures, Naive::figures(&trace, &asks, &service));
    }
}
