//! Sweeps: what a strategy of a file can be, as a tree of choices, and each of its combinations.

use super::draft::Draft;
use super::error::Contradiction;
use super::parameter::Change;
use crate::simulate::strategy::design::Design;

/// What a strategy, a table of it or a value of it can be.
pub(super) enum Choice {
    /// This value.
    One(Setting),
    /// One of these: a list.
    Any(Vec<Choice>),
    /// One of each of these: a table.
    Each(Vec<Choice>),
}

/// The value of a key.
pub(super) struct Setting {
    /// The key.
    pub(super) key: &'static str,
    /// Where the value stands in the file.
    pub(super) offset: usize,
    /// The value as names of combinations have it; `None` where nothing else could stand here.
    pub(super) swept: Option<String>,
    /// What it does.
    pub(super) change: Change,
}

/// The settings of one strategy.
#[derive(Clone, Default)]
pub(super) struct Combination<'a>(Vec<&'a Setting>);

impl Choice {
    /// How many combinations there are; far beyond every bound it saturates.
    pub(super) fn count(&self) -> u128 {
        match self {
            Self::One(_) => 1,
            Self::Any(choices) => choices.iter().map(Self::count).fold(0, u128::saturating_add),
            Self::Each(choices) => choices.iter().map(Self::count).fold(1, u128::saturating_mul),
        }
    }

    /// All combinations, the last sweep running fastest.
    pub(super) fn combinations(&self) -> Vec<Combination<'_>> {
        match self {
            Self::One(setting) => vec![Combination(vec![setting])],
            Self::Any(choices) => choices.iter().flat_map(Self::combinations).collect(),
            Self::Each(choices) => {
                choices.iter().fold(vec![Combination::default()], |before, choice| {
                    let next = choice.combinations();
                    before
                        .iter()
                        .flat_map(|front| next.iter().map(|back| front.and(back)))
                        .collect()
                })
            }
        }
    }
}

impl Combination<'_> {
    fn and(&self, other: &Self) -> Self {
        Self([self.0.as_slice(), &other.0].concat())
    }

    /// A strategy's name with the swept values: `hour-and-ping[ttl=5m,keepalive.every=4m30s]`.
    pub(super) fn name(&self, strategy: &str) -> String {
        let swept = self.0.iter().filter_map(|setting| {
            setting.swept.as_ref().map(|value| format!("{}={value}", setting.key))
        });
        let swept: Vec<String> = swept.collect();
        if swept.is_empty() {
            return strategy.to_owned();
        }
        format!("{strategy}[{}]", swept.join(","))
    }

    /// The design, unless it contradicts itself.
    pub(super) fn design(&self) -> Result<Design, Contradiction> {
        let mut draft = Draft::default();
        for setting in &self.0 {
            (setting.change)(&mut draft)?;
        }
        draft.finish()
    }

    /// Where a key, or the first one of its table, has its value.
    pub(super) fn offset(&self, key: &str) -> Option<usize> {
        let is_in = |own: &str| {
            own.strip_prefix(key).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        self.0.iter().find(|setting| is_in(setting.key)).map(|setting| setting.offset)
    }
}
