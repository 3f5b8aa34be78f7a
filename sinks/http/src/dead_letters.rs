//! The file of events that the receiver refuses: a line of JSON each.

use crate::answer::Answer;
use crate::fault::file_fault;
use scurry_ship::{SinkError, date};
use serde_json::Value;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::PathBuf;

/// The file of events that the receiver refuses.
#[derive(Debug)]
pub(crate) struct DeadLetters {
    path: PathBuf,
    file: File,
}

impl DeadLetters {
    /// Opens the file, and ends its last line if a shipper was killed while it wrote it.
    pub(crate) fn open(path: PathBuf) -> Result<DeadLetters, SinkError> {
        let open = || {
            let mut file = OpenOptions::new().create(true).read(true).append(true).open(&path)?;
            if file.seek(SeekFrom::End(0))? > 0 {
                let mut last = [0];
                file.seek(SeekFrom::End(-1))?;
                file.read_exact(&mut last)?;
                if last != *b"\n" {
                    file.write_all(b"\n")?;
                }
            }
            Ok(file)
        };
        let file = open().map_err(|error| file_fault(&path, &error))?;
        Ok(DeadLetters { path, file })
    }

    /// Appends an event with the answer that has refused it, and returns when the file keeps it.
    pub(crate) fn add(
        &mut self,
        event: &[u8],
        answer: &Answer,
        now_ms: i64,
    ) -> Result<(), SinkError> {
        let (time, text) = (Value::from(date(now_ms)), Value::from(answer.text.as_str()));
        let head =
            format!(r#"{{"time":{time},"status":{},"answer":{text},"event":"#, answer.status);
        let line = [head.as_bytes(), event, b"}\n"].concat();
        let written: io::Result<()> =
            self.file.write_all(&line).and_then(|()| self.file.sync_data());
        written.map_err(|error| file_fault(&self.path, &error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_was_cut_is_ended_before_the_next() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("dead.jsonl");
        std::fs::write(&path, b"{\"time\":").expect("it is written");
        let answer = Answer { status: 422, wait: None, text: "no \"a\"".to_owned() };
        let mut letters = DeadLetters::open(path.clone()).expect("it opens");
        letters.add(b"{\"id\":\"1.0:3\"}", &answer, 1_795_298_403_119).expect("it is written");
        let text = std::fs::read_to_string(&path).expect("text");
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 2, "{text}");
        let line: Value = serde_json::from_str(lines[1]).expect("JSON");
        assert_eq!((&line["status"], &line["answer"]), (&422.into(), &"no \"a\"".into()));
        assert_eq!(line["event"]["id"], "1.0:3");
    }
}
