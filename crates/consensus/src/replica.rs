//! One replica of a shard's log. Its inputs are ticks, messages and completed stores; its outputs are messages, stores
//! and the commit index. It has no clock, no I/O and no thread, and its only randomness comes from a seed.
//!
//! The consensus is that of the `raft` crate (docs/adr/0033-consensus-engine.md), called "the engine" here; its types
//! do not leave this crate. Entries are descriptors of frames: the bytes of a frame travel beside the messages, and the
//! host passes an append to [`Replica::receive`] only when it has the bodies of [`Message::entries`] and their
//! checksums match.
//!
//! After one or more inputs the host calls [`Replica::effects`], sends the messages, and writes the stores in the order
//! of their tickets. When a store is on the device, the host calls [`Replica::stored`]. Messages that depend on a store
//! are not returned before that call, so none can be sent too early.

mod convert;
mod effects;
mod entry;
mod ids;
mod log;
mod message;
mod reads;
mod settings;
mod stores;
mod wire;

pub use effects::{Effects, Role, RoleAndTerm, Store, Vote};
pub use entry::{Descriptor, Entry, EntryKind, Members, MembersError, Membership};
pub use ids::{ByteCount, Index, NodeId, ReadTicket, Sequence, Term, Ticket};
pub use log::{Base, Recovered, RecoveredError};
pub use message::{DecodeError, Message};
pub use settings::{Settings, SettingsError};

use log::Log;
use message::MessageBody;
use raft::eraftpb::{ConfChangeV2, Entry as RaftEntry, MessageType};
use raft::{Config, ProgressState, RawNode, ReadOnlyOption, SnapshotStatus, StateRole};
use reads::Reads;
use slog::{Discard, Logger, o};
use stores::Stores;

/// Election timeouts that a yielding node waits longer than the others: enough for two of their attempts.
const YIELDING_ELECTIONS: usize = 4;

/// Error: the node does not lead.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this node does not lead: ask {}", .leader.map_or("again when there is a leader".to_owned(), |leader| format!("node {leader}")))]
pub struct NotLeader {
    /// The leader; None when it is not known.
    pub leader: Option<NodeId>,
}

/// Reasons why an entry was not appended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AppendError {
    /// The node does not lead.
    #[error(transparent)]
    NotLeader(#[from] NotLeader),
    /// Too many bytes are uncommitted.
    #[error("{0} bytes are not committed: wait for the other nodes")]
    Full(ByteCount),
    /// Leadership is being transferred to another node.
    #[error("leadership is on its way to node {0}: wait for its end")]
    Moving(NodeId),
}

/// Reasons why the members were not changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChangeError {
    /// The node does not lead.
    #[error(transparent)]
    NotLeader(#[from] NotLeader),
    /// Another change is in progress, leadership is being transferred, or the leader has not committed an entry of its
    /// own term.
    #[error("a change of members is not done yet: wait for its end")]
    Busy,
    /// The requested members are in force already.
    #[error("these are the members already")]
    Same,
    /// The leader would lose its vote.
    #[error("this node leads and would have no vote: transfer leadership to another node first")]
    Leader,
}

/// Reasons why a message was refused. The state is unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReceiveError {
    /// The message is addressed to another node, or names this node as its sender.
    #[error("the message is for node {0}: it was sent to the wrong address")]
    Address(NodeId),
    /// The sender of a response is not a member.
    #[error("node {0} is no member: it was removed, or belongs to other nodes")]
    Stranger(NodeId),
    /// The sender assumes that this log has entries which it does not have.
    #[error(
        "node {from} takes entry {index:?} for present, the log ends at {last:?}: what was stored here is lost, or another node has this identity; let this node join again"
    )]
    Ahead {
        /// The sender.
        from: NodeId,
        /// The entry that the sender assumes.
        index: Index,
        /// The end of this log.
        last: Index,
    },
}

/// Reasons why a replica's log was not replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReplaceError {
    /// The new log is invalid.
    #[error(transparent)]
    Recovered(#[from] RecoveredError),
    /// A leader's log is never replaced.
    #[error("this node leads: its log is not replaced")]
    Leader,
    /// Stores are in progress.
    #[error("stores are under way: wait for their end")]
    Busy,
    /// The replica has all of the new log already, and the leader does not know it: tell the leader with
    /// [`Replica::caught_up`] that the node has the log up to this index.
    #[error("the log that came up to {0:?} is here already: tell the leader so")]
    Present(Index),
    /// The replica's own log is newer, and it may have acknowledged entries that the new one lacks.
    #[error("the log that came ends at {came:?}, behind {own:?} of this node: fetch a newer one")]
    Older {
        /// The end of the new log.
        came: (Term, Index),
        /// The end of the replica's own log.
        own: (Term, Index),
    },
}

/// One node's replica of a shard's log.
pub struct Replica {
    settings: Settings,
    engine: RawNode<Log>,
    /// Content of the entries that the engine is about to process.
    incoming: Vec<Entry>,
    stores: Stores,
    reads: Reads,
    shown: Option<RoleAndTerm>,
    /// Term and engine state after the last input.
    seen: (Term, StateRole),
    begins: Option<Index>,
    membership: Membership,
    /// Ticks without a leader after which the node becomes a candidate in this term.
    patience: usize,
    /// True while other nodes should lead if they can.
    yields: bool,
    /// True when a candidate with a shorter log has asked for votes: that node cannot win, so this one must not yield
    /// to it.
    is_needed: bool,
    random: u64,
    send: Vec<Message>,
    confirmed: Vec<ReadTicket>,
    behind: Vec<NodeId>,
    membership_shown: bool,
    /// The commit index that the host was told last.
    told: Index,
}

impl Replica {
    /// Creates the replica from the state that was read from its disk.
    pub fn new(settings: Settings, recovered: Recovered) -> Result<Replica, RecoveredError> {
        settings.check()?;
        let log = Log::new(recovered)?;
        let election = usize::from(settings.election_ticks);
        let config = Config {
            id: settings.id.get(),
            election_tick: election,
            heartbeat_tick: usize::from(settings.heartbeat_ticks),
            applied: log.base().index.0,
            max_size_per_msg: settings.append_bytes.get(),
            max_inflight_msgs: settings.window,
            check_quorum: true,
            pre_vote: true,
            min_election_tick: election,
            max_election_tick: (2 + YIELDING_ELECTIONS) * election
                + usize::from(settings.extra_election_ticks)
                + 1,
            read_only_option: ReadOnlyOption::Safe,
            // The next append or heartbeat carries the commit index.
            skip_bcast_commit: true,
            batch_append: false,
            // The engine's priority refuses votes, which could leave two of three nodes without a leader.
            priority: 0,
            max_uncommitted_size: raft::NO_LIMIT,
            max_committed_size_per_ready: settings.append_bytes.get(),
        };
        let membership = Membership { members: log.base().members.clone(), outgoing: Vec::new() };
        let stores = Stores::new(log.vote(), log.last());
        let told = log.base().index;
        let random = settings.seed;
        // All that the engine refuses was checked before.
        let engine = RawNode::new(&config, log, &Logger::root(Discard, o!()))
            .expect("settings and log were looked at");
        let mut replica = Replica {
            settings,
            engine,
            incoming: Vec::new(),
            stores,
            reads: Reads::default(),
            shown: None,
            seen: (Term(0), StateRole::Follower),
            begins: None,
            membership,
            patience: election,
            yields: false,
            is_needed: false,
            random,
            send: Vec::new(),
            confirmed: Vec::new(),
            behind: Vec::new(),
            membership_shown: false,
            told,
        };
        replica.draw_patience();
        replica.advance();
        Ok(replica)
    }

    /// Returns a replica of the same node with the log that a peer has streamed, for a node that lacked entries.
    /// Everything that this replica has acknowledged is in the new log, or was never committed.
    ///
    /// | case | leads | stores | end of the new log, against this one | outcome |
    /// |---|---|---|---|---|
    /// | @A | yes | any | any | refused: `Leader` |
    /// | @B | no | under way | any | refused: `Busy`, to be tried again |
    /// | @C | no | done | up to the base, or an entry that is here in the same term | refused: `Present` |
    /// | @D | no | done | an older term, or the same term and before the end | refused: `Older` |
    /// | @E | no | done | a newer term, or the same term and after the end | the new log with this replica's vote |
    ///
    /// In @E an invalid log is refused: `Recovered`.
    pub fn replace(&self, recovered: Recovered) -> Result<Replica, ReplaceError> {
        if self.engine.raft.state == StateRole::Leader {
            // @A
            return Err(ReplaceError::Leader);
        }
        if !self.stores.are_done() {
            // @B
            return Err(ReplaceError::Busy);
        }
        let end = |base: &Base, last: Option<&Entry>| {
            last.map_or((base.term, base.index), |entry| (entry.term, entry.index))
        };
        let came = end(&recovered.base, recovered.entries.last());
        let own = (self.term_of(self.last()).unwrap_or_default(), self.last());
        let is_here = came.1 <= self.base().index || self.term_of(came.1) == Some(came.0);
        if is_here {
            // @C
            return Err(ReplaceError::Present(came.1));
        }
        if came < own {
            // @D
            return Err(ReplaceError::Older { came, own });
        }
        // @E
        let vote = self.stores.durable_vote();
        let settings = Settings { seed: self.random, ..self.settings.clone() };
        let replica = Replica::new(settings, Recovered { vote, ..recovered })?;
        // What this replica has promised binds its successor.
        let durable = replica.stores.durable_vote();
        assert!(durable.term >= vote.term, "a term goes back with another log");
        assert!(durable.term > vote.term || durable == vote, "a vote is forgotten with a log");
        assert!(replica.last() == came.1, "the new log ends elsewhere than it was said to");
        Ok(replica)
    }

    /// Advances the replica's time by one tick of the host's clock.
    pub fn tick(&mut self) {
        if !self.may_stand() {
            return;
        }
        // The engine draws its own timeout at each reset, but reads it only in a tick, so it is replaced here.
        self.engine.raft.set_randomized_election_timeout(self.patience + self.yielding_ticks());
        self.engine.tick();
        self.advance();
    }

    /// Processes a message. The caller has the bodies of its entries and has verified their checksums.
    pub fn receive(&mut self, message: Message) -> Result<(), ReceiveError> {
        if message.to != self.settings.id || message.from == self.settings.id {
            return Err(ReceiveError::Address(message.to));
        }
        if !self.accepts_message(&message)? {
            return Ok(());
        }
        self.commit_from_refused_vote(&message);
        let is_needed = self.is_needed_after(&message);
        let to_engine = convert::to_engine(&message);
        if let MessageBody::Append { entries, .. } = message.body {
            self.incoming = entries;
        }
        let outcome = self.engine.step(to_engine);
        self.advance();
        self.is_needed = is_needed;
        outcome.map_err(|_| ReceiveError::Stranger(message.from))
    }

    /// Appends a frame to the leader's log.
    pub fn append(&mut self, descriptor: Descriptor) -> Result<Index, AppendError> {
        self.leads()?;
        if let Some(to) = self.engine.raft.lead_transferee.and_then(NodeId::new) {
            return Err(AppendError::Moving(to));
        }
        let uncommitted = self.uncommitted_bytes();
        let with_this = uncommitted + descriptor.len;
        if uncommitted > ByteCount(0) && with_this > self.settings.uncommitted_bytes {
            return Err(AppendError::Full(uncommitted));
        }
        let index = self.propose(EntryKind::Frame(descriptor));
        // The engine sees entries without content: the content is in `incoming`.
        let outcome = self.engine.propose(Vec::new(), Vec::new());
        self.advance();
        outcome.map_err(|_| NotLeader { leader: None })?;
        // The host keeps the frame under this index, and confirms its turn when the index is committed.
        let kind = self.entry(index).map(|entry| entry.kind);
        assert!(
            kind == Some(EntryKind::Frame(descriptor)),
            "another entry is at {index:?}: {kind:?}"
        );
        Ok(index)
    }

    /// Records that all stores up to this ticket are on the device.
    pub fn stored(&mut self, ticket: Ticket) {
        let stored = self.stores.stored(ticket);
        stored.released.into_iter().for_each(|message| self.leave(message));
        if let Some(number) = stored.number {
            self.engine.on_persist_ready(number);
        }
        self.advance();
    }

    /// Requests a confirmation that this node leads. Everything that the read shows has been appended before.
    pub fn read(&mut self) -> Result<ReadTicket, NotLeader> {
        self.leads()?;
        Ok(self.reads.ask(self.last()))
    }

    /// Transfers leadership to a voter when it has all entries. The engine gives up after `election_ticks`.
    pub fn transfer(&mut self, to: NodeId) -> Result<(), NotLeader> {
        self.leads()?;
        self.engine.transfer_leader(to.get());
        self.advance();
        Ok(())
    }

    /// Starts a change of members, which takes a majority of the old voters and a majority of the new ones. The change
    /// is complete when a majority of the new voters reports them in [`Effects::membership`]: only after that can
    /// removed nodes be stopped.
    pub fn change(&mut self, members: Members) -> Result<Index, ChangeError> {
        self.leads()?;
        let raft = &self.engine.raft;
        let busy = self.membership.is_joint()
            || raft.has_pending_conf()
            || !raft.commit_to_current_term()
            || raft.lead_transferee.is_some();
        if busy {
            return Err(ChangeError::Busy);
        }
        if members == self.membership.members {
            return Err(ChangeError::Same);
        }
        if !members.voters().contains(&self.settings.id) {
            return Err(ChangeError::Leader);
        }
        let change = convert::change_to(&self.membership.members, &members);
        let index = self.propose(EntryKind::Members(Box::new(members)));
        let outcome = self.engine.propose_conf_change(Vec::new(), change);
        // The engine replaces a change that it refuses by an empty entry.
        let taken =
            self.engine.raft.raft_log.unstable_entries().last().is_some_and(convert::is_turn);
        if !taken {
            self.incoming.clear();
        }
        self.advance();
        if outcome.is_err() || !taken {
            return Err(ChangeError::Busy);
        }
        assert!(self.engine.store().turn(index).is_some(), "{index:?} is not about members");
        Ok(index)
    }

    /// Records that messages to this node are being lost.
    pub fn unreachable(&mut self, peer: NodeId) {
        self.engine.report_unreachable(peer.get());
        self.advance();
    }

    /// Records that a node which lacked entries has received a log up to this index.
    pub fn caught_up(&mut self, peer: NodeId, index: Index) {
        let last = self.last().0;
        if let Some(progress) = self.engine.raft.mut_prs().get_mut(peer.get())
            && progress.state == ProgressState::Snapshot
        {
            // The snapshot may be newer than the one that the engine planned for; the engine continues after it, but
            // never beyond this log.
            progress.pending_snapshot = progress.pending_snapshot.max(index.0.min(last));
            // The engine would look for the entry after it.
            assert!(progress.pending_snapshot <= last, "a node is sent what the log does not have");
        }
        self.engine.report_snapshot(peer.get(), SnapshotStatus::Finish);
        self.advance();
    }

    /// Records that sending a snapshot to a node has failed. The node will appear in [`Effects::behind`] again.
    pub fn snapshot_failed(&mut self, peer: NodeId) {
        self.engine.report_snapshot(peer.get(), SnapshotStatus::Failure);
        self.advance();
    }

    /// Gives up leadership; afterwards the node becomes a candidate like any follower. Does nothing on a node that does
    /// not lead.
    pub fn step_down(&mut self) {
        let raft = &mut self.engine.raft;
        if raft.state == StateRole::Leader {
            let term = raft.term;
            raft.become_follower(term, raft::INVALID_ID);
            self.advance();
        }
    }

    /// Starts an election now. Does nothing on a node without a vote, on a leader, and on the only voter while it has
    /// something to store.
    pub fn campaign(&mut self) {
        if self.engine.raft.promotable() && self.may_stand() {
            // The engine's only errors mean that no election started.
            let _ = self.engine.campaign();
            self.advance();
        }
    }

    /// Sets whether other nodes should lead if they can, because this node could lead but not serve. While it yields,
    /// it votes and appends as before. It becomes a candidate only after others have had time to, or when they cannot
    /// lead because they lack entries that it has. It refuses transfers of leadership.
    pub fn set_yielding(&mut self, yields: bool) {
        self.yields = yields;
    }

    /// Removes entries from memory up to this index, or fewer: entries that are not applied are kept, and the base
    /// never lies within a change of members. Nodes that still lack removed entries need a snapshot. Returns the index
    /// of the new base.
    pub fn compact(&mut self, to: Index) -> Index {
        let to = to.min(Index(self.engine.raft.raft_log.applied));
        let before = self.base().index;
        self.engine.mut_store().compact(to);
        assert!(self.base().index >= before, "the base goes back");
        self.check();
        self.base().index
    }

    /// Returns the base that the log would have after [`Replica::compact`] to this index.
    pub fn base_at(&self, to: Index) -> Base {
        self.engine.store().base_at(to.min(Index(self.engine.raft.raft_log.applied)))
    }

    /// Returns the effects of all inputs since the last call.
    pub fn effects(&mut self) -> Effects {
        let last = self.last();
        if self.engine.raft.state == StateRole::Leader
            && self.engine.raft.commit_to_current_term()
            && let Some(round) = self.reads.next_round(last)
        {
            self.engine.read_index(round.0.to_le_bytes().to_vec());
            self.advance();
        }
        let committed = self.committed();
        assert!(committed >= self.told, "the commit index goes back: {:?}", self.told);
        self.told = committed;
        let standing = self.standing();
        let changed = self.shown.replace(standing) != Some(standing);
        let shown = std::mem::replace(&mut self.membership_shown, true);
        Effects {
            send: std::mem::take(&mut self.send),
            store: self.stores.next_to_write(committed),
            committed,
            standing: changed.then_some(standing),
            membership: (!shown).then(|| self.membership.clone()),
            reads: std::mem::take(&mut self.confirmed),
            need_snapshot: std::mem::take(&mut self.behind),
        }
    }

    /// Asserts what holds between two calls, of the engine and of what this replica keeps beside it.
    fn check(&self) {
        let raft = &self.engine.raft;
        let log = &raft.raft_log;
        let (applied, committed) = (Index(log.applied), Index(log.committed));
        // base <= applied <= committed <= last
        assert!(self.base().index <= applied, "an entry is removed before it has taken effect");
        assert!(applied <= committed, "an entry has taken effect before it is committed");
        assert!(committed <= self.last(), "more is committed than the log has");
        // Members take effect with their entry: after a crash the node would count votes by older ones.
        assert!(applied <= self.stores.durable_last(), "an entry takes effect before it is stored");
        assert!(committed >= self.told, "the commit index goes back: {:?}", self.told);
        let log = self.engine.store();
        assert!(log.last() == self.last(), "the engine's log ends elsewhere");
        assert!(log.last_term() <= Term(raft.term), "the log ends in a term after the node's");
        let latest = self.stores.latest_vote();
        let given = (Term(raft.term), NodeId::new(raft.vote));
        assert!((latest.term, latest.candidate) == given, "the engine's vote is not to be stored");
        assert!(
            self.seen == (Term(raft.term), raft.state),
            "a change of term or role is unnoticed"
        );
        let leads = raft.state == StateRole::Leader;
        assert!(self.begins.is_some() == leads, "only a leader has a first entry");
        assert!(self.begins <= Some(self.last()), "a leader has no entry of its term");
        assert!(!leads || raft.promotable(), "a node without a vote leads");
        assert!(!leads || given.1 == Some(self.settings.id), "a leader has voted for another");
        assert!(self.incoming.is_empty(), "content is kept for an entry of an earlier input");
    }

    /// Returns the id of this node.
    pub fn id(&self) -> NodeId {
        self.settings.id
    }

    /// Returns the node's role, term and leader.
    pub fn standing(&self) -> RoleAndTerm {
        let raft = &self.engine.raft;
        let role = match raft.state {
            StateRole::Leader => Role::Leader,
            StateRole::Candidate | StateRole::PreCandidate => Role::Candidate,
            StateRole::Follower if raft.promotable() => Role::Follower,
            StateRole::Follower => Role::Learner,
        };
        let (term, leader) = (Term(raft.term), NodeId::new(raft.leader_id));
        RoleAndTerm { role, term, leader, begins: self.begins }
    }

    /// Returns the members in force.
    pub fn membership(&self) -> &Membership {
        &self.membership
    }

    /// Returns true while a change of members is in progress. Its first entry may be committed but not stored here yet:
    /// once it is stored, the engine appends the end of the change by itself.
    pub fn is_changing(&self) -> bool {
        let log = &self.engine.raft.raft_log;
        let mut waiting =
            (log.applied + 1..=log.last_index()).map(|index| self.entry(Index(index)));
        self.membership.is_joint()
            || waiting
                .any(|entry| entry.is_some_and(|entry| matches!(entry.kind, EntryKind::Members(_))))
    }

    /// Returns the commit index.
    pub fn committed(&self) -> Index {
        Index(self.engine.raft.raft_log.committed)
    }

    /// Returns the index of the last entry.
    pub fn last(&self) -> Index {
        Index(self.engine.raft.raft_log.last_index())
    }

    /// Returns the state before the first entry.
    pub fn base(&self) -> &Base {
        self.engine.store().base()
    }

    /// Returns an entry; None when it is not in memory.
    pub fn entry(&self, index: Index) -> Option<Entry> {
        self.engine.store().entry(index)
    }

    /// Returns the term of an entry in memory, or of the base.
    pub fn term_of(&self, index: Index) -> Option<Term> {
        self.engine.store().term_of(index)
    }

    /// Returns the last entry that the leader knows a node to have; None on other nodes and for nodes that are not
    /// members.
    pub fn matched(&self, node: NodeId) -> Option<Index> {
        self.leads().ok()?;
        self.engine.raft.prs().get(node.get()).map(|progress| Index(progress.matched))
    }

    /// Returns the bytes of frames that are not committed.
    pub fn uncommitted_bytes(&self) -> ByteCount {
        self.engine.store().bytes(self.committed(), self.last())
    }

    fn leads(&self) -> Result<(), NotLeader> {
        let raft = &self.engine.raft;
        if raft.state == StateRole::Leader {
            return Ok(());
        }
        Err(NotLeader { leader: NodeId::new(raft.leader_id) })
    }

    // When does the node stand for election? It is alone when its own vote is a majority.
    //
    // | case | leads | alone | stores | yields | is needed | a tick | TimeoutNow of a leader |
    // |---|---|---|---|---|---|---|---|
    // | @A | yes | any | any | any | any | passes: it sends heartbeats | of its own term: the engine ignores it |
    // | @B | no | yes | under way | any | any | does not pass | ignored |
    // | @C | no | yes | done | any | any | passes: it stands after its own timeout | stands, unless it yields |
    // | @D | no | no | any | no | any | as @C | stands |
    // | @E | no | no | any | yes | no | passes: it stands four timeouts later | ignored |
    // | @F | no | no | any | yes | yes | as @C | ignored |
    //
    // `campaign` is a tick of @A to @F at which the timeout is over. A TimeoutNow of a newer term ends a lead first, so
    // a leader is in @B to @F for it.

    /// Returns true when the node may become a candidate, or leads already: all cases but @B.
    fn may_stand(&self) -> bool {
        self.engine.raft.state == StateRole::Leader || self.may_win()
    }

    /// Returns false while the only voter has something to store (@B): the engine makes such a node the leader at once, and
    /// asserts that its log is stored.
    fn may_win(&self) -> bool {
        let is_alone = self.membership.is_quorum(|node| node == self.settings.id);
        !is_alone || self.stores.are_done()
    }

    /// Returns the ticks that a yielding node waits in addition to its own timeout: none but in @E.
    fn yielding_ticks(&self) -> usize {
        let is_alone = self.membership.is_quorum(|node| node == self.settings.id);
        let waits = self.yields && !self.is_needed && !is_alone;
        if waits { YIELDING_ELECTIONS * usize::from(self.settings.election_ticks) } else { 0 }
    }

    /// Returns whether a candidate has shown, up to this message, that it lacks entries of this log. A leader's message
    /// resets it.
    fn is_needed_after(&self, message: &Message) -> bool {
        let log = &self.engine.raft.raft_log;
        match message.body {
            MessageBody::AskVote { last, last_term, .. } => {
                self.is_needed
                    || (last_term, last) < (Term(log.last_term()), Index(log.last_index()))
            }
            MessageBody::Append { .. } | MessageBody::Heartbeat { .. } => false,
            _ => self.is_needed,
        }
    }

    /// Returns false for a message that must be ignored: guards against inputs that the engine cannot handle
    /// (docs/adr/0033-consensus-engine.md). Returns an error when the sender assumes entries that this log lacks.
    fn accepts_message(&self, message: &Message) -> Result<bool, ReceiveError> {
        let raft = &self.engine.raft;
        let last = Index(raft.raft_log.last_index());
        let ahead = |index| Err(ReceiveError::Ahead { from: message.from, index, last });
        let progress = raft.prs().get(message.from.get());
        let leads = raft.state == StateRole::Leader && message.term.0 == raft.term;
        match message.body {
            MessageBody::Heartbeat { committed, .. }
                if message.term.0 >= raft.term && committed > last =>
            {
                ahead(committed)
            }
            MessageBody::Appended { index, .. } if leads && index > last => ahead(index),
            // A stale rejection, sent before the node had the entries that it has now: the engine would probe beyond
            // the entries that are known to match (tikv/raft-rs#557).
            MessageBody::NotAppended { previous, hint, .. } => {
                Ok(!progress.is_some_and(|progress| {
                    let matched = Index(progress.matched);
                    leads && (previous <= matched || hint < matched)
                }))
            }
            // The term of the election is not stored yet, so no vote was requested.
            MessageBody::Vote { before: false, .. } => {
                Ok(message.term <= self.stores.durable_vote().term)
            }
            // @A to @F. A newer term turns a leader into a follower first, which may then become a candidate like any
            // other.
            MessageBody::TimeoutNow => Ok((leads || self.may_win()) && !self.yields),
            _ => Ok(true),
        }
    }

    /// Takes the commit index from a refused vote. A committed entry stays committed, but the engine ignores a response
    /// of an older term. Without this, a removed node that has the longest log, and alone knows that the members have
    /// changed, would refuse votes to the rightful members for ever.
    fn commit_from_refused_vote(&mut self, message: &Message) {
        let raft = &mut self.engine.raft;
        let MessageBody::Vote { granted: false, committed, committed_term, .. } = message.body
        else {
            return;
        };
        let is_ignored = message.term.0 < raft.term && raft.state != StateRole::Leader;
        if is_ignored
            && raft.raft_log.maybe_commit(committed.0, committed_term.0)
            && raft.state != StateRole::Follower
        {
            // The newly committed entries may have changed the voters.
            let term = raft.term;
            raft.become_follower(term, raft::INVALID_ID);
        }
    }

    /// Puts the content of the next entry into `incoming`, where it is joined with the engine's entry.
    fn propose(&mut self, kind: EntryKind) -> Index {
        let index = self.last().next();
        self.incoming.clear();
        self.incoming.push(Entry { term: Term(self.engine.raft.term), index, kind });
        index
    }

    /// Collects all outputs of the engine after an input.
    fn advance(&mut self) {
        let mut messages = std::mem::take(&mut self.engine.raft.msgs);
        while self.engine.has_ready() {
            let mut ready = self.engine.ready();
            for state in ready.take_read_states() {
                self.reads.answered(convert::round(&state.request_ctx));
            }
            let number = ready.number();
            let (truncate_from, entries) = self.adopt(ready.entries());
            let vote = Vote {
                term: Term(self.engine.raft.term),
                candidate: NodeId::new(self.engine.raft.vote),
            };
            // The vote and the entries must be gathered before `route` decides which messages wait for them.
            let committed = ready.take_committed_entries();
            let waits = self.stores.gather(number, vote, truncate_from, entries);
            self.engine.advance_append_async(ready);
            if !waits {
                self.engine.on_persist_ready(number);
            }
            for entry in committed.iter().filter(|entry| convert::is_turn(entry)) {
                self.turn(Index(entry.index));
            }
            if let Some(last) = committed.last() {
                // The engine gives what is stored only; what it applies it never takes back.
                assert!(Index(last.index) <= self.stores.durable_last(), "applied before stored");
                self.engine.advance_apply_to(last.index);
            }
            messages.append(&mut self.engine.raft.msgs);
        }
        self.incoming.clear();
        self.note_standing();
        self.reads.leave(self.committed(), &mut self.confirmed);
        for message in messages {
            self.route(&message);
        }
        self.check();
    }

    /// Adds the engine's entries to the log, with their content. Returns the first index that they replaced, and the
    /// entries.
    fn adopt(&mut self, entries: &[RaftEntry]) -> (Option<Index>, Vec<Entry>) {
        let Some(first) = entries.first() else { return (None, Vec::new()) };
        let begin = self.incoming.first().map_or(u64::MAX, |entry| entry.index.0);
        let leads = self.engine.raft.state == StateRole::Leader;
        let content = |entry: &RaftEntry| {
            let at = entry.index.checked_sub(begin).and_then(|at| usize::try_from(at).ok());
            let known = at.and_then(|at| self.incoming.get(at));
            let Some(known) = known.filter(|known| known.term.0 == entry.term) else {
                // Nodes would have different entries at one index.
                assert!(leads, "the content of entry {} is missing", entry.index);
                return convert::made_by_engine(entry);
            };
            let is_turn = matches!(known.kind, EntryKind::Members(_) | EntryKind::MembersFinal);
            assert!(is_turn == convert::is_turn(entry), "entry {} has another kind", entry.index);
            known.clone()
        };
        let entries: Vec<Entry> = entries.iter().map(content).collect();
        let (log, first) = (self.engine.mut_store(), Index(first.index));
        let cut = log.truncate(first);
        entries.iter().for_each(|entry| log.push(entry));
        (cut.then_some(first), entries)
    }

    /// Applies a committed entry about members.
    fn turn(&mut self, index: Index) {
        let before = &self.membership.members;
        let change = match self.engine.store().turn(index) {
            Some(Some(members)) => convert::change_to(before, members),
            _ => ConfChangeV2::default(),
        };
        // All nodes have the same members before this entry, so a change that one refuses all refuse.
        let state = self.engine.apply_conf_change(&change);
        let Some(next) = state.ok().as_ref().and_then(convert::membership) else { return };
        self.membership = next;
        self.membership_shown = false;
        let raft = &mut self.engine.raft;
        if raft.state == StateRole::Leader {
            // The followers must hear now, and not with the next heartbeat, that the change is committed: until then
            // they count votes by the old members, and two of them may be unable to elect a leader without this node.
            raft.bcast_append();
            if !raft.promotable() {
                // The engine would continue to lead, and panic when it looks for itself among the members.
                let term = raft.term;
                raft.become_follower(term, raft::INVALID_ID);
            }
        }
    }

    /// Resets what belongs to a term when the term or the role has changed.
    fn note_standing(&mut self) {
        let now = (Term(self.engine.raft.term), self.engine.raft.state);
        if now == self.seen {
            return;
        }
        assert!(now.0 >= self.seen.0, "a term goes back: {:?} after {:?}", now.0, self.seen.0);
        self.seen = now;
        self.begins =
            (now.1 == StateRole::Leader).then(|| self.engine.store().first_of_last_term(now.0));
        self.reads.clear();
        self.is_needed = false;
        self.draw_patience();
    }

    /// Sends an engine's message now, or holds it until every store that it may depend on is complete.
    ///
    /// | case | message | it promises | leaves |
    /// |---|---|---|---|
    /// | @A | pre-vote, its response, response to a heartbeat | nothing | now |
    /// | @B | of a leader: append, heartbeat, TimeoutNow | its term | now if the term is on the device |
    /// | @C | response without an entry, to the leader of an older term | its term | as @B |
    /// | @D | a vote, a request for one, a response to entries | a vote, a term or entries | after all present stores |
    /// | @E | a snapshot | nothing | never: the host sends one |
    /// | @F | has entries that the log no longer has, or stays within the engine | nothing | never |
    ///
    /// @B and @C are as @D while their term is not on the device. `leave` asserts the promise once more.
    fn route(&mut self, message: &raft::eraftpb::Message) {
        // @E
        if message.get_msg_type() == MessageType::MsgSnapshot {
            self.behind.extend(NodeId::new(message.to));
            return;
        }
        // @F
        let Some(message) = convert::from_engine(message, self.engine.store()) else { return };
        let leaves_now = match message.body {
            // @A
            MessageBody::AskVote { before: true, .. }
            | MessageBody::Vote { before: true, .. }
            | MessageBody::Alive { .. } => true,
            // @B: followers may store entries of this term. A sole voter leads before its term is stored, and after a crash
            // could lead the same term again with other entries.
            MessageBody::Append { .. }
            | MessageBody::Heartbeat { .. }
            | MessageBody::TimeoutNow => message.term <= self.stores.durable_vote().term,
            // @C: names no entry, and tells a leader that a newer term exists; it must arrive even while this node's device
            // hangs.
            MessageBody::Appended { index: Index(0), .. } => {
                message.term <= self.stores.durable_vote().term
            }
            // @D
            _ => false,
        };
        if let MessageBody::Appended { index, .. } = message.body {
            // The leader would count an entry as stored that this log does not have.
            assert!(index <= self.last(), "{index:?} is acknowledged, the log ends before");
        }
        if leaves_now {
            self.leave(message);
        } else if let Some(message) = self.stores.hold(message) {
            self.leave(message);
        }
    }

    /// Passes a message to the host. Asserts that the promise it makes is on the device.
    fn leave(&mut self, message: Message) {
        let durable = self.stores.durable_vote();
        let own = self.settings.id;
        assert!(message.from == own && message.to != own, "a message has another sender");
        // A message of an older term may name entries that a newer leader has replaced since.
        let is_of_now = message.term == durable.term;
        match message.body {
            MessageBody::Appended { index, .. } if is_of_now => {
                // The leader counts this node for the entry: after a crash too few might have it.
                let last = self.stores.durable_last();
                assert!(index <= last, "{index:?} is acknowledged, the device has up to {last:?}");
            }
            MessageBody::AskVote { before: false, .. } | MessageBody::Append { .. }
                if is_of_now =>
            {
                // After a crash the node could vote for another candidate of the term that it leads.
                assert!(durable.candidate == Some(own), "a candidate has not stored its own vote");
            }
            MessageBody::Heartbeat { committed, .. } => {
                assert!(committed <= self.committed(), "a leader tells of a later commit");
            }
            _ => {}
        }
        match message.body {
            // No promise.
            MessageBody::AskVote { before: true, .. }
            | MessageBody::Vote { before: true, .. }
            | MessageBody::Alive { .. } => {}
            MessageBody::Vote { granted: true, .. } => {
                // After a crash the node could give a vote that was not stored to another candidate.
                assert!(
                    message.term < durable.term
                        || (message.term, Some(message.to)) == (durable.term, durable.candidate),
                    "a vote is sent before it is stored"
                );
            }
            _ => {
                // After a crash the node would be in an older term than the one it has announced.
                assert!(message.term <= durable.term, "a term is told before it is stored");
            }
        }
        self.send.push(message);
    }

    /// Draws the number of ticks that the node waits before it becomes a candidate.
    fn draw_patience(&mut self) {
        let election = usize::from(self.settings.election_ticks);
        // splitmix64, mixed with the node's id so that nodes with equal seeds do not become candidates in the same
        // tick.
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15 ^ self.settings.id.get());
        let mixed = (self.random ^ (self.random >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let drawn = usize::try_from((mixed >> 33) % (election as u64 + 1)).unwrap_or(0);
        self.patience = election + usize::from(self.settings.extra_election_ticks) + drawn;
        // Half of the nodes would always be first, or the engine would refuse the number.
        assert!(drawn <= election, "a node waits for longer than two election timeouts");
    }
}
