//! The providers that can be asked for by name.

use super::definition::Provider;
use crate::base::units::Tokens;
use crate::simulate::cache::{AutomaticCache, EntryPlaces};

const MINUTE: i64 = 60 * 1_000;
const HOUR: i64 = 60 * MINUTE;

/// A cache that finds every step of a prompt and charges nothing for writes.
const fn free(minimum: u64, step: u64, lifetime: i64) -> AutomaticCache {
    AutomaticCache {
        minimum: Tokens(minimum),
        step: Tokens(step),
        lifetime,
        places: EntryPlaces::Everywhere,
        charges_writes: false,
    }
}

/// A cache that finds what ended at a request's last message, and charges for writes.
const fn charged(minimum: u64, step: u64, lifetime: i64) -> AutomaticCache {
    AutomaticCache {
        places: EntryPlaces::RequestEnds,
        charges_writes: true,
        ..free(minimum, step, lifetime)
    }
}

const ROUTING: &str = "assumed: every request reaches the machine that has its prefix; above some \
    15 requests a minute with one prefix it may not";

const FIVE_MINUTES_ASSUMED: &str = "undocumented: how long a prefix is kept; assumed: 5 minutes \
    without use, the shortest time that any provider documents";

const SIZES_ASSUMED: &str = "undocumented: the shortest prefix and the step; assumed: 1,024 and \
    128 tokens, as OpenAI documents";

/// Every provider, in the order of the outputs.
pub static ALL: [Provider; 10] = [
    Provider {
        name: "openai",
        summary: "OpenAI up to GPT-5.5, kept in memory",
        model: "gpt-5.5",
        families: &["gpt-4", "gpt-5", "o3"],
        cache: free(1_024, 128, 10 * MINUTE),
        assumptions: &[
            "documented: prefixes of 1,024 tokens and more in steps of 128; writes are free",
            "documented: kept for 5 to 10 minutes without use, at most for an hour; assumed: 10 \
             minutes",
            "measured: public rollouts of GPT-5.5 recorded reads 512 tokens apart, and reads \
             after 15 minutes without use; not after 77",
            ROUTING,
        ],
    },
    Provider {
        name: "openai-24h",
        summary: "OpenAI up to GPT-5.5 with prompt_cache_retention 24h",
        model: "gpt-5.5",
        families: &["gpt-4", "gpt-5", "o3"],
        cache: free(1_024, 128, 24 * HOUR),
        assumptions: &[
            "documented: prefixes of 1,024 tokens and more in steps of 128; writes are free",
            "documented: kept for at most 24 hours; assumed: for all of them",
            ROUTING,
        ],
    },
    Provider {
        name: "openai-5.6",
        summary: "OpenAI from GPT-5.6 on: implicit breakpoints, writes charged",
        model: "gpt-5.6-sol",
        families: &["gpt-5.6", "gpt-6"],
        cache: charged(1_024, 128, 30 * MINUTE),
        assumptions: &[
            "documented: an implicit breakpoint at the latest eligible message, of 1,024 tokens \
             and more, found however far back; writes cost 1.25 times the input",
            "documented: kept for at least 30 minutes; assumed: for no longer, from the last use \
             on",
            "undocumented: the step; assumed: 128 tokens, as before",
            "documented: the latest 80 breakpoints are tried; assumed: a read refreshes all in \
             front of it, so that an earlier one is never the only one left",
            "measured: public rollouts recorded reads 512 (Terra) and 1,024 tokens (Sol) apart, \
             and no written tokens",
            ROUTING,
        ],
    },
    Provider {
        name: "deepseek",
        summary: "DeepSeek's cache on disk",
        model: "deepseek-v4-pro",
        families: &["deepseek"],
        cache: free(64, 64, 3 * HOUR),
        assumptions: &[
            "documented: whole units are found, which end with a user's input, a model's output \
             and at fixed intervals; assumed: intervals of 64 tokens, which older documentation \
             names",
            "documented: kept for hours to days, without promise; assumed: 3 hours without use",
            "not modelled: the output of a request, which its successor may read, too",
        ],
    },
    Provider {
        name: "gemini",
        summary: "Gemini's implicit cache",
        model: "gemini-3.1-pro-preview",
        families: &["gemini"],
        cache: free(4_096, 1, 5 * MINUTE),
        assumptions: &[
            "documented: prefixes of 4,096 tokens and more with Gemini 3.1 Pro and 3.5 Flash \
             (2,048 with Gemini 2.5; older copies say 1,024); writes and storage are free",
            "undocumented: the step; assumed: single tokens",
            FIVE_MINUTES_ASSUMED,
        ],
    },
    Provider {
        name: "kimi",
        summary: "Moonshot's automatic cache",
        model: "kimi-k2.5",
        families: &["kimi", "moonshot"],
        cache: free(512, 512, 5 * MINUTE),
        assumptions: &[
            "undocumented: the shortest prefix and the step; assumed: 512 tokens, the blocks of \
             its published traces",
            FIVE_MINUTES_ASSUMED,
        ],
    },
    Provider {
        name: "glm",
        summary: "Zhipu's automatic cache",
        model: "glm-5.1",
        families: &["glm"],
        cache: free(1_024, 128, 5 * MINUTE),
        assumptions: &[
            SIZES_ASSUMED,
            FIVE_MINUTES_ASSUMED,
            "assumed: storage stays free of charge, as it is offered now",
        ],
    },
    Provider {
        name: "xai",
        summary: "xAI's automatic cache",
        model: "grok-4.3",
        families: &["grok"],
        cache: free(1_024, 128, 5 * MINUTE),
        assumptions: &[SIZES_ASSUMED, FIVE_MINUTES_ASSUMED],
    },
    Provider {
        name: "qwen",
        summary: "Alibaba's implicit cache",
        model: "qwen3.7-max",
        families: &["qwen"],
        cache: free(1_024, 128, 5 * MINUTE),
        assumptions: &[
            "uncertain: prefixes of 1,024 tokens and more, kept for 5 minutes without use",
            "undocumented: the step; assumed: 128 tokens, as OpenAI documents",
        ],
    },
    Provider {
        name: "qwen-explicit",
        summary: "Alibaba's cache with a marker at the end of each request",
        model: "qwen3.7-max",
        families: &["qwen"],
        cache: charged(1_024, 1, 5 * MINUTE),
        assumptions: &[
            "uncertain: prefixes of 1,024 tokens and more, kept for 5 minutes; writes cost 1.25 \
             and reads 0.1 times the input",
            "assumed: a read starts the 5 minutes anew, and a marker finds an entry however far \
             back",
        ],
    },
];

/// The provider of a name.
#[must_use]
pub fn by_name(name: &str) -> Option<&'static Provider> {
    ALL.iter().find(|provider| provider.name == name)
}
