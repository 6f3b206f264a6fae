//! How much two sequences have in common at their ends.

/// How many elements are the same from the beginning on.
pub(crate) fn common_start<T: PartialEq>(one: &[T], other: &[T]) -> usize {
    one.iter().zip(other).take_while(|(one, other)| one == other).count()
}

/// How many elements are the same up to the end.
pub(crate) fn common_end<T: PartialEq>(one: &[T], other: &[T]) -> usize {
    one.iter().rev().zip(other.iter().rev()).take_while(|(one, other)| one == other).count()
}
