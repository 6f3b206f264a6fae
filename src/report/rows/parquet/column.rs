//! Columns in the making: values are encoded in batches, and the packed pages of a column stay in memory until the row
//! group is full.

use std::sync::{Arc, Mutex};

use bytes::Bytes;
use parquet::column::page::{CompressedPage, PageWriteSpec, PageWriter};
use parquet::column::writer::{ColumnCloseResult, ColumnWriter, get_column_writer};
use parquet::data_type::ByteArray;
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::properties::WriterPropertiesPtr;
use parquet::file::writer::{SerializedPageWriter, TrackedWrite};
use parquet::schema::types::ColumnDescPtr;

use super::value::Beyond;
use crate::read::input::locked;

/// Columns for the remaining values of a row.
pub(in crate::report) struct Columns<'c>(pub(super) std::slice::IterMut<'c, Column>);

impl Columns<'_> {
    /// The next column.
    ///
    /// # Panics
    /// Never for a type whose schema has a column for each value that it stores.
    pub(in crate::report) fn next(&mut self) -> &mut Column {
        self.0.next().expect("a schema has a column for each value of a row")
    }
}

/// A column of the row group in the making.
pub(in crate::report) struct Column {
    description: ColumnDescPtr,
    writer: ColumnWriter<'static>,
    pages: Pages,
    batch: Batch,
    definitions: Vec<i16>,
    repetitions: Vec<i16>,
    /// Recently added texts, the index of the last one, and the index of the oldest one.
    recent: Vec<ByteArray>,
    latest: usize,
    oldest: usize,
}

/// Number of texts that are kept for reuse. Rows of a request alternate between strategies.
const MOST_RECENT: usize = 8;

/// Values that are not encoded yet.
enum Batch {
    Flags(Vec<bool>),
    Integers(Vec<i64>),
    Floats(Vec<f64>),
    Texts(Vec<ByteArray>),
}

impl Column {
    pub(super) fn new(description: ColumnDescPtr, properties: &WriterPropertiesPtr) -> Self {
        let pages = Pages::default();
        // The writer owns a second handle of the pages, which the column takes after the writer is closed.
        let writer = get_column_writer(
            Arc::clone(&description),
            Arc::clone(properties),
            Box::new(pages.clone()),
        );
        let batch = match &writer {
            ColumnWriter::BoolColumnWriter(_) => Batch::Flags(Vec::new()),
            ColumnWriter::DoubleColumnWriter(_) => Batch::Floats(Vec::new()),
            ColumnWriter::ByteArrayColumnWriter(_) => Batch::Texts(Vec::new()),
            _ => Batch::Integers(Vec::new()),
        };
        let (definitions, repetitions, recent) = (Vec::new(), Vec::new(), Vec::new());
        Self {
            description,
            writer,
            pages,
            batch,
            definitions,
            repetitions,
            recent,
            latest: 0,
            oldest: 0,
        }
    }

    /// Records the level of a value: its depth among optional and repeated fields, and 0 for the first value of its
    /// row.
    pub(in crate::report) fn level(&mut self, definition: i16, repetition: i16) {
        if self.description.max_def_level() > 0 {
            self.definitions.push(definition);
        }
        if self.description.max_rep_level() > 0 {
            self.repetitions.push(repetition);
        }
    }

    /// Records the level of a value that every row has once.
    pub(super) fn is_there(&mut self) {
        self.level(self.description.max_def_level(), 0);
    }

    pub(super) fn flag(&mut self, value: bool) {
        if let Batch::Flags(values) = &mut self.batch {
            values.push(value);
        }
    }

    /// Adds a number.
    ///
    /// # Errors
    /// The number does not fit 63 bits.
    pub(in crate::report) fn integer(&mut self, value: impl TryInto<i64>) -> Result<(), Beyond> {
        let value = value.try_into().map_err(|_| Beyond)?;
        if let Batch::Integers(values) = &mut self.batch {
            values.push(value);
        }
        Ok(())
    }

    pub(super) fn float(&mut self, value: f64) {
        if let Batch::Floats(values) = &mut self.batch {
            values.push(value);
        }
    }

    /// Adds a text. A recent one takes no memory of its own.
    pub(in crate::report) fn text(&mut self, value: &str) {
        let Batch::Texts(values) = &mut self.batch else { return };
        let is_same = |recent: &ByteArray| recent.data() == value.as_bytes();
        if !self.recent.get(self.latest).is_some_and(is_same) {
            self.latest = self.recent.iter().position(is_same).unwrap_or_else(|| {
                let place =
                    if self.recent.len() < MOST_RECENT { self.recent.len() } else { self.oldest };
                self.oldest = (place + 1) % MOST_RECENT;
                if place == self.recent.len() {
                    self.recent.push(ByteArray::from(value));
                } else {
                    self.recent[place] = ByteArray::from(value);
                }
                place
            });
        }
        values.push(self.recent[self.latest].clone());
    }

    /// Encodes the batch.
    pub(super) fn encode(&mut self) -> ParquetResult<()> {
        let Self { writer, batch, definitions, repetitions, .. } = self;
        let definitions = Some(definitions.as_slice()).filter(|levels| !levels.is_empty());
        let repetitions = Some(repetitions.as_slice()).filter(|levels| !levels.is_empty());
        match (writer, batch) {
            (ColumnWriter::BoolColumnWriter(writer), Batch::Flags(values)) => {
                writer.write_batch(values, definitions, repetitions)?;
                values.clear();
            }
            (ColumnWriter::Int64ColumnWriter(writer), Batch::Integers(values)) => {
                writer.write_batch(values, definitions, repetitions)?;
                values.clear();
            }
            (ColumnWriter::DoubleColumnWriter(writer), Batch::Floats(values)) => {
                writer.write_batch(values, definitions, repetitions)?;
                values.clear();
            }
            (ColumnWriter::ByteArrayColumnWriter(writer), Batch::Texts(values)) => {
                writer.write_batch(values, definitions, repetitions)?;
                values.clear();
            }
            _ => return Err(ParquetError::General("a column of another type".to_owned())),
        }
        self.definitions.clear();
        self.repetitions.clear();
        Ok(())
    }

    /// Ends the column, and returns its bytes and its metadata.
    pub(super) fn close(mut self) -> ParquetResult<(Bytes, ColumnCloseResult)> {
        self.encode()?;
        let closed = self.writer.close()?;
        Ok((self.pages.take()?, closed))
    }
}

/// Packed pages of a column.
#[derive(Clone)]
struct Pages(Arc<Mutex<TrackedWrite<Vec<u8>>>>);

impl Default for Pages {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(TrackedWrite::new(Vec::new()))))
    }
}

impl Pages {
    fn take(self) -> ParquetResult<Bytes> {
        let empty = TrackedWrite::new(Vec::new());
        let pages = std::mem::replace(&mut *locked(&self.0), empty);
        pages.into_inner().map(Bytes::from)
    }
}

impl PageWriter for Pages {
    fn write_page(&mut self, page: CompressedPage) -> ParquetResult<PageWriteSpec> {
        SerializedPageWriter::new(&mut *locked(&self.0)).write_page(page)
    }

    fn close(&mut self) -> ParquetResult<()> {
        Ok(())
    }
}
