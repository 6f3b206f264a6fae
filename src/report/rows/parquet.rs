//! Rows as Parquet: columns with the names of the JSON Lines' keys, money as `DECIMAL(18, 12)`, moments in
//! microseconds UTC, names in dictionaries. The same rows give the same bytes.
//!
//! Every column of a row group is encoded as rows come in, and only its packed pages stay in memory until the
//! group is full, so that rows need not.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use parquet::basic::{Compression, Type as PhysicalType, ZstdLevel};
use parquet::column::page::{CompressedPage, PageWriteSpec, PageWriter};
use parquet::column::writer::{ColumnCloseResult, ColumnWriter, get_column_writer};
use parquet::data_type::ByteArray;
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesPtr};
use parquet::file::writer::{SerializedFileWriter, SerializedPageWriter, TrackedWrite};
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::{ColumnDescPtr, ColumnPath, SchemaDescriptor, Type};

use super::{Metadata, Place, TableRow};
use crate::base::units::{Basis, Millis, Picodollars, Tokens};
use crate::explain::breaks::{Cause, Class};
use crate::read::input::locked;

/// How many rows a group has.
const GROUP_ROWS: usize = 262_144;

/// How many rows are encoded at once.
const BATCH_ROWS: usize = 2_048;

/// How hard pages are packed.
const ZSTD_LEVEL: i32 = 3;

/// The most bytes of a page. What packs it takes a multiple of that, for each column.
const MOST_PAGE: usize = 1 << 17;

/// The most bytes of a dictionary. What comes after it in a row group stands as it is; ids would take more memory in
/// one than they save in the file.
const MOST_DICTIONARY: usize = 1 << 20;

/// A row whose columns a Parquet file can hold.
pub(in crate::report) trait ParquetRow {
    /// Its fields in the language of Parquet's schemas.
    fn schema() -> String;

    /// Adds its values to the columns, in their order.
    ///
    /// # Errors
    /// A value is beyond what its column holds.
    fn store(&self, columns: &mut Columns<'_>) -> Result<(), Beyond>;
}

/// A value beyond what its column holds. Such figures are no real ones.
#[derive(Debug)]
pub(in crate::report) struct Beyond;

/// A value of a row.
pub(in crate::report) trait Stored {
    /// The column of that name in the language of Parquet's schemas.
    fn schema(name: &str) -> String;

    /// Adds it to its column, or to its columns.
    ///
    /// # Errors
    /// It is beyond what the column holds.
    fn store(&self, columns: &mut Columns<'_>) -> Result<(), Beyond>;
}

/// The columns that the next values of a row go to.
pub(in crate::report) struct Columns<'c>(std::slice::IterMut<'c, Column>);

impl Columns<'_> {
    /// The next column.
    ///
    /// # Panics
    /// Never for a type whose schema has a column for each value that it stores.
    pub(in crate::report) fn next(&mut self) -> &mut Column {
        self.0.next().expect("a schema has a column for each value of a row")
    }
}

/// A column of the row group that is being written.
pub(in crate::report) struct Column {
    description: ColumnDescPtr,
    writer: ColumnWriter<'static>,
    pages: Pages,
    batch: Batch,
    definitions: Vec<i16>,
    repetitions: Vec<i16>,
    /// Texts that were added last, which of them was the last one, and which is the oldest.
    recent: Vec<ByteArray>,
    latest: usize,
    oldest: usize,
}

/// How many texts are at hand to be used again. Rows of a request alternate between strategies.
const MOST_RECENT: usize = 8;

/// Values that are not encoded yet.
enum Batch {
    Flags(Vec<bool>),
    Integers(Vec<i64>),
    Floats(Vec<f64>),
    Texts(Vec<ByteArray>),
}

impl Column {
    fn new(description: ColumnDescPtr, properties: &WriterPropertiesPtr) -> Self {
        let pages = Pages::default();
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

    /// Says that there is a value, as its depth among optional and repeated fields, and whether it is the first of
    /// its row (0).
    pub(in crate::report) fn level(&mut self, definition: i16, repetition: i16) {
        if self.description.max_def_level() > 0 {
            self.definitions.push(definition);
        }
        if self.description.max_rep_level() > 0 {
            self.repetitions.push(repetition);
        }
    }

    /// Says that there is a value of a field that every row has once.
    fn is_there(&mut self) {
        self.level(self.description.max_def_level(), 0);
    }

    fn flag(&mut self, value: bool) {
        if let Batch::Flags(values) = &mut self.batch {
            values.push(value);
        }
    }

    /// Adds a number.
    ///
    /// # Errors
    /// It is beyond 63 bits.
    pub(in crate::report) fn integer(&mut self, value: impl TryInto<i64>) -> Result<(), Beyond> {
        let value = value.try_into().map_err(|_| Beyond)?;
        if let Batch::Integers(values) = &mut self.batch {
            values.push(value);
        }
        Ok(())
    }

    fn float(&mut self, value: f64) {
        if let Batch::Floats(values) = &mut self.batch {
            values.push(value);
        }
    }

    /// Adds a text. One that was there a moment ago takes no memory of its own.
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

    /// Encodes what was added.
    fn encode(&mut self) -> ParquetResult<()> {
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

    /// Ends the column: its bytes, and what the file says of it.
    fn close(mut self) -> ParquetResult<(Bytes, ColumnCloseResult)> {
        self.encode()?;
        let closed = self.writer.close()?;
        Ok((self.pages.take()?, closed))
    }
}

/// The packed pages of a column.
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

/// A Parquet file that is being written.
pub(in crate::report) struct ParquetFile<'o> {
    out: &'o mut dyn Write,
    file: SerializedFileWriter<Vec<u8>>,
    columns: Vec<Column>,
    /// Rows of the group that were added, and those of them that are not encoded.
    rows: usize,
    unencoded: usize,
}

impl<'o> ParquetFile<'o> {
    /// A file with columns of a schema.
    pub(in crate::report) fn new(
        fields: &str,
        metadata: Metadata,
        out: &'o mut dyn Write,
    ) -> io::Result<Self> {
        let schema = parse_message_type(&format!("message rows {{ {fields} }}")).map_err(failed)?;
        let pairs = metadata.into_iter();
        let pairs = pairs.map(|(key, value)| KeyValue::new(format!("cachesim.{key}"), value));
        let level = ZstdLevel::try_new(ZSTD_LEVEL).map_err(failed)?;
        // Where a text lies between others helps no reader, and takes time.
        let texts = columns_of(&schema, PhysicalType::BYTE_ARRAY);
        let properties = texts.into_iter().fold(WriterProperties::builder(), |builder, path| {
            builder.set_column_statistics_enabled(path, EnabledStatistics::None)
        });
        let properties = properties
            .set_created_by(concat!("cachesim version ", env!("CARGO_PKG_VERSION")).to_owned())
            .set_compression(Compression::ZSTD(level))
            .set_dictionary_page_size_limit(MOST_DICTIONARY)
            .set_data_page_size_limit(MOST_PAGE)
            .set_statistics_enabled(EnabledStatistics::Chunk)
            .set_key_value_metadata(Some(pairs.collect()))
            .build();
        let file = SerializedFileWriter::new(Vec::new(), Arc::new(schema), Arc::new(properties));
        let file = file.map_err(failed)?;
        let mut this = Self { out, file, columns: Vec::new(), rows: 0, unencoded: 0 };
        this.begin_group();
        Ok(this)
    }

    fn begin_group(&mut self) {
        let descriptions = self.file.schema_descr().columns().to_vec();
        let properties = self.file.properties();
        self.columns = descriptions.into_iter().map(|one| Column::new(one, properties)).collect();
        self.rows = 0;
        self.unencoded = 0;
    }

    fn store(&mut self, row: &impl TableRow, place: Option<Place<'_>>) -> Result<(), Beyond> {
        let mut columns = Columns(self.columns.iter_mut());
        row.store(&mut columns)?;
        if let Some(place) = place {
            place.domain.store(&mut columns)?;
            place.row.store(&mut columns)?;
        }
        Ok(())
    }

    /// Adds a row.
    pub(in crate::report) fn write(
        &mut self,
        row: &impl TableRow,
        place: Option<Place<'_>>,
    ) -> io::Result<()> {
        self.store(row, place).map_err(|Beyond| {
            let place = row.origin();
            let problem = "a figure is beyond what columns of Parquet hold; no request costs a million dollars";
            io::Error::other(format!("{place}: {problem}; use --format jsonl"))
        })?;
        self.rows += 1;
        self.unencoded += 1;
        if self.unencoded == BATCH_ROWS {
            self.columns.iter_mut().try_for_each(Column::encode).map_err(failed)?;
            self.unencoded = 0;
        }
        if self.rows == GROUP_ROWS {
            self.end_group()?;
            self.begin_group();
        }
        Ok(())
    }

    fn end_group(&mut self) -> io::Result<()> {
        let mut group = self.file.next_row_group().map_err(failed)?;
        for column in self.columns.drain(..) {
            let (pages, closed) = column.close().map_err(failed)?;
            group.append_column(&pages, closed).map_err(failed)?;
        }
        group.close().map_err(failed)?;
        self.drain()
    }

    /// Passes on what the file's writer has gathered.
    fn drain(&mut self) -> io::Result<()> {
        self.file.flush()?;
        let bytes = std::mem::take(self.file.inner_mut());
        self.out.write_all(&bytes)
    }

    /// Writes what is left, and what the file says of itself.
    pub(in crate::report) fn finish(mut self) -> io::Result<()> {
        if self.rows > 0 {
            self.end_group()?;
        }
        self.file.finish().map_err(failed)?;
        self.drain()
    }
}

/// The paths of columns of a type.
fn columns_of(schema: &Type, physical: PhysicalType) -> Vec<ColumnPath> {
    let descriptor = SchemaDescriptor::new(Arc::new(schema.clone()));
    let columns = descriptor.columns().iter();
    let of_type = columns.filter(|column| column.physical_type() == physical);
    of_type.map(|column| column.path().clone()).collect()
}

fn failed(error: ParquetError) -> io::Error {
    io::Error::other(error)
}

/// A type that stands in a column of its own: how the schema calls the column, and what is added to it.
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

/// The most digits of an amount.
const MOST_MONEY: i128 = 999_999_999_999_999_999;

/// An amount as an integer of at most eighteen digits.
fn decimal(amount: Picodollars) -> Result<i64, Beyond> {
    let is_held = (-MOST_MONEY..=MOST_MONEY).contains(&amount.0);
    i64::try_from(amount.0).ok().filter(|_| is_held).ok_or(Beyond)
}

/// Words that the program itself has.
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

/// The columns of a type of rows, in Parquet as in CSV, each called like a field.
macro_rules! table_row {
    ($row:ident { $($field:ident),+ $(,)? }) => {
        $crate::report::rows::csv::csv_row!($row { $($field),+ });

        impl<'a> $crate::report::rows::parquet::ParquetRow for $row<'a> {
            fn schema() -> String {
                let schemas = [$($crate::report::rows::parquet::schema_of(
                    stringify!($field),
                    |row: &$row<'a>| &row.$field,
                )),+];
                schemas.concat()
            }

            fn store(
                &self,
                columns: &mut $crate::report::rows::parquet::Columns<'_>,
            ) -> Result<(), $crate::report::rows::parquet::Beyond> {
                $($crate::report::rows::parquet::Stored::store(&self.$field, columns)?;)+
                Ok(())
            }
        }
    };
}

pub(in crate::report) use table_row;

/// The column of a field.
pub(in crate::report) fn schema_of<R, T: Stored>(name: &str, _: impl Fn(&R) -> &T) -> String {
    T::schema(name)
}
