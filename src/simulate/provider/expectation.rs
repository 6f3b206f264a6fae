//! Expectation of a recorded request whose cache needs no markers: the rules of its model, if
//! recorded reads follow any.
//!
//! Providers document steps of 128 tokens. Recorded reads of newer families are further apart, and
//! begin at an offset that is the same in all sessions of a client. Tokens that the service puts
//! after a prompt, in front of the answer, do not come back: a prompt that ends right after a step
//! leaves the step before. Measured on 13,900 pairs of requests of 780 public sessions, less than
//! five minutes apart: reads lie within a step of these rules in 98 % of GPT-5.6 Sol, 98 % of
//! GPT-5.5 in Pi, 85 % in Codex, 99 % of GPT-5.4 and 100 % of `DeepSeek`. Reads of Gemini, and of
//! models behind a gateway that sends a request to whichever machine is free, follow no rule.

use super::own_cache::OWN_CACHE;
use super::{HOUR, Provider, rules_of};
use crate::base::{Client, Tokens, words};
use crate::read::agent::AgentRequest;
use crate::requests::conversation::{History, RequestIndex};
use crate::simulate::cache::Rules;

words! {
    /// Reason to expect nothing of a request, so that it counts as recorded under every set of rules.
    pub enum NotSimulated {
        /// Sum of several requests.
        Sum = "sum", "the client keeps only the sum of several requests";
        /// Written tokens that are not recorded.
        UnknownWrites = "unknown_writes", "the record does not tell what was written";
        /// Gateway that sends requests to machines that may not have their prefix.
        Gateway = "gateway",
            "the gateway sends requests to machines that may not have their prefix";
        /// Model whose recorded reads follow no rule.
        NoRule = "no_rule", "recorded reads of this model follow no rule";
        /// Model without known rules.
        UnknownModel = "unknown_model", "no rules are known of this model";
        /// Cache behind a name of Claude's that is not Anthropic's.
        OwnCache = "own_cache", OWN_CACHE;
    }
    /// Text for people after "not simulated:".
    pub fn label;
}

/// Distance between a family's recorded reads, and the lifetime that they show.
struct Spacing {
    /// Prefixes of the models' ids.
    families: &'static [&'static str],
    step: u64,
    /// Lifetime in milliseconds; `None` if records contradict nothing that is documented.
    lifetime: Option<i64>,
    /// Offset and tail that sessions of a client show.
    clients: &'static [(Client, Ends)],
}

/// Start of the steps of a client's prompts, and the length of a prompt's end that the next one
/// does not find, in tokens.
///
/// A prompt that ends within the tail after a step leaves the step before.
#[derive(Clone, Copy)]
struct Ends {
    offset: u64,
    tail: u64,
}

const fn ends(offset: u64, tail: u64) -> Ends {
    Ends { offset, tail }
}

/// Families whose recorded reads are not as far apart as their provider documents; the first match counts.
///
/// Measured on requests that continued less than five minutes later. Of prompts of GPT-5.6 Sol in
/// Codex that ended up to 113 tokens after a step 65 of 68 left the step before, of those that
/// ended 115 and more after it none of 518; of GPT-5.5 in Pi up to 52 tokens 20 of 22, from 69 on
/// one of 150. Prefixes of GPT-5.5 were still found, at least in part, after 10 to 30 minutes
/// without use in 14 of 23 cases, after an hour in none of 16. `DeepSeek`'s reads are 128 apart in
/// 20 of 20.
// Longer prefixes of a name come first, as the first match counts.
const SPACINGS: [Spacing; 5] = [
    Spacing {
        families: &["gpt-5.6-terra"],
        step: 512,
        lifetime: None,
        clients: &[(Client::Codex, ends(256, 115))],
    },
    Spacing {
        families: &["gpt-5.6"],
        step: 1_024,
        lifetime: None,
        clients: &[(Client::Codex, ends(768, 115)), (Client::Pi, ends(512, 0))],
    },
    Spacing {
        families: &["gpt-5.5", "gpt-5.4-mini", "codex-auto-review"],
        step: 512,
        lifetime: Some(HOUR),
        clients: &[(Client::Codex, ends(384, 0)), (Client::Pi, ends(0, 60))],
    },
    Spacing {
        families: &["kimi-k2", "kimi-latest", "kimi-for"],
        step: 256,
        lifetime: None,
        clients: &[],
    },
    Spacing { families: &["deepseek"], step: 128, lifetime: None, clients: &[] },
];

/// Routes that distribute requests among machines, so that within a minute one in six or more
/// misses the prefix that the one before has sent.
const GATEWAYS: [(&str, &[&str]); 2] = [
    ("opencode", &["gpt-5.2", "gpt-5.3", "gpt-5.4"]),
    ("github-copilot", &["gpt-5.2", "gpt-5-mini"]),
];

/// Service that answers requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Service {
    /// Provider of the service.
    pub provider: &'static Provider,
    /// Rules that the service's requests are expected to follow: the provider's, unless records
    /// show otherwise.
    pub rules: Rules,
}

/// Rules that a request is expected to follow; `index` is one of the requests without markers.
///
/// # Errors
/// Returns the reason if nothing is expected of the request.
pub fn expectation(history: &History, index: RequestIndex) -> Result<Service, NotSimulated> {
    let (request, recorded) = (history.request(index), history.of_agent(index));
    let model = history.model(index);
    // Some ids have a route in front of the model's name.
    let name = model.rsplit('/').next().unwrap_or(model);
    if request.sum_of != 1 {
        return Err(NotSimulated::Sum);
    }
    // Claude's cache has markers, and these clients record no writes; without them no rule can be applied.
    if name.contains("claude") {
        return Err(NotSimulated::UnknownWrites);
    }
    if name.starts_with("gemini") {
        return Err(NotSimulated::NoRule);
    }
    if recorded.is_some_and(|recorded| is_behind_gateway(history, recorded, name)) {
        return Err(NotSimulated::Gateway);
    }
    let provider = rules_of(name).ok_or(NotSimulated::UnknownModel)?;
    let rules = spaced(provider.rules, name, request.client);
    Ok(Service { provider, rules })
}

/// Part of a request's prompt that its service without markers keeps for the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeptPrompt {
    /// Whole steps of the prompt.
    pub tokens: Tokens,
    /// Step.
    pub step: Tokens,
}

impl KeptPrompt {
    /// Kept tokens, if a request that read this many missed more than one step of them: reads mostly lie within a step.
    pub fn missed_by(self, read: Tokens) -> Tokens {
        if self.tokens.saturating_sub(read) > self.step { self.tokens } else { Tokens::ZERO }
    }
}

/// Part of a request's prompt that its service without markers keeps. `None` if nothing is expected of the request, and for
/// Codex, whose next prompt may lack the reasoning.
pub fn kept_by_service(history: &History, index: RequestIndex) -> Option<KeptPrompt> {
    let request = history.request(index);
    if history.is_marked(index) || request.client == Client::Codex {
        return None;
    }
    let service = expectation(history, index).ok()?;
    let counting = service.rules.counting();
    Some(KeptPrompt { tokens: counting.stored(request.prompt_total()), step: counting.step })
}

/// Step of a model's reads, if records show another one than its provider documents.
pub fn measured_step(model: &str) -> Option<Tokens> {
    spacing(model.rsplit('/').next().unwrap_or(model)).map(|spacing| Tokens(spacing.step))
}

fn spacing(model: &str) -> Option<&'static Spacing> {
    let fits = |spacing: &&Spacing| spacing.families.iter().any(|family| model.starts_with(family));
    SPACINGS.iter().find(fits)
}

fn is_behind_gateway(history: &History, recorded: &AgentRequest, model: &str) -> bool {
    let route = history.text(recorded.route).unwrap_or_default();
    let fits = |family: &&str| model.starts_with(*family);
    GATEWAYS.iter().any(|(gateway, families)| *gateway == route && families.iter().any(fits))
}

/// Provider's rules with the steps that a family's reads show.
fn spaced(mut rules: Rules, model: &str, client: Client) -> Rules {
    let Some(spacing) = spacing(model) else { return rules };
    let own = spacing.clients.iter().find(|(own, _)| *own == client);
    let Ends { offset, tail } = own.map_or(ends(0, 0), |(_, ends)| *ends);
    let counting = rules.counting_mut();
    counting.step = Tokens(spacing.step);
    counting.offset = Tokens(offset);
    counting.tail = Tokens(tail);
    if let Some(lifetime) = spacing.lifetime {
        rules.set_lifetime(lifetime);
    }
    rules
}
