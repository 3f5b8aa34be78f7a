//! The grammar of `SCUR.STATEMENT`.

use crate::follow_request::COUNT_MAX;
use crate::options::{Options, once};
use crate::{Args, Fault, Position};
use scurry_ledger::{Name, Time};

/// Default number of entries in one reply.
const COUNT: u16 = 100;

/// A parsed `SCUR.STATEMENT`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatementRequest<'a> {
    /// Account id.
    pub account: &'a [u8],
    /// First moment of the period.
    pub from: Option<Time>,
    /// First moment after the period.
    pub to: Option<Time>,
    /// Position to continue from.
    pub cursor: Option<Position>,
    /// Most entries in the reply.
    pub count: u16,
    /// Unit of the entries; entries without a unit are listed too.
    pub unit: Option<Name>,
    /// Transaction of the entries; the last of them is its answer.
    pub transaction: Option<&'a [u8]>,
    /// Session of the entries.
    pub session: Option<&'a [u8]>,
    /// Whether the newest entry comes first; then the cursor is the end of the wanted entries.
    pub is_reversed: bool,
}

/// Parses the arguments of `SCUR.STATEMENT`, whose arity has been checked.
pub fn parse_statement(args: Args<'_>) -> Result<StatementRequest<'_>, Fault<'_>> {
    const CURSOR: Fault<'_> =
        Fault::NotOneOf { field: "cursor", words: "the next of an earlier reply" };
    let mut options = Options::new(args);
    let account = options.account()?;
    let (mut from, mut to, mut cursor, mut count, mut unit) = (None, None, None, None, None);
    let (mut reversed, mut transaction, mut session) = (None, None, None);
    while let Some(keyword) = options.next() {
        if keyword.eq_ignore_ascii_case(b"FROM") {
            once(&mut from, "from", Time(options.integer("from")?))?;
        } else if keyword.eq_ignore_ascii_case(b"TO") {
            once(&mut to, "to", Time(options.integer("to")?))?;
        } else if keyword.eq_ignore_ascii_case(b"CURSOR") {
            let position = Position::parse(options.bytes("cursor")?).ok_or(CURSOR)?;
            once(&mut cursor, "cursor", position)?;
        } else if keyword.eq_ignore_ascii_case(b"COUNT") {
            once(&mut count, "count", options.between("count", 1, COUNT_MAX)?)?;
        } else if keyword.eq_ignore_ascii_case(b"UNIT") {
            once(&mut unit, "unit", options.name("unit")?)?;
        } else if keyword.eq_ignore_ascii_case(b"TRANSACTION") {
            once(&mut transaction, "transaction", options.id("transaction")?)?;
        } else if keyword.eq_ignore_ascii_case(b"SESSION") {
            once(&mut session, "session", options.id("session")?)?;
        } else if keyword.eq_ignore_ascii_case(b"REV") {
            once(&mut reversed, "rev", ())?;
        } else {
            return Err(Fault::Unexpected(keyword));
        }
    }
    if from.zip(to).is_some_and(|(from, to)| to <= from) {
        return Err(Fault::NotOneOf { field: "to", words: "after from" });
    }
    let count = count.unwrap_or(COUNT);
    let is_reversed = reversed.is_some();
    Ok(StatementRequest {
        account,
        from,
        to,
        cursor,
        count,
        unit,
        transaction,
        session,
        is_reversed,
    })
}
