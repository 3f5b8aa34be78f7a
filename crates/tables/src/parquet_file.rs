//! A table as a file of Parquet: row groups of bounded size, compressed with Snappy, and texts about the table in its
//! footer.

use crate::row_group::RowGroup;
use crate::{Cell, Column, Kind, Table, TableError};
use parquet::basic::{Compression, LogicalType, Repetition, TimeUnit, Type as PhysicalType};
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{Type, TypePtr};
use std::io::{self, Write};
use std::sync::Arc;

/// Most rows of a row group: as many as DuckDB has in one of its own.
const GROUP_ROWS_MAX: usize = 122_880;
/// Size from which a row group is written, bytes of its cells in memory.
const GROUP_LEN_MAX: usize = 16 << 20;
/// Bytes of a wide integer.
const WIDE_LEN: i32 = 16;
/// Digits of a wide integer.
const WIDE_DIGITS: i32 = 38;

/// Writes a table as Parquet.
pub struct ParquetFile<W: Write + Send> {
    table: &'static Table,
    group: RowGroup,
    file: SerializedFileWriter<Out<W>>,
    rows: u64,
}

impl<W: Write + Send> ParquetFile<W> {
    /// Begins a file.
    pub fn begin(table: &'static Table, out: W) -> io::Result<ParquetFile<W>> {
        let properties = WriterProperties::builder()
            .set_created_by(concat!("scurry ", env!("CARGO_PKG_VERSION")).to_owned())
            .set_compression(Compression::SNAPPY)
            .set_statistics_enabled(EnabledStatistics::Chunk)
            .build();
        let schema = schema(table).map_err(into_io)?;
        let file = SerializedFileWriter::new(Out(Some(out)), schema, Arc::new(properties))
            .map_err(into_io)?;
        Ok(ParquetFile { table, group: RowGroup::new(table.columns), file, rows: 0 })
    }

    /// Adds a row, with a cell for each column in their order.
    pub fn push(&mut self, row: &[Cell<'_>]) -> Result<(), PushError> {
        self.group.push(self.table.name, row).map_err(PushError::Row)?;
        self.rows += 1;
        if self.group.rows() >= GROUP_ROWS_MAX || self.group.len() >= GROUP_LEN_MAX {
            self.group.write(&mut self.file).map_err(|error| PushError::File(into_io(error)))?;
        }
        Ok(())
    }

    /// Returns the number of rows.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Writes the last rows and these texts about the table, by their names, and returns the writer.
    pub fn finish(mut self, about: &[(String, String)]) -> io::Result<W> {
        if self.group.rows() > 0 {
            self.group.write(&mut self.file).map_err(into_io)?;
        }
        for (key, value) in about {
            let pair = KeyValue { key: key.clone(), value: Some(value.clone()) };
            self.file.append_key_value_metadata(pair);
        }
        self.file.finish().map_err(into_io)?;
        self.file.inner_mut().0.take().ok_or_else(gone)
    }
}

/// The writer below, until it is taken back: `SerializedFileWriter::into_inner` makes a text of an error.
struct Out<W>(Option<W>);

impl<W: Write> Write for Out<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.as_mut().ok_or_else(gone)?.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.as_mut().ok_or_else(gone)?.flush()
    }
}

fn gone() -> io::Error {
    io::Error::other("the file is complete")
}

/// Why a row was not added.
#[derive(Debug)]
pub enum PushError {
    /// The row is not one of its table.
    Row(TableError),
    /// The file failed.
    File(io::Error),
}

impl From<PushError> for io::Error {
    fn from(error: PushError) -> io::Error {
        match error {
            PushError::Row(error) => io::Error::other(error),
            PushError::File(error) => error,
        }
    }
}

fn schema(table: &Table) -> ParquetResult<TypePtr> {
    let fields: Vec<TypePtr> = table.columns.iter().map(field).collect::<ParquetResult<_>>()?;
    Ok(Arc::new(Type::group_type_builder(table.name).with_fields(fields).build()?))
}

fn field(column: &Column) -> ParquetResult<TypePtr> {
    let (physical, logical) = match column.kind {
        // Many readers show JSON of Parquet as bytes, and all of them text.
        Kind::Text | Kind::Json => (PhysicalType::BYTE_ARRAY, Some(LogicalType::String)),
        Kind::Bytes => (PhysicalType::BYTE_ARRAY, None),
        Kind::Int => (PhysicalType::INT64, None),
        Kind::Wide => {
            let decimal = LogicalType::decimal(0, WIDE_DIGITS);
            (PhysicalType::FIXED_LEN_BYTE_ARRAY, Some(decimal))
        }
        Kind::Time => (PhysicalType::INT64, Some(LogicalType::timestamp(true, TimeUnit::MILLIS))),
        Kind::Bool => (PhysicalType::BOOLEAN, None),
    };
    let is_wide = column.kind == Kind::Wide;
    let repetition = if column.is_optional { Repetition::OPTIONAL } else { Repetition::REQUIRED };
    let field = Type::primitive_type_builder(column.name, physical)
        .with_repetition(repetition)
        .with_logical_type(logical)
        .with_length(if is_wide { WIDE_LEN } else { -1 })
        .with_precision(if is_wide { WIDE_DIGITS } else { -1 })
        .with_scale(if is_wide { 0 } else { -1 });
    Ok(Arc::new(field.build()?))
}

/// Returns the error of the file below.
fn into_io(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(cause) => match cause.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(cause) => io::Error::other(cause),
        },
        error => io::Error::other(error),
    }
}
