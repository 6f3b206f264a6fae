//! Map in the order of its keys whose search is compiled once for all types.
//!
//! `BTreeMap` is 5,000 lines of LLVM IR for each pair of types, and its hundred pairs were a tenth of the package. Here
//! keys and values are a list in the order of insertion, and its places are kept in the order of the keys, by a search
//! that knows no key: it is given the comparison. Maps that lose keys or are searched by ranges are still `BTreeMap`.

use std::borrow::Borrow;
use std::cmp::Ordering;
#[cfg(test)]
use std::collections::BTreeMap;
use std::fmt;
use std::iter::Flatten;
use std::marker::PhantomData;
use std::ops::Index;
use std::{slice, vec};

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde::ser::{Serialize, Serializer};

/// Longest run of places that is moved for a new key.
const LONGEST_RUN: usize = 512;

/// Places of a list in the order of its keys, in runs that are not empty: a tree of two levels.
#[derive(Clone, Default)]
struct Places {
    runs: Vec<Vec<usize>>,
}

impl Places {
    /// Place whose key is equal to the one looked for, or the run and the place in it where that one belongs. `compare`
    /// holds the key of a place against it.
    fn find(&self, compare: &dyn Fn(usize) -> Ordering) -> Result<usize, (usize, usize)> {
        let is_before = |run: &Vec<usize>| compare(run[0]).is_le();
        let at = self.runs.partition_point(is_before).saturating_sub(1);
        let Some(run) = self.runs.get(at) else { return Err((0, 0)) };
        match run.binary_search_by(|place| compare(*place)) {
            Ok(found) => Ok(run[found]),
            Err(within) => Err((at, within)),
        }
    }

    /// Adds a place where its key belongs.
    fn insert(&mut self, (at, within): (usize, usize), place: usize) {
        let Some(run) = self.runs.get_mut(at) else { return self.runs.push(vec![place]) };
        run.insert(within, place);
        if run.len() > LONGEST_RUN {
            // The last run is left full: keys often come in their order.
            let is_at_end = within + 1 == run.len();
            let rest = run.split_off(if is_at_end { within } else { LONGEST_RUN / 2 });
            self.runs.insert(at + 1, rest);
        }
    }

    fn iter(&self) -> Flatten<slice::Iter<'_, Vec<usize>>> {
        self.runs.iter().flatten()
    }
}

/// Values by their keys, iterated in the order of the keys.
#[derive(Clone)]
pub struct ByKey<K, V> {
    places: Places,
    /// Keys and values in the order in which the keys were first seen.
    pairs: Vec<(K, V)>,
}

impl<K, V> Default for ByKey<K, V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K, V> ByKey<K, V> {
    /// Map without keys.
    #[must_use]
    pub const fn new() -> Self {
        Self { places: Places { runs: Vec::new() }, pairs: Vec::new() }
    }

    /// Number of keys.
    #[must_use]
    pub fn len(&self) -> usize {
        self.pairs.len()
    }

    /// True if there is no key.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }

    /// Keys in their order.
    pub fn keys(&self) -> impl DoubleEndedIterator<Item = &K> {
        self.iter().map(|(key, _)| key)
    }

    /// Values in the order of their keys.
    #[must_use]
    pub fn values(&self) -> impl DoubleEndedIterator<Item = &V> + ExactSizeIterator {
        self.iter().map(|(_, value)| value)
    }

    /// Keys and values, in the order of the keys.
    #[must_use]
    pub fn iter(&self) -> Iter<'_, K, V> {
        Iter { places: self.places.iter(), pairs: &self.pairs, left: self.len() }
    }

    /// Keys and values, in the order of the keys.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (&K, &mut V)> {
        let pairs = self.pairs.iter_mut().map(|(key, value)| (&*key, value));
        let mut pairs: Vec<_> = pairs.map(Some).collect();
        // Each place is there once, so no pair is taken twice.
        self.places.iter().filter_map(move |place| pairs[*place].take())
    }

    /// Values in no certain order.
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut V> {
        self.pairs.iter_mut().map(|(_, value)| value)
    }

    /// Values in the order of their keys.
    pub fn into_values(self) -> impl Iterator<Item = V> {
        self.into_iter().map(|(_, value)| value)
    }
}

impl<K: Ord, V> ByKey<K, V> {
    /// Place of a key's pair, or where the key belongs.
    fn find<Q: Ord + ?Sized>(&self, key: &Q) -> Result<usize, (usize, usize)>
    where
        K: Borrow<Q>,
    {
        self.places.find(&|place| self.pairs[place].0.borrow().cmp(key))
    }

    /// Value of a key.
    pub fn get<Q: Ord + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        self.find(key).ok().map(|place| &self.pairs[place].1)
    }

    /// Value of a key.
    pub fn get_mut<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        self.find(key).ok().map(|place| &mut self.pairs[place].1)
    }

    /// True if the key has a value.
    pub fn contains_key<Q: Ord + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.find(key).is_ok()
    }

    /// Sets the value of a key and returns the one that it had.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        match self.find(&key) {
            Ok(place) => Some(std::mem::replace(&mut self.pairs[place].1, value)),
            Err(room) => {
                self.places.insert(room, self.pairs.len());
                self.pairs.push((key, value));
                None
            }
        }
    }

    /// Room of a key's value.
    pub fn entry(&mut self, key: K) -> Entry<'_, K, V> {
        Entry { found: self.find(&key), key, map: self }
    }
}

/// Room of a key's value.
#[must_use]
pub struct Entry<'m, K, V> {
    found: Result<usize, (usize, usize)>,
    key: K,
    map: &'m mut ByKey<K, V>,
}

impl<'m, K, V> Entry<'m, K, V> {
    /// The key's value, at first the default.
    pub fn or_default(self) -> &'m mut V
    where
        V: Default,
    {
        self.or_insert_with(V::default)
    }

    /// The key's value, at first the given one.
    pub fn or_insert(self, value: V) -> &'m mut V {
        self.or_insert_with(|| value)
    }

    /// The key's value, at first the one that is made.
    pub fn or_insert_with(self, value: impl FnOnce() -> V) -> &'m mut V {
        let Self { found, key, map } = self;
        let place = found.unwrap_or_else(|room| {
            let end = map.pairs.len();
            map.places.insert(room, end);
            map.pairs.push((key, value()));
            end
        });
        &mut map.pairs[place].1
    }
}

impl<K: Ord, V> Extend<(K, V)> for ByKey<K, V> {
    fn extend<I: IntoIterator<Item = (K, V)>>(&mut self, pairs: I) {
        for (key, value) in pairs {
            self.insert(key, value);
        }
    }
}

impl<K: Ord, V> FromIterator<(K, V)> for ByKey<K, V> {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(pairs: I) -> Self {
        let mut map = Self::new();
        map.extend(pairs);
        map
    }
}

impl<K: Ord, V, const N: usize> From<[(K, V); N]> for ByKey<K, V> {
    fn from(pairs: [(K, V); N]) -> Self {
        pairs.into_iter().collect()
    }
}

impl<K: Ord + Borrow<Q>, Q: Ord + ?Sized, V> Index<&Q> for ByKey<K, V> {
    type Output = V;

    fn index(&self, key: &Q) -> &V {
        self.get(key).expect("the key has a value")
    }
}

/// Keys and values of a borrowed map.
pub struct Iter<'m, K, V> {
    places: Flatten<slice::Iter<'m, Vec<usize>>>,
    pairs: &'m [(K, V)],
    /// Number of pairs that are still to come.
    left: usize,
}

impl<'m, K, V> Iter<'m, K, V> {
    fn pair(&mut self, place: Option<&usize>) -> Option<(&'m K, &'m V)> {
        let (key, value) = &self.pairs[*place?];
        self.left -= 1;
        Some((key, value))
    }
}

impl<'m, K, V> Iterator for Iter<'m, K, V> {
    type Item = (&'m K, &'m V);

    fn next(&mut self) -> Option<Self::Item> {
        let place = self.places.next();
        self.pair(place)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl<K, V> DoubleEndedIterator for Iter<'_, K, V> {
    fn next_back(&mut self) -> Option<Self::Item> {
        let place = self.places.next_back();
        self.pair(place)
    }
}

impl<K, V> ExactSizeIterator for Iter<'_, K, V> {}

impl<'m, K, V> IntoIterator for &'m ByKey<K, V> {
    type Item = (&'m K, &'m V);
    type IntoIter = Iter<'m, K, V>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// Keys and values of a map.
pub struct IntoIter<K, V> {
    places: Flatten<vec::IntoIter<Vec<usize>>>,
    pairs: Vec<Option<(K, V)>>,
}

impl<K, V> Iterator for IntoIter<K, V> {
    type Item = (K, V);

    fn next(&mut self) -> Option<Self::Item> {
        self.pairs[self.places.next()?].take()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, Some(self.pairs.len()))
    }
}

impl<K, V> IntoIterator for ByKey<K, V> {
    type Item = (K, V);
    type IntoIter = IntoIter<K, V>;

    fn into_iter(self) -> Self::IntoIter {
        let pairs = self.pairs.into_iter().map(Some).collect();
        IntoIter { places: self.places.runs.into_iter().flatten(), pairs }
    }
}

impl<K: PartialEq, V: PartialEq> PartialEq for ByKey<K, V> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other)
    }
}

impl<K: Eq, V: Eq> Eq for ByKey<K, V> {}

impl<K: fmt::Debug, V: fmt::Debug> fmt::Debug for ByKey<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self).finish()
    }
}

impl<K: Serialize, V: Serialize> Serialize for ByKey<K, V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self)
    }
}

impl<'de, K: Deserialize<'de> + Ord, V: Deserialize<'de>> Deserialize<'de> for ByKey<K, V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Pairs(PhantomData))
    }
}

/// Reader of a map's pairs; the last pair of a key holds.
struct Pairs<K, V>(PhantomData<(K, V)>);

impl<'de, K: Deserialize<'de> + Ord, V: Deserialize<'de>> Visitor<'de> for Pairs<K, V> {
    type Value = ByKey<K, V>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut pairs: A) -> Result<Self::Value, A::Error> {
        let mut map = ByKey::new();
        while let Some((key, value)) = pairs.next_entry()? {
            map.insert(key, value);
        }
        Ok(map)
    }
}

#[cfg(test)]
impl<K, V: schemars::JsonSchema> schemars::JsonSchema for ByKey<K, V>
where
    BTreeMap<K, V>: schemars::JsonSchema,
{
    fn schema_name() -> std::borrow::Cow<'static, str> {
        BTreeMap::<K, V>::schema_name()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        BTreeMap::<K, V>::json_schema(generator)
    }

    fn inline_schema() -> bool {
        BTreeMap::<K, V>::inline_schema()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_is_a_map_in_the_order_of_its_keys(
            pairs in prop::collection::vec((0_u8..20, any::<u32>()), 0..60),
            added in prop::collection::vec(0_u8..20, 0..20),
        ) {
            let mut ours: ByKey<u8, u32> = pairs.iter().copied().collect();
            let mut theirs: BTreeMap<u8, u32> = pairs.iter().copied().collect();
            for key in added {
                *ours.entry(key).or_default() ^= 1;
                *theirs.entry(key).or_default() ^= 1;
                prop_assert_eq!(ours.insert(key / 2, 7), theirs.insert(key / 2, 7));
            }
            prop_assert!(ours.iter().eq(&theirs));
            prop_assert!(ours.iter().rev().eq(theirs.iter().rev()));
            prop_assert!(ours.values().eq(theirs.values()));
            prop_assert!(ours.iter_mut().eq(theirs.iter_mut()));
            for key in 0..20 {
                prop_assert_eq!(ours.get(&key), theirs.get(&key));
            }
            let text = serde_json::to_string(&theirs)?;
            prop_assert_eq!(serde_json::to_string(&ours)?, text.clone());
            prop_assert_eq!(serde_json::from_str::<ByKey<u8, u32>>(&text)?, ours.clone());
            prop_assert!(ours.into_iter().eq(theirs));
        }
    }

    #[test]
    fn the_order_of_insertion_makes_no_difference() {
        assert_eq!(ByKey::from([(1, 'a'), (2, 'b')]), ByKey::from([(2, 'b'), (1, 'a')]));
        assert_ne!(ByKey::from([(1, 'a'), (2, 'b')]), ByKey::from([(2, 'a'), (1, 'b')]));
    }
}
