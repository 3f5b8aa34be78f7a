//! Rows that wait for their row group, column by column.

use crate::{Cell, Column, Kind, TableError};
use bytes::Bytes;
use parquet::data_type::{
    BoolType, ByteArray, ByteArrayType, FixedLenByteArray, FixedLenByteArrayType, Int64Type,
};
use parquet::errors::Result as ParquetResult;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use std::io::Write;
use std::mem;

/// The values of one column.
#[derive(Debug)]
enum Values {
    /// One after the other; where each ends.
    Bytes(Vec<u8>, Vec<usize>),
    Ints(Vec<i64>),
    Wides(Vec<FixedLenByteArray>),
    Bools(Vec<bool>),
}

#[derive(Debug)]
struct Buffer {
    values: Values,
    /// 1 for a row that has a value, 0 for null. None where all rows have one.
    levels: Option<Vec<i16>>,
}

/// Rows of a table, not yet written.
#[derive(Debug)]
pub(crate) struct RowGroup {
    columns: &'static [Column],
    buffers: Vec<Buffer>,
    rows: usize,
    len: usize,
}

impl RowGroup {
    pub(crate) fn new(columns: &'static [Column]) -> RowGroup {
        let buffers = columns.iter().map(Buffer::new).collect();
        RowGroup { columns, buffers, rows: 0, len: 0 }
    }

    /// Returns the number of rows.
    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// Returns the number of bytes in memory, about.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Adds a row, whole or not at all.
    pub(crate) fn push(&mut self, table: &str, row: &[Cell<'_>]) -> Result<(), TableError> {
        ensure_fits(table, self.columns, row)?;
        for (buffer, cell) in self.buffers.iter_mut().zip(row) {
            self.len += cell.len();
            buffer.push(cell);
        }
        self.rows += 1;
        Ok(())
    }

    /// Writes the rows as a row group and forgets them.
    pub(crate) fn write<W: Write + Send>(
        &mut self,
        file: &mut SerializedFileWriter<W>,
    ) -> ParquetResult<()> {
        let mut group = file.next_row_group()?;
        let mut buffers = self.buffers.iter_mut();
        while let (Some(mut column), Some(buffer)) = (group.next_column()?, buffers.next()) {
            buffer.drain(&mut column)?;
            column.close()?;
        }
        group.close()?;
        (self.rows, self.len) = (0, 0);
        Ok(())
    }
}

/// Checks a row against its columns.
pub(crate) fn ensure_fits(
    table: &str,
    columns: &[Column],
    row: &[Cell<'_>],
) -> Result<(), TableError> {
    if row.len() != columns.len() {
        return Err(TableError::Row(table.to_owned(), row.len(), columns.len()));
    }
    columns.iter().zip(row).try_for_each(|(column, cell)| cell.ensure_fits(table, column))
}

impl Buffer {
    fn new(column: &Column) -> Buffer {
        let values = match column.kind {
            Kind::Text | Kind::Json | Kind::Bytes => Values::Bytes(Vec::new(), Vec::new()),
            Kind::Int | Kind::Time => Values::Ints(Vec::new()),
            Kind::Wide => Values::Wides(Vec::new()),
            Kind::Bool => Values::Bools(Vec::new()),
        };
        Buffer { values, levels: column.is_optional.then(Vec::new) }
    }

    /// Adds a cell that fits the column.
    fn push(&mut self, cell: &Cell<'_>) {
        if let Some(levels) = &mut self.levels {
            levels.push(i16::from(*cell != Cell::Null));
        }
        match (&mut self.values, cell) {
            (_, Cell::Null) => {}
            (Values::Bytes(bytes, ends), Cell::Text(text)) => {
                bytes.extend_from_slice(text.as_bytes());
                ends.push(bytes.len());
            }
            (Values::Bytes(bytes, ends), Cell::Bytes(cell)) => {
                bytes.extend_from_slice(cell);
                ends.push(bytes.len());
            }
            (Values::Ints(ints), &(Cell::Int(int) | Cell::Time(int))) => ints.push(int),
            (Values::Wides(wides), Cell::Wide(wide)) => {
                wides.push(ByteArray::from(wide.to_be_bytes().to_vec()).into());
            }
            (Values::Bools(bools), &Cell::Bool(bool)) => bools.push(bool),
            (values, cell) => unreachable!("{cell:?} was checked against its column: {values:?}"),
        }
    }

    /// Writes the values and forgets them.
    fn drain(&mut self, column: &mut SerializedColumnWriter<'_>) -> ParquetResult<()> {
        let levels = self.levels.as_deref();
        match &mut self.values {
            Values::Bytes(bytes, ends) => {
                let bytes = Bytes::from(mem::take(bytes));
                let mut start = 0;
                let slice =
                    |&end: &usize| ByteArray::from(bytes.slice(mem::replace(&mut start, end)..end));
                let slices: Vec<ByteArray> = ends.iter().map(slice).collect();
                column.typed::<ByteArrayType>().write_batch(&slices, levels, None)?;
                ends.clear();
            }
            Values::Ints(ints) => {
                column.typed::<Int64Type>().write_batch(ints, levels, None)?;
                ints.clear();
            }
            Values::Wides(wides) => {
                column.typed::<FixedLenByteArrayType>().write_batch(wides, levels, None)?;
                wides.clear();
            }
            Values::Bools(bools) => {
                column.typed::<BoolType>().write_batch(bools, levels, None)?;
                bools.clear();
            }
        }
        if let Some(levels) = &mut self.levels {
            levels.clear();
        }
        Ok(())
    }
}
