//! Sweeps: lists in the table of a strategy, and the tables with one value of each.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::base::toml_text::{Fault, entries, written};

/// Key whose value is itself a list, so that a sweep is a list of lists.
const LIST: &str = "markers.at";

/// Value with one choice of each sweep.
#[derive(Clone)]
pub(super) struct Combination<'a> {
    pub(super) value: Spanned<DeValue<'a>>,
    /// Swept keys with their values, as names write them.
    swept: Vec<String>,
}

impl Combination<'_> {
    /// Name of the strategy with the swept values: `hour-and-ping[ttl=5m,keepalive.every=4m30s]`.
    pub(super) fn name(&self, strategy: &str) -> String {
        match self.swept.join(",") {
            swept if swept.is_empty() => strategy.to_owned(),
            swept => format!("{strategy}[{swept}]"),
        }
    }
}

/// Value of a key, or one choice of its sweep.
#[derive(Clone, Copy)]
pub(super) struct Choice<'k, 'v, 'a> {
    /// Key with those of the tables around it, joined by dots; empty for the strategy itself.
    key: &'k str,
    value: &'v Spanned<DeValue<'a>>,
    is_swept: bool,
}

impl<'v, 'a> Choice<'_, 'v, 'a> {
    /// The whole table of a strategy.
    pub(super) fn all(value: &'v Spanned<DeValue<'a>>) -> Self {
        Self { key: "", value, is_swept: false }
    }

    /// Values of a list if it is a sweep.
    fn sweep(&self) -> Option<&'v [Spanned<DeValue<'a>>]> {
        let values = self.value.get_ref().as_array()?;
        let is_list_of_lists = || values.first().is_some_and(|first| first.get_ref().is_array());
        (self.key != LIST || is_list_of_lists()).then_some(values)
    }

    /// Number of combinations; it saturates far above any limit.
    pub(super) fn count(&self) -> Result<u128, Fault> {
        let Some(values) = self.sweep() else { return self.count_in(self.value) };
        if values.is_empty() {
            let message = format!("`{}` is a sweep without values", self.key);
            return Err(Fault::at(self.value.span().start, message));
        }
        let mut counts = values.iter().map(|value| self.count_in(value));
        counts.try_fold(0, |sum: u128, count| Ok(sum.saturating_add(count?)))
    }

    fn count_in(&self, value: &Spanned<DeValue<'_>>) -> Result<u128, Fault> {
        let Some(table) = value.get_ref().as_table() else { return Ok(1) };
        let mut counts = entries(table).into_iter().map(|(key, value)| {
            Choice { key: &self.path(key.get_ref()), value, is_swept: false }.count()
        });
        counts.try_fold(1, |product: u128, count| Ok(product.saturating_mul(count?)))
    }

    /// All combinations, with the last sweep varying fastest.
    pub(super) fn combinations(&self) -> Vec<Combination<'a>> {
        match self.sweep() {
            Some(values) => values
                .iter()
                .flat_map(|value| Self { value, is_swept: true, ..*self }.of_one())
                .collect(),
            None => self.of_one(),
        }
    }

    /// Combinations of a value that is no sweep.
    fn of_one(&self) -> Vec<Combination<'a>> {
        let (span, is_swept) = (self.value.span(), self.is_swept);
        let Some(table) = self.value.get_ref().as_table() else {
            let swept = is_swept.then(|| format!("{}={}", self.key, written(self.value.get_ref())));
            return vec![Combination { value: self.value.clone(), swept: Vec::from_iter(swept) }];
        };
        let mut tables = vec![(DeTable::new(), Vec::new())];
        for (key, value) in entries(table) {
            let next = Choice { key: &self.path(key.get_ref()), value, is_swept }.combinations();
            let with = |(front, named): &(DeTable<'a>, Vec<String>)| {
                let (front, named) = (front.clone(), named.clone());
                next.iter().map(move |back| {
                    let mut table = front.clone();
                    table.insert(key.clone(), back.value.clone());
                    (table, [&named[..], &back.swept].concat())
                })
            };
            tables = tables.iter().flat_map(with).collect();
        }
        let combination = |(table, swept)| Combination {
            value: Spanned::new(span.clone(), DeValue::Table(table)),
            swept,
        };
        tables.into_iter().map(combination).collect()
    }

    fn path(&self, key: &str) -> String {
        if self.key.is_empty() { key.to_owned() } else { format!("{}.{key}", self.key) }
    }
}
