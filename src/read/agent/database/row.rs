//! Values of a row, read as leniently as those of JSON: a value of an unexpected type counts as absent.

use rusqlite::types::ValueRef;
use serde::Deserialize;
use serde_json::error::Category;

use super::Database;
use crate::base::Millis;
use crate::read::agent::{Rejected, Time};
use crate::read::input::{Count, Kind, Text, moment_in_utc, repaired_value};

/// Row with its number.
pub(super) struct Row<'r> {
    values: &'r rusqlite::Row<'r>,
    rowid: i64,
    database: &'r Database,
}

/// 2^53: from here on a float cannot hold every whole number.
const LARGEST_WHOLE: f64 = 9_007_199_254_740_992.0;

impl<'r> Row<'r> {
    pub(super) fn new(values: &'r rusqlite::Row<'r>, rowid: i64, database: &'r Database) -> Self {
        Self { values, rowid, database }
    }

    /// Row number, by which the row is read again.
    pub(super) fn rowid(&self) -> i64 {
        self.rowid
    }

    /// Row number as the line of a request or of a diagnostic.
    pub(super) fn line(&self) -> u64 {
        u64::try_from(self.rowid).unwrap_or(0)
    }

    /// Value of a column; `None` if the table has no such column.
    pub(super) fn value(&self, column: &str) -> Option<ValueRef<'r>> {
        let value = self.values.get_ref(column).ok()?;
        if let ValueRef::Text(bytes) | ValueRef::Blob(bytes) = value {
            // Damage can turn one page into many rows, so the bytes that are read are bounded.
            self.database.count_bytes(bytes.len());
        }
        Some(value)
    }

    /// Text of a column.
    pub(super) fn text(&self, column: &str) -> Text<'r> {
        let Some(ValueRef::Text(bytes)) = self.value(column) else { return Text::default() };
        Text(str::from_utf8(bytes).ok().map(Into::into))
    }

    /// Bytes of a text or of a blob.
    pub(super) fn bytes(&self, column: &str) -> &'r [u8] {
        match self.value(column) {
            Some(ValueRef::Text(bytes) | ValueRef::Blob(bytes)) => bytes,
            _ => &[],
        }
    }

    /// Whole number that is not negative.
    pub(super) fn count(&self, column: &str) -> Count {
        match self.value(column) {
            None => Count::Missing,
            Some(ValueRef::Null) => Count::Null,
            Some(ValueRef::Integer(value)) => {
                u64::try_from(value).map_or(Count::Invalid, Count::Value)
            }
            Some(ValueRef::Real(value)) if value.fract() == 0.0 => {
                rounded(value).map_or(Count::Invalid, Count::Value)
            }
            Some(_) => Count::Invalid,
        }
    }

    /// Number that is not negative, without its fraction.
    pub(super) fn whole(&self, column: &str) -> Option<u64> {
        match self.value(column)? {
            ValueRef::Integer(value) => u64::try_from(value).ok(),
            ValueRef::Real(value) => rounded(value),
            _ => None,
        }
    }

    /// Whole number that may be negative.
    pub(super) fn integer(&self, column: &str) -> Option<i64> {
        match self.value(column)? {
            ValueRef::Integer(value) => Some(value),
            _ => None,
        }
    }

    /// Moment: a number of milliseconds or seconds, an RFC 3339 text, or the text of `SQLite`'s own
    /// functions, which is in UTC.
    pub(super) fn time(&self, column: &str) -> Option<Millis> {
        match self.value(column)? {
            #[allow(clippy::cast_precision_loss)] // moments are far smaller
            ValueRef::Integer(value) => Time::of_number(value as f64).0,
            ValueRef::Real(value) => Time::of_number(value).0,
            ValueRef::Text(bytes) => moment_in_utc(&Text(Some(str::from_utf8(bytes).ok()?.into()))),
            _ => None,
        }
    }
}

/// Value in a column's JSON. Half a character in it is repaired in the memory of `repaired`.
///
/// # Errors
/// If the bytes are not JSON.
pub(super) fn json<'t, T: Deserialize<'t>>(
    bytes: &'t [u8],
    repaired: &'t mut Option<String>,
) -> Result<T, Rejected> {
    let not_utf8 = (Kind::NotUtf8, "the row is skipped");
    let text = str::from_utf8(bytes).map_err(|_| not_utf8)?;
    repaired_value(text, repaired).map_err(|malformed| {
        let is_torn = malformed.category == Category::Eof;
        (if is_torn { Kind::TornLine } else { Kind::NotJson }, "the row is skipped")
    })
}

fn rounded(value: f64) -> Option<u64> {
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // in bounds
    (0.0..LARGEST_WHOLE).contains(&value).then_some(value as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_no_count_can_be_have_none() {
        assert_eq!(rounded(12.0), Some(12));
        assert_eq!(rounded(12.5), Some(12));
        for other in [-1.0, 1e300, f64::NAN, f64::INFINITY] {
            assert_eq!(rounded(other), None, "{other}");
        }
    }

    #[test]
    fn json_is_repaired_where_half_a_character_is_in_it() {
        let read = |json: &str| {
            let mut repaired = None;
            json_text(json.as_bytes(), &mut repaired)
        };
        assert_eq!(read(r#""a""#), Ok("a".into()));
        assert_eq!(read(r#""\ud800""#), Ok("\u{fffd}".into()));
        assert_eq!(read("\"a").map_err(|(kind, _)| kind), Err(Kind::TornLine));
        assert_eq!(read("a").map_err(|(kind, _)| kind), Err(Kind::NotJson));
    }

    fn json_text(bytes: &[u8], repaired: &mut Option<String>) -> Result<String, Rejected> {
        json::<Text<'_>>(bytes, repaired).map(|text| text.as_str().unwrap_or_default().to_owned())
    }
}
