//! Bill, compared with the rules' charge for the same requests: the part of a saving by the rules that the
//! bill supports.

use crate::base::Picodollars;

/// Saving that is always worth a line: a cent.
const LEAST_SAVING: Picodollars = Picodollars(10_000_000_000);

/// Divisor of the amount spent for a saving that is worth a line even below a cent: half a per cent.
const LEAST_PART: i128 = 200;

/// Amount billed for some requests, and the rules' charge for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bill {
    /// Amount billed, or `None` if no usage was recorded.
    pub billed: Option<Picodollars>,
    /// Part billed for separate samplings, which no change affects.
    pub apart: Picodollars,
    /// Simulated cost of the record with its breaks (`as-recorded`) and without the separate samplings, from
    /// which all savings are counted.
    ///
    /// It differs from the billed amount by the part that the rules do not explain, and no saving includes
    /// that part.
    pub recorded: Picodollars,
    /// Part of `recorded` for requests without recorded usage, for which nothing is billed.
    pub unrecorded: Picodollars,
}

impl Bill {
    /// Amount spent: the bill, and the rules' charge for requests without a record.
    pub fn spent(&self) -> Picodollars {
        self.billed.unwrap_or_default() + self.unrecorded
    }

    /// Least saving worth a line: half a per cent of the amount spent, or a cent.
    pub fn least_saving(&self) -> Picodollars {
        // If nothing was spent, a saving of nothing is worth no line.
        LEAST_SAVING.min(Picodollars(self.spent().0 / LEAST_PART)).max(Picodollars(1))
    }

    /// Words for the least saving worth a line.
    pub fn least_words(&self) -> &'static str {
        if self.least_saving() < LEAST_SAVING { "0.5 %" } else { "a cent" }
    }

    /// Amount billed beyond the simulated record of the same requests and the separate samplings.
    ///
    /// No saving includes it. May be negative.
    pub fn unexplained(&self) -> Option<Picodollars> {
        let charged = self.recorded.minus(self.unrecorded);
        Some(self.billed?.minus(self.apart).minus(charged))
    }

    /// Amount that the rules charge beyond the bill.
    pub fn overcharged(&self) -> Picodollars {
        let beyond = Picodollars::ZERO.minus(self.unexplained().unwrap_or_default());
        beyond.max(Picodollars::ZERO)
    }

    /// Returns true if the bill supports any part of a saving by the rules.
    ///
    /// Otherwise all of the saving may be money that nobody paid, and the requests would have cost no less
    /// than was billed.
    pub fn supports(&self, saving: Picodollars) -> bool {
        saving > self.overcharged()
    }

    /// Returns true if the rules charge more than one and a half times the bill.
    ///
    /// The record is then far from what the rules describe.
    pub fn is_far_from_rules(&self) -> bool {
        let billed = self.billed.unwrap_or_default().minus(self.apart);
        self.overcharged() > Picodollars(billed.0 / 2)
    }

    /// Part of a saving by the rules that the bill supports, at most the amount spent.
    ///
    /// If the record is far from what the rules describe, it is the amount spent beyond what the requests
    /// would have cost.
    pub fn supported(&self, saving: Picodollars) -> Picodollars {
        let saving = if self.is_far_from_rules() {
            saving.minus(self.overcharged()).max(Picodollars::ZERO)
        } else {
            saving
        };
        saving.min(self.spent().minus(self.apart))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A bill in picodollars, as all amounts here.
    fn bill(billed: Option<i128>, apart: i128, recorded: i128, unrecorded: i128) -> Bill {
        Bill {
            billed: billed.map(Picodollars),
            apart: Picodollars(apart),
            recorded: Picodollars(recorded),
            unrecorded: Picodollars(unrecorded),
        }
    }

    #[test]
    fn far_from_the_rules_a_saving_begins_with_what_nobody_paid() {
        // 110 were billed, 10 of them apart; the rules charge 160.
        let bill = bill(Some(110), 10, 160, 0);
        assert_eq!(bill.unexplained(), Some(Picodollars(-60)));
        for (saving, supported) in [(60, 0), (61, 1), (101, 41), (160, 100)] {
            assert_eq!(bill.supports(Picodollars(saving)), supported > 0);
            assert_eq!(bill.supported(Picodollars(saving)), Picodollars(supported));
        }
    }

    #[test]
    fn near_the_rules_a_saving_is_theirs_up_to_what_was_spent() {
        // The rules charge one and a half times what was billed.
        let bill = bill(Some(110), 10, 150, 0);
        for (saving, supported) in [(51, 51), (100, 100), (101, 100), (150, 100)] {
            assert_eq!(bill.supported(Picodollars(saving)), Picodollars(supported));
        }
        assert!(!bill.supports(Picodollars(50)) && bill.supports(Picodollars(51)));
    }

    #[test]
    fn what_was_billed_beyond_the_rules_is_in_no_saving() {
        let bill = bill(Some(150), 0, 100, 0);
        assert_eq!(bill.unexplained(), Some(Picodollars(50)));
        assert!(bill.supports(Picodollars(1)));
        assert_eq!(bill.supported(Picodollars(100)), Picodollars(100));
    }

    #[test]
    fn requests_without_a_record_are_charged_by_the_rules() {
        // 20 of the 70 that the rules charge are of requests for which nothing is billed.
        let bill = bill(Some(40), 0, 70, 20);
        assert_eq!(bill.spent(), Picodollars(60));
        assert_eq!(bill.unexplained(), Some(Picodollars(-10)));
        assert!(!bill.supports(Picodollars(10)) && bill.supports(Picodollars(11)));
        assert_eq!(bill.supported(Picodollars(60)), Picodollars(60));
        assert_eq!(bill.supported(Picodollars(70)), Picodollars(60));
    }

    #[test]
    fn without_any_record_the_rules_are_the_bill() {
        let bill = bill(None, 0, 70, 70);
        assert_eq!((bill.spent(), bill.unexplained()), (Picodollars(70), None));
        assert!(bill.supports(Picodollars(1)));
        assert_eq!(bill.supported(Picodollars(70)), Picodollars(70));
    }
}
