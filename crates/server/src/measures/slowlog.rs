//! The newest slow commands of a core, for SLOWLOG.

use std::collections::VecDeque;
use std::net::SocketAddr;

/// Upper limit of kept entries, whatever the setting says: each may take 5 kB.
pub(crate) const SLOWLOG_LEN_MAX: usize = 10_000;
/// Default number of kept entries.
const LEN_MAX_DEFAULT: usize = 128;
/// Default of the duration from which commands are kept, microseconds.
const SLOWER_THAN_US_DEFAULT: i64 = 10_000;
/// Maximum number of arguments kept of a command, as in Redis; the last one then says how many were dropped.
const ARGUMENTS_MAX: usize = 32;
/// Maximum length kept of an argument, bytes, as in Redis.
const ARGUMENT_LEN_MAX: usize = 128;

/// One slow command.
#[derive(Clone, Debug)]
pub(crate) struct SlowCommand {
    /// Counts up and is never reused.
    pub(crate) id: u64,
    /// When it was found, seconds since 1970.
    pub(crate) time_s: i64,
    pub(crate) duration_us: u64,
    /// Shortened arguments.
    pub(crate) arguments: Vec<Vec<u8>>,
    pub(crate) peer: Option<SocketAddr>,
    /// Name of the connection.
    pub(crate) name: Vec<u8>,
}

impl SlowCommand {
    /// Returns its memory, bytes.
    pub(crate) fn memory_bytes(&self) -> usize {
        let arguments = self.arguments.iter().map(|argument| size_of::<Vec<u8>>() + argument.len());
        size_of::<SlowCommand>() + arguments.sum::<usize>() + self.name.len()
    }
}

/// The newest slow commands, newest first.
#[derive(Debug)]
pub(crate) struct Slowlog {
    /// Minimum duration, microseconds; negative keeps none, 0 keeps all.
    pub(crate) slower_than_us: i64,
    len_max: usize,
    next_id: u64,
    entries: VecDeque<SlowCommand>,
}

impl Default for Slowlog {
    fn default() -> Slowlog {
        Slowlog {
            slower_than_us: SLOWER_THAN_US_DEFAULT,
            len_max: LEN_MAX_DEFAULT,
            next_id: 0,
            entries: VecDeque::new(),
        }
    }
}

impl Slowlog {
    pub(crate) fn len_max(&self) -> usize {
        self.len_max
    }

    /// Changes the number of kept entries. Surplus entries are dropped when the next one is added, as in Redis.
    pub(crate) fn set_len_max(&mut self, len_max: usize) {
        self.len_max = len_max.min(SLOWLOG_LEN_MAX);
    }

    /// Reports whether a command of this duration is kept.
    pub(crate) fn wants(&self, duration_us: u64) -> bool {
        u64::try_from(self.slower_than_us).is_ok_and(|limit| duration_us >= limit)
    }

    /// Adds a command and assigns its id.
    pub(crate) fn push(&mut self, command: SlowCommand) {
        self.entries.push_front(SlowCommand { id: self.next_id, ..command });
        self.next_id += 1;
        self.entries.truncate(self.len_max);
    }

    /// Returns the entries, newest first.
    pub(crate) fn entries(&self) -> impl ExactSizeIterator<Item = &SlowCommand> {
        self.entries.iter()
    }

    pub(crate) fn clear(&mut self) {
        self.entries = VecDeque::new();
    }
}

/// Shortens the arguments for an entry.
pub(crate) fn shorten<'a>(arguments: impl ExactSizeIterator<Item = &'a [u8]>) -> Vec<Vec<u8>> {
    let len = arguments.len();
    let kept = if len > ARGUMENTS_MAX { ARGUMENTS_MAX - 1 } else { len };
    let mut short: Vec<Vec<u8>> = arguments.take(kept).map(shorten_one).collect();
    if len > kept {
        short.push(format!("... ({} more arguments)", len - kept).into_bytes());
    }
    short
}

fn shorten_one(argument: &[u8]) -> Vec<u8> {
    let Some(more) = argument.len().checked_sub(ARGUMENT_LEN_MAX).filter(|&more| more > 0) else {
        return argument.to_vec();
    };
    let mut short = argument[..ARGUMENT_LEN_MAX].to_vec();
    short.extend_from_slice(format!("... ({more} more bytes)").as_bytes());
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command() -> SlowCommand {
        SlowCommand {
            id: 0,
            time_s: 0,
            duration_us: 1,
            arguments: vec![],
            peer: None,
            name: vec![],
        }
    }

    #[test]
    fn the_newest_are_kept() {
        let mut slowlog = Slowlog::default();
        slowlog.set_len_max(2);
        (0..5).for_each(|_| slowlog.push(command()));
        assert_eq!(slowlog.entries().map(|entry| entry.id).collect::<Vec<_>>(), [4, 3]);
        slowlog.set_len_max(usize::MAX);
        assert_eq!(slowlog.len_max(), SLOWLOG_LEN_MAX);
        slowlog.set_len_max(0);
        slowlog.push(command());
        assert_eq!(slowlog.entries().len(), 0);
    }

    #[test]
    fn durations_at_the_limit_are_wanted() {
        let slowlog = |slower_than_us| Slowlog { slower_than_us, ..Slowlog::default() };
        assert!(slowlog(10).wants(10) && !slowlog(10).wants(9));
        assert!(slowlog(0).wants(0) && !slowlog(-1).wants(u64::MAX));
    }

    #[test]
    fn arguments_are_shortened() {
        let long = vec![b'x'; ARGUMENT_LEN_MAX + 2];
        let fits = &long[..ARGUMENT_LEN_MAX];
        let short = shorten([fits, &long].into_iter());
        assert_eq!(short[0], fits);
        assert_eq!(short[1], [fits, b"... (2 more bytes)"].concat());
        let many = vec![&b"a"[..]; ARGUMENTS_MAX + 1];
        let short = shorten(many[..ARGUMENTS_MAX].iter().copied());
        assert_eq!(short, vec![b"a"; ARGUMENTS_MAX]);
        let short = shorten(many.into_iter());
        assert_eq!((short.len(), &short[31][..]), (32, &b"... (2 more arguments)"[..]));
    }
}
