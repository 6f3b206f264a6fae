//! Where in a text something stands, as editors count.

/// The line and the column in characters of a byte, both from 1 on.
pub(crate) fn line_and_column(text: &str, offset: usize) -> (usize, usize) {
    let before = text.get(..offset).unwrap_or(text);
    let line_start = before.rfind('\n').map_or(0, |end| end + 1);
    let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
    (line, before[line_start..].chars().count() + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_columns_count_from_one() {
        let text = "ab\r\nçd\n\nx";
        assert_eq!(line_and_column(text, 0), (1, 1));
        assert_eq!(line_and_column(text, 6), (2, 2), "behind a character of two bytes");
        assert_eq!(line_and_column(text, 8), (3, 1));
        assert_eq!(line_and_column(text, text.len()), (4, 2));
        assert_eq!(line_and_column(text, 99), (4, 2), "behind the end is the end");
    }
}
