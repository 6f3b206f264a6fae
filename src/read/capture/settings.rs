//! Settings in front of the messages, as they take effect: a default that is spelled out is no other setting than its
//! absence.
//!
//! "Setting a parameter explicitly to its default value is equivalent to omitting it" (documentation of thinking and
//! prompt caching) is said of thinking and effort, whose defaults differ by model. `auto` is "the default value when
//! tools are provided" and `none` without tools (documentation of defining tools), and `auto` adds the same tokens to a
//! prompt as its absence (`docs/accuracy.md`). All other values differ from a missing one.

use super::canonical::{TooDeep, write_canonical};
use super::record::Request;
use crate::base::Facts;

/// Thinking of models that think unless told otherwise.
const ADAPTIVE: &str = r#"{"type":"adaptive"}"#;

/// Thinking of models that think only if told to.
const DISABLED: &str = r#"{"type":"disabled"}"#;

/// Choice of a request with tools, in the spellings of clients.
const AUTO: [&str; 3] = [
    r#"{"type":"auto"}"#,
    r#"{"type":"auto","disable_parallel_tool_use":false}"#,
    r#"{"disable_parallel_tool_use":false,"type":"auto"}"#,
];

/// Choice of a request without tools.
const NONE: [&str; 1] = [r#"{"type":"none"}"#];

/// Appends the members of the settings that a body gives, each with a comma behind it. Deferred tools are none: the
/// service refuses a request that has no others.
///
/// # Errors
/// As of [`write_canonical`].
pub(super) fn write_settings(
    body: &Request<'_>,
    facts: &Facts,
    has_tools: bool,
    out: &mut Vec<u8>,
) -> Result<(), TooDeep> {
    let output = body.output_config.0.as_ref();
    let effort = format!("\"{}\"", facts.default_effort);
    let thinking = facts.thinks.map(|thinks| if thinks { ADAPTIVE } else { DISABLED });
    let choices: &[&str] = if has_tools { &AUTO } else { &NONE };
    let settings = [
        ("thinking", body.thinking, thinking.as_slice()),
        ("tool_choice", body.tool_choice, choices),
        ("effort", output.and_then(|output| output.effort), &[&*effort]),
        ("format", body.format(), &[]),
    ];
    for (name, value, defaults) in settings {
        out.extend_from_slice(format!("\"{name}\":").as_bytes());
        let start = out.len();
        write_canonical(value.map_or("null", |value| value.get()), out)?;
        let is_default = |default: &&str| default.as_bytes() == &out[start..];
        if defaults.iter().any(is_default) {
            out.truncate(start);
            out.extend_from_slice(b"null");
        }
        out.push(b',');
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::Models;

    fn settings(model: &str, body: &str) -> String {
        let has_tools = body.contains("tools");
        let body: Request<'_> = serde_json::from_str(body).expect("a body");
        let mut out = Vec::new();
        write_settings(&body, &Models::default().facts(model), has_tools, &mut out)
            .expect("shallow");
        String::from_utf8(out).expect("UTF-8")
    }

    /// The defaults by model, as documented: Opus 5 thinks, Opus 4.8 does not; the effort is high, of Opus 5.5 medium.
    #[test]
    fn a_default_that_is_spelled_out_is_its_absence() {
        let adaptive = r#"{"thinking":{"type":"adaptive"}}"#;
        let disabled = r#"{"thinking": {"type": "disabled"}}"#;
        let auto = r#"{"tools":[{}],"tool_choice":{"type":"auto"}}"#;
        let none = r#"{"tool_choice":{"type":"none"}}"#;
        let effort = |effort: &str| format!(r#"{{"output_config":{{"effort":"{effort}"}}}}"#);
        let (high, medium) = (effort("high"), effort("medium"));
        for (model, body, is_default) in [
            ("claude-opus-5", adaptive, true),
            ("claude-opus-5", disabled, false),
            ("claude-opus-4-8", disabled, true),
            ("claude-opus-4-8", adaptive, false),
            ("claude-sonnet-4-5", disabled, true),
            ("another", disabled, false),
            ("claude-opus-5", auto, true),
            ("claude-opus-5", r#"{"tool_choice":{"type":"auto"}}"#, false),
            ("claude-opus-5", none, true),
            ("claude-opus-5", r#"{"tools":[{}],"tool_choice":{"type":"none"}}"#, false),
            ("claude-opus-5", &high, true),
            ("claude-opus-5", &medium, false),
            ("claude-opus-5-5", &high, false),
            ("claude-haiku-5-5", &medium, true),
        ] {
            let is_same = settings(model, body) == settings(model, "{}");
            assert_eq!(is_same, is_default, "{model}: {body}");
        }
    }
}
