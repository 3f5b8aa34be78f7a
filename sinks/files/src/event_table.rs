//! A file of events as a table of Parquet.

use crate::columns::{EVENTS, event_cells};
use crate::{FileName, FileWriter};
use scurry_ship::Delivery;
use scurry_tables::ParquetFile;
use std::fs::File;
use std::io;

/// Writes events as rows.
pub struct EventTable {
    file: ParquetFile<File>,
}

impl EventTable {
    /// Ending of the names of such files.
    pub const EXTENSION: &'static str = "parquet";

    /// Begins a file.
    pub fn begin(file: File) -> io::Result<EventTable> {
        Ok(EventTable { file: ParquetFile::begin(&EVENTS, file)? })
    }
}

impl FileWriter for EventTable {
    fn write(&mut self, delivery: &Delivery<'_>) -> io::Result<()> {
        Ok(self.file.push(&event_cells(delivery.record))?)
    }

    fn finish(self: Box<Self>, name: &FileName) -> io::Result<File> {
        let about = [
            ("scurry.version", env!("CARGO_PKG_VERSION").to_owned()),
            ("scurry.store", name.store.to_string()),
            ("scurry.from", name.from.to_string()),
            ("scurry.to", name.to.to_string()),
        ];
        self.file.finish(&about.map(|(key, text)| (key.to_owned(), text)))
    }
}
