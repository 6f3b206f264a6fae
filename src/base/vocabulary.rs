//! Vocabularies in which models count tokens.

use std::fmt;

/// A vocabulary that is published or was reconstructed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Vocabulary {
    /// That of Claude 3 to the 4.6 models.
    Claude3,
    /// That of Opus 4.7.
    Claude47,
    /// That of Opus 4.8 and later, the 5 models among them: the pieces of 4.7 in other frames.
    Claude48,
    /// That of GPT-4o and later.
    O200k,
}

impl Vocabulary {
    /// Every vocabulary.
    pub const ALL: [Self; 4] = [Self::Claude3, Self::Claude47, Self::Claude48, Self::O200k];

    /// Its name, in price files and outputs.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Claude3 => "claude-3",
            Self::Claude47 => "claude-4.7",
            Self::Claude48 => "claude-4.8",
            Self::O200k => "o200k_base",
        }
    }

    /// The models that count in it, for people.
    #[must_use]
    pub fn models(self) -> &'static str {
        match self {
            Self::Claude3 => "Claude 3 to the 4.6 models, Haiku 4.5",
            Self::Claude47 => "Opus 4.7",
            Self::Claude48 => "Opus 4.8, the 5 models and later",
            Self::O200k => "GPT-4o and later models of OpenAI's",
        }
    }

    /// A model of which it was measured, with the frame of its prompts; `None` where no frame was.
    #[must_use]
    pub fn measured_of(self) -> Option<&'static str> {
        match self {
            Self::Claude3 => Some("claude-opus-4-5"),
            Self::Claude47 => Some("claude-opus-4-7"),
            Self::Claude48 => Some("claude-opus-4-8"),
            Self::O200k => None,
        }
    }

    /// The vocabulary of a name.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|vocabulary| vocabulary.name() == name)
    }
}

impl fmt::Display for Vocabulary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
