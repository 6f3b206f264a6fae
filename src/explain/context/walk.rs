//! Contents of parts of a session, by a walk through its tree from prompt to prompt.
//!
//! A part, such as a window of five hours, mostly carries what the part before carried. So the walk keeps the path of
//! the prompt that it is at, with the sums of each kind up to each of its segments, and goes on to the next prompt over
//! the segments that differ. A prompt then takes time in its kinds and in the logarithm of its length.

use rustc_hash::FxHashMap;

use super::KindTotals;
use super::carry::{CLASSES, Carrying, Charge, ClassRange, class_ranges};
use super::segment::{ContextKind, ItemId, SegmentId, SegmentTree};
use crate::base::{Basis, Tokens};
use crate::read::input::PromptSplit;
use crate::simulate::pricing::Rates;

/// Sums of the segments of one kind from the root to one of them.
#[derive(Clone, Copy, Default)]
struct Sums {
    /// Number of segments.
    segments: u64,
    /// Tokens of the segments.
    tokens: u64,
    /// Number of items.
    items: u64,
    /// Tokens of the items, each with its largest segment.
    item_tokens: u64,
    basis: Basis,
}

/// Walk that is at one prompt of a tree.
pub(super) struct Walk<'a> {
    tree: &'a SegmentTree,
    kinds: Vec<ContextKind>,
    /// Kind of each item, as a place in `kinds`.
    kind_of: Vec<usize>,
    /// Segments of the prompt, from the root on.
    path: Vec<SegmentId>,
    /// Sums of each kind, one for each of its segments on the path, with the depth of the segment.
    sums: Vec<Vec<(usize, Sums)>>,
    /// Tokens of each item's largest segment on the path.
    on_path: Vec<u64>,
}

/// Contents of a part that are not, or not as large, in the prompt that the walk is at: each item with its largest
/// segment.
type Left = FxHashMap<ItemId, (u64, Basis)>;

/// Effort of one kind.
#[derive(Clone, Copy, Default)]
struct Effort {
    requests: u64,
    priced: u64,
    charges: [Charge; CLASSES],
}

impl<'a> Walk<'a> {
    /// Walk at an empty prompt.
    pub(super) fn new(tree: &'a SegmentTree) -> Self {
        let mut kinds = Vec::new();
        let mut places: FxHashMap<ContextKind, usize> = FxHashMap::default();
        let mut place = |kind: ContextKind| {
            *places.entry(kind).or_insert_with(|| {
                kinds.push(kind);
                kinds.len() - 1
            })
        };
        let kind_of: Vec<usize> = tree.items.iter().map(|item| place(item.kind)).collect();
        let (sums, on_path) = (vec![Vec::new(); kinds.len()], vec![0; kind_of.len()]);
        Self { tree, kinds, kind_of, path: Vec::new(), sums, on_path }
    }

    /// Kinds of content of some prompts, each given by its last segment, its usage and its prices.
    pub(super) fn part<'p>(
        &mut self,
        prompts: impl Iterator<Item = (SegmentId, &'p PromptSplit, Option<&'p Rates>)>,
    ) -> Vec<KindTotals> {
        let mut efforts = vec![Effort::default(); self.kinds.len()];
        let mut left: Option<Left> = None;
        for (leaf, split, rates) in prompts {
            let passed = self.go_to(leaf);
            match &mut left {
                Some(left) => passed.into_iter().for_each(|one| add(left, one)),
                // What the walk left to come to the first prompt is none of the part's.
                None => left = Some(Left::default()),
            }
            self.carry(leaf, split, rates, &mut efforts);
        }
        left.map_or_else(Vec::new, |left| self.totals(&left, &efforts))
    }

    /// Goes to another prompt, and returns the largest segments of the items that it passes on the way back.
    fn go_to(&mut self, leaf: SegmentId) -> Vec<(ItemId, u64, Basis)> {
        let depth = |id: SegmentId| self.tree.segment(id).depth;
        let is_new = |id: &SegmentId| self.path.get(depth(*id)) != Some(id);
        let ahead: Vec<SegmentId> = self.tree.path(Some(leaf)).take_while(is_new).collect();
        let common = ahead.last().map_or(depth(leaf) + 1, |first| depth(*first));
        let mut passed = Vec::new();
        while self.path.len() > common {
            passed.extend(self.step_back());
        }
        ahead.into_iter().rev().for_each(|id| self.step_to(id));
        passed
    }

    fn step_to(&mut self, id: SegmentId) {
        let segment = self.tree.segment(id);
        let (item, tokens) = (segment.item.0, segment.tokens());
        let sums = &mut self.sums[self.kind_of[item]];
        let before = sums.last().map_or_else(Sums::default, |(_, sums)| *sums);
        let largest = self.on_path[item].max(tokens);
        let own = Sums {
            segments: before.segments + 1,
            tokens: before.tokens + tokens,
            items: before.items + u64::from(self.on_path[item] == 0),
            item_tokens: before.item_tokens + largest - self.on_path[item],
            basis: before.basis.max(segment.basis),
        };
        sums.push((self.path.len(), own));
        self.on_path[item] = largest;
        self.path.push(id);
    }

    fn step_back(&mut self) -> Option<(ItemId, u64, Basis)> {
        let id = self.path.pop()?;
        let segment = self.tree.segment(id);
        let item = segment.item;
        let sums = &mut self.sums[self.kind_of[item.0]];
        let (_, own) = sums.pop()?;
        let before = sums.last().map_or(0, |(_, sums)| sums.item_tokens);
        let largest = self.on_path[item.0];
        self.on_path[item.0] -= own.item_tokens - before;
        Some((item, largest, segment.basis))
    }

    /// Adds the effort of the prompt that the walk is at.
    fn carry(
        &self,
        leaf: SegmentId,
        split: &PromptSplit,
        rates: Option<&Rates>,
        efforts: &mut [Effort],
    ) {
        for (effort, sums) in efforts.iter_mut().zip(&self.sums) {
            let segments = sums.last().map_or(0, |(_, sums)| sums.segments);
            effort.requests += segments;
            effort.priced += if rates.is_some() { segments } else { 0 };
        }
        for ClassRange { class, rate, first, whole, last } in
            class_ranges(self.tree, leaf, split, rates)
        {
            for (id, tokens) in first.into_iter().chain(last) {
                let kind = self.kind_of[self.tree.segment(id).item.0];
                efforts[kind].charges[class] += Charge::of(tokens, rate);
            }
            let Some((before, end)) = whole else { continue };
            let depth = |id: SegmentId| self.tree.segment(id).depth;
            let (start, end) = (before.map_or(0, |id| depth(id) + 1), depth(end) + 1);
            for (effort, sums) in efforts.iter_mut().zip(&self.sums) {
                let tokens = tokens_above(sums, end) - tokens_above(sums, start);
                effort.charges[class] += Charge::of(tokens, rate);
            }
        }
    }

    /// Totals of the prompt that the walk is at and of what was left before.
    fn totals(&self, left: &Left, efforts: &[Effort]) -> Vec<KindTotals> {
        let mut totals: Vec<KindTotals> =
            self.kinds.iter().map(|kind| KindTotals::nothing(*kind)).collect();
        for ((totals, sums), effort) in totals.iter_mut().zip(&self.sums).zip(efforts) {
            let own = sums.last().map_or_else(Sums::default, |(_, sums)| *sums);
            totals.items = own.items;
            totals.tokens = Tokens(own.item_tokens);
            totals.basis = own.basis;
            totals.carried = Carrying::new(effort.requests, effort.priced, effort.charges);
        }
        for (item, (tokens, basis)) in left {
            let totals = &mut totals[self.kind_of[item.0]];
            let known = self.on_path[item.0];
            totals.items += u64::from(known == 0);
            totals.tokens += Tokens(tokens.saturating_sub(known));
            totals.basis = totals.basis.max(*basis);
        }
        totals.retain(|totals| totals.items > 0);
        totals
    }
}

fn add(left: &mut Left, (item, tokens, basis): (ItemId, u64, Basis)) {
    let known = left.entry(item).or_default();
    *known = (known.0.max(tokens), known.1.max(basis));
}

/// Tokens of the segments above a depth.
fn tokens_above(sums: &[(usize, Sums)], depth: usize) -> u64 {
    let above = sums.partition_point(|(own, _)| *own < depth);
    above.checked_sub(1).map_or(0, |last| sums[last].1.tokens)
}

#[cfg(test)]
mod tests {
    use prop::sample::Index;
    use proptest::prelude::*;

    use super::super::carry::Carrier;
    use super::super::segment::Item;
    use super::super::{by_kind, items, sum_of_kinds};
    use super::*;
    use crate::base::{Picodollars, Symbols};

    const KINDS: [ContextKind; 3] =
        [ContextKind::Answers, ContextKind::UserText, ContextKind::Files];

    const BASES: [Basis; 3] = [Basis::Measured, Basis::Derived, Basis::Estimated];

    const RATES: Rates = Rates {
        input: Picodollars(10),
        cache_write_5m: Picodollars(12),
        cache_write_1h: Picodollars(20),
        cache_write_12h: None,
        cache_read: Picodollars(1),
        output: Picodollars(50),
    };

    /// A tree of segments, each behind an earlier one, of few items, so that some have several segments.
    fn tree_of(drawn: &[(Index, usize, u64)]) -> SegmentTree {
        let mut tree = SegmentTree::default();
        let items: Vec<ItemId> = (0..12)
            .map(|line| tree.add_item(Item { kind: KINDS[line % 3], file: 0, line: line as u64 }))
            .collect();
        for (parent, item, tokens) in drawn {
            let known = tree.segments.len();
            // Mostly behind the newest few, so that paths are long.
            let near = known.saturating_sub(1 + parent.index(3));
            let before = (known > 0).then_some(SegmentId(near));
            tree.add(before, items[*item], Tokens(*tokens), BASES[item % 3]);
        }
        tree
    }

    proptest! {
        /// Each part has the contents that one pass over the whole tree gives it, whatever was walked before.
        #[test]
        fn parts_are_as_one_pass_over_the_tree_gives_them(
            drawn in prop::collection::vec((any::<Index>(), 0..12_usize, 1..40_u64), 1..60),
            parts in prop::collection::vec(
                prop::collection::vec((any::<Index>(), any::<[u8; 4]>(), any::<bool>()), 0..4),
                1..8,
            ),
        ) {
            let tree = tree_of(&drawn);
            let mut walk = Walk::new(&tree);
            for part in parts {
                let prompts: Vec<(SegmentId, PromptSplit, Option<&Rates>)> = part
                    .into_iter()
                    .map(|(leaf, shares, is_priced)| {
                        let leaf = SegmentId(leaf.index(tree.segments.len()));
                        let end = tree.segment(leaf).end;
                        let all: u64 = shares.iter().map(|share| u64::from(*share)).sum();
                        let share = |at: usize| Tokens(end * u64::from(shares[at]) / all.max(1));
                        let [read, write_1h, write_5m] = [0, 1, 2].map(share);
                        let input = Tokens(end).saturating_sub(read + write_1h + write_5m);
                        let split = PromptSplit { input, read, write_5m, write_1h };
                        (leaf, split, is_priced.then_some(&RATES))
                    })
                    .collect();
                let mut carrier = Carrier::new(&tree);
                for (leaf, split, rates) in &prompts {
                    carrier.carry(*leaf, split, *rates);
                }
                let session = Symbols::default().intern("session");
                let expected = by_kind(&items(session, &tree, &carrier.finish()));
                let walked = walk.part(prompts.iter().map(|(leaf, split, rates)| (*leaf, split, *rates)));
                prop_assert_eq!(sum_of_kinds(walked.into_iter()), expected);
            }
        }
    }
}
