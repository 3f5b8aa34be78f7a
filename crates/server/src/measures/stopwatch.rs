//! Finds slow commands without reading the clock for each one. Commands that cannot take long are
//! measured together, up to [`SPAN_COMMANDS_MAX`] at once: if the whole span was fast, so was each
//! of them. After a slow span they are measured one by one for a while.

use scurry_resp::table::{
    CommandId, ConnectionId, EntityId, FlushId, KeyId, PartId, ServerId, Spec, StoreId, StringId,
};

/// Commands that are measured together at most.
pub(crate) const SPAN_COMMANDS_MAX: u32 = 16;
/// Arguments above which a command is measured by itself.
const ARGUMENTS_MAX: usize = 16;
/// Below this limit each command is measured by itself: a span may take longer than its parts.
pub(crate) const TOGETHER_US_MIN: u64 = 1_000;
/// Commands that are measured one by one after a slow span.
const CLOSE_LOOKS: u32 = 4_096;

/// Where the present span began, and how many commands it has.
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
pub(crate) struct Span {
    pub(crate) commands: u32,
    pub(crate) duration_us: u64,
    pub(crate) duration_ns: u64,
}

impl Stopwatch {
    /// Told the smallest duration that anybody wants to know about, microseconds; none for
    /// nobody.
    pub(crate) fn set_limit_us(&mut self, limit_us: Option<u64>) {
        self.off = limit_us.is_none();
        self.each = limit_us.is_some_and(|limit_us| limit_us < TOGETHER_US_MIN);
    }

    /// False when the clock need not be read at all.
    pub(crate) fn is_on(&self) -> bool {
        !self.off
    }

    /// A span begins: the first of those executed together, or what follows another one.
    pub(crate) fn begin(&mut self, now_ns: u64) {
        self.began_ns = now_ns;
        self.commands = 0;
    }

    /// True when the span so far must end before this command, so that it is measured by itself.
    pub(crate) fn ends_before(&self, alone: bool) -> bool {
        !self.off && alone && self.commands > 0
    }

    /// Counts a command; true when the span ends with it.
    pub(crate) fn ends_after(&mut self, alone: bool, spec: &'static Spec) -> bool {
        // There is none where nothing is timed: then no span ends.
        if let Some(place) = self.specs.get_mut(self.commands as usize) {
            *place = Some(spec);
            self.commands += 1;
        }
        let looks_close = self.close_looks > 0;
        self.close_looks = self.close_looks.saturating_sub(1);
        !self.off && (alone || self.each || looks_close || self.commands >= SPAN_COMMANDS_MAX)
    }

    /// The span ends now and the next one begins; none when there was no command in it.
    pub(crate) fn end(&mut self, now_ns: u64) -> Option<Span> {
        let duration_ns = now_ns.saturating_sub(self.began_ns);
        let span = Span { commands: self.commands, duration_us: duration_ns / 1_000, duration_ns };
        self.begin(now_ns);
        (span.commands > 0 && !self.off).then_some(span)
    }

    /// The commands of the span that has ended last.
    pub(crate) fn specs(&self, span: Span) -> &[Option<&'static Spec>] {
        self.specs.get(..span.commands as usize).unwrap_or_default()
    }

    /// A span of several commands was slow.
    pub(crate) fn look_closer(&mut self) {
        self.close_looks = CLOSE_LOOKS;
    }
}

/// True for a command that may take long, by what it is or by how much it is given.
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

    /// Runs commands of these durations through the stopwatch, each alone or not; the spans.
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
        watch.look_closer();
        assert_eq!(spans(&mut watch, &[(false, 2); 3]), [(1, 2); 3]);
        watch.set_limit_us(None);
        assert_eq!(spans(&mut watch, &[(true, 2); 3]), []);
    }
}
