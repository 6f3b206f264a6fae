//! Token counts of a call, and the meaning of its input figure.
//!
//! The conventions want the input to include the tokens read and written. Instrumentations that copy the
//! service's own figures leave both out if the service does. A call with more tokens read and written
//! than its input proves it for everything that the same instrumentation reports for the same provider,
//! unless nearly all of its calls show the opposite: then the input is damaged, and that call is
//! rejected.

use rustc_hash::FxHashMap;

use super::{Attributes, names};
use crate::base::{Symbol, Tokens};
use crate::read::agent::{Rejected, parts, split, tell_nothing, tokens};
use crate::read::input::{Count, Kind, Shape, Text, Usage, lenient, only_value};

/// Counters of a call as they are in its attributes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Figures {
    input: Count,
    output: Count,
    read: Count,
    written: Count,
    reasoning: Count,
}

impl Figures {
    /// Figures of the conventions, under all names that they have had.
    pub(super) fn of_conventions(attributes: &Attributes<'_>) -> Self {
        Self {
            input: attributes.count(names::INPUT),
            output: attributes.count(names::OUTPUT),
            read: attributes.count(names::READ),
            written: attributes.count(names::WRITTEN),
            reasoning: attributes.count(names::REASONING),
        }
    }

    /// Figures with those that a service reported itself, in the metadata of Vercel's AI SDK, and true if the input
    /// leaves out tokens read and written, as Anthropic's own does.
    pub(super) fn with_metadata(self, json: &Text<'_>) -> (Self, bool) {
        let metadata = json.as_str().and_then(|json| only_value::<Shape<Metadata>>(json).ok()?.0);
        let Some(Metadata { anthropic, openai }) = metadata else { return (self, false) };
        if let Some(own) = anthropic.0 {
            let usage = own.usage.0.unwrap_or_default();
            let figures = Self {
                input: usage.input.or(self.input),
                output: usage.output.or(self.output),
                read: usage.read.or(own.read).or(self.read),
                written: usage.written.or(own.written).or(self.written),
                reasoning: self.reasoning,
            };
            return (figures, true);
        }
        let read = openai.0.map_or(Count::Missing, |own| own.read);
        (Self { read: self.read.or(read), ..self }, false)
    }

    /// Figures of Claude Code.
    pub(super) fn of_claude_code(attributes: &Attributes<'_>) -> Self {
        Self {
            input: attributes.count(names::CLAUDE_INPUT),
            output: attributes.count(names::CLAUDE_OUTPUT),
            read: attributes.count(names::CLAUDE_READ),
            written: attributes.count(names::CLAUDE_WRITTEN),
            reasoning: Count::Missing,
        }
    }

    /// Returns true if nothing is reported, as after a failed call or a filter.
    pub(super) fn is_empty(&self) -> bool {
        tell_nothing(&[self.input, self.output, self.read, self.written])
    }

    /// Rank of detail: nothing, the prompt, the cache too.
    pub(super) fn fullness(&self) -> u8 {
        u8::from(!self.is_empty()) + u8::from(!self.is_empty() && self.read != Count::Missing)
    }

    /// Returns true if more is cached than the input counts; `None` if nothing is cached, which proves
    /// nothing.
    fn show_exclusion(&self) -> Option<bool> {
        let known = |count| tokens(count).ok().flatten();
        let cached = [self.read, self.written].map(|count| known(count).unwrap_or_default());
        let cached: Tokens = cached.into_iter().sum();
        let input = known(self.input).filter(|_| cached > Tokens::ZERO)?;
        Some(cached > input)
    }

    /// Billed usage, and the reasoning in the output.
    ///
    /// # Errors
    /// If a figure is unknown or impossible.
    pub(super) fn usage(&self, custom: Custom) -> Result<(Usage, Tokens), Rejected> {
        if self.is_empty() {
            return Err((Kind::MissingUsage, "the call has no token counts"));
        }
        // An instrumentation that reports reads elsewhere leaves out a zero.
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

    /// Returns true if the writes are reported.
    pub(super) fn tell_writes(&self, custom: Custom) -> bool {
        custom.tells_writes || matches!(self.written, Count::Value(_))
    }
}

lenient! {
    /// What services reported, by their names.
    struct Metadata {
        anthropic: Shape<OfAnthropic>,
        openai: Shape<OfOpenAi>,
    }

    struct OfAnthropic {
        usage: Shape<MessagesUsage>,
        #[serde(rename = "cacheReadInputTokens")]
        read: Count,
        #[serde(rename = "cacheCreationInputTokens")]
        written: Count,
    }

    struct MessagesUsage {
        #[serde(rename = "input_tokens")]
        input: Count,
        #[serde(rename = "output_tokens")]
        output: Count,
        #[serde(rename = "cache_read_input_tokens")]
        read: Count,
        #[serde(rename = "cache_creation_input_tokens")]
        written: Count,
    }

    struct OfOpenAi {
        #[serde(rename = "cachedPromptTokens")]
        read: Count,
    }
}

/// Meaning of the input figure of an instrumentation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum InputFigure {
    /// Whole prompt.
    #[default]
    Whole,
    /// Whole prompt, although a few calls show the opposite.
    WholeOfMost,
    /// Tokens neither read nor written.
    Rest,
}

/// Habits of an instrumentation.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Custom {
    pub(super) input: InputFigure,
    /// True if reads are reported whenever there are any.
    pub(super) tells_reads: bool,
    /// True if writes are reported whenever there are any.
    pub(super) tells_writes: bool,
}

/// Name and version of an instrumentation, and the provider that it reports on.
pub(super) type Scope = [Option<Symbol>; 3];

/// Number of calls with a possibly inclusive input that weigh as much as one with a surely exclusive
/// input.
///
/// An exclusive input looks inclusive, too, if little is cached; an inclusive one looks exclusive only
/// in damage.
const INCLUSIVE_CALLS_AGAINST_ONE: usize = 4;

/// Evidence in the figures of a scope.
#[derive(Clone, Copy, Debug, Default)]
struct Shown {
    /// Calls with more cached than their input counts.
    exclusive: usize,
    /// Other calls with something cached.
    inclusive: usize,
    reads: bool,
    writes: bool,
}

/// Evidence of all scopes, which is complete only at the end of a file.
#[derive(Default)]
pub(super) struct Scopes(FxHashMap<Scope, Shown>);

impl Scopes {
    /// Adds the evidence in the figures of one call.
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
        // Without evidence the conventions hold: the input is the whole prompt.
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
        // A call that caches nothing proves nothing.
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
