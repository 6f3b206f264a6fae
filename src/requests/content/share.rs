//! Whole tokens shared out by weights.

/// Shares `total` out in proportion to `weights`, by largest remainders: the parts add up to it,
/// and none is off its exact share by a whole token. Weights of zero get nothing, unless all are.
pub(crate) fn share(total: u64, weights: &[u64]) -> Vec<u64> {
    let sum: u128 = weights.iter().map(|weight| u128::from(*weight)).sum();
    if sum == 0 {
        return share_evenly(total, weights.len());
    }
    let mut remainders = Vec::with_capacity(weights.len());
    let mut parts = Vec::with_capacity(weights.len());
    let mut left = total;
    for (index, weight) in weights.iter().enumerate() {
        let exact = u128::from(total) * u128::from(*weight);
        // No more than `total`, which has 64 bits.
        let part = u64::try_from(exact / sum).unwrap_or(total);
        left -= part;
        parts.push(part);
        remainders.push((exact % sum, index));
    }
    remainders.sort_by_key(|(remainder, index)| (std::cmp::Reverse(*remainder), *index));
    for (_, index) in remainders.into_iter().take(usize::try_from(left).unwrap_or(usize::MAX)) {
        parts[index] += 1;
    }
    parts
}

fn share_evenly(total: u64, parts: usize) -> Vec<u64> {
    if parts == 0 { Vec::new() } else { share(total, &vec![1; parts]) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_remainders_get_what_is_left() {
        // 10/3 and 20/3 of ten: 3.33 and 6.67.
        assert_eq!(share(10, &[1, 2]), [3, 7]);
        assert_eq!(share(5, &[1, 1, 1]), [2, 2, 1]);
        assert_eq!(share(7, &[0, 3, 0]), [0, 7, 0]);
        assert_eq!(share(3, &[0, 0]), [2, 1]);
        assert_eq!(share(0, &[4, 5]), [0, 0]);
        assert!(share(9, &[]).is_empty());
        let largest = share(u64::MAX, &[u64::MAX, u64::MAX]);
        assert_eq!(
            largest.iter().map(|part| u128::from(*part)).sum::<u128>(),
            u128::from(u64::MAX)
        );
    }
}
