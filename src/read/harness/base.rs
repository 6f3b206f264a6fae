//! Parts of a system prompt: a base, and the parts appended to it (Claude Code 2.1.88, as documented).

use serde_json::value::RawValue;

use super::flags::{Flags, IDENTITIES};
use super::place::BundleError;
use super::raw::{Object, list, unexpected};
use super::system::{Part, is_attribution};

/// Sources of a system prompt; the first one with any part counts.
const BASES: [&str; 5] = [OVERRIDE, "coordinator", AGENT, CUSTOM, DEFAULT];

/// Base that takes nothing after it.
const OVERRIDE: &str = "override";

/// Base that a proactive agent puts after the default one.
const AGENT: &str = "agent";

/// Base that takes no system context.
const CUSTOM: &str = "custom";

/// Base that the simple mode reduces to a line.
const DEFAULT: &str = "default";

const EXPECTED: &str =
    "a list, or an object of lists (override, coordinator, agent, custom, default, simple, append)";

/// Parts of a system prompt in their order.
#[derive(Debug, Default)]
pub(super) struct Base<'a> {
    pub(super) parts: Vec<Part<'a>>,
    /// True for a base other than the client's, which knows nothing of its surroundings.
    pub(super) is_custom: bool,
}

impl<'a> Base<'a> {
    /// Reads `system` of a prompt. A list is the default base.
    pub(super) fn read(prompt: &Object<'a>, flags: &Flags<'_>) -> Result<Self, BundleError> {
        let Some(system) = prompt.get("system").filter(|system| system.get() != "null") else {
            return Ok(Self::default());
        };
        if let Some(parts) = list(system) {
            let parts = default_parts(read_parts(parts)?, Vec::new(), flags);
            return Ok(Self { parts, is_custom: false });
        }
        let system = Object::read(system, "prompt.system")
            .ok_or_else(|| unexpected("prompt.system", Some(system), EXPECTED))?;
        Self::chosen(&system, flags)
    }

    /// First base with any part, and the parts appended to it.
    fn chosen(system: &Object<'a>, flags: &Flags<'_>) -> Result<Self, BundleError> {
        let parts_of = |name: &str| read_parts(system.list(name)?.unwrap_or_default());
        // Read on demand: parts of a base that is not used may have any shape.
        let default = || {
            let simple = if flags.base.is_simple { parts_of("simple")? } else { Vec::new() };
            Ok(default_parts(parts_of(DEFAULT)?, simple, flags))
        };
        let given = |name: &str| Ok(!system.list(name)?.unwrap_or_default().is_empty());
        let mut base = DEFAULT;
        for name in BASES {
            if given(name)? {
                base = name;
                break;
            }
        }
        let mut parts = match base {
            DEFAULT => default()?,
            AGENT if flags.base.has_proactive_agent => {
                let mut parts = default()?;
                parts.extend(parts_of(AGENT)?);
                parts
            }
            base => parts_of(base)?,
        };
        if base != OVERRIDE {
            parts.extend(parts_of("append")?);
        }
        Ok(Self { parts, is_custom: base == CUSTOM })
    }
}

fn read_parts(parts: Vec<&RawValue>) -> Result<Vec<Part<'_>>, BundleError> {
    parts.into_iter().map(Part::read).collect()
}

/// Default base; in the simple mode only the attribution, the identity and a short line.
///
/// If the bundle has neither identity nor line, the usual identity is the line.
fn default_parts<'a>(
    mut parts: Vec<Part<'a>>,
    simple: Vec<Part<'a>>,
    flags: &Flags<'_>,
) -> Vec<Part<'a>> {
    if !flags.base.is_simple {
        return parts;
    }
    let is_identity = |text: &str| flags.system.identities.iter().any(|identity| identity == text);
    parts.retain(|part| match part {
        Part::Plain(text) => is_attribution(text) || is_identity(text),
        Part::Memoised { .. } | Part::Volatile { .. } => false,
    });
    let has_line = |part: &Part<'_>| !matches!(part, Part::Plain(text) if is_attribution(text));
    parts.extend(simple);
    if !parts.iter().any(has_line) {
        parts.push(Part::Plain(IDENTITIES[0].into()));
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(system: &str, flags: &str) -> (Vec<String>, bool) {
        let (prompt, flags): (&RawValue, &RawValue) = (
            serde_json::from_str(system).expect("JSON"),
            serde_json::from_str(flags).expect("JSON"),
        );
        let prompt = Object::read(prompt, "prompt").expect("an object");
        let flags = Flags::read(&Object::read(flags, "flags").expect("an object")).expect("flags");
        let base = Base::read(&prompt, &flags).expect("a base");
        let text = |part: Part<'_>| match part {
            Part::Plain(text) | Part::Memoised { text, .. } | Part::Volatile { text, .. } => {
                text.into_owned()
            }
        };
        (base.parts.into_iter().map(text).collect(), base.is_custom)
    }

    #[test]
    fn a_proactive_agent_stands_behind_the_default() {
        let system = r#"{"system":{"agent":["G"],"custom":["C"],"default":["D"],"append":["P"]}}"#;
        let proactive = r#"{"proactive":true}"#;
        assert_eq!(texts(system, "{}"), (vec!["G".to_owned(), "P".to_owned()], false));
        assert_eq!(texts(system, proactive).0, ["D", "G", "P"]);
        let coordinator = system.replace("\"custom\"", "\"coordinator\"");
        assert_eq!(texts(&coordinator, proactive).0, ["C", "P"]);
        let without = r#"{"system":{"default":["D"],"append":["P"]}}"#;
        assert_eq!(texts(without, proactive).0, ["D", "P"]);
    }

    #[test]
    fn the_simple_mode_is_a_line() {
        let simple = r#"{"simple":true,"identity_prefixes":["I"]}"#;
        let default =
            r#""default":["x-anthropic-billing-header: v","I","D",{"section":"s","text":"S"}]"#;
        let header = "x-anthropic-billing-header: v";
        let system = format!(r#"{{"system":{{{default},"append":["P"]}}}}"#);
        assert_eq!(texts(&system, simple).0, [header, "I", "P"]);
        let system = format!(r#"{{"system":{{{default},"simple":["In /w."]}}}}"#);
        assert_eq!(texts(&system, simple).0, [header, "I", "In /w."]);
        assert_eq!(texts(&system, "{}").0, [header, "I", "D", "S"]);
        assert_eq!(texts(r#"{"system":["D","E"]}"#, simple).0, [IDENTITIES[0]]);
        assert_eq!(texts(r#"{"system":{"agent":["G"],"default":["D"]}}"#, simple).0, ["G"]);
    }

    #[test]
    fn a_custom_prompt_is_known() {
        let is_custom = |system: &str| texts(&format!(r#"{{"system":{system}}}"#), "{}").1;
        assert!(is_custom(r#"{"custom":["C"],"default":["D"]}"#));
        assert!(!is_custom(r#"{"agent":["G"],"custom":["C"]}"#));
        assert!(!is_custom(r#"["C"]"#));
    }
}
