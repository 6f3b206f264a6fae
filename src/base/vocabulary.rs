//! Vocabularies in which models count tokens.

use std::fmt;

use crate::base::words::words;

words! {
    /// A published or reconstructed vocabulary.
    pub enum Vocabulary {
        /// Vocabulary of Claude 3 to the 4.6 models.
        Claude3 = "claude-3", "Claude 3 to the 4.6 models, Haiku 4.5";
        /// Vocabulary of Opus 4.7.
        Claude47 = "claude-4.7", "Opus 4.7";
        /// Vocabulary of Opus 4.8 and later, the 5 models among them: the pieces of 4.7 in other frames.
        Claude48 = "claude-4.8", "Opus 4.8, the 5 models and later";
        /// Vocabulary of GPT-4o and later.
        O200k = "o200k_base", "GPT-4o and later models of OpenAI's";
    }
    /// Models that use the vocabulary, for people.
    pub fn models;
}

impl Vocabulary {
    /// Model with which the vocabulary and the frame of its prompts were measured; `None` without a measured frame.
    pub fn measured_of(self) -> Option<&'static str> {
        match self {
            Self::Claude3 => Some("claude-opus-4-5"),
            Self::Claude47 => Some("claude-opus-4-7"),
            Self::Claude48 => Some("claude-opus-4-8"),
            Self::O200k => None,
        }
    }
}

impl fmt::Display for Vocabulary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
