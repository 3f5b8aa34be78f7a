//! The grammar of `SCUR.STATEMENT`.

use crate::follow_request::COUNT_MAX;
use crate::options::{Options, once};
use crate::{Args, Fault, Position};
use scurry_ledger::{Name, Time};

/// Entries in one reply when nobody says how many.
const COUNT: u16 = 100;

/// `SCUR.STATEMENT`, understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatementRequest<'a> {
    /// The account.
    pub account: &'a [u8],
    /// The first moment of the period.
    pub from: Option<Time>,
    /// The first moment behind it.
    pub to: Option<Time>,
    /// Where to go on.
    pub cursor: Option<Position>,
    /// Entries in the reply at most.
    pub count: u16,
    /// Entries of this unit, or of none.
    pub unit: Option<Name>,
    /// The newest first; the cursor is behind what is wanted then.
    pub is_reversed: bool,
}

/// Understands the arguments of `SCUR.STATEMENT`, whose arity has been checked.
pub fn parse_statement(args: Args<'_>) -> Result<StatementRequest<'_>, Fault<'_>> {
    const CURSOR: Fault<'_> =
        Fault::NotOneOf { field: "cursor", words: "the next of an earlier reply" };
    let mut options = Options::new(args);
    let account = options.account()?;
    let (mut from, mut to, mut cursor, mut count, mut unit) = (None, None, None, None, None);
    let mut reversed = None;
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
    Ok(StatementRequest { account, from, to, cursor, count, unit, is_reversed })
}
