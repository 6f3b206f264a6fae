//! What is expected of a recorded request whose cache needs no markers: the rules of its model, as far as
//! recorded reads follow any.
//!
//! Providers document steps of 128 tokens. Recorded reads of newer families are further apart, and begin at
//! an offset that is the same in all sessions of a client. What the service puts after a prompt, in front of the
//! answer, does not come back: a prompt that ends right after a step leaves the step before. Measured on 13,900
//! pairs of requests of 780 public sessions, less than five minutes apart: reads lie within a step of what these
//! rules say in 98 % of GPT-5.6 Sol, 98 % of GPT-5.5 in Pi, 85 % in Codex, 99 % of GPT-5.4 and 100 % of `DeepSeek`.
//! Reads of Gemini, and of models behind a gateway that sends a request to whichever machine is free, follow no
//! rule.

use super::{HOUR, Provider, rules_of};
use crate::base::client::Client;
use crate::base::units::Tokens;
use crate::base::words::words;
use crate::read::agent::AgentRequest;
use crate::requests::conversation::{History, RequestIndex};
use crate::simulate::cache::Rules;

words! {
    /// Why nothing is expected of a request, so that it counts as recorded under every set of rules.
    pub enum NotSimulated {
        /// Its figures are the sum of several requests.
        Sum = "sum", "the client keeps only the sum of several requests";
        /// Its written tokens are not recorded.
        UnknownWrites = "unknown_writes", "the record does not tell what was written";
        /// A gateway sends requests to machines that may not have their prefix.
        Gateway = "gateway",
            "the gateway sends requests to machines that may not have their prefix";
        /// Recorded reads of its model follow no rule.
        NoRule = "no_rule", "recorded reads of this model follow no rule";
        /// No rules are known of its model.
        UnknownModel = "unknown_model", "no rules are known of this model";
    }
    /// What people read after "not simulated:".
    pub fn label;
}

/// How far apart a family's recorded reads are, and for how long they are found.
struct Spacing {
    /// The beginnings of its models' ids.
    families: &'static [&'static str],
    step: u64,
    /// In milliseconds; `None` where records contradict nothing that is documented.
    lifetime: Option<i64>,
    /// What sessions of clients show besides.
    clients: &'static [(Client, Ends)],
}

/// Where the steps of a client's prompts begin, and how much of a prompt's end the next one does not find. A
/// prompt that ends so little after a step leaves the step before.
#[derive(Clone, Copy)]
struct Ends {
    offset: u64,
    tail: u64,
}

const fn ends(offset: u64, tail: u64) -> Ends {
    Ends { offset, tail }
}

/// Families whose recorded reads are not as far apart as their provider documents. The first that fits
/// holds.
///
/// Measured on requests that went on less than five minutes later. Of prompts of GPT-5.6 Sol in Codex that ended up
/// to 113 tokens after a step 65 of 68 left the step before, of those that ended 115 and more after it none of 518;
/// of GPT-5.5 in Pi up to 52 tokens 20 of 22, from 69 on one of 150. Prefixes of GPT-5.5 were still found, at least
/// in part, after 10 to 30 minutes without use in 14 of 23 cases, after an hour in none of 16. `DeepSeek`'s reads are
/// 128 apart in 20 of 20.
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

/// Routes that share requests out among machines, so that within a minute one in six or more misses
/// what the one before has sent.
const GATEWAYS: [(&str, &[&str]); 2] = [
    ("opencode", &["gpt-5.2", "gpt-5.3", "gpt-5.4"]),
    ("github-copilot", &["gpt-5.2", "gpt-5-mini"]),
];

/// A service that answers requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Service {
    /// Whose it is.
    pub provider: &'static Provider,
    /// The rules that its requests are expected to follow: the provider's, as far as records do not show otherwise.
    pub rules: Rules,
}

/// The rules that a request is expected to follow. `index` is one of those that were sent without
/// markers.
///
/// # Errors
/// Nothing is expected of it.
pub fn expectation(history: &History, index: RequestIndex) -> Result<Service, NotSimulated> {
    let recorded = &history.of_agents[index.get() - history.sent_with_markers().len()];
    let model = history.model(index);
    let name = model.rsplit('/').next().unwrap_or(model);
    if recorded.sum_of != 1 {
        return Err(NotSimulated::Sum);
    }
    if name.contains("claude") {
        return Err(NotSimulated::UnknownWrites);
    }
    if name.starts_with("gemini") {
        return Err(NotSimulated::NoRule);
    }
    if is_behind_gateway(history, recorded, name) {
        return Err(NotSimulated::Gateway);
    }
    let provider = rules_of(name).ok_or(NotSimulated::UnknownModel)?;
    let rules = spaced(provider.rules, name, recorded.client);
    Ok(Service { provider, rules })
}

fn is_behind_gateway(history: &History, recorded: &AgentRequest, model: &str) -> bool {
    let route = history.text(recorded.route).unwrap_or_default();
    let fits = |family: &&str| model.starts_with(*family);
    GATEWAYS.iter().any(|(gateway, families)| *gateway == route && families.iter().any(fits))
}

/// A provider's rules with the steps that a family's reads show.
fn spaced(mut rules: Rules, model: &str, client: Client) -> Rules {
    let fits = |spacing: &&Spacing| spacing.families.iter().any(|family| model.starts_with(family));
    let Some(spacing) = SPACINGS.iter().find(fits) else { return rules };
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
