//! How the fields differ that two bodies have besides what is part of the prefix.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::value::RawValue;

use super::compare::{Difference, DifferenceKind};
use super::view::{SAME_IN_OTHER_BYTES, says_the_same};

/// The field with which a client has old results and thinking left out by the service.
const CONTEXT_MANAGEMENT: &str = "context_management";

/// The differences between the other fields of two bodies, each given as the canonical JSON of an
/// object; one for each field. Where either is not known there are none.
pub(super) fn extra_body_differences(before: Option<&str>, after: Option<&str>) -> Vec<Difference> {
    let (Some(before), Some(after)) = (before, after) else { return Vec::new() };
    if before == after {
        return Vec::new();
    }
    let (old, new) = (fields(before), fields(after));
    let names: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    let value = |fields: &Fields<'_>, name| fields.get(name).map(|value| value.get().to_owned());
    names
        .into_iter()
        .filter_map(|name| {
            difference(name, value(&old, name).as_deref(), value(&new, name).as_deref())
        })
        .collect()
}

type Fields<'a> = BTreeMap<String, &'a RawValue>;

fn fields(object: &str) -> Fields<'_> {
    serde_json::from_str(object).unwrap_or_default()
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
