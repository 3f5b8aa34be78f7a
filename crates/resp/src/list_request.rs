//! The grammar of `SCUR.LIST`, and a row of its reply, which is the same in every host.

use crate::options::{Options, once};
use crate::{Args, Fault, Reply, parse_integer};
use scurry_ledger::{ACCOUNT_ID_LEN_MAX, Status};

/// Default number of keys that one SCUR.LIST examines.
const COUNT: u16 = 10;
/// Most keys that one SCUR.LIST examines, so that other requests are not delayed.
pub const LIST_COUNT_MAX: u16 = 1_000;

/// A parsed `SCUR.LIST`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListRequest<'a> {
    /// Position to continue from, 0 to begin.
    pub cursor: u64,
    /// COUNT, within its range.
    pub count: u16,
    /// PREFIX: start of the ids to list; empty for all.
    pub prefix: &'a [u8],
    /// STATUS to list; `None` for all.
    pub status: Option<Status>,
}

impl ListRequest<'_> {
    /// Reports whether the request lists this account.
    pub fn takes(&self, id: &[u8], status: Status) -> bool {
        id.starts_with(self.prefix) && self.status.is_none_or(|wanted| wanted == status)
    }
}

/// Parses the arguments of `SCUR.LIST`, whose arity has been checked.
pub fn parse_list(args: Args<'_>) -> Result<ListRequest<'_>, Fault<'_>> {
    let mut options = Options::new(args);
    let cursor = std::str::from_utf8(options.bytes("cursor")?).ok();
    let cursor = cursor.and_then(|text| text.parse().ok()).ok_or(Fault::NotAnInteger("cursor"))?;
    let (mut count, mut prefix, mut status) = (None, None, None);
    while let Some(keyword) = options.next() {
        if keyword.eq_ignore_ascii_case(b"COUNT") {
            once(&mut count, "count", count_of(options.bytes("count")?)?)?;
        } else if keyword.eq_ignore_ascii_case(b"PREFIX") {
            let begin = options.bytes("prefix")?;
            if begin.len() > ACCOUNT_ID_LEN_MAX {
                return Err(Fault::NotAnId { field: "prefix", len_max: ACCOUNT_ID_LEN_MAX });
            }
            once(&mut prefix, "prefix", begin)?;
        } else if keyword.eq_ignore_ascii_case(b"STATUS") {
            once(&mut status, "status", options.status(true)?)?;
        } else {
            return Err(Fault::Unexpected(keyword));
        }
    }
    let (count, prefix) = (count.unwrap_or(COUNT), prefix.unwrap_or_default());
    Ok(ListRequest { cursor, count, prefix, status })
}

/// Parses COUNT. As in SCAN, a number above the bound counts as the bound.
fn count_of(word: &[u8]) -> Result<u16, Fault<'static>> {
    let count = parse_integer(word).ok_or(Fault::NotAnInteger("count"))?;
    if count < 1 {
        return Err(Fault::NotPositive("count"));
    }
    Ok(u16::try_from(count).unwrap_or(LIST_COUNT_MAX).min(LIST_COUNT_MAX))
}

/// Writes one account of the list.
pub fn list_row(reply: &mut Reply<'_>, id: &[u8], status: Status, version: u64) {
    reply.array(3);
    reply.bulk(id);
    reply.text(status.name());
    reply.unsigned(version);
}
