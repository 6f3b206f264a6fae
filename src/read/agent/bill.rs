//! Copilot's bill of a request.
//!
//! It is a list that may hold the same kind of tokens several times, at several prices. Events and rows
//! share its form.

use serde::Deserialize;

use crate::read::input::{Count, List, Shape, Text};

/// Items of a bill.
#[derive(Debug, Default, Deserialize)]
#[serde(transparent)]
pub(super) struct BillItems<'a>(#[serde(borrow)] List<Shape<BillItem<'a>>>);

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct BillItem<'a> {
    #[serde(borrow, rename = "tokenType")]
    r#type: Text<'a>,
    #[serde(rename = "tokenCount")]
    count: Count,
}

impl BillItems<'_> {
    /// Returns true if there is a bill. Kinds of tokens that it does not name were not charged.
    pub(super) fn are_there(&self) -> bool {
        self.items().next().is_some()
    }

    /// Written tokens; missing if the bill does not report them.
    pub(super) fn written(&self) -> Count {
        let written = self.items().filter(|item| item.r#type.is("cache_write"));
        // Writes at several prices are several items, so the count is their sum.
        written.fold(Count::Missing, |sum, item| match (sum, item.count) {
            (Count::Missing, count) => count,
            (Count::Value(sum), Count::Value(count)) => Count::Value(sum.saturating_add(count)),
            _ => Count::Invalid,
        })
    }

    fn items(&self) -> impl Iterator<Item = &BillItem<'_>> {
        self.0.0.iter().filter_map(|item| item.0.as_ref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_items_of_a_kind_count() {
        for (json, are_there, written) in [
            (
                r#"[{"tokenType":"cache_write","tokenCount":139926},7,{"tokenType":"input","tokenCount":5},{"tokenType":"cache_write","tokenCount":2}]"#,
                true,
                Count::Value(139_928),
            ),
            (r#"[{"tokenType":"input","tokenCount":5}]"#, true, Count::Missing),
            (
                r#"[{"tokenType":"cache_write","tokenCount":1},{"tokenType":"cache_write","tokenCount":-1}]"#,
                true,
                Count::Invalid,
            ),
            ("[]", false, Count::Missing),
            ("null", false, Count::Missing),
        ] {
            let bill: BillItems<'_> = serde_json::from_str(json).expect("JSON");
            assert_eq!((bill.are_there(), bill.written()), (are_there, written), "{json}");
        }
    }
}
