//! Progress of a store's recovery on stderr: a bar on a terminal, otherwise a line every few seconds.

use crate::size::format_bytes;
use scurry_server::{RecoveryProgress, RecoveryReport};
use std::io::{IsTerminal, Write, stderr};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Width of the bar in characters.
const CELLS: u64 = 24;
/// Interval of lines where stderr is not a terminal.
const LINE_EVERY: Duration = Duration::from_secs(5);

/// Display of the progress.
pub(crate) struct Bar {
    is_terminal: bool,
    began: Instant,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    shown: bool,
    told: Option<Instant>,
}

impl Bar {
    #[expect(clippy::disallowed_methods, reason = "how long something took, for people")]
    pub(crate) fn new() -> Bar {
        Bar {
            is_terminal: stderr().is_terminal(),
            began: Instant::now(),
            state: Mutex::new(State::default()),
        }
    }

    /// Shows the progress so far.
    pub(crate) fn show(&self, progress: &RecoveryProgress) {
        let Ok(mut state) = self.state.lock() else { return };
        if self.is_terminal {
            state.shown = true;
            // The lengths of the snapshot and the log are independent, so the bar shows the share of their sum.
            let full = progress.entries_all + progress.log_bytes_all;
            let done = progress.entries + progress.log_bytes;
            let cells = (done * CELLS).checked_div(full).unwrap_or(0).min(CELLS);
            let bar: String = (0..CELLS).map(|at| if at < cells { '#' } else { '.' }).collect();
            let _ = write!(stderr(), "\rrecovering [{bar}] {}\x1b[K", words(progress));
        } else if state.told.unwrap_or(self.began).elapsed() >= LINE_EVERY {
            #[expect(clippy::disallowed_methods, reason = "how often something is said")]
            let now = Instant::now();
            state.told = Some(now);
            let _ = writeln!(stderr(), "recovering: {}", words(progress));
        }
    }

    /// Prints the notes of the finished recovery and a summary.
    pub(crate) fn end(&self, report: &RecoveryReport) {
        let is_shown = self.state.lock().is_ok_and(|state| state.shown);
        let begin = if is_shown { "\r\x1b[K" } else { "" };
        for note in &report.notes {
            let _ = writeln!(stderr(), "{begin}recovery: {note}");
        }
        let read = &report.read;
        if read.entries + read.records > 0 {
            let _ = writeln!(
                stderr(),
                "{begin}recovered {} in {:.1} s",
                words(read),
                self.began.elapsed().as_secs_f64()
            );
        }
    }
}

fn words(progress: &RecoveryProgress) -> String {
    format!(
        "{} keys from snapshots, {} changes from the log ({})",
        progress.entries,
        progress.records,
        format_bytes(progress.log_bytes)
    )
}
