//! Counting of prefixes by a service: in its tokens, from a minimum on, in whole steps.

use crate::base::Tokens;

/// Service's way to count prefixes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counting {
    /// Shortest prefix that is stored and read, in tokens.
    pub minimum: Tokens,
    /// Step, in tokens: prefixes are stored and read in whole multiples of it.
    pub step: Tokens,
    /// Tokens from which the multiples count.
    pub offset: Tokens,
    /// Tokens at the end of a prompt that no other prompt shares, although the trace takes all of it as
    /// shared: the service puts them in front of an answer.
    pub tail: Tokens,
}

impl Counting {
    /// Part of a prefix in whole steps.
    pub fn whole(&self, tokens: Tokens) -> Tokens {
        let counted = tokens.saturating_sub(self.offset);
        // A step of zero counts every token.
        Tokens(tokens.0 - counted.0.checked_rem(self.step.0).unwrap_or(0))
    }

    /// Stored part of a prefix: its whole steps, or nothing if they are too few.
    pub fn stored(&self, tokens: Tokens) -> Tokens {
        let whole = self.whole(tokens);
        if whole >= self.minimum { whole } else { Tokens::ZERO }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_count_from_the_offset_on_and_short_prefixes_are_not_stored() {
        let counting = Counting {
            minimum: Tokens(1_024),
            step: Tokens(1_024),
            offset: Tokens(768),
            tail: Tokens::ZERO,
        };
        // 768 + 2 × 1,024 = 2,816.
        assert_eq!(counting.whole(Tokens(2_816)), Tokens(2_816));
        assert_eq!(counting.whole(Tokens(3_839)), Tokens(2_816));
        assert_eq!(counting.stored(Tokens(1_791)), Tokens::ZERO);
        assert_eq!(counting.stored(Tokens(1_792)), Tokens(1_792));
    }
}
