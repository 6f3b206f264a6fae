//! How long each stage takes on a synthetic session of a few megabytes. Whole commands on large
//! trees are timed by `benches/against_peers.py`.

use std::fmt::Write as _;
use std::hint::black_box;
use std::io::sink;

use cachesim::base::ttl::{TierTtl, Ttl, TtlPlan};
use cachesim::read::input::{Source, read_lines};
use cachesim::read::transcript::load;
use cachesim::report::write_report;
use cachesim::requests::conversation::{History, build, join};
use cachesim::requests::prompt::{self, SharedPrefix};
use cachesim::simulate::cache::{Markers, simulate};
use cachesim::simulate::ledger::{Ledger, Selection};
use cachesim::simulate::pricing::PriceTable;
use cachesim::simulate::strategy::{ALL, Assumptions, DEFAULT, Strategy};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};

const REQUESTS: usize = 4_000;

/// A session of tool calls, with results of a few kilobytes.
fn session() -> Vec<u8> {
    let mut text = String::new();
    let result = "let x = 1; // some tool output\\n".repeat(60);
    let mut cached = 20_000;
    for number in 0..REQUESTS {
        let parent = number
            .checked_sub(1)
            .map_or_else(|| "null".to_owned(), |before| format!("\"a{before}\""));
        let seconds = number * 20;
        let at = format!(
            "2026-08-{:02}T{:02}:{:02}:{:02}",
            3 + seconds / 86_400,
            seconds / 3_600 % 24,
            seconds / 60 % 60,
            seconds % 60
        );
        writeln!(
            text,
            r#"{{"type":"user","uuid":"u{number}","parentUuid":{parent},"sessionId":"s","timestamp":"{at}.000Z","message":{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"t{number}","content":"{result}"}}]}},"toolUseResult":{{"stdout":"{result}"}}}}
{{"type":"assistant","uuid":"a{number}","parentUuid":"u{number}","sessionId":"s","timestamp":"{at}.900Z","requestId":"r{number}","message":{{"id":"m{number}","model":"claude-opus-5","stop_reason":"tool_use","content":[],"usage":{{"input_tokens":2,"cache_read_input_tokens":{cached},"cache_creation_input_tokens":600,"output_tokens":90}}}}}}"#,
        )
        .expect("a string takes everything");
        cached += 600;
    }
    text.into_bytes()
}

fn history(bytes: &[u8]) -> History {
    join(vec![build(load(&Source::in_memory("s.jsonl", bytes)))])
}

fn stages(criterion: &mut Criterion) {
    let bytes = session();
    let source = Source::in_memory("s.jsonl", &bytes);
    let mut group = criterion.benchmark_group("stages");
    group.throughput(Throughput::Bytes(bytes.len() as u64));
    group.bench_function("split", |bencher| {
        bencher.iter(|| {
            let mut bytes = 0;
            read_lines(&source, |_, line| bytes += line.len()).expect("bytes in memory");
            black_box(bytes)
        });
    });
    group.bench_function("parse", |bencher| bencher.iter(|| black_box(load(&source))));
    group.bench_function("chain", |bencher| {
        bencher.iter_with_setup(|| load(&source), |transcript| black_box(build(transcript)));
    });
    group.throughput(Throughput::Elements(REQUESTS as u64));
    let history = history(&bytes);
    let shared_prefix = SharedPrefix::Auto;
    let steps = prompt::steps(&history);
    group.bench_function("calibrate", |bencher| {
        bencher.iter(|| black_box(prompt::build(&history, &steps, shared_prefix)));
    });
    let trace = prompt::build(&history, &steps, shared_prefix);
    let five_minutes = TtlPlan::everywhere(TierTtl::uniform(Ttl::FiveMinutes));
    let policy = Assumptions::default().policy(Markers::Fixed(five_minutes));
    group.bench_function("simulate", |bencher| {
        bencher.iter(|| black_box(simulate(&trace, &policy)));
    });
    let prices = PriceTable::built_in();
    let assumptions = Assumptions::default();
    let is_default = |strategy: &&Strategy| DEFAULT.contains(&strategy.name.as_ref());
    let strategies: Vec<Strategy> = ALL.iter().filter(is_default).cloned().collect();
    let ledger = Ledger::new(&history, &steps, &trace, &prices, &strategies, &assumptions);
    let selection = Selection::new(&history, None, None);
    group.bench_function("report", |bencher| {
        bencher.iter(|| write_report(&ledger, &selection, None, &mut sink()).expect("a sink"));
    });
    group.finish();
}

criterion_group!(benches, stages);
criterion_main!(benches);
