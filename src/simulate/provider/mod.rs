//! Other providers: rules of their caches by family, assumptions for undocumented rules, prices,
//! conversion of their token counts, and agreement of the rules with other agents' records.
//!
//! The families are those of [`Rules`]. *Automatic* caches find the longest beginning that an
//! earlier request of the same model and scope sent, in whole steps, while it lives; writes are
//! free. Two prompts share everything before the deepest node that both pass, and tokens match
//! inside of blocks: captures keep digests along each distinct block (`read/capture/tree.rs`), and
//! the tree is split at blocks after one prefix that begin alike (`requests/prompt/split.rs`).
//! *Marked* caches have entries at markers, as Claude's have, with lifetimes, a lookback and prices
//! of their own: the same simulator runs over the trace as the provider counts it
//! (`simulate/cache/counting.rs`), so that layouts, searches and the bound of Claude's sessions
//! apply there, too. A client that does nothing for the cache has one marker, at the end of each
//! request. *Stored* contexts are named by the requests that begin with them, and cost by the hour
//! (`simulate/cache/stored.rs`).
//!
//! Token counts are converted by a stated ratio. Each undocumented rule is an assumption with a
//! text, which accompanies every figure.

mod agreement;
mod expectation;
mod own_cache;
mod unmarked;

pub use agreement::{RolloutAgreement, agreement, recorded_step};
pub use expectation::{
    KeptPrompt, NotSimulated, Service, expectation, kept_by_service, measured_step,
};
pub(crate) use own_cache::{OWN_CACHE, of_own_caches};
pub(crate) use unmarked::{Unmarked, recorded};
pub use unmarked::{has_unreported_writes, rules_of};

use crate::base::{Facts, Lifetimes, Millis, Picodollars, Tokens};
use crate::read::input::PriceTier;
use crate::requests::conversation::History;
use crate::simulate::cache::{
    AutomaticCache, Counting, Lookback, MarkedCache, Rules, StoredCache, TokenRatio,
};
use crate::simulate::pricing::{PriceContext, PriceTable, Rates, RequestRates};

const MINUTE: i64 = 60 * 1_000;
const HOUR: i64 = 60 * MINUTE;

const fn counting(minimum: u64, step: u64) -> Counting {
    Counting {
        minimum: Tokens(minimum),
        step: Tokens(step),
        // Offset and tail are not documented anywhere; `expectation.rs` sets the measured ones.
        offset: Tokens::ZERO,
        tail: Tokens::ZERO,
    }
}

/// Cache that finds every step of a prompt, and whose writes are free.
const fn automatic(minimum: u64, step: u64, lifetime: i64) -> Rules {
    Rules::Automatic(AutomaticCache { counting: counting(minimum, step), lifetime })
}

/// Cache that finds marked prefixes, however far back.
const fn marked(minimum: u64, step: u64, usual: i64, long: i64) -> MarkedCache {
    MarkedCache {
        counting: counting(minimum, step),
        lifetimes: Lifetimes { usual, long },
        lookback: Lookback::Unlimited,
    }
}

/// Stored contexts, for an hour by default.
const fn stored(minimum: u64) -> Rules {
    Rules::Stored(StoredCache { counting: counting(minimum, 1), lifetime: HOUR })
}

/// Cache modelled on Anthropic's: a marker finds entries at most 20 positions back.
const fn like_anthropic(minimum: u64, long: i64) -> Rules {
    let cache = marked(minimum, 1, 5 * MINUTE, long);
    Rules::Marked(MarkedCache { lookback: Lookback::Positions, ..cache })
}

const ROUTING: &str = "assumed: every request reaches the machine that has its prefix; above some \
    15 requests a minute with one prefix it may not";

const STEP_AS_BEFORE: &str = "undocumented: the step; assumed: 128 tokens, as before";

const FIVE_MINUTES_ASSUMED: &str = "undocumented: how long a prefix is kept; assumed: 5 minutes \
    without use, the shortest time that any provider documents";

const SIZES_ASSUMED: &str = "undocumented: the shortest prefix and the step; assumed: 1,024 and \
    128 tokens, as OpenAI documents";

const SIZES_RANGE: &str =
    "range: at worst steps of 1,024; at best single tokens from 256 on, for an hour";

const ASKED: &str = "assumed: as sent, the client marks the end of each request";

/// Every provider, in output order.
pub static ALL: [Provider; 13] = [
    Provider {
        name: "openai",
        summary: "OpenAI up to GPT-5.5, kept in memory",
        model: "gpt-5.5",
        // `gpt-5` also fits GPT-5.6, but `serves` prefers the provider that names more of an id.
        families: &["gpt-4", "gpt-5", "o3", "codex-"],
        rules: automatic(1_024, 128, 10 * MINUTE),
        worst: automatic(1_024, 512, 5 * MINUTE),
        best: automatic(1_024, 128, HOUR),
        writes: Writes::Free,
        assumptions: &[
            "documented: prefixes of 1,024 tokens and more in steps of 128; writes are free",
            "documented: kept for 5 to 10 minutes without use, at most for an hour; assumed: 10 \
             minutes",
            "measured: public rollouts of GPT-5.5 recorded reads 512 tokens apart, and reads \
             after 15 minutes without use; not after 77",
            ROUTING,
            "range: at worst 5 minutes and steps of 512, as GPT-5.5 shows them; at best an hour",
        ],
    },
    Provider {
        name: "openai-24h",
        summary: "OpenAI up to GPT-5.5 with prompt_cache_retention 24h",
        model: "gpt-5.5",
        families: &["gpt-4", "gpt-5", "o3"],
        rules: automatic(1_024, 128, 24 * HOUR),
        worst: automatic(1_024, 512, HOUR),
        best: automatic(1_024, 128, 24 * HOUR),
        writes: Writes::Free,
        assumptions: &[
            "documented: prefixes of 1,024 tokens and more in steps of 128; writes are free",
            "documented: kept for at most 24 hours; assumed: for all of them",
            ROUTING,
            "range: at worst an hour and steps of 512; at best as assumed",
        ],
    },
    Provider {
        name: "openai-5.6",
        summary: "OpenAI from GPT-5.6 on: breakpoints, writes charged",
        model: "gpt-5.6-sol",
        families: &["gpt-5.6", "gpt-6"],
        rules: Rules::Marked(marked(1_024, 128, 30 * MINUTE, 12 * HOUR)),
        worst: Rules::Marked(marked(1_024, 1_024, 30 * MINUTE, 12 * HOUR)),
        best: Rules::Marked(marked(1_024, 1, HOUR, 24 * HOUR)),
        writes: Writes::TwelveHours,
        assumptions: &[
            "documented: an implicit breakpoint at the latest eligible message, of 1,024 tokens \
             and more, found however far back; writes cost 1.25 times the input",
            "documented: kept for at least 30 minutes; assumed: for no longer, from the last use \
             on",
            "documented: writes for 12 hours cost 2.5 times the input, which is assumed of days and \
             models for which no such price is known; tokens written for 30 minutes stand under 5m, \
             those for 12 hours under 1h",
            STEP_AS_BEFORE,
            "documented: the latest 80 breakpoints are tried; assumed: a read refreshes all in \
             front of it, so that an earlier one is never the only one left",
            "measured: public rollouts recorded reads 512 (Terra) and 1,024 tokens (Sol) apart, \
             and no written tokens",
            ROUTING,
            "range: at worst steps of 1,024, as Sol shows them; at best single tokens, an hour and a day",
        ],
    },
    Provider {
        name: "deepseek",
        summary: "DeepSeek's cache on disk",
        model: "deepseek-v4-pro",
        families: &["deepseek"],
        // The fixed interval is no longer documented; 64 tokens are the older documentation's.
        rules: automatic(64, 64, 3 * HOUR),
        worst: automatic(128, 128, HOUR),
        best: automatic(64, 64, 72 * HOUR),
        writes: Writes::Free,
        assumptions: &[
            "documented: whole units are found, which end with a user's input, a model's output \
             and at fixed intervals; assumed: intervals of 64 tokens, which older documentation \
             names",
            "documented: kept for hours to days, without promise; assumed: 3 hours without use",
            "not modelled: the output of a request, which its successor may read, too",
            "range: at worst an hour and steps of 128, which records show; at best three days",
        ],
    },
    Provider {
        name: "gemini",
        summary: "Gemini's implicit cache",
        model: "gemini-3.1-pro-preview",
        families: &["gemini"],
        rules: automatic(4_096, 1, 5 * MINUTE),
        worst: automatic(4_096, 1_024, 5 * MINUTE),
        best: automatic(1_024, 1, HOUR),
        writes: Writes::Free,
        assumptions: &[
            "documented: prefixes of 4,096 tokens and more with Gemini 3.1 Pro and 3.5 Flash \
             (2,048 with Gemini 2.5; older copies say 1,024); writes and storage are free",
            "undocumented: the step; assumed: single tokens",
            FIVE_MINUTES_ASSUMED,
            "range: at worst steps of 1,024; at best 1,024 tokens and more, for an hour",
        ],
    },
    Provider {
        name: "gemini-explicit",
        summary: "Gemini's stored contexts, which clients name",
        model: "gemini-3.1-pro-preview",
        // No family: a client has to ask for stored contexts, so no model is served under them by default.
        families: &[],
        rules: stored(4_096),
        worst: stored(4_096),
        best: stored(4_096),
        // $4.50 for a million tokens and hour.
        writes: Writes::AnHour(Picodollars(4_500_000)),
        assumptions: &[
            "documented: a context is stored at the price of input and read at that of the cache, by requests that \
             name it and begin with it; it lives for an hour unless its client asks for another time",
            "uncertain: storing costs $4.50 for a million tokens and hour, as published for Pro models (Flash: $1)",
            "assumed: the client stores the first prompt of each conversation and sets the hour anew at each use; what \
             is not stored is sent in full, and found by no implicit cache",
        ],
    },
    Provider {
        name: "kimi",
        summary: "Moonshot's automatic cache",
        model: "kimi-k2.5",
        families: &["kimi", "moonshot"],
        rules: automatic(512, 512, 5 * MINUTE),
        worst: automatic(1_024, 512, 5 * MINUTE),
        best: automatic(256, 256, HOUR),
        writes: Writes::Free,
        assumptions: &[
            "undocumented: the shortest prefix and the step; assumed: 512 tokens, the blocks of \
             its published traces",
            FIVE_MINUTES_ASSUMED,
            "range: at worst 1,024 tokens and more; at best steps of 256, which records show, for an hour",
        ],
    },
    Provider {
        name: "kimi-k3",
        summary: "Moonshot's cache from Kimi K3 on: markers, five minutes or an hour",
        model: "kimi-k3",
        families: &["kimi-k3"],
        rules: like_anthropic(1_024, HOUR),
        worst: like_anthropic(4_096, HOUR),
        best: Rules::Marked(marked(512, 1, 5 * MINUTE, HOUR)),
        writes: Writes::OneHour,
        assumptions: &[
            "documented: lifetimes of 5 minutes at the price of input and of an hour at twice that, \
             since 2026-10-15; assumed of days before it",
            "undocumented: the shortest prefix and how far back a marker looks; assumed: 1,024 \
             tokens and 20 positions, as Anthropic documents",
            ASKED,
            "range: at worst 4,096 tokens and more; at best 512, found however far back",
        ],
    },
    Provider {
        name: "minimax",
        summary: "MiniMax's cache behind its Anthropic-shaped API",
        model: "MiniMax-M2.5",
        families: &["MiniMax-M2"],
        rules: like_anthropic(512, 5 * MINUTE),
        worst: like_anthropic(4_096, 5 * MINUTE),
        best: Rules::Marked(marked(512, 1, 5 * MINUTE, 5 * MINUTE)),
        writes: Writes::OneLifetime,
        assumptions: &[
            "uncertain: markers as in Anthropic's API, 5 minutes, writes at 1.25 times the input, \
             which price lists give for M2 to M2.5",
            "undocumented: the shortest prefix and how far back a marker looks; assumed: 512 \
             tokens and 20 positions",
            ASKED,
            "range: at worst 4,096 tokens and more; at best found however far back",
        ],
    },
    Provider {
        name: "glm",
        summary: "Zhipu's automatic cache",
        model: "glm-5.1",
        families: &["glm"],
        rules: automatic(1_024, 128, 5 * MINUTE),
        worst: automatic(1_024, 1_024, 5 * MINUTE),
        best: automatic(256, 1, HOUR),
        writes: Writes::Free,
        assumptions: &[
            SIZES_ASSUMED,
            FIVE_MINUTES_ASSUMED,
            "assumed: storage stays free of charge, as it is offered now",
            SIZES_RANGE,
        ],
    },
    Provider {
        name: "xai",
        summary: "xAI's automatic cache",
        model: "grok-4.3",
        families: &["grok"],
        rules: automatic(128, 64, 5 * MINUTE),
        worst: automatic(1_024, 1_024, 5 * MINUTE),
        best: automatic(64, 1, HOUR),
        writes: Writes::Free,
        assumptions: &[
            "undocumented: the shortest prefix and the step; measured: 83 of 83 recorded reads are \
             multiples of 64 tokens, the shortest 128",
            FIVE_MINUTES_ASSUMED,
            "range: at worst steps of 1,024; at best single tokens from 64 on, for an hour",
        ],
    },
    Provider {
        name: "qwen",
        summary: "Alibaba's implicit cache",
        model: "qwen3.7-max",
        families: &["qwen"],
        rules: automatic(1_024, 128, 5 * MINUTE),
        worst: automatic(1_024, 1_024, 5 * MINUTE),
        best: automatic(256, 1, HOUR),
        writes: Writes::Free,
        assumptions: &[
            "uncertain: prefixes of 1,024 tokens and more, kept for 5 minutes without use",
            "undocumented: the step; assumed: 128 tokens, as OpenAI documents",
            SIZES_RANGE,
        ],
    },
    Provider {
        name: "qwen-explicit",
        summary: "Alibaba's cache with a marker at the end of each request",
        model: "qwen3.7-max",
        families: &["qwen"],
        rules: Rules::Marked(marked(1_024, 1, 5 * MINUTE, 5 * MINUTE)),
        worst: like_anthropic(4_096, 5 * MINUTE),
        best: Rules::Marked(marked(1_024, 1, 5 * MINUTE, 5 * MINUTE)),
        writes: Writes::OneLifetime,
        assumptions: &[
            "uncertain: prefixes of 1,024 tokens and more, kept for 5 minutes; writes cost 1.25 \
             and reads 0.1 times the input",
            "assumed: a read starts the 5 minutes anew, and a marker finds an entry however far \
             back",
            "range: at worst 4,096 tokens and more, found 20 positions back; at best as assumed",
        ],
    },
];

/// Provider with a name.
pub fn by_name(name: &str) -> Option<&'static Provider> {
    ALL.iter().find(|provider| provider.name == name)
}

/// Assumption about the comparison of captured prompts, for outputs.
pub const MATCHING_ASSUMPTION: &str = "captured prompts are compared inside of blocks, as canonical JSON with \
    its framing; assumed: providers render them in the same order, and settings that part Claude's caches \
    (thinking, tool choice, effort, images) part these, too; where tokens are estimated, a part of a block \
    has its share of the block's tokens by bytes";

/// Prices of a service for writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writes {
    /// No price of their own: written tokens cost as much as input.
    Free,
    /// One price, as for its one lifetime.
    OneLifetime,
    /// A price for the usual lifetime, and one for an hour: twice the input if the table has none.
    OneHour,
    /// A price for the usual lifetime, and one for twelve hours: 2.5 times the input if the table has none.
    TwelveHours,
    /// The price of input, and this one for each token and hour of storage, in picodollars.
    AnHour(Picodollars),
}

impl Writes {
    /// Rates with the prices of writes for the usual lifetime and for the longer one.
    pub fn of(self, rates: Rates) -> Rates {
        let (usual, long) = match self {
            Self::Free | Self::AnHour(_) => (rates.input, rates.input),
            Self::OneLifetime => (rates.cache_write_5m, rates.cache_write_5m),
            Self::OneHour => {
                let assumed = Picodollars(rates.input.0 * 2);
                (rates.cache_write_5m, rates.cache_write_1h.max(assumed))
            }
            Self::TwelveHours => {
                let assumed = Picodollars(rates.input.0 * 5 / 2);
                (rates.cache_write_5m, rates.cache_write_12h.unwrap_or(assumed))
            }
        };
        Rates { cache_write_5m: usual, cache_write_1h: long, ..rates }
    }
}

/// Set of rules within the range that a provider's documentation leaves open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Case {
    /// Rules as documented, and as assumed otherwise.
    Assumed,
    /// Least favourable rules within the documentation.
    Worst,
    /// Most favourable rules within the documentation.
    Best,
}

/// Cache of a provider, as documented and as assumed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Provider {
    /// Name in options and outputs.
    pub name: &'static str,
    /// Meaning of the name, in one line.
    pub summary: &'static str,
    /// Model whose prices apply unless another is named.
    pub model: &'static str,
    /// Prefixes of the ids of the provider's models.
    pub families: &'static [&'static str],
    /// Rules as documented and as assumed.
    pub rules: Rules,
    /// Least favourable rules within the documentation.
    pub worst: Rules,
    /// Most favourable rules within the documentation.
    pub best: Rules,
    /// Prices of writes.
    pub writes: Writes,
    /// Sources of the rules: documented facts, and the assumptions otherwise.
    pub assumptions: &'static [&'static str],
}

impl Provider {
    /// Rules of the provider in a case.
    pub fn rules_in(&self, case: Case) -> &Rules {
        match case {
            Case::Assumed => &self.rules,
            Case::Worst => &self.worst,
            Case::Best => &self.best,
        }
    }

    /// Returns true if a model is served under this cache: no other provider names a longer prefix of its id.
    pub fn serves(&self, model: &str) -> bool {
        let own = self.named(model);
        own > 0 && ALL.iter().all(|other| other.named(model) <= own)
    }

    /// Length of the longest prefix of a model's id that the provider names, in bytes.
    fn named(&self, model: &str) -> usize {
        let families = self.families.iter().filter(|family| model.starts_with(**family));
        families.map(|family| family.len()).max().unwrap_or(0)
    }

    /// Rates of a request to one of the provider's models, or `None` if the model has no price.
    ///
    /// If two of a provider's caches have different prices for a model, the table has a row for
    /// `provider/model`.
    pub fn rates(
        &self,
        prices: &PriceTable,
        model: &str,
        at: Millis,
        prompt: Tokens,
    ) -> Option<Rates> {
        let own = format!("{}/{model}", self.name);
        let has_own = prices.models().any(|prices| prices.id == own);
        let model = if has_own { &own } else { model };
        let rates =
            prices.rates(&PriceContext { model, at, prompt, tier: PriceTier::default() })?;
        Some(self.writes.of(rates))
    }

    /// Rates of every request of a history, sent to the provider's model with prompts of these
    /// sizes in its tokens.
    pub(crate) fn request_rates(
        &self,
        history: &History,
        prompts: impl IntoIterator<Item = Tokens>,
    ) -> RequestRates {
        let starts = history.requests.iter().map(|request| request.start);
        let table = PriceTable::of_providers();
        starts.zip(prompts).map(|(at, prompt)| self.rates(table, self.model, at, prompt)).collect()
    }
}

/// Basis of [`token_ratio`], for outputs.
pub const VOCABULARY_ASSUMPTION: &str = "tokens are converted from Claude's vocabularies: 1,000 of \
    Opus 4.7 and later count as 770 elsewhere, 1,000 of earlier models as 1,000; of one kind of \
    content the ratio is between 0.6 and 1";

/// Ratio of other providers' token counts to a model's; counts of models other than Claude's are kept.
pub fn token_ratio(facts: &Facts) -> TokenRatio {
    TokenRatio { per_mille: facts.elsewhere_per_1000 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::Models;

    #[test]
    fn only_claudes_later_vocabulary_is_converted() {
        for (model, expected) in [
            ("claude-opus-5", 77_000),
            ("us.anthropic.claude-opus-4-7-v1:0", 77_000),
            ("claude-opus-4-6", 100_000),
            ("claude-3-5-haiku-20241022", 100_000),
            ("gpt-5.6-sol", 100_000),
        ] {
            let ratio = token_ratio(&Models::built_in().facts(model));
            assert_eq!(ratio.of(Tokens(100_000)), Tokens(expected), "{model}");
        }
    }
}
