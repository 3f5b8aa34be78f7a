//! Reads the rows of a table of Parquet that this crate wrote.

use crate::Cell;
use parquet::errors::Result as ParquetResult;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::reader::RowIter;
use parquet::record::{Field, Row};
use std::fs::File;
use std::io;

/// A row: the names and the cells of the columns that have a value.
pub type NamedCells = Vec<(String, Cell<'static>)>;

/// The rows of a file, in their order.
pub struct ParquetRows {
    rows: RowIter<'static>,
    row_count: i64,
}

impl ParquetRows {
    /// Opens a file. Fails if its footer cannot be read.
    pub fn open(file: File) -> io::Result<ParquetRows> {
        let reader = SerializedFileReader::new(file).map_err(io::Error::other)?;
        let row_count = reader.metadata().file_metadata().num_rows();
        Ok(ParquetRows { rows: RowIter::from_file_into(Box::new(reader)), row_count })
    }

    /// Returns the number of rows, which the footer has.
    pub fn row_count(&self) -> i64 {
        self.row_count
    }
}

impl Iterator for ParquetRows {
    type Item = io::Result<NamedCells>;

    fn next(&mut self) -> Option<io::Result<NamedCells>> {
        let row: ParquetResult<Row> = self.rows.next()?;
        Some(row.map_err(io::Error::other).and_then(cells))
    }
}

fn cells(row: Row) -> io::Result<NamedCells> {
    let columns = row.into_columns().into_iter();
    columns.filter_map(|(name, field)| cell(name, field).transpose()).collect()
}

fn cell(name: String, field: Field) -> io::Result<Option<(String, Cell<'static>)>> {
    let cell = match field {
        Field::Null => return Ok(None),
        Field::Bool(bool) => Cell::Bool(bool),
        Field::Long(int) => Cell::Int(int),
        Field::TimestampMillis(time) => Cell::Time(time),
        Field::Str(text) => Cell::Text(text.into()),
        Field::Bytes(bytes) => Cell::Bytes(bytes.data().to_vec().into()),
        other => return Err(io::Error::other(format!("the column {name} has {other:?}"))),
    };
    Ok(Some((name, cell)))
}
