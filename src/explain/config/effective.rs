//! What holds for an option in the end.

use std::ffi::OsString;

use super::option::ConfigOption;
use super::origin::Origin;

/// What holds for an option, in commands where it is the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Effective {
    /// The option.
    pub option: &'static ConfigOption,
    /// The commands, in the order of the help.
    pub commands: Vec<String>,
    /// As they would be typed; none where the option has no value.
    pub values: Vec<OsString>,
    /// Where they come from.
    pub origin: Origin,
}
