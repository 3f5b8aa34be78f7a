//! Results of the rounds.

use std::fmt;

/// Counts over rounds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Rounds that ended with a kill and a restart.
    pub rounds: u64,
    /// Kills during a start.
    pub cut_short: u64,
    /// Restarts with another number of threads.
    pub divided: u64,
    /// Replies received before a kill.
    pub acknowledged: u64,
    /// Requests without a reply.
    pub in_doubt: u64,
    /// Requests without a reply that were executed, judging by the state after the crash.
    pub applied: u64,
    /// Stored answers repeated after a restart.
    pub replays: u64,
    /// Acknowledged chains of several commands.
    pub chains: u64,
    /// Refills that happened in time.
    pub refills: u64,
    /// Keys compared.
    pub keys: u64,
    /// Ends of logs that recovery cut off.
    pub cuts: u64,
    /// Snapshots completed before the kill.
    pub snapshots: u64,
    /// Calls on shared keys that were found linearizable.
    pub calls: u64,
}

impl Report {
    /// Adds the results of others.
    pub fn add(&mut self, other: &Report) {
        self.rounds += other.rounds;
        self.cut_short += other.cut_short;
        self.divided += other.divided;
        self.acknowledged += other.acknowledged;
        self.in_doubt += other.in_doubt;
        self.applied += other.applied;
        self.replays += other.replays;
        self.chains += other.chains;
        self.refills += other.refills;
        self.keys += other.keys;
        self.cuts += other.cuts;
        self.snapshots += other.snapshots;
        self.calls += other.calls;
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{} rounds; {} starts killed as well, {} with another number of threads",
            self.rounds, self.cut_short, self.divided
        )?;
        writeln!(
            f,
            "{} replies had come and {} requests were in doubt, {} of them executed",
            self.acknowledged, self.in_doubt, self.applied
        )?;
        writeln!(f, "{} chains had come, {} refills were seen", self.chains, self.refills)?;
        writeln!(f, "{} snapshots completed, {} ends of logs cut off", self.snapshots, self.cuts)?;
        write!(
            f,
            "{} keys compared, {} stored answers given again, {} calls found linearizable",
            self.keys, self.replays, self.calls
        )
    }
}
