//! A line about the progress, every second at a terminal, else every minute.

use scurry_ship::{Figures, Measures};
use std::io::{IsTerminal, Write, stderr};
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Writes the progress of a shipper.
pub(super) struct Teller {
    measures: Arc<Measures>,
    begun: Instant,
    ends: Sender<()>,
    thread: Option<JoinHandle<()>>,
}

impl Teller {
    #[expect(clippy::disallowed_methods, reason = "it tells how long it took")]
    pub(super) fn start(measures: Arc<Measures>) -> Teller {
        let (ends, ended) = channel();
        let is_terminal = stderr().is_terminal();
        let every = Duration::from_secs(if is_terminal { 1 } else { 60 });
        let shown = Arc::clone(&measures);
        let thread = thread::Builder::new().name("progress".to_owned()).spawn(move || {
            let mut before = Figures::default();
            while ended.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
                let now = shown.figures();
                let line = line(&now, now.events - before.events, every);
                match is_terminal {
                    true => eprint!("\r\x1b[K{line}"),
                    false => eprintln!("{line}"),
                }
                // A line that is not shown does no harm.
                let _ = stderr().flush();
                before = now;
            }
            if is_terminal {
                eprint!("\r\x1b[K");
            }
        });
        // Without the thread there is no progress, and all else is as it should be.
        Teller { measures, begun: Instant::now(), ends, thread: thread.ok() }
    }

    /// Writes the last line.
    pub(super) fn end(self) {
        // The thread may have ended.
        let _ = self.ends.send(());
        if let Some(thread) = self.thread {
            let _ = thread.join();
        }
        let all = self.measures.figures();
        let seconds = self.begun.elapsed().as_secs_f64();
        eprintln!("{} events ({} bytes) in {seconds:.1} s", all.events, all.bytes);
    }
}

#[expect(clippy::disallowed_methods, reason = "the age of an event is seen by the clock")]
pub(super) fn clock_ms() -> i64 {
    let clock = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(clock.as_millis()).unwrap_or(i64::MAX)
}

fn line(now: &Figures, events: u64, every: Duration) -> String {
    let rate = events / every.as_secs().max(1);
    let mut line = format!("{} events, {rate}/s, {} commits behind", now.events, now.behind);
    if now.behind > 0 && now.last_event_ms > 0 {
        let age_s = (clock_ms() - now.last_event_ms).max(0) / 1_000;
        line += &format!(", {age_s} s");
    }
    if now.missed > 0 {
        line += &format!(", {} gaps", now.missed);
    }
    if now.failures > 0 {
        line += &format!(", {} failures", now.failures);
    }
    line
}
