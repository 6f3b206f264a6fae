//! Configuration files with their budgets: any bytes are a configuration or an error with a place in
//! the file.

use std::fs;
use std::path::PathBuf;
use std::sync::LazyLock;

use cachesim::explain::budget::NamePattern;
use cachesim::explain::config::{ConfigError, ConfigFile, ConfigLevel, ConfigOption, load};
use rust_decimal::Decimal;

use super::place::assert_plain;

/// The file that is read, in memory where the system has such a folder.
static FILE: LazyLock<ConfigFile> = LazyLock::new(|| {
    let memory = PathBuf::from("/dev/shm");
    let folder = if memory.is_dir() { memory } else { std::env::temp_dir() };
    let path = folder.join(format!("cachesim-fuzz-{}.toml", std::process::id()));
    ConfigFile { level: ConfigLevel::Project, path, name: "cachesim.toml".to_owned() }
});

pub(crate) fn check(bytes: &[u8]) {
    fs::write(&FILE.path, bytes).expect("a folder that can be written to");
    let accepts = |_: &ConfigOption, word: &str| match word {
        "" => Err("it is empty".to_owned()),
        _ => Ok(()),
    };
    let lines = bytes.split(|byte| *byte == b'\n').count();
    match load(&FILE, Some("/home".as_ref()), &accepts) {
        Ok(config) => {
            for placed in &config.budgets {
                assert!((1..=lines).contains(&placed.line));
                let budget = &placed.budget;
                assert!(!budget.to_string().is_empty());
                for pattern in
                    [&budget.selector.project, &budget.selector.files].into_iter().flatten()
                {
                    check_pattern(pattern);
                }
                for figure in [Decimal::ZERO, Decimal::MAX, Decimal::MIN] {
                    let alone = budget.limit.is_kept(figure, None);
                    assert!(budget.limit.needs_baseline() || alone.is_some());
                    let _either = budget.limit.is_kept(figure, Some(figure));
                }
            }
        }
        Err(ConfigError::Content(error)) => {
            assert!((1..=lines).contains(&error.line) && error.column > 0, "{error:?}");
            assert_plain(&error.message);
        }
        Err(error) => panic!("the file can be read: {error}"),
    }
}

/// The same text matches the same names.
fn check_pattern(pattern: &NamePattern) {
    let again = NamePattern::parse(pattern.text()).expect("it was parsed before");
    for name in ["", "a", "work/shop", pattern.text()] {
        assert_eq!(again.matches(name), pattern.matches(name));
    }
}
