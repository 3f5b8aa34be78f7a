//! Reads the arguments of a SCUR command one by one: fields in fixed positions, then options in any order.

use crate::{Args, Fault, parse_integer};
use scurry_ledger::{
    ACCOUNT_ID_LEN_MAX, BucketAttributes, Cycle, DebtRule, ID_LEN_MAX, ITEM_KEY_LEN_MAX, ItemKey,
    Name, NamedZone, Period, PeriodClock, Span, Status, Time, is_printable,
};

/// A cursor over the arguments of a command.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Options<'a> {
    args: Args<'a>,
    at: usize,
}

fn printable(bytes: &[u8], len_max: usize) -> bool {
    !bytes.is_empty() && bytes.len() <= len_max && is_printable(bytes)
}

/// Reports whether `word` is this word in any case; `lower` must be lower-case letters only. The length is known at
/// compile time, so the word is compared as a whole and not letter by letter.
#[inline]
pub(crate) fn is<const N: usize>(word: &[u8], lower: &[u8; N]) -> bool {
    const { assert!(N > 0) }
    match <&[u8; N]>::try_from(word) {
        // Setting this bit gives the lower-case letter for both cases of a letter, and for no other byte.
        Ok(word) => word.map(|byte| byte | 0x20) == *lower,
        Err(_) => false,
    }
}

/// Sets an option that may be given once.
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

/// Least number that is accepted as milliseconds without a unit: smaller numbers nearly always mean seconds.
const UNITLESS_MS_MIN: i64 = 1_000;

/// Units of durations in milliseconds.
const UNITS: [(&str, i64); 4] = [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000)];

/// Parses a number with its unit into milliseconds.
#[cold]
fn with_unit(word: &[u8]) -> Option<i64> {
    let len = word.iter().take_while(|byte| !byte.is_ascii_alphabetic()).count();
    let (number, unit) = word.split_at(len);
    let (_, ms) = UNITS.iter().find(|(name, _)| unit.eq_ignore_ascii_case(name.as_bytes()))?;
    parse_integer(number)?.checked_mul(*ms)
}

impl<'a> Options<'a> {
    /// Returns a cursor that begins after the command's name.
    pub(crate) fn new(args: Args<'a>) -> Options<'a> {
        Options { args, at: 1 }
    }

    /// Returns a cursor that begins at a position.
    pub(crate) fn at(args: Args<'a>, at: usize) -> Options<'a> {
        Options { args, at }
    }

    /// Returns the next argument; `None` at the end.
    pub(crate) fn next(&mut self) -> Option<&'a [u8]> {
        let argument = self.args.get(self.at)?;
        self.at += 1;
        Some(argument)
    }

    /// Returns the next argument without advancing.
    pub(crate) fn peek(&self) -> Option<&'a [u8]> {
        self.args.get(self.at)
    }

    /// Returns the number of arguments that follow.
    pub(crate) fn left(&self) -> usize {
        self.args.len().saturating_sub(self.at)
    }

    /// Fails if another argument follows.
    pub(crate) fn end(mut self) -> Result<(), Fault<'a>> {
        self.next().map_or(Ok(()), |argument| Err(Fault::Unexpected(argument)))
    }

    /// Reads an argument of any bytes.
    pub(crate) fn bytes(&mut self, field: &'static str) -> Result<&'a [u8], Fault<'a>> {
        self.next().ok_or(Fault::Missing(field))
    }

    /// Reads the account id.
    pub(crate) fn account(&mut self) -> Result<&'a [u8], Fault<'a>> {
        self.printable("account", ACCOUNT_ID_LEN_MAX)
    }

    /// Reads a session id or a transaction id.
    pub(crate) fn id(&mut self, field: &'static str) -> Result<&'a [u8], Fault<'a>> {
        self.printable(field, ID_LEN_MAX)
    }

    fn printable(&mut self, field: &'static str, len_max: usize) -> Result<&'a [u8], Fault<'a>> {
        let bytes = self.bytes(field)?;
        if printable(bytes, len_max) { Ok(bytes) } else { Err(Fault::NotAnId { field, len_max }) }
    }

    /// Reads the name of a unit, bucket or counter.
    pub(crate) fn name(&mut self, field: &'static str) -> Result<Name, Fault<'a>> {
        Name::new(self.bytes(field)?).ok_or(Fault::name(field))
    }

    /// Reads the key of an item.
    pub(crate) fn item_key(&mut self) -> Result<ItemKey, Fault<'a>> {
        let fault = Fault::NotAnId { field: "key", len_max: ITEM_KEY_LEN_MAX };
        ItemKey::new(self.bytes("key")?).ok_or(fault)
    }

    /// Reads a decimal integer.
    pub(crate) fn integer(&mut self, field: &'static str) -> Result<i64, Fault<'a>> {
        parse_integer(self.bytes(field)?).ok_or(Fault::NotAnInteger(field))
    }

    /// Reads a duration in milliseconds: a number with a unit (`60s`), or a number of at least 1000 without one.
    pub(crate) fn duration(&mut self, field: &'static str) -> Result<i64, Fault<'a>> {
        let word = self.bytes(field)?;
        match parse_integer(word) {
            // 0 and negative numbers pass here: `decide` refuses them with its own error.
            Some(ms) if !(1..UNITLESS_MS_MIN).contains(&ms) => Ok(ms),
            Some(ms) => Err(Fault::Unitless { field, ms }),
            None => with_unit(word).ok_or(Fault::NotAnInteger(field)),
        }
    }

    /// Reads the span of a limit in milliseconds: as a duration, or so many days (`30d`).
    pub(crate) fn span(&mut self, field: &'static str) -> Result<i64, Fault<'a>> {
        match self.peek().and_then(Span::parse_ms) {
            Some(ms) => {
                self.at += 1;
                Ok(ms)
            }
            None => self.duration(field),
        }
    }

    /// Reads a decimal integer of a narrower type.
    pub(crate) fn narrow<T: TryFrom<i64>>(&mut self, field: &'static str) -> Result<T, Fault<'a>> {
        T::try_from(self.integer(field)?).map_err(|_| Fault::NotAnInteger(field))
    }

    /// Reads a decimal integer within bounds.
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

    /// Reads a status; `closed` only if `may_be_closed`.
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

    /// Reads a reset period.
    pub(crate) fn period(&mut self) -> Result<Period, Fault<'a>> {
        let words = "none, minute, hour, day, week, month, quarter, year, or a number of m, h or d";
        Period::new(self.bytes("period")?).ok_or(Fault::NotOneOf { field: "period", words })
    }

    /// Reads the value of an option about the clock of periods; returns false if `keyword` is not one.
    pub(crate) fn period_clock(
        &mut self,
        keyword: &[u8],
        clock: &mut PeriodClock,
    ) -> Result<bool, Fault<'a>> {
        if is(keyword, b"offset") {
            let minutes = self.integer("offset")?;
            once(&mut clock.offset_minutes, "offset", minutes)?;
        } else if is(keyword, b"zone") {
            let name = self.bytes("zone")?;
            let zone = NamedZone::new(name).ok_or(Fault::UnknownZone(name))?;
            once(&mut clock.zone, "zone", zone)?;
        } else if is(keyword, b"begin") {
            let begin = match self.peek() {
                Some(word) if word.eq_ignore_ascii_case(Cycle::FIRST_USE_WORD.as_bytes()) => {
                    self.at += 1;
                    Cycle::FIRST_USE
                }
                _ => self.between("begin", 0, 31)?.to_le_bytes()[0],
            };
            once(&mut clock.begin, "begin", begin)?;
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    /// Reads kind and value of an identity; the value may be empty only if that removes it.
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

    /// Reads the value of a bucket option; returns false if `keyword` is not one.
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
        } else if keyword.eq_ignore_ascii_case(b"MARK") {
            let word = self.bytes("mark")?;
            let mark = if may_be_endless && word.eq_ignore_ascii_case(b"none") {
                None
            } else {
                Some(parse_integer(word).ok_or(Fault::NotAnInteger("mark"))?)
            };
            once(&mut attributes.mark, "mark", mark)?;
        } else if keyword.eq_ignore_ascii_case(b"PERIOD") {
            let period = self.period()?;
            once(&mut attributes.period, "period", period)?;
        } else if keyword.eq_ignore_ascii_case(b"AMOUNT") {
            let amount = self.integer("amount")?;
            once(&mut attributes.refill, "amount", amount)?;
        } else if keyword.eq_ignore_ascii_case(b"ROLLOVER") {
            let rollover = self.integer("rollover")?;
            once(&mut attributes.rollover, "rollover", rollover)?;
        } else if keyword.eq_ignore_ascii_case(b"DEBT") {
            let fault = Fault::NotOneOf { field: "debt", words: DebtRule::WORDS };
            let rule = DebtRule::new(self.bytes("debt")?).ok_or(fault)?;
            once(&mut attributes.debt, "debt", rule)?;
        } else {
            return self.period_clock(keyword, &mut attributes.clock);
        }
        Ok(true)
    }
}
