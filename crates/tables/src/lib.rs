//! Writes tables as Parquet and CSV, for analysis with other tools: columns that are declared once, rows of cells, files
//! that are complete or not there. Reads its files of Parquet. It knows nothing of accounts and events.
#![forbid(unsafe_code)]

mod cell;
mod column;
mod csv_file;
mod declare;
mod directory;
mod error;
mod parquet_file;
mod parquet_rows;
mod row_group;

pub use cell::{Cell, rfc3339, text_of};
pub use column::{Column, Kind, Table};
pub use csv_file::CsvFile;
pub use directory::{Format, TableDirectory, TableFile};
pub use error::TableError;
pub use parquet_file::{ParquetFile, PushError};
pub use parquet_rows::{NamedCells, ParquetRows};
