//! Images that come from outside: another store has written them, or nobody has.

use crate::{FRAME_LEN_MAX, ImageError, decode_account};
use core::fmt;
use scurry_ledger::{Account, BLOB_LEN_MAX, BUCKETS_MAX, Time, Violation, validate};

/// The longest image that is taken, bytes: more than a host lets an account become.
pub const IMAGE_LEN_MAX: usize = FRAME_LEN_MAX / 2;

/// The greatest version that is taken: what is committed later has room for its own.
const VERSION_MAX: u64 = 1 << 62;

/// Why an image is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForeignError {
    /// Bytes that cannot be read.
    Image(ImageError),
    /// An image that breaks an invariant.
    Violation(Violation),
    /// An image that is beyond a bound, by this name.
    Bound(&'static str),
}

impl fmt::Display for ForeignError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ForeignError::Image(error) => error.fmt(f),
            ForeignError::Violation(violation) => write!(f, "account image is wrong: {violation}"),
            ForeignError::Bound(bound) => write!(f, "account image is beyond a bound: {bound}"),
        }
    }
}

impl core::error::Error for ForeignError {}

/// Reads an image that no part of this program vouches for, and checks what it says. After an
/// error the account means nothing.
pub fn decode_foreign_account(bytes: &[u8], account: &mut Account) -> Result<(), ForeignError> {
    if bytes.len() > IMAGE_LEN_MAX {
        return Err(ForeignError::Bound("length"));
    }
    decode_account(bytes, account).map_err(ForeignError::Image)?;
    let bounds = [
        (account.buckets.len() <= BUCKETS_MAX, "buckets"),
        (account.version <= VERSION_MAX, "version"),
        ((Time(0)..=Time::LAST).contains(&account.changed_at), "time of its last change"),
        (account.sessions.iter().all(|session| session.blob.len() <= BLOB_LEN_MAX), "data"),
    ];
    if let Some((_, bound)) = bounds.iter().find(|(holds, _)| !holds) {
        return Err(ForeignError::Bound(bound));
    }
    // At its last commit nothing was due any more; what has become due since is due here.
    validate(account, account.changed_at).map_err(ForeignError::Violation)
}
