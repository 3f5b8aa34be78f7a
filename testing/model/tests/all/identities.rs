//! Accounts by identity compared with naive maps, on two shards of one server: which account is found, which identity
//! is refused because another account has it, and that a restart from a snapshot or a log gives the same state.

use scurry_codec::{ChunkWriter, Chunked, Framed, Positions, Seal, read_chunk, read_frame};
use scurry_engine::{
    Config, HashKey, LoadError, LogId, Outcome, Shard, UniqueIdentities, checksum,
};
use scurry_ledger::{Code, Command, Create, Name, Status, Time};
use scurry_model::Random;
use std::collections::BTreeMap;

const SEEDS: u64 = 300;
const STEPS: usize = 200;
const NOW: Time = Time(1_700_000_000_000);
const KINDS: [&str; 3] = ["imsi", "msisdn", "k"];
const VALUES: [&str; 4] = ["1", "41791234567", "imsi", "x y"];
const SHARDS: usize = 2;
const ACCOUNTS: usize = 5;
/// Memory of an identity in the index of a shard, bytes.
const PAIR_BYTES: u64 = 30;

type Identity = (&'static str, &'static str);

/// Account according to the rules.
#[derive(Clone, Debug)]
struct Account {
    status: Status,
    identities: Vec<Identity>,
}

/// One shard, and its expected accounts.
struct One {
    shard: Shard,
    accounts: BTreeMap<String, Account>,
    /// Identities that were given up, each with the sequence of the record that says so, until that is durable.
    pending: Vec<(u64, Identity)>,
    /// Log since its beginning.
    log: Vec<u8>,
}

struct Server {
    random: Random,
    seed: u64,
    unique: Vec<&'static str>,
    all: Vec<One>,
}

fn name(text: &str) -> Name {
    Name::new(text.as_bytes()).expect("a name")
}

fn log_id(shard: usize) -> LogId {
    LogId { id: 7, core: u32::try_from(shard).expect("small") }
}

fn seal(shard: usize) -> Seal {
    Seal::new(checksum, log_id(shard).id)
}

/// Reports whether a value is valid: it has no space.
fn is_value(value: &str) -> bool {
    !value.contains(' ')
}

impl Server {
    fn new(seed: u64) -> Server {
        let mut random = Random::new(seed);
        let unique = random.pick(&[&[][..], &["imsi"], &["imsi", "k"]]).to_vec();
        let mut server = Server { random, seed, unique, all: Vec::new() };
        server.all = server.shards().into_iter().map(One::new).collect();
        server
    }

    /// Returns empty shards of one server, which keep journals.
    fn shards(&self) -> Vec<Shard> {
        let kinds: Vec<Name> = self.unique.iter().map(|kind| name(kind)).collect();
        let unique = (!kinds.is_empty()).then(|| UniqueIdentities::with_kinds(&kinds));
        let config = Config {
            hash_key: HashKey::known(self.seed),
            unique_identities: unique,
            ..Config::default()
        };
        (0..SHARDS).map(|_| Shard::new(config.clone())).collect()
    }

    /// Reports whether an account may not get the identity: another account has it, or had it on another shard and its
    /// loss is not durable yet.
    fn is_taken(&self, at: usize, id: &str, identity: Identity) -> bool {
        self.unique.contains(&identity.0)
            && self.all.iter().enumerate().any(|(shard, one)| {
                let has = |(other, account): (&String, &Account)| {
                    (shard, other.as_str()) != (at, id) && account.identities.contains(&identity)
                };
                one.accounts.iter().any(has)
                    || shard != at && one.pending.iter().any(|(_, pending)| *pending == identity)
            })
    }

    fn is_any_taken(&self, at: usize, id: &str, before: &[Identity], after: &[Identity]) -> bool {
        let new = after.iter().filter(|one| !before.contains(one));
        new.into_iter().any(|one| self.is_taken(at, id, *one))
    }

    fn identities(&mut self) -> Vec<Identity> {
        let mut identities = Vec::new();
        for kind in KINDS {
            let value = self.random.pick(&VALUES);
            if self.random.one_in(2) && is_value(value) {
                identities.push((kind, value));
            }
        }
        identities
    }

    fn step(&mut self) {
        let at = self.random.below(SHARDS);
        let id = format!("account{}", self.random.below(ACCOUNTS));
        match self.random.below(12) {
            0..=2 => self.create(at, &id),
            3..=6 => self.status(at, &id),
            7 => self.delete(at, &id),
            8 => self.load(at, &id),
            9 => self.sync(at),
            10 if self.random.one_in(10) => self.clear(at),
            11 if self.random.one_in(5) => self.restart(),
            _ => {}
        }
        self.compare();
    }

    fn create(&mut self, at: usize, id: &str) {
        let identities = self.identities();
        let words = words(&identities);
        let buckets = [];
        let create = Create { identities: &words, ..Create::active(&buckets) };
        let expected = if self.all[at].accounts.contains_key(id) {
            Err(Code::AccountExists)
        } else if self.is_any_taken(at, id, &[], &identities) {
            Err(Code::IdentityExists)
        } else {
            Ok(Some(Account { status: Status::Active, identities }))
        };
        self.run(at, id, &Command::Create(create), expected);
    }

    fn status(&mut self, at: usize, id: &str) {
        let mut changes = self.identities();
        for change in &mut changes {
            if self.random.one_in(3) {
                change.1 = "";
            }
        }
        let status = self.random.pick(&[Status::Active, Status::Active, Status::Closed]);
        let expected = match self.all[at].accounts.get(id).cloned() {
            None => Err(Code::UnknownAccount),
            Some(account) if account.status == Status::Closed && status != Status::Closed => {
                Err(Code::NotApplicable)
            }
            Some(account) => {
                let mut after = account.identities.clone();
                for (kind, value) in &changes {
                    after.retain(|(other, _)| other != kind);
                    if !value.is_empty() {
                        after.push((kind, value));
                    }
                }
                if self.is_any_taken(at, id, &account.identities, &after) {
                    Err(Code::IdentityExists)
                } else {
                    Ok(Some(Account { status, identities: after }))
                }
            }
        };
        let words = words(&changes);
        self.run(at, id, &Command::Status { txn: None, status, identities: &words }, expected);
    }

    fn delete(&mut self, at: usize, id: &str) {
        let expected = match self.all[at].accounts.get(id).map(|account| account.status) {
            None => Err(Code::UnknownAccount),
            Some(Status::Closed) => Ok(None),
            Some(_) => Err(Code::NotEmpty),
        };
        self.run(at, id, &Command::Delete { force: true, if_txn: None }, expected);
    }

    fn run(
        &mut self,
        at: usize,
        id: &str,
        command: &Command<'_>,
        expected: Result<Option<Account>, Code>,
    ) {
        let one = &mut self.all[at];
        let outcome = one.shard.execute(NOW, one.shard.key(id.as_bytes()), command);
        match (&outcome, expected) {
            (Outcome::Answer { replayed: false, .. }, Ok(after)) => one.becomes(id, after),
            (Outcome::Reject(rejection), Err(code)) => {
                assert_eq!(rejection.code, code, "seed {}: {command:?}", self.seed);
            }
            (_, expected) => {
                panic!("seed {}: {command:?} of {id}: {outcome:?}, and not {expected:?}", self.seed)
            }
        }
    }

    /// Copies an account with its identities to another id, from any shard.
    fn load(&mut self, at: usize, id: &str) {
        let from = self.random.below(SHARDS);
        let source = format!("account{}", self.random.below(ACCOUNTS));
        let Some(account) = self.all[from].accounts.get(&source).cloned() else { return };
        let shard = &self.all[from].shard;
        let image = shard.image(NOW, shard.key(source.as_bytes())).expect("an account").to_vec();
        let replace = self.random.one_in(2);
        let before = self.all[at].accounts.get(id).map(|account| account.identities.clone());
        let expected = match &before {
            Some(_) if !replace => Err(LoadError::Exists),
            before => {
                let before = before.as_deref().unwrap_or_default();
                match self.is_any_taken(at, id, before, &account.identities) {
                    true => Err(LoadError::IdentityExists),
                    false => Ok(()),
                }
            }
        };
        let one = &mut self.all[at];
        let outcome = one.shard.load_image(NOW, one.shard.key(id.as_bytes()), &image, replace);
        assert_eq!(outcome, expected, "seed {}: an image for {id}", self.seed);
        if outcome.is_ok() {
            one.becomes(id, Some(account));
        }
    }

    /// Makes the log of a shard durable up to some record.
    fn sync(&mut self, at: usize) {
        let behind = self.random.pick(&[0, 0, 1, 3]);
        let one = &mut self.all[at];
        let durable = one.shard.sequence().saturating_sub(behind);
        one.shard.release_identities(durable);
        one.pending.retain(|(sequence, _)| *sequence > durable);
    }

    fn clear(&mut self, at: usize) {
        let one = &mut self.all[at];
        one.shard.clear();
        let sequence = one.shard.sequence();
        for (_, account) in std::mem::take(&mut one.accounts) {
            one.pending.extend(account.identities.iter().map(|identity| (sequence, *identity)));
        }
    }

    /// Restarts the server, from snapshots or from its logs, perhaps with other unique kinds.
    fn restart(&mut self) {
        self.unique = self.random.pick(&[&[][..], &["imsi"], &["imsi", "k"]]).to_vec();
        let from_logs = self.random.one_in(2);
        for (at, mut shard) in self.shards().into_iter().enumerate() {
            let one = &mut self.all[at];
            one.write();
            if from_logs {
                let mut rest = one.log.as_slice();
                while !rest.is_empty() {
                    let Framed::Frame(frame) = read_frame(seal(at), rest) else {
                        panic!("a frame")
                    };
                    let mut records = frame.records();
                    while let Some(record) = records.next() {
                        shard.replay(&record.expect("a record")).expect("it is applied");
                    }
                    rest = &rest[frame.len()..];
                }
            } else {
                let mut writer = ChunkWriter::new(seal(at));
                assert_eq!(one.shard.copy_chunk(0, usize::MAX, &mut writer), 0);
                writer.seal(Positions { from: 0, to: 0 }, 1);
                let mut bytes = Vec::new();
                writer.take_sealed(&mut bytes);
                let Chunked::Chunk(chunk) = read_chunk(seal(at), &bytes) else { panic!("a chunk") };
                for entry in chunk.entries() {
                    shard.restore(&entry.expect("an entry")).expect("it is taken");
                }
            }
            let next = one.shard.sequence() + 1;
            shard.keep_journal(log_id(at), next);
            one.shard = shard;
            one.pending.clear();
        }
    }

    /// Checks that every identity is found where it is, and nowhere else.
    fn compare(&mut self) {
        let count = self.random.pick(&[0, 1, 2, 16]);
        for one in &mut self.all {
            for kind in KINDS {
                for value in VALUES {
                    let expected: Vec<&String> = one
                        .accounts
                        .iter()
                        .filter(|(_, account)| account.identities.contains(&(kind, value)))
                        .map(|(id, _)| id)
                        .collect();
                    let mut found = Vec::new();
                    let more = one.shard.find_accounts(name(kind), value.as_bytes(), count, |id| {
                        found.push(String::from_utf8(id.to_vec()).expect("ASCII"));
                    });
                    found.sort_unstable();
                    let seed = self.seed;
                    assert_eq!(more, expected.len() > count, "seed {seed}: {kind} {value}");
                    if more {
                        assert_eq!(found.len(), count, "seed {seed}: {kind} {value}");
                        assert!(found.iter().all(|id| expected.contains(&id)), "seed {seed}");
                    } else {
                        assert_eq!(found.iter().collect::<Vec<_>>(), expected, "seed {seed}");
                    }
                }
            }
            let identities: usize =
                one.accounts.values().map(|account| account.identities.len()).sum();
            if self.unique.is_empty() {
                let bytes = one.shard.stats().memory.index;
                assert_eq!(bytes, identities as u64 * PAIR_BYTES, "seed {}", self.seed);
            }
        }
    }
}

impl One {
    fn new(mut shard: Shard) -> One {
        shard.keep_journal(log_id(0), 1);
        One { shard, accounts: BTreeMap::new(), pending: Vec::new(), log: Vec::new() }
    }

    /// Replaces the account of an id.
    fn becomes(&mut self, id: &str, after: Option<Account>) {
        let before = self.accounts.remove(id).map_or(Vec::new(), |account| account.identities);
        let kept = after.as_ref().map_or(&[][..], |account| &account.identities);
        let sequence = self.shard.sequence();
        let gone = before.iter().filter(|one| !kept.contains(one));
        self.pending.extend(gone.map(|identity| (sequence, *identity)));
        // An identity that an account of this shard has again is no longer given up.
        self.pending.retain(|(_, identity)| before.contains(identity) || !kept.contains(identity));
        if let Some(account) = after {
            self.accounts.insert(id.to_owned(), account);
        }
    }

    /// Writes the committed records to the log.
    fn write(&mut self) {
        let journal = self.shard.journal().expect("a journal");
        if !journal.is_empty() {
            let mut frames = Vec::new();
            journal.seal(0, NOW);
            journal.take_sealed(&mut frames);
            self.log.extend(frames);
        }
    }
}

fn words(identities: &[Identity]) -> Vec<(Name, &'static [u8])> {
    identities.iter().map(|(kind, value)| (name(kind), value.as_bytes())).collect()
}

#[test]
fn identities_are_found_and_kept_unique_as_in_naive_maps() {
    for seed in 0..SEEDS {
        let mut server = Server::new(seed);
        for _ in 0..STEPS {
            server.step();
        }
    }
}
