//! Files of payloads as they are: a line of JSON each, or Protobuf with a length before each message.

use crate::{FileName, FileWriter};
use scurry_ship::{Delivery, Form};
use std::fs::File;
use std::io::{self, BufWriter, Write};

/// Writes payloads one after the other.
pub struct Lines {
    file: BufWriter<File>,
    form: Form,
}

impl Lines {
    /// Begins a file.
    pub fn begin(file: File, form: Form) -> Lines {
        Lines { file: BufWriter::with_capacity(1 << 16, file), form }
    }

    /// Returns the ending of the names of such files.
    pub fn extension(form: Form) -> &'static str {
        match form {
            Form::Json => "jsonl",
            Form::Protobuf => "pb",
        }
    }
}

impl FileWriter for Lines {
    fn write(&mut self, delivery: &Delivery<'_>) -> io::Result<()> {
        match self.form {
            Form::Json => {
                self.file.write_all(delivery.payload)?;
                self.file.write_all(b"\n")
            }
            Form::Protobuf => {
                let mut len = delivery.payload.len();
                while len >= 0x80 {
                    self.file.write_all(&[(len & 0x7f) as u8 | 0x80])?;
                    len >>= 7;
                }
                self.file.write_all(&[len as u8])?;
                self.file.write_all(delivery.payload)
            }
        }
    }

    fn finish(self: Box<Self>, _name: &FileName) -> io::Result<File> {
        self.file.into_inner().map_err(io::IntoInnerError::into_error)
    }
}
