//! What a core counts for `/metrics` beside what INFO shows: plain numbers of its own, which it
//! hands out when it is asked.

use crate::histogram::Histogram;
use scurry_resp::table::{CommandId, Spec};

/// Of one command.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tally {
    /// Executed or refused.
    pub(crate) calls: u64,
    /// Of these, answered with an error.
    pub(crate) errors: u64,
}

/// Since the start.
#[derive(Clone, Debug)]
pub(crate) struct Measures {
    /// By [`CommandId`].
    commands: Box<[Tally; CommandId::COUNT]>,
    /// Requests that are no command.
    pub(crate) unknown: u64,
    /// How long commands were executed.
    pub(crate) executions: Histogram,
    /// From when a request was read until its reply was sent.
    pub(crate) requests: Histogram,
}

impl Default for Measures {
    fn default() -> Measures {
        Measures {
            commands: Box::new([Tally::default(); CommandId::COUNT]),
            unknown: 0,
            executions: Histogram::default(),
            requests: Histogram::default(),
        }
    }
}

impl Measures {
    /// A request was answered, with an error or without.
    #[inline]
    pub(crate) fn count(&mut self, spec: Option<&Spec>, is_error: bool) {
        match spec {
            Some(spec) => {
                let tally = &mut self.commands[spec.id as usize];
                tally.calls += 1;
                tally.errors += u64::from(is_error);
            }
            None => self.unknown += 1,
        }
    }

    pub(crate) fn of(&self, id: CommandId) -> Tally {
        self.commands[id as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use scurry_resp::table;

    #[test]
    fn every_command_has_its_place() {
        let mut measures = Measures::default();
        let specs = || table::all().flat_map(|spec| [spec].into_iter().chain(spec.subcommands));
        specs().for_each(|spec| measures.count(Some(spec), true));
        for spec in specs() {
            let tally = measures.of(spec.id);
            assert_eq!((tally.calls, tally.errors), (1, 1), "{}", spec.name);
        }
    }
}
