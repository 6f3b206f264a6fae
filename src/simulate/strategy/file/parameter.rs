//! Parameters: each key with its values and its change to a design, and the words of some values.
//!
//! Everything that reads strategy files uses this table, so a line here is all that a new parameter
//! needs (and one in `schemas/strategy.schema.json`, which a test compares).

use std::sync::LazyLock;

use enumset::EnumSet;
use toml::de::DeValue;

use super::context_parameter::context_parameters;
use super::draft::{DeferredDraft, Draft, StartsDraft, put};
use super::parse::Contradiction;
use super::value::{Distance, Duration, MarkerCount, Size, Unreadable, Value, word};
use crate::base::ttl::{TierTtl, Ttl};
use crate::simulate::design::{
    Attribution, Deferred, Reminders, Scopes, Settings, SystemPrompt, Tools,
};
use crate::simulate::strategy::design::{Anchor, Layout, Starts};

/// Change of a draft by a value.
pub(super) type Change = Box<dyn Fn(&mut Draft) -> Result<(), Contradiction>>;

/// Conversion of a key's value to a change.
type Read = Box<dyn Fn(&DeValue<'_>) -> Result<Change, Unreadable> + Send + Sync>;

/// Key of a strategy, other than its name and summary.
pub(super) struct Parameter {
    /// Key with those of the tables around it, joined by dots.
    pub(super) key: &'static str,
    /// Description of its values, for messages.
    pub(super) expected: &'static str,
    /// True if a value is a list, so that a sweep is a list of lists.
    pub(super) is_list: bool,
    /// Reads a value.
    pub(super) read: Read,
}

/// All parameters, those of context management last.
pub(super) static PARAMETERS: LazyLock<Vec<Parameter>> = LazyLock::new(|| {
    let mut all = vec![
        parameter("ttl", |draft, ttl: Option<TierTtl>| match ttl {
            // Not set at all, so that `ttl.main` and `ttl.agents` stay free for other keys.
            None => Ok(()),
            Some(ttl) => draft.main.put(ttl).and_then(|()| draft.agents.put(ttl)),
        }),
        parameter("ttl.system", |draft, ttl: Ttl| {
            put(&mut draft.main.system, ttl).and_then(|()| put(&mut draft.agents.system, ttl))
        }),
        parameter("ttl.messages", |draft, ttl: Ttl| {
            put(&mut draft.main.messages, ttl).and_then(|()| put(&mut draft.agents.messages, ttl))
        }),
        parameter("ttl.main", |draft, ttl: TierTtl| draft.main.put(ttl)),
        parameter("ttl.main.system", |draft, ttl: Ttl| put(&mut draft.main.system, ttl)),
        parameter("ttl.main.messages", |draft, ttl: Ttl| put(&mut draft.main.messages, ttl)),
        parameter("ttl.agents", |draft, ttl: TierTtl| draft.agents.put(ttl)),
        parameter("ttl.agents.system", |draft, ttl: Ttl| put(&mut draft.agents.system, ttl)),
        parameter("ttl.agents.messages", |draft, ttl: Ttl| put(&mut draft.agents.messages, ttl)),
        parameter("markers", |draft, layout: Layout| put(&mut draft.layout, layout)),
        parameter("markers.at", |draft, places: EnumSet<Anchor>| {
            put(&mut draft.layout, Layout::At(places))
        }),
        parameter("markers.every", |draft, distance: Distance| {
            put(&mut draft.layout, Layout::Every(distance.0))
        }),
        parameter("markers.even", |draft, count: MarkerCount| {
            put(&mut draft.layout, Layout::Even(count.0))
        }),
        parameter("keepalive.every", |draft, every: Duration| put(&mut draft.ping_every, every.0)),
        parameter("keepalive.limit", |draft, limit: Duration| put(&mut draft.ping_limit, limit.0)),
        parameter("keepalive.agents", |draft, agents: bool| put(&mut draft.ping_agents, agents)),
        parameter("sharing.forks", |draft, forks: bool| put(&mut draft.forks_agents, forks)),
        parameter("sharing.fresh_decisions", |draft, fresh: bool| {
            put(&mut draft.decides_again, fresh)
        }),
        parameter("sharing.starts", |draft, starts: StartsDraft| put(&mut draft.starts, starts)),
        parameter("sharing.skip_cache_write", |draft, skips: bool| {
            put(&mut draft.skips_cache_writes, skips)
        }),
        parameter("sharing.sessions_apart", |draft, parts: bool| {
            put(&mut draft.isolates_sessions, parts)
        }),
        parameter("prompt.tools", |draft, tools: Tools| put(&mut draft.tools, tools)),
        parameter("prompt.system", |draft, system: SystemPrompt| put(&mut draft.system, system)),
        parameter("prompt.scopes", |draft, scopes: Scopes| put(&mut draft.scopes, scopes)),
        parameter("prompt.settings", |draft, settings: Settings| {
            put(&mut draft.settings, settings)
        }),
        parameter("prompt.attribution", |draft, attribution: Attribution| {
            put(&mut draft.attribution, attribution)
        }),
        parameter("prompt.reminders", |draft, reminders: Reminders| {
            put(&mut draft.reminders, reminders)
        }),
        parameter("prompt.deferred_tools", |draft, tools: DeferredDraft| {
            put(&mut draft.deferred, tools)
        }),
        parameter("prompt.tool_search", |draft, size: Size| put(&mut draft.tool_search, size.0)),
    ];
    all.extend(context_parameters());
    all
});

/// Error for a slot that already has a value.
pub(super) struct Taken;

pub(super) fn parameter<T: Value>(
    key: &'static str,
    set: impl Fn(&mut Draft, T) -> Result<(), Taken> + Copy + Send + Sync + 'static,
) -> Parameter {
    Parameter {
        key,
        expected: T::EXPECTED,
        is_list: T::IS_LIST,
        read: Box::new(move |value| {
            let value = T::read(value)?;
            Ok(Box::new(move |draft| {
                set(draft, value.clone()).map_err(|Taken| Contradiction::SetTwice(key))
            }))
        }),
    }
}

/// Parameter with a key.
pub(super) fn find(key: &str) -> Option<&'static Parameter> {
    PARAMETERS.iter().find(|parameter| parameter.key == key)
}

/// Key of a table of parameters.
pub(super) fn group(key: &str) -> Option<&'static str> {
    PARAMETERS.iter().find_map(|parameter| {
        let rest = parameter.key.strip_prefix(key)?;
        rest.starts_with('.').then(|| &parameter.key[..key.len()])
    })
}

/// Choice with a word as its name.
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::Value as Json;

    use super::*;

    const SCHEMA: &str = include_str!("../../../../schemas/strategy.schema.json");

    #[test]
    fn the_schema_has_the_same_keys() {
        let schema: Json = serde_json::from_str(SCHEMA).expect("JSON");
        let mut described = BTreeSet::new();
        add_keys(&schema, &schema["$defs"]["strategy"], "", &mut described);
        let known: BTreeSet<String> =
            PARAMETERS.iter().map(|parameter| parameter.key.to_owned()).collect();
        assert_eq!(known.len(), PARAMETERS.len(), "each key has one line");
        let own = ["name", "summary"].map(str::to_owned);
        assert_eq!(described, known.into_iter().chain(own).collect());
    }

    /// A key is a property whose value is not a table; a list of values has the same key.
    fn add_keys(all: &Json, schema: &Json, key: &str, keys: &mut BTreeSet<String>) {
        if let Some(reference) = schema["$ref"].as_str() {
            let pointer = reference.trim_start_matches('#');
            add_keys(all, all.pointer(pointer).expect("a definition"), key, keys);
        } else if let Some(choices) = schema["anyOf"].as_array() {
            for choice in choices {
                add_keys(all, choice, key, keys);
            }
        } else if let Some(properties) = schema["properties"].as_object() {
            for (name, property) in properties {
                let key = if key.is_empty() { name.clone() } else { format!("{key}.{name}") };
                add_keys(all, property, &key, keys);
            }
        } else if schema["items"].is_object() {
            add_keys(all, &schema["items"], key, keys);
        } else {
            keys.insert(key.to_owned());
        }
    }
}
