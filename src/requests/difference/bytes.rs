//! The first byte in which two texts differ, and what stands around it.

use super::overlap::common_start;

/// Bytes shown around the first difference.
const CONTEXT: usize = 32;

/// The first bytes in which two versions of a block differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ByteDifference {
    /// Their position in the canonical bytes of the block.
    pub byte: usize,
    /// What stood there before, with a little around it.
    pub before: String,
    /// What stands there now.
    pub after: String,
}

impl ByteDifference {
    /// Where two versions of a block part, given by their canonical bytes.
    pub(crate) fn between(before: &str, after: &str) -> Self {
        let byte = first_difference(before, after);
        Self { byte, before: context(before, byte), after: context(after, byte) }
    }
}

/// The first byte in which two texts differ, on a border of characters of both.
pub(crate) fn first_difference(before: &str, after: &str) -> usize {
    let same = common_start(before.as_bytes(), after.as_bytes());
    (0..=same)
        .rev()
        .find(|at| before.is_char_boundary(*at) && after.is_char_boundary(*at))
        .unwrap_or(0)
}

/// What stands around a position.
pub(crate) fn context(text: &str, at: usize) -> String {
    let from = floor(text, at.saturating_sub(CONTEXT));
    let to = ceil(text, at.saturating_add(CONTEXT));
    let (start, end) = (if from > 0 { "…" } else { "" }, if to < text.len() { "…" } else { "" });
    format!("{start}{}{end}", &text[from..to])
}

fn floor(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

fn ceil(text: &str, at: usize) -> usize {
    (at.min(text.len())..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_stand_on_borders_of_characters() {
        assert_eq!(first_difference("aé", "aè"), 1);
        assert_eq!(first_difference("same", "same"), 4);
        assert_eq!(context(&"ü".repeat(100), 101), format!("…{}…", "ü".repeat(33)));
    }
}
