//! Laws that hold for every input, on random ones.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use cachesim::base::id::{Symbol, Symbols};
use cachesim::base::ttl::{TierTtl, Ttl, TtlPlan};
use cachesim::base::units::Basis;
use cachesim::base::units::{Millis, Tokens};
use cachesim::requests::prompt::{Level, Marker, Node, NodeId, Prompt, PromptTrace};
use cachesim::simulate::cache::{Markers, Policy, simulate};
use cachesim::simulate::strategy::Assumptions;
use proptest::prelude::*;
use serde_json::Value;

use crate::common::{count, ledger, prompt_of};

const ALL_STRATEGIES: &str = "billed,replay,none,5m,1h,mixed";

/// A request of a random session.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is drawn by itself")]
struct Ask {
    /// How many requests before this one it goes on from, as far as there are so many.
    back: usize,
    gap_seconds: i64,
    /// Tokens read, written and sent in full.
    split: (u64, u64, u64),
    is_hour: bool,
    is_other_model: bool,
    is_prompt: bool,
    /// What the measured rules of clients look for.
    has_tool_hook: bool,
    loads_tools: bool,
    version: &'static str,
}

fn ask() -> impl Strategy<Value = Ask> {
    let gap = prop_oneof![5 => 1_i64..200, 2 => 250_i64..350, 1 => 3_500_i64..3_700];
    let back = prop_oneof![8 => Just(1_usize), 1 => 2_usize..6];
    let split = (0_u64..40_000, 0_u64..20_000, 0_u64..30);
    let shown = (prop::bool::weighted(0.2), prop::bool::weighted(0.2));
    let version = prop::sample::select(vec!["2.1.200", "2.1.219"]);
    let flags = (prop::bool::weighted(0.6), prop::bool::weighted(0.05), any::<bool>());
    (back, gap, split, flags, shown, version).prop_map(
        |(back, gap_seconds, split, (is_hour, is_other_model, is_prompt), shown, version)| Ask {
            back,
            gap_seconds,
            split,
            is_hour,
            is_other_model,
            is_prompt,
            has_tool_hook: shown.0,
            loads_tools: shown.1,
            version,
        },
    )
}

/// The session as a transcript.
fn transcript(asks: &[Ask]) -> String {
    let mut text = String::new();
    let mut seconds = 0_i64;
    for (number, ask) in asks.iter().enumerate() {
        seconds += ask.gap_seconds;
        let parent = number
            .checked_sub(ask.back.min(number.max(1)))
            .map_or_else(|| "null".to_owned(), |before| format!("\"a{before}\""));
        let result = if ask.loads_tools {
            r#"[{"type":"tool_reference","tool_name":"WebFetch"}]"#
        } else {
            "\"x\""
        };
        let content = if ask.is_prompt {
            "\"go on\"".to_owned()
        } else {
            format!(r#"[{{"type":"tool_result","tool_use_id":"t{number}","content":{result}}}]"#)
        };
        let version = ask.version;
        let (read, written, input) = ask.split;
        let (five, hour) = if ask.is_hour { (0, written) } else { (written, 0) };
        let model = if ask.is_other_model { "claude-haiku-4-5" } else { "claude-opus-5" };
        let at = |extra| Millis::new(1_785_747_600_000 + seconds * 1_000 + extra);
        let parent = if ask.has_tool_hook {
            writeln!(
                text,
                r#"{{"type":"attachment","uuid":"h{number}","parentUuid":{parent},"sessionId":"s","timestamp":"{sent}","version":"{version}","attachment":{{"type":"hook_additional_context","content":["x"],"hookName":"PreToolUse:Bash","hookEvent":"PreToolUse"}}}}"#,
                sent = at(0),
            )
            .expect("a string takes everything");
            format!("\"h{number}\"")
        } else {
            parent
        };
        writeln!(
            text,
            r#"{{"type":"user","uuid":"u{number}","parentUuid":{parent},"sessionId":"s","timestamp":"{sent}","version":"{version}","message":{{"role":"user","content":{content}}}}}
{{"type":"assistant","uuid":"a{number}","parentUuid":"u{number}","sessionId":"s","timestamp":"{answered}","requestId":"r{number}","version":"{version}","message":{{"id":"m{number}","model":"{model}","stop_reason":"end_turn","content":[],"usage":{{"input_tokens":{input},"cache_read_input_tokens":{read},"cache_creation_input_tokens":{written},"cache_creation":{{"ephemeral_5m_input_tokens":{five},"ephemeral_1h_input_tokens":{hour}}},"output_tokens":7}}}}}}"#,
            sent = at(0),
            answered = at(900),
        )
        .expect("a string takes everything");
    }
    text
}

fn rows_of(asks: &[Ask], arguments: &[&str]) -> Vec<Value> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("s.jsonl");
    std::fs::write(&path, transcript(asks)).expect("a file");
    ledger(&path, arguments)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn tokens_are_conserved(
        asks in prop::collection::vec(ask(), 1..40),
        shared in prop::sample::select(vec!["auto", "cold", "warm"]),
        breaks in prop::sample::select(vec!["keep", "drop"]),
    ) {
        let arguments =
            ["--strategy", ALL_STRATEGIES, "--shared-prefix", shared, "--breaks", breaks];
        let rows = rows_of(&asks, &arguments);
        prop_assert_eq!(rows.len(), asks.len() * 6);
        let mut prompts: BTreeMap<String, u64> = BTreeMap::new();
        for row in &rows {
            let prompt = prompt_of(row);
            prop_assert_eq!(*prompts.entry(row["message_id"].to_string()).or_insert(prompt), prompt);
        }
    }

    /// A simulated request does not know its own split: moving tokens between read, written and
    /// input, the total and the TTL kept, changes nothing in its own row.
    #[test]
    fn a_replayed_request_does_not_see_its_own_split(
        asks in prop::collection::vec(ask(), 2..20),
        which in any::<prop::sample::Index>(),
        part in 0_u64..=100,
    ) {
        let which = 1 + which.index(asks.len() - 1);
        let mut moved = asks.clone();
        let (read, written, input) = moved[which].split;
        let total = read + written + input;
        // The TTL shows only in a write, so there has to be one before and after.
        prop_assume!(written > 0 && total > 1);
        let write = (total * part / 100).max(1);
        moved[which].split = ((total - write) / 2, write, total - write - (total - write) / 2);
        let replayed = |asks: &[Ask]| {
            let rows = rows_of(asks, &["--strategy", "replay"]);
            let id = format!("m{which}");
            rows.into_iter().find(|row| row["message_id"] == id.as_str()).expect("its row")
        };
        let same_model = {
            let before = which - asks[which].back.min(which.max(1));
            asks[which].is_other_model == asks[before].is_other_model
        };
        prop_assume!(same_model);
        prop_assert_eq!(replayed(&asks), replayed(&moved));
    }

    #[test]
    fn the_order_of_lines_changes_nothing(
        asks in prop::collection::vec(ask(), 1..15),
        seed in any::<u64>(),
    ) {
        let text = transcript(&asks);
        let mut lines: Vec<&str> = text.lines().collect();
        let in_order = lines.join("\n");
        // A fixed shuffle from the seed.
        let mut state = seed | 1;
        for index in (1..lines.len()).rev() {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let swapped = usize::try_from(state >> 33).expect("31 bits") % (index + 1);
            lines.swap(index, swapped);
        }
        let folder = tempfile::tempdir().expect("a folder");
        let figures = |text: &str| {
            let path = folder.path().join("s.jsonl");
            std::fs::write(&path, text).expect("a file");
            let mut rows = ledger(&path, &[]);
            for row in &mut rows {
                row["line"] = Value::Null;
            }
            rows
        };
        prop_assert_eq!(figures(&in_order), figures(&lines.join("\n")));
    }
}

/// A hook's context hangs off the call that another branch goes on from.
#[test]
fn a_hook_beside_a_branch_counts_wherever_its_line_stands() {
    let ask = |back, gap_seconds, split, version| Ask {
        back,
        gap_seconds,
        split,
        is_hour: false,
        is_other_model: false,
        is_prompt: false,
        has_tool_hook: false,
        loads_tools: false,
        version,
    };
    let mut asks = [
        ask(1, 1, (0, 9_000, 2), "2.1.219"),
        ask(1, 5, (9_000, 400, 2), "2.1.219"),
        ask(2, 5, (9_000, 6_000, 2), "2.1.219"),
        ask(1, 60, (15_000, 900, 2), "2.1.219"),
    ];
    asks[1].has_tool_hook = true;
    asks[3].is_prompt = true;
    let text = transcript(&asks);
    let (hooks, others): (Vec<&str>, Vec<&str>) =
        text.lines().partition(|line| line.contains("hook_additional_context"));
    assert_eq!(hooks.len(), 1);
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("s.jsonl");
    let read = |text: String| -> Vec<Value> {
        std::fs::write(&path, text).expect("a file");
        let rows = ledger(&path, &["--strategy", "replay"]);
        rows.iter().map(|row| row["cache_read_input_tokens"].clone()).collect()
    };
    let last = read([others, hooks].concat().join("\n"));
    assert_eq!(read(text.clone()), last);
    // What was sent before the hook is read, and nothing of what came after it.
    assert_eq!(last[3], 9_000);
}

/// A random request of a trace: it goes on from an earlier one or starts a tree of its own.
#[derive(Clone, Debug)]
struct Leaf {
    parent: Option<prop::sample::Index>,
    gap_seconds: i64,
    growth: u64,
    ttl: TierTtl,
    model: usize,
    /// From the request to the beginning of its response.
    delay_seconds: i64,
}

fn leaf() -> impl Strategy<Value = Leaf> {
    let gap = prop_oneof![6 => 0_i64..120, 3 => 290_i64..310, 1 => 3_590_i64..3_610];
    let ttl = prop::sample::select(vec![
        TierTtl::uniform(Ttl::FiveMinutes),
        TierTtl::uniform(Ttl::OneHour),
        TierTtl::MIXED,
    ]);
    let parent = prop::option::weighted(0.95, any::<prop::sample::Index>());
    let delay = prop_oneof![4 => Just(0_i64), 3 => 0_i64..90, 1 => 280_i64..400];
    (parent, gap, 1_u64..3_000, ttl, 0_usize..2, delay).prop_map(
        |(parent, gap_seconds, growth, ttl, model, delay_seconds)| Leaf {
            parent,
            gap_seconds,
            growth,
            ttl,
            model: usize::from(model == 1 && growth % 5 == 0),
            delay_seconds,
        },
    )
}

/// The size of every system prompt.
const SYSTEM: Tokens = Tokens(5_000);

fn node(parent: Option<NodeId>, end: Tokens, depth: u32, level: Level) -> Node {
    Node {
        parent,
        end,
        basis: Basis::Derived,
        positions: depth,
        blocks: depth,
        level,
        is_markable: true,
        session: None,
    }
}

fn marker(node: NodeId, end: Tokens, ttl: Ttl) -> Marker {
    Marker {
        node,
        end,
        basis: Basis::Derived,
        ttl: Some(ttl),
        is_global: false,
        is_automatic: false,
        is_markable: true,
    }
}

fn trace_of(leaves: &[Leaf]) -> PromptTrace {
    let mut symbols = Symbols::default();
    let names = [symbols.intern("a"), symbols.intern("b")];
    let mut trace = PromptTrace::default();
    let mut now = 0;
    for leaf in leaves {
        now += leaf.gap_seconds * 1_000;
        // Most requests go on from a recent one.
        let parent = leaf.parent.filter(|_| !trace.prompts.is_empty()).map(|index| {
            let recent = trace.prompts.len().saturating_sub(6);
            trace.prompts[recent + index.index(trace.prompts.len() - recent)].node
        });
        let parent = parent.unwrap_or_else(|| {
            trace.nodes.push(node(None, SYSTEM, 1, Level::System));
            NodeId::at(trace.nodes.len() - 1)
        });
        let before = *trace.node(parent);
        let end = before.end + Tokens(leaf.growth);
        trace.nodes.push(node(Some(parent), end, before.blocks + 1, Level::Messages));
        let own = NodeId::at(trace.nodes.len() - 1);
        let system = trace.path(own).last().expect("a root");
        let first_marker = trace.markers.len();
        trace.markers.push(marker(system, SYSTEM, leaf.ttl.system));
        trace.markers.push(marker(own, end, leaf.ttl.messages));
        trace.prompts.push(Prompt {
            readable_from: Millis::new(now + leaf.delay_seconds * 1_000),
            minimum: Tokens(1_024),
            markers: first_marker..first_marker + 2,
            ..Prompt::new(names[leaf.model], Millis::new(now), own, end + Tokens(2))
        });
    }
    trace
}

/// The same rules without shared clocks: every entry has one of its own, and a read walks up its
/// path.
struct NaiveCache<'a> {
    trace: &'a PromptTrace,
    entries: BTreeMap<(NodeId, Symbol), NaiveEntry>,
}

#[derive(Clone, Copy)]
struct NaiveEntry {
    ttl: Ttl,
    last_used: Millis,
    readable_from: Millis,
}

impl NaiveCache<'_> {
    fn is_alive(&self, node: NodeId, prompt: &Prompt) -> bool {
        self.entries
            .get(&(node, prompt.model))
            .is_some_and(|entry| prompt.start.get() - entry.last_used.get() < entry.ttl.millis())
    }

    fn is_readable(&self, node: NodeId, prompt: &Prompt) -> bool {
        self.is_alive(node, prompt)
            && self.entries[&(node, prompt.model)].readable_from <= prompt.start
    }

    fn read(&mut self, prompt: &Prompt) -> Tokens {
        let found = self.trace.markers_of(prompt).iter().filter_map(|marker| {
            let path = self.trace.path(marker.node);
            path.take(20).find(|node| self.is_readable(*node, prompt))
        });
        let hit = found.max_by_key(|node| self.trace.node(*node).blocks);
        if let Some(hit) = hit {
            for node in self.trace.path(hit) {
                if self.is_readable(node, prompt) {
                    let entry = self.entries.get_mut(&(node, prompt.model));
                    entry.expect("it is readable").last_used = prompt.start;
                }
            }
        }
        for marker in self.trace.markers_of(prompt) {
            self.store(marker.node, marker.ttl.expect("every marker has one"), prompt);
        }
        hit.map_or(Tokens::ZERO, |node| self.trace.node(node).end)
    }

    fn store(&mut self, node: NodeId, ttl: Ttl, prompt: &Prompt) {
        if self.is_readable(node, prompt) {
            return;
        }
        let own = NaiveEntry { ttl, last_used: prompt.start, readable_from: prompt.readable_from };
        let sibling = self.entries.get(&(node, prompt.model)).copied();
        let entry = match sibling.filter(|_| self.is_alive(node, prompt)) {
            None => own,
            Some(sibling) => NaiveEntry {
                ttl: own.ttl.max(sibling.ttl),
                last_used: own.last_used.max(sibling.last_used),
                readable_from: own.readable_from.min(sibling.readable_from),
            },
        };
        self.entries.insert((node, prompt.model), entry);
    }
}

fn policy(markers: Markers) -> Policy {
    Policy { keeps_breaks: false, ..Assumptions::default().policy(markers) }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn the_simulator_agrees_with_a_naive_one(leaves in prop::collection::vec(leaf(), 1..60)) {
        let trace = trace_of(&leaves);
        let outcomes = simulate(&trace, &policy(Markers::AsRecorded));
        let mut naive = NaiveCache { trace: &trace, entries: BTreeMap::new() };
        for (prompt, outcome) in trace.prompts.iter().zip(&outcomes) {
            prop_assert_eq!(outcome.read, naive.read(prompt).min(prompt.total));
            prop_assert_eq!(outcome.total(), prompt.total);
        }
    }

    #[test]
    fn a_longer_life_never_reads_less(leaves in prop::collection::vec(leaf(), 1..60)) {
        let trace = trace_of(&leaves);
        let read = |ttl| simulate(&trace, &policy(Markers::Fixed(TtlPlan::everywhere(ttl))));
        let five = read(TierTtl::uniform(Ttl::FiveMinutes));
        let mixed = read(TierTtl::MIXED);
        let hour = read(TierTtl::uniform(Ttl::OneHour));
        for ((five, mixed), hour) in five.iter().zip(&mixed).zip(&hour) {
            prop_assert!(five.read <= mixed.read && mixed.read <= hour.read);
        }
    }
}

#[test]
fn counts_are_read_from_rows() {
    let asks = [Ask {
        back: 1,
        gap_seconds: 1,
        split: (100, 2_000, 2),
        is_hour: true,
        is_other_model: false,
        is_prompt: true,
        has_tool_hook: false,
        loads_tools: false,
        version: "2.1.219",
    }];
    let rows = rows_of(&asks, &["--strategy", "billed"]);
    assert_eq!(count(&rows[0], "ephemeral_1h_input_tokens"), 2_000);
}
