//! Stored contexts, against a second simulator that keeps them as lists of blocks, and their bound against exhaustive
//! search.

use std::sync::OnceLock;

use cachesim::base::id::Symbols;
use cachesim::base::units::{Basis, Millis, Picodollars, Tokens};
use cachesim::read::input::{Discovered, Source};
use cachesim::requests::conversation::{ReadOptions, read};
use cachesim::requests::prompt::{
    Level, Node, NodeId, Prompt, PromptTrace, SharedPrefix, build, steps,
};
use cachesim::simulate::cache::{Storing, simulate_stored};
use cachesim::simulate::pricing::{Billing, PriceTable, RequestRates};
use cachesim::simulate::provider::by_name;
use cachesim::simulate::strategy::{Assumptions, Material, Strategy as Design};
use proptest::prelude::*;
use serde_json::json;

const MINIMUM: u64 = 400;

/// A request of a random conversation.
#[derive(Clone, Debug)]
struct Ask {
    /// Which earlier request it goes on from, if any.
    from: prop::sample::Index,
    is_first: bool,
    is_other_model: bool,
    adds: u64,
    gap: i64,
}

fn ask() -> impl Strategy<Value = Ask> {
    let is_other = prop::bool::weighted(0.15);
    (any::<prop::sample::Index>(), is_other, is_other, 0_u64..900, 0_i64..200).prop_map(
        |(from, is_first, is_other_model, adds, gap)| Ask {
            from,
            is_first,
            is_other_model,
            adds,
            gap,
        },
    )
}

fn trace(asks: &[Ask]) -> PromptTrace {
    let mut symbols = Symbols::default();
    let models = [symbols.intern("a"), symbols.intern("b")];
    let mut trace = PromptTrace::default();
    let mut now = 0;
    for ask in asks {
        now += ask.gap;
        let count = trace.prompts.len();
        let before = (count > 0 && !ask.is_first).then(|| ask.from.index(count));
        let parent = before.map(|before| trace.prompts[before].node);
        let (end, blocks) = parent.map_or((0, 0), |parent| {
            let parent = trace.node(parent);
            (parent.end.0, parent.blocks)
        });
        trace.nodes.push(Node {
            parent,
            end: Tokens(end + ask.adds),
            basis: Basis::Derived,
            positions: blocks + 1,
            blocks: blocks + 1,
            level: Level::Messages,
            is_markable: true,
            session: None,
        });
        let node = NodeId::at(trace.nodes.len() - 1);
        let model = models[usize::from(ask.is_other_model)];
        trace.prompts.push(Prompt {
            predecessor: before,
            minimum: Tokens(MINIMUM),
            ..Prompt::new(model, Millis::new(now), node, Tokens(end + ask.adds + 3))
        });
    }
    trace
}

/// The blocks of a prompt, whether it went to the other model, and the context that it named.
type Sent = (Vec<(usize, u64)>, bool, Option<usize>);

/// A context as the blocks that it holds.
struct Context {
    blocks: Vec<(usize, u64)>,
    from: i64,
    until: i64,
}

impl Context {
    fn tokens(&self) -> u64 {
        self.blocks.iter().map(|(_, size)| size).sum()
    }
}

/// What each request reads, and for how long each context is kept.
fn naive(asks: &[Ask], storing: Storing) -> (Vec<u64>, Vec<(u64, i64)>) {
    let mut contexts: Vec<Context> = Vec::new();
    let mut sent: Vec<Sent> = Vec::new();
    let mut reads = Vec::new();
    let mut now = 0;
    for (number, ask) in asks.iter().enumerate() {
        now += ask.gap;
        let before = (number > 0 && !ask.is_first).then(|| &sent[ask.from.index(number)]);
        let mut blocks = before.map_or_else(Vec::new, |(blocks, ..)| blocks.clone());
        blocks.push((number, ask.adds));
        let total: u64 = blocks.iter().map(|(_, size)| size).sum();
        let known = before.filter(|(_, model, _)| *model == ask.is_other_model);
        let known = known.and_then(|(.., context)| *context);
        let found = known.filter(|known| {
            let context = &contexts[*known];
            let after = total.saturating_sub(context.tokens());
            context.until > now
                && blocks.starts_with(&context.blocks)
                && storing.most_after.is_none_or(|most| after <= most.0)
        });
        let named = if let Some(found) = found {
            contexts[found].until = contexts[found].until.max(now + storing.lifetime);
            Some(found)
        } else if total >= MINIMUM {
            if let Some(known) = known {
                contexts[known].until = contexts[known].until.min(now);
            }
            let until = now + storing.lifetime;
            contexts.push(Context { blocks: blocks.clone(), from: now, until });
            Some(contexts.len() - 1)
        } else {
            None
        };
        reads.push(named.map_or(0, |named| contexts[named].tokens()));
        sent.push((blocks, ask.is_other_model, named));
    }
    let kept = contexts.iter().map(|context| (context.tokens(), context.until - context.from));
    (reads, kept.collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn the_naive_simulator_agrees(
        asks in prop::collection::vec(ask(), 1..40),
        lifetime in 1_i64..500,
        most_after in prop::option::of(0_u64..2_000),
    ) {
        let trace = trace(&asks);
        let storing = Storing { lifetime, most_after: most_after.map(Tokens) };
        let (outcomes, contexts) = simulate_stored(&trace, storing);
        for (prompt, outcome) in trace.prompts.iter().zip(&outcomes) {
            prop_assert_eq!(outcome.total(), prompt.total);
        }
        let reads: Vec<u64> = outcomes.iter().map(|outcome| outcome.read.0).collect();
        let kept: Vec<(u64, i64)> =
            contexts.iter().map(|context| (context.tokens.0, context.kept())).collect();
        prop_assert_eq!((reads, kept), naive(&asks, storing));
    }
}

/// A request of a small session: minutes since the one before, and how much longer its prompt is.
type Small = (i64, u64);

/// A Codex session, whose prompts each begin with the one before.
fn session(requests: &[Small]) -> Source {
    let mut lines = vec![
        json!({"timestamp": "2026-10-01T00:00:00Z", "type": "session_meta",
               "payload": {"id": "s", "cwd": "/w", "cli_version": "0.150.0", "model_provider": "openai"}}),
        json!({"timestamp": "2026-10-01T00:00:00Z", "type": "turn_context",
               "payload": {"model": "gpt-5.5"}}),
    ];
    let (mut minutes, mut prompt, mut all) = (0, 0, 0);
    for (gap, growth) in requests {
        minutes += gap;
        prompt += growth;
        all += prompt;
        let time = format!("2026-10-01T{:02}:{:02}", minutes / 60, minutes % 60);
        let usage = |input: u64| json!({"input_tokens": input, "cached_input_tokens": 0, "output_tokens": 0});
        lines.push(json!({"timestamp": format!("{time}:00Z"), "type": "event_msg",
                          "payload": {"type": "user_message", "message": "go on"}}));
        lines.push(json!({"timestamp": format!("{time}:02Z"), "type": "event_msg",
                          "payload": {"type": "token_count", "info": {
                              "total_token_usage": usage(all), "last_token_usage": usage(prompt)}}}));
    }
    let text: String = lines.iter().map(|line| line.to_string() + "\n").collect();
    Source::in_memory("rollout-1.jsonl", text.as_bytes())
}

/// What Gemini asks for a million tokens: 2 as input, 0.2 read; and what keeping them costs, rounded down for each pause.
fn input(tokens: u64) -> i128 {
    i128::from(tokens) * 2_000_000
}

fn read_at(tokens: u64) -> i128 {
    i128::from(tokens) * 200_000
}

fn kept(tokens: u64, minutes: i64) -> i128 {
    i128::from(tokens) * 4_500_000 * i128::from(minutes) / 60
}

/// The cheapest way to send the rest of a session, with what is stored.
fn exhaustive(requests: &[Small], ends: &[u64], stored: u64) -> i128 {
    let Some(((gap, growth), rest)) = requests.split_first() else { return 0 };
    let total = ends.last().copied().unwrap_or(0) + growth;
    let ends: Vec<u64> = ends.iter().copied().chain([total]).collect();
    let mut cheapest = i128::MAX;
    for (left, paid) in [(0, 0), (stored, kept(stored, *gap))] {
        let mut attempt = |first: i128, read: u64, after: u64| {
            let own = paid + first + read_at(read) + input(total - read);
            cheapest = cheapest.min(own + exhaustive(rest, &ends, after));
        };
        attempt(0, 0, left);
        attempt(0, left, left);
        for end in ends.iter().copied().filter(|end| *end >= 4_096) {
            attempt(input(end), end, end);
        }
    }
    cheapest
}

fn bound(requests: &[Small]) -> i128 {
    let sources = vec![session(requests)];
    let history =
        read(Discovered { sources, ..Discovered::default() }, ReadOptions::default(), |_| ());
    assert_eq!(history.requests.len(), requests.len());
    let steps = steps(&history);
    let trace = build(&history, &steps, SharedPrefix::Auto);
    let totals = trace.prompts.iter().map(|prompt| prompt.total);
    let rates = RequestRates::new(&history, &PriceTable::built_in(), totals);
    let (ratios, assumptions) = (&OnceLock::new(), &Assumptions::default());
    let (history, steps, trace, rates) = (&history, &steps, &trace, &rates);
    let material = Material { history, steps, trace, rates, ratios, assumptions };
    let all = Design::elsewhere(by_name("gemini-explicit").expect("a provider"));
    let optimal = all.iter().find(|one| one.name.ends_with("+optimal")).expect("a bound");
    let simulated = optimal.simulate(material).expect("it is simulated");
    let rates = simulated.rates.as_ref().expect("rates");
    let sent = simulated.outcomes.iter().enumerate();
    let sent = sent.map(|(place, outcome)| (place, *outcome, Picodollars::ZERO));
    let added = simulated.added().map(|added| (added.after, added.outcome, added.storage));
    let cost = |(place, outcome, storage): (usize, _, Picodollars)| {
        let rates = rates.of(cachesim::requests::conversation::RequestIndex::new(place));
        let billing = Billing::of(&outcome, Tokens::ZERO);
        billing.cost(rates.expect("a price")).0 + storage.0
    };
    sent.chain(added).map(cost).sum()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn the_bound_is_what_exhaustive_search_finds(
        requests in prop::collection::vec(
            (prop::sample::select(vec![1_i64, 3, 10, 20, 25, 60, 200]), 500_u64..9_000), 1..=4),
    ) {
        prop_assert_eq!(bound(&requests), exhaustive(&requests, &[], 0));
    }
}

#[test]
fn minutes_are_what_the_session_says() {
    let twenty = [(0, 10_000), (20, 1_000)];
    // Keeping 10,000 tokens for twenty minutes costs 15,000 millionths of a dollar; reading them saves 18,000, and
    // storing them first costs 2,000: 10,000 × 2.2 + 15,000 + 10,000 × 0.2 + 1,000 × 2 = 41,000 in place of 42,000.
    assert_eq!(bound(&twenty), 41_000_000_000);
    let half_an_hour = [(0, 10_000), (30, 1_000)];
    assert_eq!(bound(&half_an_hour), 42_000_000_000);
}
