//! Counters of a core for `/metrics`, in addition to the counters of INFO: plain numbers, which the core sends on
//! request.

pub(crate) mod counters;
pub(crate) mod histogram;
pub(crate) mod latency;
pub(crate) mod rates;
pub(crate) mod slowlog;
pub(crate) mod slowness;
pub(crate) mod stopwatch;

use crate::measures::histogram::Histogram;
use scurry_resp::table::{CommandId, Spec};
use std::collections::BTreeMap;

/// Maximum number of different error words that are counted; a server answers with a few dozen.
const ERRORS_MAX: usize = 128;

/// Counts of one command.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CommandCounts {
    /// Executed or refused.
    pub(crate) calls: u64,
    /// Calls that were answered with an error.
    pub(crate) errors: u64,
    /// Calls that were refused before the command was executed.
    pub(crate) refused: u64,
    /// Execution time, ns. Commands that are timed together have equal shares.
    pub(crate) duration_ns: u64,
}

/// Counts since the start; the counts by command and by error are also reset by CONFIG RESETSTAT.
#[derive(Clone, Debug)]
pub(crate) struct Measures {
    /// Indexed by [`CommandId::index`].
    commands: Box<[CommandCounts; CommandId::COUNT]>,
    /// Requests with an unknown command.
    pub(crate) unknown: u64,
    /// Errors by their first word.
    pub(crate) errors: BTreeMap<String, u64>,
    /// Execution times of commands.
    pub(crate) executions: Histogram,
    /// Time from reading a request until its reply was sent.
    pub(crate) requests: Histogram,
}

impl Default for Measures {
    fn default() -> Measures {
        Measures {
            commands: Box::new([CommandCounts::default(); CommandId::COUNT]),
            unknown: 0,
            errors: BTreeMap::new(),
            executions: Histogram::default(),
            requests: Histogram::default(),
        }
    }
}

impl Measures {
    /// Counts a request that was answered, with an error or without.
    #[inline]
    pub(crate) fn count(&mut self, spec: Option<&Spec>, is_error: bool) {
        match spec {
            Some(spec) => {
                let tally = &mut self.commands[spec.id.index()];
                tally.calls += 1;
                tally.errors += u64::from(is_error);
            }
            None => self.unknown += 1,
        }
    }

    /// Counts a request that was refused before its command was executed; it is counted by `count` too.
    pub(crate) fn count_refused(&mut self, spec: &Spec) {
        self.commands[spec.id.index()].refused += 1;
    }

    /// Counts a reply that is an error.
    #[cold]
    pub(crate) fn note_error(&mut self, reply: &[u8]) {
        let word = reply.split(|byte| byte.is_ascii_whitespace()).next().unwrap_or_default();
        let word = String::from_utf8_lossy(word.strip_prefix(b"-").unwrap_or(word));
        if let Some(count) = self.errors.get_mut(word.as_ref()) {
            *count += 1;
        } else if self.errors.len() < ERRORS_MAX {
            self.errors.insert(word.into_owned(), 1);
        }
    }

    /// Adds the time of commands that were executed one after the other in a span of this duration.
    pub(crate) fn note_execution(&mut self, specs: &[Option<&'static Spec>], duration_ns: u64) {
        let share_ns = duration_ns / specs.len().max(1) as u64;
        for spec in specs.iter().flatten() {
            self.commands[spec.id.index()].duration_ns += share_ns;
        }
    }

    /// Resets the counts by command and by error.
    pub(crate) fn reset(&mut self) {
        self.commands.fill(CommandCounts::default());
        self.unknown = 0;
        self.errors.clear();
    }

    /// Adds the counts of another core.
    pub(crate) fn add(&mut self, other: &Measures) {
        let Measures { commands, unknown, errors, executions, requests } = other;
        for (own, more) in self.commands.iter_mut().zip(&**commands) {
            let CommandCounts { calls, errors, refused, duration_ns } = more;
            own.calls += calls;
            own.errors += errors;
            own.refused += refused;
            own.duration_ns += duration_ns;
        }
        self.unknown += unknown;
        for (word, count) in errors {
            *self.errors.entry(word.clone()).or_default() += count;
        }
        self.executions.add(executions);
        self.requests.add(requests);
    }

    pub(crate) fn counts_of(&self, id: CommandId) -> CommandCounts {
        self.commands[id.index()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use scurry_resp::table::{self, HotId};

    #[test]
    fn every_command_has_its_place() {
        let mut measures = Measures::default();
        let specs = || table::all().flat_map(|spec| [spec].into_iter().chain(spec.subcommands));
        specs().for_each(|spec| measures.count(Some(spec), true));
        for spec in specs() {
            let tally = measures.counts_of(spec.id);
            assert_eq!((tally.calls, tally.errors), (1, 1), "{}", spec.name);
        }
    }

    #[test]
    fn errors_are_counted_by_their_first_word_and_are_bounded() {
        let mut measures = Measures::default();
        for reply in [&b"-ERR no\r\n"[..], b"-ERR yes\r\n", b"-BUSY\r\n"] {
            measures.note_error(reply);
        }
        assert_eq!((measures.errors["ERR"], measures.errors["BUSY"]), (2, 1));
        (0..2 * ERRORS_MAX)
            .for_each(|number| measures.note_error(format!("-E{number} x").as_bytes()));
        assert_eq!(measures.errors.len(), ERRORS_MAX);
    }

    #[test]
    fn commands_that_are_timed_together_have_equal_shares() {
        let mut measures = Measures::default();
        measures.note_execution(&[&b"GET"[..], b"SET", b"GET"].map(table::find), 30);
        let mut all = Measures::default();
        all.add(&measures);
        all.add(&measures);
        assert_eq!(all.counts_of(CommandId::Hot(HotId::Get)).duration_ns, 40);
        assert_eq!(all.counts_of(CommandId::Hot(HotId::Set)).duration_ns, 20);
    }
}
