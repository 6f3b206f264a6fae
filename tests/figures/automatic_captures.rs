//! Automatic caches on random captures whose blocks share beginnings, against a simulator that knows no
//! tree, no digests and no blocks: it compares the tokens of whole prompts, one after the other.

use std::num::NonZeroU64;

use cachesim::base::units::Tokens;
use cachesim::read::capture::{BlockParts, TokenCounting};
use cachesim::read::input::{Discovered, Source};
use cachesim::requests::conversation::{History, ReadOptions, read};
use cachesim::requests::prompt::{PromptTrace, SharedPrefix, build, steps};
use cachesim::simulate::cache::{
    AutomaticCache, AutomaticPolicy, Counting, TokenRatio, simulate_automatic,
};
use cachesim::simulate::design::{
    Attribution, Deferred, PromptDesign, Reminders, Scopes, Settings, SystemPrompt, Tools, redesign,
};
use proptest::prelude::*;

/// What texts are made of. Each is a beginning of another one, or differs from it in the middle.
const PHRASES: [&str; 6] = ["a", "aaaaaaaa", "aaaaaaab", "bbbb", "aaaabbbb", "c"];

/// 2026-06-10T10:00:00Z.
const START: i64 = 1_781_085_600_000;

/// A random request.
#[derive(Clone, Debug)]
struct Ask {
    tools: Vec<String>,
    system: Vec<String>,
    /// By message, the user's and the model's in turn.
    messages: Vec<Vec<String>>,
    is_other_model: bool,
    is_other_scope: bool,
    gap: i64,
    /// From its start to the beginning of the response.
    wait: i64,
}

fn text() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(PHRASES.to_vec()), 0..6)
        .prop_map(|phrases| phrases.concat())
}

fn ask() -> impl Strategy<Value = Ask> {
    let texts = |most| prop::collection::vec(text(), 0..most);
    let messages = prop::collection::vec(prop::collection::vec(text(), 1..3), 1..4);
    let gap = prop_oneof![6 => 0_i64..40, 2 => 90_i64..110, 1 => 300_i64..900];
    let wait = prop_oneof![4 => Just(0_i64), 1 => 0_i64..150];
    let flags = (prop::bool::weighted(0.1), prop::bool::weighted(0.1));
    (texts(3), texts(4), messages, flags, gap, wait).prop_map(
        |(tools, system, messages, (is_other_model, is_other_scope), gap, wait)| Ask {
            tools,
            system,
            messages,
            is_other_model,
            is_other_scope,
            gap,
            wait,
        },
    )
}

fn text_block(text: &str) -> String {
    format!(r#"{{"type":"text","text":"{text}"}}"#)
}

fn tool_block(text: &str) -> String {
    format!(r#"{{"name":"{text}"}}"#)
}

impl Ask {
    fn model(&self) -> &'static str {
        if self.is_other_model { "claude-sonnet-4-6" } else { "claude-sonnet-4-5" }
    }

    fn line(&self, number: usize, start: i64) -> String {
        let list = |texts: &[String], block: fn(&str) -> String| {
            let blocks: Vec<String> = texts.iter().map(|text| block(text)).collect();
            blocks.join(",")
        };
        let message = |(number, blocks): (usize, &Vec<String>)| {
            let role = ["user", "assistant"][number % 2];
            format!(r#"{{"role":"{role}","content":[{}]}}"#, list(blocks, text_block))
        };
        let messages: Vec<String> = self.messages.iter().enumerate().map(message).collect();
        let time =
            |millis: i64| format!("2026-06-10T10:00:{:02}.{:03}Z", millis / 1_000, millis % 1_000);
        format!(
            r#"{{"timestamp":"{}","response_started_at":"{}","request_id":"r{number}","scope":"{}","request":{{"model":"{}","tools":[{}],"system":[{}],"messages":[{}]}}}}"#,
            time(start),
            time(start + self.wait),
            self.is_other_scope,
            self.model(),
            list(&self.tools, tool_block),
            list(&self.system, text_block),
            messages.join(",")
        )
    }

    /// The tokens of the prompt, of so many bytes of a block each, and between them what a block is, which
    /// has no tokens.
    fn tokens(&self, bytes: usize) -> Vec<Token> {
        let mut tokens = Vec::new();
        let mut add = |what: &'static str, block: &str| {
            tokens.push(Token::What(what));
            tokens.extend(block.as_bytes().chunks(bytes).map(|piece| Token::Bytes(piece.to_vec())));
        };
        for tool in &self.tools {
            add("tool", &tool_block(tool));
        }
        add("settings", "");
        for text in &self.system {
            add("system", &text_block(text));
        }
        add("settings", "");
        for (number, blocks) in self.messages.iter().enumerate() {
            let mut what = ["user", "assistant"][number % 2];
            for text in blocks {
                add(what, &text_block(text));
                what = "block";
            }
        }
        tokens
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    What(&'static str),
    Bytes(Vec<u8>),
}

fn lines(asks: &[Ask]) -> Vec<String> {
    let mut now = 0;
    let line = |(number, ask): (usize, &Ask)| {
        now += ask.gap;
        ask.line(number, now)
    };
    asks.iter().enumerate().map(line).collect()
}

fn history(lines: &[String], counting: TokenCounting) -> History {
    let options = ReadOptions {
        counting,
        keeps_bytes: true,
        parts: BlockParts::Landmarks,
        ..Default::default()
    };
    read_lines(lines, options)
}

fn read_lines(lines: &[String], options: ReadOptions) -> History {
    let sources = vec![Source::in_memory("capture.jsonl", lines.join("\n").as_bytes())];
    read(Discovered { sources, ..Discovered::default() }, options, |_| ())
}

fn trace(history: &History, design: PromptDesign) -> PromptTrace {
    let steps = steps(history);
    let trace = build(history, &steps, SharedPrefix::Auto);
    redesign(history, &steps, &trace, design).trace
}

fn reads(trace: &PromptTrace, cache: AutomaticCache) -> Vec<u64> {
    let policy = AutomaticPolicy { cache, keeps_breaks: true };
    let outcomes = simulate_automatic(trace, &policy, |_| TokenRatio::ONE);
    for (prompt, outcome) in trace.prompts.iter().zip(&outcomes) {
        assert_eq!(outcome.total(), prompt.total);
    }
    outcomes.iter().map(|outcome| outcome.read.0).collect()
}

/// Everything that was sent, token by token.
struct Naive {
    cache: AutomaticCache,
    /// Prefixes that were used, by whom and when.
    uses: Vec<(Vec<Token>, (bool, bool), i64)>,
}

impl Naive {
    fn reads(asks: &[Ask], cache: AutomaticCache, bytes: usize) -> Vec<u64> {
        let mut naive = Self { cache, uses: Vec::new() };
        let mut waiting: Vec<(i64, usize, i64)> = Vec::new();
        let mut reads = Vec::new();
        let mut now = 0;
        for (number, ask) in asks.iter().enumerate() {
            now += ask.gap;
            waiting.sort_unstable();
            while waiting.first().is_some_and(|(begun, ..)| *begun <= now) {
                let (_, earlier, sent) = waiting.remove(0);
                let owner = (asks[earlier].is_other_model, asks[earlier].is_other_scope);
                naive.uses.push((asks[earlier].tokens(bytes), owner, sent));
            }
            let owner = (ask.is_other_model, ask.is_other_scope);
            let tokens = ask.tokens(bytes);
            let found = naive.alive(&tokens, owner, now);
            if let Some(found) = found {
                naive.uses.push((tokens[..found].to_vec(), owner, now));
            }
            if naive.whole(&tokens) > 0 {
                waiting.push((now + ask.wait, number, now));
            }
            reads.push(found.map_or(0, |found| naive.whole(&tokens[..found])));
        }
        reads
    }

    fn whole(&self, tokens: &[Token]) -> u64 {
        let count = tokens.iter().filter(|token| matches!(token, Token::Bytes(_))).count() as u64;
        let whole = count - count % self.cache.counting.step.0;
        if whole >= self.cache.counting.minimum.0 { whole } else { 0 }
    }

    /// How much of a prompt was sent by the same owner and is alive.
    fn alive(&self, tokens: &[Token], owner: (bool, bool), now: i64) -> Option<usize> {
        let alive = self
            .uses
            .iter()
            .filter(|(_, by, at)| *by == owner && now - at < self.cache.lifetime)
            .map(|(used, ..)| {
                used.iter().zip(tokens).take_while(|(one, other)| one == other).count()
            });
        alive.max()
    }
}

fn cache() -> impl Strategy<Value = AutomaticCache> {
    (0_u64..60, 1_u64..20, 1_i64..400).prop_map(|(minimum, step, lifetime)| AutomaticCache {
        counting: Counting {
            minimum: Tokens(minimum),
            step: Tokens(step),
            offset: Tokens::ZERO,
            tail: Tokens::ZERO,
        },
        lifetime,
    })
}

const STABLE_FIRST: PromptDesign = PromptDesign {
    tools: Tools::Sorted,
    system: SystemPrompt::StableFirst,
    scopes: Scopes::AsSent,
    settings: Settings::AsSent,
    attribution: Attribution::AsSent,
    reminders: Reminders::Last,
    deferred_tools: Deferred::AsSent,
    tool_search: None,
};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn whole_prompts_compared_token_by_token_agree(
        asks in prop::collection::vec(ask(), 1..24),
        cache in cache(),
        bytes in 1_u64..9,
    ) {
        let counting = TokenCounting::Bytes(NonZeroU64::new(bytes).expect("not zero"));
        let history = history(&lines(&asks), counting);
        let trace = trace(&history, PromptDesign::default());
        let bytes = usize::try_from(bytes).expect("small");
        prop_assert_eq!(trace.prompts.len(), asks.len());
        prop_assert_eq!(trace.prompts[0].start.get(), START + asks[0].gap);
        prop_assert_eq!(reads(&trace, cache), Naive::reads(&asks, cache, bytes));
    }

    /// Where tokens are estimated, what blocks share is read besides whole blocks.
    #[test]
    fn parts_of_blocks_are_read_besides_whole_blocks(
        asks in prop::collection::vec(ask(), 1..24),
        cache in cache(),
    ) {
        let lines = lines(&asks);
        let with_parts = read_lines(&lines, ReadOptions { parts: BlockParts::Landmarks, ..Default::default() });
        let whole = read_lines(&lines, ReadOptions::default());
        let cache = AutomaticCache { lifetime: i64::MAX, ..cache };
        let [with_parts, whole] =
            [with_parts, whole].map(|history| reads(&trace(&history, PromptDesign::default()), cache));
        prop_assert!(with_parts.iter().zip(&whole).all(|(parts, whole)| parts >= whole));
    }

    #[test]
    fn stable_prompts_keep_their_tokens(
        asks in prop::collection::vec(ask(), 1..16),
        cache in cache(),
        bytes in 1_u64..9,
    ) {
        let counting = TokenCounting::Bytes(NonZeroU64::new(bytes).expect("not zero"));
        let history = history(&lines(&asks), counting);
        reads(&trace(&history, STABLE_FIRST), cache);
    }
}
