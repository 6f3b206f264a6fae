//! The oldest compiler that `Cargo.toml` names: no dependency asks for a newer one. (That our own code
//! uses nothing newer is looked at by clippy's `incompatible_msrv`.)

use crate::common::packages;

/// A version of the compiler as numbers; what is not named is zero.
fn numbers(version: &str) -> Vec<u64> {
    let mut numbers: Vec<u64> = version.split('.').map_while(|part| part.parse().ok()).collect();
    numbers.resize(3, 0);
    numbers
}

#[test]
fn no_dependency_needs_a_newer_compiler() {
    let Some(packages) = packages() else { return };
    let own = numbers(env!("CARGO_PKG_RUST_VERSION"));
    assert!(packages.len() > 100 && own > numbers("1.80"));
    for package in packages {
        let needed = package["rust_version"].as_str().map(numbers);
        let is_newer = needed.is_some_and(|needed| needed > own);
        assert!(!is_newer, "{} needs {}", package["id"], package["rust_version"]);
    }
}

#[test]
fn versions_are_compared_as_numbers() {
    assert!(numbers("1.88") > numbers("1.9.3"));
    assert_eq!(numbers("1.88"), numbers("1.88.0"));
}
