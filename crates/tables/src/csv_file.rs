//! A table as a file of CSV (RFC 4180), with the names of the columns in the first line.

use crate::parquet_file::PushError;
use crate::row_group::ensure_fits;
use crate::{Cell, Table, rfc3339};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use csv::{Terminator, Writer, WriterBuilder};
use std::io::{self, Write};

/// Size of the buffer before the file, bytes.
const BUFFER_LEN: usize = 1 << 16;

/// Writes a table as CSV. Null is an empty field.
pub struct CsvFile<W: Write> {
    table: &'static Table,
    file: Writer<W>,
    rows: u64,
}

impl<W: Write> CsvFile<W> {
    /// Begins a file.
    pub fn begin(table: &'static Table, out: W) -> io::Result<CsvFile<W>> {
        let mut builder = WriterBuilder::new();
        builder.terminator(Terminator::CRLF).buffer_capacity(BUFFER_LEN);
        let mut file = builder.from_writer(out);
        file.write_record(table.columns.iter().map(|column| column.name)).map_err(into_io)?;
        Ok(CsvFile { table, file, rows: 0 })
    }

    /// Adds a row, with a cell for each column in their order.
    pub fn push(&mut self, row: &[Cell<'_>]) -> Result<(), PushError> {
        ensure_fits(self.table.name, self.table.columns, row).map_err(PushError::Row)?;
        for cell in row {
            self.write(cell).map_err(|error| PushError::File(into_io(error)))?;
        }
        self.file.write_record(None::<&[u8]>).map_err(|error| PushError::File(into_io(error)))?;
        self.rows += 1;
        Ok(())
    }

    fn write(&mut self, cell: &Cell<'_>) -> csv::Result<()> {
        match cell {
            Cell::Null => self.file.write_field(""),
            Cell::Text(text) => self.file.write_field(text.as_bytes()),
            Cell::Bytes(bytes) => self.file.write_field(STANDARD.encode(bytes)),
            Cell::Int(int) => self.file.write_field(int.to_string()),
            Cell::Wide(wide) => self.file.write_field(wide.to_string()),
            Cell::Time(ms) => self.file.write_field(rfc3339(*ms).unwrap_or_else(|| ms.to_string())),
            Cell::Bool(bool) => self.file.write_field(if *bool { "true" } else { "false" }),
        }
    }

    /// Returns the number of rows.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Writes what is left, and returns the writer.
    pub fn finish(mut self) -> io::Result<W> {
        self.file.flush()?;
        self.file.into_inner().map_err(|error| error.into_error())
    }
}

fn into_io(error: csv::Error) -> io::Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        kind => io::Error::other(format!("{kind:?}")),
    }
}
