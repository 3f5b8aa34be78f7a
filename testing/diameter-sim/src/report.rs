//! What runs have reached: a run without events would find nothing.

/// Sums over runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Report {
    pub requests: u64,
    pub copies: u64,
    pub answers: u64,
    /// Requests of which several copies were answered.
    pub answered_twice: u64,
    /// Requests whose first copy at the store is not the one that was sent first.
    pub overtaken: u64,
    /// Requests of which copies came to both doors.
    pub both_doors: u64,
    /// Answers of the store that were stored ones.
    pub replays: u64,
    /// Use of sessions that had ended.
    pub late: u64,
    pub denied: u64,
    pub debits: u64,
    pub refunds: u64,
    pub checks: u64,
    /// Refunds without a debit.
    pub credits: u64,
    /// Events that record use, or debit use that has happened.
    pub settled: u64,
    pub recorded: u64,
    /// Events that must move nothing.
    pub refused: u64,
    /// Numbers that moved, and copies of requests that came after their number had moved.
    pub moves: u64,
    pub moved_copies: u64,
    pub abandoned: u64,
    /// Answers 3004.
    pub busy: u64,
    /// Copies refused since the request was answered long ago.
    pub forgotten: u64,
    pub stalls: u64,
    pub cuts: u64,
    pub half_open: u64,
    pub door_kills: u64,
    pub door_drains: u64,
    pub suspects: u64,
    pub trusted_again: u64,
    pub watchdog_closes: u64,
    /// Connections refused since a former one of the same client stays.
    pub elections_lost: u64,
    pub failovers: u64,
    /// A number that differs if anything differs.
    pub digest: u64,
}

impl Report {
    /// Adds the sums of another run.
    pub fn add(&mut self, other: &Report) {
        let (own, other) = (self.counts(), other.clone().counts().map(|count| *count));
        for (own, other) in own.into_iter().zip(other) {
            *own = own.wrapping_add(other);
        }
    }

    fn counts(&mut self) -> [&mut u64; 32] {
        [
            &mut self.requests,
            &mut self.copies,
            &mut self.answers,
            &mut self.answered_twice,
            &mut self.overtaken,
            &mut self.both_doors,
            &mut self.replays,
            &mut self.late,
            &mut self.denied,
            &mut self.debits,
            &mut self.refunds,
            &mut self.checks,
            &mut self.credits,
            &mut self.settled,
            &mut self.recorded,
            &mut self.refused,
            &mut self.moves,
            &mut self.moved_copies,
            &mut self.abandoned,
            &mut self.busy,
            &mut self.forgotten,
            &mut self.stalls,
            &mut self.cuts,
            &mut self.half_open,
            &mut self.door_kills,
            &mut self.door_drains,
            &mut self.suspects,
            &mut self.trusted_again,
            &mut self.watchdog_closes,
            &mut self.elections_lost,
            &mut self.failovers,
            &mut self.digest,
        ]
    }
}
