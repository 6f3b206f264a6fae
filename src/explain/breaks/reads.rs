//! What every request read and wrote: as recorded, or where that is unknown, by the rules.

use crate::base::basis::Basis;
use crate::base::units::{Picodollars, Tokens};
use crate::read::input::PromptSplit;
use crate::requests::conversation::{History, RequestIndex};
use crate::simulate::ledger::{Ledger, Row, StrategyColumn};
use crate::simulate::pricing::Billing;

/// The reads and writes of a ledger's requests.
pub(super) struct Reads<'a> {
    pub(super) ledger: &'a Ledger<'a>,
    billed: &'a StrategyColumn,
    replay: &'a StrategyColumn,
}

impl<'a> Reads<'a> {
    /// `None` where the record or its replay was not asked for.
    pub(super) fn new(ledger: &'a Ledger<'a>) -> Option<Self> {
        let (billed, replay) = (ledger.billed()?, ledger.expected()?);
        Some(Self { ledger, billed, replay })
    }

    pub(super) fn history(&self) -> &'a History {
        self.ledger.history
    }

    /// Whether the split of a request is that of its own usage. Recorded tokens cannot be set
    /// against prompts that are counted in bytes.
    pub(super) fn is_recorded(&self, index: RequestIndex) -> bool {
        let history = self.history();
        let is_in_bytes = history.is_captured(index) && history.is_counted_in_bytes();
        history.request(index).usage.is_some() && !is_in_bytes
    }

    /// How a request's prompt was read, written and sent.
    pub(super) fn split(&self, index: RequestIndex) -> PromptSplit {
        let recorded = self.history().request(index).usage.as_ref();
        match recorded.filter(|_| self.is_recorded(index)) {
            Some(usage) => usage.prompt,
            None => self.row(index).map_or_else(PromptSplit::default, |row| split_of(&row.billing)),
        }
    }

    /// Whether the service refuses a request, as far as the rules tell; it answered one with usage.
    pub(super) fn is_refused(&self, index: RequestIndex) -> bool {
        self.row(index).is_some_and(|row| row.refusal.is_some())
    }

    /// Whether what a request read and wrote is the end of one prefix.
    pub(super) fn is_one_sampling(&self, index: RequestIndex) -> bool {
        let usage = self.history().request(index).usage.as_ref();
        !self.is_recorded(index) || usage.is_none_or(|usage| !usage.is_sum)
    }

    /// What a request reads by the rules.
    pub(super) fn replayed(&self, index: RequestIndex) -> Tokens {
        self.ledger.row(self.replay, index).map_or(Tokens::ZERO, |row| row.billing.read)
    }

    /// What the split of a request rests on.
    pub(super) fn basis(&self, index: RequestIndex) -> Basis {
        self.row(index).map_or(Basis::Measured, |row| row.basis)
    }

    fn row(&self, index: RequestIndex) -> Option<Row<'a>> {
        let column = if self.is_recorded(index) { self.billed } else { self.replay };
        self.ledger.row(column, index)
    }

    /// What a request cost more than if so many of the tokens after its read had been read, too.
    /// `None` where its model has no price.
    pub(super) fn excess(&self, index: RequestIndex, rewritten: Tokens) -> Option<Picodollars> {
        excess(&self.row(index)?.billing, rewritten, self.ledger, index)
    }

    /// The same of its replay, which reads what the rules say: what the rules charge for the miss.
    pub(super) fn predicted_excess(
        &self,
        index: RequestIndex,
        expected: Tokens,
    ) -> Option<Picodollars> {
        let billing = self.ledger.row(self.replay, index)?.billing;
        let prompt = self.ledger.prompt_total(index);
        let rewritten = expected.min(prompt).saturating_sub(billing.read);
        excess(&billing, rewritten, self.ledger, index)
    }
}

fn split_of(billing: &Billing) -> PromptSplit {
    PromptSplit {
        input: billing.input,
        read: billing.read,
        write_5m: billing.write_5m,
        write_1h: billing.write_1h,
    }
}

/// What the tokens after the read cost more than if they had been read. Those written for an hour
/// stand in front of those for five minutes, and both in front of the input.
fn excess(
    billing: &Billing,
    rewritten: Tokens,
    ledger: &Ledger<'_>,
    index: RequestIndex,
) -> Option<Picodollars> {
    let rates = ledger.rates_of(index)?;
    let mut read_again = *billing;
    let mut left = rewritten;
    for part in [&mut read_again.write_1h, &mut read_again.write_5m, &mut read_again.input] {
        let moved = left.min(*part);
        *part = part.saturating_sub(moved);
        left = left.saturating_sub(moved);
        read_again.read += moved;
    }
    Some(billing.cost(rates).minus(read_again.cost(rates)))
}
