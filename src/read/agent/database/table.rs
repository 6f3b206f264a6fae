//! Tables whose rows are read one at a time by their numbers.
//!
//! Only tables with rows of their own are read: no views and no virtual tables, whatever they are
//! called. A column that is missing has no values. `SQLite` sorts nothing, since it would hold all of
//! it.

use rusqlite::{OptionalExtension as _, Statement};

use super::{Database, Failure, Row};
use crate::read::agent::AgentFile;

/// Table with the columns that are read.
pub(super) struct Table<'d> {
    database: &'d Database,
    name: &'static str,
    row: Statement<'d>,
}

impl Database {
    /// Returns true if there is a table with all of these columns.
    ///
    /// # Errors
    /// Any error of `SQLite`.
    pub(super) fn has(&self, table: &str, columns: &[&str]) -> Result<bool, Failure> {
        let there = self.columns(table)?;
        Ok(!columns.is_empty() && columns.iter().all(|name| there.iter().any(|one| one == name)))
    }

    /// Table with the columns that exist; `None` if there is no such table.
    ///
    /// # Errors
    /// Any error of `SQLite`.
    pub(super) fn table(
        &self,
        name: &'static str,
        columns: &[&str],
    ) -> Result<Option<Table<'_>>, Failure> {
        let there = self.columns(name)?;
        if there.is_empty() {
            return Ok(None);
        }
        let quoted = columns.iter().filter(|name| there.iter().any(|one| one == *name));
        let quoted: Vec<_> = quoted.map(|name| format!("\"{name}\"")).collect();
        let listed = if quoted.is_empty() { "NULL".to_owned() } else { quoted.join(", ") };
        let query = format!("SELECT {listed} FROM main.\"{name}\" NOT INDEXED WHERE rowid = ?1");
        Ok(Some(Table { database: self, name, row: self.connection.prepare(&query)? }))
    }

    /// Columns of a table; none if there is no such table.
    pub(super) fn columns(&self, table: &str) -> Result<Vec<String>, Failure> {
        // Views and virtual tables have no page of their own.
        let query =
            "SELECT 1 FROM main.sqlite_schema WHERE type = 'table' AND rootpage > 0 AND name = ?1";
        let found = self.connection.query_row(query, [table], |_| Ok(())).optional()?;
        let mut columns = Vec::new();
        if found.is_some() {
            self.connection.pragma(None, "table_info", table, |row| {
                columns.push(row.get(1)?);
                Ok(())
            })?;
        }
        Ok(columns)
    }
}

impl Table<'_> {
    /// Numbers of all rows, in their order.
    ///
    /// # Errors
    /// Any error of `SQLite`.
    pub(super) fn rowids(&self) -> Result<Vec<i64>, Failure> {
        let query = format!("SELECT rowid FROM main.\"{}\" NOT INDEXED ORDER BY rowid", self.name);
        let mut statement = self.database.connection.prepare(&query)?;
        let mut rows = statement.query([])?;
        let mut rowids = Vec::new();
        while let Some(row) = rows.next()? {
            rowids.push(row.get(0)?);
        }
        Ok(rowids)
    }

    /// Passes each row to `take`, in the order of their numbers.
    ///
    /// A row that is too long is reported and skipped.
    ///
    /// # Errors
    /// Any error of `SQLite`.
    pub(super) fn each(
        &mut self,
        file: &mut AgentFile,
        mut take: impl FnMut(&Row<'_>, &mut AgentFile),
    ) -> Result<(), Failure> {
        for rowid in self.rowids()? {
            self.take(rowid, file, &mut take)?;
        }
        Ok(())
    }

    /// Passes one row to `take`. A row that is too long is reported and skipped.
    ///
    /// # Errors
    /// Any error of `SQLite`.
    pub(super) fn take(
        &mut self,
        rowid: i64,
        file: &mut AgentFile,
        take: impl FnOnce(&Row<'_>, &mut AgentFile),
    ) -> Result<(), Failure> {
        self.database.count_row();
        let mut rows = self.row.query([rowid])?;
        match rows.next().map_err(Failure::from) {
            Ok(Some(row)) => take(&Row::new(row, rowid, self.database), file),
            Ok(None) => {}
            Err(failure @ Failure::RowTooLong) => {
                let line = u64::try_from(rowid).unwrap_or(0);
                file.reject(failure.kind(), line, failure.detail());
            }
            Err(failure) => return Err(failure),
        }
        if self.database.is_exhausted() { Err(Failure::TooMuchWork) } else { Ok(()) }
    }
}
