//! Counts and spans in words, for every sentence of the program.

/// `1234567` → `1,234,567`.
#[must_use]
pub fn grouped(value: u64) -> String {
    grouped_digits(&value.to_string())
}

/// The digits of a whole number of any size in groups of three.
pub(crate) fn grouped_digits(digits: &str) -> String {
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1 file`, `2 files`.
#[must_use]
pub fn counted(value: u64, singular: &str, plural: &str) -> String {
    let noun = if value == 1 { singular } else { plural };
    format!("{} {noun}", grouped(value))
}

/// `83000` ms → `1m23s`.
#[must_use]
pub fn duration(millis: i64) -> String {
    let seconds = millis / 1_000;
    match seconds {
        0..60 => format!("{}.{}s", seconds, millis % 1_000 / 100),
        60..3_600 => format!("{}m{:02}s", seconds / 60, seconds % 60),
        3_600..86_400 => format!("{}h{:02}m", seconds / 3_600, seconds % 3_600 / 60),
        _ => format!("{}d{:02}h", seconds / 86_400, seconds % 86_400 / 3_600),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_and_spans_read_well() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(999), "999");
        assert_eq!(grouped(1_234_567), "1,234,567");
        assert_eq!(duration(2_950), "2.9s");
        assert_eq!(duration(83_000), "1m23s");
        assert_eq!(duration(3_720_000), "1h02m");
        assert_eq!(duration(183_600_000), "2d03h");
        assert_eq!(counted(1, "entry", "entries"), "1 entry");
        assert_eq!(counted(2_000, "entry", "entries"), "2,000 entries");
    }
}
