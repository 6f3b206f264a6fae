//! Token counts of texts, in the vocabulary of a model.
//!
//! A vocabulary is loaded once, on first use. Texts are not kept, except for recent short words. Without the features
//! `tokens` and `tokens-openai` there are no vocabularies, and sizes are estimated.

#[cfg(feature = "tokens")]
mod claude;
#[cfg(feature = "tokens-openai")]
mod openai;

use crate::base::Vocabulary;

/// A counter of tokens.
pub trait Count: Sync {
    /// Tokens of a text; for Claude, those of a message of its own, without the message's frame.
    fn tokens(&self, text: &str) -> u64;
}

/// Counter of a vocabulary; `None` if the program was built without it.
pub fn counter(vocabulary: Vocabulary) -> Option<&'static dyn Count> {
    match vocabulary {
        #[cfg(feature = "tokens")]
        Vocabulary::Claude3 => Some(&claude::Family::Claude3),
        #[cfg(feature = "tokens")]
        Vocabulary::Claude47 => Some(&claude::Family::Claude47),
        #[cfg(feature = "tokens")]
        Vocabulary::Claude48 => Some(&claude::Family::Claude48),
        #[cfg(feature = "tokens-openai")]
        Vocabulary::O200k => Some(&openai::O200k),
        #[cfg(not(feature = "tokens-openai"))]
        _ => None,
    }
}

#[cfg(feature = "tokens")]
impl Count for claude::Family {
    fn tokens(&self, text: &str) -> u64 {
        self.count(text)
    }
}
