//! Sorting, ordered collections and parallel work whose algorithms are compiled once.
//!
//! `slice::sort` is 2,000 lines of LLVM IR for each type that it sorts, and `rayon` 5,000 for each closure that it runs
//! over a list: together they were a tenth of a build. The functions here serve lists that are sorted or processed a
//! few times in a run; hot loops use the libraries themselves.

use std::cmp::Ordering;
use std::sync::OnceLock;

use rayon::iter::{IntoParallelIterator as _, ParallelIterator as _};

/// Stable sorting of a list.
pub(crate) trait Order<T> {
    /// Sorts by a comparison.
    fn order_by(&mut self, compare: impl FnMut(&T, &T) -> Ordering);

    /// Sorts by a key.
    fn order_by_key<K: Ord>(&mut self, mut key: impl FnMut(&T) -> K) {
        self.order_by(|one, other| key(one).cmp(&key(other)));
    }

    /// Sorts by the elements themselves.
    fn order(&mut self)
    where
        T: Ord,
    {
        self.order_by(Ord::cmp);
    }
}

impl<T> Order<T> for [T] {
    fn order_by(&mut self, mut compare: impl FnMut(&T, &T) -> Ordering) {
        // Sorts indexes through `dyn`, so that one sort is compiled for all types.
        let mut places =
            sorted_places(self.len(), &mut |one, other| compare(&self[one], &self[other]));
        // Follows each cycle of the permutation and swaps every element into its place.
        for start in 0..places.len() {
            let mut place = start;
            loop {
                let source = std::mem::replace(&mut places[place], place);
                if source == start {
                    break;
                }
                self.swap(place, source);
                place = source;
            }
        }
    }
}

/// Sorted elements of an iterator.
pub(crate) trait Ordered: Iterator + Sized {
    /// Elements in their order, each once. A `BTreeSet` is 3,000 lines of LLVM IR for each type.
    fn ordered(self) -> Vec<Self::Item>
    where
        Self::Item: Ord,
    {
        let mut list: Vec<Self::Item> = Vec::new();
        for element in self {
            // Most repetitions follow each other, and need not be sorted.
            if list.last() != Some(&element) {
                list.push(element);
            }
        }
        list.order();
        list.dedup();
        list
    }
}

impl<I: Iterator> Ordered for I {}

/// Indices of the elements in sorted order.
fn sorted_places(count: usize, compare: &mut dyn FnMut(usize, usize) -> Ordering) -> Vec<usize> {
    let mut places: Vec<usize> = (0..count).collect();
    places.sort_by(|one, other| compare(*one, *other));
    places
}

/// Parallel map, in the order of the elements.
pub(crate) fn side_by_side<'l, T: Sync, R: Send + Sync>(
    list: &'l [T],
    work: impl Fn(&'l T) -> R + Sync,
) -> Vec<R> {
    // Results go into cells, so that the closure for `rayon` is of one type, too.
    let results: Vec<OnceLock<R>> = list.iter().map(|_| OnceLock::new()).collect();
    each_place(list.len(), &|place| {
        // Each place is visited once, so its cell is still empty.
        let _is_first = results[place].set(work(&list[place])).is_ok();
    });
    let result = |cell: OnceLock<R>| cell.into_inner().expect("every place was worked on");
    results.into_iter().map(result).collect()
}

fn each_place(count: usize, work: &(dyn Fn(usize) + Sync)) {
    if count > 1 && (rayon::current_thread_index().is_some() || has_threads()) {
        (0..count).into_par_iter().for_each(work);
    } else {
        (0..count).for_each(work);
    }
}

/// Returns true if the threads outside of any pool can be started; `rayon` would panic.
fn has_threads() -> bool {
    static HAS: OnceLock<bool> = OnceLock::new();
    *HAS.get_or_init(|| {
        let started = rayon::ThreadPoolBuilder::new().build_global();
        // The only error without a source is that they are there already.
        started.err().is_none_or(|error| std::error::Error::source(&error).is_none())
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn lists_are_sorted_as_by_the_standard_library(
            list in prop::collection::vec((0_u8..8, any::<u32>()), 0..200),
        ) {
            let (mut ours, mut theirs) = (list.clone(), list);
            ours.order_by_key(|(key, _)| *key);
            theirs.sort_by_key(|(key, _)| *key);
            prop_assert_eq!(&ours, &theirs);
            ours.order();
            theirs.sort_by(Ord::cmp);
            prop_assert_eq!(ours, theirs);
        }
    }

    #[cfg_attr(miri, ignore)] // threads of the pool outlive the test
    #[test]
    fn results_stand_in_the_order_of_their_elements() {
        let list: Vec<u64> = (0..1_000).collect();
        let squares: Vec<u64> = list.iter().map(|one| one * one).collect();
        assert_eq!(side_by_side(&list, |one| one * one), squares);
        assert!(side_by_side(&[] as &[u64], |one| one * one).is_empty());
    }
}
