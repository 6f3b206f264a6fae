//! Automatic prefix caches on random trees, against a second, naive simulator, and their laws.

use cachesim::base::id::{Symbol, Symbols};
use cachesim::base::units::{Millis, Tokens};
use cachesim::requests::prompt::{Node, NodeId, Prompt, PromptTrace};
use cachesim::simulate::cache::{
    AutomaticCache, AutomaticPolicy, Counting, Outcome, TokenRatio, simulate_automatic,
};
use proptest::prelude::*;

/// A request of a random workspace.
#[derive(Clone, Debug)]
struct Ask {
    /// Which earlier node it goes on from.
    from: prop::sample::Index,
    /// The nodes it adds, by size.
    adds: Vec<u64>,
    /// Tokens after its last node.
    tail: u64,
    gap: i64,
    /// From its start to the beginning of the response.
    wait: i64,
    is_other_model: bool,
}

fn ask() -> impl Strategy<Value = Ask> {
    let gap = prop_oneof![6 => 0_i64..40, 2 => 90_i64..110, 1 => 300_i64..900];
    let wait = prop_oneof![4 => Just(0_i64), 1 => 0_i64..150];
    let adds = prop::collection::vec(0_u64..700, 0..4);
    (any::<prop::sample::Index>(), adds, 0_u64..50, gap, wait, prop::bool::weighted(0.15)).prop_map(
        |(from, adds, tail, gap, wait, is_other_model)| Ask {
            from,
            adds,
            tail,
            gap,
            wait,
            is_other_model,
        },
    )
}

fn trace(asks: &[Ask]) -> PromptTrace {
    let mut symbols = Symbols::default();
    let models = [symbols.intern("a"), symbols.intern("b")];
    let mut trace = PromptTrace::default();
    trace.nodes.push(Node::new(None, Tokens::ZERO));
    let mut now = 0;
    for ask in asks {
        now += ask.gap;
        let mut end = NodeId::at(ask.from.index(trace.nodes.len()));
        for size in &ask.adds {
            let before = trace.node(end).end.0;
            trace.nodes.push(Node::new(Some(end), Tokens(before + size)));
            end = NodeId::at(trace.nodes.len() - 1);
        }
        let total = Tokens(trace.node(end).end.0 + ask.tail);
        let model = models[usize::from(ask.is_other_model)];
        trace.prompts.push(prompt(end, total, model, now, now + ask.wait));
    }
    trace
}

fn prompt(node: NodeId, total: Tokens, model: Symbol, start: i64, readable_from: i64) -> Prompt {
    Prompt {
        readable_from: Millis::new(readable_from),
        minimum: Tokens(9_999),
        ..Prompt::new(model, Millis::new(start), node, total)
    }
}

fn cache() -> impl Strategy<Value = AutomaticCache> {
    let of =
        |(minimum, step, lifetime)| AutomaticCache { counting: steps(minimum, step), lifetime };
    (0_u64..1_500, 1_u64..300, 1_i64..400).prop_map(of)
}

/// A service's counts, whose steps begin at zero.
fn steps(minimum: u64, step: u64) -> Counting {
    Counting {
        minimum: Tokens(minimum),
        step: Tokens(step),
        offset: Tokens::ZERO,
        tail: Tokens::ZERO,
    }
}

fn simulated(trace: &PromptTrace, cache: AutomaticCache) -> Vec<Outcome> {
    let policy = AutomaticPolicy { cache, keeps_breaks: true };
    simulate_automatic(trace, &policy, |_| TokenRatio::ONE)
}

/// The rules once more: a clock for every node and model, walks to the root, and a list of
/// responses that have not begun.
struct Naive<'a> {
    trace: &'a PromptTrace,
    cache: AutomaticCache,
    /// When a node was last used, by model.
    used: Vec<[Option<i64>; 2]>,
}

impl Naive<'_> {
    fn run(trace: &PromptTrace, cache: AutomaticCache) -> Vec<u64> {
        let none = vec![[None; 2]; trace.nodes.len()];
        let mut naive = Naive { trace, cache, used: none };
        let mut waiting: Vec<(i64, usize)> = Vec::new();
        let mut reads = Vec::new();
        for (index, prompt) in trace.prompts.iter().enumerate() {
            let now = prompt.start.get();
            waiting.sort_unstable();
            while waiting.first().is_some_and(|(begun, _)| *begun <= now) {
                let (_, index) = waiting.remove(0);
                let prompt = &trace.prompts[index];
                naive.note(prompt.node, prompt.model.index(), prompt.start.get());
            }
            let model = prompt.model.index();
            let path: Vec<NodeId> = trace.path(prompt.node).collect();
            let found = path.into_iter().find(|node| naive.is_alive(*node, model, now));
            if let Some(found) = found {
                naive.note(found, model, now);
            }
            if naive.whole(prompt.node, 0).is_some() {
                waiting.push((prompt.readable_from.get(), index));
            }
            let tail = cache.counting.tail.0;
            reads.push(found.and_then(|node| naive.whole(node, tail)).unwrap_or(0));
        }
        reads
    }

    fn is_alive(&self, node: NodeId, model: usize, now: i64) -> bool {
        self.used[node.index()][model].is_some_and(|used| now - used < self.cache.lifetime)
    }

    /// The last step of a prefix, without the end that no other prompt shares.
    fn whole(&self, node: NodeId, tail: u64) -> Option<u64> {
        let Counting { minimum, step, offset, .. } = self.cache.counting;
        let tokens = self.trace.node(node).end.0.saturating_sub(tail);
        let steps = tokens.checked_sub(offset.0).map_or(0, |counted| counted % step.0);
        let whole = tokens - steps;
        (whole >= minimum.0).then_some(whole)
    }

    fn note(&mut self, end: NodeId, model: usize, at: i64) {
        let path: Vec<NodeId> = self.trace.path(end).collect();
        for node in path {
            let used = &mut self.used[node.index()][model];
            *used = Some(used.map_or(at, |used| used.max(at)));
        }
    }
}

/// The longest beginning that a prompt shares with an earlier one of its model.
fn common_with_earlier(trace: &PromptTrace, index: usize) -> u64 {
    let prompt = &trace.prompts[index];
    let own: Vec<NodeId> = trace.path(prompt.node).collect();
    let earlier = trace.prompts[..index].iter().filter(|earlier| earlier.model == prompt.model);
    earlier
        .filter_map(|earlier| trace.path(earlier.node).find(|node| own.contains(node)))
        .map(|node| trace.node(node).end.0)
        .max()
        .unwrap_or(0)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn the_naive_simulator_agrees(
        asks in prop::collection::vec(ask(), 1..60),
        cache in cache(),
        (offset, tail) in (0_u64..900, 0_u64..200),
    ) {
        let trace = trace(&asks);
        let counting = Counting { offset: Tokens(offset), tail: Tokens(tail), ..cache.counting };
        let cache = AutomaticCache { counting, ..cache };
        let reads: Vec<u64> =
            simulated(&trace, cache).iter().map(|outcome| outcome.read.0).collect();
        prop_assert_eq!(reads, Naive::run(&trace, cache));
    }

    #[test]
    fn tokens_are_conserved_and_only_what_was_sent_is_read(
        asks in prop::collection::vec(ask(), 1..60),
        cache in cache(),
    ) {
        let trace = trace(&asks);
        for (index, outcome) in simulated(&trace, cache).iter().enumerate() {
            prop_assert_eq!(outcome.total(), trace.prompts[index].total);
            prop_assert!(outcome.read.0 <= common_with_earlier(&trace, index));
            prop_assert_eq!(outcome.read.0 % cache.counting.step.0, 0);
            prop_assert!(outcome.read.0 == 0 || outcome.read >= cache.counting.minimum);
            prop_assert_eq!(outcome.write_5m + outcome.write_1h, Tokens::ZERO);
        }
    }

    #[test]
    fn a_longer_life_and_finer_steps_never_read_less(
        asks in prop::collection::vec(ask(), 1..60),
        cache in cache(),
        longer in 1_i64..500,
        finer in 1_u64..6,
    ) {
        let trace = trace(&asks);
        let reads = |cache| simulated(&trace, cache).into_iter().map(|outcome| outcome.read);
        let longer = AutomaticCache { lifetime: cache.lifetime + longer, ..cache };
        for (short, long) in reads(cache).zip(reads(longer)) {
            prop_assert!(short <= long);
        }
        // A step that divides another one.
        let step = Tokens(cache.counting.step.0 * finer);
        let coarse = AutomaticCache { counting: Counting { step, ..cache.counting }, ..cache };
        for (coarse, fine) in reads(coarse).zip(reads(cache)) {
            prop_assert!(coarse <= fine);
        }
    }

    #[test]
    fn converted_tokens_are_conserved(
        asks in prop::collection::vec(ask(), 1..40),
        cache in cache(),
        per_mille in 1_u64..2_000,
    ) {
        let trace = trace(&asks);
        let ratio = TokenRatio { per_mille };
        let policy = AutomaticPolicy { cache, keeps_breaks: true };
        let outcomes = simulate_automatic(&trace, &policy, |_| ratio);
        for (prompt, outcome) in trace.prompts.iter().zip(outcomes) {
            prop_assert_eq!(outcome.total(), ratio.of(prompt.total));
        }
    }
}

/// Each request goes on from the one before, and every second one is a dead end: a walk to the root
/// for each request would take twenty billion steps.
#[test]
fn long_conversations_take_no_quadratic_time() {
    let mut symbols = Symbols::default();
    let model = symbols.intern("a");
    let mut trace = PromptTrace::default();
    trace.nodes.push(Node::new(None, Tokens(2_000)));
    let mut last = NodeId::at(0);
    for number in 1..200_000_u64 {
        let end = 2_000 + number;
        trace.nodes.push(Node::new(Some(last), Tokens(end)));
        let id = NodeId::at(trace.nodes.len() - 1);
        let start = i64::try_from(number).expect("a small number");
        trace.prompts.push(prompt(id, Tokens(end), model, start, start));
        if number % 2 == 0 {
            last = id;
        }
    }
    // Nothing is alive any more when the next one comes: the longest search there is.
    for lifetime in [1, i64::MAX] {
        let cache = AutomaticCache { counting: steps(1_024, 1), lifetime };
        let reads: u64 = simulated(&trace, cache).iter().map(|one| one.read.0).sum();
        assert_eq!(reads > 0, lifetime > 1);
    }
}
