//! The values that are one of a few words.

use toml::de::DeValue;

use super::draft::{DeferredDraft, StartsDraft};
use super::value::{Unreadable, Value, word};
use crate::simulate::design::{
    Attribution, Deferred, Reminders, Scopes, Settings, SystemPrompt, Tools,
};
use crate::simulate::strategy::design::Starts;

/// The choice that a word stands for.
fn one_of<T: Copy>(value: &DeValue<'_>, choices: &[(&str, T)]) -> Result<T, Unreadable> {
    word(value, |text| choices.iter().find(|(name, _)| *name == text).map(|(_, choice)| *choice))
}

impl Value for StartsDraft {
    const EXPECTED: &'static str = "\"as-recorded\", \"staggered\" or \"at-once\"";

    fn read(value: &DeValue<'_>) -> Result<Self, Unreadable> {
        let staggered = Self::As(Starts::Staggered);
        let at_once = Self::As(Starts::AtOnce);
        let choices =
            [("as-recorded", Self::AsRecorded), ("staggered", staggered), ("at-once", at_once)];
        one_of(value, &choices)
    }
}

impl Value for Tools {
    const EXPECTED: &'static str = "\"as-sent\" or \"sorted\"";

    fn read(value: &DeValue<'_>) -> Result<Self, Unreadable> {
        one_of(value, &[("as-sent", Self::AsSent), ("sorted", Self::Sorted)])
    }
}

impl Value for SystemPrompt {
    const EXPECTED: &'static str = "\"as-sent\", \"static-first\" or \"stable-first\"";

    fn read(value: &DeValue<'_>) -> Result<Self, Unreadable> {
        let static_first = ("static-first", Self::StaticFirst);
        let stable_first = ("stable-first", Self::StableFirst);
        one_of(value, &[("as-sent", Self::AsSent), static_first, stable_first])
    }
}

impl Value for Scopes {
    const EXPECTED: &'static str = "\"as-sent\", \"off\" or \"on\"";

    fn read(value: &DeValue<'_>) -> Result<Self, Unreadable> {
        one_of(value, &[("as-sent", Self::AsSent), ("off", Self::Off), ("on", Self::On)])
    }
}

impl Value for DeferredDraft {
    const EXPECTED: &'static str = "\"as-sent\", \"mcp\" or \"all\"";

    fn read(value: &DeValue<'_>) -> Result<Self, Unreadable> {
        let (mcp, all) = (Self::These(Deferred::Mcp), Self::These(Deferred::All));
        one_of(value, &[("as-sent", Self::AsSent), ("mcp", mcp), ("all", all)])
    }
}

impl Value for Settings {
    const EXPECTED: &'static str = "\"as-sent\" or \"latched\"";

    fn read(value: &DeValue<'_>) -> Result<Self, Unreadable> {
        one_of(value, &[("as-sent", Self::AsSent), ("latched", Self::Latched)])
    }
}

impl Value for Attribution {
    const EXPECTED: &'static str = "\"as-sent\" or \"stable\"";

    fn read(value: &DeValue<'_>) -> Result<Self, Unreadable> {
        one_of(value, &[("as-sent", Self::AsSent), ("stable", Self::Stable)])
    }
}

impl Value for Reminders {
    const EXPECTED: &'static str = "\"as-sent\" or \"last\"";

    fn read(value: &DeValue<'_>) -> Result<Self, Unreadable> {
        one_of(value, &[("as-sent", Self::AsSent), ("last", Self::Last)])
    }
}
