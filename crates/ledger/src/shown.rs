//! The parts of an account that a read shows, for hosts that keep a busy account in parts.

use crate::{Account, Session};
use alloc::vec::Vec;

/// The sessions and remembered ids that a read shows. Everything else of an account is always at hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShownParts<'a> {
    /// None of them.
    None,
    /// All of them.
    All,
    /// The session with this id, open or closed.
    Session(&'a [u8]),
    /// The transaction with this id.
    Transaction(&'a [u8]),
    /// A page of the open sessions.
    Page(SessionPage<'a>),
}

/// A page of an account's open sessions in the order of their ids, byte by byte. Their order does not depend on what
/// happens between two pages, so a session that is open all the time is on exactly one page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionPage<'a> {
    /// Id after which the page begins; empty for the first page.
    pub after: &'a [u8],
    /// Most sessions of the page, at least 1.
    pub count: usize,
}

impl SessionPage<'_> {
    /// Returns the sessions of the page, and whether more follow.
    pub fn of<'s>(&self, account: &'s Account) -> (Vec<&'s Session>, bool) {
        let all = account.sessions.iter();
        let mut page: Vec<&Session> = all.filter(|open| open.id.as_bytes() > self.after).collect();
        page.sort_unstable_by(|a, b| a.id.as_bytes().cmp(b.id.as_bytes()));
        let has_more = page.len() > self.count;
        page.truncate(self.count);
        (page, has_more)
    }
}
