//! A core whose log a group keeps: what it executes goes to the host, replies wait for the confirmation of the turn
//! in which they were formed, and while another node leads it applies what that has committed.

use crate::channel::{CoreEnd, Epoch, FromCore, ToCore, Turn};
use scurry_codec::{LogFormat, checked_frame};
use scurry_engine::{LogId, Shard, Shown};
use scurry_ledger::Time;
use scurry_replica::Sequence;

/// Bytes that may be executed and not committed; above it nothing more is executed.
const UNCOMMITTED_LEN_MAX: u64 = 8 << 20;

/// The core's part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// Another node leads, or none.
    Follows,
    /// Commands are executed.
    Leads(Epoch),
    /// Another node leads, or none, and what waits is lost.
    Resigns,
}

/// A core's side of its group.
pub struct Grouped {
    end: CoreEnd,
    log: LogId,
    part: Part,
    /// Nothing is executed until the host says so.
    is_paused: bool,
    /// The turn that is open: replies that are formed now are confirmed with it.
    turn: Turn,
    /// Something of the shard was shown in it.
    shows: bool,
    /// The shard may show what was not committed, or has nothing yet: no snapshot is to be made of it.
    is_in_doubt: bool,
    /// No clock shows less, once.
    floor: Option<Time>,
    /// Bytes of frames that were applied or sent.
    bytes: u64,
}

impl Grouped {
    /// A core that follows; `log` is its log.
    pub fn new(end: CoreEnd, log: LogId) -> Grouped {
        Grouped {
            end,
            log,
            part: Part::Follows,
            is_paused: false,
            turn: Turn(1),
            shows: false,
            is_in_doubt: false,
            floor: None,
            bytes: 0,
        }
    }

    /// True while commands are executed here.
    #[inline]
    pub fn leads(&self) -> bool {
        matches!(self.part, Part::Leads(_))
    }

    /// True from the end of its leadership until nothing waits.
    pub fn resigns(&self) -> bool {
        self.part == Part::Resigns
    }

    /// Something of the shard was shown, or written.
    #[inline]
    pub fn note_shown(&mut self) {
        self.shows = true;
    }

    /// True when the shard shows what the log says, and what is committed of it when all that it shows is: only then
    /// a snapshot of it may count.
    pub fn shows_the_log(&self) -> bool {
        !self.is_in_doubt && self.part != Part::Resigns
    }

    /// The turn up to which replies may leave.
    #[inline]
    pub fn confirmed(&self) -> u64 {
        match self.part {
            Part::Follows => u64::MAX,
            Part::Leads(_) | Part::Resigns => self.end.progress.confirmed().get(),
        }
    }

    /// The turn that has to be confirmed before what shows the shard as it is now may leave.
    #[inline]
    pub fn pending(&self) -> Option<u64> {
        let shown = if self.shows { self.turn } else { Turn(self.turn.0 - 1) };
        match self.part {
            Part::Follows => None,
            Part::Leads(_) => (self.end.progress.confirmed() < shown).then_some(shown.get()),
            // It never will be.
            Part::Resigns => Some(u64::MAX),
        }
    }

    /// The last sequence that is committed and on this node's device.
    pub fn committed(&self) -> u64 {
        self.end.progress.committed().get()
    }

    /// True when no more is to be executed for now.
    pub fn is_congested(&self) -> bool {
        self.is_paused || self.end.progress.uncommitted() > UNCOMMITTED_LEN_MAX
    }

    /// True when what is due may be committed.
    pub fn takes_commits(&self) -> bool {
        self.leads() && !self.is_congested()
    }

    /// True when the host has said something.
    pub fn has_orders(&mut self) -> bool {
        self.end.has_orders()
    }

    /// The time of the log that this node has come to lead.
    pub fn take_floor(&mut self) -> Option<Time> {
        self.floor.take()
    }

    /// Bytes of frames that were applied or sent.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Ends the turn: what it has written goes to the host, and what it has only shown is to be confirmed.
    pub fn end_turn(&mut self, shard: &mut Shard, now: Time) {
        let Part::Leads(epoch) = self.part else { return };
        let turn = self.turn;
        let journal = shard
            .journal()
            .filter(|journal| !journal.is_empty() || journal.len() > journal.open_len());
        if let Some(journal) = journal {
            if !journal.is_empty() {
                journal.seal(0, now);
            }
            let mut frames = Vec::new();
            journal.take(&mut frames);
            self.bytes += frames.len() as u64;
            self.end.progress.sent(frames.len() as u64);
            self.end.tell(FromCore::Frames { epoch, turn, frames });
        } else if self.shows {
            self.end.tell(FromCore::Read { epoch, turn });
        } else {
            return;
        }
        self.turn.0 += 1;
        self.shows = false;
    }

    /// Does what the host says. True when the shard is another one, or another node leads: a snapshot that is
    /// being written of it is void.
    pub fn obey(&mut self, shard: &mut Shard, now: Time) -> bool {
        let mut is_void = false;
        while let Some(order) = self.end.order() {
            match order {
                ToCore::Apply(frames) => {
                    self.is_in_doubt = false;
                    for frame in frames {
                        self.bytes += frame.len() as u64;
                        if let Err(why) = self.apply(shard, &frame) {
                            self.end.tell(FromCore::Broken(why));
                            return true;
                        }
                    }
                    self.end.progress.note_applied(Sequence(shard.sequence()));
                }
                ToCore::Lead { epoch, sequence, at } => {
                    shard.follow_to(sequence.next().get(), at);
                    self.part = Part::Leads(epoch);
                    self.is_in_doubt = false;
                    // Nobody waits for turns of a leadership that has ended.
                    self.end.progress.confirm(Turn(self.turn.0 - 1));
                    self.is_paused = false;
                    self.floor = self.floor.max(Some(at));
                }
                ToCore::Pause => {
                    if let Part::Leads(epoch) = self.part {
                        self.end_turn(shard, now);
                        self.is_paused = true;
                        self.end.tell(FromCore::Paused { epoch });
                    }
                }
                ToCore::Resume { sequence, at } => {
                    shard.follow_to(sequence.next().get(), at);
                    self.is_paused = false;
                }
                ToCore::Resign => {
                    self.part = Part::Resigns;
                    self.is_paused = false;
                    is_void = true;
                }
                ToCore::Await => self.is_in_doubt = true,
                ToCore::Replace(remade) => {
                    self.is_in_doubt = false;
                    *shard = *remade.shard;
                    self.floor = self.floor.max(Some(remade.at));
                    self.end.progress.note_applied(Sequence(shard.sequence()));
                    is_void = true;
                }
            }
        }
        is_void
    }

    /// A snapshot counts, and nothing needs the log up to a sequence any more.
    pub fn tell_snapshot(&self, shown: Shown, needless: u64) {
        self.end.tell(FromCore::Snapshot { shown, needless: Sequence(needless) });
    }

    fn apply(&self, shard: &mut Shard, bytes: &[u8]) -> Result<(), String> {
        let seal = self.log.seal_in(LogFormat::Replicated);
        let frame = checked_frame(seal, bytes).ok_or("a frame of the log is none")?;
        shard.apply_frame(&frame).map_err(|(sequence, error)| {
            format!("change {sequence} of the log does not fit what is in memory: {error}")
        })?;
        shard.follow_to(frame.next(), frame.at());
        Ok(())
    }

    /// Nothing waits any more.
    pub fn end_resignation(&mut self, shard: &Shard) {
        if self.part == Part::Resigns {
            self.part = Part::Follows;
            self.shows = false;
            // Until the host has compared it with what is committed.
            self.is_in_doubt = true;
            self.end.progress.note_applied(Sequence(shard.sequence()));
            self.end.tell(FromCore::Resigned { executed: Sequence(shard.sequence()) });
        }
    }
}
