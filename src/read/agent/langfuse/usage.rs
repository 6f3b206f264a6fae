//! Usage of a generation: counters under names that each SDK chooses.
//!
//! By convention the counters are disjoint, and a total is their sum. An SDK that passes on the
//! inclusive figures of a service puts the whole prompt into `input`, or the reasoning into `output`:
//! then the total is not the sum of all counters, but of those two.

use serde::Deserialize;

use crate::base::{ByKey, Tokens};
use crate::read::agent::{Figure, Rejected, tell_nothing, tokens};
use crate::read::input::{Count, Kind, PromptSplit, Usage};

/// Counters by meaning.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(from = "ByKey<String, Figure>")]
pub(super) struct Counters {
    input: Count,
    /// Further tokens of the prompt, such as audio.
    other_input: Tokens,
    read: Count,
    written: Count,
    written_5m: Count,
    written_1h: Count,
    output: Count,
    /// Further tokens of the output, such as reasoning.
    other_output: Tokens,
    reasoning: Tokens,
    total: Count,
    /// True if one of the further counters is not a possible count.
    is_invalid: bool,
}

impl From<ByKey<String, Figure>> for Counters {
    fn from(named: ByKey<String, Figure>) -> Self {
        let mut counters = Self::default();
        for (name, Figure(count)) in named {
            if count != Count::Missing && count != Count::Null {
                counters.add(&name.to_ascii_lowercase(), count);
            }
        }
        counters
    }
}

impl Counters {
    fn add(&mut self, name: &str, count: Count) {
        let is_cached = name.contains("cache") || name.contains("ephemeral");
        let is_written = ["creation", "write", "ephemeral"].iter().any(|one| name.contains(one));
        match name {
            _ if is_cached && name.contains("1h") => self.written_1h = count,
            _ if is_cached && name.contains("5m") => self.written_5m = count,
            // Both names of the same counter may be there.
            _ if is_cached && is_written => self.written = larger(self.written, count),
            _ if is_cached => self.read = larger(self.read, count),
            "input" | "input_tokens" | "inputtokens" | "prompt_tokens" | "prompttokens" => {
                self.input = count;
            }
            "output" | "output_tokens" | "outputtokens" | "completion_tokens"
            | "completiontokens" => self.output = count,
            "total" | "total_tokens" | "totaltokens" => self.total = count,
            _ if name.starts_with("input_") || name.starts_with("prompt_") => {
                let more = self.other(count);
                self.other_input += more;
            }
            _ if name.starts_with("output_") || name.starts_with("completion_") => {
                let more = self.other(count);
                self.other_output += more;
                if name.contains("reason") || name.contains("thought") {
                    self.reasoning += more;
                }
            }
            _ => {}
        }
    }

    fn other(&mut self, count: Count) -> Tokens {
        let known = tokens(count);
        self.is_invalid |= known.is_err();
        known.ok().flatten().unwrap_or_default()
    }

    pub(super) fn is_empty(&self) -> bool {
        tell_nothing(&[self.input, self.output, self.read, self.written])
            && tell_nothing(&[self.written_5m, self.written_1h])
    }

    pub(super) fn tell_reads(&self) -> bool {
        matches!(self.read, Count::Value(_))
    }

    pub(super) fn tell_writes(&self) -> bool {
        [self.written, self.written_5m, self.written_1h]
            .into_iter()
            .any(|one| one.value().is_some())
    }

    /// Returns true if the lifetime of all writes is reported.
    pub(super) fn tell_lifetimes(&self) -> bool {
        let value = |count: Count| count.value().unwrap_or_default();
        value(self.written) <= value(self.written_5m).saturating_add(value(self.written_1h))
    }

    /// Rank of detail: nothing, the prompt, the cache too.
    pub(super) fn fullness(&self) -> u8 {
        u8::from(!self.is_empty()) + u8::from(self.tell_reads())
    }

    /// Billed usage, and the reasoning in the output.
    ///
    /// `is_silence_zero` means that reads are reported whenever there are any.
    ///
    /// # Errors
    /// If a figure is unknown or impossible.
    pub(super) fn usage(&self, is_silence_zero: bool) -> Result<(Usage, Tokens), Rejected> {
        if self.is_empty() {
            return Err((Kind::MissingUsage, "the generation has no token counts"));
        }
        if self.is_invalid {
            return Err((Kind::InvalidUsage, "a number of tokens that cannot be one"));
        }
        let input = tokens(self.input)?;
        let input = input.ok_or((Kind::MissingUsage, "the generation has no input tokens"))?;
        let output = tokens(self.output)?;
        let output = output.ok_or((Kind::MissingUsage, "the generation has no output tokens"))?;
        let read = tokens(self.read)?.or(is_silence_zero.then_some(Tokens::ZERO));
        let read = read.ok_or((Kind::UsageWithoutCacheCounters, "the generation is left out"))?;
        let (write_5m, write_1h) = self.writes()?;
        let apart = PromptSplit { input: input + self.other_input, read, write_5m, write_1h };
        let within = PromptSplit { input: input.saturating_sub(apart.cached_end()), ..apart };
        let with_others = output + self.other_output;
        // If more was cached than the input counts, the input leaves it out.
        let may_be_within = input >= apart.cached_end();
        let total = tokens(self.total)?;
        let fits = |prompt: PromptSplit, output: Tokens| total == Some(prompt.total() + output);
        // The total decides. If it fits no reading, the convention holds: disjoint counters.
        let (prompt, output) = if fits(apart, with_others) {
            (apart, with_others)
        } else if fits(apart, output) {
            (apart, output)
        } else if may_be_within && fits(within, with_others) {
            (within, with_others)
        } else if may_be_within && fits(within, output) {
            (within, output)
        } else {
            (apart, with_others)
        };
        Ok((Usage { prompt, output, ..Usage::default() }, self.reasoning.min(output)))
    }

    /// Written tokens by lifetime. The flat figure may be the sum of the others.
    fn writes(&self) -> Result<(Tokens, Tokens), Rejected> {
        let [flat, five_minutes, hour] =
            [self.written, self.written_5m, self.written_1h].map(tokens);
        let (flat, five_minutes, hour) = (
            flat?.unwrap_or_default(),
            five_minutes?.unwrap_or_default(),
            hour?.unwrap_or_default(),
        );
        // The rest of the flat figure has no lifetime: five minutes are assumed.
        Ok((five_minutes + flat.saturating_sub(five_minutes + hour), hour))
    }
}

fn larger(one: Count, other: Count) -> Count {
    match (one, other) {
        (Count::Value(one), Count::Value(other)) => Count::Value(one.max(other)),
        (Count::Invalid, _) | (_, Count::Invalid) => Count::Invalid,
        (known @ Count::Value(_), _) | (_, known) => known,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage(json: &str) -> Result<[u64; 6], Kind> {
        let counters: Counters = serde_json::from_str(json).expect("JSON");
        let (usage, reasoning) = counters.usage(false).map_err(|error| error.0)?;
        let PromptSplit { input, read, write_5m, write_1h } = usage.prompt;
        Ok([input, read, write_5m, write_1h, usage.output, reasoning].map(|tokens| tokens.0))
    }

    #[test]
    fn the_total_tells_what_includes_what() {
        for (json, expected) in [
            // Disjoint figures.
            (
                r#"{"input":10,"cache_read_input_tokens":900,"cache_creation_input_tokens":90,"output":5,"total":1005}"#,
                [10, 900, 90, 0, 5, 0],
            ),
            (r#"{"input":10,"input_cached_tokens":900,"output":5}"#, [10, 900, 0, 0, 5, 0]),
            // The service's own figures.
            (
                r#"{"input":1000,"input_cached_tokens":900,"output":50,"output_reasoning_tokens":20,"total":1050}"#,
                [100, 900, 0, 0, 50, 20],
            ),
            // As the server splits them.
            (
                r#"{"input":"100","input_cached_tokens":"900","output":"30","output_reasoning_tokens":"20","total":"1050"}"#,
                [100, 900, 0, 0, 50, 20],
            ),
            // More is read than the input counts, whatever the total says.
            (r#"{"input":3,"input_cache_read":900,"output":5,"total":8}"#, [3, 900, 0, 0, 5, 0]),
            // By lifetime, with their sum.
            (
                r#"{"input":3,"cache_read_input_tokens":0,"cache_creation_input_tokens":100,"ephemeral_5m_input_tokens":40,"ephemeral_1h_input_tokens":60,"output":5}"#,
                [3, 0, 40, 60, 5, 0],
            ),
            (
                r#"{"input":7,"input_audio_tokens":4,"input_cached_tokens":0,"output":1}"#,
                [11, 0, 0, 0, 1, 0],
            ),
        ] {
            assert_eq!(usage(json), Ok(expected), "{json}");
        }
    }

    #[test]
    fn what_is_unknown_or_impossible_is_named() {
        for (json, kind) in [
            (r#"{"unit":"TOKENS","input":null}"#, Kind::MissingUsage),
            (r#"{"input":5,"output":1,"total":6}"#, Kind::UsageWithoutCacheCounters),
            (r#"{"input":5,"input_cached_tokens":0}"#, Kind::MissingUsage),
            (r#"{"input":-5,"output":1,"input_cached_tokens":0}"#, Kind::InvalidUsage),
            (
                r#"{"input":5,"output":1,"input_cached_tokens":0,"input_audio_tokens":1.5}"#,
                Kind::InvalidUsage,
            ),
            (r#"{"input":9000000000000,"output":1,"input_cached_tokens":0}"#, Kind::InvalidUsage),
        ] {
            assert_eq!(usage(json), Err(kind), "{json}");
        }
    }
}
