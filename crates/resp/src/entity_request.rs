//! The grammar of ENTITY commands. It checks words and their form; the engine decides which version wins.

use crate::options::{Options, once};
use crate::plain::{Deadline, DeadlineUnit};
use crate::{Args, Fault, parse_integer};
use scurry_ledger::Time;

/// Longest id of an entity, bytes.
const ID_LEN_MAX: usize = 65_535;
/// Default number of ids that one ENTITY.FIND lists.
const COUNT_DEFAULT: usize = 10;
/// Most ids that one ENTITY.FIND lists, so that other requests are not delayed.
const COUNT_MAX: usize = 1_000;

/// Options of a write of an entity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EntityOptions {
    /// VERSION: version of this write, at least 1.
    pub version: Option<u64>,
    /// IFVERSION: version that must be stored, 0 for none.
    pub if_version: Option<u64>,
    /// EX and similar options; the time may be in the past.
    pub expires: Option<Time>,
}

/// A parsed ENTITY.FIND.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntityFind<'a> {
    /// Value to look for, as a whole.
    pub value: &'a [u8],
    /// COUNT, bounded.
    pub count: usize,
    /// AFTER: position to continue from.
    pub cursor: u64,
}

/// Parses ENTITY.PUT: the id, the value, the options.
pub fn parse_entity_put(
    args: Args<'_>,
    now: Time,
) -> Result<(&[u8], &[u8], EntityOptions), Fault<'_>> {
    let mut words = Options::new(args);
    let (id, value) = (id(&mut words)?, words.bytes("value")?);
    let options = options(words, Some(now))?;
    Ok((id, value, options))
}

/// Parses ENTITY.DEL: the id and the options, which include no expiry.
pub fn parse_entity_del(args: Args<'_>) -> Result<(&[u8], EntityOptions), Fault<'_>> {
    let mut words = Options::new(args);
    let id = id(&mut words)?;
    Ok((id, options(words, None)?))
}

/// Parses ENTITY.GET: the id, and whether the version is requested.
pub fn parse_entity_get(args: Args<'_>) -> Result<(&[u8], bool), Fault<'_>> {
    let mut words = Options::new(args);
    let id = id(&mut words)?;
    let with_version = match words.next() {
        None => false,
        Some(word) if word.eq_ignore_ascii_case(b"WITHVERSION") => true,
        Some(other) => return Err(Fault::Unexpected(other)),
    };
    words.end()?;
    Ok((id, with_version))
}

/// Parses ENTITY.FIND.
pub fn parse_entity_find(args: Args<'_>) -> Result<EntityFind<'_>, Fault<'_>> {
    let mut words = Options::new(args);
    let value = words.bytes("value")?;
    let (mut count, mut cursor) = (None, None);
    while let Some(word) = words.next() {
        if word.eq_ignore_ascii_case(b"COUNT") {
            let wanted = words.integer("count")?;
            if wanted < 1 {
                return Err(Fault::NotPositive("count"));
            }
            // As in SCAN, a number above the bound counts as the bound.
            let wanted = usize::try_from(wanted).unwrap_or(COUNT_MAX).min(COUNT_MAX);
            once(&mut count, "count", wanted)?;
        } else if word.eq_ignore_ascii_case(b"AFTER") {
            let text = std::str::from_utf8(words.bytes("after")?).ok();
            let after = text.and_then(|text| text.parse().ok());
            once(&mut cursor, "after", after.ok_or(Fault::NotAnInteger("after"))?)?;
        } else {
            return Err(Fault::Unexpected(word));
        }
    }
    let (count, cursor) = (count.unwrap_or(COUNT_DEFAULT), cursor.unwrap_or(0));
    Ok(EntityFind { value, count, cursor })
}

fn id<'a>(words: &mut Options<'a>) -> Result<&'a [u8], Fault<'a>> {
    let id = words.bytes("id")?;
    if (1..=ID_LEN_MAX).contains(&id.len()) {
        Ok(id)
    } else {
        Err(Fault::NotAKey { field: "id", len_max: ID_LEN_MAX })
    }
}

/// Parses the options of a write; those for an expiry are allowed only if `now` is given.
fn options<'a>(mut words: Options<'a>, now: Option<Time>) -> Result<EntityOptions, Fault<'a>> {
    let mut options = EntityOptions::default();
    while let Some(word) = words.next() {
        if word.eq_ignore_ascii_case(b"VERSION") {
            let version: u64 = words.narrow("version")?;
            if version == 0 {
                return Err(Fault::NotPositive("version"));
            }
            once(&mut options.version, "version", version)?;
        } else if word.eq_ignore_ascii_case(b"IFVERSION") {
            once(&mut options.if_version, "ifversion", words.narrow("ifversion")?)?;
        } else if let (Some(unit), Some(now)) = (DeadlineUnit::of_option(word), now) {
            let deadline = Deadline { unit, number: words.bytes("expiry")? };
            once(&mut options.expires, "expiry", expiry(deadline, now)?)?;
        } else {
            return Err(Fault::Unexpected(word));
        }
    }
    Ok(options)
}

fn expiry(deadline: Deadline<'_>, now: Time) -> Result<Time, Fault<'static>> {
    let number = parse_integer(deadline.number).ok_or(Fault::NotAnInteger("expiry"))?;
    if number < 1 {
        return Err(Fault::NotPositive("expiry"));
    }
    deadline.unit.at(number, now).ok_or(Fault::NotAnInteger("expiry"))
}
