//! Measures how long commands and other work take: the node's stopwatch is started and read here.

use crate::execute::client::Client;
use crate::execute::node::Node;
use crate::mail::bundle::Caller;
use crate::measures::latency::{Event, Sample};
use crate::measures::slowlog::{SlowCommand, shorten};
use crate::measures::stopwatch::EndedSpan;
use scurry_resp::Args;
use scurry_resp::table::{CommandId, ConnectionId, Spec};
use std::net::SocketAddr;

/// The sender of the commands that are measured.
#[derive(Clone, Copy)]
pub(crate) enum Origin<'a> {
    /// A connection of this core.
    Client(&'a Client),
    /// A connection of another core.
    Core(&'a Caller),
}

impl Origin<'_> {
    fn peer(&self) -> Option<SocketAddr> {
        match self {
            Origin::Client(client) => Some(client.peer),
            Origin::Core(caller) => caller.peer,
        }
    }

    fn name(&self) -> Vec<u8> {
        match self {
            Origin::Client(client) => client.name.clone(),
            Origin::Core(_) => Vec::new(),
        }
    }
}

impl Node {
    /// Starts the stopwatch before requests of a connection are executed.
    #[inline]
    pub(crate) fn requests_began(&mut self) {
        if self.slowness.stopwatch.is_on() {
            self.slowness.stopwatch.begin(self.clock.monotonic_ns());
        }
    }

    /// Stops the stopwatch after the last of the requests that are executed together.
    #[inline]
    pub(crate) fn requests_ended(&mut self, origin: Origin<'_>) {
        self.span_ended(origin, None);
    }

    /// Ends a span of commands. `last` is the last command, where its arguments are still available.
    pub(crate) fn span_ended(&mut self, origin: Origin<'_>, last: Option<(&Spec, Args<'_>)>) {
        if !self.slowness.stopwatch.is_on() {
            return;
        }
        if let Some(span) = self.slowness.stopwatch.end(self.clock.monotonic_ns()) {
            self.measures.executions.note_together(span.duration_ns, span.commands);
            self.measures.note_execution(self.slowness.stopwatch.specs(span), span.duration_ns);
            let slow = self.slowness.slowlog.wants(span.duration_us);
            let late = self.slowness.latency.is_on();
            if slow || late {
                self.slow_span(origin, last, span, slow);
            }
        }
    }

    #[cold]
    fn slow_span(
        &mut self,
        origin: Origin<'_>,
        last: Option<(&Spec, Args<'_>)>,
        span: EndedSpan,
        slow: bool,
    ) {
        let time_s = self.now.time.0 / 1_000;
        let sample = Sample { time_s, ms: span.duration_us / 1_000 };
        self.slowness.latency.note(Event::Command, sample);
        if !slow {
            return;
        }
        let arguments = match last {
            Some((spec, args)) if span.commands == 1 => kept(spec, args),
            _ => {
                self.slowness.stopwatch.measure_individually();
                let last = self.slowness.stopwatch.specs(span).last().copied().flatten();
                let name = last.map(Spec::lower_name).unwrap_or_default().into_bytes();
                vec![name, format!("... (the last of {} commands)", span.commands).into_bytes()]
            }
        };
        self.slowness.slowlog.push(SlowCommand {
            id: 0,
            time_s,
            duration_us: span.duration_us,
            arguments,
            peer: origin.peer(),
            name: origin.name(),
        });
    }

    /// Returns the slow commands of this core, with ids that no other core uses.
    pub(crate) fn slow_commands(&self) -> Vec<SlowCommand> {
        let cores = u64::from(self.shared.slots.cores());
        let own = |entry: &SlowCommand| {
            let id = entry.id * cores + u64::from(self.core);
            SlowCommand { id, ..entry.clone() }
        };
        self.slowness.slowlog.entries().map(own).collect()
    }

    /// Notes the begin of a turn of the event loop.
    pub(crate) fn turn_began(&mut self) {
        self.now_ns = self.clock.monotonic_ns();
        self.slowness.turn_began_ns = self.slowness.latency.is_on().then_some(self.now_ns);
    }

    /// Notes the end of a turn of the event loop, before it waits.
    pub(crate) fn turn_ended(&mut self) {
        if let Some(began_ns) = self.slowness.turn_began_ns.take() {
            self.took_since(Event::LoopTurn, began_ns);
        }
    }

    /// Runs and measures work that may take long and is not a command.
    pub(crate) fn timed<R>(&mut self, event: Event, act: impl FnOnce(&mut Node) -> R) -> R {
        if !self.slowness.latency.is_on() {
            return act(self);
        }
        let began_ns = self.clock.monotonic_ns();
        let result = act(self);
        self.took_since(event, began_ns);
        result
    }

    fn took_since(&mut self, event: Event, began_ns: u64) {
        let ms = self.clock.monotonic_ns().saturating_sub(began_ns) / 1_000_000;
        self.slowness.latency.note(event, Sample { time_s: self.now.time.0 / 1_000, ms });
    }
}

/// Returns the arguments as the slow log keeps them, without passwords.
fn kept(spec: &Spec, args: Args<'_>) -> Vec<Vec<u8>> {
    if matches!(spec.id, CommandId::Connection(ConnectionId::Auth | ConnectionId::Hello)) {
        return vec![args.at(0).to_vec(), b"(redacted)".to_vec()];
    }
    shorten((0..args.len()).map(|position| args.at(position)))
}
