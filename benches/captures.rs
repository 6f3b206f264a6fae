//! Captured prompts: reading them, and simulating requests whose prompts are long. The time of a
//! simulation has to follow what is new, not requests times the length of the conversation: compare
//! the histories of 200 and of 2,000 turns.

use std::fmt::Write as _;
use std::hint::black_box;

use cachesim::base::id::Symbols;
use cachesim::base::ttl::Ttl;
use cachesim::base::units::Basis;
use cachesim::base::units::{Millis, Tokens};
use cachesim::read::capture::CaptureOptions;
use cachesim::read::input::{Discovered, Source};
use cachesim::requests::conversation::read;
use cachesim::requests::prompt::{Level, Marker, Node, NodeId, Prompt, PromptTrace};
use cachesim::simulate::cache::simulate;
use cachesim::simulate::strategy::Assumptions;
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};

/// Tokens of a turn, so that 200 turns are 150,000.
const TURN: u64 = 750;

fn push(trace: &mut PromptTrace, parent: Option<NodeId>, level: Level) -> NodeId {
    let before = parent.map(|parent| *trace.node(parent));
    let (end, count) = before.map_or((Tokens(20_000), 0), |node| (node.end, node.blocks));
    trace.nodes.push(Node {
        parent,
        end: end + Tokens(TURN / 2),
        basis: Basis::Derived,
        positions: count + 1,
        blocks: count + 1,
        level,
        is_markable: true,
        session: None,
    });
    NodeId::at(trace.nodes.len() - 1)
}

fn add_marker(trace: &mut PromptTrace, node: NodeId) {
    let (end, basis) = (trace.node(node).end, Basis::Derived);
    let ttl = Some(Ttl::FiveMinutes);
    let (is_global, is_automatic, is_markable) = (false, false, true);
    trace.markers.push(Marker { node, end, basis, ttl, is_global, is_automatic, is_markable });
}

/// A conversation of so many turns, and requests that go on from it or from one another: every
/// tenth begins a branch.
fn conversation(turns: usize, requests: usize) -> PromptTrace {
    let mut symbols = Symbols::default();
    let model = symbols.intern("claude-opus-5");
    let mut trace = PromptTrace::default();
    let system = push(&mut trace, None, Level::System);
    let mut history = system;
    for _ in 0..turns * 2 {
        history = push(&mut trace, Some(history), Level::Messages);
    }
    let mut here = history;
    for number in 0..requests {
        let parent = if number % 10 == 0 { history } else { here };
        let answer = push(&mut trace, Some(parent), Level::Messages);
        here = push(&mut trace, Some(answer), Level::Messages);
        let first = trace.markers.len();
        add_marker(&mut trace, system);
        add_marker(&mut trace, here);
        let start = Millis::new(i64::try_from(number).expect("small") * 20_000);
        trace.prompts.push(Prompt {
            minimum: Tokens(512),
            markers: first..first + 2,
            ..Prompt::new(model, start, here, trace.node(here).end)
        });
    }
    trace
}

fn simulation(criterion: &mut Criterion) {
    let policy = Assumptions::default().replay();
    let mut group = criterion.benchmark_group("simulate captured requests");
    group.sample_size(20);
    for (turns, requests) in [(200, 1_000), (200, 10_000), (2_000, 1_000), (2_000, 10_000)] {
        let trace = conversation(turns, requests);
        let _outcomes = simulate(&trace, &policy);
        group.throughput(Throughput::Elements(requests as u64));
        let id = BenchmarkId::new(format!("{turns} turns"), requests);
        group.bench_with_input(id, &trace, |bencher, trace| {
            bencher.iter(|| black_box(simulate(trace, &policy)));
        });
    }
    group.finish();
}

/// A session of so many turns as captured: every request holds the whole conversation.
fn capture(turns: usize) -> Vec<u8> {
    let result = "let x = 1; // some tool output\\n".repeat(90);
    let mut messages = r#"{"role":"user","content":"Go."}"#.to_owned();
    let mut text = String::new();
    for turn in 0..turns {
        writeln!(
            text,
            r#"{{"timestamp":"2026-08-03T{:02}:{:02}:00.000Z","request_id":"r{turn}","request":{{"model":"claude-opus-5","system":"Be brief.","messages":[{messages}],"cache_control":{{"type":"ephemeral"}}}}}}"#,
            turn / 60,
            turn % 60,
        )
        .expect("a string takes everything");
        write!(
            messages,
            r#",{{"role":"assistant","content":[{{"type":"tool_use","id":"t{turn}","name":"Read","input":{{}}}}]}},{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"t{turn}","content":"{result}"}}]}}"#
        )
        .expect("a string takes everything");
    }
    text.into_bytes()
}

fn reading(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("read captures");
    group.sample_size(10);
    for turns in [50, 200] {
        let bytes = capture(turns);
        group.throughput(Throughput::Bytes(bytes.len() as u64));
        let source = Source::in_memory("capture.jsonl", &bytes);
        group.bench_function(BenchmarkId::from_parameter(format!("{turns} turns")), |bencher| {
            bencher.iter(|| {
                let sources = vec![source.clone()];
                let discovered = Discovered { sources, ..Discovered::default() };
                black_box(read(discovered, CaptureOptions::default(), |_| {}))
            });
        });
    }
    group.finish();
}

criterion_group!(benches, simulation, reading);
criterion_main!(benches);
