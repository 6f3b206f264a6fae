//! Fields of a captured request that matter, as spelled in the file: capture records,
//! and the lines of claude-trace logs.
//!
//! Only this module and `block.rs` know the JSON names. Anything not named here is skipped, except the
//! other fields of a body, which may be part of the key, too.
//!
//! Answers in a log: the message's id and usage, from a plain body or from the event
//! stream of a streamed one.
//!
//! Times as logs write them.

use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::other_fields::{OtherFields, Sieve};
use crate::base::units::{Millis, Tokens};
use crate::read::input::{
    Count, Listed, Number, Shape, Text, Usage, UsageObject, UsageProblem, read_usage,
};

/// Header that names beta features, in lower case.
pub(crate) const BETA_HEADER: &str = "anthropic-beta";

/// Fields of a body for the sampling, the checks and the sending of the answer, or for a comparison with it;
/// they change nothing in front of it. (`metadata` does not either, and is read for the session
/// alone. Claude Code sends `safeguards` with the first request of a turn and leaves it out of the
/// next ones, which read the cache all the same.)
pub(super) const WITHOUT_INFLUENCE: [&str; 8] = [
    "diagnostics",
    "max_tokens",
    "safeguards",
    "stop_sequences",
    "stream",
    "temperature",
    "top_k",
    "top_p",
];

/// Prefix of the fields that LiteLLM puts into a body that it logs. It does not send them.
pub(super) const OF_LITELLM: &str = "litellm_";

/// Line: a capture record, or an exchange in a claude-trace log.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Record<'a> {
    #[serde(borrow)]
    pub(super) timestamp: Text<'a>,
    #[serde(borrow)]
    pub(super) response_started_at: Text<'a>,
    #[serde(borrow)]
    pub(super) request_id: Text<'a>,
    #[serde(borrow)]
    pub(super) message_id: Text<'a>,
    #[serde(borrow)]
    pub(super) session_id: Text<'a>,
    #[serde(borrow)]
    pub(super) agent_id: Text<'a>,
    #[serde(borrow)]
    pub(super) scope: Text<'a>,
    #[serde(borrow)]
    pub(super) request: Shape<Request<'a>>,
    /// Headers of the request, if they were captured.
    #[serde(borrow)]
    pub(super) headers: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) usage: Shape<UsageObject<'a>>,
    #[serde(borrow)]
    pub(super) response: Shape<LoggedResponse<'a>>,
}

/// Body of a request as sent; in a log, its wrapper.
#[derive(Debug, Default, Deserialize)]
#[serde(default, remote = "Self")]
pub(super) struct Request<'a> {
    #[serde(borrow)]
    pub(super) model: Text<'a>,
    #[serde(borrow)]
    pub(super) tools: Listed<&'a RawValue>,
    #[serde(borrow)]
    pub(super) system: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) messages: Listed<Shape<Message<'a>>>,
    #[serde(borrow)]
    pub(super) thinking: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) tool_choice: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) output_config: Shape<OutputConfig<'a>>,
    #[serde(borrow)]
    pub(super) speed: Text<'a>,
    #[serde(borrow)]
    pub(super) cache_control: Shape<CacheControl<'a>>,
    #[serde(borrow)]
    pub(super) metadata: Shape<Metadata<'a>>,
    /// Beta features, as SDKs take them.
    #[serde(borrow)]
    pub(super) betas: Option<&'a RawValue>,
    /// Beta features in the body, as on Bedrock, which has no header for them.
    #[serde(borrow)]
    pub(super) anthropic_beta: Option<&'a RawValue>,
    /// In a log: headers.
    #[serde(borrow)]
    pub(super) headers: Option<&'a RawValue>,
    /// In a log: time of the request, in seconds.
    pub(super) timestamp: Number,
    /// In a log: address that it was sent to.
    #[serde(borrow)]
    pub(super) url: Text<'a>,
    /// In a log: body.
    #[serde(borrow)]
    pub(super) body: Shape<Box<Request<'a>>>,
    /// Fields that are not named above.
    #[serde(skip)]
    pub(super) other: OtherFields<'a>,
}

// Around the derived reader, which drops the fields that it does not name.
impl<'de: 'a, 'a> Deserialize<'de> for Request<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut other = OtherFields::default();
        let mut request = Request::deserialize(Sieve::new(deserializer, &mut other))?;
        request.other = other;
        Ok(request)
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Message<'a> {
    #[serde(borrow)]
    pub(super) role: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) content: Option<&'a RawValue>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, remote = "Self")]
pub(super) struct OutputConfig<'a> {
    #[serde(borrow)]
    pub(super) effort: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) format: Option<&'a RawValue>,
    /// Fields that are not named above.
    #[serde(skip)]
    pub(super) other: OtherFields<'a>,
}

impl<'de: 'a, 'a> Deserialize<'de> for OutputConfig<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut other = OtherFields::default();
        let mut config = OutputConfig::deserialize(Sieve::new(deserializer, &mut other))?;
        config.other = other;
        Ok(config)
    }
}

/// Marker.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct CacheControl<'a> {
    #[serde(borrow)]
    pub(super) ttl: Text<'a>,
    #[serde(borrow)]
    pub(super) scope: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Metadata<'a> {
    #[serde(borrow)]
    pub(super) user_id: Text<'a>,
}

/// Answer in a log.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct LoggedResponse<'a> {
    pub(super) timestamp: Number,
    pub(super) status_code: Number,
    #[serde(borrow)]
    pub(super) body: Shape<Answer<'a>>,
    /// Event stream of a streamed answer.
    #[serde(borrow)]
    pub(super) body_raw: Text<'a>,
}

/// Message of an answer, or an event of a stream.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Answer<'a> {
    #[serde(borrow)]
    pub(super) id: Text<'a>,
    #[serde(borrow)]
    pub(super) usage: Shape<UsageObject<'a>>,
    /// In a `message_start` event: message.
    #[serde(borrow)]
    pub(super) message: Shape<Box<Answer<'a>>>,
}

/// Id and usage of an answer.
#[derive(Debug)]
pub(super) struct Answered {
    pub(super) message: Option<String>,
    pub(super) usage: Result<Usage, UsageProblem>,
}

/// Reads an answer.
pub(super) fn read_answer(response: &LoggedResponse<'_>) -> Answered {
    if let Some(body) = &response.body.0 {
        return answered(body.id.as_str(), body.usage.0.as_ref());
    }
    response.body_raw.as_str().map_or_else(|| answered(None, None), read_stream)
}

fn answered(message: Option<&str>, usage: Option<&UsageObject<'_>>) -> Answered {
    Answered { message: message.map(str::to_owned), usage: read_usage(usage) }
}

/// Reads a stream. The prompt's figures come with the first event, the output's with the last that has any.
fn read_stream(stream: &str) -> Answered {
    let mut known = answered(None, None);
    for line in stream.lines() {
        let Some(event) = line.strip_prefix("data:") else { continue };
        let Ok(event) = serde_json::from_str::<Answer<'_>>(event.trim()) else { continue };
        if let Some(message) = &event.message.0 {
            known = answered(message.id.as_str(), message.usage.0.as_ref());
        } else if let (Some(delta), Ok(usage)) = (&event.usage.0, &mut known.usage)
            && let Count::Value(output) = delta.output_tokens
        {
            // Deltas count from the beginning of the answer, so the largest count is the last.
            usage.output = usage.output.max(Tokens(output));
        }
    }
    known
}

/// Time from seconds since the Unix epoch, as logs write them.
pub(super) fn seconds(number: Number) -> Option<Millis> {
    let millis = (number.0? * 1_000.0).round();
    // Beyond the year 5000 it is damage and no time.
    let is_moment = (0.0..1e14).contains(&millis);
    #[allow(clippy::cast_possible_truncation)] // in range, as was just seen
    is_moment.then_some(Millis::new(millis as i64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_gives_the_prompt_first_and_the_output_last() {
        let stream = "event: message_start\n\
            data: {\"type\":\"message_start\",\"message\":{\"id\":\"msg_1\",\"usage\":{\"input_tokens\":3,\
            \"cache_read_input_tokens\":10,\"cache_creation_input_tokens\":5,\"output_tokens\":1}}}\n\n\
            event: ping\ndata: {\"type\":\"ping\"}\n\n\
            event: message_delta\n\
            data: {\"type\":\"message_delta\",\"usage\":{\"output_tokens\":42}}\n\n\
            data: [DONE]\n";
        let answered = read_stream(stream);
        let usage = answered.usage.expect("usage");
        assert_eq!(answered.message.as_deref(), Some("msg_1"));
        assert_eq!((usage.prompt.total(), usage.output), (Tokens(18), Tokens(42)));
    }

    #[test]
    fn a_stream_without_a_beginning_has_no_usage() {
        let answered = read_stream("data: {\"usage\":{\"output_tokens\":42}}\n");
        assert_eq!(answered.usage, Err(UsageProblem::Missing));
    }

    #[test]
    fn seconds_have_fractions() {
        assert_eq!(seconds(Number(Some(1_785_232_802.9))), Some(Millis::new(1_785_232_802_900)));
        assert_eq!(seconds(Number(Some(-1.0))), None);
        assert_eq!(seconds(Number(Some(f64::NAN))), None);
        assert_eq!(seconds(Number(None)), None);
    }
}
