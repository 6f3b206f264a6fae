//! How a figure is known.

use schemars::JsonSchema;
use serde::Serialize;

/// What a figure rests on. The worst basis of its parts is that of a sum.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema, Serialize,
)]
#[serde(rename_all = "lowercase")]
pub enum Basis {
    /// The provider reported it.
    #[default]
    Measured,
    /// It follows from reported figures and the rules alone.
    Derived,
    /// A calibrated size or a likely but unrecorded event decided it. (The few tokens of overhead
    /// after the last marker, which repeat from request to request, do not count as one.)
    Estimated,
}

impl Basis {
    /// The word used in every output.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Measured => "measured",
            Self::Derived => "derived",
            Self::Estimated => "estimated",
        }
    }
}
