//! From which size on a conversation is compacted (I.1).

use std::fmt;

use crate::base::units::Tokens;
use crate::base::wording::grouped;

/// From which size on a conversation is compacted: the last prompt, its answer and what came in
/// since.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trigger {
    /// From this size on.
    At(Tokens),
    /// So far below the end of the window.
    Below(WindowEnd),
}

/// How much of a window is left to a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowEnd {
    /// The window: the model's, or a smaller one that was set.
    pub window: Tokens,
    /// The longest answer that is asked for.
    pub max_output: Tokens,
    /// No more than this is reserved for an answer.
    pub reserve: Tokens,
    /// What stays free besides.
    pub buffer: Tokens,
    /// A share of what is not reserved, where it is reached earlier.
    pub percent: Option<u32>,
}

impl Default for WindowEnd {
    /// The client's own (2.1.88).
    fn default() -> Self {
        Self {
            window: Tokens(200_000),
            max_output: Tokens(32_000),
            reserve: Tokens(20_000),
            buffer: Tokens(13_000),
            percent: None,
        }
    }
}

impl WindowEnd {
    fn threshold(&self) -> Tokens {
        let effective = self.window.saturating_sub(self.max_output.min(self.reserve));
        let threshold = effective.saturating_sub(self.buffer);
        let share = self.percent.map(|percent| effective.share(percent.into(), 100));
        share.map_or(threshold, |share| share.min(threshold))
    }
}

impl Trigger {
    /// The size.
    #[must_use]
    pub fn threshold(&self) -> Tokens {
        match self {
            Self::At(size) => *size,
            Self::Below(end) => end.threshold(),
        }
    }
}

impl fmt::Display for Trigger {
    /// The size, and where it comes from.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tokens = |tokens: Tokens| grouped(tokens.0);
        write!(f, "{} tokens", tokens(self.threshold()))?;
        let Self::Below(end) = self else { return Ok(()) };
        let reserved = end.max_output.min(end.reserve);
        let (window, buffer) = (tokens(end.window), tokens(end.buffer));
        write!(f, " (a window of {window} less {} for the answer", tokens(reserved))?;
        match end.percent {
            None => write!(f, " and {buffer})"),
            Some(percent) => write!(f, "; of the rest {percent} %, at most all but {buffer})"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_threshold_follows_from_the_window() {
        let of = |end: WindowEnd| Trigger::Below(end).threshold();
        let usual = WindowEnd::default();
        // 200,000 − 20,000 − 13,000; an answer of 8,000 reserves no more than that.
        assert_eq!(of(usual), Tokens(167_000));
        assert_eq!(of(WindowEnd { max_output: Tokens(8_000), ..usual }), Tokens(179_000));
        assert_eq!(of(WindowEnd { reserve: Tokens(32_000), ..usual }), Tokens(155_000));
        // A half of 180,000; 95 % of it, 171,000, would be beyond the threshold.
        assert_eq!(of(WindowEnd { percent: Some(50), ..usual }), Tokens(90_000));
        assert_eq!(of(WindowEnd { percent: Some(95), ..usual }), Tokens(167_000));
        assert_eq!(of(WindowEnd { window: Tokens(20_000), ..usual }), Tokens::ZERO);
        let words = Trigger::Below(usual).to_string();
        assert_eq!(
            words,
            "167,000 tokens (a window of 200,000 less 20,000 for the answer and 13,000)"
        );
    }
}
