//! Tokens that each way to fork reads, writes and sends in full, and their cost.

use super::equivalents::{Equivalents, Multipliers};
use super::trace::trace;
use super::{ForkPlan, PlanError, VARIANTS, Variant};
use crate::base::{Millis, Picodollars, Tokens, Ttl};
use crate::read::input::PriceTier;
use crate::simulate::cache::{Outcome, simulate};
use crate::simulate::pricing::{Billing, PriceContext, PriceTable, Rates};
use crate::simulate::strategy::Assumptions;

/// Model and day whose prices apply.
#[derive(Clone, Copy, Debug)]
pub struct ForkPrices<'a> {
    /// Price table.
    pub table: &'a PriceTable,
    /// Model, by any of its names.
    pub model: &'a str,
    /// Time of the requests.
    pub at: Millis,
}

impl ForkPrices<'_> {
    /// Rates of a prompt of this size.
    fn rates(&self, prompt: Tokens) -> Option<Rates> {
        let Self { table, model, at } = *self;
        table.rates(&PriceContext { model, at, prompt, tier: PriceTier::default() })
    }
}

/// Reason for which forks cannot be compared.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ForkError {
    /// Impossible sizes.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// A model whose input is free, so that equivalents have no unit.
    #[error("`{0}` has no price for input tokens to compare with")]
    NoInputPrice(String),
}

/// Charge of prompts, without their output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ForkCharge {
    /// Tokens read from cache.
    pub read: Tokens,
    /// Tokens written for the TTL of the plan.
    pub written: Tokens,
    /// Tokens sent in full.
    pub input: Tokens,
    /// Sum of the above, in tokens sent in full.
    pub equivalents: Equivalents,
    /// Cost; `None` without a price.
    pub cost: Option<Picodollars>,
}

/// Charges of one way to fork.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForkComparison {
    /// Way to fork.
    pub variant: Variant,
    /// Charge of each child, in the order of the plan.
    pub children: Vec<ForkCharge>,
}

/// Comparison of all ways to fork.
#[derive(Clone, Debug)]
pub struct ForkTable<'a> {
    /// Plan that is forked.
    pub plan: &'a ForkPlan,
    /// Weights of tokens read and written: those of the model's prices, if any, for its largest prompt here.
    pub multipliers: Multipliers,
    /// Model and day whose prices apply, or `None` without a model.
    pub prices: Option<ForkPrices<'a>>,
    /// Charges of each way, beginning with the one without sharing.
    pub comparisons: Vec<ForkComparison>,
}

impl ForkComparison {
    /// Charge of all children together.
    pub fn total(&self) -> ForkCharge {
        let children = || self.children.iter();
        ForkCharge {
            read: children().map(|child| child.read).sum(),
            written: children().map(|child| child.written).sum(),
            input: children().map(|child| child.input).sum(),
            equivalents: children().map(|child| child.equivalents).sum(),
            cost: children().map(|child| child.cost).sum(),
        }
    }
}

/// Applies the rules to every way to fork.
///
/// # Errors
/// The plan has no children, too many of them, or impossible sizes, or the model has no prices.
pub fn compare<'a>(
    plan: &'a ForkPlan,
    prices: Option<ForkPrices<'a>>,
) -> Result<ForkTable<'a>, ForkError> {
    plan.check()?;
    let multipliers = match &prices {
        Some(prices) => model_multipliers(plan, prices)
            .ok_or_else(|| ForkError::NoInputPrice(prices.model.to_owned()))?,
        None => Multipliers::usual(plan.ttl).with_write(plan.write_weight),
    };
    let charge = |outcome: Outcome| charge(&outcome, plan.ttl, multipliers, prices.as_ref());
    let comparisons = VARIANTS
        .into_iter()
        .map(|variant| ForkComparison {
            variant,
            children: children(plan, &variant).into_iter().map(charge).collect(),
        })
        .collect();
    Ok(ForkTable { plan, multipliers, prices, comparisons })
}

fn model_multipliers(plan: &ForkPlan, prices: &ForkPrices<'_>) -> Option<Multipliers> {
    // One set of weights for the table: prices may depend on the size of a prompt, and the largest decides.
    let largest = plan.directives.iter().max().copied()?;
    Multipliers::of(&prices.rates(plan.prompt(largest))?, plan.ttl)
}

/// Outcomes of the children's requests; the parent's comes before them and is dropped.
fn children(plan: &ForkPlan, variant: &Variant) -> Vec<Outcome> {
    simulate(&trace(plan, variant), &Assumptions::default().replay()).split_off(1)
}

fn charge(
    outcome: &Outcome,
    ttl: Ttl,
    multipliers: Multipliers,
    prices: Option<&ForkPrices<'_>>,
) -> ForkCharge {
    let Outcome { read, write_5m, write_1h, input, .. } = *outcome;
    let written = match ttl {
        Ttl::FiveMinutes => write_5m,
        Ttl::OneHour => write_1h,
    };
    let billing = Billing { input, read, write_5m, write_1h, output: Tokens::ZERO };
    ForkCharge {
        read,
        written,
        input,
        equivalents: multipliers.read.times(read)
            + multipliers.write.times(written)
            + Equivalents::of(input),
        cost: prices
            .and_then(|prices| prices.rates(outcome.total()))
            .map(|rates| billing.cost(&rates)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan() -> ForkPlan {
        ForkPlan {
            parent: Tokens(100_000),
            assistant: Tokens(500),
            placeholders: Tokens(200),
            directives: vec![Tokens(100); 3],
            parent_is_warm: true,
            ttl: Ttl::FiveMinutes,
            kept: Tokens::ZERO,
            write_weight: None,
            minimum: Tokens(1_024),
        }
    }

    /// Read, written and input of each child of a variant, and the equivalents of all children.
    fn figures(plan: &ForkPlan, variant: &str) -> (Vec<(u64, u64, u64)>, String) {
        let table = compare(plan, None).expect("a plan");
        let named = |comparison: &&ForkComparison| comparison.variant.name == variant;
        let comparison = table.comparisons.iter().find(named).expect("a variant");
        let split = |child: &ForkCharge| (child.read.0, child.written.0, child.input.0);
        let children = comparison.children.iter().map(split).collect();
        (children, comparison.total().equivalents.to_string())
    }

    fn check(plan: &ForkPlan, variant: &str, first: Split, siblings: Split, all: &str) {
        let expected = (vec![first, siblings, siblings], all.to_owned());
        assert_eq!(figures(plan, variant), expected, "{variant}");
    }

    type Split = (u64, u64, u64);

    #[test]
    fn a_warm_parent() {
        let plan = plan();
        let whole = 100_000 + 500 + 200 + 100;
        // 3 × 100,800, and the same × 1.25.
        check(&plan, "separate", (0, 0, whole), (0, 0, whole), "302400");
        check(&plan, "separate_cached", (0, whole, 0), (0, whole, 0), "378000");
        // 10,000 + 700 × 1.25 + 100 = 10,975; 10,070 + 100 = 10,170.
        let first = (100_000, 700, 100);
        check(&plan, "placeholder", first, (100_700, 0, 100), "31315");
        check(&plan, "placeholder_at_once", first, first, "32925");
        // 10,000 + 800 × 1.25 = 11,000, in whatever order.
        let first = (100_000, 800, 0);
        check(&plan, "directive", first, first, "33000");
        check(&plan, "directive_first", first, first, "33000");
        // 10,000 + 500 × 1.25 + 300 = 10,925; 10,050 + 300 = 10,350.
        let first = (100_000, 500, 300);
        check(&plan, "skip_write", first, (100_500, 0, 300), "31625");
        check(&plan, "skip_write_at_once", first, first, "32775");
    }

    #[test]
    fn a_cold_parent() {
        let plan = ForkPlan { parent_is_warm: false, ..plan() };
        // 100,700 × 1.25 + 100 = 125,975, and siblings as after a warm parent.
        let first = (0, 100_700, 100);
        check(&plan, "placeholder", first, (100_700, 0, 100), "146315");
        check(&plan, "placeholder_at_once", first, first, "377925");
        let first = (0, 100_800, 0);
        check(&plan, "directive", first, first, "378000");
        check(&plan, "directive_first", first, first, "378000");
        // 100,500 × 1.25 + 300 = 125,925.
        let first = (0, 100_500, 300);
        check(&plan, "skip_write", first, (100_500, 0, 300), "146625");
        check(&plan, "skip_write_at_once", first, first, "377775");
    }

    #[test]
    fn fresh_decisions_write_the_parent_anew() {
        let plan = plan();
        // 100,700 × 1.25 + 100 = 125,975, and twice 10,070 + 100.
        check(&plan, "fresh_decisions", (0, 100_700, 100), (100_700, 0, 100), "146315");
        // 2,000 + 80,700 × 1.25 + 100 = 102,975.
        let kept = ForkPlan { kept: Tokens(20_000), ..plan.clone() };
        check(&kept, "fresh_decisions", (20_000, 80_700, 100), (100_700, 0, 100), "123315");
        check(&kept, "placeholder", (100_000, 700, 100), (100_700, 0, 100), "31315");
        let cold = ForkPlan { parent_is_warm: false, ..kept };
        check(&cold, "fresh_decisions", (0, 100_700, 100), (100_700, 0, 100), "146315");
        let too_much = ForkPlan { kept: Tokens(100_001), ..plan };
        let error = compare(&too_much, None).expect_err("nonsense").to_string();
        assert_eq!(error, "a parent of 100000 tokens cannot keep 100001");
    }

    #[test]
    fn a_write_weighs_what_it_is_said_to() {
        let weight = "1".parse().expect("a weight");
        let plan = ForkPlan { write_weight: Some(weight), parent_is_warm: false, ..plan() };
        // 100,700 + 100 = 100,800, and twice 10,070 + 100.
        check(&plan, "placeholder", (0, 100_700, 100), (100_700, 0, 100), "121140");
        for nonsense in ["-1", "1001", "0.0000001", "x", ""] {
            assert!(nonsense.parse::<Equivalents>().is_err(), "{nonsense}");
        }
    }

    #[test]
    fn an_hour_is_written_at_twice_the_price() {
        let plan = ForkPlan { ttl: Ttl::OneHour, ..plan() };
        // 10,000 + 700 × 2 + 100 = 11,500; 2 × 10,170.
        check(&plan, "placeholder", (100_000, 700, 100), (100_700, 0, 100), "31840");
        let cold = ForkPlan { parent_is_warm: false, ..plan };
        check(&cold, "placeholder", (0, 100_700, 100), (100_700, 0, 100), "221840");
    }

    #[test]
    fn what_is_below_the_minimum_is_not_cached() {
        let mut plan = ForkPlan { parent: Tokens(1_000), assistant: Tokens(10), ..plan() };
        plan.placeholders = Tokens(13);
        check(&plan, "placeholder", (0, 0, 1_123), (0, 0, 1_123), "3369");
        plan.placeholders = Tokens(14);
        // 1,024 × 1.25 + 100 = 1,380; 102.4 + 100 = 202.4.
        check(&plan, "placeholder", (0, 1_024, 100), (1_024, 0, 100), "1784.8");
    }

    #[test]
    fn long_prompts_have_prices_of_their_own() {
        let table = PriceTable::built_in();
        let at: jiff::Timestamp = "2026-10-24T00:00:00Z".parse().expect("a moment");
        let at = Millis::new(at.as_millisecond());
        let prices = ForkPrices { table: &table, model: "claude-haiku-5-5", at };
        let directives = vec![Tokens(100), Tokens(20_000)];
        let plan = ForkPlan { parent: Tokens(90_000), directives, ..plan() };
        let forks = compare(&plan, Some(prices)).expect("a plan");
        // 90,800 at 0.10 and, over 100,000, 110,700 at 0.50 dollars a million.
        let cost = forks.comparisons[0].total().cost.expect("a price");
        assert_eq!(cost.to_string(), "0.06443");
        let unknown = ForkPrices { model: "glm-4.7", ..prices };
        let error = compare(&plan, Some(unknown)).expect_err("no price");
        assert_eq!(error, ForkError::NoInputPrice("glm-4.7".to_owned()));
    }

    #[test]
    fn nonsense_is_refused() {
        let refused = |plan: &ForkPlan| compare(plan, None).expect_err("nonsense").to_string();
        let with = |directives| ForkPlan { directives, ..plan() };
        assert!(refused(&with(Vec::new())).starts_with("there are no children"));
        let many = refused(&with(vec![Tokens(1); 10_001]));
        assert_eq!(many, "10001 children are too many; 10000 are the most");
        let empty = refused(&with(vec![Tokens(1), Tokens(0)]));
        assert_eq!(empty, "a directive cannot have 0 tokens");
        let parent = Tokens(1_000_000_000_001);
        assert!(refused(&ForkPlan { parent, ..plan() }).starts_with("the parent cannot have"));
    }

    #[test]
    fn the_largest_plan_overflows_nothing() {
        let most = Tokens(1_000_000_000_000);
        let plan = ForkPlan {
            parent: most,
            assistant: most,
            placeholders: most,
            directives: vec![most; 10_000],
            ..plan()
        };
        let (_, all) = figures(&plan, "separate_cached");
        // 10,000 × 4 · 10¹² × 1.25.
        assert_eq!(all, format!("5{}", "0".repeat(16)));
    }
}
