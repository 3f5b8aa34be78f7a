//! The grammar of `SCUR.FIND`, and its reply, which is the same in every host.

use crate::options::{Options, is, once};
use crate::{Args, Fault, Piece, Pieces, Reply};
use scurry_ledger::{HolderStanding, Name, SessionHolder, Time};

/// Most accounts that one SCUR.FIND lists.
pub const FIND_MAX: usize = 16;

/// Arguments of `SCUR.FIND`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FindRequest<'a> {
    /// Kind of the identity.
    pub kind: Name,
    /// Value of the identity.
    pub value: &'a [u8],
    /// Session whose account is wanted. None for all accounts that have the identity.
    pub session: Option<&'a [u8]>,
}

/// Parses the arguments of `SCUR.FIND`, whose arity has been checked.
pub fn parse_find(args: Args<'_>) -> Result<FindRequest<'_>, Fault<'_>> {
    let mut options = Options::new(args);
    let (kind, value) = options.identity(false)?;
    let mut session = None;
    while let Some(keyword) = options.next() {
        if is(keyword, b"session") {
            once(&mut session, "session", options.id("session")?)?;
        } else {
            return Err(Fault::Unexpected(keyword));
        }
    }
    Ok(FindRequest { kind, value, session })
}

/// Accounts with an identity, at most [`FIND_MAX`], in the order of their ids, and whether there are more; or the one
/// account of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FoundAccounts {
    ids: Vec<Box<[u8]>>,
    more: bool,
    /// What the one account is to the identity and the session.
    holder: Option<SessionHolder>,
}

impl FoundAccounts {
    /// Adds an account.
    pub fn push(&mut self, id: &[u8]) {
        if self.ids.len() < FIND_MAX {
            let at = self.ids.partition_point(|before| **before < *id);
            self.ids.insert(at, id.into());
        } else {
            self.more = true;
        }
    }

    /// Adds an account that a session may belong to: the closest one is kept.
    pub fn push_holder(&mut self, holder: SessionHolder, id: &[u8]) {
        let known = self.holder.zip(self.ids.first().map(|known| &**known));
        if known.is_none_or(|known| (holder, id) < known) {
            (self.holder, self.ids) = (Some(holder), vec![id.into()]);
        }
    }

    /// Notes that there are more accounts.
    pub fn note_more(&mut self) {
        self.more = true;
    }

    /// Writes the reply.
    pub fn write(&self, reply: &mut Reply<'_>) {
        reply.array(if self.holder.is_some() { 4 } else { 2 });
        reply.integer(self.more.into());
        reply.array(self.ids.len());
        for id in &self.ids {
            reply.bulk(id);
        }
        if let Some(holder) = self.holder {
            reply.simple(holder.standing.name());
            match holder.given_up_at() {
                Some(time) => reply.integer(time.0),
                None => reply.null(),
            }
        }
    }

    /// Adds the accounts of a reply that [`FoundAccounts::write`] has written.
    pub fn add(&mut self, reply: &[u8]) {
        let (mut ids, mut more, mut standing, mut given_up_at) = (Vec::new(), false, None, None);
        for piece in Pieces::new(reply) {
            match piece {
                // After the standing comes the time.
                Piece::Integer(time) if standing.is_some() => given_up_at = Some(Time(time)),
                Piece::Integer(number) => more = number != 0,
                Piece::Bulk(id) => ids.push(id),
                Piece::Simple(word) => {
                    let all = HolderStanding::ALL.into_iter();
                    standing = all.into_iter().find(|known| known.name().as_bytes() == word);
                }
                _ => {}
            }
        }
        self.more |= more;
        for id in ids {
            match standing {
                Some(standing) => self.push_holder(SessionHolder::new(standing, given_up_at), id),
                None => self.push(id),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Protocol;

    fn reply(holder: SessionHolder, id: &[u8]) -> Vec<u8> {
        let (mut found, mut bytes) = (FoundAccounts::default(), Vec::new());
        found.push_holder(holder, id);
        found.write(&mut Reply::new(&mut bytes, Protocol::Resp2));
        bytes
    }

    #[test]
    fn of_the_accounts_of_several_threads_the_closest_one_stays() {
        let holder = |standing, time: Option<i64>| SessionHolder::new(standing, time.map(Time));
        let all = [
            (holder(HolderStanding::Open, Some(5)), &b"e"[..]),
            (holder(HolderStanding::Ended, None), b"d"),
            (holder(HolderStanding::Former, Some(7)), b"c"),
            (holder(HolderStanding::Former, Some(6)), b"a"),
            (holder(HolderStanding::Former, Some(6)), b"b"),
            (holder(HolderStanding::Present, None), b"a"),
        ];
        let none = b"*2\r\n:0\r\n*0\r\n";
        for first in 0..all.len() {
            for backwards in [false, true] {
                let mut parts: Vec<Vec<u8>> =
                    all[first..].iter().map(|(holder, id)| reply(*holder, id)).collect();
                parts.push(none.to_vec());
                if backwards {
                    parts.reverse();
                }
                let mut found = FoundAccounts::default();
                parts.iter().for_each(|part| found.add(part));
                let mut bytes = Vec::new();
                found.write(&mut Reply::new(&mut bytes, Protocol::Resp2));
                assert_eq!(bytes, reply(all[first].0, all[first].1), "{first} {backwards}");
            }
        }
        let text = reply(all[0].0, b"e");
        assert_eq!(text, b"*4\r\n:0\r\n*1\r\n$1\r\ne\r\n+open\r\n:5\r\n");
        let text = reply(all[5].0, b"a");
        assert_eq!(text, b"*4\r\n:0\r\n*1\r\n$1\r\na\r\n+present\r\n$-1\r\n");
    }
}
