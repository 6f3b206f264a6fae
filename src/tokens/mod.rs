//! How many tokens a text has, counted in the vocabulary of a model.
//!
//! A vocabulary is loaded once, when it is first needed. A text is looked at and not kept, save for short words that
//! came up last. Without the features `tokens` and `tokens-openai` vocabularies are not there, and sizes are
//! estimated.

#[cfg(feature = "tokens")]
mod claude;
#[cfg(feature = "tokens-openai")]
mod openai;

use crate::base::vocabulary::Vocabulary;

/// Something that counts tokens.
pub trait Count: Sync {
    /// The tokens of a text; of Claude's, as they are where it is a message of its own, without the message's frame.
    fn tokens(&self, text: &str) -> u64;
}

/// What counts in a vocabulary; `None` where the program was built without it.
#[must_use]
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
