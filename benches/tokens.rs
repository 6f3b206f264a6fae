//! How fast tokens are counted: over kinds of text, and over sizes of the worst shapes, which have to grow evenly.

use std::hint::black_box;
use std::time::Duration;

use cachesim::base::vocabulary::Vocabulary;
use cachesim::tokens::counter;
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};

const VOCABULARIES: [Vocabulary; 3] =
    [Vocabulary::Claude3, Vocabulary::Claude48, Vocabulary::O200k];

/// Text, code and JSON of this project, repeated to four megabytes.
fn kinds() -> Vec<(&'static str, String)> {
    let repeated = |text: &str| text.repeat((4 << 20) / text.len() + 1);
    vec![
        ("prose", repeated(include_str!("../README.md"))),
        ("code", repeated(include_str!("../src/study.rs"))),
        ("json", repeated(include_str!("../schemas/report.schema.json"))),
    ]
}

fn by_kind(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("tokens");
    group.sample_size(10).measurement_time(Duration::from_secs(2));
    for (name, text) in kinds() {
        group.throughput(Throughput::Bytes(text.len() as u64));
        for vocabulary in VOCABULARIES {
            let counter = counter(vocabulary).expect("vocabularies");
            counter.tokens("loaded");
            group.bench_function(BenchmarkId::new(vocabulary.name(), name), |bench| {
                bench.iter(|| counter.tokens(black_box(&text)));
            });
        }
    }
}

fn by_size(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("tokens/sizes");
    group.sample_size(10).measurement_time(Duration::from_secs(2));
    for (name, unit) in [("letter", "a"), ("line feed", "\n"), ("dash", "-"), ("mark", "e\u{301}")]
    {
        for size in [1 << 16, 1 << 18, 1 << 20] {
            let text = unit.repeat(size / unit.len()) + "x";
            group.throughput(Throughput::Bytes(text.len() as u64));
            let counter = counter(Vocabulary::Claude3).expect("vocabularies");
            group.bench_function(BenchmarkId::new(name, size), |bench| {
                bench.iter(|| counter.tokens(black_box(&text)));
            });
        }
    }
}

criterion_group!(benches, by_kind, by_size);
criterion_main!(benches);
