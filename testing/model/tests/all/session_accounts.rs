//! The account of a session by an identity that has moved, on a shard: compared with a walk through all accounts, with
//! timers punctual or late, accounts kept in parts, and restarts from snapshots and logs (docs/ledger.md section 11).

use scurry_codec::{ChunkWriter, Chunked, Framed, Positions, Seal, read_chunk, read_frame};
use scurry_engine::{APART_LEN, Config, HashKey, LogId, Outcome, Shard, checksum};
use scurry_ledger::{
    Account, Command, HolderStanding, ItemRequest, Limits, Name, SessionOptions, SessionRequest,
    Status, Time,
};
use scurry_model::Random;

const SEEDS: u64 = 200;
const STEPS: usize = 150;
const START: i64 = 1_700_000_000_000;
const ACCOUNTS: [&[u8]; 4] = [b"anna", b"bert", b"carl", b"dora"];
const VALUES: [&[u8]; 3] = [b"1", b"2", b"3"];
const SESSIONS: [&[u8]; 4] = [b"s", b"t", b"u", b"v"];
const LOG_ID: LogId = LogId { id: 7, core: 0 };
/// Memory of an identity in the index of a shard, bytes.
const PAIR_BYTES: u64 = 30;

struct Run {
    random: Random,
    seed: u64,
    config: Config,
    shard: Shard,
    log: Vec<u8>,
    now: i64,
    /// Answers that named an account which has the session, had the identity, or has it.
    found: [usize; 3],
}

fn kind() -> Name {
    Name::new(b"msisdn").expect("a name")
}

fn seal() -> Seal {
    Seal::new(checksum, LOG_ID.id)
}

impl Run {
    fn new(seed: u64) -> Run {
        let mut random = Random::new(seed);
        let limits = Limits {
            tombstone_ms: random.pick(&[0, 20, 60]),
            transaction_ms: random.pick(&[0, 30, 100]),
            ..Limits::default()
        };
        let apart_len = random.pick(&[APART_LEN, 0, 60]);
        let hash_key = HashKey::known(seed);
        let config = Config { limits, apart_len, hash_key, ..Config::default() };
        let mut shard = Shard::new(config.clone());
        shard.keep_journal(LOG_ID, 1);
        Run { random, seed, config, shard, log: vec![], now: START, found: [0; 3] }
    }

    fn run(&mut self, id: &[u8], command: &Command<'_>) {
        let outcome = self.shard.execute(Time(self.now), self.shard.key(id), command);
        assert!(matches!(outcome, Outcome::Answer { .. } | Outcome::Reject(_)), "{outcome:?}");
    }

    fn step(&mut self) {
        let id = self.random.pick(&ACCOUNTS);
        let session = self.random.pick(&SESSIONS);
        match self.random.below(20) {
            0 => self.run(id, &Command::Delete { force: true, if_txn: None }),
            1..7 => {
                let value = self.random.pick(&[VALUES[0], VALUES[1], VALUES[2], b""]);
                let status = if self.random.one_in(20) { Status::Closed } else { Status::Active };
                let identities = [(kind(), value)];
                self.run(id, &Command::Status { txn: None, status, identities: &identities });
            }
            7..11 => {
                let tcc_ms = Some(self.random.between(1, 250));
                let options = SessionOptions { tcc_ms, ..SessionOptions::default() };
                let request = SessionRequest { session, options, ..SessionRequest::default() };
                self.run(id, &Command::Reserve(request));
            }
            11 => {
                let cancel = self.random.one_in(2);
                self.run(id, &Command::Release { session, txn: None, cancel });
            }
            12 => {
                let options = SessionOptions { late_use: true, ..SessionOptions::default() };
                let items = [ItemRequest {
                    key: 1.into(),
                    unit: Name::new(b"u").expect("a name"),
                    used: Some(1),
                    requested: None,
                    min: None,
                }];
                let mut request = SessionRequest { session, options, ..SessionRequest::default() };
                (request.request, request.items) = (9, &items);
                self.run(id, &Command::Terminate(request));
            }
            13..16 => self.now += self.random.pick(&[1, 7, 30, 150]),
            16 if self.random.one_in(5) => self.restart(),
            _ => self.create(id),
        }
        self.compare();
    }

    fn create(&mut self, id: &[u8]) {
        let identities = [(kind(), self.random.pick(&VALUES))];
        let active = scurry_ledger::Create::active(&[]);
        let create = scurry_ledger::Create { identities: &identities, ..active };
        self.run(id, &Command::Create(create));
    }

    fn restart(&mut self) {
        let journal = self.shard.journal().expect("a journal");
        if !journal.is_empty() {
            let mut frames = Vec::new();
            journal.seal(0, Time(self.now));
            journal.take_sealed(&mut frames);
            self.log.extend(frames);
        }
        let mut shard = Shard::new(self.config.clone());
        if self.random.one_in(2) {
            let mut rest = self.log.as_slice();
            while !rest.is_empty() {
                let Framed::Frame(frame) = read_frame(seal(), rest) else { panic!("a frame") };
                let mut records = frame.records();
                while let Some(record) = records.next() {
                    shard.replay(&record.expect("a record")).expect("it is applied");
                }
                rest = &rest[frame.len()..];
            }
        } else {
            let mut writer = ChunkWriter::new(seal());
            assert_eq!(self.shard.copy_chunk(0, usize::MAX, &mut writer), 0);
            writer.seal(Positions { from: 0, to: 0 }, 1);
            let mut bytes = Vec::new();
            writer.take_sealed(&mut bytes);
            let Chunked::Chunk(chunk) = read_chunk(seal(), &bytes) else { panic!("a chunk") };
            for entry in chunk.entries() {
                shard.restore(&entry.expect("an entry")).expect("it is taken");
            }
        }
        shard.keep_journal(LOG_ID, self.shard.sequence() + 1);
        self.shard = shard;
    }

    /// Returns every account as it is read now.
    fn accounts(&mut self) -> Vec<(&'static [u8], Account)> {
        let now = Time(self.now);
        let shard = &mut self.shard;
        let read = |id: &'static [u8]| Some((id, shard.account(now, shard.key(id)).ok()?.clone()));
        ACCOUNTS.into_iter().filter_map(read).collect()
    }

    fn compare(&mut self) {
        let accounts = self.accounts();
        for value in VALUES {
            let mut present = vec![];
            self.shard.find_accounts(kind(), value, 16, |id| present.push(id.to_vec()));
            present.sort();
            let has = |account: &Account| {
                account.identities.iter().any(|one| one.value.as_bytes() == value)
            };
            let expected = accounts.iter().filter(|(_, account)| has(account));
            let expected: Vec<Vec<u8>> = expected.map(|(id, _)| id.to_vec()).collect();
            assert_eq!(present, expected, "seed {}: present holders", self.seed);
            for session in SESSIONS {
                let found =
                    self.shard.find_session_account(Time(self.now), (kind(), value), session);
                let expected = naive(&accounts, value, session);
                let came = found.as_ref().map(|(_, id)| id.as_ref());
                assert_eq!(came, expected, "seed {}: {value:?} {session:?}", self.seed);
                let place = found.map(|(holder, _)| match holder.standing {
                    HolderStanding::Open | HolderStanding::Ended => 0,
                    HolderStanding::Former => 1,
                    HolderStanding::Present => 2,
                });
                if let Some(place) = place {
                    self.found[place] += 1;
                }
            }
        }
        if !self.random.one_in(4) {
            return;
        }
        while self.shard.tick(Time(self.now)) > 0 {}
        let known = |(_, account): &(&[u8], Account)| {
            account.identities.len() + account.former_identities.len()
        };
        let pairs: usize = accounts.iter().map(known).sum();
        let bytes = self.shard.stats().memory.index;
        assert_eq!(bytes, pairs as u64 * PAIR_BYTES, "seed {}: the index", self.seed);
    }
}

/// Returns the account of a session from the text of the rules: one that has it, open before ended; else the one that
/// gave the identity up last; else one that has it. Of equal ones a present holder, then the latest, then the lowest id.
fn naive<'a>(accounts: &[(&'a [u8], Account)], value: &[u8], session: &[u8]) -> Option<&'a [u8]> {
    let mut best: Option<(i64, i64, &[u8])> = None;
    for (id, account) in accounts {
        let given_up = account.former_identities.iter();
        let given_up = given_up.filter(|former| former.identity.value.as_bytes() == value);
        let given_up = given_up.map(|former| former.given_up_at.0).next();
        let is_present = account.identities.iter().any(|one| one.value.as_bytes() == value);
        if given_up.is_none() && !is_present {
            continue;
        }
        let is_open = account.sessions.iter().any(|open| open.id.as_bytes() == session);
        let has_ended = account.tombstones.iter().any(|ended| ended.id.as_bytes() == session);
        let rank = match (is_open, has_ended, given_up) {
            (true, _, _) => 3,
            (_, true, _) => 2,
            (_, _, Some(_)) => 1,
            (_, _, None) => 0,
        };
        let latest = given_up.unwrap_or(i64::MAX);
        let is_better = best.is_none_or(|(most, last, other)| {
            (rank, latest) > (most, last) || ((rank, latest) == (most, last) && *id < other)
        });
        if is_better {
            best = Some((rank, latest, id));
        }
    }
    best.map(|(_, _, id)| id)
}

#[test]
fn the_account_of_a_session_is_found_by_an_identity_that_has_moved() {
    let mut found = [0; 3];
    for seed in 0..SEEDS {
        let mut run = Run::new(seed);
        for _ in 0..STEPS {
            run.step();
        }
        found = [0, 1, 2].map(|at| found[at] + run.found[at]);
    }
    assert!(found.iter().all(|&count| count > 1_000), "too few of a kind: {found:?}");
}
