//! The token counts of a call, and what its input figure counts.
//!
//! The conventions want the input to include what was read and written. Instrumentations that copy the
//! service's own figures leave both out where the service does. More read and written than the input is
//! proof of that, and holds for all that the same instrumentation tells of the same provider.

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

    /// Whether more is cached than the input counts.
    fn prove_exclusion(&self) -> bool {
        let known = |count| tokens(count).ok().flatten();
        let cached = [self.read, self.written].map(|count| known(count).unwrap_or_default());
        known(self.input).is_some_and(|input| cached.into_iter().sum::<Tokens>() > input)
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
        let prompt = if custom.is_exclusive {
            parts(self.input, read, self.written)?
        } else {
            split(self.input, read, self.written)?
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

/// How figures are told by an instrumentation.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Custom {
    /// Whether the input leaves out what was read and written.
    pub(super) is_exclusive: bool,
    /// Whether it tells of reads where there are any.
    pub(super) tells_reads: bool,
    /// Whether it tells of writes where there are any.
    pub(super) tells_writes: bool,
}

/// Who tells: the name and the version of an instrumentation, and the provider that it tells of.
pub(super) type Scope = [Option<Symbol>; 3];

/// The customs of all scopes, which are not known before the end of a file.
#[derive(Default)]
pub(super) struct Scopes(FxHashMap<Scope, Custom>);

impl Scopes {
    /// Takes in what the figures of one call show.
    pub(super) fn learn(&mut self, scope: Scope, figures: &Figures) {
        let custom = self.0.entry(scope).or_default();
        custom.is_exclusive |= figures.prove_exclusion();
        custom.tells_reads |= matches!(figures.read, Count::Value(_));
        custom.tells_writes |= matches!(figures.written, Count::Value(_));
    }

    pub(super) fn custom(&self, scope: Scope) -> Custom {
        self.0.get(&scope).copied().unwrap_or_default()
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
