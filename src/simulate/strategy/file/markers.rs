//! Places of markers as a file gives them: a word, or a table with one key.

use enumset::EnumSet;
use serde::de::Error;
use serde::{Deserialize, Deserializer};

use crate::base::bounded::Count;
use crate::simulate::cache::Refusal;
use crate::simulate::strategy::design::{Anchor, Layout, MOST_MARKERS};

/// Places of the markers.
#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub(crate) enum LayoutKeys {
    /// Recorded places.
    AsRecorded,
    /// Nowhere: everything is sent in full.
    None,
    /// After the system prompt.
    SystemOnly,
    /// After the last message.
    LastMessage,
    /// After the previous request, or its unchanged part, and after the last message.
    LastTwo,
    /// These places.
    #[serde(deserialize_with = "places")]
    At(
        #[cfg_attr(test, schemars(with = "std::collections::BTreeSet<Anchor>"))]
        #[cfg_attr(test, schemars(length(min = 1, max = 4)))]
        EnumSet<Anchor>,
    ),
    /// Regular distance in blocks, with the latest four markers.
    Every(#[serde(with = "Count")] u32),
    /// Number of markers at equal distances in blocks, with the last one at the end.
    #[serde(deserialize_with = "number")]
    Even(#[cfg_attr(test, schemars(with = "crate::base::bounded::Bounded<1, 4>"))] u32),
}

impl From<LayoutKeys> for Layout {
    fn from(keys: LayoutKeys) -> Self {
        match keys {
            LayoutKeys::AsRecorded => Self::AsRecorded,
            LayoutKeys::None => Self::Nowhere,
            LayoutKeys::SystemOnly => Self::At(Anchor::System.into()),
            LayoutKeys::LastMessage => Self::At(Anchor::Last.into()),
            LayoutKeys::LastTwo => Self::At(Anchor::Previous | Anchor::Last),
            LayoutKeys::At(places) => Self::At(places),
            LayoutKeys::Every(blocks) => Self::Every(blocks),
            LayoutKeys::Even(count) => Self::Even(count),
        }
    }
}

fn places<'de, D: Deserializer<'de>>(deserializer: D) -> Result<EnumSet<Anchor>, D::Error> {
    let places = Vec::<Anchor>::deserialize(deserializer)?;
    if places.is_empty() {
        return Err(D::Error::custom("there is no place; leave it out, or give one"));
    }
    let count = u32::try_from(places.len()).unwrap_or(u32::MAX);
    accepted(count)?;
    let mut all = EnumSet::empty();
    for place in places {
        if !all.insert(place) {
            return Err(D::Error::custom(format!("`{}` is there twice", place.name())));
        }
    }
    Ok(all)
}

fn number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    Count::deserialize(deserializer).and_then(accepted)
}

/// Number of markers, if the service accepts so many.
fn accepted<E: Error>(count: u32) -> Result<u32, E> {
    if count <= MOST_MARKERS {
        return Ok(count);
    }
    Err(E::custom(format!(
        "the service refuses {count} markers, the most is {MOST_MARKERS} ({})",
        Refusal::TooManyBreakpoints.name()
    )))
}
