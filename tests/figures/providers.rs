//! Each provider's cache on small conversations, with figures worked out by hand; and its prices.

use cachesim::base::id::{Symbol, Symbols};
use cachesim::base::units::Basis;
use cachesim::base::units::{Millis, Tokens};
use cachesim::read::input::discover;
use cachesim::requests::conversation::{ReadOptions, read};
use cachesim::requests::prompt::{
    self, Level, Marker, Node, NodeId, Prompt, PromptTrace, SharedPrefix,
};
use cachesim::simulate::cache::{AutomaticPolicy, Outcome, Rules, counted, simulate_automatic};
use cachesim::simulate::pricing::{Billing, PriceTable};
use cachesim::simulate::provider::{ALL, Provider, by_name, token_ratio};

use crate::common::shared;

const MINUTE: i64 = 60_000;
const HOUR: i64 = 60 * MINUTE;

/// 2026-10-01T00:00:00Z.
const START: i64 = 1_790_812_800_000;

/// A conversation that is built request by request.
#[derive(Default)]
struct Conversation {
    trace: PromptTrace,
    model: Option<Symbol>,
}

impl Conversation {
    /// A prompt that goes on after a node, ends its cached part after `end` tokens and has ten
    /// more.
    fn ask(&mut self, after: Option<NodeId>, end: u64, at: i64) -> NodeId {
        let node = NodeId::at(self.trace.nodes.len());
        self.trace.nodes.push(Node {
            parent: after,
            end: Tokens(end),
            basis: Basis::Derived,
            positions: 1,
            blocks: 1,
            level: Level::Messages,
            is_markable: true,
            session: None,
        });
        let model = *self.model.get_or_insert_with(|| Symbols::default().intern("m"));
        self.trace.prompts.push(Prompt::new(
            model,
            Millis::new(START + at),
            node,
            Tokens(end + 10),
        ));
        node
    }

    fn outcomes(&self, provider: &Provider) -> Vec<Outcome> {
        provider.rules.simulate(&self.trace, true)
    }
}

fn provider(name: &str) -> Provider {
    *by_name(name).unwrap_or_else(|| panic!("{name}"))
}

/// Prompts of 5,010, 6,310 and 7,010 tokens, each going on from the one before, after pauses.
fn three(provider: &Provider, pauses: [i64; 2]) -> [(u64, u64, u64); 3] {
    let mut conversation = Conversation::default();
    let first = conversation.ask(None, 5_000, 0);
    let second = conversation.ask(Some(first), 6_300, pauses[0]);
    conversation.ask(Some(second), 7_000, pauses[0] + pauses[1]);
    let outcomes = conversation.outcomes(provider);
    [0, 1, 2].map(|index: usize| {
        let Outcome { read, write_5m, input, .. } = outcomes[index];
        (read.0, write_5m.0, input.0)
    })
}

#[test]
fn reads_are_whole_steps_while_the_prefix_lives() {
    // The steps in 5,000 and in 6,300 tokens, and how long a prefix lives.
    for (name, first, second, lifetime) in [
        // 39 × 128 = 4,992 and 49 × 128 = 6,272.
        ("openai", 4_992, 6_272, 10 * MINUTE),
        ("openai-24h", 4_992, 6_272, 24 * HOUR),
        ("glm", 4_992, 6_272, 5 * MINUTE),
        ("xai", 4_992, 6_272, 5 * MINUTE),
        ("qwen", 4_992, 6_272, 5 * MINUTE),
        // 78 × 64 = 4,992 and 98 × 64 = 6,272.
        ("deepseek", 4_992, 6_272, 3 * HOUR),
        ("gemini", 5_000, 6_300, 5 * MINUTE),
        // 9 × 512 = 4,608 and 12 × 512 = 6,144.
        ("kimi", 4_608, 6_144, 5 * MINUTE),
    ] {
        let provider = provider(name);
        let expected = [(0, 0, 5_010), (first, 0, 6_310 - first), (second, 0, 7_010 - second)];
        assert_eq!(three(&provider, [lifetime - 1, lifetime - 1]), expected, "{name}");
        let expected = [(0, 0, 5_010), (0, 0, 6_310), (second, 0, 7_010 - second)];
        assert_eq!(three(&provider, [lifetime, lifetime - 1]), expected, "{name}");
    }
}

#[test]
fn charged_writes_reach_to_the_end_of_the_last_message() {
    // 4,992 written; 6,272 − 4,992 = 1,280; 54 × 128 = 6,912, and 6,912 − 6,272 = 640.
    let new = provider("openai-5.6");
    let expected = [(0, 4_992, 18), (4_992, 1_280, 38), (6_272, 640, 98)];
    assert_eq!(three(&new, [30 * MINUTE - 1, MINUTE]), expected);
    let expected = [(0, 4_992, 18), (0, 6_272, 38), (6_272, 640, 98)];
    assert_eq!(three(&new, [30 * MINUTE, MINUTE]), expected);
    let like_claude = provider("kimi-k3");
    let expected = [(0, 5_000, 10), (5_000, 1_300, 10), (0, 7_000, 10)];
    assert_eq!(three(&like_claude, [5 * MINUTE - 1, 5 * MINUTE]), expected);
    let marked = provider("qwen-explicit");
    let expected = [(0, 5_000, 10), (5_000, 1_300, 10), (6_300, 700, 10)];
    assert_eq!(three(&marked, [5 * MINUTE - 1, MINUTE]), expected);
    let expected = [(0, 5_000, 10), (5_000, 1_300, 10), (0, 7_000, 10)];
    assert_eq!(three(&marked, [MINUTE, 5 * MINUTE]), expected);
}

#[test]
fn short_prompts_are_neither_read_nor_written() {
    // The longest cached part that is still too short.
    for (name, end) in [
        ("openai", 1_023),
        ("openai-24h", 1_023),
        ("openai-5.6", 1_023),
        ("kimi-k3", 1_023),
        ("minimax", 511),
        ("deepseek", 63),
        ("gemini", 4_095),
        ("kimi", 511),
        ("glm", 1_023),
        ("xai", 127),
        ("qwen", 1_023),
        ("qwen-explicit", 1_023),
    ] {
        let read = |end| {
            let mut conversation = Conversation::default();
            let first = conversation.ask(None, end, 0);
            conversation.ask(Some(first), end + 5_000, 1);
            let outcomes = conversation.outcomes(&provider(name));
            assert_eq!(outcomes[0].write_5m.0 > 0, outcomes[0].input.0 < end, "{name}");
            outcomes[1].read.0
        };
        assert_eq!(read(end), 0, "{name}");
        assert_eq!(read(end + 1), end + 1, "{name}");
    }
}

/// A branch from the middle: what the branch shares with the others is no end of a request.
#[test]
fn where_entries_stand_decides_what_a_branch_reads() {
    let mut conversation = Conversation::default();
    let first = conversation.ask(None, 2_048, 0);
    // Two blocks of one request; the branch goes on after the first of them.
    let middle = NodeId::at(conversation.trace.nodes.len());
    let parent = Node { parent: Some(first), ..*conversation.trace.node(first) };
    conversation.trace.nodes.push(Node { end: Tokens(4_096), ..parent });
    conversation.ask(Some(middle), 8_192, MINUTE);
    conversation.ask(Some(middle), 9_000, 2 * MINUTE);
    let read = |name| conversation.outcomes(&provider(name))[2].read.0;
    assert_eq!(read("openai"), 4_096);
    assert_eq!(read("deepseek"), 4_096);
    assert_eq!(read("openai-5.6"), 2_048);
    assert_eq!(read("qwen-explicit"), 2_048);
}

#[test]
fn what_the_record_shows_is_warm_is_read() {
    let mut conversation = Conversation::default();
    let first = conversation.ask(None, 9_000, 0);
    conversation.ask(Some(first), 10_000, 2 * HOUR);
    conversation.trace.prompts[0].rare.get_or_insert_default().opening = Some(Tokens(3_000));
    conversation.trace.prompts[1].shared_prefix = Tokens(2_000);
    // 23 × 128 = 2,944 and 15 × 128 = 1,920.
    let outcomes = conversation.outcomes(&provider("openai"));
    assert_eq!((outcomes[0].read, outcomes[1].read), (Tokens(2_944), Tokens(1_920)));
    // A recorded break inside the lifetime falls no deeper than what else is warm.
    conversation.trace.prompts[1].start = Millis::new(START + MINUTE);
    conversation.trace.prompts[1].rare.get_or_insert_default().broken_read = Some(Tokens(1_300));
    let outcomes = conversation.outcomes(&provider("openai"));
    assert_eq!(outcomes[1].read, Tokens(1_280));
    let outcomes = provider("openai").rules.simulate(&conversation.trace, false);
    assert_eq!(outcomes[1].read, Tokens(8_960));
}

/// A request's own markers know the sizes best, as for the system prompt of a transcript.
#[test]
fn sizes_are_those_of_the_requests_own_markers() {
    let mut conversation = Conversation::default();
    let system = conversation.ask(None, 0, 0);
    conversation.ask(Some(system), 5_000, 0);
    conversation.trace.prompts.remove(0);
    conversation.ask(Some(system), 7_000, MINUTE);
    let marker = |node, end| Marker {
        node,
        end: Tokens(end),
        basis: Basis::Estimated,
        ttl: None,
        is_global: false,
        is_automatic: false,
        is_markable: true,
    };
    conversation.trace.markers = vec![marker(system, 3_100), marker(NodeId::at(2), 6_990)];
    conversation.trace.prompts[1].markers = 0..2;
    let outcome = conversation.outcomes(&provider("openai-5.6"))[1];
    // The system prompt is no request's end; the entry in front is none.
    assert_eq!((outcome.read, outcome.write_5m), (Tokens(0), Tokens(6_912)));
    // 24 × 128 = 3,072.
    let outcome = conversation.outcomes(&provider("openai"))[1];
    assert_eq!((outcome.read, outcome.basis), (Tokens(3_072), Basis::Estimated));
}

#[test]
fn every_class_of_tokens_has_its_price() {
    let prices = PriceTable::of_providers();
    let cost = |name: &str, prompt: u64, outcome: Outcome| {
        let provider = provider(name);
        let at = Millis::new(START);
        let rates = provider.rates(prices, provider.model, at, Tokens(prompt)).expect("a price");
        Billing::of(&outcome, Tokens(100)).cost(&rates).to_string()
    };
    let outcome = Outcome {
        read: Tokens(4_992),
        write_5m: Tokens(1_280),
        input: Tokens(38),
        ..Outcome::default()
    };
    // 4,992 × 0.4 + 1,280 × 5 + 38 × 4 + 100 × 20 = 1,996.8 + 6,400 + 152 + 2,000 millionths.
    assert_eq!(cost("openai-5.6", 272_000, outcome), "0.0105488");
    // Above 272,000 all but the output twice, the output one and a half times: 17,097.6 + 3,000.
    assert_eq!(cost("openai-5.6", 272_001, outcome), "0.0200976");
    // Writes for twelve hours cost 10: 12,800 in place of 6,400.
    let long = Outcome { write_5m: Tokens::ZERO, write_1h: Tokens(1_280), ..outcome };
    assert_eq!(cost("openai-5.6", 272_000, long), "0.0169488");
    // 4,992 × 0.3 + 1,280 × 3 + 38 × 3 + 100 × 15 = 1,497.6 + 3,840 + 114 + 1,500.
    assert_eq!(cost("kimi-k3", 6_310, outcome), "0.0069516");
    // 4,992 × 0.03 + 1,280 × 0.375 + 38 × 0.3 + 100 × 1.2 = 149.76 + 480 + 11.4 + 120.
    assert_eq!(cost("minimax", 6_310, outcome), "0.00076116");
    let free = Outcome { write_5m: Tokens::ZERO, input: Tokens(1_318), ..outcome };
    // 4,992 × 0.5 + 1,318 × 5 + 100 × 30 = 2,496 + 6,590 + 3,000.
    assert_eq!(cost("openai", 6_310, free), "0.012086");
    assert_eq!(cost("openai-24h", 6_310, free), "0.012086");
    // Off the peak: 4,992 × 0.022 + 1,318 × 0.66 + 100 × 1.98 = 109.824 + 869.88 + 198.
    assert_eq!(cost("deepseek", 6_310, free), "0.001177704");
    // 4,992 × 0.2 + 1,318 × 2 + 100 × 12 = 998.4 + 2,636 + 1,200.
    assert_eq!(cost("gemini", 6_310, free), "0.0048344");
    // 4,992 × 0.1 + 1,318 × 0.6 + 100 × 3 = 499.2 + 790.8 + 300.
    assert_eq!(cost("kimi", 6_310, free), "0.00159");
    // 4,992 × 0.26 + 1,318 × 1.4 + 100 × 4.4 = 1,297.92 + 1,845.2 + 440.
    assert_eq!(cost("glm", 6_310, free), "0.00358312");
    // 4,992 × 0.2 + 1,318 × 1.25 + 100 × 2.5 = 998.4 + 1,647.5 + 250.
    assert_eq!(cost("xai", 6_310, free), "0.0028959");
    // 4,992 × 0.5 + 1,318 × 2.5 + 100 × 7.5 = 2,496 + 3,295 + 750.
    assert_eq!(cost("qwen", 6_310, free), "0.006541");
    // 4,992 × 0.25 + 1,280 × 3.125 + 38 × 2.5 + 100 × 7.5 = 1,248 + 4,000 + 95 + 750.
    assert_eq!(cost("qwen-explicit", 6_310, outcome), "0.006093");
}

/// An hour of Kimi K3's costs twice the input, also on days of which the table does not say so.
#[test]
fn longer_lifetimes_cost_more_on_every_day() {
    for (name, day, expected) in [
        ("kimi-k3", "2026-07-01T00:00:00Z", (3_000_000, 6_000_000)),
        ("kimi-k3", "2026-11-01T00:00:00Z", (3_000_000, 6_000_000)),
        ("openai-5.6", "2026-10-01T00:00:00Z", (5_000_000, 10_000_000)),
        ("minimax", "2026-10-01T00:00:00Z", (375_000, 375_000)),
    ] {
        let provider = provider(name);
        let at: jiff::Timestamp = day.parse().expect("a day");
        let at = Millis::new(at.as_millisecond());
        let rates = provider.rates(PriceTable::of_providers(), provider.model, at, Tokens(1));
        let rates = rates.expect("a price");
        let writes = (rates.cache_write_5m.0, rates.cache_write_1h.0);
        assert_eq!(writes, expected, "{name} on {day}");
    }
}

#[test]
fn another_model_can_be_named_and_an_unknown_one_has_no_price() {
    let prices = PriceTable::of_providers();
    let provider = provider("openai-5.6");
    let read = |model: &str| {
        provider.rates(prices, model, Millis::new(START), Tokens(1)).map(|rates| rates.cache_read.0)
    };
    assert_eq!(read("gpt-6.1-sol"), Some(100_000));
    assert_eq!(read("gpt-6-luna"), Some(10_000));
    assert_eq!(read("gpt-7"), None);
    assert_eq!(read("kimi-k3.1"), None);
    // Where no price of such writes is known, it is 2.5 times the input.
    let long = |model: &str| {
        by_name("openai-5.6").expect("a provider").rates(
            prices,
            model,
            Millis::new(START),
            Tokens(1),
        )
    };
    assert_eq!(long("gpt-6.1-sol").map(|rates| rates.cache_write_1h.0), Some(5_000_000));
    assert_eq!(long("gpt-6-astra-law").map(|rates| rates.cache_write_1h.0), Some(25_000_000));
}

#[test]
fn every_provider_says_what_it_assumes() {
    let prices = PriceTable::of_providers();
    for provider in ALL {
        assert_eq!(by_name(provider.name), Some(&provider));
        assert!(!provider.assumptions.is_empty());
        assert!(prices.find(provider.model).is_some(), "{}", provider.model);
    }
    assert_eq!(by_name("anthropic"), None);
}

/// Claude's sessions under every provider: no token is lost, and a longer life reads no less.
#[test]
fn real_sessions_keep_their_tokens() {
    let Some(corpus) = shared("corpus") else { return };
    let history = read(discover(&[corpus]), ReadOptions::default(), |_| {});
    let trace = prompt::build(&history, &prompt::steps(&history), SharedPrefix::Auto);
    let ratio = |prompt: &Prompt| token_ratio(history.facts(prompt.model));
    let reads = |name: &str| -> Vec<Tokens> {
        let outcomes = match provider(name).rules {
            Rules::Automatic(cache) => {
                let policy = AutomaticPolicy { cache, keeps_breaks: true };
                simulate_automatic(&trace, &policy, ratio)
            }
            rules @ (Rules::Marked(_) | Rules::Stored(_)) => {
                rules.simulate(&counted(&trace, rules.counting(), ratio), true)
            }
        };
        for (prompt, outcome) in trace.prompts.iter().zip(&outcomes) {
            assert_eq!(outcome.total(), ratio(prompt).of(prompt.total), "{name}");
        }
        outcomes.into_iter().map(|outcome| outcome.read).collect()
    };
    let never_more =
        |less: &[Tokens], more: &[Tokens]| less.iter().zip(more).all(|(less, more)| less <= more);
    let memory = reads("openai");
    assert_eq!(memory.len(), trace.prompts.len());
    assert!(never_more(&memory, &reads("openai-24h")));
    assert!(never_more(&reads("glm"), &memory));
    assert!(memory.into_iter().sum::<Tokens>() > Tokens::ZERO);
    for provider in ALL {
        reads(provider.name);
    }
}
