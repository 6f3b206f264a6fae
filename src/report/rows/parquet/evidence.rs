//! Evidence for the causes of a break, as columns of lists.

use super::column::{Column, Columns};
use super::value::{Beyond, Stored};
use crate::report::rows::breaks::{Evidence, EvidenceRow};

/// A list of groups. Each field is a column, and a row without evidence has an empty list.
impl Stored for Evidence<'_> {
    fn schema(name: &str) -> String {
        format!(
            "REQUIRED GROUP {name} (LIST) {{ REPEATED GROUP list {{ REQUIRED GROUP element {{
                REQUIRED BYTE_ARRAY cause (STRING);
                REQUIRED BYTE_ARRAY confidence (STRING);
                REQUIRED BYTE_ARRAY meaning (STRING);
                REQUIRED BYTE_ARRAY file (STRING);
                REQUIRED INT64 line;
                REQUIRED BYTE_ARRAY field (STRING);
                OPTIONAL BYTE_ARRAY text (STRING);
            }} }} }}"
        )
    }

    fn store(&self, columns: &mut Columns<'_>) -> Result<(), Beyond> {
        self.store_texts(columns.next(), |one| one.cause.name())?;
        self.store_texts(columns.next(), |one| one.confidence.name())?;
        self.store_texts(columns.next(), |one| one.meaning)?;
        self.store_texts(columns.next(), |one| one.file)?;
        self.store_each(columns.next(), |one, column| {
            column.integer(one.line)?;
            Ok(IN_LIST)
        })?;
        self.store_texts(columns.next(), |one| one.field)?;
        self.store_each(columns.next(), |one, column| {
            let Some(text) = one.text else { return Ok(IN_LIST) };
            column.text(text);
            Ok(IN_LIST + 1)
        })
    }
}

/// Depth of a value in a list among optional and repeated fields.
const IN_LIST: i16 = 1;

impl Evidence<'_> {
    fn store_texts(
        &self,
        column: &mut Column,
        text: impl for<'r> Fn(&'r EvidenceRow<'_>) -> &'r str,
    ) -> Result<(), Beyond> {
        self.store_each(column, |one, column| {
            column.text(text(one));
            Ok(IN_LIST)
        })
    }

    /// Adds a value of each element, at the depth that `add` returns.
    fn store_each(
        &self,
        column: &mut Column,
        add: impl Fn(&EvidenceRow<'_>, &mut Column) -> Result<i16, Beyond>,
    ) -> Result<(), Beyond> {
        // A level without a value marks the empty list.
        if self.list.is_empty() {
            column.level(0, 0);
        }
        for (number, one) in self.list.iter().enumerate() {
            let depth = add(one, column)?;
            column.level(depth, i16::from(number > 0));
        }
        Ok(())
    }
}
