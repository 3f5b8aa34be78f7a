//! The grammar of SCUR commands: parses arguments into a borrowed [`Command`] of the ledger. It checks words and their
//! form; `decide` checks the meaning of values.

use crate::follow_request::COUNT_MAX;
use crate::limits::IDENTITIES_MAX;
use crate::options::{Options, is, once};
use crate::scratch::RareLists;
use crate::session_options::{RequestKind, misplaced, session_option};
use crate::table::{ScurReadId, ScurWriteId};
use crate::{Args, Fault, Scratch};
use scurry_ledger::{
    BUCKET_KEYS_MAX, BUCKETS_MAX, BucketAttributes, Command, Create, ITEMS_MAX, ItemAmount,
    ItemKey, ItemRequest, LimitSubject, LimitTerms, Name, NewBucket, PeriodClock, SessionOptions,
    SessionPage, SessionRequest, Status, Transfer, WindowTerms,
};

/// A SCUR command for `decide`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Write<'a> {
    /// Account id, which is the key.
    pub account: &'a [u8],
    /// Command to execute on the account.
    pub command: Command<'a>,
}

/// A SCUR command that changes nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Read<'a> {
    /// `SCUR.GET`.
    Account(&'a [u8]),
    /// `SCUR.SESSION`.
    Session {
        /// Account id.
        account: &'a [u8],
        /// Session id.
        session: &'a [u8],
    },
    /// `SCUR.AUDIT`.
    Audit(&'a [u8]),
    /// `SCUR.CHECK`.
    Check {
        /// Account id.
        account: &'a [u8],
        /// Unit to check.
        unit: Name,
        /// Item that would get the units; none for a debit without an item.
        item: Option<ItemKey>,
        /// Amount to check, at least 1.
        amount: i64,
    },
    /// `SCUR.HOLDS`.
    Holds {
        /// Account id.
        account: &'a [u8],
        /// Page of the open sessions.
        page: SessionPage<'a>,
    },
    /// `SCUR.TRANSACTION`.
    Transaction {
        /// Account id.
        account: &'a [u8],
        /// Transaction id.
        txn: &'a [u8],
    },
}

/// Default number of sessions in one reply of `SCUR.HOLDS`.
const HOLDS_COUNT: u16 = 100;

/// Parses the arguments of a SCUR command that changes nothing, whose arity has been checked.
pub fn parse_read(id: ScurReadId, args: Args<'_>) -> Result<Read<'_>, Fault<'_>> {
    let mut options = Options::new(args);
    let account = options.account()?;
    let read = match id {
        ScurReadId::Get => Read::Account(account),
        ScurReadId::Audit => Read::Audit(account),
        ScurReadId::Session => Read::Session { account, session: options.id("session")? },
        ScurReadId::Check => {
            let unit = options.name("unit")?;
            let amount = options.integer("amount")?;
            if amount < 1 {
                return Err(Fault::NotPositive("amount"));
            }
            let item = match options.next() {
                Some(word) if is(word, b"item") => Some(options.item_key()?),
                Some(word) => return Err(Fault::Unexpected(word)),
                None => None,
            };
            Read::Check { account, unit, item, amount }
        }
        ScurReadId::Holds => Read::Holds { account, page: session_page(&mut options)? },
        ScurReadId::Transaction => Read::Transaction { account, txn: options.id("txn")? },
    };
    options.end()?;
    Ok(read)
}

fn session_page<'a>(options: &mut Options<'a>) -> Result<SessionPage<'a>, Fault<'a>> {
    let (mut count, mut after) = (None, None);
    while let Some(keyword) = options.next() {
        if is(keyword, b"count") {
            once(&mut count, "count", options.between("count", 1, COUNT_MAX)?)?;
        } else if is(keyword, b"after") {
            once(&mut after, "after", options.id("after")?)?;
        } else {
            return Err(Fault::Unexpected(keyword));
        }
    }
    let count = usize::from(count.unwrap_or(HOLDS_COUNT));
    Ok(SessionPage { after: after.unwrap_or(b""), count })
}

/// Parses the arguments of a SCUR command for `decide`, whose arity has been checked. Its lists are stored in
/// `scratch`.
pub fn parse_write<'s, 'a: 's>(
    id: ScurWriteId,
    args: Args<'a>,
    scratch: &'s mut Scratch<'a>,
) -> Result<Write<'s>, Fault<'a>> {
    let mut options = Options::new(args);
    let account = options.account()?;
    if id == ScurWriteId::Transfer {
        return Ok(Write { account, command: transfer(account, options)? });
    }
    let command = parse_command(id, options, scratch)?;
    Ok(Write { account, command })
}

/// Parses the arguments after the account.
pub(crate) fn parse_command<'s, 'a: 's>(
    id: ScurWriteId,
    options: Options<'a>,
    scratch: &'s mut Scratch<'a>,
) -> Result<Command<'s>, Fault<'a>> {
    let parse = match id {
        ScurWriteId::Create => create,
        ScurWriteId::Status => status,
        ScurWriteId::Delete => delete,
        ScurWriteId::TopUp => top_up,
        ScurWriteId::Adjust => adjust,
        ScurWriteId::Bucket => bucket,
        ScurWriteId::Debit => debit,
        ScurWriteId::Refund => refund,
        ScurWriteId::Counter => counter,
        ScurWriteId::Limit => limit,
        // Only a chain could ask for it here, and it takes no transfers.
        ScurWriteId::Transfer => return Err(Fault::Unexpected(b"TRANSFER")),
        ScurWriteId::Reserve => reserve,
        ScurWriteId::Update => update,
        ScurWriteId::Terminate => terminate,
        ScurWriteId::Release => release,
    };
    parse(options, scratch)
}

fn create<'s, 'a: 's>(
    mut options: Options<'a>,
    scratch: &'s mut Scratch<'a>,
) -> Result<Command<'s>, Fault<'a>> {
    let (mut txn, mut status) = (None, None);
    let (identities, RareLists { buckets, bucket_keys, .. }) = scratch.rarer();
    identities.clear();
    buckets.clear();
    bucket_keys.clear();
    while let Some(keyword) = options.next() {
        if is(keyword, b"status") {
            once(&mut status, "status", options.status(false)?)?;
        } else if is(keyword, b"txn") {
            once(&mut txn, "txn", options.id("txn")?)?;
        } else if is(keyword, b"identity") {
            push(identities, options.identity(false)?, "identities", IDENTITIES_MAX)?;
        } else if is(keyword, b"bucket") {
            let bucket = NewBucket {
                bucket: options.name("bucket")?,
                unit: options.name("unit")?,
                amount: options.integer("amount")?,
                attributes: BucketAttributes::default(),
            };
            push(buckets, bucket, "buckets", BUCKETS_MAX)?;
        } else {
            // The options of a bucket belong to the last bucket before them.
            let index = buckets.len().wrapping_sub(1);
            let Some(bucket) = buckets.last_mut() else {
                let place = "STATUS, IDENTITY or BUCKET comes first";
                return Err(Fault::Misplaced { argument: keyword, place });
            };
            if is(keyword, b"item") {
                let most = BUCKETS_MAX * BUCKET_KEYS_MAX;
                push(bucket_keys, (index, options.item_key()?), "items", most)?;
            } else if !options.bucket_attribute(keyword, &mut bucket.attributes, false)? {
                return Err(Fault::Unexpected(keyword));
            }
        }
    }
    Ok(Command::Create(Create {
        txn,
        status: status.unwrap_or(Status::Active),
        identities,
        buckets,
        keys: bucket_keys,
    }))
}

fn status<'s, 'a: 's>(
    mut options: Options<'a>,
    scratch: &'s mut Scratch<'a>,
) -> Result<Command<'s>, Fault<'a>> {
    let status = options.status(true)?;
    let mut txn = None;
    scratch.identities.clear();
    while let Some(keyword) = options.next() {
        if is(keyword, b"identity") {
            push(&mut scratch.identities, options.identity(true)?, "identities", IDENTITIES_MAX)?;
        } else if is(keyword, b"txn") {
            once(&mut txn, "txn", options.id("txn")?)?;
        } else {
            return Err(Fault::Unexpected(keyword));
        }
    }
    Ok(Command::Status { txn, status, identities: &scratch.identities })
}

fn delete<'s, 'a: 's>(
    mut options: Options<'a>,
    _: &'s mut Scratch<'a>,
) -> Result<Command<'s>, Fault<'a>> {
    let (mut force, mut if_txn) = (None, None);
    while let Some(keyword) = options.next() {
        if is(keyword, b"force") {
            once(&mut force, "force", ())?;
        } else if is(keyword, b"iftxn") {
            once(&mut if_txn, "iftxn", options.id("iftxn")?)?;
        } else {
            return Err(Fault::Unexpected(keyword));
        }
    }
    Ok(Command::Delete { force: force.is_some(), if_txn })
}

fn top_up<'s, 'a: 's>(
    mut options: Options<'a>,
    scratch: &'s mut Scratch<'a>,
) -> Result<Command<'s>, Fault<'a>> {
    let (_, RareLists { keys, .. }) = scratch.rarer();
    keys.clear();
    let (txn, bucket) = (options.id("txn")?, options.name("bucket")?);
    let amount = options.integer("amount")?;
    let (mut unit, mut attributes) = (None, BucketAttributes::default());
    while let Some(keyword) = options.next() {
        if is(keyword, b"unit") {
            once(&mut unit, "unit", options.name("unit")?)?;
        } else if is(keyword, b"item") {
            push(keys, options.item_key()?, "items", BUCKET_KEYS_MAX)?;
        } else if !options.bucket_attribute(keyword, &mut attributes, true)? {
            return Err(Fault::Unexpected(keyword));
        }
    }
    Ok(Command::TopUp { txn, bucket, amount, unit, attributes, keys })
}

fn adjust<'s, 'a: 's>(
    mut options: Options<'a>,
    _: &'s mut Scratch<'a>,
) -> Result<Command<'s>, Fault<'a>> {
    let (txn, bucket) = (options.id("txn")?, options.name("bucket")?);
    let amount = options.integer("amount")?;
    options.end()?;
    Ok(Command::Adjust { txn, bucket, amount })
}

fn bucket<'s, 'a: 's>(
    mut options: Options<'a>,
    scratch: &'s mut Scratch<'a>,
) -> Result<Command<'s>, Fault<'a>> {
    let (_, RareLists { keys, .. }) = scratch.rarer();
    keys.clear();
    let mut for_all = None;
    let (txn, bucket) = (options.id("txn")?, options.name("bucket")?);
    let (mut attributes, mut remove) = (BucketAttributes::default(), None);
    while let Some(keyword) = options.next() {
        if is(keyword, b"remove") {
            once(&mut remove, "remove", ())?;
        } else if is(keyword, b"item") {
            push(keys, options.item_key()?, "items", BUCKET_KEYS_MAX)?;
        } else if is(keyword, b"anyitem") {
            once(&mut for_all, "anyitem", ())?;
        } else if !options.bucket_attribute(keyword, &mut attributes, true)? {
            return Err(Fault::Unexpected(keyword));
        }
        if for_all.is_some() && !keys.is_empty() {
            return Err(Fault::Misplaced {
                argument: keyword,
                place: "ITEM and ANYITEM exclude each other",
            });
        }
    }
    let keys = (for_all.is_some() || !keys.is_empty()).then_some(keys.as_slice());
    Ok(Command::Bucket { txn, bucket, attributes, keys, remove: remove.is_some() })
}

fn debit<'s, 'a: 's>(
    mut options: Options<'a>,
    scratch: &'s mut Scratch<'a>,
) -> Result<Command<'s>, Fault<'a>> {
    let txn = options.id("txn")?;
    // A unit may be called ITEM, but nothing follows after such a unit and its amount.
    if options.left() > 2 && options.peek().is_some_and(|word| is(word, b"item")) {
        return Ok(Command::DebitItems { txn, items: item_amounts(options, scratch)? });
    }
    let unit = options.name("unit")?;
    let amount = options.integer("amount")?;
    options.end()?;
    Ok(Command::Debit { txn, unit, amount })
}

/// Parses any number of `ITEM key unit amount`.
fn item_amounts<'s, 'a: 's>(
    mut options: Options<'a>,
    scratch: &'s mut Scratch<'a>,
) -> Result<&'s [ItemAmount], Fault<'a>> {
    let (_, RareLists { amounts, .. }) = scratch.rarer();
    amounts.clear();
    while let Some(word) = options.next() {
        if !is(word, b"item") {
            return Err(Fault::Unexpected(word));
        }
        let (key, unit) = (options.item_key()?, options.name("unit")?);
        let item = ItemAmount { key, unit, amount: options.integer("amount")? };
        push(amounts, item, "items", ITEMS_MAX)?;
    }
    Ok(amounts)
}

fn refund<'s, 'a: 's>(
    mut options: Options<'a>,
    scratch: &'s mut Scratch<'a>,
) -> Result<Command<'s>, Fault<'a>> {
    let (txn, debit) = (options.id("txn")?, options.id("debit-txn")?);
    let (mut amount, mut carry) = (None, None);
    while let Some(word) = options.peek() {
        if is(word, b"carry") {
            once(&mut carry, "CARRY", ())?;
        } else if amount.is_none() && is(word, b"item") {
            let (items, carry) = (item_amounts(options, scratch)?, carry.is_some());
            return Ok(Command::RefundItems { txn, debit, items, carry });
        } else if amount.is_some() {
            return Err(Fault::Unexpected(word));
        } else {
            amount = Some(crate::parse_integer(word).ok_or(Fault::NotAnInteger("amount"))?);
        }
        options.next();
    }
    let carry = carry.is_some();
    Ok(Command::Refund { txn, debit, amount, carry })
}

fn counter<'s, 'a: 's>(
    mut options: Options<'a>,
    _: &'s mut Scratch<'a>,
) -> Result<Command<'s>, Fault<'a>> {
    let (txn, counter) = (options.id("txn")?, options.name("counter")?);
    let amount = options.integer("amount")?;
    let (mut unit, mut period, mut clock) = (None, None, PeriodClock::NONE);
    while let Some(keyword) = options.next() {
        if is(keyword, b"unit") {
            once(&mut unit, "unit", options.name("unit")?)?;
        } else if is(keyword, b"period") {
            once(&mut period, "period", options.period()?)?;
        } else if !options.period_clock(keyword, &mut clock)? {
            return Err(Fault::Unexpected(keyword));
        }
    }
    Ok(Command::Counter { txn, counter, amount, unit, period, clock })
}

fn limit<'s, 'a: 's>(
    mut options: Options<'a>,
    _: &'s mut Scratch<'a>,
) -> Result<Command<'s>, Fault<'a>> {
    let (txn, limit) = (options.id("txn")?, options.name("limit")?);
    let (mut unit, mut item, mut sessions, mut amount) = (None, None, None, None);
    let (mut period, mut clock, mut remove) = (None, PeriodClock::NONE, None);
    let (mut rolling, mut rate, mut burst) = (None, None, None);
    while let Some(keyword) = options.next() {
        if is(keyword, b"unit") {
            once(&mut unit, "unit", options.name("unit")?)?;
        } else if is(keyword, b"item") {
            once(&mut item, "item", options.item_key()?)?;
        } else if is(keyword, b"sessions") {
            once(&mut sessions, "sessions", ())?;
        } else if is(keyword, b"amount") {
            once(&mut amount, "amount", options.integer("amount")?)?;
        } else if is(keyword, b"period") {
            once(&mut period, "period", options.period()?)?;
        } else if is(keyword, b"rolling") {
            once(&mut rolling, "rolling", options.span("rolling")?)?;
        } else if is(keyword, b"rate") {
            once(&mut rate, "rate", options.span("rate")?)?;
        } else if is(keyword, b"burst") {
            once(&mut burst, "burst", options.integer("burst")?)?;
        } else if is(keyword, b"remove") {
            once(&mut remove, "remove", ())?;
        } else if !options.period_clock(keyword, &mut clock)? {
            return Err(Fault::Unexpected(keyword));
        }
    }
    let counted = match (unit, item, sessions) {
        (Some(unit), item, None) => Some(LimitSubject::Units { unit, item }),
        (None, None, Some(())) => Some(LimitSubject::Sessions),
        (None, None, None) => None,
        (None, Some(_), _) => return Err(Fault::Missing("unit")),
        (Some(_), _, Some(())) => return Err(Fault::Unexpected(b"SESSIONS")),
    };
    let window = match (rolling, rate, burst) {
        (None, None, None) => WindowTerms::Period { period, clock },
        (None, None, Some(_)) => return Err(Fault::Missing("rate")),
        _ if period.is_some() || clock.is_given() => return Err(Fault::Unexpected(b"PERIOD")),
        (Some(span_ms), None, None) => WindowTerms::Rolling { span_ms },
        (None, Some(span_ms), burst) => WindowTerms::Rate { span_ms, burst },
        (Some(_), ..) => return Err(Fault::Unexpected(b"ROLLING")),
    };
    let terms = match (counted, amount, remove) {
        (Some(counted), Some(amount), None) => LimitTerms::Set { counted, amount, window },
        (None, None, Some(())) if window == WindowTerms::UNSAID => LimitTerms::Remove,
        (_, _, Some(())) => return Err(Fault::Unexpected(b"REMOVE")),
        (None, _, None) => return Err(Fault::Missing("UNIT or SESSIONS")),
        (Some(_), None, None) => return Err(Fault::Missing("amount")),
    };
    Ok(Command::Limit { txn, limit, terms })
}

fn transfer<'a>(payer: &'a [u8], mut options: Options<'a>) -> Result<Command<'a>, Fault<'a>> {
    let (id, unit) = (options.id("transfer")?, options.name("unit")?);
    let amount = options.integer("amount")?;
    let (payee, bucket) = (options.account()?, options.name("bucket")?);
    options.end()?;
    Ok(Command::Transfer(Transfer { payer, id, unit, amount, payee, bucket }))
}

fn release<'s, 'a: 's>(
    mut options: Options<'a>,
    _: &'s mut Scratch<'a>,
) -> Result<Command<'s>, Fault<'a>> {
    let session = options.id("session")?;
    let (mut cancel, mut txn) = (None, None);
    while let Some(keyword) = options.next() {
        if is(keyword, b"cancel") {
            once(&mut cancel, "cancel", true)?;
        } else if is(keyword, b"txn") {
            once(&mut txn, "txn", options.id("txn")?)?;
        } else {
            return Err(Fault::Unexpected(keyword));
        }
    }
    Ok(Command::Release { session, txn, cancel: cancel.is_some() })
}

fn reserve<'s, 'a: 's>(
    options: Options<'a>,
    scratch: &'s mut Scratch<'a>,
) -> Result<Command<'s>, Fault<'a>> {
    session_request(RequestKind::Reserve, options, scratch).map(Command::Reserve)
}

fn update<'s, 'a: 's>(
    options: Options<'a>,
    scratch: &'s mut Scratch<'a>,
) -> Result<Command<'s>, Fault<'a>> {
    session_request(RequestKind::Update, options, scratch).map(Command::Update)
}

fn terminate<'s, 'a: 's>(
    options: Options<'a>,
    scratch: &'s mut Scratch<'a>,
) -> Result<Command<'s>, Fault<'a>> {
    session_request(RequestKind::Terminate, options, scratch).map(Command::Terminate)
}

fn session_request<'s, 'a: 's>(
    kind: RequestKind,
    mut options: Options<'a>,
    scratch: &'s mut Scratch<'a>,
) -> Result<SessionRequest<'s>, Fault<'a>> {
    let (session, request) = (options.id("session")?, options.narrow("request")?);
    let (mut given, mut blob) = (SessionOptions::default(), None);
    let items = &mut scratch.items;
    items.clear();
    while let Some(word) = options.next() {
        if is(word, b"item") {
            let item = ItemRequest {
                key: options.item_key()?,
                unit: options.name("unit")?,
                used: None,
                requested: None,
                min: None,
            };
            push(items, item, "items", ITEMS_MAX)?;
        } else if item_option(kind, word, &mut options, items)?
            || session_option(kind, word, &mut options, &mut given)?
        {
        } else if kind != RequestKind::Terminate && is(word, b"data") {
            once(&mut blob, "data", options.bytes("data")?)?;
        } else {
            return Err(misplaced(kind, word, !items.is_empty()));
        }
    }
    Ok(SessionRequest { session, request, options: given, blob, items })
}

/// Parses an option of the last item; returns false if `word` is not one.
fn item_option<'a>(
    kind: RequestKind,
    word: &'a [u8],
    options: &mut Options<'a>,
    items: &mut [ItemRequest],
) -> Result<bool, Fault<'a>> {
    let Some(item) = items.last_mut() else {
        return Ok(false);
    };
    let (slot, field) = if kind != RequestKind::Reserve && is(word, b"used") {
        (&mut item.used, "used")
    } else if kind != RequestKind::Terminate && is(word, b"requested") {
        (&mut item.requested, "requested")
    } else if kind != RequestKind::Terminate && is(word, b"min") {
        (&mut item.min, "min")
    } else {
        return Ok(false);
    };
    once(slot, field, options.integer(field)?)?;
    Ok(true)
}

fn push<T>(
    list: &mut Vec<T>,
    value: T,
    field: &'static str,
    max: usize,
) -> Result<(), Fault<'static>> {
    if list.len() >= max {
        return Err(Fault::TooMany { field, max });
    }
    list.push(value);
    Ok(())
}
