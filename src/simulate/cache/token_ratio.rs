//! Token counts of one vocabulary in terms of another.

use crate::base::units::Tokens;

/// How many tokens of one vocabulary stand for a thousand of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenRatio {
    /// Tokens for a thousand.
    pub per_mille: u64,
}

impl TokenRatio {
    /// The same vocabulary.
    pub const ONE: Self = Self { per_mille: 1_000 };

    /// The count in the other vocabulary, rounded down.
    #[must_use]
    pub fn of(self, tokens: Tokens) -> Tokens {
        tokens.share(self.per_mille, Self::ONE.per_mille)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_exact_and_rounded_down() {
        assert_eq!(TokenRatio::ONE.of(Tokens(u64::MAX)), Tokens(u64::MAX));
        // 1,301 × 0.77 = 1,001.77.
        assert_eq!(TokenRatio { per_mille: 770 }.of(Tokens(1_301)), Tokens(1_001));
    }
}
