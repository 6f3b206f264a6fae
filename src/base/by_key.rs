//! Map in the order of its keys whose tree is compiled once for each type of key.
//!
//! `BTreeMap` is 5,000 lines of LLVM IR for each pair of types, and its hundred pairs were a tenth of the package; the
//! keys of most are strings. Here the tree leads from a key to the place of its value in a list, so that nothing but
//! the list knows the type of the values. Maps that lose keys or are searched by ranges are still `BTreeMap`.

use std::borrow::Borrow;
use std::collections::BTreeMap;
use std::collections::btree_map;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Index;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde::ser::{Serialize, Serializer};

/// Values by their keys, iterated in the order of the keys.
#[derive(Clone)]
pub struct ByKey<K, V> {
    /// Place in `values` of each key's value.
    places: BTreeMap<K, usize>,
    /// Values in the order in which their keys were first seen.
    values: Vec<V>,
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
        Self { places: BTreeMap::new(), values: Vec::new() }
    }

    /// Number of keys.
    #[must_use]
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// True if there is no key.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Keys in their order.
    pub fn keys(&self) -> btree_map::Keys<'_, K, usize> {
        self.places.keys()
    }

    /// Values in the order of their keys.
    #[must_use]
    pub fn values(&self) -> impl DoubleEndedIterator<Item = &V> + ExactSizeIterator {
        self.places.values().map(|place| &self.values[*place])
    }

    /// Keys and values, in the order of the keys.
    #[must_use]
    pub fn iter(&self) -> Iter<'_, K, V> {
        Iter { places: self.places.iter(), values: &self.values }
    }

    /// Keys and values, in the order of the keys.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (&K, &mut V)> {
        let mut values: Vec<Option<&mut V>> = self.values.iter_mut().map(Some).collect();
        // Each place has one key, so no value is taken twice.
        self.places.iter().filter_map(move |(key, place)| Some((key, values[*place].take()?)))
    }

    /// Values in no certain order.
    pub fn values_mut(&mut self) -> std::slice::IterMut<'_, V> {
        self.values.iter_mut()
    }

    /// Values in the order of their keys.
    pub fn into_values(self) -> impl Iterator<Item = V> {
        self.into_iter().map(|(_, value)| value)
    }
}

impl<K: Ord, V> ByKey<K, V> {
    /// Value of a key.
    pub fn get<Q: Ord + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        self.places.get(key).map(|place| &self.values[*place])
    }

    /// Value of a key.
    pub fn get_mut<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        self.places.get(key).map(|place| &mut self.values[*place])
    }

    /// True if the key has a value.
    pub fn contains_key<Q: Ord + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.places.contains_key(key)
    }

    /// Sets the value of a key and returns the one that it had.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        let place = self.place(key);
        if let Some(old) = self.values.get_mut(place) {
            return Some(std::mem::replace(old, value));
        }
        self.values.push(value);
        None
    }

    /// Room of a key's value.
    pub fn entry(&mut self, key: K) -> Entry<'_, V> {
        Entry { place: self.place(key), values: &mut self.values }
    }

    /// Place of a key's value: the end of the list for a new key.
    fn place(&mut self, key: K) -> usize {
        let end = self.values.len();
        *self.places.entry(key).or_insert(end)
    }
}

/// Room of a key's value, which has to be filled: the key is there already.
#[must_use]
pub struct Entry<'m, V> {
    place: usize,
    values: &'m mut Vec<V>,
}

impl<'m, V> Entry<'m, V> {
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
        if self.place == self.values.len() {
            self.values.push(value());
        }
        &mut self.values[self.place]
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
        &self.values[self.places[key]]
    }
}

/// Keys and values of a borrowed map.
pub struct Iter<'m, K, V> {
    places: btree_map::Iter<'m, K, usize>,
    values: &'m [V],
}

impl<'m, K, V> Iterator for Iter<'m, K, V> {
    type Item = (&'m K, &'m V);

    fn next(&mut self) -> Option<Self::Item> {
        self.places.next().map(|(key, place)| (key, &self.values[*place]))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.places.size_hint()
    }
}

impl<K, V> DoubleEndedIterator for Iter<'_, K, V> {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.places.next_back().map(|(key, place)| (key, &self.values[*place]))
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
    places: btree_map::IntoIter<K, usize>,
    values: Vec<Option<V>>,
}

impl<K, V> Iterator for IntoIter<K, V> {
    type Item = (K, V);

    fn next(&mut self) -> Option<Self::Item> {
        let (key, place) = self.places.next()?;
        Some((key, self.values[place].take()?))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.places.size_hint()
    }
}

impl<K, V> IntoIterator for ByKey<K, V> {
    type Item = (K, V);
    type IntoIter = IntoIter<K, V>;

    fn into_iter(self) -> Self::IntoIter {
        let values = self.values.into_iter().map(Some).collect();
        IntoIter { places: self.places.into_iter(), values }
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
