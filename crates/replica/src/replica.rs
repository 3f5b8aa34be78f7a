//! A replica: inputs of the host and of the other replicas, and what comes of them.

use crate::convert;
use crate::effects::{Effects, Role, Standing, Vote};
use crate::entry::{Descriptor, Entry, Kind, Members, Membership};
use crate::ids::{Index, NodeId, ReadTicket, Term, Ticket};
use crate::log::{Base, Log, Recovered, RecoveredError};
use crate::message::{Body, Message};
use crate::reads::Reads;
use crate::settings::Settings;
use crate::stores::Stores;
use raft::eraftpb::{ConfChangeV2, Entry as RaftEntry, MessageType};
use raft::{Config, ProgressState, RawNode, ReadOnlyOption, SnapshotStatus, StateRole};
use slog::{Discard, Logger, o};

/// Election time-outs that a node which lets others lead waits longer than they do: enough for two tries of theirs.
const YIELDING_ELECTIONS: usize = 4;

/// The node does not lead.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this node does not lead: ask {}", .leader.map_or("again when there is a leader".to_owned(), |leader| format!("node {leader}")))]
pub struct NotLeader {
    /// The leader, as far as it is known.
    pub leader: Option<NodeId>,
}

/// Why an entry was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AppendError {
    /// The node does not lead.
    #[error(transparent)]
    NotLeader(#[from] NotLeader),
    /// Too much is not committed.
    #[error("{0} bytes are not committed: wait for the other nodes")]
    Full(u64),
    /// Another node is about to lead.
    #[error("leadership is on its way to node {0}: wait for its end")]
    Moving(NodeId),
}

/// Why members were not changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChangeError {
    /// The node does not lead.
    #[error(transparent)]
    NotLeader(#[from] NotLeader),
    /// Another change is not done, or the leader has not committed an entry of its own.
    #[error("a change of members is not done yet: wait for its end")]
    Busy,
    /// The members are those already.
    #[error("these are the members already")]
    Same,
    /// The leader would have no vote.
    #[error("this node leads and would have no vote: transfer leadership to another node first")]
    Leader,
}

/// Why a message was not taken. Nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReceiveError {
    /// Another node's.
    #[error("the message is for node {0}: it was sent to the wrong address")]
    Address(NodeId),
    /// A node that is no member answers.
    #[error("node {0} is no member: it was removed, or belongs to other nodes")]
    Stranger(NodeId),
    /// The sender takes entries for present that this log does not have.
    #[error(
        "node {from} takes entry {index:?} for present, the log ends at {last:?}: what was stored here is lost, or another node has this identity; let this node join anew"
    )]
    Ahead {
        /// The sender.
        from: NodeId,
        /// The entry.
        index: Index,
        /// The end of the log.
        last: Index,
    },
}

/// Why a log was not put in place of the one that a replica has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReplaceError {
    /// The log cannot be.
    #[error(transparent)]
    Recovered(#[from] RecoveredError),
    /// A leader's log is replaced by nobody.
    #[error("this node leads: its log is not replaced")]
    Leader,
    /// Stores are under way.
    #[error("stores are under way: wait for their end")]
    Busy,
    /// The replica has all of it, and the leader does not know: it is to be told by [`Replica::caught_up`] that
    /// the node has a log up to here.
    #[error("the log that came up to {0:?} is here already: tell the leader so")]
    Present(Index),
    /// The replica has more, and may have promised it.
    #[error("the log that came ends at {came:?}, behind {own:?} of this node: fetch a newer one")]
    Older {
        /// The end of the log that came.
        came: (Term, Index),
        /// The end of the log that is here.
        own: (Term, Index),
    },
}

/// A replica.
pub struct Replica {
    settings: Settings,
    engine: RawNode<Log>,
    /// The content of entries that the engine is about to take.
    incoming: Vec<Entry>,
    stores: Stores,
    reads: Reads,
    shown: Option<Standing>,
    /// The term and the part in it when an input had been taken last.
    seen: (Term, StateRole),
    begins: Option<Index>,
    membership: Membership,
    /// Ticks without a leader after which it stands for election in this term.
    patience: usize,
    /// Others are to lead while they can.
    yields: bool,
    /// Another has asked for votes whose log is shorter: it cannot lead.
    is_needed: bool,
    random: u64,
    send: Vec<Message>,
    confirmed: Vec<ReadTicket>,
    behind: Vec<NodeId>,
    membership_shown: bool,
}

impl Replica {
    /// The replica with what was found on its disk.
    pub fn new(settings: Settings, recovered: Recovered) -> Result<Replica, RecoveredError> {
        settings.check()?;
        let log = Log::new(recovered)?;
        let election = usize::from(settings.election_ticks);
        let config = Config {
            id: settings.id.get(),
            election_tick: election,
            heartbeat_tick: usize::from(settings.heartbeat_ticks),
            applied: log.base().index.0,
            max_size_per_msg: settings.append_bytes,
            max_inflight_msgs: settings.window,
            check_quorum: true,
            pre_vote: true,
            min_election_tick: election,
            max_election_tick: (2 + YIELDING_ELECTIONS) * election
                + usize::from(settings.patience)
                + 1,
            read_only_option: ReadOnlyOption::Safe,
            // A commit index goes with the next append or heartbeat.
            skip_bcast_commit: true,
            batch_append: false,
            // In the counting of votes: it could leave two of three nodes without a leader.
            priority: 0,
            max_uncommitted_size: raft::NO_LIMIT,
            max_committed_size_per_ready: settings.append_bytes,
        };
        let membership = Membership { members: log.base().members.clone(), outgoing: Vec::new() };
        let stores = Stores::new(log.vote());
        let random = settings.seed;
        // Everything it refuses was looked at before.
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
        };
        replica.draw_patience();
        replica.advance();
        Ok(replica)
    }

    /// The same node with another log, for one that was behind: what a peer has streamed. All that this replica
    /// has promised is in it, or was never committed.
    pub fn replace(&self, recovered: Recovered) -> Result<Replica, ReplaceError> {
        if self.engine.raft.state == StateRole::Leader {
            return Err(ReplaceError::Leader);
        }
        if !self.stores.are_done() {
            return Err(ReplaceError::Busy);
        }
        let end = |base: &Base, last: Option<&Entry>| {
            last.map_or((base.term, base.index), |entry| (entry.term, entry.index))
        };
        let came = end(&recovered.base, recovered.entries.last());
        let own = (self.term_of(self.last()).unwrap_or_default(), self.last());
        let is_here = came.1 <= self.base().index || self.term_of(came.1) == Some(came.0);
        if is_here {
            return Err(ReplaceError::Present(came.1));
        }
        if came < own {
            return Err(ReplaceError::Older { came, own });
        }
        let vote = self.stores.durable_vote();
        let settings = Settings { seed: self.random, ..self.settings.clone() };
        Ok(Replica::new(settings, Recovered { vote, ..recovered })?)
    }

    /// A tick of the host's clock has passed.
    pub fn tick(&mut self) {
        if !self.may_stand() {
            return;
        }
        // The engine draws a time of its own whenever it resets itself: only this place reads it.
        self.engine.raft.set_randomized_election_timeout(self.patience + self.yielding_ticks());
        self.engine.tick();
        self.advance();
    }

    /// A message has come. The bodies of its entries are there, and their checksums hold.
    pub fn receive(&mut self, message: Message) -> Result<(), ReceiveError> {
        if message.to != self.settings.id || message.from == self.settings.id {
            return Err(ReceiveError::Address(message.to));
        }
        if !self.is_to_be_taken(&message)? {
            return Ok(());
        }
        self.learn_from_refusal(&message);
        let is_needed = self.is_needed_after(&message);
        let to_engine = convert::to_engine(&message);
        if let Body::Append { entries, .. } = message.body {
            self.incoming = entries;
        }
        let outcome = self.engine.step(to_engine);
        self.advance();
        self.is_needed = is_needed;
        outcome.map_err(|_| ReceiveError::Stranger(message.from))
    }

    /// Appends a frame that the leader has made.
    pub fn append(&mut self, descriptor: Descriptor) -> Result<Index, AppendError> {
        self.leads()?;
        if let Some(to) = self.engine.raft.lead_transferee.and_then(NodeId::new) {
            return Err(AppendError::Moving(to));
        }
        let uncommitted = self.uncommitted_bytes();
        let with_this = uncommitted + u64::from(descriptor.len);
        if uncommitted > 0 && with_this > self.settings.uncommitted_bytes {
            return Err(AppendError::Full(uncommitted));
        }
        let index = self.propose(Kind::Frame(descriptor));
        // Its own entries have no content for the engine.
        let outcome = self.engine.propose(Vec::new(), Vec::new());
        self.advance();
        outcome.map_err(|_| NotLeader { leader: None })?;
        Ok(index)
    }

    /// Everything up to this ticket is on the device.
    pub fn stored(&mut self, ticket: Ticket) {
        let stored = self.stores.stored(ticket);
        stored.released.into_iter().for_each(|message| self.leave(message));
        if let Some(number) = stored.number {
            self.engine.on_persist_ready(number);
        }
        self.advance();
    }

    /// Asks for the confirmation that this node leads. Everything that the read shows has been appended before.
    pub fn read(&mut self) -> Result<ReadTicket, NotLeader> {
        self.leads()?;
        Ok(self.reads.ask(self.last()))
    }

    /// Hands leadership over to a voter, once that has all entries. It is given up after `election_ticks`.
    pub fn transfer(&mut self, to: NodeId) -> Result<(), NotLeader> {
        self.leads()?;
        self.engine.transfer_leader(to.get());
        self.advance();
        Ok(())
    }

    /// Changes the members, by a majority of those before and of these. It is over when a majority of these shows
    /// them ([`Effects::membership`]): only then are those that were removed needed no more.
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
        let index = self.propose(Kind::Members(Box::new(members)));
        let outcome = self.engine.propose_conf_change(Vec::new(), change);
        // The engine puts an empty entry in the place of a change that it does not take.
        let taken =
            self.engine.raft.raft_log.unstable_entries().last().is_some_and(convert::is_turn);
        if !taken {
            self.incoming.clear();
        }
        self.advance();
        if outcome.is_ok() && taken { Ok(index) } else { Err(ChangeError::Busy) }
    }

    /// Messages to this node are lost.
    pub fn unreachable(&mut self, peer: NodeId) {
        self.engine.report_unreachable(peer.get());
        self.advance();
    }

    /// A node that was behind has got a log up to here.
    pub fn caught_up(&mut self, peer: NodeId, index: Index) {
        let last = self.last().0;
        if let Some(progress) = self.engine.raft.mut_prs().get_mut(peer.get())
            && progress.state == ProgressState::Snapshot
        {
            progress.pending_snapshot = progress.pending_snapshot.max(index.0.min(last));
        }
        self.engine.report_snapshot(peer.get(), SnapshotStatus::Finish);
        self.advance();
    }

    /// A node that was behind has not got a snapshot. It will be shown again.
    pub fn snapshot_failed(&mut self, peer: NodeId) {
        self.engine.report_snapshot(peer.get(), SnapshotStatus::Failure);
        self.advance();
    }

    /// Leads no more, and stands for election again as any other does. Nothing happens on a node that does not lead.
    pub fn step_down(&mut self) {
        let raft = &mut self.engine.raft;
        if raft.state == StateRole::Leader {
            let term = raft.term;
            raft.become_follower(term, raft::INVALID_ID);
            self.advance();
        }
    }

    /// Stands for election now. Nothing happens on a node without a vote, and on a leader.
    pub fn campaign(&mut self) {
        if self.engine.raft.promotable() && self.may_stand() {
            // An election that cannot begin is none.
            let _ = self.engine.campaign();
            self.advance();
        }
    }

    /// Whether others are to lead while they can, because this node could lead and not serve. It votes and takes
    /// entries as before, stands for election only when others have had the time to, or cannot lead for want of
    /// entries that it has, and does not take leadership over.
    pub fn let_others_lead(&mut self, yields: bool) {
        self.yields = yields;
    }

    /// Forgets entries up to here, or fewer: those that are not applied are kept, and a change of members is not
    /// divided. Nodes that are behind need a snapshot then.
    pub fn compact(&mut self, to: Index) -> Index {
        let to = to.min(Index(self.engine.raft.raft_log.applied));
        self.engine.mut_store().compact(to);
        self.base().index
    }

    /// The base that the log would have without the entries up to here, or to one before: see
    /// [`Replica::compact`].
    pub fn base_at(&self, to: Index) -> Base {
        self.engine.store().base_at(to.min(Index(self.engine.raft.raft_log.applied)))
    }

    /// Takes what has come of the inputs.
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
        let standing = self.standing();
        let changed = self.shown.replace(standing) != Some(standing);
        let shown = std::mem::replace(&mut self.membership_shown, true);
        Effects {
            send: std::mem::take(&mut self.send),
            store: self.stores.take(committed),
            committed,
            standing: changed.then_some(standing),
            membership: (!shown).then(|| self.membership.clone()),
            reads: std::mem::take(&mut self.confirmed),
            behind: std::mem::take(&mut self.behind),
        }
    }

    /// The node.
    pub fn id(&self) -> NodeId {
        self.settings.id
    }

    /// The node's standing.
    pub fn standing(&self) -> Standing {
        let raft = &self.engine.raft;
        let role = match raft.state {
            StateRole::Leader => Role::Leader,
            StateRole::Candidate | StateRole::PreCandidate => Role::Candidate,
            StateRole::Follower if raft.promotable() => Role::Follower,
            StateRole::Follower => Role::Learner,
        };
        let (term, leader) = (Term(raft.term), NodeId::new(raft.leader_id));
        Standing { role, term, leader, begins: self.begins }
    }

    /// The members in force.
    pub fn membership(&self) -> &Membership {
        &self.membership
    }

    /// True while a change of members is under way. Its beginning may be committed, and not stored here yet: when it
    /// is, the engine appends the end of the change by itself.
    pub fn is_changing(&self) -> bool {
        let log = &self.engine.raft.raft_log;
        let mut waiting =
            (log.applied + 1..=log.last_index()).map(|index| self.entry(Index(index)));
        self.membership.is_joint()
            || waiting
                .any(|entry| entry.is_some_and(|entry| matches!(entry.kind, Kind::Members(_))))
    }

    /// The commit index.
    pub fn committed(&self) -> Index {
        Index(self.engine.raft.raft_log.committed)
    }

    /// The last entry.
    pub fn last(&self) -> Index {
        Index(self.engine.raft.raft_log.last_index())
    }

    /// The state before the first entry.
    pub fn base(&self) -> &Base {
        self.engine.store().base()
    }

    /// An entry that is in memory.
    pub fn entry(&self, index: Index) -> Option<Entry> {
        self.engine.store().entry(index)
    }

    /// The term of an entry that is in memory, or of the base.
    pub fn term_of(&self, index: Index) -> Option<Term> {
        self.engine.store().term_of(index)
    }

    /// The last entry that a node is known to have; known to a leader alone.
    pub fn matched(&self, node: NodeId) -> Option<Index> {
        self.leads().ok()?;
        self.engine.raft.prs().get(node.get()).map(|progress| Index(progress.matched))
    }

    /// Bytes of frames that are not committed.
    pub fn uncommitted_bytes(&self) -> u64 {
        self.engine.store().bytes(self.committed(), self.last())
    }

    fn leads(&self) -> Result<(), NotLeader> {
        let raft = &self.engine.raft;
        if raft.state == StateRole::Leader {
            return Ok(());
        }
        Err(NotLeader { leader: NodeId::new(raft.leader_id) })
    }

    /// Whether the node may stand for election, or leads already.
    fn may_stand(&self) -> bool {
        self.engine.raft.state == StateRole::Leader || self.may_win()
    }

    /// Returns false while the only voter has something to store: the engine makes such a node the leader at once,
    /// and expects its log to be stored.
    fn may_win(&self) -> bool {
        let is_alone = self.membership.is_quorum(|node| node == self.settings.id);
        !is_alone || self.stores.are_done()
    }

    /// Ticks by which the node waits longer than by its own patience.
    fn yielding_ticks(&self) -> usize {
        let is_alone = self.membership.is_quorum(|node| node == self.settings.id);
        let waits = self.yields && !self.is_needed && !is_alone;
        if waits { YIELDING_ELECTIONS * usize::from(self.settings.election_ticks) } else { 0 }
    }

    /// Whether no other can lead, as far as candidates have shown until this message.
    fn is_needed_after(&self, message: &Message) -> bool {
        let log = &self.engine.raft.raft_log;
        match message.body {
            Body::AskVote { last, last_term, .. } => {
                self.is_needed
                    || (last_term, last) < (Term(log.last_term()), Index(log.last_index()))
            }
            Body::Append { .. } | Body::Heartbeat { .. } => false,
            _ => self.is_needed,
        }
    }

    /// False for a message that is to be ignored: guards against what the engine does not bear.
    fn is_to_be_taken(&self, message: &Message) -> Result<bool, ReceiveError> {
        let raft = &self.engine.raft;
        let last = Index(raft.raft_log.last_index());
        let ahead = |index| Err(ReceiveError::Ahead { from: message.from, index, last });
        let progress = raft.prs().get(message.from.get());
        let leads = raft.state == StateRole::Leader && message.term.0 == raft.term;
        match message.body {
            Body::Heartbeat { committed, .. }
                if message.term.0 >= raft.term && committed > last =>
            {
                ahead(committed)
            }
            Body::Appended { index, .. } if leads && index > last => ahead(index),
            // An answer from before the node had what it has now. The engine would probe behind what is sure
            // (tikv/raft-rs#557).
            Body::NotAppended { previous, hint, .. } => Ok(!progress.is_some_and(|progress| {
                let matched = Index(progress.matched);
                leads && (previous <= matched || hint < matched)
            })),
            // Nobody has been asked yet.
            Body::Vote { before: false, .. } => Ok(message.term <= self.stores.durable_vote().term),
            // A newer term makes a leader a follower first, which then stands as any other does.
            Body::StandNow => Ok((leads || self.may_win()) && !self.yields),
            _ => Ok(true),
        }
    }

    /// Commits what a refused vote tells of. What is committed is so for ever, and the engine ignores an answer of
    /// an older term: a node that was removed, has the longer log and knows alone that the members have changed
    /// would refuse for ever to let those lead who may.
    fn learn_from_refusal(&mut self, message: &Message) {
        let raft = &mut self.engine.raft;
        let Body::Vote { granted: false, committed, committed_term, .. } = message.body else {
            return;
        };
        let is_ignored = message.term.0 < raft.term && raft.state != StateRole::Leader;
        if is_ignored
            && raft.raft_log.maybe_commit(committed.0, committed_term.0)
            && raft.state != StateRole::Follower
        {
            // It may have changed who decides.
            let term = raft.term;
            raft.become_follower(term, raft::INVALID_ID);
        }
    }

    /// Puts the content of the next entry beside what the engine will make of it.
    fn propose(&mut self, kind: Kind) -> Index {
        let index = self.last().next();
        self.incoming.clear();
        self.incoming.push(Entry { term: Term(self.engine.raft.term), index, kind });
        index
    }

    /// Takes from the engine all that an input has led to.
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
    }

    /// Takes entries of the engine into the log, with their content.
    fn adopt(&mut self, entries: &[RaftEntry]) -> (Option<Index>, Vec<Entry>) {
        let Some(first) = entries.first() else { return (None, Vec::new()) };
        let begin = self.incoming.first().map_or(u64::MAX, |entry| entry.index.0);
        let content = |entry: &RaftEntry| {
            let at = entry.index.checked_sub(begin).and_then(|at| usize::try_from(at).ok());
            let known = at.and_then(|at| self.incoming.get(at));
            known
                .filter(|known| known.term.0 == entry.term)
                .map_or_else(|| convert::made_by_engine(entry), Entry::clone)
        };
        let entries: Vec<Entry> = entries.iter().map(content).collect();
        let (log, first) = (self.engine.mut_store(), Index(first.index));
        let cut = log.truncate(first);
        entries.iter().for_each(|entry| log.push(entry));
        (cut.then_some(first), entries)
    }

    /// An entry about members is committed.
    fn turn(&mut self, index: Index) {
        let before = &self.membership.members;
        let change = match self.engine.store().turn(index) {
            Some(Some(members)) => convert::change_to(before, members),
            _ => ConfChangeV2::default(),
        };
        // All nodes have the same members before it, so what one refuses all refuse.
        let state = self.engine.apply_conf_change(&change);
        let Some(next) = state.ok().as_ref().and_then(convert::membership) else { return };
        self.membership = next;
        self.membership_shown = false;
        let raft = &mut self.engine.raft;
        if raft.state == StateRole::Leader {
            // The others learn now that the change is committed, and not with the next heartbeat: until then they count
            // votes as before, and two of them may not be able to do without this node.
            raft.bcast_append();
            if !raft.promotable() {
                // The engine would go on leading, and look for itself among the members.
                let term = raft.term;
                raft.become_follower(term, raft::INVALID_ID);
            }
        }
    }

    /// Looks whether the node's part has changed.
    fn note_standing(&mut self) {
        let now = (Term(self.engine.raft.term), self.engine.raft.state);
        if now == self.seen {
            return;
        }
        self.seen = now;
        self.begins =
            (now.1 == StateRole::Leader).then(|| self.engine.store().first_of_last_term(now.0));
        self.reads.clear();
        self.is_needed = false;
        self.draw_patience();
    }

    /// Sends a message of the engine now, or when everything is stored that it may depend on.
    fn route(&mut self, message: &raft::eraftpb::Message) {
        if message.get_msg_type() == MessageType::MsgSnapshot {
            self.behind.extend(NodeId::new(message.to));
            return;
        }
        let Some(message) = convert::from_engine(message, self.engine.store()) else { return };
        let leaves_now = match message.body {
            // Nothing is promised.
            Body::AskVote { before: true, .. }
            | Body::Vote { before: true, .. }
            | Body::Alive { .. } => true,
            // Others may take entries of this term. A node that needs nobody else leads before its term is
            // stored, and would lead the same term a second time after a crash, with other entries.
            Body::Append { .. } | Body::Heartbeat { .. } | Body::StandNow => {
                message.term <= self.stores.durable_vote().term
            }
            // It names no entry, and tells a leader that it has been overtaken, also where the device stands still.
            Body::Appended { index: Index(0), .. } => {
                message.term <= self.stores.durable_vote().term
            }
            _ => false,
        };
        if let Body::Appended { index, .. } = message.body {
            // A leader would count an entry as stored that this log does not have.
            assert!(index <= self.last(), "{index:?} is acknowledged, the log ends before");
        }
        if leaves_now {
            self.leave(message);
        } else if let Some(message) = self.stores.hold(message) {
            self.leave(message);
        }
    }

    /// Gives a message to the host. Checks that what it promises is on the device.
    fn leave(&mut self, message: Message) {
        let durable = self.stores.durable_vote();
        match message.body {
            // Nothing is promised.
            Body::AskVote { before: true, .. }
            | Body::Vote { before: true, .. }
            | Body::Alive { .. } => {}
            Body::Vote { granted: true, .. } => {
                // A vote that a crash can take back could be given again to another candidate.
                assert!(
                    message.term < durable.term
                        || (message.term, Some(message.to)) == (durable.term, durable.candidate),
                    "a vote is sent before it is stored"
                );
            }
            _ => {
                // After a crash the node would be in an older term than it has told others.
                assert!(message.term <= durable.term, "a term is told before it is stored");
            }
        }
        self.send.push(message);
    }

    /// Draws how long the node waits before it stands for election.
    fn draw_patience(&mut self) {
        let election = usize::from(self.settings.election_ticks);
        // splitmix64, mixed with the node so that equal seeds do not stand at the same tick.
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15 ^ self.settings.id.get());
        let mixed = (self.random ^ (self.random >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let drawn = usize::try_from((mixed >> 33) % (election as u64 + 1)).unwrap_or(0);
        self.patience = election + usize::from(self.settings.patience) + drawn;
    }
}
