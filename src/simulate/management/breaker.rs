//! What stops compactions that do not help.

/// Fewer requests than this between two compactions make the second one a quick refill. The client's
/// own number is not known.
const QUICK: u32 = 3;

/// So many quick refills in a row stop it (I.1, since 2.1.89).
const MOST_QUICK: u32 = 3;

/// Counts compactions of a conversation that fail, or follow one another too fast.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Breaker {
    /// Requests since the last compaction.
    since: Option<u32>,
    /// Quick refills in a row.
    quick: u32,
    /// Failures in a row.
    failures: u32,
}

impl Breaker {
    /// Another request of the conversation.
    pub(super) fn step(&mut self) {
        self.since = self.since.map(|since| since.saturating_add(1));
    }

    /// Whether a compaction is tried at all, where so many failures in a row stop it (I.1, since 2.1.76).
    pub(super) fn lets_try(&self, most_failures: u32) -> bool {
        self.quick < MOST_QUICK && self.failures < most_failures
    }

    /// One has failed.
    pub(super) fn fail(&mut self) {
        self.failures += 1;
    }

    /// Whether a conversation that has reached its threshold is compacted; once it is not, it never
    /// is again.
    pub(super) fn lets_pass(&mut self) -> bool {
        self.failures = 0;
        let is_quick = self.since.is_some_and(|since| since < QUICK);
        self.quick = if is_quick { self.quick + 1 } else { 0 };
        self.since = Some(0);
        self.quick < MOST_QUICK
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_third_quick_refill_in_a_row_stops_it() {
        let mut breaker = Breaker::default();
        let mut wait = |requests: u32| {
            (0..requests).for_each(|_| breaker.step());
            breaker.lets_try(3) && breaker.lets_pass()
        };
        // A slow refill begins the count anew.
        let passed = [7, 1, 2, 3, 2, 2, 2, 50].map(&mut wait);
        assert_eq!(passed, [true, true, true, true, true, true, false, false]);
    }

    #[test]
    fn failures_in_a_row_stop_it() {
        let mut breaker = Breaker::default();
        breaker.fail();
        breaker.fail();
        // One that passes begins the count anew.
        assert!(breaker.lets_try(3) && breaker.lets_pass());
        breaker.fail();
        breaker.fail();
        assert!(breaker.lets_try(3));
        breaker.fail();
        assert!(!breaker.lets_try(3));
    }
}
