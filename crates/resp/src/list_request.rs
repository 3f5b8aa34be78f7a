//! The grammar of `SCUR.LIST`, and a row of its reply: the same in every host.

use crate::options::{Options, once};
use crate::{Args, Fault, Reply, parse_integer};
use scurry_ledger::{ACCOUNT_ID_LEN_MAX, Status};

/// Keys that one SCUR.LIST looks at unless told otherwise.
const COUNT: u16 = 10;
/// Keys that one SCUR.LIST looks at, at most: others want their turn.
pub const LIST_COUNT_MAX: u16 = 1_000;

/// `SCUR.LIST`, understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListRequest<'a> {
    /// Where to go on.
    pub cursor: u64,
    /// COUNT, within its bounds.
    pub count: u16,
    /// PREFIX: accounts whose ids begin so; empty for all.
    pub prefix: &'a [u8],
    /// STATUS; none for all.
    pub status: Option<Status>,
}

impl ListRequest<'_> {
    /// True for an account that it lists.
    pub fn takes(&self, id: &[u8], status: Status) -> bool {
        id.starts_with(self.prefix) && self.status.is_none_or(|wanted| wanted == status)
    }
}

/// Understands the arguments of `SCUR.LIST`, whose arity has been checked.
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

/// As in SCAN, more than the bound is the bound.
fn count_of(word: &[u8]) -> Result<u16, Fault<'static>> {
    let count = parse_integer(word).ok_or(Fault::NotAnInteger("count"))?;
    if count < 1 {
        return Err(Fault::NotPositive("count"));
    }
    Ok(u16::try_from(count).unwrap_or(LIST_COUNT_MAX).min(LIST_COUNT_MAX))
}

/// One account of the list.
pub fn list_row(reply: &mut Reply<'_>, id: &[u8], status: Status, version: u64) {
    reply.array(3);
    reply.bulk(id);
    reply.text(status.name());
    reply.unsigned(version);
}
