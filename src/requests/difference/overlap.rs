//! How much two sequences have in common at their ends.

use std::ops::Range;

/// How many elements are the same from the beginning on.
pub(crate) fn common_start<T: PartialEq>(one: &[T], other: &[T]) -> usize {
    one.iter().zip(other).take_while(|(one, other)| one == other).count()
}

/// How many elements are the same up to the end.
pub(crate) fn common_end<T: PartialEq>(one: &[T], other: &[T]) -> usize {
    one.iter().rev().zip(other.iter().rev()).take_while(|(one, other)| one == other).count()
}

/// The stretches of both that lie between what is the same from the beginning on and what is the same
/// up to the end; `None` where both are the same.
pub(crate) fn differing<T: PartialEq>(
    one: &[T],
    other: &[T],
) -> Option<(Range<usize>, Range<usize>)> {
    let start = common_start(one, other);
    let end = common_end(&one[start..], &other[start..]);
    let (one, other) = (start..one.len() - end, start..other.len() - end);
    (!one.is_empty() || !other.is_empty()).then_some((one, other))
}

/// How many bytes two different texts share at their beginning and at their end.
pub(crate) fn same_ends(before: &str, after: &str) -> usize {
    let (before, after) = (before.as_bytes(), after.as_bytes());
    let same = common_start(before, after);
    same + common_end(&before[same..], &after[same..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_share_their_ends() {
        assert_eq!(same_ends("now 10:00, go", "now 10:05, go"), 12);
        assert_eq!(same_ends("aa", "aaa"), 2);
        assert_eq!(same_ends("ab", "cd"), 0);
    }

    #[test]
    fn what_differs_lies_between_the_ends() {
        assert_eq!(differing(&[1, 2, 3], &[1, 2, 3]), None);
        assert_eq!(differing(&[1, 2, 3], &[1, 4, 5, 3]), Some((1..2, 1..3)));
        assert_eq!(differing(&[1, 1], &[1]), Some((1..2, 1..1)));
    }
}
