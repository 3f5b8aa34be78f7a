//! The core's side of a group. Executed frames go to the host, and replies wait for the confirmation of the turn in
//! which they were formed. While another node leads, the core applies that leader's committed entries.

use crate::replica::{ByteCount, Sequence};
use crate::shard::channel::{CoreEnd, Epoch, FromCore, ToCore, Turn};
use crate::shard::state_check::DigestOrder;
use scurry_codec::{LogFormat, checked_frame};
use scurry_engine::{Compared, LogId, Shard, SnapshotSequences};
use scurry_ledger::Time;

/// Maximum bytes that may be executed and uncommitted; above it nothing more is executed.
const UNCOMMITTED_LEN_MAX: ByteCount = ByteCount(8 << 20);

/// State of the core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CoreRole {
    /// Another node leads, or none.
    Follows,
    /// The core executes commands.
    Leads(Epoch),
    /// Another node leads, or none, and the connections that wait for replies are still to be closed.
    Resigns,
}

/// A core's side of its group.
pub struct GroupCore {
    end: CoreEnd,
    log: LogId,
    part: CoreRole,
    /// True when nothing may be executed until the host says so.
    is_paused: bool,
    /// The open turn: replies that are formed now are confirmed with it.
    turn: Turn,
    /// True when something of the shard was shown in the open turn.
    shows: bool,
    /// True when the shard may show uncommitted records, or is still empty: no snapshot may be made of it.
    is_in_doubt: bool,
    /// Lowest time that the core's clock may show, until it is taken.
    floor: Option<Time>,
    /// Bytes of frames that were applied or sent.
    bytes: ByteCount,
}

impl GroupCore {
    /// Creates a core that follows; `log` is its log.
    pub fn new(end: CoreEnd, log: LogId) -> GroupCore {
        GroupCore {
            end,
            log,
            part: CoreRole::Follows,
            is_paused: false,
            turn: Turn(1),
            shows: false,
            is_in_doubt: false,
            floor: None,
            bytes: ByteCount(0),
        }
    }

    /// Asserts what holds between two calls.
    fn check(&self) {
        // A turn's replies leave when it is confirmed: the open one still gets some.
        assert!(self.turn > self.end.progress.confirmed(), "the open turn is confirmed already");
        assert!(!self.is_paused || self.leads(), "a core pauses that does not lead");
    }

    /// Returns true while commands are executed here.
    #[inline]
    pub fn leads(&self) -> bool {
        matches!(self.part, CoreRole::Leads(_))
    }

    /// Returns true from the end of a leadership until no connection waits for one of its replies.
    pub fn resigns(&self) -> bool {
        self.part == CoreRole::Resigns
    }

    /// Records that something of the shard was shown or written in the open turn.
    #[inline]
    pub fn note_shown(&mut self) {
        self.shows = true;
    }

    /// Returns true when the shard shows a prefix of the log. Only then may a snapshot of it count, once that prefix is
    /// committed.
    pub fn shows_the_log(&self) -> bool {
        !self.is_in_doubt && self.part != CoreRole::Resigns
    }

    /// Returns the turn up to which replies may be sent.
    #[inline]
    pub fn confirmed(&self) -> Turn {
        match self.part {
            CoreRole::Follows => Turn(u64::MAX),
            CoreRole::Leads(_) | CoreRole::Resigns => self.end.progress.confirmed(),
        }
    }

    /// Returns the turn that must be confirmed before a reply that shows the present shard may be sent; None when it
    /// may be sent now.
    #[inline]
    pub fn pending(&self) -> Option<Turn> {
        let shown = if self.shows { self.turn } else { Turn(self.turn.0 - 1) };
        match self.part {
            CoreRole::Follows => None,
            CoreRole::Leads(_) => (self.end.progress.confirmed() < shown).then_some(shown),
            // These turns are never confirmed.
            CoreRole::Resigns => Some(Turn(u64::MAX)),
        }
    }

    /// Returns the last sequence that is committed and on this node's device.
    pub fn committed(&self) -> Sequence {
        self.end.progress.committed()
    }

    /// Returns true when nothing more may be executed for now.
    pub fn is_congested(&self) -> bool {
        self.is_paused || self.end.progress.uncommitted() > UNCOMMITTED_LEN_MAX
    }

    /// Returns true when due expiries may be executed.
    pub fn takes_commits(&self) -> bool {
        self.leads() && !self.is_congested()
    }

    /// Returns true when an order of the host waits.
    pub fn has_orders(&mut self) -> bool {
        self.end.has_orders()
    }

    /// Takes the lowest time that the clock may show after this node became leader or its shard was rebuilt.
    pub fn take_floor(&mut self) -> Option<Time> {
        self.floor.take()
    }

    /// Returns the bytes of frames that were applied or sent.
    pub fn bytes(&self) -> ByteCount {
        self.bytes
    }

    /// Ends the turn: sends the host the frames that it wrote, or requests a confirmation when it only showed data.
    pub fn end_turn(&mut self, shard: &mut Shard, now: Time) {
        let CoreRole::Leads(epoch) = self.part else { return };
        let turn = self.turn;
        let journal = shard
            .journal()
            .filter(|journal| !journal.is_empty() || journal.len() > journal.open_len());
        if let Some(journal) = journal {
            if !journal.is_empty() {
                journal.seal(0, now);
            }
            let mut frames = Vec::new();
            journal.take_sealed(&mut frames);
            let len = ByteCount::of(&frames);
            self.bytes += len;
            self.end.progress.sent(len);
            self.end.tell(FromCore::Frames { epoch, turn, frames });
        } else if self.shows {
            self.end.tell(FromCore::Read { epoch, turn });
        } else {
            return;
        }
        self.turn.0 += 1;
        self.shows = false;
        self.check();
    }

    /// Carries out the host's orders. Returns true when the shard was replaced or this node no longer leads: a snapshot
    /// that is being written of it is void.
    pub fn carry_out_orders(&mut self, shard: &mut Shard, now: Time) -> bool {
        let mut is_void = false;
        while let Some(order) = self.end.order() {
            match order {
                ToCore::Apply(frames) => {
                    assert!(self.part == CoreRole::Follows, "a core that leads is given entries");
                    // The host sends frames only when the shard shows nothing beyond the commit.
                    self.is_in_doubt = false;
                    for frame in frames {
                        self.bytes += ByteCount::of(&frame);
                        if let Err(why) = self.apply(shard, &frame) {
                            self.end.tell(FromCore::Broken(why));
                            return true;
                        }
                        for compared in shard.take_compared() {
                            self.end.tell(FromCore::Compared(compared));
                        }
                    }
                    self.end.progress.note_applied(Sequence(shard.sequence()));
                }
                ToCore::Lead { epoch, sequence, at } => {
                    assert!(self.part == CoreRole::Follows, "a core is to lead and still does");
                    // It would execute commands without what was committed before.
                    assert!(shard.sequence() == sequence.get(), "a core leads and lacks records");
                    shard.follow_to(sequence.next().get(), at);
                    self.part = CoreRole::Leads(epoch);
                    self.is_in_doubt = false;
                    // No reply waits for a turn of an earlier leadership: mark all of them confirmed.
                    self.end.progress.confirm(Turn(self.turn.0 - 1));
                    self.is_paused = false;
                    self.floor = self.floor.max(Some(at));
                }
                ToCore::Pause => {
                    if let CoreRole::Leads(epoch) = self.part {
                        // Everything executed goes to the host before the confirmation of the pause.
                        self.end_turn(shard, now);
                        self.is_paused = true;
                        self.end.tell(FromCore::Paused { epoch });
                    }
                }
                ToCore::Resume { sequence, at } => {
                    assert!(self.is_paused, "a core goes on that has not paused");
                    assert!(shard.sequence() <= sequence.get(), "a paused core has executed more");
                    shard.follow_to(sequence.next().get(), at);
                    self.is_paused = false;
                }
                ToCore::Digest(order) => {
                    if self.takes_commits() {
                        self.digest(shard, order, now);
                    }
                }
                ToCore::Copy(hashes) => {
                    self.end.tell(FromCore::Copies(shard.copies(&hashes)));
                }
                ToCore::Resign => {
                    assert!(self.leads(), "a core is to resign and does not lead");
                    self.part = CoreRole::Resigns;
                    self.is_paused = false;
                    is_void = true;
                }
                ToCore::Await => self.is_in_doubt = true,
                ToCore::Replace(remade) => {
                    assert!(
                        self.part == CoreRole::Follows,
                        "the shard of a core that leads is replaced"
                    );
                    self.is_in_doubt = false;
                    *shard = *remade.shard;
                    self.floor = self.floor.max(Some(remade.at));
                    self.end.progress.note_applied(Sequence(shard.sequence()));
                    is_void = true;
                }
            }
        }
        self.check();
        is_void
    }

    /// Writes a digest of the shard as it is now into the journal.
    fn digest(&self, shard: &mut Shard, order: DigestOrder, now: Time) {
        let DigestOrder { node, from, limit, has_keys } = order;
        // A leader that has just begun may show an earlier time than the log has.
        let now = shard.journal().map_or(now, |journal| journal.latest().max(now));
        let digest = shard.digest((node.get(), now), from, limit, has_keys);
        let mut bytes = Vec::new();
        digest.encode(&mut bytes);
        let Some(journal) = shard.journal() else { return };
        journal.digest(&bytes);
        let own = digest.sum;
        let sequence = shard.sequence();
        // Which keys differ is known when the others have compared.
        let (differing, keys) = (Vec::new(), Vec::new());
        let compared = Compared { sequence, digest, own, differing, keys };
        self.end.tell(FromCore::Compared(compared));
    }

    /// Tells the host that a snapshot counts, and up to which sequence the log is no longer needed.
    pub fn tell_snapshot(&self, shown: SnapshotSequences, needless: Sequence) {
        self.end.tell(FromCore::Snapshot { shown, needless });
    }

    fn apply(&self, shard: &mut Shard, bytes: &[u8]) -> Result<(), String> {
        let seal = self.log.seal_in(LogFormat::Replicated);
        let frame = checked_frame(seal, bytes).ok_or("a frame of the log is none")?;
        let next = shard.sequence() + 1;
        if frame.first() != next {
            return Err(format!(
                "a frame of the log begins with change {}, not {next}",
                frame.first()
            ));
        }
        shard.apply_frame(&frame).map_err(|(sequence, error)| {
            format!("change {sequence} of the log does not fit what is in memory: {error}")
        })?;
        shard.follow_to(frame.next(), frame.at());
        Ok(())
    }

    /// Ends the resignation: no connection waits any more.
    pub fn finish_resignation(&mut self, shard: &Shard) {
        if self.part == CoreRole::Resigns {
            self.part = CoreRole::Follows;
            self.shows = false;
            // The shard may show uncommitted records until the host has compared it with the commit.
            self.is_in_doubt = true;
            self.end.progress.note_applied(Sequence(shard.sequence()));
            self.end.tell(FromCore::Resigned { executed: Sequence(shard.sequence()) });
        }
        self.check();
    }
}
