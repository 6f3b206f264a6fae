//! Recommended lifetime of cache entries, in a sentence.

use super::{counted, dollar_difference, dollars, percent, relative};
use crate::base::{Picodollars, Ttl};
use crate::explain::analysis::{ByLifetime, Lifetimes};

/// Smallest share of the cost that counts as a difference: the rules leave a larger part unexplained.
const LEAST_SHARE: f64 = 0.005;

/// Cheaper lifetime, with its saving, the number of sessions, and the agents that need the other one.
pub(super) fn lifetime_sentence(lifetimes: &Lifetimes) -> Option<String> {
    let all = lifetimes.all();
    let share = share(all)?;
    let sessions = match lifetimes.by_session.len() {
        1 => "this session",
        _ => "these sessions",
    };
    if share < LEAST_SHARE {
        let difference = dollars(Some(all.difference()));
        return Some(format!(
            "Lifetime: five minutes and an hour cost {sessions} the same but for {difference}."
        ));
    }
    let least = all.least();
    if let Some(billed) = lifetimes.billed.filter(|billed| is_less(*billed, least)) {
        // Cheaper than either lifetime is a mix of both, or a cache that is not the one of the rules.
        if !lifetimes.is_mixed {
            return None;
        }
        let more = |cost: Picodollars| dollars(Some(cost.minus(billed)));
        return Some(format!(
            "Lifetime: as recorded, with both, it cost less than one for all markers would: five minutes {} more, an hour {}.",
            more(all.five_minutes),
            more(all.hour),
        ));
    }
    let (right, other) = names(all.better());
    let mut sentence = format!(
        "Lifetime: {right} is right for {sessions}; {other} would have cost {} ({}) more",
        dollars(Some(all.difference())),
        percent(Some(share)),
    );
    if let [_, _, ..] = lifetimes.by_session[..] {
        sentence.push_str(&over_sessions(&lifetimes.by_session, all.better()));
    }
    sentence.push('.');
    // Agents that agree with each other need no sentence of their own.
    if let [Some(main), Some(agents)] = lifetimes.by_agent
        && main.better() != agents.better()
    {
        let kinds = [("main conversations", main), ("sub-agents", agents)];
        let differing = kinds.into_iter().find(|(_, one)| one.better() != all.better());
        if let Some((kind, one)) = differing.filter(|(_, one)| is_clear(*one)) {
            let (right, difference) = (names(one.better()).0, dollars(Some(one.difference())));
            let other = format!(" For {kind} {right} is right, by {difference}.");
            sentence.push_str(&other);
        }
    }
    Some(sentence)
}

/// Range over sessions of what the other lifetime costs more, and the number of sessions in which either costs less.
fn over_sessions(sessions: &[ByLifetime], right: Ttl) -> String {
    let more = |one: &ByLifetime| match one.difference() {
        difference if one.better() == right => difference,
        difference => Picodollars(-difference.0),
    };
    let [least, most] = [sessions.iter().map(more).min(), sessions.iter().map(more).max()];
    let is_right = |one: &&ByLifetime| one.better() == right;
    let (agreeing, against): (Vec<&ByLifetime>, Vec<&ByLifetime>) =
        sessions.iter().filter(|one| is_clear(**one)).partition(is_right);
    let (right, other) = names(right);
    format!(
        "; by session from {} to {}: {right} costs less in {} of {}, {other} in {}",
        dollar_difference(least),
        dollar_difference(most),
        agreeing.len(),
        counted(sessions.len() as u64, "session", "sessions"),
        against.len(),
    )
}

fn share(one: ByLifetime) -> Option<f64> {
    let worst = one.least() + one.difference();
    relative(Some(worst), Some(one.least()))
}

fn is_clear(one: ByLifetime) -> bool {
    share(one).is_some_and(|share| share >= LEAST_SHARE)
}

/// Returns true if an amount is clearly below another one.
fn is_less(amount: Picodollars, other: Picodollars) -> bool {
    relative(Some(other), Some(amount)).is_some_and(|share| share >= LEAST_SHARE)
}

/// A lifetime and the other one, in words.
fn names(better: Ttl) -> (&'static str, &'static str) {
    match better {
        Ttl::FiveMinutes => ("five minutes", "an hour"),
        Ttl::OneHour => ("an hour", "five minutes"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn costs(five_minutes: i128, hour: i128) -> ByLifetime {
        let cents = |cents: i128| Picodollars(cents * 10_000_000_000);
        ByLifetime { five_minutes: cents(five_minutes), hour: cents(hour) }
    }

    fn sentence(
        by_agent: [Option<ByLifetime>; 2],
        by_session: &[ByLifetime],
        billed: i128,
    ) -> String {
        let billed = Some(Picodollars(billed * 10_000_000_000));
        let by_session = by_session.to_vec();
        let mixed = Lifetimes { by_agent, by_session, billed, is_mixed: true };
        lifetime_sentence(&mixed).expect("a sentence")
    }

    #[test]
    fn the_better_lifetime_is_named_with_what_the_other_costs_more() {
        // 120 is 20 % more than 100.
        let one = costs(120, 100);
        assert_eq!(
            sentence([Some(one), None], &[one], 100),
            "Lifetime: an hour is right for this session; five minutes would have cost $0.2000 (20.0 %) more."
        );
        let other = costs(60, 70);
        assert_eq!(
            sentence([Some(one), Some(other)], &[costs(130, 90), costs(50, 80)], 180),
            "Lifetime: an hour is right for these sessions; five minutes would have cost $0.1000 (5.9 %) more; by \
             session from -$0.3000 to +$0.4000: an hour costs less in 1 of 2 sessions, five minutes in 1. For sub-agents \
             five minutes is right, by $0.1000."
        );
    }

    #[test]
    fn nothing_is_right_that_changes_nothing_or_costs_more_than_the_bill() {
        let same = costs(10_000, 10_004);
        assert_eq!(
            sentence([Some(same), None], &[same], 10_000),
            "Lifetime: five minutes and an hour cost this session the same but for $0.0400."
        );
        let one = costs(120, 100);
        assert_eq!(
            sentence([Some(one), None], &[one], 80),
            "Lifetime: as recorded, with both, it cost less than one for all markers would: five minutes $0.4000 more, an \
             hour $0.2000."
        );
        let billed = Some(Picodollars(800_000_000_000));
        let other_cache = Lifetimes {
            by_agent: [Some(one), None],
            by_session: vec![one],
            billed,
            is_mixed: false,
        };
        assert_eq!(lifetime_sentence(&other_cache), None);
    }
}
