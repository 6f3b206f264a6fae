//! Token counts of the pieces of content in a transcript's prompt, and shares of a total by weight.
//!
//! Transcripts record bytes, not tokens. The growth of a prompt between two requests of a chain, beyond the
//! answer, is the content that the client added. If nothing disturbs that difference, it shows the number of
//! bytes to a token, which depends on the model and the subject.

use rustc_hash::FxHashMap;

use crate::base::{Order as _, Symbol, Tokenizer, Tokens};
use crate::read::transcript::ContentSource;
use crate::requests::conversation::{History, Request, RequestIndex, TrailContent};
use crate::requests::prompt::{Step, StepKind};

/// Bytes of text that stand for the frame of a piece of content (block, role, wrapping).
pub(crate) const FRAME_BYTES: u64 = 40;

/// Bytes of text that stand for an image or a document: about as many tokens (1,500).
const MEDIA_BYTES: u64 = 4_000;

/// Fewest bytes in a step that say anything about the ratio.
const LEAST_TELLING_BYTES: u64 = 200;

/// Fewest bytes from which a session is judged by its own ratio.
const TRUSTED_BYTES: u64 = 20_000;

/// Weight of a piece of content, in bytes of text.
pub(crate) fn weight(content: &TrailContent) -> u64 {
    let bytes =
        if content.source == ContentSource::Media { MEDIA_BYTES } else { content.size.bytes() };
    bytes + FRAME_BYTES
}

/// Limits of a client's additions: this many times the estimate, plus this many tokens.
///
/// More must have come from something that no line shows.
const MOST_OF_ESTIMATE: u64 = 2;
const MOST_BEYOND_ESTIMATE: u64 = 150;

/// Returns true if content estimated at `estimate` tokens can account for `tokens`.
pub(crate) fn is_explained(tokens: u64, estimate: u64) -> bool {
    let most = estimate.saturating_mul(MOST_OF_ESTIMATE).saturating_add(MOST_BEYOND_ESTIMATE);
    tokens <= most
}

/// Tokens of a number of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ratio {
    tokens: u64,
    bytes: u64,
}

impl Ratio {
    /// Usual ratio of texts in the tokenizer's vocabulary.
    pub(crate) fn usual(tokenizer: &Tokenizer) -> Self {
        Self { tokens: 1_000, bytes: tokenizer.bytes_per_1000.get() }
    }

    fn add(&mut self, other: Self) {
        self.tokens += other.tokens;
        self.bytes += other.bytes;
    }

    /// Tokens of content of this weight, rounded up.
    pub(crate) fn tokens(self, weight: u64) -> u64 {
        let bytes = self.bytes.max(1);
        if let Some(tokens) = weight.checked_mul(self.tokens) {
            return tokens.div_ceil(bytes);
        }
        // Only a product beyond 64 bits takes the slower division.
        let tokens = u128::from(weight) * u128::from(self.tokens);
        u64::try_from(tokens.div_ceil(u128::from(bytes))).unwrap_or(u64::MAX)
    }
}

/// Ratios learned from the sessions.
#[derive(Debug, Default)]
pub struct Ratios {
    of_sessions: FxHashMap<(Symbol, Symbol), Ratio>,
    of_models: FxHashMap<Symbol, Ratio>,
}

impl Ratios {
    pub(crate) fn learn(history: &History, steps: &[Step]) -> Self {
        let mut ratios = Self::default();
        for (number, (request, step)) in history.requests.iter().zip(steps).enumerate() {
            if history.is_captured(RequestIndex::new(number)) {
                continue;
            }
            if let Some(shown) = shown_by(history, request, step) {
                let session = (request.session, request.model);
                ratios.of_sessions.entry(session).or_default().add(shown);
                ratios.of_models.entry(request.model).or_default().add(shown);
            }
        }
        ratios
    }

    /// Ratio for a request: its session's, otherwise its model's, otherwise the usual one.
    pub(crate) fn of(&self, history: &History, request: &Request) -> Ratio {
        let trusted = |ratio: &&Ratio| ratio.bytes >= TRUSTED_BYTES;
        let of_session = self.of_sessions.get(&(request.session, request.model));
        let of_model = self.of_models.get(&request.model);
        let known = of_session.filter(trusted).or(of_model.filter(trusted));
        let usual = || Ratio::usual(&history.facts(request.model).tokenizer);
        known.copied().unwrap_or_else(usual)
    }
}

/// Returns true if anything but the added content changed a prompt's size in a step, or may have.
pub(crate) fn is_disturbed(request: &Request, previous: &Request, step: &Step) -> bool {
    step.kind != StepKind::Continued
        || step.dropped_thinking.is_some()
        || previous.output_is_lower_bound
        || request.between.rewrites_history()
        || step.deleted > Tokens::ZERO
        || request.between.has_hole
}

/// Ratio shown by an undisturbed step.
fn shown_by(history: &History, request: &Request, step: &Step) -> Option<Ratio> {
    let previous = history.predecessor(request)?;
    if is_disturbed(request, previous, step) {
        return None;
    }
    let grown_from = previous.prompt_total() + request.carried_output(previous);
    let tokens = request.prompt_total().saturating_sub(grown_from).0;
    let mut bytes = 0;
    for (_, content) in history.contents_before(request) {
        // The tokens of an image depend on its dimensions, not on its bytes.
        if content.source == ContentSource::Media {
            return None;
        }
        bytes += weight(content);
    }
    // No text has more tokens than bytes, or fewer than an eighth as many tokens.
    let is_plausible = tokens <= bytes && tokens >= bytes / 8;
    (bytes >= LEAST_TELLING_BYTES && is_plausible).then_some(Ratio { tokens, bytes })
}

/// Splits `total` in proportion to `weights` by the largest-remainder method.
///
/// The parts add up to the total, and each is less than one token off its exact share. Zero weights get
/// nothing, unless all are zero.
pub(crate) fn share(total: u64, weights: &[u64]) -> Vec<u64> {
    let sum: u128 = weights.iter().map(|weight| u128::from(*weight)).sum();
    if sum == 0 {
        return share_evenly(total, weights.len());
    }
    let mut remainders = Vec::with_capacity(weights.len());
    let mut parts = Vec::with_capacity(weights.len());
    let mut left = total;
    for (index, weight) in weights.iter().enumerate() {
        let exact = u128::from(total) * u128::from(*weight);
        // Never above `total`, which fits 64 bits.
        let part = u64::try_from(exact / sum).unwrap_or(total);
        left -= part;
        parts.push(part);
        remainders.push((exact % sum, index));
    }
    remainders.order_by_key(|(remainder, index)| (std::cmp::Reverse(*remainder), *index));
    for (_, index) in remainders.into_iter().take(usize::try_from(left).unwrap_or(usize::MAX)) {
        parts[index] += 1;
    }
    parts
}

fn share_evenly(total: u64, parts: usize) -> Vec<u64> {
    if parts == 0 { Vec::new() } else { share(total, &vec![1; parts]) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::Models;

    #[test]
    fn tokens_are_rounded_up() {
        let ratio = Ratio { tokens: 2, bytes: 5 };
        assert_eq!((ratio.tokens(0), ratio.tokens(1), ratio.tokens(10)), (0, 1, 4));
        let usual = |model| Ratio::usual(&Models::built_in().facts(model).tokenizer);
        assert_eq!(usual("claude-opus-5").tokens(2_400), 1_000);
        assert_eq!(usual("claude-opus-4-5").tokens(2_900), 1_000);
    }

    #[test]
    fn the_largest_remainders_get_what_is_left() {
        // 10/3 and 20/3 of ten: 3.33 and 6.67.
        assert_eq!(share(10, &[1, 2]), [3, 7]);
        assert_eq!(share(5, &[1, 1, 1]), [2, 2, 1]);
        assert_eq!(share(7, &[0, 3, 0]), [0, 7, 0]);
        assert_eq!(share(3, &[0, 0]), [2, 1]);
        assert_eq!(share(0, &[4, 5]), [0, 0]);
        assert!(share(9, &[]).is_empty());
        let largest = share(u64::MAX, &[u64::MAX, u64::MAX]);
        assert_eq!(
            largest.iter().map(|part| u128::from(*part)).sum::<u128>(),
            u128::from(u64::MAX)
        );
    }
}
