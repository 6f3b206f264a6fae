//! Design in the making: the values of a strategy's keys, with the test for contradictions.
//!
//! Also sweeps: the choices of a strategy in a file as a tree, and each of its combinations.

use std::collections::BTreeMap;

use super::context_parameter::ManagementDraft;
use super::parameter::{Change, Taken};
use super::parse::{Contradiction, MOST_PINGS};
use crate::base::ttl::{TierTtl, Ttl, TtlPlan};
use crate::base::units::Tokens;
use crate::simulate::design::{
    Attribution, Deferral, Deferred, PromptDesign, Reminders, Scopes, Settings, SystemPrompt, Tools,
};
use crate::simulate::strategy::design::{Anchor, Design, KeepAlive, Layout, Sharing, Starts};

/// Values of a strategy's keys.
#[derive(Default)]
pub(super) struct Draft {
    pub(super) layout: Option<Layout>,
    pub(super) main: TierDraft,
    pub(super) agents: TierDraft,
    pub(super) ping_every: Option<i64>,
    pub(super) ping_limit: Option<i64>,
    pub(super) ping_agents: Option<bool>,
    pub(super) forks_agents: Option<bool>,
    pub(super) decides_again: Option<bool>,
    pub(super) starts: Option<StartsDraft>,
    pub(super) skips_cache_writes: Option<bool>,
    pub(super) isolates_sessions: Option<bool>,
    pub(super) tools: Option<Tools>,
    pub(super) system: Option<SystemPrompt>,
    pub(super) scopes: Option<Scopes>,
    pub(super) settings: Option<Settings>,
    pub(super) attribution: Option<Attribution>,
    pub(super) reminders: Option<Reminders>,
    pub(super) deferred: Option<DeferredDraft>,
    pub(super) tool_search: Option<Tokens>,
    pub(super) context: ManagementDraft,
}

/// Start of sub-agents, if set.
#[derive(Clone, Copy)]
pub(super) enum StartsDraft {
    AsRecorded,
    As(Starts),
}

/// Deferred tools, if set.
#[derive(Clone, Copy)]
pub(super) enum DeferredDraft {
    AsSent,
    These(Deferred),
}

/// TTLs of a kind of conversation that are set so far.
#[derive(Clone, Copy, Default)]
pub(super) struct TierDraft {
    pub(super) system: Option<Ttl>,
    pub(super) messages: Option<Ttl>,
}

impl TierDraft {
    /// Sets both TTLs.
    pub(super) fn put(&mut self, ttl: TierTtl) -> Result<(), Taken> {
        put(&mut self.system, ttl.system).and_then(|()| put(&mut self.messages, ttl.messages))
    }
}

/// Sets a value that is not set yet.
pub(super) fn put<T>(slot: &mut Option<T>, value: T) -> Result<(), Taken> {
    if slot.is_some() {
        return Err(Taken);
    }
    *slot = Some(value);
    Ok(())
}

impl Draft {
    /// Resulting design, unless it is contradictory.
    pub(super) fn finish(&self) -> Result<Design, Contradiction> {
        let layout = self.layout.unwrap_or_default();
        let ttl = self.ttl()?;
        let keep_alive = self.keep_alive()?;
        if layout == Layout::Nowhere && ttl.is_some() {
            return Err(Contradiction::NothingCached("ttl"));
        }
        if self.tool_search.is_some() && self.deferred_tools().is_none() {
            return Err(Contradiction::NothingDeferred("prompt.tool_search"));
        }
        if let Some(pings) = keep_alive {
            check_pings(pings, layout, ttl)?;
        }
        Ok(Design {
            // No key of a file sets this: the latch is a strategy of its own.
            latches_ttl: false,
            layout,
            ttl,
            keep_alive,
            sharing: self.sharing(),
            prompt: self.prompt(),
            management: self.context.finish()?.map(Box::new),
            repairs: BTreeMap::new(),
        })
    }

    fn sharing(&self) -> Sharing {
        Sharing {
            forks_agents: self.forks_agents.unwrap_or_default(),
            decides_again: self.decides_again.unwrap_or_default(),
            starts: match self.starts {
                None | Some(StartsDraft::AsRecorded) => None,
                Some(StartsDraft::As(starts)) => Some(starts),
            },
            skips_cache_writes: self.skips_cache_writes.unwrap_or_default(),
            isolates_sessions: self.isolates_sessions.unwrap_or_default(),
        }
    }

    fn prompt(&self) -> PromptDesign {
        PromptDesign {
            tools: self.tools.unwrap_or_default(),
            system: self.system.unwrap_or_default(),
            scopes: self.scopes.unwrap_or_default(),
            settings: self.settings.unwrap_or_default(),
            attribution: self.attribution.unwrap_or_default(),
            reminders: self.reminders.unwrap_or_default(),
            deferral: self.deferred_tools().map(|tools| Deferral {
                tools,
                search: self.tool_search.unwrap_or(Deferral::SEARCH),
            }),
        }
    }

    fn deferred_tools(&self) -> Option<Deferred> {
        match self.deferred {
            None | Some(DeferredDraft::AsSent) => None,
            Some(DeferredDraft::These(tools)) => Some(tools),
        }
    }

    fn ttl(&self) -> Result<Option<TtlPlan>, Contradiction> {
        let said = [self.main, self.agents].map(|tier| [tier.system, tier.messages]);
        if said.as_flattened().iter().all(Option::is_none) {
            return Ok(None);
        }
        Ok(Some(TtlPlan { main: tier(self.main)?, agents: tier(self.agents)? }))
    }

    fn keep_alive(&self) -> Result<Option<KeepAlive>, Contradiction> {
        let Some(every) = self.ping_every else {
            return match (self.ping_limit, self.ping_agents) {
                (Some(_), _) => Err(Contradiction::NoInterval("keepalive.limit")),
                (None, Some(_)) => Err(Contradiction::NoInterval("keepalive.agents")),
                (None, None) => Ok(None),
            };
        };
        let limit = self.ping_limit.ok_or(Contradiction::NoLimit)?;
        Ok(Some(KeepAlive { every, limit, agents: self.ping_agents.unwrap_or(false) }))
    }
}

fn tier(draft: TierDraft) -> Result<TierTtl, Contradiction> {
    let (Some(system), Some(messages)) = (draft.system, draft.messages) else {
        return Err(Contradiction::TtlOpen);
    };
    if system < messages {
        return Err(Contradiction::TtlOrder);
    }
    Ok(TierTtl { system, messages })
}

fn check_pings(
    pings: KeepAlive,
    layout: Layout,
    ttl: Option<TtlPlan>,
) -> Result<(), Contradiction> {
    if layout == Layout::Nowhere {
        return Err(Contradiction::NothingCached("keepalive.every"));
    }
    if pings.limit < pings.every {
        return Err(Contradiction::LimitBelowInterval);
    }
    let count = pings.limit.checked_div(pings.every).unwrap_or(i64::MAX);
    if count > MOST_PINGS {
        return Err(Contradiction::TooManyPings(count));
    }
    let agents = pings.agents.then_some(true);
    let shortest = std::iter::once(false)
        .chain(agents)
        .map(|is_agent| pinged_ttl(layout, ttl.map(|ttl| ttl.of(is_agent))))
        .min();
    match shortest {
        // An entry has expired once it reaches its TTL.
        Some(ttl) if pings.every >= ttl.millis() => {
            Err(Contradiction::IntervalBeyondTtl { every: pings.every, ttl })
        }
        _ => Ok(()),
    }
}

/// TTL of the end of the cached prefix, which a ping reads; as recorded, it may be the longest TTL.
fn pinged_ttl(layout: Layout, ttl: Option<TierTtl>) -> Ttl {
    match ttl {
        None => Ttl::OneHour,
        Some(ttl) if layout == Layout::At(Anchor::System.into()) => ttl.system,
        Some(ttl) => ttl.messages,
    }
}

/// Choices for a strategy, or for a table or value of it.
pub(super) enum Choice {
    /// This value.
    One(Setting),
    /// One of these, from a list.
    Any(Vec<Choice>),
    /// One of each of these, from a table.
    Each(Vec<Choice>),
}

/// Value of a key.
pub(super) struct Setting {
    /// Key with those of its tables.
    pub(super) key: &'static str,
    /// Position of the value in the file, in bytes.
    pub(super) offset: usize,
    /// Value as it appears in the names of combinations; `None` if there is no other value to choose.
    pub(super) swept: Option<String>,
    /// Change to the draft.
    pub(super) change: Change,
}

/// Settings of one strategy.
#[derive(Clone, Default)]
pub(super) struct Combination<'a>(Vec<&'a Setting>);

impl Choice {
    /// Number of combinations; it saturates far above any limit.
    pub(super) fn count(&self) -> u128 {
        match self {
            Self::One(_) => 1,
            Self::Any(choices) => choices.iter().map(Self::count).fold(0, u128::saturating_add),
            Self::Each(choices) => choices.iter().map(Self::count).fold(1, u128::saturating_mul),
        }
    }

    /// All combinations, with the last sweep varying fastest.
    pub(super) fn combinations(&self) -> Vec<Combination<'_>> {
        match self {
            Self::One(setting) => vec![Combination(vec![setting])],
            Self::Any(choices) => choices.iter().flat_map(Self::combinations).collect(),
            Self::Each(choices) => {
                choices.iter().fold(vec![Combination::default()], |before, choice| {
                    let next = choice.combinations();
                    before
                        .iter()
                        .flat_map(|front| next.iter().map(|back| front.and(back)))
                        .collect()
                })
            }
        }
    }
}

impl Combination<'_> {
    fn and(&self, other: &Self) -> Self {
        Self([self.0.as_slice(), &other.0].concat())
    }

    /// Name of the strategy with the swept values: `hour-and-ping[ttl=5m,keepalive.every=4m30s]`.
    pub(super) fn name(&self, strategy: &str) -> String {
        let swept = self.0.iter().filter_map(|setting| {
            setting.swept.as_ref().map(|value| format!("{}={value}", setting.key))
        });
        let swept: Vec<String> = swept.collect();
        if swept.is_empty() {
            return strategy.to_owned();
        }
        format!("{strategy}[{}]", swept.join(","))
    }

    /// Resulting design, unless it is contradictory.
    pub(super) fn design(&self) -> Result<Design, Contradiction> {
        let mut draft = Draft::default();
        for setting in &self.0 {
            (setting.change)(&mut draft)?;
        }
        draft.finish()
    }

    /// Position in the file of a key's value, or of the first key of its table, in bytes.
    pub(super) fn offset(&self, key: &str) -> Option<usize> {
        let is_in = |own: &str| {
            own.strip_prefix(key).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        self.0.iter().find(|setting| is_in(setting.key)).map(|setting| setting.offset)
    }
}
