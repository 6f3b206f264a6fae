//! Sessions of other agents: any bytes behind the first line of one give requests that are billed as
//! recorded.

use cachesim::simulate::strategy::Strategy;

use super::reading::{options, rows, sources, study};

/// First lines by which the formats are recognised.
const FIRST_LINES: [&str; 13] = [
    r#"{"type":"session_meta","payload":{"id":"s"},"timestamp":"2026-08-03T10:00:00Z"}"#,
    "",
    r#"{"type":"session","version":3,"id":"s","timestamp":"2026-08-03T10:00:00Z","cwd":"/w"}"#,
    r#"{"type":"metadata","protocol_version":"1.4"}"#,
    r#"{"type":"session.start","id":"e","timestamp":"2026-08-03T10:00:00Z","data":{"producer":"copilot-agent"}}"#,
    r#"{"sessionId":"s","projectHash":"p","startTime":"2026-08-03T10:00:00Z"}"#,
    r#"{"uuid":"u","sessionId":"s","type":"user","timestamp":"2026-08-03T10:00:00Z","message":{"parts":[]}}"#,
    r#"{"resourceSpans":[]}"#,
    r#"{"resourceLogs":[]}"#,
    r#"{"type":"span","traceId":"t","spanId":"s","name":"chat m","startTime":[1790000000,0],"attributes":{}}"#,
    r#"{"id":"o","traceId":"t","type":"GENERATION","startTime":"2026-10-05T10:00:00Z","usageDetails":{"input":1}}"#,
    r#"{"request_id":"r","call_type":"acompletion","startTime":"2026-10-05T10:00:00Z","prompt_tokens":1,"spend":0}"#,
    r#"{"timestamp":1790000000,"method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"x"}}}"#,
];

pub(crate) fn check(bytes: &[u8]) {
    let Some((first, rest)) = bytes.split_first() else { return };
    let first = FIRST_LINES[usize::from(*first) % FIRST_LINES.len()];
    let file = [first.as_bytes(), b"\n", rest].concat();
    let Some(study) = study(sources(&[&file]), options(None)) else { return };
    for agent in &study.history.of_agents {
        assert!(agent.reasoning <= agent.usage.output, "{agent:?}");
    }
    rows(&study, &[Strategy::billed(), Strategy::expected()]);
}
