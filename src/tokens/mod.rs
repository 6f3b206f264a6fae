//! How many tokens a text has, counted in the vocabulary of a model.
//!
//! A vocabulary is loaded once, when it is first needed. A text is looked at and not kept, save for short words that
//! came up last. Without the feature `tokens` no vocabulary is there, and sizes are estimated.

#[cfg(feature = "tokens")]
mod claude;
#[cfg(feature = "tokens")]
mod openai;

use crate::base::vocabulary::Vocabulary;

/// Something that counts tokens.
pub trait Count: Sync {
    /// The tokens of a text; of Claude's, as they are where it is a message of its own, without the message's frame.
    fn tokens(&self, text: &str) -> u64;
}

/// What counts in a vocabulary; `None` where the program was built without them.
#[must_use]
pub fn counter(vocabulary: Vocabulary) -> Option<&'static dyn Count> {
    #[cfg(feature = "tokens")]
    {
        use claude::Family;
        Some(match vocabulary {
            Vocabulary::Claude3 => &Family::Claude3,
            Vocabulary::Claude47 => &Family::Claude47,
            Vocabulary::Claude48 => &Family::Claude48,
            Vocabulary::O200k => &openai::O200k,
        })
    }
    #[cfg(not(feature = "tokens"))]
    {
        let _ = vocabulary;
        None
    }
}

#[cfg(feature = "tokens")]
impl Count for claude::Family {
    fn tokens(&self, text: &str) -> u64 {
        self.count(text)
    }
}
