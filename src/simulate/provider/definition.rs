//! A provider with an automatic prefix cache.

use super::catalogue::ALL;
use crate::base::units::{Millis, Tokens};
use crate::read::input::PriceTier;
use crate::simulate::cache::{AutomaticCache, AutomaticPolicy, Outcome};
use crate::simulate::pricing::{Billing, PriceContext, PriceTable, Rates};

/// What the common beginning of two captured prompts rests on, for outputs.
pub const MATCHING_ASSUMPTION: &str = "captured prompts are compared inside of blocks, as canonical JSON with \
    its framing; assumed: providers render them in the same order, and settings that part Claude's caches \
    (thinking, tool choice, effort, images) part these, too; where tokens are estimated, a part of a block \
    has its share of the block's tokens by bytes";

/// A provider's cache, as documented and as assumed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Provider {
    /// The name in options and outputs.
    pub name: &'static str,
    /// What it stands for, in a line.
    pub summary: &'static str,
    /// The model whose prices apply unless another is named.
    pub model: &'static str,
    /// The beginnings of its models' ids.
    pub families: &'static [&'static str],
    /// The rules.
    pub cache: AutomaticCache,
    /// What the rules rest on: what is documented, and what is assumed where nothing is.
    pub assumptions: &'static [&'static str],
}

impl Provider {
    /// Whether the cache is one of a model's: of all providers none names more of its id.
    #[must_use]
    pub fn serves(&self, model: &str) -> bool {
        let own = self.named(model);
        own > 0 && ALL.iter().all(|other| other.named(model) <= own)
    }

    /// How much of a model's id the provider names.
    fn named(&self, model: &str) -> usize {
        let families = self.families.iter().filter(|family| model.starts_with(**family));
        families.map(|family| family.len()).max().unwrap_or(0)
    }

    /// What to simulate.
    #[must_use]
    pub fn policy(&self, keeps_breaks: bool) -> AutomaticPolicy {
        AutomaticPolicy { cache: self.cache, keeps_breaks }
    }

    /// The rates of a request to one of its models; `None` where the model has no price. Where two
    /// of a provider's caches have different prices for a model, the table has `provider/model`.
    #[must_use]
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
        prices.rates(&PriceContext { model, at, prompt, tier: PriceTier::default() })
    }

    /// What is billed of a prompt and an answer, both in the provider's tokens. These caches have
    /// one price for writes, which stands for either TTL.
    #[must_use]
    pub fn billing(outcome: &Outcome, output: Tokens) -> Billing {
        Billing {
            input: outcome.input,
            read: outcome.read,
            write_5m: outcome.write_5m + outcome.written,
            write_1h: outcome.write_1h,
            output,
        }
    }
}
