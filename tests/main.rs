//! Tests of the whole program. One binary, so that it is linked once; each module says what it
//! asks. (`memory`, what commands hold on hostile shapes, and `growth` are binaries of their own, as their
//! allocators count: work and memory grow with the input,
//! and no faster.)
//!
//! Unit tests stand beside the code. `tests/` runs the whole program: `fixtures` (hand-worked
//! figures), `corpus` (real sessions in `../shared`, read in place), `conformance`,
//! `placement` (exact cases; also `fixtures/place-*`, with their requests) and `captures` (real
//! exchanges), `breaks` (causes by rule, prices, the laws of
//! the sums), `advise` (changes applied once more by their names, on every session; defects and
//! dollars by hand), `random_captures` (against `naive`, a second simulator that compares whole
//! prefixes), `automatic_captures` (automatic caches against whole prompts, token by token),
//! `context` (its sums, on random sessions too), `blocks` (windows of plans by hand, and against rows), `next` (what the next message costs, against the bill), `follow`
//! (sessions written line by line, against the whole), `statusline` (its line by hand, states that are damaged),
//! `settings` (files in every form, set and taken back to the byte), `template` (patches of real requests, applied), `since_change` (verdicts by hand, and against
//! rows), `hook` (each event by hand, and the skill's commands), `watch` (sessions replayed, files that become others, the
//! table on a terminal), `mcp` (the protocol's reference client answered as the command line is, hostile paths and
//! arguments, calls that are cancelled), `lint` (each rule), `fork` (the arithmetic of
//! sharing, also by closed formulas), `designs` and `random_designs` (against bodies that were
//! rewritten before they were read), `differences` (each kind, and where the first one stands on
//! random requests), `generated` (trees with exact truth), `laws` (properties on random input,
//! another naive simulator), `mutation` (hostile input), `management` (prompts and costs by hand,
//! and its laws on the corpus), `chart` (pictures read back: bars, lines and labels against the
//! ledger; nothing overlaps or is cut, over all fixtures, 5,000 turns and the corpus), `report`
//! (the page's data against the ledger, hostile names), `browser` (the page in a real Chromium,
//! driven through chromedriver: no errors, no requests, sorting, searching, strategies, keyboard,
//! contrast, print), `samples` (`reports/` is current), `terminal` (bars, on a pseudo-terminal),
//! `output_files`, `titles`, `check` (a prompt changes against a saved baseline: verdicts, names
//! and dollars by hand), `init` (what it writes passes, by hand), `packaging` (packages built, installed and run; workflows), `recorders` (requests recorded from a mock of the
//! service, and read), `documents` (every command of the pages, run; links,
//! words, what follows from the program), `configuration` (levels, places, errors), `action` (the steps of
//! `action.yml` run in order by a small runner in a folder, with hostile values; what the action
//! and the examples name exists), `drill` (filters, groups and stories, by hand), `schemas` (every
//! output against its schema, to the field), `models` (their facts, by hand, and those of price
//! files), `pages` (completions and manual pages), `redact`
//! (figures before and after over the corpus, and a scan for words that survive), `agents` (sessions of
//! other agents against an independent count), `logs` (what they tell beside sessions), `names` (hostile
//! names in every output, read back), `planted` (a word in every field of every format, looked for in every
//! output), `outputs` and `cli` (contracts and snapshots), `limits` (devices, files without an end, bombs,
//! threads, memory) and `faults` (every writer on a full disk, killed at each write, interrupted, with closed
//! pipes), `same_bytes` (every command and format at 1 to 64 threads, with the paths in any order), `fleet`
//! (domains, parts and runs of them: together as apart, whole or named), `runs` (`check`, `report` and `compare`
//! over rows against the same over sessions), `domains` (what commands add up over domains), `licences` (of all that
//! the program is built of), `seeds` (what the targets of `fuzz/` check, on their seeds).
//! `.ci/run` lets these run on, and runs everything else.
//!
//! What a test lacks is counted in one line at the end, and fails it where `CI` is set.

#[cfg(unix)] // its steps are run by bash
mod action;
mod advise;
mod agents;
mod applicability;
mod automatic;
mod automatic_captures;
mod blocks;
mod bound;
mod breaks;
mod browser;
mod capture_file;
mod captures;
mod ceilings;
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
#[cfg(unix)] // commands are run by bash
mod documents;
#[cfg(feature = "fleet")]
mod domains;
mod drill;
#[cfg(unix)] // signals, pipes and limits of a shell
mod faults;
mod first_lines;
mod fixtures;
#[cfg(feature = "fleet")]
mod fleet;
mod follow;
mod fork;
/// What the fuzz targets check.
#[path = "../fuzz/targets/mod.rs"]
mod fuzz_targets;
mod gates;
mod generated;
mod hook;
mod init;
mod keys;
mod laws;
mod licences;
#[cfg(unix)] // its guards are of a shell
mod limits;
mod lint;
mod logs;
mod management;
mod marked;
#[cfg(target_os = "linux")] // links, signals, and processes as /proc lists them
#[cfg(feature = "validate")]
mod mcp;
mod mechanisms;
mod models;
mod mutation;
mod naive;
mod names;
mod next;
mod oldest_compiler;
mod orderings;
mod output_files;
mod outputs;
#[cfg(unix)] // the packages of this host are run by its shell
mod packaging;
mod pages;
mod placement;
mod planted;
mod prices;
mod providers;
mod random_captures;
mod random_designs;
mod reading;
#[cfg(unix)] // servers are started by a shell
mod recorders;
mod redact;
mod report;
mod rollouts;
#[cfg(feature = "fleet")]
mod runs;
mod same_bytes;
#[cfg(unix)] // a shell makes them
mod samples;
#[cfg(feature = "validate")]
mod schemas;
mod seeds;
mod settings;
mod since_change;
mod sources;
mod statusline;
mod stored;
mod strategies;
mod suggestions;
mod template;
mod terminal;
mod thinking;
mod titles;
mod tokens;
mod turns;
mod untold;
#[cfg(feature = "watch")]
mod watch;
mod widths;

/// They run before these tests, so what they lack is counted here.
#[test]
fn growth_and_memory_have_what_they_need() {
    common::has(&["python3", "valgrind"]);
}

/// A test module that nobody declared above would silently never run.
#[test]
fn no_test_file_is_forgotten() {
    let main = include_str!("main.rs");
    for entry in std::fs::read_dir(common::project("tests")).expect("the tests folder") {
        let name = entry.expect("an entry").file_name().into_string().expect("a plain name");
        if name == "snapshots" || name.starts_with('.') {
            continue;
        }
        let module = name.trim_end_matches(".rs");
        let is_program = ["main", "growth", "memory"].contains(&module);
        assert!(is_program || main.contains(&format!("mod {module};")), "{name}");
    }
}
