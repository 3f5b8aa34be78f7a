//! The grammar of `SCUR.FIND`, and its reply, which is the same in every host.

use crate::options::Options;
use crate::{Args, Fault, Piece, Pieces, Reply};
use scurry_ledger::Name;

/// Most accounts that one SCUR.FIND lists.
pub const FIND_MAX: usize = 16;

/// Parses the arguments of `SCUR.FIND`, whose arity has been checked: kind and value.
pub fn parse_find(args: Args<'_>) -> Result<(Name, &[u8]), Fault<'_>> {
    let mut options = Options::new(args);
    let identity = options.identity(false)?;
    options.end()?;
    Ok(identity)
}

/// Accounts with an identity, at most [`FIND_MAX`], in the order of their ids, and whether there are more.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FoundAccounts {
    ids: Vec<Box<[u8]>>,
    more: bool,
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

    /// Notes that there are more accounts.
    pub fn note_more(&mut self) {
        self.more = true;
    }

    /// Writes the reply.
    pub fn write(&self, reply: &mut Reply<'_>) {
        reply.array(2);
        reply.integer(self.more.into());
        reply.array(self.ids.len());
        for id in &self.ids {
            reply.bulk(id);
        }
    }

    /// Adds the accounts of a reply that [`FoundAccounts::write`] has written.
    pub fn add(&mut self, reply: &[u8]) {
        for piece in Pieces::new(reply) {
            match piece {
                Piece::Integer(more) => self.more |= more != 0,
                Piece::Bulk(id) => self.push(id),
                _ => {}
            }
        }
    }
}
