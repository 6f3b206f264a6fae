//! Lower bound of the cost with stored contexts, one at a time in each conversation.
//!
//! A dynamic program runs over each thread. Its states are the stored context, with the cost so
//! far. Each request names the stored context, one that another thread has sent, or none, or stores
//! a prefix first; each pause keeps the stored context, or deletes it. As with markers, contexts of
//! other threads are taken as stored for free.

use super::thread::{Thread, ThreadRequest, threads};
use super::{Prices, before_choices};
use crate::base::{Basis, ByKey, Picodollars, Tokens, side_by_side};
use crate::requests::conversation::RequestIndex;
use crate::requests::prompt::{NodeId, Prompt};
use crate::simulate::cache::Outcome;
use crate::simulate::strategy::run::{AddedRun, Material, Simulated};
use crate::simulate::strategy::stored::{Storage, stored};

/// Simulates the cheapest storing for the requests.
pub(in crate::simulate::strategy) fn bound_stored(
    storage: Storage,
    material: Material<'_>,
) -> Simulated {
    let threads = threads(material.trace);
    let solved: Vec<Vec<Step>> =
        side_by_side(&threads, |thread| Search::solve(thread, storage, material));
    let mut outcomes = before_choices(material);
    let mut added: Vec<AddedRun> = Vec::new();
    for (thread, steps) in threads.iter().zip(&solved) {
        for (request, step) in thread.requests.iter().zip(steps) {
            let prompt = &material.trace.prompts[request.place];
            let read = step.read.min(prompt.total);
            let input = prompt.total.saturating_sub(read);
            let basis = Basis::Estimated;
            outcomes[request.place] = Outcome { read, input, basis, ..Outcome::default() };
            // Keeping is charged with the request that stored the context, which is an earlier one.
            if let Some(last) = added.last_mut().filter(|_| step.kept > Picodollars::ZERO) {
                last.first.storage += step.kept;
            }
            if let Some(tokens) = step.stored {
                added.push(stored(request.place, prompt.start, tokens, Picodollars::ZERO));
            }
        }
    }
    added.sort_by_key(|run| (run.first.after, run.first.at));
    Simulated { outcomes, added, ..Simulated::default() }
}

/// Stored context and its size.
type Stored = Option<(NodeId, Tokens)>;

/// Largest number of states that are followed, by cost (beam search); real threads have fewer.
const MOST_STATES: usize = 512;

/// Treatment of a request.
#[derive(Clone, Copy, Debug, Default)]
struct Step {
    /// Cost of keeping the context since the request before.
    kept: Picodollars,
    /// Tokens that were stored first.
    stored: Option<Tokens>,
    /// Tokens that the request read.
    read: Tokens,
}

/// State after a request, and the way to it.
#[derive(Clone, Copy, Debug)]
struct Reached {
    cost: Picodollars,
    from: usize,
    step: Step,
}

/// States after a request, with the cheapest way to each.
type Layer = Vec<(Stored, Reached)>;

struct Search<'a> {
    storage: Storage,
    material: Material<'a>,
}

impl<'a> Search<'a> {
    /// Cheapest steps for the requests of a thread, by dynamic programming.
    fn solve(thread: &Thread, storage: Storage, material: Material<'a>) -> Vec<Step> {
        let search = Self { storage, material };
        let nothing = Reached { cost: Picodollars::ZERO, from: 0, step: Step::default() };
        let mut layers: Vec<Layer> = vec![vec![(None, nothing)]];
        let mut before: Option<&Prompt> = None;
        for request in &thread.requests {
            let prompt = search.prompt(request);
            let layer = search.after(layers.last().expect("a first layer"), before, request);
            layers.push(layer);
            before = Some(prompt);
        }
        let last = layers.last().expect("a first layer").iter().enumerate();
        let mut place = last.min_by_key(|(_, (_, way))| way.cost).map_or(0, |(place, _)| place);
        let mut steps: Vec<Step> = Vec::with_capacity(thread.requests.len());
        for layer in layers[1..].iter().rev() {
            let (_, way) = layer[place];
            steps.push(way.step);
            place = way.from;
        }
        steps.reverse();
        steps
    }

    fn prompt(&self, request: &ThreadRequest) -> &'a Prompt {
        &self.material.trace.prompts[request.place]
    }

    /// States after a request.
    fn after(&self, layer: &Layer, before: Option<&Prompt>, request: &ThreadRequest) -> Layer {
        let prompt = self.prompt(request);
        let prices = Prices::of(self.material.rates.of(RequestIndex::new(request.place)));
        let mut next: ByKey<Stored, Reached> = ByKey::new();
        let mut reach = |stored: Stored, way: Reached| {
            let known = next.entry(stored).or_insert(way);
            if way.cost < known.cost {
                *known = way;
            }
        };
        for (from, (stored, way)) in layer.iter().enumerate() {
            let kept = self.kept(*stored, before, prompt);
            for (stored, kept) in [(None, Picodollars::ZERO)].into_iter().chain(kept) {
                for (left, step) in self.steps(stored, kept, request) {
                    let cost =
                        way.cost + kept + prices.stored(step.stored, step.read, prompt.total);
                    reach(left, Reached { cost, from, step });
                }
            }
        }
        let mut layer: Layer = next.into_iter().collect();
        if layer.len() > MOST_STATES {
            layer.sort_by_key(|(_, way)| way.cost);
            layer.truncate(MOST_STATES);
        }
        layer
    }

    /// Stored context after a pause during which it was kept, with the cost of that.
    ///
    /// Another model or workspace has no use for it.
    fn kept(
        &self,
        stored: Stored,
        before: Option<&Prompt>,
        prompt: &Prompt,
    ) -> Option<(Stored, Picodollars)> {
        let (before, (_, tokens)) = (before?, stored?);
        let is_same = before.model == prompt.model && before.scope == prompt.scope;
        let pause = prompt.start.since(before.start);
        is_same.then(|| (stored, self.storage.cost(tokens, pause)))
    }

    /// Possible steps of a request, with the stored context after each.
    fn steps(
        &self,
        stored: Stored,
        kept: Picodollars,
        request: &ThreadRequest,
    ) -> Vec<(Stored, Step)> {
        let (trace, prompt) = (self.material.trace, self.prompt(request));
        let size = |node| trace.end_in(prompt, node);
        let step = |stored, read| Step { kept, stored, read };
        let shared = request.shared.map_or(Tokens::ZERO, size);
        let shared = if shared >= prompt.minimum { shared } else { Tokens::ZERO };
        let mut steps = vec![(stored, step(None, shared))];
        let begins_with =
            |(node, _): &(NodeId, Tokens)| trace.common(*node, prompt.node) == Some(*node);
        if let Some((_, tokens)) = stored.filter(begins_with) {
            steps.push((stored, step(None, tokens.min(prompt.total))));
        }
        let ends = request.ends.iter().map(|node| (*node, size(*node)));
        let ends = ends.filter(|(_, tokens)| *tokens >= prompt.minimum && *tokens > Tokens::ZERO);
        steps.extend(ends.map(|(node, tokens)| {
            // A prefix that is stored first is read by the request itself, as a stored context has
            // to be named.
            (Some((node, tokens)), step(Some(tokens), tokens.min(prompt.total)))
        }));
        steps
    }
}

impl Prices {
    /// Cost of a prompt that reads `read` stored tokens, after storing `stored` tokens.
    fn stored(&self, stored: Option<Tokens>, read: Tokens, total: Tokens) -> Picodollars {
        let input = stored.unwrap_or_default() + total.saturating_sub(read);
        self.0.cache_read.times(read) + self.0.input.times(input)
    }
}
