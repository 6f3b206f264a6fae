//! Contents of an export of Langfuse: observations, in the spelling of the API or of the tables, and
//! pages and traces that hold lists of observations.

use serde::{Deserialize, Deserializer};

use super::usage::Counters;
use crate::base::Millis;
use crate::read::input::{List, Shape, Text, lenient, moment_in_utc};

lenient! {
    /// Observation, or a page or trace that holds some.
    #[serde(rename_all = "camelCase")]
    pub(in crate::read::agent) struct Observation<'a> {
        pub(super) id: Text<'a>,
        #[serde(alias = "trace_id")]
        pub(super) trace_id: Text<'a>,
        #[serde(alias = "session_id")]
        pub(super) session_id: Text<'a>,
        #[serde(alias = "parent_observation_id")]
        pub(super) parent_observation_id: Text<'a>,
        pub(super) r#type: Text<'a>,
        pub(super) name: Text<'a>,
        pub(super) level: Text<'a>,
        pub(super) model: Text<'a>,
        #[serde(alias = "provided_model_name")]
        pub(super) provided_model_name: Text<'a>,
        #[serde(alias = "start_time")]
        pub(super) start_time: Stamp,
        #[serde(alias = "end_time")]
        pub(super) end_time: Stamp,
        #[serde(alias = "usage_details")]
        pub(super) usage_details: Shape<Counters>,
        /// Only usage of old versions, and a summary in new ones.
        pub(super) usage: Shape<Counters>,
        pub(super) metadata: Shape<Metadata<'a>>,
        /// Contents of a page of the API.
        pub(super) data: List<Shape<Observation<'a>>>,
        /// Contents of a trace.
        pub(super) observations: List<Shape<Observation<'a>>>,
        pub(super) trace: Shape<Trace<'a>>,
    }

    /// Trace of an observation.
    pub(super) struct Trace<'a> {
        #[serde(rename = "sessionId", alias = "session_id")]
        pub(super) session: Text<'a>,
    }

    /// Ids that an SDK recorded.
    pub(super) struct Metadata<'a> {
        #[serde(alias = "requestId", alias = "anthropic_request_id")]
        pub(super) request_id: Text<'a>,
        #[serde(alias = "responseId", alias = "message_id")]
        pub(super) response_id: Text<'a>,
        /// Attributes of a span that came through OpenTelemetry.
        pub(super) attributes: Shape<SpanAttributes<'a>>,
    }

    pub(super) struct SpanAttributes<'a> {
        #[serde(rename = "gen_ai.response.id")]
        pub(super) response_id: Text<'a>,
        #[serde(rename = "gen_ai.provider.name", alias = "gen_ai.system")]
        pub(super) provider: Text<'a>,
    }
}

/// Moment; in UTC if it has no zone.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Stamp(pub(super) Option<Millis>);

impl<'de> Deserialize<'de> for Stamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self(moment_in_utc(&Text::deserialize(deserializer)?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_of_tables_are_in_utc() {
        for json in [r#""2026-09-21 14:13:20.005000""#, r#""2026-09-21T14:13:20.005Z""#] {
            let stamp: Stamp = serde_json::from_str(json).expect("JSON");
            assert_eq!(stamp.0, Some(Millis::new(1_790_000_000_005)), "{json}");
        }
        for json in ["null", "1790000000005", r#""soon""#, "{}"] {
            assert!(serde_json::from_str::<Stamp>(json).expect("JSON").0.is_none(), "{json}");
        }
    }
}
