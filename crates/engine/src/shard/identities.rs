//! Look-up of accounts by identity, and the upkeep of that index. Only the few commands that can change an account's
//! identities go through this code.

use super::Shard;
use crate::account_parts::NeededParts;
use crate::entry::{TableEntry, TableEntryKind};
use crate::identities::IndexedIdentity;
use crate::table::TablePosition;
use crate::{AccountSlot, Key, Outcome};
use scurry_codec::decode_foreign_account;
use scurry_ledger::{Change, Code, Command, Decision, Name, Op, Rejection, SessionHolder, Time};

impl Shard {
    /// Visits the ids of accounts that have an identity, in the order of their hashes, at most `count`. Returns true
    /// when there are more.
    pub fn find_accounts(
        &mut self,
        kind: Name,
        value: &[u8],
        count: usize,
        mut visit: impl FnMut(&[u8]),
    ) -> bool {
        let Shard { table, working, identities, .. } = self;
        let mut left = count;
        for hash in identities.find(kind, value) {
            for entry in table.of_hash(hash).filter(is_account) {
                working.unpack(Some(entry.value()));
                if working.account.as_ref().is_some_and(|one| one.has_identity(kind, value)) {
                    if left == 0 {
                        return true;
                    }
                    visit(entry.key());
                    left -= 1;
                }
            }
        }
        false
    }

    /// Returns the id of the account to which a request of a session belongs that names this identity, with what it is to
    /// both (docs/ledger.md section 11): of the accounts that have the identity or had it the least one, and of equal ones
    /// that with the lowest id.
    pub fn find_session_account(
        &mut self,
        now: Time,
        (kind, value): (Name, &[u8]),
        session: &[u8],
    ) -> Option<(SessionHolder, Box<[u8]>)> {
        let needed = NeededParts::session(session);
        let mut ids: Vec<Box<[u8]>> = Vec::new();
        for hash in
            self.identities.find(kind, value).chain(self.identities.find_former(kind, value))
        {
            let accounts = self.table.of_hash(hash).filter(is_account);
            ids.extend(accounts.map(|entry| Box::from(entry.key())));
        }
        let holders = ids.into_iter().filter_map(|id| {
            let key = self.table.hasher().key(&id);
            let account = self.account_in_part(now, key, &needed).ok()?;
            Some((account.holder_of(kind, value, session)?, id))
        });
        holders.min()
    }

    /// Notes the former identities that a Change of the account at a key forgets. Commands that do not change identities
    /// forget them too, and so do timers.
    #[cold]
    pub(super) fn note_forgotten(&mut self, hash: u64, change: &Change) {
        for op in &change.ops {
            if let Op::ForgetIdentity { kind, value } = op {
                let gone = self.identities.former(*kind, value.as_bytes());
                self.forgotten.push((hash, gone));
            }
        }
    }

    /// Removes the noted identities from the index, now that their accounts are stored.
    #[inline]
    pub(super) fn forget_identities(&mut self) {
        if !self.forgotten.is_empty() {
            self.remove_forgotten();
        }
    }

    #[cold]
    fn remove_forgotten(&mut self) {
        for (hash, gone) in std::mem::take(&mut self.forgotten) {
            if !self.is_called(hash, gone) {
                self.identities.remove(gone, hash);
            }
        }
    }

    /// Releases claims on identities that their accounts have given up, once the log is durable up to this sequence.
    /// Until then no other account may take one of a unique kind.
    #[inline]
    pub fn release_identities(&mut self, durable: u64) {
        if self.identities.are_ending() {
            self.identities.end_until(durable);
        }
    }

    /// Runs a command that may change the identities of an account.
    pub(super) fn run_identifying(
        &mut self,
        now: Time,
        key: Key<'_>,
        place: Option<TablePosition>,
        (command, is_bounded): (&Command<'_>, bool),
    ) -> Outcome {
        let before = self.identities_at(place);
        let wanted = self.identities_after(now, key, place, command);
        if !self.identities.claim(&before, &wanted) {
            return Outcome::Reject(Rejection {
                code: Code::IdentityExists,
                why: "another account has this identity: find it with SCUR.FIND",
                bound: None,
                expired_ms: None,
            });
        }
        let outcome = self.slot(key, place).in_bounds(is_bounded).run(now, command);
        let is_committed = matches!(outcome, Outcome::Answer { replayed: false, .. });
        self.identities_decided(key, &before, &wanted, is_committed);
        outcome
    }

    /// Updates claims and index after a command that had claimed the `wanted` identities.
    pub(super) fn identities_decided(
        &mut self,
        key: Key<'_>,
        before: &[IndexedIdentity],
        wanted: &[IndexedIdentity],
        is_committed: bool,
    ) {
        if is_committed {
            // The working account is as it was stored, or none.
            let after = self.identities.of(self.working.account.as_ref());
            return self.identities_changed(key.hash(), before, &after);
        }
        let sequence = self.sequence();
        for one in wanted.iter().filter(|one| !before.contains(one)) {
            self.identities.end(*one, sequence);
        }
        if self.journal.is_none() {
            self.identities.end_until(sequence);
        }
    }

    /// Returns the identities of the account at a place.
    pub(super) fn identities_at(&mut self, place: Option<TablePosition>) -> Vec<IndexedIdentity> {
        let entry = place.map(|place| self.table.at(place));
        let Some(entry) = entry.filter(|entry| entry.kind() == TableEntryKind::Account) else {
            return Vec::new();
        };
        self.working.unpack(Some(entry.value()));
        self.identities.of(self.working.account.as_ref())
    }

    /// Returns the identities that an account will have after the command. Empty when the command will be refused, or
    /// when no kind is unique and nothing has to be claimed.
    fn identities_after(
        &mut self,
        now: Time,
        key: Key<'_>,
        place: Option<TablePosition>,
        command: &Command<'_>,
    ) -> Vec<IndexedIdentity> {
        if !self.identities.has_unique() || self.load(place).is_err() {
            return Vec::new();
        }
        if self.working.is_in_parts() {
            self.slot(key, place).load_parts_for(command, now);
        }
        match self.working.decide(command, now) {
            Decision::Commit(change, _) => {
                self.working.reuse(change);
                self.identities.of(self.working.account.as_ref())
            }
            Decision::Replay(_) | Decision::Reject(_) => Vec::new(),
        }
    }

    /// Returns the identities of an image that is to be loaded. Empty when it will not be loaded, or when no kind is
    /// unique.
    pub(super) fn identities_of_image(
        &mut self,
        place: Option<TablePosition>,
        image: &[u8],
        replace: bool,
    ) -> Vec<IndexedIdentity> {
        let is_refused = place.is_some() && !replace;
        if !self.identities.has_unique() || is_refused || self.load(place).is_err() {
            return Vec::new();
        }
        self.working.unpack(None);
        match decode_foreign_account(image, self.working.account_mut()) {
            Ok(()) => self.identities.of(self.working.account.as_ref()),
            Err(_) => Vec::new(),
        }
    }

    /// Updates the index from the identities before to those after.
    pub(super) fn identities_changed(
        &mut self,
        hash: u64,
        before: &[IndexedIdentity],
        after: &[IndexedIdentity],
    ) {
        let sequence = self.sequence();
        for gone in before.iter().filter(|one| !after.contains(one)) {
            if !self.is_called(hash, *gone) {
                self.identities.remove(*gone, hash);
            }
            self.identities.end(*gone, sequence);
        }
        for new in after.iter().filter(|one| !before.contains(one)) {
            self.identities.insert(*new, hash);
        }
        if self.journal.is_none() {
            self.identities.end_until(sequence);
        }
    }

    /// Updates the index as [`Shard::identities_changed`] does, for a replayed Change: nothing was claimed in advance.
    pub(super) fn identities_replayed(
        &mut self,
        hash: u64,
        before: &[IndexedIdentity],
        after: &[IndexedIdentity],
    ) {
        for new in after.iter().filter(|one| !before.contains(one)) {
            self.identities.hold(*new);
        }
        self.identities_changed(hash, before, after);
    }

    /// Ends the claims of all accounts, before the accounts are cleared.
    pub(super) fn give_identities_up(&mut self) {
        if self.identities.has_unique() {
            let sequence = self.sequence();
            let Shard { table, working, identities, .. } = self;
            table.walk(0, usize::MAX, |entry| {
                if entry.kind() == TableEntryKind::Account {
                    working.unpack(Some(entry.value()));
                    for one in identities.of(working.account.as_ref()) {
                        identities.end(one, sequence);
                    }
                }
            });
            if self.journal.is_none() {
                self.identities.end_until(sequence);
            }
        }
        self.identities.clear(self.table.hasher().clone());
    }

    /// Reports whether an account whose key has this hash has the identity. In rare cases two keys share a hash.
    fn is_called(&mut self, hash: u64, identity: IndexedIdentity) -> bool {
        let Shard { table, working, identities, .. } = self;
        table.of_hash(hash).filter(is_account).any(|entry| {
            working.unpack(Some(entry.value()));
            identities.of(working.account.as_ref()).contains(&identity)
        })
    }
}

fn is_account(entry: &&TableEntry) -> bool {
    entry.kind() == TableEntryKind::Account
}

/// Reports whether a command may change the identities of an account.
#[inline]
pub(super) fn is_identifying(command: &Command<'_>) -> bool {
    matches!(command, Command::Create(_) | Command::Status { .. } | Command::Delete { .. })
}
