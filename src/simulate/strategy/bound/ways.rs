//! Ways to the states of a thread's cache.

use super::Split;
use super::state::{Layer, Pings};
use crate::base::Basis;

/// Way to a state.
#[derive(Clone, Copy, Debug)]
pub(super) struct Way {
    /// Way to its predecessor, as an index into [`Ways`]; `None` before the first request.
    pub(super) from: Option<u32>,
    pub(super) action: Action,
}

/// Transition from one state to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    /// A request was sent, and its prompt split in this way.
    Request(Split, Basis),
    /// Time passed, with or without pings.
    Gap(Option<Pings>),
}

/// Least number of ways at which useless ones are dropped.
const LEAST_WAYS: usize = 4_096;

/// Ways to the states of earlier layers, in one list, each after its predecessor: enough to trace
/// the choices back.
///
/// Most states soon turn out to lead nowhere, and all remaining ones come from one, so that few
/// ways are kept for each request. Otherwise the many states of a layer share few actions.
#[derive(Default)]
pub(super) struct Ways {
    list: Vec<KeptWay>,
    actions: Vec<Action>,
    /// Number of ways above which useless ones are dropped.
    limit: usize,
}

/// Way in the list, with its action as an index.
#[derive(Clone, Copy, Debug)]
struct KeptWay {
    from: Option<u32>,
    action: u32,
}

impl Ways {
    /// Adds the ways of a layer, and returns the index of the first.
    pub(super) fn add(&mut self, layer: &mut Layer) -> u32 {
        let needed = self.list.len() + layer.len();
        if needed > self.limit.max(LEAST_WAYS) {
            self.drop_useless(layer);
            // Twice as many: the cost of dropping is then constant for each way that is added (amortised).
            self.limit = 2 * self.list.len();
        }
        let first = number(self.list.len());
        let first_action = self.actions.len();
        for Way { from, action } in layer.iter().map(|state| state.way) {
            let known = self.actions[first_action..].iter().position(|other| *other == action);
            let place = first_action + known.unwrap_or(self.actions.len() - first_action);
            if place == self.actions.len() {
                self.actions.push(action);
            }
            self.list.push(KeptWay { from, action: number(place) });
        }
        first
    }

    /// Drops the ways to which none of a layer's states goes back, and the actions of no way (mark
    /// and compact).
    fn drop_useless(&mut self, layer: &mut Layer) {
        let mut is_used = vec![false; self.list.len()];
        for from in layer.iter().filter_map(|state| state.way.from) {
            is_used[from as usize] = true;
        }
        // Predecessors have lower indexes, so one pass from the end marks them all.
        for place in (0..self.list.len()).rev() {
            if let Some(from) = self.list[place].from.filter(|_| is_used[place]) {
                is_used[from as usize] = true;
            }
        }
        let moved = keep_used(&mut self.list, &is_used);
        let ways = self.list.iter_mut().map(|way| &mut way.from);
        for from in ways.chain(layer.iter_mut().map(|state| &mut state.way.from)) {
            *from = from.map(|from| moved[from as usize]);
        }
        let mut is_used = vec![false; self.actions.len()];
        for way in &self.list {
            is_used[way.action as usize] = true;
        }
        let moved = keep_used(&mut self.actions, &is_used);
        for way in &mut self.list {
            way.action = moved[way.action as usize];
        }
    }

    /// Actions on a way and its predecessors, latest first, without the beginning, to which nothing leads.
    pub(super) fn actions_to(&self, last: Option<Way>) -> impl Iterator<Item = Action> {
        let kept = |from: u32| {
            let KeptWay { from, action } = self.list[from as usize];
            Way { from, action: self.actions[action as usize] }
        };
        let ways = std::iter::successors(last, move |way| way.from.map(kept));
        ways.take_while(|way| way.from.is_some()).map(|way| way.action)
    }
}

/// Drops unused items from a list, and returns the new index of each.
fn keep_used<T>(list: &mut Vec<T>, is_used: &[bool]) -> Vec<u32> {
    let mut kept = 0;
    let moved = is_used.iter().map(|is_used| {
        let place = kept;
        kept += u32::from(*is_used);
        place
    });
    let moved = moved.collect();
    let mut is_used = is_used.iter();
    list.retain(|_| is_used.next().is_some_and(|is_used| *is_used));
    list.shrink_to(2 * list.len());
    moved
}

/// Index in a list.
fn number(place: usize) -> u32 {
    u32::try_from(place).expect("fewer than 2^32 places")
}
