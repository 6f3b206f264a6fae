//! The options that a configuration can set: the source of the keys of its files, of the names of
//! its environment variables, and of what `config show` lists.

/// An option of the program.
#[derive(Debug, PartialEq, Eq)]
pub struct ConfigOption {
    /// Its key in a file, which is the name of the option with `_` for `-`.
    pub key: &'static str,
    /// What it takes.
    pub takes: Takes,
    /// What holds where it has no value at all.
    pub unset: &'static str,
}

/// What an option takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    /// One of a few words.
    Word,
    /// A whole number.
    Number,
    /// Yes or no.
    Switch,
    /// Names, among them files that end in `.toml`.
    Names,
    /// A file.
    Path,
    /// Files and folders.
    Paths,
}

impl ConfigOption {
    /// The environment variable that sets it.
    #[must_use]
    pub fn variable(&self) -> String {
        format!("CACHESIM_{}", self.key.to_uppercase())
    }
}

const fn option(key: &'static str, takes: Takes, unset: &'static str) -> ConfigOption {
    ConfigOption { key, takes, unset }
}

/// Where the requests come from.
pub static PATHS: ConfigOption =
    option("paths", Takes::Paths, "projects/ in $CLAUDE_CONFIG_DIR or ~/.claude");

/// The saved figures that `check` compares with.
pub static BASELINE: ConfigOption = option("baseline", Takes::Path, "none");

/// The keys of `[defaults]`.
pub static DEFAULTS: [&ConfigOption; 17] = [
    &PATHS,
    &option("strategy", Takes::Names, ""),
    &option("tokens", Takes::Word, ""),
    &option("shared_prefix", Takes::Word, ""),
    &option("lookback", Takes::Word, ""),
    &option("attribution", Takes::Word, ""),
    &option("betas", Takes::Word, ""),
    &option("ttl_change", Takes::Word, ""),
    &option("ttl_grace", Takes::Number, ""),
    &option("breaks", Takes::Word, ""),
    &option("reading", Takes::Word, ""),
    &option("prices", Takes::Paths, "none"),
    &option("platform", Takes::Word, ""),
    &option("jobs", Takes::Number, "one for each core"),
    &option("strict", Takes::Switch, "false"),
    &option("strict_prices", Takes::Switch, "false"),
    &option("color", Takes::Word, ""),
];

/// The keys of `[check]`.
pub static CHECK: [&ConfigOption; 2] = [&BASELINE, &PATHS];
