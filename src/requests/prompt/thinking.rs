//! Which models keep the thinking of earlier turns in their prompts.

/// Models that drop it when a new prompt arrives: all Haiku through 4.5, Sonnet through 4.5 and
/// Opus through 4.1. Every message from the first dropped block on then falls out of the cache.
/// Later ones keep all thinking.
const DROPPING: [&str; 7] = [
    "claude-3",
    "claude-sonnet-4-5",
    "claude-sonnet-4-2025",
    "claude-opus-4-1",
    "claude-opus-4-2025",
    "claude-haiku-4",
    "claude-4-",
];

/// Aliases without a date.
const DROPPING_ALIASES: [&str; 2] = ["claude-sonnet-4", "claude-opus-4"];

/// Whether a model (by its canonical name) drops the thinking of earlier turns.
pub(super) fn drops_earlier_thinking(model: &str) -> bool {
    DROPPING.iter().any(|family| model.starts_with(family)) || DROPPING_ALIASES.contains(&model)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recent_models_keep_their_thinking() {
        for model in ["claude-sonnet-4-5-20250929", "claude-haiku-4-5", "claude-opus-4-20250514"] {
            assert!(drops_earlier_thinking(model), "{model}");
        }
        for model in ["claude-opus-4-5-20251101", "claude-sonnet-4-6", "claude-fable-5", "glm-4.7"]
        {
            assert!(!drops_earlier_thinking(model), "{model}");
        }
    }
}
