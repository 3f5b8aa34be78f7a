//! Replays Changes of accounts from a log. They are applied as they are decoded, and the buckets afterwards must have
//! the balances that were recorded when the Change was committed.

use super::Shard;
use super::durable::{ReplayError, shown};
use crate::entry::TableEntryKind;
use crate::table::TablePosition;
use crate::{AccountSlot, Key};
use scurry_codec::{
    Balance, BucketAmounts, BucketAmountsIter, DeferredRecord, Frame, Passed, Record, RecordError,
    RecordSubject, Records, StateDigest, read_raw_record,
};

/// Records of a frame whose keys are loaded into the cache together.
const AHEAD: usize = 64;

/// One Change of an account, from a record of the log.
#[derive(Clone, Debug)]
pub struct Step<'r> {
    /// The record's sequence.
    pub sequence: u64,
    /// The bytes of the Change.
    pub change: &'r [u8],
    /// Balances that it left in the buckets that it names.
    pub left: BucketAmountsIter<'r>,
}

impl Shard {
    /// Applies a frame that another node has committed, with all its records; it must follow the last one applied. No
    /// rule runs and nothing is journaled; the journal's next sequence is then the one after the frame. After an error,
    /// which names a sequence, part of the frame is applied: the shard is unusable.
    pub fn apply_frame(&mut self, frame: &Frame<'_>) -> Result<(), (u64, ReplayError)> {
        if let Some(journal) = &self.journal
            && journal.next() != frame.first()
        {
            return Err((frame.first(), ReplayError::Order { wanted: journal.next() }));
        }
        // The journal is taken away meanwhile: these records must not be journaled again.
        let journal = self.journal.take();
        let outcome = self.apply_records(frame.first(), frame.records());
        self.journal = journal;
        outcome?;
        self.follow_to(frame.next(), frame.at());
        Ok(())
    }

    /// Applies records, the first of which has the sequence `next`.
    fn apply_records(
        &mut self,
        mut next: u64,
        mut records: Records<'_>,
    ) -> Result<(), (u64, ReplayError)> {
        let (mut ahead, mut hashes) = (Vec::new(), Vec::new());
        loop {
            while ahead.len() < AHEAD
                && let Some(passed) = records.pass()
            {
                let sequence = next + ahead.len() as u64;
                let passed = passed.map_err(|error| (sequence, ReplayError::Frame(error)))?;
                if let RecordSubject::Key(key) = passed.about {
                    hashes.push(self.table.hasher().hash(key));
                }
                ahead.push(passed);
            }
            if ahead.is_empty() {
                return Ok(());
            }
            // Preloading a single record gains nothing.
            if hashes.len() > 1 {
                self.touch(&hashes);
            }
            self.apply_passed(next, &ahead)?;
            next += ahead.len() as u64;
            ahead.clear();
            hashes.clear();
        }
    }

    /// Applies records in order; consecutive Changes of one account are applied together.
    fn apply_passed(&mut self, first: u64, all: &[Passed<'_>]) -> Result<(), (u64, ReplayError)> {
        let read = |at: usize| {
            let sequence = first + at as u64;
            match read_raw_record(all[at].bytes) {
                Ok(record) => Ok((sequence, record)),
                Err(error) => Err((sequence, ReplayError::Frame(error))),
            }
        };
        let mut at = 0;
        while at < all.len() {
            let (id, step) = match read(at)? {
                (sequence, DeferredRecord::Account { id, change, left }) => {
                    (id, Step { sequence, change, left })
                }
                (sequence, DeferredRecord::Other(Record::Digest { digest })) => {
                    let digest = StateDigest::decode(digest).map_err(|error| {
                        (sequence, ReplayError::Frame(RecordError::from(error)))
                    })?;
                    let compared = digest.map(|digest| self.compare(sequence, digest));
                    self.compared.extend(compared);
                    at += 1;
                    continue;
                }
                (sequence, DeferredRecord::Other(record)) => {
                    self.replay(&record).map_err(|error| (sequence, error))?;
                    at += 1;
                    continue;
                }
            };
            at += 1;
            let others = std::iter::from_fn(|| match all.get(at)?.about {
                RecordSubject::Key(key) if key == id => match read(at) {
                    Ok((sequence, DeferredRecord::Account { change, left, .. })) => {
                        at += 1;
                        Some(Step { sequence, change, left })
                    }
                    // The next round of the loop handles it.
                    Ok(_) | Err(_) => None,
                },
                _ => None,
            });
            self.replay_account(id, std::iter::once(step).chain(others))?;
        }
        Ok(())
    }

    /// Applies Changes of one account in order; the account is found, unpacked and packed once. On error returns the
    /// sequence of the Change that does not fit.
    pub fn replay_account<'r>(
        &mut self,
        id: &[u8],
        steps: impl Iterator<Item = Step<'r>>,
    ) -> Result<(), (u64, ReplayError)> {
        let key = self.table.hasher().key(id);
        let mut place = None;
        for Step { sequence, change, left } in steps {
            let place = &mut place;
            let step = || {
                let place = match *place {
                    Some(place) => place,
                    None => *place.insert(self.begin_replay(key)?),
                };
                self.replay_change(key, place, change)?;
                self.check_left(id, left)
            };
            step().map_err(|error| (sequence, error))?;
        }
        if let Some(place) = place {
            self.store_replayed(key, place);
        }
        Ok(())
    }

    /// Applies one Change of an account.
    pub(super) fn replay_one(
        &mut self,
        id: &[u8],
        change: &[u8],
        balances: &[Balance],
    ) -> Result<(), ReplayError> {
        let key = self.table.hasher().key(id);
        let place = self.begin_replay(key)?;
        self.replay_change(key, place, change)?;
        let left = |balance: &Balance| {
            let Balance { bucket, available, held, .. } = *balance;
            Ok(BucketAmounts { bucket, available, held })
        };
        self.check_left(id, balances.iter().map(left))?;
        self.store_replayed(key, place);
        Ok(())
    }

    /// Unpacks an account before its Changes are replayed.
    pub(super) fn begin_replay(
        &mut self,
        key: Key<'_>,
    ) -> Result<Option<TablePosition>, ReplayError> {
        let mut place = self.table.find(key);
        if let Some(other) = place.filter(|&at| self.table.at(at).kind() != TableEntryKind::Account)
        {
            // The other entry had expired when the account was created.
            self.remove(key.hash(), other);
            place = None;
        }
        if self.load(place).is_err() {
            return Err(ReplayError::WrongType(shown(key.bytes())));
        }
        self.working.remember();
        self.identities_before = self.identities.of(self.working.account.as_ref());
        Ok(place)
    }

    /// Stores the working account after its Changes were replayed.
    pub(super) fn store_replayed(&mut self, key: Key<'_>, place: Option<TablePosition>) {
        let before = std::mem::take(&mut self.identities_before);
        let after = self.identities.of(self.working.account.as_ref());
        self.slot(key, place).store();
        if before != after {
            self.identities_replayed(key.hash(), &before, &after);
        }
    }

    /// Applies a Change to the working account.
    fn replay_change(
        &mut self,
        key: Key<'_>,
        place: Option<TablePosition>,
        change: &[u8],
    ) -> Result<(), ReplayError> {
        let applied = self.slot(key, place).apply(change);
        applied.map_err(|error| ReplayError::Change { account: shown(key.bytes()), error })
    }

    /// Checks that the account has the balances that a Change left when it was committed.
    #[inline]
    fn check_left(
        &self,
        id: &[u8],
        left: impl Iterator<Item = Result<BucketAmounts, RecordError>>,
    ) -> Result<(), ReplayError> {
        let buckets = self.working.account.as_ref().map_or(&[][..], |account| &account.buckets);
        for wanted in left {
            let wanted =
                wanted.map_err(|error| ReplayError::Record { account: shown(id), error })?;
            let bucket = buckets.iter().find(|bucket| bucket.no == wanted.bucket);
            let found = bucket.map(|bucket| (bucket.available, bucket.held));
            if found != Some((wanted.available, wanted.held)) {
                return Err(differs(id, &wanted, found));
            }
        }
        Ok(())
    }
}

#[cold]
fn differs(id: &[u8], wanted: &BucketAmounts, found: Option<(i64, i64)>) -> ReplayError {
    ReplayError::Balance {
        account: shown(id),
        bucket: format!("{:?}", wanted.bucket),
        found: format!("{found:?}"),
        wanted: format!("{:?}", (wanted.available, wanted.held)),
    }
}
