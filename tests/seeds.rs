//! What the fuzz targets check, on the seeds that they start from.

use std::fs;

use crate::common::project;
use crate::fuzz_targets::ALL;

#[test]
fn every_target_holds_on_its_seeds() {
    for (name, check) in ALL {
        let folder = project("fuzz/seeds").join(name);
        let seeds = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{name}: {error}"));
        let mut count = 0;
        for seed in seeds {
            let path = seed.expect("an entry").path();
            println!("{}", path.display());
            check(&fs::read(&path).expect("a seed"));
            count += 1;
        }
        assert!(count > 0, "{name} has no seeds");
    }
}

/// A target without seeds, or one that is not called here, would be forgotten.
#[test]
fn every_target_is_known() {
    let programs = fs::read_dir(project("fuzz/fuzz_targets")).expect("a folder");
    let mut programs: Vec<String> = programs
        .map(|program| program.expect("an entry").path())
        .map(|path| path.file_stem().expect("a name").to_string_lossy().into_owned())
        // It is made of files that are no public item of the library, whose own tests compare the same.
        .filter(|name| name != "line")
        .collect();
    programs.sort();
    let mut known = ALL.map(|(name, _)| name);
    known.sort_unstable();
    assert_eq!(programs, known);
}
