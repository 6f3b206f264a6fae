//! What a log says of an answer: its message's id and usage, from a plain body or from the event
//! stream of a streamed one.

use super::record::{Answer, LoggedResponse};
use crate::base::units::Tokens;
use crate::read::input::{Count, Usage, UsageObject, UsageProblem, read_usage};

/// What is known of an answer.
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

/// The prompt's figures come with the first event, the output's with the last that has any.
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
            usage.output = usage.output.max(Tokens(output));
        }
    }
    known
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
}
