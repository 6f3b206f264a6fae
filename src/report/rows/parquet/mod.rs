//! Rows as Parquet: columns with the keys of the JSON Lines, money as `DECIMAL(18, 12)`, moments in microseconds UTC,
//! names in dictionaries. The same rows give the same bytes.
//!
//! Every column of a row group is encoded as rows come in. Only its packed pages stay in memory until the group is
//! full, and the rows need not.

mod breaks;
mod column;
mod evidence;
mod read;
mod requests;
mod stored;
mod value;

pub use breaks::stored_breaks;
pub(super) use column::{Column, Columns};
pub use read::{each_identified, stored_rows};
pub use requests::each_request;
pub(super) use value::{Beyond, ParquetRow, Stored, schema_of};

use std::io::{self, Write};
use std::sync::Arc;

use parquet::basic::{Compression, Encoding, Type as PhysicalType, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesBuilder};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::{ColumnDescriptor, SchemaDescriptor};

use super::{Metadata, Place, TableRow};

/// Rows of a row group.
const GROUP_ROWS: usize = 262_144;

/// Rows that are encoded at once.
const BATCH_ROWS: usize = 2_048;

/// Compression level of pages.
const ZSTD_LEVEL: i32 = 3;

/// Most bytes of a page. Compressing one takes a multiple of them in memory, for each column.
const MOST_PAGE: usize = 1 << 17;

/// Most bytes of a dictionary. Later values of a row group are stored as they are; their ids would take more memory in
/// a dictionary than they save in the file.
const MOST_DICTIONARY: usize = 1 << 20;
/// A Parquet file in the making.
pub(in crate::report) struct ParquetFile<'o> {
    out: &'o mut dyn Write,
    file: SerializedFileWriter<Vec<u8>>,
    columns: Vec<Column>,
    /// Rows of the group, and those of them that are not encoded.
    rows: usize,
    unencoded: usize,
}

impl<'o> ParquetFile<'o> {
    /// A file of a type of rows, with the columns of their places if they have places.
    pub(in crate::report) fn of<R: ParquetRow>(
        place: Option<[&str; 2]>,
        metadata: Metadata,
        out: &'o mut dyn Write,
    ) -> io::Result<Self> {
        let place = place.map(|[domain, row]| <&str>::schema(domain) + &u64::schema(row));
        Self::new(&(R::schema() + &place.unwrap_or_default()), metadata, out)
    }

    fn new(fields: &str, metadata: Metadata, out: &'o mut dyn Write) -> io::Result<Self> {
        let schema = parse_message_type(&format!("message rows {{ {fields} }}")).map_err(failed)?;
        let pairs = metadata.into_iter();
        let pairs = pairs.map(|(key, value)| KeyValue::new(format!("cachesim.{key}"), value));
        let level = ZstdLevel::try_new(ZSTD_LEVEL).map_err(failed)?;
        let columns = SchemaDescriptor::new(Arc::new(schema.clone())).columns().to_vec();
        let properties = columns
            .iter()
            .fold(WriterProperties::builder(), |builder, column| encoded(builder, column))
            // The library's default has its version, so that an update would change the bytes.
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

    /// Passes on the bytes that the file's writer has gathered.
    fn drain(&mut self) -> io::Result<()> {
        self.file.flush()?;
        // The library's writer has to be `Send`, which `out` is not: bytes take the way over a buffer.
        let bytes = std::mem::take(self.file.inner_mut());
        self.out.write_all(&bytes)
    }

    /// Writes the rest, and the metadata of the file.
    pub(in crate::report) fn finish(mut self) -> io::Result<()> {
        if self.rows > 0 {
            self.end_group()?;
        }
        self.file.finish().map_err(failed)?;
        self.drain()
    }
}

/// Columns of texts that differ for each request. A dictionary of them would be as long as they are.
const IDS: [&str; 2] = ["message_id", "request_id"];

/// Sets the encoding of a column. Numbers and ids differ little from one row to the next, so that differences take less
/// space and time than indexes into a dictionary.
fn encoded(builder: WriterPropertiesBuilder, column: &ColumnDescriptor) -> WriterPropertiesBuilder {
    let path = column.path().clone();
    let by_difference = |builder: WriterPropertiesBuilder, encoding| {
        let builder = builder.set_column_dictionary_enabled(path.clone(), false);
        builder.set_column_encoding(path.clone(), encoding)
    };
    match column.physical_type() {
        PhysicalType::INT64 => by_difference(builder, Encoding::DELTA_BINARY_PACKED),
        // Statistics of texts help no reader, and take time.
        PhysicalType::BYTE_ARRAY => {
            let builder = if IDS.contains(&column.name()) {
                by_difference(builder, Encoding::DELTA_BYTE_ARRAY)
            } else {
                builder
            };
            builder.set_column_statistics_enabled(path, EnabledStatistics::None)
        }
        _ => builder,
    }
}

fn failed(error: ParquetError) -> io::Error {
    io::Error::other(error)
}
