//! Tests of the whole program. One binary, so that it is linked once; each module says what it
//! asks.

#[cfg(unix)] // its steps are run by bash
mod action;
mod advise;
mod applicability;
mod automatic;
mod automatic_captures;
mod bound;
mod breaks;
mod browser;
mod captures;
mod chains;
mod chart;
mod check;
mod cli;
mod common;
mod compare;
mod configuration;
mod conformance;
mod context;
mod corpus;
mod designs;
mod differences;
mod drill;
mod first_lines;
mod fixtures;
mod fork;
mod generated;
mod keys;
mod laws;
mod lint;
mod management;
mod mechanisms;
mod mutation;
mod naive;
mod orderings;
mod output_files;
mod outputs;
mod pages;
mod placement;
mod providers;
mod random_captures;
mod random_designs;
mod reading;
mod redact;
mod report;
mod rollouts;
#[cfg(unix)] // a shell makes them
mod samples;
mod schemas;
mod strategies;
mod terminal;
mod titles;
mod turns;
mod widths;

/// A test module that nobody declared above would silently never run.
#[test]
fn no_test_file_is_forgotten() {
    let main = include_str!("main.rs");
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    for entry in std::fs::read_dir(folder).expect("the tests folder") {
        let name = entry.expect("an entry").file_name().into_string().expect("a plain name");
        if name == "snapshots" || name.starts_with('.') {
            continue;
        }
        let module = name.trim_end_matches(".rs");
        assert!(module == "main" || main.contains(&format!("mod {module};")), "{name}");
    }
}
