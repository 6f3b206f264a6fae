//! What was billed, held against what the rules charge for the same requests: how much of a saving, which
//! follows from the rules, the bill supports.

use crate::base::units::Picodollars;

/// What was billed for some requests, and what the rules charge for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bill {
    /// What was billed, or `None` where no usage was recorded.
    pub billed: Option<Picodollars>,
    /// The part of it that was billed for separate samplings, which no simulation has and no change
    /// affects.
    pub apart: Picodollars,
    /// The simulated cost of the record with its breaks (`as-recorded`), from which all savings are
    /// counted. It differs from what was billed by what the rules do not explain, and no saving
    /// includes that.
    pub recorded: Picodollars,
    /// The part of it that is of requests without recorded usage, for which nothing is billed.
    pub unrecorded: Picodollars,
}

impl Bill {
    /// What was spent: what was billed, and what the rules charge where nothing was recorded.
    #[must_use]
    pub fn spent(&self) -> Picodollars {
        self.billed.unwrap_or_default() + self.unrecorded
    }

    /// What was billed beyond the simulated record of the same requests and the separate samplings. No saving
    /// includes it. May be negative.
    #[must_use]
    pub fn unexplained(&self) -> Option<Picodollars> {
        let charged = self.recorded.minus(self.unrecorded);
        Some(self.billed?.minus(self.apart).minus(charged))
    }

    /// What the rules charge beyond what was billed.
    #[must_use]
    pub fn overcharged(&self) -> Picodollars {
        let beyond = Picodollars::ZERO.minus(self.unexplained().unwrap_or_default());
        beyond.max(Picodollars::ZERO)
    }

    /// Whether the bill supports any of a saving by the rules: else all of it may be what nobody paid, and the
    /// requests would have cost no less than was billed.
    #[must_use]
    pub fn supports(&self, saving: Picodollars) -> bool {
        saving > self.overcharged()
    }

    /// What of a saving by the rules the bill supports: all of it, or, where that is more than was spent, what was
    /// spent beyond what the requests would have cost.
    #[must_use]
    pub fn supported(&self, saving: Picodollars) -> Picodollars {
        if saving <= self.spent().minus(self.apart) {
            return saving;
        }
        saving.minus(self.overcharged()).max(Picodollars::ZERO)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In picodollars, as all amounts here.
    fn bill(billed: Option<i128>, apart: i128, recorded: i128, unrecorded: i128) -> Bill {
        Bill {
            billed: billed.map(Picodollars),
            apart: Picodollars(apart),
            recorded: Picodollars(recorded),
            unrecorded: Picodollars(unrecorded),
        }
    }

    #[test]
    fn a_saving_is_what_nobody_paid_up_to_what_the_rules_overcharge() {
        // 110 were billed, 10 of them apart; the rules charge 160.
        let bill = bill(Some(110), 10, 160, 0);
        assert_eq!(bill.unexplained(), Some(Picodollars(-60)));
        for (saving, supported) in
            [(60, None), (61, Some(61)), (100, Some(100)), (101, Some(41)), (160, Some(100))]
        {
            let saving = Picodollars(saving);
            assert_eq!(bill.supports(saving), supported.is_some(), "{saving:?}");
            if let Some(supported) = supported {
                assert_eq!(bill.supported(saving), Picodollars(supported));
            }
        }
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
