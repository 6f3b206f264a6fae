//! TTLs of a strategy as a file gives them: a word, or a table.

use serde::de::Error;
use serde::{Deserialize, Deserializer};

use super::word_or::{WordOr, Words};
use crate::base::{TierTtl, Ttl, TtlPlan};

/// TTLs in a word, for one kind of conversation.
#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) enum TierWord {
    /// Five minutes.
    #[serde(rename = "5m")]
    FiveMinutes,
    /// An hour.
    #[serde(rename = "1h")]
    OneHour,
    /// An hour on tools and system prompt, five minutes on messages.
    #[serde(rename = "mixed")]
    Mixed,
}

/// TTLs in a word, for all conversations.
#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) enum PlanWord {
    /// Five minutes.
    #[serde(rename = "5m")]
    FiveMinutes,
    /// An hour.
    #[serde(rename = "1h")]
    OneHour,
    /// An hour on tools and system prompt, five minutes on messages.
    #[serde(rename = "mixed")]
    Mixed,
    /// As recorded.
    #[serde(rename = "as-recorded")]
    AsRecorded,
}

impl Words for TierWord {
    const EXPECTED: &'static str =
        "\"5m\", \"1h\", \"mixed\" or a table of `system` and `messages`";
}

impl Words for PlanWord {
    const EXPECTED: &'static str = "\"5m\", \"1h\", \"mixed\", \"as-recorded\" or a table of \
        `main` and `agents` or of `system` and `messages`";
}

/// TTLs of one kind of conversation.
pub(crate) type TierKeys = WordOr<TierWord, TierTtl>;

/// TTLs of all conversations.
pub(crate) type PlanKeys = WordOr<PlanWord, PlanTable>;

/// TTLs of main conversations and of sub-agents', or of system prompt and messages in both.
#[derive(Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(extend("maxProperties" = 2, "oneOf" = [
    { "required": ["main", "agents"] }, { "required": ["system", "messages"] }
])))]
#[serde(default, deny_unknown_fields)]
pub(crate) struct PlanTable {
    /// TTLs in main conversations.
    main: Option<TierKeys>,
    /// TTLs in the conversations of sub-agents.
    agents: Option<TierKeys>,
    /// TTL on tools and system prompt.
    system: Option<Ttl>,
    /// TTL on messages; never longer.
    messages: Option<Ttl>,
}

/// Reads the TTLs of a strategy; `None` is as recorded.
pub(crate) fn plan<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<TtlPlan>, D::Error> {
    let word = match PlanKeys::deserialize(deserializer)? {
        WordOr::Table(table) => return table.plan().map(Some),
        WordOr::Word(PlanWord::AsRecorded) => return Ok(None),
        WordOr::Word(PlanWord::FiveMinutes) => TierWord::FiveMinutes,
        WordOr::Word(PlanWord::OneHour) => TierWord::OneHour,
        WordOr::Word(PlanWord::Mixed) => TierWord::Mixed,
    };
    Ok(Some(TtlPlan::everywhere(word.ttl())))
}

impl PlanTable {
    fn plan<E: Error>(self) -> Result<TtlPlan, E> {
        match self {
            Self { main: Some(main), agents: Some(agents), system: None, messages: None } => {
                Ok(TtlPlan { main: main.ttl(), agents: agents.ttl() })
            }
            Self { main: None, agents: None, system: Some(system), messages: Some(messages) } => {
                Ok(TtlPlan::everywhere(TierTtl { system, messages }))
            }
            _ => Err(E::custom("give both `main` and `agents`, or both `system` and `messages`")),
        }
    }
}

impl TierWord {
    fn ttl(self) -> TierTtl {
        match self {
            Self::FiveMinutes => TierTtl::uniform(Ttl::FiveMinutes),
            Self::OneHour => TierTtl::uniform(Ttl::OneHour),
            Self::Mixed => TierTtl::MIXED,
        }
    }
}

impl TierKeys {
    fn ttl(self) -> TierTtl {
        match self {
            Self::Word(word) => word.ttl(),
            Self::Table(ttl) => ttl,
        }
    }
}
