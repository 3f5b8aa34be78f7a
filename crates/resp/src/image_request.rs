//! The grammar of the commands that move accounts between stores.

use crate::options::Options;
use crate::{Args, Fault};

/// A parsed SCUR.LOAD.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoadRequest<'a> {
    /// Account id, which is the key.
    pub account: &'a [u8],
    /// Image of the account, not checked yet.
    pub image: &'a [u8],
    /// REPLACE: whether an existing account is overwritten.
    pub replace: bool,
}

/// Parses SCUR.DUMP: the account.
pub fn parse_dump(args: Args<'_>) -> Result<&[u8], Fault<'_>> {
    let mut words = Options::new(args);
    let account = words.account()?;
    words.end()?;
    Ok(account)
}

/// Parses SCUR.LOAD.
pub fn parse_load(args: Args<'_>) -> Result<LoadRequest<'_>, Fault<'_>> {
    let mut words = Options::new(args);
    let (account, image) = (words.account()?, words.bytes("image")?);
    let replace = match words.next() {
        None => false,
        Some(word) if word.eq_ignore_ascii_case(b"REPLACE") => true,
        Some(other) => return Err(Fault::Unexpected(other)),
    };
    words.end()?;
    Ok(LoadRequest { account, image, replace })
}
