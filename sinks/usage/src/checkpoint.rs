//! A checkpoint: the sums of the open sessions, and the positions up to which events are in them.

use crate::book::{Book, SessionKey};
use crate::session::OpenSession;
use scurry_ship::{Positions, SinkError, StoreId};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, BufWriter, ErrorKind, Write};
use std::path::Path;

/// Name of the file.
pub(crate) const NAME: &str = "usage-open-sessions.jsonl";
const NEW: &str = "usage-open-sessions.jsonl.part";
const FORMAT: u32 = 1;

/// What was read of the file: the books of the threads, as of the positions.
pub(crate) type Checkpoint = (Positions, BTreeMap<u16, Book>);

/// The first line.
#[derive(Debug, Serialize, Deserialize)]
struct Head {
    format: u32,
    positions: String,
    period_ms: Option<i64>,
    /// Number of sessions that follow, a line each.
    sessions: usize,
    /// Number of the period of each thread.
    periods: BTreeMap<u16, i64>,
}

/// A session, on a line.
#[derive(Debug, Serialize, Deserialize)]
struct Line {
    thread: u16,
    account: String,
    session: String,
    #[serde(flatten)]
    open: OpenSession,
}

/// Writes the checkpoint aside, and puts it in the place of the last one.
pub(crate) fn write(
    directory: &Path,
    positions: &Positions,
    period_ms: Option<i64>,
    books: &BTreeMap<u16, Book>,
) -> std::io::Result<()> {
    let path = directory.join(NEW);
    let mut out = BufWriter::new(File::create(&path)?);
    let periods = books.iter().filter_map(|(&thread, book)| Some((thread, book.period?)));
    let head = Head {
        format: FORMAT,
        positions: positions.to_string(),
        period_ms,
        sessions: books.values().map(|book| book.open.len()).sum(),
        periods: periods.collect(),
    };
    serde_json::to_writer(&mut out, &head)?;
    for (&thread, book) in books {
        for ((account, session), open) in &book.open {
            let (account, session) = (account.clone(), session.clone());
            out.write_all(b"\n")?;
            serde_json::to_writer(
                &mut out,
                &Line { thread, account, session, open: open.clone() },
            )?;
        }
    }
    out.write_all(b"\n")?;
    out.into_inner().map_err(std::io::IntoInnerError::into_error)?.sync_all()?;
    fs::rename(path, directory.join(NAME))?;
    File::open(directory)?.sync_all()
}

/// Reads the checkpoint. None if there is none yet.
pub(crate) fn read(
    directory: &Path,
    store: StoreId,
    period_ms: Option<i64>,
) -> Result<Option<Checkpoint>, SinkError> {
    let path = directory.join(NAME);
    let file = match File::open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => {
            return Err(SinkError::Unavailable(format!("{}: {error}", path.display())));
        }
    };
    let damaged = |what: &str| {
        SinkError::Refused(format!(
            "{} is damaged: {what}. Put it back from a backup of the directory, or ship into an empty one",
            path.display()
        ))
    };
    let mut lines = BufReader::new(file).lines();
    let first = lines.next().and_then(Result::ok).ok_or_else(|| damaged("it is empty"))?;
    let head: Head = serde_json::from_str(&first).map_err(|_| damaged("its first line"))?;
    if head.format != FORMAT {
        return Err(damaged("it is of another format"));
    }
    let positions: Positions =
        head.positions.parse().map_err(|_| damaged("its positions cannot be read"))?;
    if positions.store() != store {
        return Err(SinkError::Refused(format!(
            "{} has sessions of store {}, and these are of store {store}: ship into another directory",
            path.display(),
            positions.store()
        )));
    }
    if head.period_ms != period_ms {
        return Err(SinkError::Refused(format!(
            "{} was written with another --period: give that one, or ship into an empty directory",
            path.display()
        )));
    }
    let mut books: BTreeMap<u16, Book> = BTreeMap::new();
    let mut count = 0;
    for line in lines {
        let line = line.map_err(|_| damaged("it cannot be read"))?;
        let line: Line =
            serde_json::from_str(&line).map_err(|_| damaged(&format!("line {}", count + 2)))?;
        let book = books.entry(line.thread).or_insert_with(|| Book::new(period_ms));
        let key: SessionKey = (line.account, line.session);
        book.open.insert(key, line.open);
        count += 1;
    }
    if count != head.sessions {
        return Err(damaged("sessions are missing"));
    }
    for (thread, period) in head.periods {
        books.entry(thread).or_insert_with(|| Book::new(period_ms)).period = Some(period);
    }
    Ok(Some((positions, books)))
}
