//! The figures of a comparison that expressions ask for.

use rust_decimal::Decimal;

use super::comparison::Comparison;
use super::expression::Metric;
use crate::base::units::Tokens;

impl Comparison<'_> {
    /// A figure of a strategy; `None` where it is not known, or the strategy not compared or not
    /// applicable.
    #[must_use]
    pub fn figure(&self, strategy: &str, metric: Metric) -> Option<Decimal> {
        let compared = self.strategy(strategy)?;
        if !compared.applicability.is_applicable() {
            return None;
        }
        let totals = &compared.totals;
        let tokens = |tokens: Tokens| Some(Decimal::from(tokens.0));
        match metric {
            Metric::Cost => totals.cost()?.to_decimal(),
            Metric::PerRequest => {
                totals.cost()?.to_decimal()?.checked_div(Decimal::from(totals.requests))
            }
            Metric::Input => tokens(totals.input),
            Metric::Read => tokens(totals.read),
            Metric::Written => tokens(totals.write_5m + totals.write_1h),
            Metric::WrittenFiveMinutes => tokens(totals.write_5m),
            Metric::WrittenOneHour => tokens(totals.write_1h),
            Metric::Output => tokens(totals.output),
            Metric::HitRate => {
                Decimal::from(totals.read.0).checked_div(Decimal::from(totals.prompt().0))
            }
            Metric::Requests => Some(Decimal::from(totals.requests)),
            Metric::AddedRequests => Some(Decimal::from(totals.added)),
            Metric::Gap => {
                let beyond = self.beyond_bound(compared)?.to_decimal()?;
                beyond.checked_div(self.bound.own_reading?.to_decimal()?)
            }
        }
    }
}
