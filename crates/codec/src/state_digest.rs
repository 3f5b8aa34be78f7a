//! What the leader of a group had in memory after a record, for the other nodes to compare with theirs
//! (docs/formats/log.md). The bytes, little-endian:
//!
//! | at | bytes |
//! |---|---|
//! | 0 | version u8: what a digest is of |
//! | 1 | node u64 |
//! | 9 | time i64, ms: what has expired by then is left out |
//! | 17 | from u64: the first position of the range |
//! | 25 | to u64: the first position after it; 0 at the end of the table |
//! | 33 | sum u64 of the digests of the entries in it |
//! | 41 | 1 if the keys follow, else 0 |
//! | 42 | for each entry: hash of its key u64, its digest u32 |

use crate::Malformed;
use crate::cursor::Cursor;
use alloc::vec::Vec;
use scurry_ledger::Time;

/// What the digests of this build are of. A build in which an account of the same content may have other bytes in memory
/// needs another number: nodes compare digests of their own number only.
const VERSION: u8 = 1;

/// Digests of the entries of a shard in a range of positions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateDigest {
    /// The node that wrote it.
    pub node: u64,
    /// Entries that have expired by this time are left out: a snapshot may have left them out, too.
    pub at: Time,
    /// First position of the range.
    pub from: u64,
    /// First position after the range; 0 at the end of the table.
    pub to: u64,
    /// Sum of the digests, modulo 2^64.
    pub sum: u64,
    /// The hash of each key with the digest of its entry, in any order; None if only the sum is compared.
    pub keys: Option<Vec<(u64, u32)>>,
}

impl StateDigest {
    /// Appends the bytes.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.push(VERSION);
        out.extend(self.node.to_le_bytes());
        out.extend(self.at.0.to_le_bytes());
        for number in [self.from, self.to, self.sum] {
            out.extend(number.to_le_bytes());
        }
        out.push(u8::from(self.keys.is_some()));
        for (hash, digest) in self.keys.iter().flatten() {
            out.extend(hash.to_le_bytes());
            out.extend(digest.to_le_bytes());
        }
    }

    /// Reads a digest from all of the bytes. None for one of another version.
    pub fn decode(bytes: &[u8]) -> Result<Option<StateDigest>, Malformed> {
        let mut from = Cursor::new(bytes);
        if from.byte()? != VERSION {
            return Ok(None);
        }
        let node = number(&mut from)?;
        let at = Time(i64::from_le_bytes(number(&mut from)?.to_le_bytes()));
        let (first, to, sum) = (number(&mut from)?, number(&mut from)?, number(&mut from)?);
        let mut keys = match from.byte()? {
            0 => None,
            1 => Some(Vec::new()),
            _ => return Err(Malformed::Choice),
        };
        if let Some(keys) = &mut keys {
            while !from.rest().is_empty() {
                let hash = number(&mut from)?;
                let digest = from.bytes(4)?.try_into().map_err(|_| Malformed::Ends)?;
                keys.push((hash, u32::from_le_bytes(digest)));
            }
        }
        from.finish()?;
        Ok(Some(StateDigest { node, at, from: first, to, sum, keys }))
    }
}

fn number(from: &mut Cursor<'_>) -> Result<u64, Malformed> {
    let bytes = from.bytes(8)?.try_into().map_err(|_| Malformed::Ends)?;
    Ok(u64::from_le_bytes(bytes))
}
