//! The account to which a request of a session belongs that names it by an identity: one that has the identity, or one that
//! gave it up (docs/ledger.md section 11).

use crate::{Account, Name, Time};
use core::cmp::Reverse;

/// What an account is to an identity and a session. Of several accounts the least one is the account of the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SessionHolder {
    /// What the account knows of the session.
    pub standing: HolderStanding,
    /// When the account gave the identity up; `None` if it has it. The latest one comes first.
    given_up_at: Option<Reverse<Time>>,
}

/// What an account that has or had an identity knows of a session, the closest one first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum HolderStanding {
    /// The session is open.
    Open,
    /// The session has a tombstone.
    Ended,
    /// The account does not know the session, and has given the identity up.
    Former,
    /// The account does not know the session, and has the identity.
    Present,
}

impl HolderStanding {
    /// Every standing, the closest one first.
    pub const ALL: [HolderStanding; 4] = [
        HolderStanding::Open,
        HolderStanding::Ended,
        HolderStanding::Former,
        HolderStanding::Present,
    ];

    /// Returns the word on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            HolderStanding::Open => "open",
            HolderStanding::Ended => "ended",
            HolderStanding::Former => "former",
            HolderStanding::Present => "present",
        }
    }
}

impl SessionHolder {
    /// Returns a holder by its parts.
    pub fn new(standing: HolderStanding, given_up_at: Option<Time>) -> SessionHolder {
        SessionHolder { standing, given_up_at: given_up_at.map(Reverse) }
    }

    /// Returns when the account gave the identity up; `None` if it has it.
    pub fn given_up_at(&self) -> Option<Time> {
        self.given_up_at.map(|Reverse(time)| time)
    }
}

impl Account {
    /// Reports whether the account has the identity now.
    pub fn has_identity(&self, kind: Name, value: &[u8]) -> bool {
        self.identities.iter().any(|identity| identity.is(kind, value))
    }

    /// Returns what the account, as read by [`crate::view`], is to an identity and a session; `None` if it neither has
    /// nor had the identity.
    pub fn holder_of(&self, kind: Name, value: &[u8], session: &[u8]) -> Option<SessionHolder> {
        let former = self.former_identities.iter().find(|one| one.identity.is(kind, value));
        if former.is_none() && !self.has_identity(kind, value) {
            return None;
        }
        let standing = if self.session(session).is_some() {
            HolderStanding::Open
        } else if self.tombstones.find(session).is_some() {
            HolderStanding::Ended
        } else if former.is_some() {
            HolderStanding::Former
        } else {
            HolderStanding::Present
        };
        Some(SessionHolder::new(standing, former.map(|former| former.given_up_at)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_account_of_a_session_knows_it_or_gave_the_identity_up_last() {
        let holder = |standing, given_up: i64| {
            SessionHolder::new(standing, Some(given_up).filter(|&time| time > 0).map(Time))
        };
        let in_order = [
            holder(HolderStanding::Open, 0),
            holder(HolderStanding::Open, 7),
            holder(HolderStanding::Open, 5),
            holder(HolderStanding::Ended, 0),
            holder(HolderStanding::Ended, 9),
            holder(HolderStanding::Former, 8),
            holder(HolderStanding::Former, 6),
            holder(HolderStanding::Present, 0),
        ];
        assert!(in_order.is_sorted_by(|before, after| before < after));
        assert_eq!(in_order[1].given_up_at(), Some(Time(7)));
        assert!(HolderStanding::ALL.is_sorted());
    }
}
