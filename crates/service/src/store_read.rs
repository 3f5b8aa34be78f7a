//! Reads of a store as a whole, and of the log that it keeps.

use crate::{Event, Position};
use scurry_ledger::{Id, Name, SessionHolder, Status, Time, Totals};
use std::collections::BTreeMap;
use std::fmt;

/// A read that no single account answers, or that only the log answers. It changes nothing, so it may be sent again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreRead {
    /// `SCUR.TOTALS`: the conservation totals over all servers.
    Totals,
    /// `SCUR.LIST`: one step through the accounts of all servers.
    List(ListRead),
    /// `SCUR.FIND`: the accounts of all servers that have an identity, or the one to which a session belongs.
    Find {
        /// Kind of the identity.
        kind: Name,
        /// Value of the identity.
        value: Id,
        /// Session whose account is wanted. None for all accounts that have the identity.
        session: Option<Id>,
    },
    /// `SCUR.STATEMENT`: the events of one account in a period.
    Statement(StatementRead),
    /// `CONFIG GET *-max`: the settings that bound requests.
    Bounds,
    /// Whether the store answers.
    Ready,
}

/// One step through the accounts of a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListRead {
    /// Where the step begins.
    pub cursor: ListCursor,
    /// About how many keys the step examines.
    pub count: u16,
    /// Start of the ids to list. None for all.
    pub prefix: Option<Vec<u8>>,
    /// Status of the accounts to list. None for all.
    pub status: Option<Status>,
}

/// A position in a walk over all servers of a store. As text it is `SERVER.CURSOR`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ListCursor {
    /// Number of the server, in an order that stays the same as long as the servers do.
    pub server: usize,
    /// The server's own cursor. 0 at the beginning.
    pub within: u64,
}

/// The events of one account in a period, in steps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatementRead {
    /// Account id.
    pub account: Vec<u8>,
    /// First moment of the period. None for no start.
    pub from: Option<Time>,
    /// First moment after the period. None for no end.
    pub to: Option<Time>,
    /// Unit of the entries; entries without a unit are listed too. None for all.
    pub unit: Option<Name>,
    /// Transaction of the entries; the last of them is its answer. None for all.
    pub transaction: Option<Id>,
    /// Session of the entries. None for all.
    pub session: Option<Id>,
    /// Most entries of the reply. None for the store's default.
    pub count: Option<u16>,
    /// Position to continue from, of an earlier reply.
    pub cursor: Option<Position>,
    /// Whether the newest entry comes first.
    pub newest_first: bool,
}

/// The reply to a [`StoreRead`]. The read determines the variant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreReply {
    /// The sums over all servers.
    Totals(Totals),
    /// One step of a list.
    List(AccountList),
    /// Accounts that have an identity.
    Found(FoundAccounts),
    /// Entries of an account.
    Statement(Statement),
    /// Values of settings by their names.
    Settings(BTreeMap<String, String>),
    /// The store answers.
    Ready,
}

/// Accounts of one step of a list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccountList {
    /// Accounts of this step.
    pub accounts: Vec<ListedAccount>,
    /// Where the next step begins. None at the end.
    pub next: Option<ListCursor>,
}

/// An account in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedAccount {
    /// Account id.
    pub account: Vec<u8>,
    /// Status of the account.
    pub status: Status,
    /// Version of the account.
    pub version: u64,
}

/// Accounts that have an identity.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FoundAccounts {
    /// Account ids.
    pub accounts: Vec<Vec<u8>>,
    /// Whether there are more accounts than these.
    pub more: bool,
    /// What the one account is to the identity and a session. None if no session was given.
    pub holder: Option<SessionHolder>,
}

/// Entries of an account in a period.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement {
    /// Account id.
    pub account: Vec<u8>,
    /// Where the statement continues. None when it is whole.
    pub next: Option<Position>,
    /// False if entries of the period, or after the cursor, are no longer kept.
    pub complete: bool,
    /// Time of the oldest commit that is kept. None if there is none.
    pub kept_from: Option<Time>,
    /// Number of commits that were examined for the reply.
    pub looked: u64,
    /// When the last of them was written. None if there was none.
    pub reached: Option<Time>,
    /// Entries, in the order of the statement.
    pub entries: Vec<Event<'static>>,
}

impl ListCursor {
    /// Parses the text that `Display` writes.
    pub fn parse(text: &[u8]) -> Option<ListCursor> {
        let (server, within) = std::str::from_utf8(text).ok()?.split_once('.')?;
        let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if !is_number(server) || !is_number(within) {
            return None;
        }
        Some(ListCursor { server: server.parse().ok()?, within: within.parse().ok()? })
    }

    /// Returns the position after a server's reply. `within` is the cursor in the reply. None at the end of the walk.
    pub fn after(server: usize, within: u64, is_last: bool) -> Option<ListCursor> {
        match within {
            // A server answers with cursor 0 when it has no more keys.
            0 if is_last => None,
            0 => Some(ListCursor { server: server + 1, within: 0 }),
            within => Some(ListCursor { server, within }),
        }
    }
}

impl fmt::Display for ListCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.server, self.within)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_walk_goes_from_server_to_server_and_ends() {
        let next = ListCursor::after(0, 17, false).expect("more of the first");
        assert_eq!(ListCursor::parse(next.to_string().as_bytes()), Some(next));
        assert_eq!(ListCursor::after(0, 0, false), Some(ListCursor { server: 1, within: 0 }));
        assert_eq!(ListCursor::after(1, 9, true), Some(ListCursor { server: 1, within: 9 }));
        assert_eq!(ListCursor::after(1, 0, true), None);
        for other in ["", "1", "1.", ".1", "+1.1", "1.-1", "1.1.1", "x.1", "0.18446744073709551616"]
        {
            assert_eq!(ListCursor::parse(other.as_bytes()), None, "{other}");
        }
    }
}
