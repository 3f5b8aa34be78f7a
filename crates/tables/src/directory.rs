//! A directory of tables, complete or not there: each file is written under a name that ends with `.part`, synced, and
//! renamed when all are complete. The last file is `export.json`, which says what the others are. A directory without it
//! is not complete.

use crate::parquet_file::PushError;
use crate::{Cell, CsvFile, ParquetFile, Table, TableError};
use serde_json::{Map, Value, json};
use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

const PART: &str = ".part";
/// Name of the file that says what the others are.
const ABOUT: &str = "export.json";

/// Form of the files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Apache Parquet.
    Parquet,
    /// RFC 4180.
    Csv,
}

impl Format {
    /// Returns the ending of the names of files.
    pub const fn extension(self) -> &'static str {
        match self {
            Format::Parquet => "parquet",
            Format::Csv => "csv",
        }
    }
}

/// A directory for tables. Dropping it before [`TableDirectory::complete`] removes the files that were begun.
#[derive(Debug)]
pub struct TableDirectory {
    path: PathBuf,
    format: Format,
    /// Names of the files that were begun, without their ending.
    begun: Vec<String>,
    /// Whether the directory was made here.
    is_new: bool,
    is_complete: bool,
}

/// A table that is being written.
pub struct TableFile {
    table: &'static Table,
    path: PathBuf,
    form: Form,
}

enum Form {
    Parquet(Box<ParquetFile<File>>),
    Csv(Box<CsvFile<File>>),
}

impl TableDirectory {
    /// Opens a directory, which must be empty, and makes it if it is missing.
    pub fn open(path: &Path, format: Format) -> Result<TableDirectory, TableError> {
        let fault = |error| TableError::of_file(path, error);
        let is_new = match fs::create_dir(path) {
            Ok(()) => true,
            Err(error) if error.kind() == ErrorKind::AlreadyExists => false,
            Err(error) => return Err(fault(error)),
        };
        if fs::read_dir(path).map_err(fault)?.next().is_some() {
            return Err(TableError::NotEmpty(path.display().to_string()));
        }
        Ok(TableDirectory {
            path: path.to_owned(),
            format,
            begun: Vec::new(),
            is_new,
            is_complete: false,
        })
    }

    /// Begins a table.
    pub fn begin(&mut self, table: &'static Table) -> Result<TableFile, TableError> {
        let name = format!("{}.{}", table.name, self.format.extension());
        let path = self.part(&name);
        let fault = |error| TableError::of_file(&path, error);
        let file = File::create_new(&path).map_err(fault)?;
        self.begun.push(name);
        let form = match self.format {
            Format::Parquet => {
                Form::Parquet(Box::new(ParquetFile::begin(table, file).map_err(fault)?))
            }
            Format::Csv => Form::Csv(Box::new(CsvFile::begin(table, file).map_err(fault)?)),
        };
        Ok(TableFile { table, path, form })
    }

    /// Completes all tables, with these texts about them, by their names.
    pub fn complete(
        mut self,
        tables: Vec<TableFile>,
        about: &[(String, String)],
    ) -> Result<(), TableError> {
        let mut rows = Map::new();
        for table in tables {
            rows.insert(table.table.name.to_owned(), json!(table.rows()));
            table.finish(about)?;
        }
        let pairs = about.iter().map(|(name, text)| (name.clone(), Value::from(text.as_str())));
        let mut object: Map<String, Value> = pairs.collect();
        object.insert("rows".to_owned(), Value::Object(rows));
        let path = self.part(ABOUT);
        self.begun.push(ABOUT.to_owned());
        let write = || -> io::Result<()> {
            let mut file = File::create_new(&path)?;
            serde_json::to_writer_pretty(&mut file, &object)?;
            file.write_all(b"\n")?;
            file.sync_all()
        };
        write().map_err(|error| TableError::of_file(&path, error))?;
        for name in &self.begun {
            let path = self.path.join(name);
            fs::rename(self.part(name), &path)
                .map_err(|error| TableError::of_file(&path, error))?;
        }
        let sync = File::open(&self.path).and_then(|directory| directory.sync_all());
        sync.map_err(|error| TableError::of_file(&self.path, error))?;
        self.is_complete = true;
        Ok(())
    }

    fn part(&self, name: &str) -> PathBuf {
        self.path.join(format!("{name}{PART}"))
    }
}

impl Drop for TableDirectory {
    fn drop(&mut self) {
        if self.is_complete {
            return;
        }
        // A file that stays has a name that says that it is not complete, and the next export refuses the directory.
        for name in &self.begun {
            let _ = fs::remove_file(self.part(name));
        }
        if self.is_new {
            let _ = fs::remove_dir(&self.path);
        }
    }
}

impl TableFile {
    /// Adds a row, with a cell for each column in their order.
    pub fn push(&mut self, row: &[Cell<'_>]) -> Result<(), TableError> {
        let outcome = match &mut self.form {
            Form::Parquet(file) => file.push(row),
            Form::Csv(file) => file.push(row),
        };
        outcome.map_err(|error| match error {
            PushError::Row(error) => error,
            PushError::File(error) => TableError::of_file(&self.path, error),
        })
    }

    /// Returns the number of rows.
    pub fn rows(&self) -> u64 {
        match &self.form {
            Form::Parquet(file) => file.rows(),
            Form::Csv(file) => file.rows(),
        }
    }

    /// Writes and syncs the rest of the file.
    fn finish(self, about: &[(String, String)]) -> Result<(), TableError> {
        let file = match self.form {
            Form::Parquet(file) => file.finish(about),
            Form::Csv(file) => file.finish(),
        };
        let synced = file.and_then(|file| file.sync_all());
        synced.map_err(|error| TableError::of_file(&self.path, error))
    }
}
