//! Claude's token counts in terms of other providers'.

use crate::read::capture::TokenizerFamily;
use crate::simulate::cache::TokenRatio;

/// What [`token_ratio`] rests on, for outputs.
pub const VOCABULARY_ASSUMPTION: &str = "tokens are converted from Claude's vocabularies: 1,000 of \
    Opus 4.7 and later count as 770 elsewhere, those of earlier models as as many; of one kind of \
    content the ratio is between 0.6 and 1";

/// Claude's later vocabulary needs "approximately 30 %" more tokens than the earlier one (official,
/// and measured at 1.08 to 1.41 by kind of content), and the earlier one as many as those of other
/// providers (within 5 %): 1,000 / 1.30. Claims that the others count 25 to 40 % less than the
/// later vocabulary bracket it from the other side. No difference between the other providers is
/// known well enough to state.
const LATER: TokenRatio = TokenRatio { per_mille: 770 };

/// How many tokens other providers count for a thousand of a model's. Of models other than Claude's
/// the counts are kept.
#[must_use]
pub fn token_ratio(model: &str) -> TokenRatio {
    let is_claude = model.contains("claude");
    match TokenizerFamily::of(model) {
        TokenizerFamily::Later if is_claude => LATER,
        TokenizerFamily::Later | TokenizerFamily::Third => TokenRatio::ONE,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::units::Tokens;

    #[test]
    fn only_claudes_later_vocabulary_is_converted() {
        for (model, expected) in [
            ("claude-opus-5", 77_000),
            ("us.anthropic.claude-opus-4-7-v1:0", 77_000),
            ("claude-opus-4-6", 100_000),
            ("claude-3-5-haiku-20241022", 100_000),
            ("gpt-5.6-sol", 100_000),
        ] {
            assert_eq!(token_ratio(model).of(Tokens(100_000)), Tokens(expected), "{model}");
        }
    }
}
