//! Walks over the arguments of a SCUR command: fields in their places, then options in any order.

use crate::{Args, Fault, parse_integer};
use scurry_ledger::{
    ACCOUNT_ID_LEN_MAX, BucketAttributes, ID_LEN_MAX, ITEM_KEY_LEN_MAX, ItemKey, Name, Period,
    Status, Time, is_printable,
};

/// A place among the arguments.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Options<'a> {
    args: Args<'a>,
    at: usize,
}

fn printable(bytes: &[u8], len_max: usize) -> bool {
    !bytes.is_empty() && bytes.len() <= len_max && is_printable(bytes)
}

/// True for this word in any case; it is given in lower case and has letters only. With the length
/// known when the crate is compiled it is compared as a whole, and not letter by letter.
#[inline]
pub(crate) fn is<const N: usize>(word: &[u8], lower: &[u8; N]) -> bool {
    const { assert!(N > 0) }
    match <&[u8; N]>::try_from(word) {
        // Of each pair of letters, and of nothing else, this gives the small one.
        Ok(word) => word.map(|byte| byte | 0x20) == *lower,
        Err(_) => false,
    }
}

/// Fills an option that may be given once.
pub(crate) fn once<T>(
    slot: &mut Option<T>,
    field: &'static str,
    value: T,
) -> Result<(), Fault<'static>> {
    if slot.is_some() {
        return Err(Fault::Repeated(field));
    }
    *slot = Some(value);
    Ok(())
}

/// The least number that is taken for milliseconds without its unit: below it seconds were meant, nearly always.
const UNITLESS_MS_MIN: i64 = 1_000;

/// Units of durations, and their milliseconds.
const UNITS: [(&str, i64); 4] = [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000)];

/// Milliseconds of a number with its unit.
#[cold]
fn with_unit(word: &[u8]) -> Option<i64> {
    let len = word.iter().take_while(|byte| !byte.is_ascii_alphabetic()).count();
    let (number, unit) = word.split_at(len);
    let (_, ms) = UNITS.iter().find(|(name, _)| unit.eq_ignore_ascii_case(name.as_bytes()))?;
    parse_integer(number)?.checked_mul(*ms)
}

impl<'a> Options<'a> {
    /// Begins behind the command's name.
    pub(crate) fn new(args: Args<'a>) -> Options<'a> {
        Options { args, at: 1 }
    }

    /// Begins at a position.
    pub(crate) fn at(args: Args<'a>, at: usize) -> Options<'a> {
        Options { args, at }
    }

    /// The next argument, none at the end.
    pub(crate) fn next(&mut self) -> Option<&'a [u8]> {
        let argument = self.args.get(self.at)?;
        self.at += 1;
        Some(argument)
    }

    /// The next argument, which stays the next.
    pub(crate) fn peek(&self) -> Option<&'a [u8]> {
        self.args.get(self.at)
    }

    /// How many arguments follow.
    pub(crate) fn left(&self) -> usize {
        self.args.len().saturating_sub(self.at)
    }

    /// Nothing may follow.
    pub(crate) fn end(mut self) -> Result<(), Fault<'a>> {
        self.next().map_or(Ok(()), |argument| Err(Fault::Unexpected(argument)))
    }

    /// Any bytes.
    pub(crate) fn bytes(&mut self, field: &'static str) -> Result<&'a [u8], Fault<'a>> {
        self.next().ok_or(Fault::Missing(field))
    }

    /// The account id.
    pub(crate) fn account(&mut self) -> Result<&'a [u8], Fault<'a>> {
        self.printable("account", ACCOUNT_ID_LEN_MAX)
    }

    /// A session id or a transaction id.
    pub(crate) fn id(&mut self, field: &'static str) -> Result<&'a [u8], Fault<'a>> {
        self.printable(field, ID_LEN_MAX)
    }

    fn printable(&mut self, field: &'static str, len_max: usize) -> Result<&'a [u8], Fault<'a>> {
        let bytes = self.bytes(field)?;
        if printable(bytes, len_max) { Ok(bytes) } else { Err(Fault::NotAnId { field, len_max }) }
    }

    /// The name of a unit, bucket or counter.
    pub(crate) fn name(&mut self, field: &'static str) -> Result<Name, Fault<'a>> {
        Name::new(self.bytes(field)?).ok_or(Fault::name(field))
    }

    /// The key of an item.
    pub(crate) fn item_key(&mut self) -> Result<ItemKey, Fault<'a>> {
        let fault = Fault::NotAnId { field: "key", len_max: ITEM_KEY_LEN_MAX };
        ItemKey::new(self.bytes("key")?).ok_or(fault)
    }

    /// A decimal integer.
    pub(crate) fn integer(&mut self, field: &'static str) -> Result<i64, Fault<'a>> {
        parse_integer(self.bytes(field)?).ok_or(Fault::NotAnInteger(field))
    }

    /// A duration in milliseconds: a number with its unit, `60s`, or one that is not short without.
    pub(crate) fn duration(&mut self, field: &'static str) -> Result<i64, Fault<'a>> {
        let word = self.bytes(field)?;
        match parse_integer(word) {
            // What is not positive is refused by its own rule.
            Some(ms) if !(1..UNITLESS_MS_MIN).contains(&ms) => Ok(ms),
            Some(ms) => Err(Fault::Unitless { field, ms }),
            None => with_unit(word).ok_or(Fault::NotAnInteger(field)),
        }
    }

    /// A decimal integer of a narrower type.
    pub(crate) fn narrow<T: TryFrom<i64>>(&mut self, field: &'static str) -> Result<T, Fault<'a>> {
        T::try_from(self.integer(field)?).map_err(|_| Fault::NotAnInteger(field))
    }

    /// A decimal integer within bounds.
    pub(crate) fn between(
        &mut self,
        field: &'static str,
        least: u16,
        most: u16,
    ) -> Result<u16, Fault<'a>> {
        let value = self.integer(field)?;
        let value = u16::try_from(value).ok().filter(|value| (least..=most).contains(value));
        value.ok_or(Fault::OutOfRange { field, least, most })
    }

    /// A status, `closed` only where that makes sense.
    pub(crate) fn status(&mut self, may_be_closed: bool) -> Result<Status, Fault<'a>> {
        let word = self.bytes("status")?;
        for status in [Status::Active, Status::Suspended, Status::Closed] {
            if word.eq_ignore_ascii_case(status.name().as_bytes())
                && (may_be_closed || status != Status::Closed)
            {
                return Ok(status);
            }
        }
        let words =
            if may_be_closed { "active, suspended or closed" } else { "active or suspended" };
        Err(Fault::NotOneOf { field: "status", words })
    }

    /// A reset period.
    pub(crate) fn period(&mut self) -> Result<Period, Fault<'a>> {
        let word = self.bytes("period")?;
        [Period::None, Period::Hour, Period::Day, Period::Week, Period::Month]
            .into_iter()
            .find(|period| word.eq_ignore_ascii_case(period.name().as_bytes()))
            .ok_or(Fault::NotOneOf { field: "period", words: "none, hour, day, week or month" })
    }

    /// Kind and value of an identity; an empty value only where it removes one.
    pub(crate) fn identity(&mut self, may_be_empty: bool) -> Result<(Name, &'a [u8]), Fault<'a>> {
        let kind = self.name("identity kind")?;
        let field = "identity value";
        let value = self.bytes(field)?;
        if printable(value, ID_LEN_MAX) || (may_be_empty && value.is_empty()) {
            Ok((kind, value))
        } else {
            Err(Fault::NotAnId { field, len_max: ID_LEN_MAX })
        }
    }

    /// Reads the value of an option of a bucket; false when `keyword` is none.
    pub(crate) fn bucket_attribute(
        &mut self,
        keyword: &[u8],
        attributes: &mut BucketAttributes,
        may_be_endless: bool,
    ) -> Result<bool, Fault<'a>> {
        if keyword.eq_ignore_ascii_case(b"PRIORITY") {
            let priority = self.narrow("priority")?;
            once(&mut attributes.priority, "priority", priority)?;
        } else if keyword.eq_ignore_ascii_case(b"FROM") {
            let from = Time(self.integer("from")?);
            once(&mut attributes.valid_from, "from", from)?;
        } else if keyword.eq_ignore_ascii_case(b"TO") {
            let word = self.bytes("to")?;
            let to = if may_be_endless && word.eq_ignore_ascii_case(b"none") {
                None
            } else {
                Some(Time(parse_integer(word).ok_or(Fault::NotAnInteger("to"))?))
            };
            once(&mut attributes.valid_to, "to", to)?;
        } else if keyword.eq_ignore_ascii_case(b"FLOOR") {
            let floor = self.integer("floor")?;
            once(&mut attributes.floor, "floor", floor)?;
        } else if keyword.eq_ignore_ascii_case(b"PERIOD") {
            let period = self.period()?;
            once(&mut attributes.period, "period", period)?;
        } else if keyword.eq_ignore_ascii_case(b"OFFSET") {
            let minutes = self.narrow("offset")?;
            once(&mut attributes.offset_minutes, "offset", minutes)?;
        } else if keyword.eq_ignore_ascii_case(b"AMOUNT") {
            let amount = self.integer("amount")?;
            once(&mut attributes.refill, "amount", amount)?;
        } else {
            return Ok(false);
        }
        Ok(true)
    }
}
