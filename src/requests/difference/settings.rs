//! Settings that are part of the prefix (before the system prompt and before the messages), and the other
//! fields of the body.

use serde_json::Value;
use serde_json::value::RawValue;

use super::view::says_the_same;
use super::{Difference, DifferenceKind, SAME_IN_OTHER_BYTES};
use crate::base::{ByKey, Ordered as _};
use crate::read::input::only_value;

/// Setting that is part of the prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Setting {
    Citations,
    Speed,
    Thinking,
    ToolChoice,
    Effort,
    Format,
    Images,
}

impl Setting {
    /// All settings, in the order of the prefix.
    const ALL: [Self; 7] = [
        Self::Citations,
        Self::Speed,
        Self::Thinking,
        Self::ToolChoice,
        Self::Effort,
        Self::Format,
        Self::Images,
    ];

    /// Name in the canonical JSON of the setting's node.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Citations => "citations",
            Self::Speed => "speed",
            Self::Thinking => "thinking",
            Self::ToolChoice => "tool_choice",
            Self::Effort => "effort",
            Self::Format => "format",
            Self::Images => "images",
        }
    }

    /// Place of the setting in the body.
    pub(super) fn place(self) -> &'static str {
        match self {
            Self::Effort => "output_config.effort",
            Self::Format => "output_config.format",
            _ => self.name(),
        }
    }

    /// Kind of difference when the value changes.
    pub(super) fn kind(self) -> DifferenceKind {
        match self {
            Self::Citations => DifferenceKind::Citations,
            Self::Speed => DifferenceKind::FastMode,
            Self::Thinking => DifferenceKind::Thinking,
            Self::ToolChoice => DifferenceKind::ToolChoice,
            Self::Effort => DifferenceKind::Effort,
            Self::Format => DifferenceKind::OutputFormat,
            Self::Images => DifferenceKind::Image,
        }
    }

    /// Returns true if a value, as canonical JSON, switches on a mode of the client.
    pub(crate) fn is_on(self, value: &str) -> bool {
        match self {
            Self::Speed => value != "\"standard\"",
            Self::Thinking => value != "null" && !disables_thinking(value),
            Self::ToolChoice | Self::Effort => value != "null",
            // These three describe the task of a request and not a mode of the client.
            Self::Citations | Self::Format | Self::Images => false,
        }
    }
}

/// Returns true if a value of `thinking`, as canonical JSON, switches thinking off.
fn disables_thinking(value: &str) -> bool {
    let value: Value = serde_json::from_str(value).unwrap_or_default();
    value["type"] == "disabled"
}

/// Change of a setting, with both values as canonical JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SettingChange<'a> {
    pub(crate) setting: Setting,
    pub(crate) before: &'a str,
    pub(crate) after: &'a str,
}

/// Changes between the settings of two nodes, in the order of the prefix.
///
/// Nodes are given by their canonical bytes.
pub(crate) fn setting_changes<'a>(before: &'a str, after: &'a str) -> Vec<SettingChange<'a>> {
    if before == after {
        return Vec::new();
    }
    let (old, new) = (values(before), values(after));
    let change = |setting: Setting| {
        let value = |values: &ByKey<&str, &'a RawValue>| {
            values.get(setting.name()).map(|value| value.get())
        };
        // A setting that only one node has is no change: captures without bytes have none at all.
        let (before, after) = (value(&old)?, value(&new)?);
        (before != after).then_some(SettingChange { setting, before, after })
    };
    Setting::ALL.into_iter().filter_map(change).collect()
}

/// Canonical bytes of a node of settings, with the values that `rewrite` replaces.
pub(crate) fn rewrite_settings<'a>(
    node: &'a str,
    mut rewrite: impl FnMut(Setting, &'a str) -> &'a str,
) -> String {
    let values = values(node);
    let member = |setting: Setting| {
        let value = rewrite(setting, values.get(setting.name())?.get());
        Some(format!("\"{}\":{value}", setting.name()))
    };
    let members: Vec<String> = Setting::ALL.into_iter().filter_map(member).collect();
    format!("{{{}}}", members.join(","))
}

fn values(node: &str) -> ByKey<&str, &RawValue> {
    only_value(node).unwrap_or_default()
}

/// Field with which a client asks the service to leave out old results and thinking.
const CONTEXT_MANAGEMENT: &str = "context_management";

/// Differences between the other fields of two bodies, one for each field.
///
/// A body is given as the canonical JSON of an object. If either is unknown, there are no differences.
pub(super) fn extra_body_differences(before: Option<&str>, after: Option<&str>) -> Vec<Difference> {
    let (Some(before), Some(after)) = (before, after) else { return Vec::new() };
    if before == after {
        return Vec::new();
    }
    let (old, new) = (fields(before), fields(after));
    let names: Vec<&String> = old.keys().chain(new.keys()).ordered();
    let value = |fields: &Fields<'_>, name| fields.get(name).map(|value| value.get().to_owned());
    names
        .into_iter()
        .filter_map(|name| {
            difference(name, value(&old, name).as_deref(), value(&new, name).as_deref())
        })
        .collect()
}

type Fields<'a> = ByKey<String, &'a RawValue>;

fn fields(object: &str) -> Fields<'_> {
    only_value(object).unwrap_or_default()
}

fn difference(name: &str, before: Option<&str>, after: Option<&str>) -> Option<Difference> {
    let detail = match (before, after) {
        (None, _) => "the field is new",
        (_, None) => "the field is gone",
        (Some(old), Some(new)) if old == new => return None,
        (Some(old), Some(new)) if says_the_same(old, new) => SAME_IN_OTHER_BYTES,
        _ => "another value",
    };
    let kind = if name == CONTEXT_MANAGEMENT {
        DifferenceKind::CachedMicrocompaction
    } else {
        DifferenceKind::ExtraBody
    };
    Some(Difference::new(kind, name, detail).with_bytes(before, after))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_setting_is_told_apart() {
        let before = r#"{"thinking":{"type":"enabled"},"tool_choice":null,"images":false}"#;
        let after = r#"{"thinking":{"type":"disabled"},"tool_choice":null,"images":true}"#;
        let changes = setting_changes(before, after);
        let settings: Vec<Setting> = changes.iter().map(|change| change.setting).collect();
        assert_eq!(settings, [Setting::Thinking, Setting::Images]);
        assert_eq!((changes[1].before, changes[1].after), ("false", "true"));
        assert!(setting_changes(before, before).is_empty());
    }

    #[test]
    fn a_mode_is_on_or_off() {
        for (setting, value) in [
            (Setting::Speed, "\"standard\""),
            (Setting::Thinking, "null"),
            (Setting::Thinking, r#"{"type":"disabled"}"#),
            (Setting::ToolChoice, "null"),
            (Setting::Effort, "null"),
            (Setting::Format, r#"{"type":"json_schema"}"#),
            (Setting::Images, "true"),
            (Setting::Citations, "true"),
        ] {
            assert!(!setting.is_on(value), "{setting:?} {value}");
        }
        for (setting, value) in [
            (Setting::Speed, "\"fast\""),
            (Setting::Thinking, r#"{"type":"adaptive"}"#),
            (Setting::ToolChoice, r#"{"type":"auto"}"#),
            (Setting::Effort, "\"low\""),
        ] {
            assert!(setting.is_on(value), "{setting:?} {value}");
        }
    }

    #[test]
    fn nodes_without_bytes_tell_nothing() {
        assert!(setting_changes("", r#"{"speed":"fast"}"#).is_empty());
    }
}
