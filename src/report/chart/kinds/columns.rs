//! Requests as columns: each its own, or where there are too many, some together.

use crate::report::chart::ink::Ink;
use crate::report::chart::picture::{Column, Columns};

/// More columns than this cannot be told apart.
const MOST_COLUMNS: usize = 450;

const PROMPT: &str = "tokens of the prompt";

/// How many requests a column stands for.
pub(super) fn requests_per_column(requests: usize) -> usize {
    requests.div_ceil(MOST_COLUMNS).max(1)
}

/// The mean parts of the requests of each column.
#[allow(clippy::cast_precision_loss)] // places in a picture
pub(super) fn mean_columns(inks: Vec<Ink>, requests: &[&[u64]]) -> Columns {
    columns(inks, requests, |group| {
        let mean = |part: usize| {
            let sum: u128 = group.iter().map(|parts| u128::from(parts[part])).sum();
            sum as f64 / group.len() as f64
        };
        (0..group.first().map_or(0, |parts| parts.len())).map(mean).collect()
    })
}

/// Of each column the request that sent or wrote most, as it is: in a mean no break would be seen. The
/// first part of a request is what it read.
#[allow(clippy::cast_precision_loss)] // places in a picture
pub(super) fn worst_columns<const N: usize>(inks: [Ink; N], requests: &[[u64; N]]) -> Columns {
    let unread = |parts: &&[u64; N]| parts[1..].iter().map(|part| u128::from(*part)).sum::<u128>();
    columns(inks.to_vec(), requests, |group| {
        // Of several equal ones the first.
        let worst = group.iter().rev().max_by_key(unread);
        worst.map_or_else(Vec::new, |parts| parts.iter().map(|part| *part as f64).collect())
    })
}

#[allow(clippy::cast_precision_loss)] // places in a picture
fn columns<T>(inks: Vec<Ink>, requests: &[T], parts_of: impl Fn(&[T]) -> Vec<f64>) -> Columns {
    let size = requests_per_column(requests.len());
    let column = |(number, group): (usize, &[T])| {
        let from = (number * size) as f64;
        let to = from + group.len() as f64;
        Column { from, to, parts: parts_of(group), label: String::new() }
    };
    Columns { inks, columns: requests.chunks(size).enumerate().map(column).collect() }
}

/// What an axis of such means measures.
pub(super) fn mean_heading(requests: usize) -> String {
    match requests_per_column(requests) {
        1 => PROMPT.to_owned(),
        size => format!("{PROMPT}, the mean of {size} requests"),
    }
}

/// What an axis of such single requests measures.
pub(super) fn worst_heading(requests: usize) -> String {
    match requests_per_column(requests) {
        1 => PROMPT.to_owned(),
        size => format!("{PROMPT}; of each {size} requests the one that sent or wrote most"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_of_requests_are_a_few_columns_with_their_means() {
        let requests: Vec<[u64; 2]> = (0..5_000).map(|number| [number, 10]).collect();
        let requests: Vec<&[u64]> = requests.iter().map(<[u64; 2]>::as_slice).collect();
        let columns = mean_columns(vec![Ink::Read, Ink::Input], &requests);
        // 5,000 / 450 is 11.1: 12 requests a column, 417 columns, the last of which has 8.
        assert_eq!((requests_per_column(5_000), columns.columns.len()), (12, 417));
        let (first, last) = (&columns.columns[0], &columns.columns[416]);
        assert_eq!((first.from, first.to, &first.parts), (0.0, 12.0, &vec![5.5, 10.0]));
        assert_eq!((last.from, last.to, &last.parts), (4_992.0, 5_000.0, &vec![4_995.5, 10.0]));
    }

    #[test]
    fn a_few_requests_are_columns_of_their_own() {
        let columns = worst_columns([Ink::Read], &[[3], [u64::MAX]]);
        assert_eq!(columns.columns.len(), 2);
        assert!(worst_columns([Ink::Read], &[]).columns.is_empty());
        assert!(mean_columns(vec![Ink::Read], &[]).columns.is_empty());
    }

    /// 901 requests are columns of 3, as 901 / 450 is 2.002. One lost its cache, in the middle of the
    /// column of the requests 450, 451 and 452.
    #[test]
    fn a_column_of_several_requests_is_the_worst_of_them() {
        let mut requests = vec![[455_000, 900]; 901];
        requests[451] = [37_995, 417_990];
        let columns = worst_columns([Ink::Read, Ink::Written1h], &requests);
        assert_eq!(columns.columns.len(), 301);
        let worst = &columns.columns[150];
        assert_eq!((worst.from, worst.to), (450.0, 453.0));
        assert_eq!(worst.parts, [37_995.0, 417_990.0]);
        let others = columns.columns.iter().filter(|column| *column != worst);
        assert!(others.into_iter().all(|column| column.parts == [455_000.0, 900.0]));
    }
}
