//! Configuration: what the options of the program are where nobody gives them, from files and the
//! environment, and what `check` holds against.
//!
//! ```toml
//! schema = "cachesim.config/v1"
//!
//! [defaults]
//! strategy = ["billed", "replay"]
//! paths = ["sessions/"]
//!
//! [check]
//! baseline = "baseline.json"
//! ```
//!
//! Which options there are stands in `option.rs` and nowhere else. What an option accepts, only the
//! command line knows; it is asked through [`Accepts`], so that a value is refused where it stands.
//!
//! `explain/config/option.rs` is the one table of options, for keys, variables and `config show`.
//! The command line is parsed once to know which files are wanted, and once more with what they
//! say as clap's defaults; so whatever is typed holds over it, and commands do not know of it.
//! Each value is checked by the parsers of all options of that name, where it stands.

mod file;
mod layers;
mod value;

pub use file::{Accepts, Config, ConfigError, PlacedBudget, SCHEMA};
pub use layers::{ConfigFile, Configuration, Effective, Files, Level, Origin, load};
pub(crate) use value::is_file;
pub use value::{
    BASELINE, CHECK, ConfigOption, DEFAULTS, PATHS, Setting, Takes, from_environment, switch,
};
