//! Gaps: a histogram of the pauses between the requests of a chain, and the cost of breaks after them.

use crate::base::Ttl;
use crate::explain::breaks::{Break, Sum};
use crate::requests::prompt::Step;
use crate::simulate::ledger::Selection;

/// Number of bins between the two TTLs.
///
/// Both are borders, and the widths grow by a constant factor.
// Pauses last from seconds to days, so the bins are even on a logarithmic scale.
const BINS_BETWEEN_TTLS: i32 = 5;

/// Shortest length in milliseconds: shorter gaps count as this long.
const SHORTEST_MILLIS: f64 = 1_000.0;

/// Gaps of about the same length.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct GapBin {
    /// Lower border in milliseconds; the first bin also has shorter gaps.
    pub from: f64,
    /// Upper border in milliseconds, exclusive.
    pub to: f64,
    /// Number of gaps.
    pub gaps: u64,
    /// Breaks after these gaps.
    pub lost: Sum,
}

/// A histogram of gaps between the starts of consecutive requests of a chain.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Gaps {
    /// Bins in order, without holes between the first and the last one that has a gap.
    pub bins: Vec<GapBin>,
}

impl Gaps {
    /// Counts the gaps before the selected requests.
    pub fn new(steps: &[Step], selection: &Selection, breaks: &[Break]) -> Self {
        let gaps: Vec<i64> =
            selection.requests().filter_map(|index| steps[index.get()].gap).collect();
        let numbers = gaps.iter().map(|gap| number_of(*gap));
        let (Some(first), Some(last)) = (numbers.clone().min(), numbers.clone().max()) else {
            return Self::default();
        };
        let empty =
            |number| GapBin { from: border(number), to: border(number + 1), ..GapBin::default() };
        let mut bins: Vec<GapBin> = (first..=last).map(empty).collect();
        // Every number lies between the first and the last.
        let place = |gap: i64| usize::try_from(number_of(gap) - first).unwrap_or(0);
        for gap in &gaps {
            bins[place(*gap)].gaps += 1;
        }
        for found in breaks {
            if let Some(bin) = found.gap.and_then(|gap| bins.get_mut(place(gap))) {
                bin.lost.add(found);
            }
        }
        Self { bins }
    }
}

fn millis(ttl: Ttl) -> f64 {
    #[allow(clippy::cast_precision_loss)] // an hour has few milliseconds
    let millis = ttl.millis() as f64;
    millis
}

/// Lower border of a bin in milliseconds; bin 0 begins at five minutes.
fn border(number: i32) -> f64 {
    let ratio = millis(Ttl::OneHour) / millis(Ttl::FiveMinutes);
    let root = ratio.powf(1.0 / f64::from(BINS_BETWEEN_TTLS));
    (millis(Ttl::FiveMinutes) * root.powi(number)).round()
}

/// Number of the bin with a gap.
fn number_of(gap: i64) -> i32 {
    #[allow(clippy::cast_precision_loss)] // a float has milliseconds for 280,000 years
    let gap = (gap as f64).max(SHORTEST_MILLIS);
    let ratio = millis(Ttl::OneHour) / millis(Ttl::FiveMinutes);
    let steps = (gap / millis(Ttl::FiveMinutes)).log(ratio) * f64::from(BINS_BETWEEN_TTLS);
    #[allow(clippy::cast_possible_truncation)] // a few dozen bins
    let near = steps.floor() as i32;
    // The logarithm is rounded, so the borders decide.
    [near + 1, near].into_iter().find(|number| border(*number) <= gap).unwrap_or(near - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lifetimes_are_borders() {
        for ttl in [Ttl::FiveMinutes, Ttl::OneHour] {
            let gap = ttl.millis();
            assert_eq!(number_of(gap), number_of(gap - 1) + 1, "{gap}");
            assert!((border(number_of(gap)) - millis(ttl)).abs() < 0.5, "{gap}");
        }
        assert_eq!(number_of(Ttl::OneHour.millis()), BINS_BETWEEN_TTLS);
        assert_eq!(number_of(0), number_of(1_000));
    }

    #[test]
    fn every_gap_lies_between_the_borders_of_its_bin() {
        for gap in (1_000..20_000_000_i64).step_by(997).chain([i64::MAX / 2]) {
            let number = number_of(gap);
            #[allow(clippy::cast_precision_loss)] // a bound
            let gap = gap as f64;
            assert!(border(number) <= gap && gap < border(number + 1), "{gap} in {number}");
        }
    }
}
