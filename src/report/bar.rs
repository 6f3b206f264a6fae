//! Shares as small bars, for tables on a terminal.

/// Eighths of a cell in a whole, which is ten cells wide.
const WHOLE: f64 = 80.0;

/// A part of a cell, by its eighths.
const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];

/// A bar as long as a share of the whole. Only all of it fills the bar, only nothing leaves it empty.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // between 0 and 80
pub(super) fn bar(share: Option<f64>) -> String {
    let Some(share) = share.filter(|share| *share > 0.0) else { return String::new() };
    let eighths = (share.min(1.0) * WHOLE).max(1.0) as usize;
    "█".repeat(eighths / EIGHTHS.len()) + EIGHTHS[eighths % EIGHTHS.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_as_long_as_their_shares() {
        assert_eq!(bar(Some(1.0)), "██████████");
        assert_eq!(bar(Some(0.5)), "█████");
        // 0.33 · 80 = 26.4 eighths: 3 cells and 2 eighths.
        assert_eq!(bar(Some(0.33)), "███▎");
        for (eighths, last) in (1..8).zip(["▏", "▎", "▍", "▌", "▋", "▊", "▉"]) {
            assert_eq!(bar(Some(f64::from(eighths) / 80.0)), last);
        }
    }

    #[test]
    fn only_all_is_full_and_only_nothing_is_empty() {
        assert_eq!(bar(Some(0.999_999)), "█████████▉");
        assert_eq!(bar(Some(0.000_001)), "▏");
        assert_eq!(bar(Some(0.0)), "");
        assert_eq!(bar(None), "");
    }

    #[test]
    fn what_is_no_share_has_a_bar_all_the_same() {
        assert_eq!(bar(Some(2.0)), "██████████");
        assert_eq!(bar(Some(f64::INFINITY)), "██████████");
        assert_eq!(bar(Some(-1.0)), "");
        assert_eq!(bar(Some(f64::NAN)), "");
    }
}
