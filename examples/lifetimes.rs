//! What transcripts cost under five minutes and under an hour, and where the cache broke:
//! `cargo run --example lifetimes -- session.jsonl`.

use cachesim::{BreakOptions, Strategy, Study, StudyOptions, Ttl};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let paths: Vec<_> = std::env::args_os().skip(1).map(Into::into).collect();
    let study = Study::read(&paths, StudyOptions::default())?;
    for (strategy, totals) in
        study.totals(&[Ttl::FiveMinutes, Ttl::OneHour].map(Strategy::lifetime))?
    {
        println!("{}: {} dollars", strategy.name, totals.cost().ok_or("no price")?);
    }
    for found in study.breaks(BreakOptions::default())?.list() {
        println!("{}: {}", study.place(found.request), found.cause.meaning());
    }
    Ok(())
}
