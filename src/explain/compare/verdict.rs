//! Which of several strategies costs least, and how sure that is.

use super::comparison::{Compared, Comparison};
use super::paired::Paired;
use crate::base::units::Picodollars;
use crate::simulate::strategy::StrategyKind;

/// The cheapest strategy that somebody could follow, against the base; or where the base itself is the
/// cheapest, against the one after it.
#[derive(Clone, Copy, Debug)]
pub struct Verdict<'c, 'l> {
    /// The cheapest.
    pub cheapest: &'c Compared<'l>,
    /// What it is held against.
    pub other: &'c Compared<'l>,
    /// The strategy that is not the base against the base, session by session.
    pub paired: &'c Paired,
    /// How many sessions are cheaper under the cheapest.
    pub cheaper: usize,
}

/// How many times less something costs: as measured, and between which values were the sessions drawn
/// anew.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimesLess {
    /// As measured.
    pub times: f64,
    /// The 2.5th and the 97.5th percentile.
    pub interval: Option<(f64, f64)>,
}

impl<'l> Comparison<'l> {
    /// Which strategy costs least; `None` where there are no two to choose from. What the rules expect
    /// without breaks, and the bound, are nothing that can be followed.
    #[must_use]
    pub fn verdict(&self) -> Option<Verdict<'_, 'l>> {
        let base = self.base().filter(|base| base.totals.cost().is_some())?;
        let others = self.strategies.iter().skip(1).filter(|one| can_be_followed(one));
        let priced = others.filter_map(|one| Some((one.totals.cost()?, one)));
        let (cost, best) = priced.min_by_key(|(cost, _)| *cost)?;
        let paired = best.paired.as_ref()?;
        let is_cheaper = Some(cost) < base.totals.cost();
        Some(Verdict {
            cheapest: if is_cheaper { best } else { base },
            other: if is_cheaper { base } else { best },
            paired,
            cheaper: if is_cheaper { paired.cheaper } else { paired.dearer },
        })
    }
}

impl Verdict<'_, '_> {
    /// How many times less the cheapest costs; `None` where it costs nothing.
    #[must_use]
    pub fn times_less(&self) -> Option<TimesLess> {
        let (low, high) = (self.cheapest.totals.cost()?, self.other.totals.cost()?);
        let ratio = |high: Picodollars, low: Picodollars| {
            (low > Picodollars::ZERO).then(|| high.to_dollars_lossy() / low.to_dollars_lossy())
        };
        let is_base_cheapest = self.cheapest.paired.is_none();
        let drawn = |difference: Picodollars| {
            if is_base_cheapest {
                ratio(low + difference, low)
            } else {
                ratio(high, high + difference)
            }
        };
        let interval = self.paired.interval.and_then(|(least, most)| {
            let ends = [drawn(least)?, drawn(most)?];
            Some((ends[0].min(ends[1]), ends[0].max(ends[1])))
        });
        Some(TimesLess { times: ratio(high, low)?, interval })
    }
}

fn can_be_followed(compared: &Compared<'_>) -> bool {
    compared.applicability.is_applicable()
        && matches!(
            compared.strategy.kind,
            StrategyKind::Recorded | StrategyKind::Counterfactual(_) | StrategyKind::Cheapest(_)
        )
}
