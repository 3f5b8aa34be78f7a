//! The state that commands work on: the shard, the time of this turn, the settings, the counters.

use crate::adapter::AdapterReport;
use crate::durable::{Durable, HeldOutput};
use crate::execute::client::Client;
use crate::execute::monitor::Monitor;
use crate::execute::tracking::Tracking;
use crate::execute::transaction::FingerprintSeeds;
use crate::mail::calls::{Call, ReplyQueue};
use crate::mail::mesh::Mesh;
use crate::mail::message::{Message, TransferMail};
use crate::mail::report::{CoreReport, DurableReport, Report};
use crate::measures::Measures;
use crate::measures::counters::Counters;
use crate::measures::rates::Rates;
use crate::measures::slowness::Slowness;
use crate::net::fault::Faults;
use crate::settings::Settings;
use crate::shared::Shared;
use crate::users::PasswordChecks;
use scurry_engine::{Courier, Key, PROBE_LEN_MAX, Shard, StepResult};
use scurry_group::view::View;
use scurry_group::{APART_MS_MAX, Clock, Member, Reading};
use scurry_ledger::{Answer, Time};
use scurry_resp::table::{CommandId, ConnectionId, Spec};
use scurry_resp::{Args, ChainScratch, Scratch};
use std::collections::VecDeque;
use std::sync::Arc;

/// Maximum number of requests that are parsed and prefetched together.
pub(crate) const LOOKAHEAD_MAX: usize = 64;

/// One core's state, apart from its connections.
pub(crate) struct Node {
    pub(crate) core: u16,
    pub(crate) shard: Shard,
    /// The hash of the first key of the request that is being executed, if it was computed ahead.
    pub(crate) first_hash: Option<u64>,
    /// The shard's log, and all that waits for it.
    pub(crate) durable: Durable,
    pub(crate) settings: Settings,
    pub(crate) shared: Arc<Shared>,
    pub(crate) mesh: Mesh,
    pub(crate) clock: Clock,
    /// The time of this turn of the loop: every command of a turn sees the same.
    pub(crate) now: Reading,
    pub(crate) counters: Counters,
    /// Growth of the counters per second.
    pub(crate) rates: Rates,
    /// Counts by command and by duration.
    pub(crate) measures: Measures,
    /// When the present part of the turn began, ns; used for the latency of requests.
    pub(crate) now_ns: u64,
    /// Number of open connections of this core.
    pub(crate) clients: usize,
    /// Number of them that are not authenticated.
    pub(crate) waiting: usize,
    pub(crate) scratch: Scratch<'static>,
    /// The same for chains, and a buffer for their answers.
    pub(crate) chain_scratch: ChainScratch<'static>,
    pub(crate) chain_answers: Vec<Answer>,
    /// Calls of doors, taken from the intake and not carried out yet.
    pub(crate) calls: VecDeque<Call>,
    /// Transfers of this core's accounts that are under way.
    pub(crate) courier: Courier,
    /// When all accounts of this core were deleted the last time: steps of transfers that were taken by then are void.
    pub(crate) flushed_at: Time,
    /// Steps of other cores' transfers that wait to be executed here.
    pub(crate) transfer_steps: VecDeque<Box<TransferMail>>,
    /// Results of this core's steps, which wait as long as nothing may be executed.
    pub(crate) transfer_results: VecDeque<(Box<TransferMail>, StepResult)>,
    /// Doors that have replies to hand out, to be woken at the end of the turn.
    pub(crate) answered_doors: Vec<Arc<ReplyQueue>>,
    /// Where passwords are handed in to be checked.
    pub(crate) desk: PasswordChecks,
    /// Connections that TLS or an adapter has ended and that are not logged yet.
    pub(crate) faults: Faults,
    /// Commands and events that took long.
    pub(crate) slowness: Slowness,
    /// Whether the warning about colliding keys was logged.
    told_of_probes: bool,
    /// When this core began to drain, ms of uptime.
    pub(crate) draining_since_ms: Option<i64>,
    /// SHUTDOWN was requested.
    pub(crate) stop_asked: bool,
    /// Memory of this core's authenticated connections, bytes.
    pub(crate) connection_bytes: u64,
    /// Memory that is pooled for them, bytes.
    pub(crate) pooled_bytes: u64,
    /// Memory of the other connections, bytes. It does not count as the store's: it takes nothing from what keys may
    /// use.
    pub(crate) lobby_bytes: u64,
    /// Commands of this turn's clients, while a client monitors.
    pub(crate) monitor: Monitor,
    /// Seeds for the fingerprints of watched keys.
    pub(crate) fingerprint_seeds: FingerprintSeeds,
    /// Readers of each key, while a client tracks.
    pub(crate) tracking: Tracking,
    /// The node's membership in a group; None for a store on one machine.
    pub(crate) group: Option<Arc<Member>>,
    /// State of the group when this turn began.
    pub(crate) view: Option<Arc<View>>,
}

impl Node {
    pub(crate) fn new(
        core: u16,
        (shard, durable): (Shard, Durable),
        settings: Settings,
        shared: Arc<Shared>,
        mesh: Mesh,
        desk: PasswordChecks,
        clock: Clock,
    ) -> Node {
        let tracking = Tracking::new(shared.slots.cores());
        let is_behind = core == 0 && clock.behind_ms().is_some();
        let counters = Counters { clock_set_back: is_behind.into(), ..Counters::default() };
        Node {
            core,
            shard,
            first_hash: None,
            durable,
            now: clock.read(),
            clock,
            settings,
            shared,
            mesh,
            counters,
            rates: Rates::default(),
            measures: Measures::default(),
            now_ns: 0,
            clients: 0,
            waiting: 0,
            scratch: Scratch::default(),
            chain_scratch: ChainScratch::default(),
            chain_answers: Vec::new(),
            calls: VecDeque::new(),
            courier: Courier::default(),
            flushed_at: Time(i64::MIN),
            transfer_steps: VecDeque::new(),
            transfer_results: VecDeque::new(),
            answered_doors: Vec::new(),
            desk,
            faults: Faults::default(),
            slowness: Slowness::default(),
            told_of_probes: false,
            draining_since_ms: None,
            stop_asked: false,
            connection_bytes: 0,
            pooled_bytes: 0,
            lobby_bytes: 0,
            monitor: Monitor::default(),
            fingerprint_seeds: FingerprintSeeds::default(),
            tracking,
            group: None,
            view: None,
        }
    }

    /// Makes the node a member of a group.
    pub(crate) fn join(&mut self, group: Arc<Member>) {
        self.view = Some(group.view());
        self.group = Some(group);
    }

    /// Returns the hash of a request's first argument, where that is a key.
    #[inline]
    pub(crate) fn hash_ahead(&self, spec: &Spec, args: Args<'_>) -> Option<u64> {
        (spec.keys.0 == 1).then(|| self.shard.key(args.at(1)).hash())
    }

    /// Prefetches the memory that requests will need, before the first of them is executed.
    pub(crate) fn touch(&self, hashes: impl Iterator<Item = u64>) {
        let mut ahead = [0; LOOKAHEAD_MAX];
        let mut len = 0;
        for hash in hashes {
            ahead[len] = hash;
            len += 1;
            if len == LOOKAHEAD_MAX {
                self.shard.touch(&ahead);
                len = 0;
            }
        }
        if len > 1 {
            self.shard.touch(&ahead[..len]);
        }
    }

    /// Returns the first key of the request that is being executed.
    #[inline]
    pub(crate) fn first_key<'a>(&self, bytes: &'a [u8]) -> Key<'a> {
        let Some(hash) = self.first_hash else { return self.shard.key(bytes) };
        debug_assert_eq!(hash, self.shard.key(bytes).hash(), "it is another request's");
        Key::hashed(bytes, hash)
    }

    /// Reads the time of the turn that begins, and the state of the group. When the clock was set back, the first core
    /// logs it for all.
    pub(crate) fn look_at_the_clock(&mut self) {
        if let Some(group) = &self.group {
            self.view = Some(group.view());
        }
        let (now, set_back_ms) = self.now.then(|| self.read_clock());
        self.now = now;
        if self.group.is_some() && self.durable.takes_commits() {
            // The next leader's clock starts at the time that this one has logged. If this clock went back further than
            // this bound, holds made from then on would expire when another node leads.
            self.clock.hold(now, APART_MS_MAX);
        }
        if let Some(ms) = set_back_ms
            && self.core == 0
        {
            self.counters.clock_set_back += 1;
            tracing::warn!(
                ms,
                "the wall clock was set back: every deadline (sessions, buckets, keys) comes later \
                 by as much"
            );
        }
    }

    /// Reads the time; in a group it is aligned with the clocks of the other nodes.
    pub(super) fn read_clock(&self) -> Reading {
        let Some(group) = &self.group else { return self.clock.read() };
        let wall = self.clock.wall();
        self.clock.not_behind(Reading { time: group.time(wall), ..wall })
    }

    /// Logs once that look-ups have become long, since nothing else shows where the time goes.
    #[inline]
    pub(crate) fn tell_long_probes(&mut self) {
        let longest = self.shard.longest_probe();
        if longest > PROBE_LEN_MAX && !self.told_of_probes {
            self.told_of_probes = true;
            tracing::warn!(
                core = self.core,
                "a look-up has compared {longest} keys, {PROBE_LEN_MAX} is the most that chance \
                 brings: somebody chooses keys that collide, or a defect does; look at who writes \
                 them; outside a group a restart draws another secret"
            );
        }
    }

    /// Returns this core's part of commands that show the whole server.
    pub(crate) fn report(&self, adapter: AdapterReport) -> Report {
        Report {
            stats: self.shard.stats(),
            totals: self.shard.totals().clone(),
            counters: self.counters.clone(),
            rates: self.rates.per_second(),
            clients: self.clients,
            blocked: self.durable.readers(),
            waiting: self.waiting,
            lobby_bytes: self.lobby_bytes,
            connection_bytes: self.connections_memory_bytes(),
            tracked: self.tracking.size(),
            measures: self.measures.clone(),
            durable: self.durable_report(),
            adapter,
        }
    }

    fn durable_report(&self) -> DurableReport {
        let report = self.durable.report(&self.shard);
        let device = self.group.as_ref().and_then(|group| group.device(self.core));
        let Some(device) = device else { return report };
        let device_still = device.stands_still(self.clock.monotonic_ns());
        DurableReport { device_full: device.is_full(), device_still, ..report }
    }

    /// Returns this core's part of `/metrics`. It is sent at once, even when it includes changes that are not durable
    /// yet and when the log has failed: it is no promise.
    pub(crate) fn core_report(&self, adapter: AdapterReport) -> CoreReport {
        CoreReport {
            core: self.core,
            report: self.report(adapter),
            cpu_ns: Clock::thread_cpu_ns(),
            log_writes: self.durable.writes().clone(),
            now: self.now,
        }
    }

    /// Returns the position that must be released before a reply that shows the shard's present state may be sent; None
    /// when it is released already.
    #[inline]
    pub(crate) fn pending(&self) -> Option<u64> {
        self.durable.pending(&self.shard)
    }

    /// Sends a message that shows the shard's present state as soon as that state is durable.
    pub(crate) fn send_when_durable(&mut self, core: u16, message: Message) {
        match self.pending() {
            None => self.send_released(core, message),
            Some(sequence) => self.durable.hold(sequence, HeldOutput::Mail(core, message)),
        }
    }

    /// Examines new commits, so that no more is executed than the log has room for.
    #[inline]
    pub(crate) fn look_at_commits(&mut self) {
        self.durable.look_at(&mut self.shard, self.now.time);
    }

    /// Reports whether nothing more may be executed before the log has written some of its backlog.
    pub(crate) fn is_congested(&mut self) -> bool {
        self.durable.is_congested(&mut self.shard)
    }

    /// Reports whether nothing more may be executed before [`Node::look_at_commits`].
    #[inline]
    pub(crate) fn is_frame_long(&mut self) -> bool {
        self.durable.is_frame_long(&mut self.shard)
    }

    /// Writes new commits, or hands them on for writing.
    pub(crate) fn commit(&mut self) {
        self.durable.commit(&mut self.shard, self.now.time, self.now.uptime_ms);
        if let Some(time) = self.durable.take_floor() {
            self.clock.not_before(time);
            self.now = self.read_clock();
        }
    }

    /// Does the work of the log between turns.
    pub(crate) fn look_after_log(&mut self) {
        self.durable.look_after(&mut self.shard, self.now.time, self.now.uptime_ms);
        self.shard.release_identities(self.durable.durable());
    }

    /// Returns the memory of this core's connections, with their pools and tracked keys and the mail that waits for
    /// durability, bytes.
    fn connections_memory_bytes(&self) -> u64 {
        let tracked = self.tracking.size().bytes;
        self.connection_bytes + self.pooled_bytes + tracked + self.durable.held_bytes()
    }

    /// Publishes this core's memory to the other cores, and updates how much is left to its shard.
    pub(crate) fn share(&mut self) {
        let several = self.shared.slots.cores() > 1;
        if several {
            let own = self.shard.stats().memory_bytes + self.connections_memory_bytes();
            self.shared.publish(self.core, own);
        }
        let Some(max) = self.settings.memory_max else { return self.shard.set_memory_max(None) };
        let beside = if several { self.shared.memory_bytes_beside(self.core) } else { 0 };
        self.shard
            .set_memory_max(Some(max.saturating_sub(beside + self.connections_memory_bytes())));
    }

    /// Updates the rates and the peak memory that INFO shows: ten times a second, not with each command.
    #[inline]
    pub(crate) fn look_at_rates(&mut self) {
        if self.rates.is_due(self.now_ns) {
            self.rates.note(self.now_ns, &self.counters);
            let own = self.shard.stats().memory_bytes + self.connections_memory_bytes();
            self.shared.note_memory(own + self.shared.memory_bytes_beside(self.core));
        }
    }

    /// Shows a command to monitoring clients. Passwords are left out.
    #[cold]
    pub(crate) fn monitor(&mut self, client: &Client, spec: Option<&Spec>, args: Args<'_>) {
        let hidden = [
            CommandId::Connection(ConnectionId::Auth),
            CommandId::Connection(ConnectionId::Hello),
            CommandId::Connection(ConnectionId::Monitor),
        ];
        if spec.is_some_and(|spec| !hidden.contains(&spec.id)) {
            let time_us = self.now.time.0.saturating_mul(1_000);
            self.monitor.note(time_us, client.peer, args);
        }
    }
}
