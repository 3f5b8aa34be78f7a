//! Account images from outside: from another store, or made up by a client.

use crate::{FRAME_LEN_MAX, ImageError, decode_account};
use core::fmt;
use scurry_ledger::{Account, BLOB_LEN_MAX, BUCKETS_MAX, Time, Violation, validate};

/// Longest accepted image, bytes: longer than any account that a host allows.
pub const IMAGE_LEN_MAX: usize = FRAME_LEN_MAX / 2;

/// Greatest accepted version: later Commits can still add to it.
const VERSION_MAX: u64 = 1 << 62;

/// Reasons why an image is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UntrustedImageError {
    /// The bytes cannot be read.
    Image(ImageError),
    /// The image breaks an invariant.
    Violation(Violation),
    /// The image is beyond the bound of this name.
    Bound(&'static str),
}

impl fmt::Display for UntrustedImageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            UntrustedImageError::Image(error) => error.fmt(f),
            UntrustedImageError::Violation(violation) => {
                write!(f, "account image is wrong: {violation}")
            }
            UntrustedImageError::Bound(bound) => {
                write!(f, "account image is beyond a bound: {bound}")
            }
        }
    }
}

impl core::error::Error for UntrustedImageError {}

/// Reads an image that this program may not have written, and checks its content. After an error the account has no
/// meaning.
pub fn decode_foreign_account(
    bytes: &[u8],
    account: &mut Account,
) -> Result<(), UntrustedImageError> {
    if bytes.len() > IMAGE_LEN_MAX {
        return Err(UntrustedImageError::Bound("length"));
    }
    decode_account(bytes, account).map_err(UntrustedImageError::Image)?;
    let bounds = [
        (account.buckets.len() <= BUCKETS_MAX, "buckets"),
        (account.version <= VERSION_MAX, "version"),
        ((Time(0)..=Time::LAST).contains(&account.changed_at), "time of its last change"),
        (account.sessions.iter().all(|session| session.blob.len() <= BLOB_LEN_MAX), "data"),
    ];
    if let Some((_, bound)) = bounds.iter().find(|(holds, _)| !holds) {
        return Err(UntrustedImageError::Bound(bound));
    }
    // Nothing was due right after its last Commit. Whatever has become due since will be handled here.
    validate(account, account.changed_at).map_err(UntrustedImageError::Violation)
}
