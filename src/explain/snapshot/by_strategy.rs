//! Totals by strategy.

use std::sync::Arc;

use crate::base::ByKey;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Totals with their strategies' names, in the order of the strategies.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(transparent))]
pub struct ByStrategy<T, N = Arc<str>>(
    #[cfg_attr(test, schemars(with = "ByKey<N, T>"))] pub Vec<(N, T)>,
);

impl<T, N: AsRef<str>> ByStrategy<T, N> {
    /// Totals of a strategy.
    pub fn get(&self, strategy: &str) -> Option<&T> {
        self.0.iter().find(|(name, _)| name.as_ref() == strategy).map(|(_, value)| value)
    }
}

impl<T, N> Default for ByStrategy<T, N> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T, N> FromIterator<(N, T)> for ByStrategy<T, N> {
    fn from_iter<I: IntoIterator<Item = (N, T)>>(values: I) -> Self {
        Self(values.into_iter().collect())
    }
}

impl<T: Serialize, N: Serialize> Serialize for ByStrategy<T, N> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for ByStrategy<T> {
    /// Sorted by the names, as the order of the strategies is not saved.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        ByKey::deserialize(deserializer).map(|values| values.into_iter().collect())
    }
}
