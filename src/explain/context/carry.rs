//! Cost of carrying each segment: the recorded split of every prompt, cut by position.
//!
//! In a prompt the read tokens come first, then one-hour writes, then five-minute writes, then tokens
//! sent in full, as the rules demand. A request that reads a thousand segments only notes this at the last
//! of them, and the notes are summed once at the end. So a session takes time in its requests plus
//! segments, not in their product.

use derive_more::AddAssign;

use super::segment::{SegmentId, SegmentTree};
use crate::base::{Picodollars, Tokens};
use crate::read::input::PromptSplit;
use crate::simulate::pricing::Rates;

/// Tokens of one class, and their cost.
#[derive(AddAssign, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Charge {
    /// Number of tokens.
    pub tokens: Tokens,
    /// Cost of the tokens. Requests without a price add nothing.
    pub cost: Picodollars,
}

/// Effort of carrying content in prompts.
#[derive(AddAssign, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Carrying {
    /// Number of requests that carried it.
    pub requests: u64,
    /// Number of these requests with a price for their model.
    pub priced: u64,
    /// Tokens read from cache.
    pub read: Charge,
    /// Tokens written for an hour.
    pub write_1h: Charge,
    /// Tokens written for five minutes.
    pub write_5m: Charge,
    /// Tokens sent in full.
    pub input: Charge,
}

impl Carrying {
    /// All tokens that were sent.
    pub fn tokens(&self) -> Tokens {
        self.charges().map(|charge| charge.tokens).sum()
    }

    /// Cost of writing it, and of sending it in full.
    pub fn write_cost(&self) -> Option<Picodollars> {
        self.known(self.write_1h.cost + self.write_5m.cost + self.input.cost)
    }

    /// Cost of reading it.
    pub fn read_cost(&self) -> Option<Picodollars> {
        self.known(self.read.cost)
    }

    /// Whole cost, or `None` if no model has a price.
    pub fn cost(&self) -> Option<Picodollars> {
        self.known(self.priced_cost())
    }

    /// Known part of the cost.
    pub(super) fn priced_cost(&self) -> Picodollars {
        self.charges().map(|charge| charge.cost).sum()
    }

    fn known(&self, cost: Picodollars) -> Option<Picodollars> {
        // Nothing that was carried costs nothing, also without a price.
        (self.priced > 0 || self.requests == 0).then_some(cost)
    }

    fn charges(&self) -> impl Iterator<Item = Charge> {
        [self.read, self.write_1h, self.write_5m, self.input].into_iter()
    }
}

/// Number of classes of tokens, which are numbered by their order in a prompt.
const CLASSES: usize = 4;

/// Number of times that whole segments were carried, as a difference: added at the last segment of a
/// run, and subtracted at the one before the run.
#[derive(Clone, Copy, Debug, Default)]
struct Note {
    requests: i64,
    priced: i64,
    times: [i64; CLASSES],
    rates: [i128; CLASSES],
}

impl Note {
    fn add(&mut self, other: &Self) {
        self.requests += other.requests;
        self.priced += other.priced;
        for class in 0..CLASSES {
            self.times[class] += other.times[class];
            self.rates[class] += other.rates[class];
        }
    }
}

/// Sums of the cost of a tree's prompts, for one part of a session after another.
pub(super) struct Carrier<'a> {
    pub(super) tree: &'a SegmentTree,
    notes: Vec<Note>,
    /// Carried parts of segments with the end of a class inside.
    parts: Vec<[Charge; CLASSES]>,
    /// Last segments of the prompts since the sums were taken.
    leaves: Vec<SegmentId>,
    is_carried: Vec<bool>,
}

impl<'a> Carrier<'a> {
    pub(super) fn new(tree: &'a SegmentTree) -> Self {
        let segments = tree.segments.len();
        Self {
            tree,
            notes: vec![Note::default(); segments],
            parts: vec![<[Charge; CLASSES]>::default(); segments],
            leaves: Vec::new(),
            is_carried: vec![false; segments],
        }
    }

    /// Carries a prompt that ends with `last` and was charged as `split` says.
    pub(super) fn carry(
        &mut self,
        last: Option<SegmentId>,
        split: &PromptSplit,
        rates: Option<&Rates>,
    ) {
        let Some(leaf) = last else { return };
        self.leaves.push(leaf);
        self.notes[leaf.0].requests += 1;
        self.notes[leaf.0].priced += i64::from(rates.is_some());
        let of = |price: fn(&Rates) -> Picodollars| rates.map_or(Picodollars::ZERO, price);
        let classes = [
            (split.read, of(|rates| rates.cache_read)),
            (split.write_1h, of(|rates| rates.cache_write_1h)),
            (split.write_5m, of(|rates| rates.cache_write_5m)),
            (split.input, of(|rates| rates.input)),
        ];
        let mut from = 0;
        for (class, (tokens, rate)) in classes.into_iter().enumerate() {
            let until = from + tokens.0;
            self.carry_range(last, (from, until), class, rate);
            from = until;
        }
    }

    /// Carries the tokens between two positions of a prompt.
    fn carry_range(
        &mut self,
        last: Option<SegmentId>,
        (from, until): (u64, u64),
        class: usize,
        rate: Picodollars,
    ) {
        if from == until {
            return;
        }
        let tree = self.tree;
        let before = tree.beginning_before(last, from);
        // A class may begin or end inside of a segment. The segments between are whole.
        let first_part =
            before.map_or(0, |id| tree.segment(id).end.min(until)).saturating_sub(from);
        self.carry_part(before, first_part, class, rate);
        let end = tree.beginning_before(last, until);
        let whole_end = tree.ending_by(last, until);
        if tree.is_behind(whole_end, before) {
            self.note(whole_end, 1, class, rate);
            self.note(before, -1, class, rate);
        }
        if end != before && end != whole_end {
            let start = end.map_or(until, |id| tree.segment(id).start);
            self.carry_part(end, until - start, class, rate);
        }
    }

    fn carry_part(&mut self, id: Option<SegmentId>, tokens: u64, class: usize, rate: Picodollars) {
        if let Some(id) = id {
            let tokens = Tokens(tokens);
            self.parts[id.0][class] += Charge { tokens, cost: rate.times(tokens) };
        }
    }

    fn note(&mut self, id: Option<SegmentId>, times: i64, class: usize, rate: Picodollars) {
        if let Some(id) = id {
            let note = &mut self.notes[id.0];
            note.times[class] += times;
            note.rates[class] += i128::from(times) * rate.0;
        }
    }

    /// Effort of carrying each segment since the last call, in the order of the tree. Segments of no prompt are not
    /// visited: a session of many parts takes time in the contents of each part's prompts.
    pub(super) fn take(&mut self) -> Vec<(SegmentId, Carrying)> {
        let mut segments: Vec<SegmentId> = Vec::new();
        for leaf in std::mem::take(&mut self.leaves) {
            let path = self.tree.path(Some(leaf)).take_while(|id| !self.is_carried[id.0]);
            let new = segments.len();
            segments.extend(path);
            for id in &segments[new..] {
                self.is_carried[id.0] = true;
            }
        }
        segments.sort_unstable();
        let mut carried = Vec::with_capacity(segments.len());
        // Children come after their parents, so each note is complete once it is passed on.
        for id in segments.into_iter().rev() {
            let segment = self.tree.segment(id);
            let note = std::mem::take(&mut self.notes[id.0]);
            if let Some(parent) = segment.parent {
                self.notes[parent.0].add(&note);
            }
            self.is_carried[id.0] = false;
            let parts = std::mem::take(&mut self.parts[id.0]);
            carried.push((id, carrying(segment.tokens(), &note, parts)));
        }
        carried.reverse();
        carried
    }
}

/// Effort of one segment: carried whole, as often as noted, and in parts.
fn carrying(tokens: u64, note: &Note, parts: [Charge; CLASSES]) -> Carrying {
    let count = |times: i64| u64::try_from(times).unwrap_or(0);
    let mut charges = parts;
    for (class, charge) in charges.iter_mut().enumerate() {
        *charge += Charge {
            tokens: Tokens(tokens * count(note.times[class])),
            cost: Picodollars(i128::from(tokens) * note.rates[class]),
        };
    }
    let [read, write_1h, write_5m, input] = charges;
    let (requests, priced) = (count(note.requests), count(note.priced));
    Carrying { requests, priced, read, write_1h, write_5m, input }
}

#[cfg(test)]
mod tests {
    use super::super::segment::ContextKind;
    use super::super::segment::Item;
    use super::*;
    use crate::base::Basis;

    const RATES: Rates = Rates {
        input: Picodollars(10),
        cache_write_5m: Picodollars(12),
        cache_write_1h: Picodollars(20),
        cache_write_12h: None,
        cache_read: Picodollars(1),
        output: Picodollars(50),
    };

    fn split(read: u64, write_1h: u64, write_5m: u64, input: u64) -> PromptSplit {
        PromptSplit {
            input: Tokens(input),
            read: Tokens(read),
            write_5m: Tokens(write_5m),
            write_1h: Tokens(write_1h),
        }
    }

    /// Three segments of 100, 50 and 20 tokens. The second prompt branches after the second one,
    /// with 30 tokens.
    #[test]
    fn a_split_is_cut_by_position() {
        let mut tree = SegmentTree::default();
        let item = tree.add_item(Item { kind: ContextKind::Answers, file: 0, line: 1 });
        let mut add = |before, tokens| tree.add(before, item, Tokens(tokens), Basis::Derived);
        let first = add(None, 100);
        let second = add(first, 50);
        let third = add(second, 20);
        let branch = add(second, 30);
        let mut carrier = Carrier::new(&tree);
        // 0–120 read, 120–160 for an hour, 160–165 for five minutes, 165–170 in full.
        carrier.carry(third, &split(120, 40, 5, 5), Some(&RATES));
        // 0–150 read, 150–180 for an hour.
        carrier.carry(branch, &split(150, 30, 0, 0), None);
        let carried: Vec<Carrying> = carrier.take().into_iter().map(|(_, one)| one).collect();
        let tokens = |of: &Carrying| {
            [of.read, of.write_1h, of.write_5m, of.input].map(|charge| charge.tokens.0)
        };
        assert_eq!(tokens(&carried[0]), [200, 0, 0, 0]);
        assert_eq!(tokens(&carried[1]), [70, 30, 0, 0]);
        assert_eq!(tokens(&carried[2]), [0, 10, 5, 5]);
        assert_eq!(tokens(&carried[3]), [0, 30, 0, 0]);
        assert_eq!((carried[1].requests, carried[1].priced), (2, 1));
        assert_eq!(carried[1].cost(), Some(Picodollars(20 + 30 * 20)));
        assert_eq!(carried[3].cost(), None);
        let all: Picodollars = carried.iter().map(Carrying::priced_cost).sum();
        assert_eq!(all, Picodollars(120 + 40 * 20 + 5 * 12 + 5 * 10));
        // Taken sums are gone; the branch is in no prompt.
        assert_eq!(carrier.take(), []);
        carrier.carry(third, &split(170, 0, 0, 0), Some(&RATES));
        let again = carrier.take();
        assert_eq!(
            again.iter().map(|(id, one)| (id.0, one.read.tokens.0)).collect::<Vec<_>>(),
            [(0, 100), (1, 50), (2, 20)]
        );
    }
}
