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

impl Charge {
    /// Charge of tokens at a price.
    pub(super) fn of(tokens: u64, rate: Picodollars) -> Self {
        let tokens = Tokens(tokens);
        Self { tokens, cost: rate.times(tokens) }
    }
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
    pub(super) fn new(requests: u64, priced: u64, charges: [Charge; CLASSES]) -> Self {
        let [read, write_1h, write_5m, input] = charges;
        Self { requests, priced, read, write_1h, write_5m, input }
    }

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
pub(super) const CLASSES: usize = 4;

/// Tokens of one class in a prompt.
pub(super) struct ClassRange {
    pub(super) class: usize,
    /// Price of a token.
    pub(super) rate: Picodollars,
    /// Segment that the range begins in, with the number of its tokens from there on.
    pub(super) first: Option<(SegmentId, u64)>,
    /// Segments that are whole: those behind one, up to another.
    pub(super) whole: Option<(Option<SegmentId>, SegmentId)>,
    /// Segment that the range ends in, if it is another one, with the number of its tokens until there.
    pub(super) last: Option<(SegmentId, u64)>,
}

/// Ranges of the classes in a prompt that ends with `leaf` and was charged as `split` says.
pub(super) fn class_ranges(
    tree: &SegmentTree,
    leaf: SegmentId,
    split: &PromptSplit,
    rates: Option<&Rates>,
) -> impl Iterator<Item = ClassRange> {
    let of = |price: fn(&Rates) -> Picodollars| rates.map_or(Picodollars::ZERO, price);
    let classes: [_; CLASSES] = [
        (split.read, of(|rates| rates.cache_read)),
        (split.write_1h, of(|rates| rates.cache_write_1h)),
        (split.write_5m, of(|rates| rates.cache_write_5m)),
        (split.input, of(|rates| rates.input)),
    ];
    let mut from = 0;
    classes.into_iter().enumerate().filter_map(move |(class, (tokens, rate))| {
        let until = from + tokens.0;
        let start = std::mem::replace(&mut from, until);
        (start < until).then(|| class_range(tree, leaf, (start, until), (class, rate)))
    })
}

fn class_range(
    tree: &SegmentTree,
    leaf: SegmentId,
    (from, until): (u64, u64),
    (class, rate): (usize, Picodollars),
) -> ClassRange {
    let leaf = Some(leaf);
    let before = tree.beginning_before(leaf, from);
    // A class may begin or end inside of a segment. The segments between are whole.
    let first = before.map(|id| (id, tree.segment(id).end.min(until).saturating_sub(from)));
    let (end, whole_end) = (tree.beginning_before(leaf, until), tree.ending_by(leaf, until));
    let whole = whole_end.filter(|_| tree.is_behind(whole_end, before));
    let last = end.filter(|_| end != before && end != whole_end);
    let last = last.map(|id| (id, until - tree.segment(id).start));
    ClassRange { class, rate, first, whole: whole.map(|end| (before, end)), last }
}

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

/// Sums of the cost of a tree's prompts.
pub(super) struct Carrier<'a> {
    tree: &'a SegmentTree,
    notes: Vec<Note>,
    /// Carried parts of segments with the end of a class inside.
    parts: Vec<[Charge; CLASSES]>,
}

impl<'a> Carrier<'a> {
    pub(super) fn new(tree: &'a SegmentTree) -> Self {
        let segments = tree.segments.len();
        let parts = vec![<[Charge; CLASSES]>::default(); segments];
        Self { tree, notes: vec![Note::default(); segments], parts }
    }

    /// Carries a prompt that ends with `leaf` and was charged as `split` says.
    pub(super) fn carry(&mut self, leaf: SegmentId, split: &PromptSplit, rates: Option<&Rates>) {
        self.notes[leaf.0].requests += 1;
        self.notes[leaf.0].priced += i64::from(rates.is_some());
        for ClassRange { class, rate, first, whole, last } in
            class_ranges(self.tree, leaf, split, rates)
        {
            for (id, tokens) in first.into_iter().chain(last) {
                self.parts[id.0][class] += Charge::of(tokens, rate);
            }
            if let Some((before, end)) = whole {
                self.note(Some(end), 1, class, rate);
                self.note(before, -1, class, rate);
            }
        }
    }

    fn note(&mut self, id: Option<SegmentId>, times: i64, class: usize, rate: Picodollars) {
        if let Some(id) = id {
            let note = &mut self.notes[id.0];
            note.times[class] += times;
            note.rates[class] += i128::from(times) * rate.0;
        }
    }

    /// Effort of carrying each segment, in the order of the tree.
    pub(super) fn finish(mut self) -> Vec<Carrying> {
        let mut carried = vec![Carrying::default(); self.notes.len()];
        // Children come after their parents, so each note is complete once it is passed on.
        for (place, segment) in self.tree.segments.iter().enumerate().rev() {
            let note = self.notes[place];
            if let Some(parent) = segment.parent {
                self.notes[parent.0].add(&note);
            }
            carried[place] = carrying(segment.tokens(), &note, self.parts[place]);
        }
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
    Carrying::new(count(note.requests), count(note.priced), charges)
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
        carrier.carry(third.expect("a segment"), &split(120, 40, 5, 5), Some(&RATES));
        // 0–150 read, 150–180 for an hour.
        carrier.carry(branch.expect("a segment"), &split(150, 30, 0, 0), None);
        let carried = carrier.finish();
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
    }
}
