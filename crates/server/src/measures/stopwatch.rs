//! Finds slow commands without reading the clock for each one. Commands that cannot take long are measured together, up
//! to [`SPAN_COMMANDS_MAX`] at once: if the whole span was fast, so was each of them. After a slow span they are
//! measured one by one for a while.

use scurry_resp::table::{
    CommandId, ConnectionId, EntityId, FlushId, KeyId, PartId, ServerId, Spec, StoreId, StringId,
};

/// Maximum number of commands that are measured together.
pub(crate) const SPAN_COMMANDS_MAX: u32 = 16;
/// A command with more arguments than this is measured by itself.
const ARGUMENTS_MAX: usize = 16;
/// With a limit below this, each command is measured by itself, because a span can exceed such a limit although each
/// command is fast, microseconds.
pub(crate) const TOGETHER_US_MIN: u64 = 1_000;
/// Number of commands that are measured one by one after a slow span.
const CLOSE_LOOKS: u32 = 4_096;

/// The present span: when it began, and its commands.
#[derive(Debug, Default)]
pub(crate) struct Stopwatch {
    began_ns: u64,
    commands: u32,
    close_looks: u32,
    off: bool,
    each: bool,
    /// The commands of the span.
    specs: [Option<&'static Spec>; SPAN_COMMANDS_MAX as usize],
}

/// A span that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EndedSpan {
    pub(crate) commands: u32,
    pub(crate) duration_us: u64,
    pub(crate) duration_ns: u64,
}

impl Stopwatch {
    /// Sets the smallest duration that the slow log or the latency monitor records, microseconds; None when both are
    /// off.
    pub(crate) fn set_limit_us(&mut self, limit_us: Option<u64>) {
        self.off = limit_us.is_none();
        self.each = limit_us.is_some_and(|limit_us| limit_us < TOGETHER_US_MIN);
    }

    /// Reports whether the clock must be read at all.
    pub(crate) fn is_on(&self) -> bool {
        !self.off
    }

    /// Begins a span: before the first of the commands executed together, or after another span.
    pub(crate) fn begin(&mut self, now_ns: u64) {
        self.began_ns = now_ns;
        self.commands = 0;
    }

    /// Reports whether the present span must end before this command, so that it is measured by itself.
    pub(crate) fn ends_before(&self, alone: bool) -> bool {
        !self.off && alone && self.commands > 0
    }

    /// Counts a command; true when the span ends with it.
    pub(crate) fn ends_after(&mut self, alone: bool, spec: &'static Spec) -> bool {
        // While nothing is timed no span ends: the array fills up, and `get_mut` returns None.
        if let Some(place) = self.specs.get_mut(self.commands as usize) {
            *place = Some(spec);
            self.commands += 1;
        }
        let looks_close = self.close_looks > 0;
        self.close_looks = self.close_looks.saturating_sub(1);
        !self.off && (alone || self.each || looks_close || self.commands >= SPAN_COMMANDS_MAX)
    }

    /// Ends the span and begins the next one; None when it has no commands.
    pub(crate) fn end(&mut self, now_ns: u64) -> Option<EndedSpan> {
        let duration_ns = now_ns.saturating_sub(self.began_ns);
        let span =
            EndedSpan { commands: self.commands, duration_us: duration_ns / 1_000, duration_ns };
        self.begin(now_ns);
        (span.commands > 0 && !self.off).then_some(span)
    }

    /// Returns the commands of the span that has ended last.
    pub(crate) fn specs(&self, span: EndedSpan) -> &[Option<&'static Spec>] {
        self.specs.get(..span.commands as usize).unwrap_or_default()
    }

    /// Measures commands one by one for a while: a span of several commands was slow.
    pub(crate) fn measure_individually(&mut self) {
        self.close_looks = CLOSE_LOOKS;
    }
}

/// Reports whether a command may take long, because of its kind or its number of arguments.
#[inline]
pub(crate) fn is_alone(id: CommandId, arguments: usize) -> bool {
    arguments > ARGUMENTS_MAX
        || matches!(
            id,
            CommandId::Store(StoreId::Totals)
                | CommandId::Store(StoreId::Snapshot)
                | CommandId::Store(StoreId::List)
                | CommandId::Key(KeyId::Scan | KeyId::Keys)
                | CommandId::Entity(EntityId::Find)
                | CommandId::String(StringId::SetRange)
                | CommandId::String(StringId::GetRange)
                | CommandId::Flush(FlushId::All)
                | CommandId::Flush(FlushId::Db)
                | CommandId::Server(ServerId::Info)
                | CommandId::Connection(ConnectionId::ClientList)
                | CommandId::Server(ServerId::Command)
                | CommandId::Server(ServerId::CommandCount)
                | CommandId::Server(ServerId::CommandDocs)
                | CommandId::Server(ServerId::CommandGetKeys | ServerId::CommandGetKeysAndFlags)
                | CommandId::Server(ServerId::CommandInfo)
                | CommandId::Server(ServerId::CommandList)
                | CommandId::Server(ServerId::ConfigGet)
                | CommandId::Part(PartId::ConfigSet)
                | CommandId::Part(PartId::SlowlogReset)
        )
}

#[cfg(test)]
mod tests {
    use super::*;
    use scurry_resp::table;

    /// Runs commands of these durations through the stopwatch, each alone or not, and returns the spans.
    fn spans(watch: &mut Stopwatch, commands: &[(bool, u64)]) -> Vec<(u32, u64)> {
        let (mut now_ns, mut spans) = (1_000_000, Vec::new());
        let get = table::find(b"GET").expect("a command");
        watch.begin(now_ns);
        for &(alone, duration_us) in commands {
            if watch.ends_before(alone) {
                spans.extend(watch.end(now_ns));
            }
            now_ns += duration_us * 1_000;
            if watch.ends_after(alone, get) {
                spans.extend(watch.end(now_ns));
            }
        }
        spans.extend(watch.end(now_ns));
        spans.into_iter().map(|span| (span.commands, span.duration_us)).collect()
    }

    #[test]
    fn small_commands_share_a_span_and_others_do_not() {
        let mut watch = Stopwatch::default();
        watch.set_limit_us(Some(10_000));
        assert_eq!(
            spans(&mut watch, &[(false, 1), (false, 2), (true, 50), (false, 3)]),
            [(2, 3), (1, 50), (1, 3)]
        );
        assert_eq!(spans(&mut watch, &[(false, 2); 40]), [(16, 32), (16, 32), (8, 16)]);
        assert_eq!(spans(&mut watch, &[]), []);
    }

    #[test]
    fn each_is_measured_below_a_small_limit_and_after_a_slow_span() {
        let mut watch = Stopwatch::default();
        watch.set_limit_us(Some(TOGETHER_US_MIN - 1));
        assert_eq!(spans(&mut watch, &[(false, 2); 3]), [(1, 2); 3]);
        watch.set_limit_us(Some(TOGETHER_US_MIN));
        assert_eq!(spans(&mut watch, &[(false, 2); 3]), [(3, 6)]);
        watch.measure_individually();
        assert_eq!(spans(&mut watch, &[(false, 2); 3]), [(1, 2); 3]);
        watch.set_limit_us(None);
        assert_eq!(spans(&mut watch, &[(true, 2); 3]), []);
    }
}
