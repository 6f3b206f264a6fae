//! Values of columns: the schema of each type, and the way in which a value is added.

use super::column::Columns;
use crate::base::{Basis, Millis, Picodollars, Tokens};
use crate::explain::breaks::{Cause, Class};

/// A row whose columns a Parquet file can hold.
pub(in crate::report) trait ParquetRow {
    /// Fields in the language of Parquet's schemas.
    fn schema() -> String;

    /// Adds the values to the columns, in their order.
    ///
    /// # Errors
    /// A value does not fit its column.
    fn store(&self, columns: &mut Columns<'_>) -> Result<(), Beyond>;
}

/// Error for a value that does not fit its column. No real figure is so large.
#[derive(Debug)]
pub(in crate::report) struct Beyond;

/// A value of a row.
pub(in crate::report) trait Stored {
    /// The column of a name, in the language of Parquet's schemas.
    fn schema(name: &str) -> String;

    /// Adds the value to its column, or to its columns.
    ///
    /// # Errors
    /// The value does not fit its column.
    fn store(&self, columns: &mut Columns<'_>) -> Result<(), Beyond>;
}
/// Implements [`Stored`] for types with a column of their own: the column in the schema, and the call that adds a
/// value.
macro_rules! stored {
    ($($type:ty: $schema:literal, |$value:ident, $column:ident| $store:expr;)+) => {
        $(impl Stored for $type {
            fn schema(name: &str) -> String {
                format!(concat!("REQUIRED ", $schema, ";"), name)
            }

            fn store(&self, columns: &mut Columns<'_>) -> Result<(), Beyond> {
                let $value = *self;
                let $column = columns.next();
                $column.is_there();
                $store
            }
        }

        impl Stored for Option<$type> {
            fn schema(name: &str) -> String {
                format!(concat!("OPTIONAL ", $schema, ";"), name)
            }

            fn store(&self, columns: &mut Columns<'_>) -> Result<(), Beyond> {
                let $column = columns.next();
                let Some($value) = *self else {
                    $column.level(0, 0);
                    return Ok(());
                };
                $column.is_there();
                $store
            }
        })+
    };
}

stored! {
    &str: "BYTE_ARRAY {} (STRING)", |value, column| {
        column.text(value);
        Ok(())
    };
    bool: "BOOLEAN {}", |value, column| {
        column.flag(value);
        Ok(())
    };
    f64: "DOUBLE {}", |value, column| {
        column.float(value);
        Ok(())
    };
    u32: "INT64 {}", |value, column| {
        column.integer(value)
    };
    u64: "INT64 {}", |value, column| {
        column.integer(value)
    };
    usize: "INT64 {}", |value, column| {
        column.integer(value)
    };
    Tokens: "INT64 {}", |value, column| {
        column.integer(value.0)
    };
    Picodollars: "INT64 {} (DECIMAL(18, 12))", |value, column| {
        column.integer(decimal(value)?)
    };
    Millis: "INT64 {} (TIMESTAMP(MICROS, true))", |value, column| {
        column.integer(value.get().checked_mul(1_000).ok_or(Beyond)?)
    };
}

/// Largest amount in picodollars, which has eighteen digits.
const MOST_MONEY: i128 = 999_999_999_999_999_999;

/// Amount as an integer of at most eighteen digits.
fn decimal(amount: Picodollars) -> Result<i64, Beyond> {
    let is_held = (-MOST_MONEY..=MOST_MONEY).contains(&amount.0);
    i64::try_from(amount.0).ok().filter(|_| is_held).ok_or(Beyond)
}

/// Implements [`Stored`] for the program's own words.
macro_rules! stored_names {
    ($($type:ty),+) => {
        $(impl Stored for $type {
            fn schema(name: &str) -> String {
                <&str>::schema(name)
            }

            fn store(&self, columns: &mut Columns<'_>) -> Result<(), Beyond> {
                self.name().store(columns)
            }
        })+
    };
}

stored_names!(Basis, Cause, Class);

/// Column of a field.
pub(in crate::report) fn schema_of<R, T: Stored>(name: &str, _: impl Fn(&R) -> &T) -> String {
    T::schema(name)
}
