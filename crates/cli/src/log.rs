//! The log: a thread of its own writes it to stderr, so that nobody who has a line to log waits
//! for who reads them. What finds no room is dropped and counted. An error is waited for a moment,
//! because the process may end behind it.

use std::io::{self, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;
use tracing::{Level, Metadata};
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::fmt::MakeWriter;

/// Lines that wait to be written, at most, bytes.
const WAITING_LEN_MAX: usize = 1024 * 1024;
/// How long the end waits for a stderr that takes nothing.
const END_PATIENCE: Duration = Duration::from_secs(1);

/// How long the line of an error is waited for. Once: a stderr that takes nothing holds up nobody again.
const ERROR_PATIENCE: Duration = Duration::from_millis(500);

/// Lines that wait for the thread.
#[derive(Default)]
struct Waiting {
    /// Whole lines.
    text: Vec<u8>,
    /// Lines behind them that found no room.
    dropped: u64,
    /// The thread is writing.
    is_writing: bool,
    /// An error was waited for in vain, and nothing was written since.
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
    /// Something waits.
    arrived: Condvar,
    /// Nothing waits.
    written: Condvar,
}

/// End of the log: waits, within bounds, until everything is written.
pub(crate) struct LogEnd(Arc<Log>);

impl Log {
    /// From now on everything down to this level is logged.
    pub(crate) fn start(level: LevelFilter) -> io::Result<LogEnd> {
        let log = Arc::new(Log::default());
        let writer = log.clone();
        thread::Builder::new().name("scurry-log".to_owned()).spawn(move || writer.write_all())?;
        tracing_subscriber::fmt()
            .with_writer(Lines(log.clone()))
            .with_max_level(level)
            .with_target(false)
            .init();
        Ok(LogEnd(log))
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a line, or counts it.
    fn push(&self, line: &[u8]) {
        let mut waiting = self.lock();
        // Behind a line that was dropped all are, so that the count stands where they are missing.
        if waiting.dropped > 0 || waiting.text.len() + line.len() > WAITING_LEN_MAX {
            waiting.dropped += 1;
        } else {
            waiting.text.extend_from_slice(line);
        }
        drop(waiting);
        self.arrived.notify_one();
    }

    /// Moves what waits to `text`, which is empty; how many lines were dropped behind it.
    fn take(&self, text: &mut Vec<u8>) -> u64 {
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

    /// Waits until everything is written, unless that was in vain before.
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
            let dropped = self.take(&mut text);
            if dropped > 0 {
                let missing = format!("{dropped} lines are missing here: stderr took none\n");
                text.extend_from_slice(missing.as_bytes());
            }
            // A stderr that nobody has open any more takes nothing, and that is nobody's fault.
            let _ = io::stderr().write_all(&text);
            text.clear();
        }
    }
}

/// Makes what takes a line.
struct Lines(Arc<Log>);

/// The way of one line to the log.
struct Line<'l> {
    log: &'l Log,
    is_error: bool,
}

impl<'l> MakeWriter<'l> for Lines {
    type Writer = Line<'l>;

    fn make_writer(&'l self) -> Line<'l> {
        Line { log: &self.0, is_error: false }
    }

    fn make_writer_for(&'l self, of: &Metadata<'_>) -> Line<'l> {
        Line { log: &self.0, is_error: *of.level() == Level::ERROR }
    }
}

impl Write for Line<'_> {
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
        // Whether it was in time makes no difference: the process ends.
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
        // Nobody writes.
        log.await_all(Duration::from_millis(1));
        assert!(log.lock().is_stuck);
        log.await_all(Duration::MAX);
        let mut text = Vec::new();
        log.take(&mut text);
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
        assert_eq!(log.take(&mut text), 11);
        assert_eq!(text.len(), WAITING_LEN_MAX / line.len() * line.len());
        log.push(b"later");
        text.clear();
        assert_eq!(log.take(&mut text), 0);
        assert_eq!(text, b"later");
    }
}
