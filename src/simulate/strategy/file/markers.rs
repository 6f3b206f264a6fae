//! Places of markers as a file gives them: a word, or a table with one key.

use enumset::EnumSet;
use serde::de::Error;
use serde::{Deserialize, Deserializer};

use super::word_or::{WordOr, Words};
use crate::base::bounded::{Bounded, Unit};
use crate::simulate::cache::MOST_MARKERS;
use crate::simulate::cache::Refusal;
use crate::simulate::strategy::design::{Anchor, Layout};

/// Places of the markers in a word.
#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub(crate) enum LayoutWord {
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
}

/// Places of the markers by one key.
#[derive(Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(extend("minProperties" = 1, "maxProperties" = 1)))]
#[serde(default, deny_unknown_fields)]
pub(crate) struct LayoutTable {
    /// These places.
    #[serde(deserialize_with = "places")]
    #[cfg_attr(test, schemars(with = "std::collections::BTreeSet<Anchor>"))]
    #[cfg_attr(test, schemars(length(min = 1, max = 4)))]
    at: Option<EnumSet<Anchor>>,
    /// Regular distance in blocks, with the latest four markers.
    #[serde(with = "BlockCount")]
    every: Option<u32>,
    /// Number of markers at equal distances in blocks, with the last one at the end.
    #[serde(with = "MarkerCount")]
    even: Option<u32>,
}

/// Places of the markers.
pub(crate) type LayoutKeys = WordOr<LayoutWord, LayoutTable>;

type BlockCount = Bounded<Blocks, 1, 1_000_000>;
type MarkerCount = Bounded<Markers, 1, { MOST_MARKERS as u64 }>;

/// Blocks of a prompt.
enum Blocks {}
/// Markers of a request.
enum Markers {}

impl Words for LayoutWord {
    const EXPECTED: &'static str = "\"as-recorded\", \"none\", \"system-only\", \"last-message\", \
        \"last-two\" or a table of `at`, `every` or `even`";
}

impl Unit for Blocks {
    const NUMBER: &'static str = "a number of blocks";
}

impl Unit for Markers {
    const NUMBER: &'static str = "a number of markers";

    fn refusal(count: u64) -> Option<String> {
        let refused = || {
            format!(
                "the service refuses {count} markers, the most is {MOST_MARKERS} ({})",
                Refusal::TooManyBreakpoints.name()
            )
        };
        (count > MOST_MARKERS as u64).then(refused)
    }
}

impl TryFrom<LayoutKeys> for Layout {
    type Error = &'static str;

    fn try_from(keys: LayoutKeys) -> Result<Self, Self::Error> {
        match keys {
            WordOr::Word(word) => Ok(word.into()),
            WordOr::Table(table) => table.layout().ok_or("give one of `at`, `every` and `even`"),
        }
    }
}

impl From<LayoutWord> for Layout {
    fn from(word: LayoutWord) -> Self {
        match word {
            LayoutWord::AsRecorded => Self::AsRecorded,
            LayoutWord::None => Self::Nowhere,
            LayoutWord::SystemOnly => Self::At(Anchor::System.into()),
            LayoutWord::LastMessage => Self::At(Anchor::Last.into()),
            LayoutWord::LastTwo => Self::At(Anchor::Previous | Anchor::Last),
        }
    }
}

impl LayoutTable {
    /// Layout, if exactly one key is given.
    fn layout(self) -> Option<Layout> {
        match (self.at, self.every, self.even) {
            (Some(places), None, None) => Some(Layout::At(places)),
            (None, Some(blocks), None) => Some(Layout::Every(blocks)),
            (None, None, Some(count)) => Some(Layout::Even(count)),
            _ => None,
        }
    }
}

fn places<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<EnumSet<Anchor>>, D::Error> {
    let places = Vec::<Anchor>::deserialize(deserializer)?;
    if places.is_empty() {
        return Err(D::Error::custom("there is no place; leave it out, or give one"));
    }
    if let Some(reason) = Markers::refusal(places.len() as u64) {
        return Err(D::Error::custom(reason));
    }
    let mut all = EnumSet::empty();
    for place in places {
        if !all.insert(place) {
            return Err(D::Error::custom(format!("`{}` is there twice", place.name())));
        }
    }
    Ok(Some(all))
}
