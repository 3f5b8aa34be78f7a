//! The log. A dedicated thread writes to stderr, so that no thread that logs waits for a slow reader. Lines that do
//! not fit the buffer are dropped and counted. An error line is waited for briefly, because the process may end right
//! after it.

use std::io::{self, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;
use tracing::{Level, Metadata};
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

/// Bound of the buffered lines, bytes.
const WAITING_LEN_MAX: usize = 1024 * 1024;
/// How long the end of the process waits for a stderr that does not accept data.
const END_PATIENCE: Duration = Duration::from_secs(1);

/// How long a thread waits until its error line is written. After one timeout no thread waits until stderr accepts data
/// again.
const ERROR_PATIENCE: Duration = Duration::from_millis(500);

/// Returns a filter for this level. Clients of brokers tell of each transaction, of errors that are handled, and show
/// whole messages; what matters of this the shipper says itself. At `debug` and `trace` they say everything.
fn filter(level: LevelFilter) -> Targets {
    let theirs = if level > LevelFilter::INFO { level } else { LevelFilter::OFF };
    let names = ["krafka", "lapin"].map(|name| (name, theirs));
    Targets::new().with_default(level).with_targets(names)
}

/// Lines buffered for the writing thread.
#[derive(Default)]
struct Waiting {
    /// Complete lines.
    text: Vec<u8>,
    /// Number of lines dropped after `text`.
    dropped: u64,
    /// Set while the thread is writing.
    is_writing: bool,
    /// Set when the wait for an error timed out, until something is written.
    is_stuck: bool,
}

impl Waiting {
    fn is_busy(&mut self) -> bool {
        self.is_writing || self.dropped > 0 || !self.text.is_empty()
    }
}

/// The log of the process.
#[derive(Default)]
pub(crate) struct Log {
    waiting: Mutex<Waiting>,
    /// Signalled when a line is added.
    arrived: Condvar,
    /// Signalled when everything is written.
    written: Condvar,
}

/// Guard that waits, on drop, until everything is written or a timeout ends.
pub(crate) struct LogEnd(Arc<Log>);

impl Log {
    /// Starts the log. Logs everything at this level and above.
    pub(crate) fn start(level: LevelFilter) -> io::Result<LogEnd> {
        let log = Arc::new(Log::default());
        let writer = log.clone();
        thread::Builder::new().name("scurry-log".to_owned()).spawn(move || writer.write_all())?;
        tracing_subscriber::fmt()
            .with_writer(LogWriters(log.clone()))
            .with_max_level(level)
            .with_target(false)
            .finish()
            .with(filter(level))
            .init();
        Ok(LogEnd(log))
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Buffers a line, or counts it as dropped.
    fn push(&self, line: &[u8]) {
        let mut waiting = self.lock();
        // After one dropped line all later ones are dropped until the next write, so that the count stands where the
        // lines are missing.
        if waiting.dropped > 0 || waiting.text.len() + line.len() > WAITING_LEN_MAX {
            waiting.dropped += 1;
        } else {
            waiting.text.extend_from_slice(line);
        }
        drop(waiting);
        self.arrived.notify_one();
    }

    /// Waits for lines and moves them to `text`, which must be empty. Returns how many lines were dropped after them.
    fn wait_for_lines(&self, text: &mut Vec<u8>) -> u64 {
        let mut waiting = self.lock();
        waiting.is_writing = false;
        waiting.is_stuck = false;
        if waiting.text.is_empty() && waiting.dropped == 0 {
            self.written.notify_all();
        }
        while waiting.text.is_empty() && waiting.dropped == 0 {
            waiting = self.arrived.wait(waiting).unwrap_or_else(PoisonError::into_inner);
        }
        waiting.is_writing = true;
        std::mem::swap(&mut waiting.text, text);
        std::mem::take(&mut waiting.dropped)
    }

    /// Waits until everything is written, unless an earlier wait timed out.
    fn await_all(&self, patience: Duration) {
        let waiting = self.lock();
        if waiting.is_stuck {
            return;
        }
        let waited = self.written.wait_timeout_while(waiting, patience, Waiting::is_busy);
        let (mut waiting, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
        waiting.is_stuck = timeout.timed_out();
    }

    fn write_all(&self) {
        let mut text = Vec::new();
        loop {
            let dropped = self.wait_for_lines(&mut text);
            if dropped > 0 {
                let missing = format!("{dropped} lines are missing here: stderr took none\n");
                text.extend_from_slice(missing.as_bytes());
            }
            // An error here has no other place to be reported: stderr may have been closed by its reader.
            let _ = io::stderr().write_all(&text);
            text.clear();
        }
    }
}

/// Maker of a writer for each line.
struct LogWriters(Arc<Log>);

/// Writer of one line.
struct LogLineWriter<'l> {
    log: &'l Log,
    is_error: bool,
}

impl<'l> MakeWriter<'l> for LogWriters {
    type Writer = LogLineWriter<'l>;

    fn make_writer(&'l self) -> LogLineWriter<'l> {
        LogLineWriter { log: &self.0, is_error: false }
    }

    fn make_writer_for(&'l self, of: &Metadata<'_>) -> LogLineWriter<'l> {
        LogLineWriter { log: &self.0, is_error: *of.level() == Level::ERROR }
    }
}

impl Write for LogLineWriter<'_> {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.log.push(line);
        if self.is_error {
            self.log.await_all(ERROR_PATIENCE);
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for LogEnd {
    fn drop(&mut self) {
        let waiting = self.0.lock();
        // A timeout makes no difference: the process ends.
        let _ = self.0.written.wait_timeout_while(waiting, END_PATIENCE, Waiting::is_busy);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_waited_for_until_it_is_written_and_not_again_where_nothing_is() {
        let log = Log::default();
        log.push(b"an error");
        // No thread writes here.
        log.await_all(Duration::from_millis(1));
        assert!(log.lock().is_stuck);
        log.await_all(Duration::MAX);
        let mut text = Vec::new();
        log.wait_for_lines(&mut text);
        assert!(!log.lock().is_stuck, "lines are written again");
    }

    #[test]
    fn lines_that_find_no_room_are_counted_and_the_others_kept_whole() {
        let log = Log::default();
        let line = [b'x'; 1000];
        for _ in 0..WAITING_LEN_MAX / line.len() + 10 {
            log.push(&line);
        }
        log.push(b"short");
        let mut text = Vec::new();
        assert_eq!(log.wait_for_lines(&mut text), 11);
        assert_eq!(text.len(), WAITING_LEN_MAX / line.len() * line.len());
        log.push(b"later");
        text.clear();
        assert_eq!(log.wait_for_lines(&mut text), 0);
        assert_eq!(text, b"later");
    }
}
