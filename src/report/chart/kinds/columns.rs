//! Requests as columns: each its own, or where there are too many, some together.

use crate::report::chart::ink::Ink;
use crate::report::chart::picture::{Column, Columns};

/// More columns than this cannot be told apart.
const MOST_COLUMNS: usize = 450;

/// How many requests a column stands for.
pub(super) fn requests_per_column(requests: usize) -> usize {
    requests.div_ceil(MOST_COLUMNS).max(1)
}

/// The mean parts of the requests of each column.
pub(super) fn mean_columns<const N: usize>(inks: [Ink; N], requests: &[[u64; N]]) -> Columns {
    let rows: Vec<&[u64]> = requests.iter().map(<[u64; N]>::as_slice).collect();
    columns_of(inks.to_vec(), &rows)
}

/// The same for any number of parts.
#[allow(clippy::cast_precision_loss)] // places in a picture
pub(super) fn columns_of(inks: Vec<Ink>, requests: &[&[u64]]) -> Columns {
    let size = requests_per_column(requests.len());
    let mut columns = Vec::with_capacity(requests.len().div_ceil(size));
    for (number, group) in requests.chunks(size).enumerate() {
        let from = (number * size) as f64;
        let mean = |part: usize| {
            let sum: u128 = group.iter().map(|parts| u128::from(parts[part])).sum();
            sum as f64 / group.len() as f64
        };
        let parts = (0..inks.len()).map(mean).collect();
        columns.push(Column { from, to: from + group.len() as f64, parts, label: String::new() });
    }
    Columns { inks, columns }
}

/// What an axis of such columns measures.
pub(super) fn tokens_heading(requests: usize) -> String {
    match requests_per_column(requests) {
        1 => "tokens of the prompt".to_owned(),
        size => format!("tokens of the prompt, the mean of {size} requests"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_of_requests_are_a_few_columns_with_their_means() {
        let requests: Vec<[u64; 2]> = (0..5_000).map(|number| [number, 10]).collect();
        let columns = mean_columns([Ink::Read, Ink::Input], &requests);
        // 5,000 / 450 is 11.1: 12 requests a column, 417 columns, the last of which has 8.
        assert_eq!((requests_per_column(5_000), columns.columns.len()), (12, 417));
        let (first, last) = (&columns.columns[0], &columns.columns[416]);
        assert_eq!((first.from, first.to, &first.parts), (0.0, 12.0, &vec![5.5, 10.0]));
        assert_eq!((last.from, last.to, &last.parts), (4_992.0, 5_000.0, &vec![4_995.5, 10.0]));
    }

    #[test]
    fn a_few_requests_are_columns_of_their_own() {
        let columns = mean_columns([Ink::Read], &[[3], [u64::MAX]]);
        assert_eq!(columns.columns.len(), 2);
        assert!(mean_columns([Ink::Read], &[]).columns.is_empty());
    }
}
