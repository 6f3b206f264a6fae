//! The token counts of a call, and what its input figure counts.
//!
//! The conventions want the input to include what was read and written. Instrumentations that copy the
//! service's own figures leave both out where the service does. More read and written than the input shows
//! that, and holds for all that the same instrumentation tells of the same provider, unless nearly all of it
//! shows the opposite: then the input is what is damaged, and that call is named.

use rustc_hash::FxHashMap;

use super::attributes::Attributes;
use super::names;
use crate::base::id::Symbol;
use crate::base::units::Tokens;
use crate::read::agent::Rejected;
use crate::read::agent::request::{parts, split, tell_nothing, tokens};
use crate::read::input::{Count, Kind, Usage};

/// The counts of a call as they stand in its attributes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Figures {
    input: Count,
    output: Count,
    read: Count,
    written: Count,
    reasoning: Count,
}

impl Figures {
    /// Those of the conventions, under their names of all times.
    pub(super) fn of_conventions(attributes: &Attributes<'_>) -> Self {
        Self {
            input: attributes.count(names::INPUT),
            output: attributes.count(names::OUTPUT),
            read: attributes.count(names::READ),
            written: attributes.count(names::WRITTEN),
            reasoning: attributes.count(names::REASONING),
        }
    }

    /// Those of Claude Code.
    pub(super) fn of_claude_code(attributes: &Attributes<'_>) -> Self {
        Self {
            input: attributes.count(names::CLAUDE_INPUT),
            output: attributes.count(names::CLAUDE_OUTPUT),
            read: attributes.count(names::CLAUDE_READ),
            written: attributes.count(names::CLAUDE_WRITTEN),
            reasoning: Count::Missing,
        }
    }

    /// Whether they tell of nothing, as where a call failed or a filter took them out.
    pub(super) fn is_empty(&self) -> bool {
        tell_nothing(&[self.input, self.output, self.read, self.written])
    }

    /// How much they tell: nothing, of the prompt, of the cache too.
    pub(super) fn fullness(&self) -> u8 {
        u8::from(!self.is_empty()) + u8::from(!self.is_empty() && self.read != Count::Missing)
    }

    /// Whether more is cached than the input counts; `None` where nothing is cached, which tells nothing.
    fn show_exclusion(&self) -> Option<bool> {
        let known = |count| tokens(count).ok().flatten();
        let cached = [self.read, self.written].map(|count| known(count).unwrap_or_default());
        let cached: Tokens = cached.into_iter().sum();
        let input = known(self.input).filter(|_| cached > Tokens::ZERO)?;
        Some(cached > input)
    }

    /// What was billed, and the reasoning in the output.
    ///
    /// # Errors
    /// Where a figure is unknown or impossible.
    pub(super) fn usage(&self, custom: Custom) -> Result<(Usage, Tokens), Rejected> {
        if self.is_empty() {
            return Err((Kind::MissingUsage, "the call has no token counts"));
        }
        let is_silent = self.read == Count::Missing && custom.tells_reads;
        let read = if is_silent { Count::Value(0) } else { self.read };
        let prompt = match custom.input {
            InputFigure::Rest => parts(self.input, read, self.written)?,
            InputFigure::WholeOfMost if self.show_exclusion() == Some(true) => {
                return Err((
                    Kind::InvalidUsage,
                    "more is cached than was sent, unlike in the other calls of the instrumentation",
                ));
            }
            InputFigure::Whole | InputFigure::WholeOfMost => split(self.input, read, self.written)?,
        };
        let output = tokens(self.output)?;
        let output = output.ok_or((Kind::MissingUsage, "the call has no output tokens"))?;
        let reasoning = tokens(self.reasoning)?.unwrap_or_default().min(output);
        Ok((Usage { prompt, output, ..Usage::default() }, reasoning))
    }

    /// Whether what was written is told.
    pub(super) fn tell_writes(&self, custom: Custom) -> bool {
        custom.tells_writes || matches!(self.written, Count::Value(_))
    }
}

/// What the input figure of an instrumentation counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum InputFigure {
    /// The whole prompt.
    #[default]
    Whole,
    /// The whole prompt, although a few calls show the opposite.
    WholeOfMost,
    /// What was neither read nor written.
    Rest,
}

/// How figures are told by an instrumentation.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Custom {
    pub(super) input: InputFigure,
    /// Whether it tells of reads where there are any.
    pub(super) tells_reads: bool,
    /// Whether it tells of writes where there are any.
    pub(super) tells_writes: bool,
}

/// Who tells: the name and the version of an instrumentation, and the provider that it tells of.
pub(super) type Scope = [Option<Symbol>; 3];

/// So many calls whose input can hold what is cached weigh as much as one whose input cannot. An input that
/// leaves it out can, too, where little is cached; one that holds it is smaller in damage alone.
const INCLUSIVE_CALLS_AGAINST_ONE: usize = 4;

/// What the figures of a scope have shown.
#[derive(Clone, Copy, Debug, Default)]
struct Shown {
    /// Calls with more cached than their input counts.
    exclusive: usize,
    /// Other calls with something cached.
    inclusive: usize,
    reads: bool,
    writes: bool,
}

/// What is known of all scopes, which is not enough before the end of a file.
#[derive(Default)]
pub(super) struct Scopes(FxHashMap<Scope, Shown>);

impl Scopes {
    /// Takes in what the figures of one call show.
    pub(super) fn learn(&mut self, scope: Scope, figures: &Figures) {
        let shown = self.0.entry(scope).or_default();
        match figures.show_exclusion() {
            Some(true) => shown.exclusive += 1,
            Some(false) => shown.inclusive += 1,
            None => {}
        }
        shown.reads |= matches!(figures.read, Count::Value(_));
        shown.writes |= matches!(figures.written, Count::Value(_));
    }

    pub(super) fn custom(&self, scope: Scope) -> Custom {
        let Shown { exclusive, inclusive, reads, writes } =
            self.0.get(&scope).copied().unwrap_or_default();
        let input = if exclusive == 0 {
            InputFigure::Whole
        } else if exclusive * INCLUSIVE_CALLS_AGAINST_ONE < inclusive {
            InputFigure::WholeOfMost
        } else {
            InputFigure::Rest
        };
        Custom { input, tells_reads: reads, tells_writes: writes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(input: u64, read: Option<u64>, written: Option<u64>, output: u64) -> Figures {
        let count = |given: Option<u64>| given.map_or(Count::Missing, Count::Value);
        Figures {
            input: Count::Value(input),
            output: Count::Value(output),
            read: count(read),
            written: count(written),
            reasoning: Count::Value(7),
        }
    }

    #[test]
    fn one_proof_holds_for_all_of_its_scope() {
        let mut scopes = Scopes::default();
        let (own, other): (Scope, Scope) = ([None; 3], {
            let mut symbols = crate::base::id::Symbols::default();
            [Some(symbols.intern("other")), None, None]
        });
        let undecided = figures(1_000, Some(400), Some(100), 5);
        scopes.learn(own, &undecided);
        scopes.learn(other, &undecided);
        scopes.learn(own, &figures(3, Some(900), Some(50), 5));
        let (usage, reasoning) = undecided.usage(scopes.custom(own)).expect("usage");
        assert_eq!((usage.prompt.input, usage.prompt.total()), (Tokens(1_000), Tokens(1_500)));
        assert_eq!(reasoning, Tokens(5));
        let (usage, _) = undecided.usage(scopes.custom(other)).expect("usage");
        assert_eq!((usage.prompt.input, usage.prompt.total()), (Tokens(500), Tokens(1_000)));
    }

    #[test]
    fn one_damaged_call_does_not_speak_for_all_of_its_scope() {
        let mut scopes = Scopes::default();
        let [inclusive, damaged] =
            [figures(1_000, Some(900), None, 10), figures(5, Some(900), None, 10)];
        for _ in 0..5 {
            scopes.learn([None; 3], &inclusive);
        }
        scopes.learn([None; 3], &damaged);
        // What caches nothing shows nothing.
        scopes.learn([None; 3], &figures(1_000, Some(0), None, 10));
        let custom = scopes.custom([None; 3]);
        let (usage, _) = inclusive.usage(custom).expect("usage");
        assert_eq!((usage.prompt.input, usage.prompt.read), (Tokens(100), Tokens(900)));
        let named = damaged.usage(custom).map(|_| ());
        assert!(named.is_err_and(|(kind, detail)| {
            kind == Kind::InvalidUsage && detail.contains("unlike")
        }));
        // Two of seven are no accident.
        scopes.learn([None; 3], &damaged);
        assert_eq!(scopes.custom([None; 3]).input, InputFigure::Rest);
    }

    #[test]
    fn silence_is_zero_only_where_reads_are_told_of_at_all() {
        let silent = figures(1_000, None, None, 5);
        let unknown = silent.usage(Custom::default()).map(|_| ()).map_err(|error| error.0);
        assert_eq!(unknown, Err(Kind::UsageWithoutCacheCounters));
        let mut scopes = Scopes::default();
        scopes.learn([None; 3], &silent);
        scopes.learn([None; 3], &figures(1_000, Some(1), None, 5));
        let custom = scopes.custom([None; 3]);
        let (usage, _) = silent.usage(custom).expect("usage");
        assert_eq!((usage.prompt.input, usage.prompt.read), (Tokens(1_000), Tokens(0)));
        assert!(!silent.tell_writes(custom));
    }
}
