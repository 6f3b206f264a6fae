//! Tests of the whole program. One binary, so that it is linked once; each module says what it
//! asks.

mod breaks;
mod captures;
mod cli;
mod common;
mod conformance;
mod context;
mod corpus;
mod differences;
mod fixtures;
mod generated;
mod laws;
mod lint;
mod mutation;
mod naive;
mod outputs;
mod placement;
mod random_captures;

/// A test module that nobody declared above would silently never run.
#[test]
fn no_test_file_is_forgotten() {
    let main = include_str!("main.rs");
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    for entry in std::fs::read_dir(folder).expect("the tests folder") {
        let name = entry.expect("an entry").file_name().into_string().expect("a plain name");
        if name == "snapshots" {
            continue;
        }
        let module = name.trim_end_matches(".rs");
        assert!(module == "main" || main.contains(&format!("mod {module};")), "{name}");
    }
}
