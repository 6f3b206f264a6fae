//! Spans of time as options name them.

/// Parses `24h`, `7d` or `2w` into hours, up to a few centuries.
pub(super) fn hours(text: &str) -> Option<i64> {
    let (count, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    let hours = match unit {
        "h" => 1,
        "d" => 24,
        "w" => 7 * 24,
        _ => return None,
    };
    let count: u32 = count.parse().ok()?;
    Some(i64::from(count) * hours).filter(|hours| *hours <= 4_000_000)
}

/// Parses a span of time as an option names it, such as `30m` or `2h`, into milliseconds.
pub(super) fn span_in_millis(text: &str) -> Result<i64, String> {
    const MINUTE: i64 = 60 * 1_000;
    let minutes = text.strip_suffix('m').and_then(|count| count.parse::<u32>().ok());
    let of_minutes = minutes.map(|minutes| i64::from(minutes) * MINUTE);
    let span = of_minutes.or_else(|| hours(text).map(|hours| hours * 60 * MINUTE));
    let wrong = || "expected a span of time such as 30m, 2h, 1d or 1w".to_owned();
    span.filter(|span| *span > 0).ok_or_else(wrong)
}
