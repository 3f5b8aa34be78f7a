//! The account image, version 1.

use crate::reader::{Reader, Tail};
use crate::writer::{GROUP_LEN_MAX, GROUP_ROOM, NAME_ROOM, Writer};
use alloc::vec::Vec;
use core::fmt;
use scurry_ledger::{
    Account, Bucket, BucketNo, Counter, ID_LEN_MAX, Id, Identity, Item, Name, Overrun, Period,
    Session, Slice, Status, Time, UnitAmount,
};

const VERSION: u8 = 1;

/// The longest id and its length, bytes.
const SHORT_LEN_MAX: usize = 1 + ID_LEN_MAX;

/// The bytes are not an account image of a version that this program knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImageError {
    /// The version byte is not known.
    Version(u8),
    /// Something inside is wrong, or bytes are missing or left over.
    Damaged,
}

impl fmt::Display for ImageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ImageError::Version(version) => {
                write!(f, "account image of version {version}: only version {VERSION} is known")
            }
            ImageError::Damaged => f.write_str("account image is damaged"),
        }
    }
}

impl core::error::Error for ImageError {}

/// Appends the image of an account.
pub fn encode_account(account: &Account, out: &mut Vec<u8>) {
    let at = out.len();
    out.resize(at + room(account), 0);
    let len = write_account(account, &mut out[at..]);
    out.truncate(at + len);
}

/// Writes the image of an account over a buffer that is used again, which grows where it is too
/// short. Returns the length of the image; what is behind it means nothing.
pub fn encode_account_over(account: &Account, buffer: &mut Vec<u8>) -> usize {
    let room = room(account);
    if buffer.len() < room {
        buffer.resize(room, 0);
    }
    write_account(account, buffer)
}

/// The bytes that an image takes at most, and what the writer may touch behind them.
fn room(account: &Account) -> usize {
    let session = |session: &Session| {
        let slices: usize = session.items.iter().map(|item| item.slices.len()).sum();
        let items = session.items.len() * (NAME_ROOM + 3 * GROUP_LEN_MAX);
        SHORT_LEN_MAX
            + 2 * GROUP_LEN_MAX
            + session.answers.as_bytes().len()
            + session.blob.len()
            + items
            + slices * GROUP_LEN_MAX
    };
    1 + 3 * GROUP_LEN_MAX
        + account.buckets.len() * (2 * NAME_ROOM + 4 * GROUP_LEN_MAX)
        + account.sessions.iter().map(session).sum::<usize>()
        + account.tombstones.as_bytes().len()
        + account.transactions.as_bytes().len()
        + account.identities.len() * (NAME_ROOM + SHORT_LEN_MAX)
        + account.counters.len() * (2 * NAME_ROOM + GROUP_LEN_MAX)
        + account.uncollected.len() * (NAME_ROOM + GROUP_LEN_MAX)
        + GROUP_ROOM
}

/// Writes an image to the front of `out`, and returns its length.
fn write_account(account: &Account, out: &mut [u8]) -> usize {
    let len_all = out.len();
    let mut w = Writer::new(out);
    let base = account.changed_at.0;
    w.byte(VERSION);
    w.group([word(account.version), base, i64::from(account.next_bucket), account.status as i64]);
    w.group([
        len(account.buckets.len()),
        len(account.sessions.len()),
        len(account.tombstones.as_bytes().len()),
        len(account.transactions.as_bytes().len()),
    ]);
    w.group([
        len(account.identities.len()),
        len(account.counters.len()),
        len(account.uncollected.len()),
        0,
    ]);
    for bucket in &account.buckets {
        put_bucket(&mut w, bucket, base);
    }
    for session in &account.sessions {
        put_session(&mut w, session, base);
    }
    w.bytes(account.tombstones.as_bytes());
    w.bytes(account.transactions.as_bytes());
    for identity in &account.identities {
        w.name(&identity.kind);
        w.short(identity.value.as_bytes());
    }
    for counter in &account.counters {
        w.name(&counter.id);
        w.name(&counter.unit);
        w.group([counter.value, counter.period as i64, counter.period_start.0, 0]);
    }
    for total in &account.uncollected {
        w.name(&total.unit);
        w.group([total.amount, 0, 0, 0]);
    }
    len_all - w.remaining()
}

/// Reads an image into an account whose buffers are used again.
pub fn decode_account(bytes: &[u8], account: &mut Account) -> Result<(), ImageError> {
    let mut tail: Tail = [0; 2 * GROUP_ROOM];
    let mut r = Reader::new(bytes, &mut tail);
    let version = r.byte();
    if version != VERSION {
        return Err(ImageError::Version(version));
    }
    let [account_version, base, next_bucket, status] = r.group();
    let [buckets, sessions, tombstones, transactions] = r.group();
    let [identities, counters, uncollected, _] = r.group();
    account.version = unword(account_version);
    account.changed_at = Time(base);
    account.next_bucket = narrow(&mut r, next_bucket);
    account.status = take_status(&mut r, status);
    let buckets = count(&mut r, buckets);
    account.buckets.truncate(buckets);
    while account.buckets.len() < buckets {
        account.buckets.push(Bucket::empty());
    }
    for bucket in &mut account.buckets {
        take_bucket(&mut r, base, bucket);
    }
    account.sessions.resize_with(count(&mut r, sessions), Session::empty);
    for session in &mut account.sessions {
        take_session(&mut r, base, session);
    }
    let packed = count(&mut r, tombstones);
    let whole = account.tombstones.load(r.bytes(packed));
    let packed = count(&mut r, transactions);
    if !(account.transactions.load(r.bytes(packed)) && whole) {
        r.fail();
    }
    account.identities.clear();
    for _ in 0..count(&mut r, identities) {
        let identity = take_identity(&mut r);
        account.identities.extend(identity);
    }
    account.counters.clear();
    for _ in 0..count(&mut r, counters) {
        let counter = take_counter(&mut r);
        account.counters.extend(counter);
    }
    account.uncollected.clear();
    for _ in 0..count(&mut r, uncollected) {
        let mut total = UnitAmount { unit: Name::EMPTY, amount: 0 };
        r.name(&mut total.unit);
        [total.amount, ..] = r.group();
        account.uncollected.push(total);
    }
    if r.is_done() { Ok(()) } else { Err(ImageError::Damaged) }
}

fn put_bucket(w: &mut Writer<'_>, bucket: &Bucket, base: i64) {
    w.name(&bucket.id);
    w.name(&bucket.unit);
    w.group([
        i64::from(bucket.no.0),
        i64::from(bucket.priority),
        bucket.created.0.wrapping_sub(base),
        bucket.valid_from.0,
    ]);
    w.group([bucket.available, bucket.held, bucket.credited, bucket.consumed]);
    w.group([
        i64::from(bucket.valid_to.is_some()),
        bucket.valid_to.map_or(0, |end| end.0.wrapping_sub(base)),
        bucket.floor,
        bucket.refunded,
    ]);
    w.group([bucket.expired, bucket.voided, bucket.overdrawn, 0]);
}

/// Fills a bucket in place.
fn take_bucket(r: &mut Reader<'_>, base: i64, bucket: &mut Bucket) {
    r.name(&mut bucket.id);
    r.name(&mut bucket.unit);
    let [no, priority, created, valid_from] = r.group();
    bucket.no = BucketNo(narrow(r, no));
    bucket.priority = narrow(r, priority);
    bucket.created = Time(created.wrapping_add(base));
    bucket.valid_from = Time(valid_from);
    [bucket.available, bucket.held, bucket.credited, bucket.consumed] = r.group();
    let [has_end, end, floor, refunded] = r.group();
    bucket.valid_to = (has_end != 0).then(|| Time(end.wrapping_add(base)));
    (bucket.floor, bucket.refunded) = (floor, refunded);
    [bucket.expired, bucket.voided, bucket.overdrawn, _] = r.group();
}

fn put_session(w: &mut Writer<'_>, session: &Session, base: i64) {
    w.short(session.id.as_bytes());
    w.group([
        word(session.version),
        session.validity_ms,
        session.tcc_ms,
        session.deadline.0.wrapping_sub(base),
    ]);
    w.group([
        session.overrun as i64,
        len(session.items.len()),
        len(session.answers.as_bytes().len()),
        len(session.blob.len()),
    ]);
    w.bytes(session.answers.as_bytes());
    w.bytes(&session.blob);
    for item in &session.items {
        put_item(w, item);
    }
}

/// Fills a session in place: it is large, and its buffers are used again.
fn take_session(r: &mut Reader<'_>, base: i64, session: &mut Session) {
    match Id::new(r.short()) {
        Some(id) => session.id = id,
        None => r.fail(),
    }
    let [version, validity_ms, tcc_ms, deadline] = r.group();
    let [overrun, items, answers, blob] = r.group();
    session.version = unword(version);
    session.validity_ms = validity_ms;
    session.tcc_ms = tcc_ms;
    session.deadline = Time(deadline.wrapping_add(base));
    session.overrun = match overrun {
        0 => Overrun::Overdraw,
        1 => Overrun::Clamp,
        _ => {
            r.fail();
            Overrun::Overdraw
        }
    };
    let packed = count(r, answers);
    if !session.answers.load(r.bytes(packed)) {
        r.fail();
    }
    let blob = count(r, blob);
    session.blob.clear();
    session.blob.extend_from_slice(r.bytes(blob));
    let items = count(r, items);
    session.items.truncate(items);
    while session.items.len() < items {
        session.items.push(Item::empty());
    }
    for item in &mut session.items {
        take_item(r, item);
    }
}

fn put_item(w: &mut Writer<'_>, item: &Item) {
    w.name(&item.unit);
    w.group([
        i64::from(item.key),
        len(item.slices.len()),
        item.last_grant.map_or(0, |request| i64::from(request) + 1),
        item.granted,
    ]);
    w.group([item.used, item.from_hold, item.direct, item.released]);
    // The first slice shares a group with what is rarely there.
    let first = item.slices.first().copied().unwrap_or(NO_SLICE);
    w.group([item.uncollected, i64::from(first.bucket.0), first.amount, 0]);
    for pair in item.slices.get(1..).unwrap_or(&[]).chunks(2) {
        let second = pair.get(1).copied().unwrap_or(NO_SLICE);
        w.group([
            i64::from(pair[0].bucket.0),
            pair[0].amount,
            i64::from(second.bucket.0),
            second.amount,
        ]);
    }
}

const NO_SLICE: Slice = Slice { bucket: BucketNo(0), amount: 0 };

/// Fills an item in place.
fn take_item(r: &mut Reader<'_>, item: &mut Item) {
    r.name(&mut item.unit);
    let [key, slices, last_grant, granted] = r.group();
    item.key = narrow(r, key);
    item.last_grant = (last_grant != 0).then(|| narrow(r, last_grant.wrapping_sub(1)));
    item.granted = granted;
    [item.used, item.from_hold, item.direct, item.released] = r.group();
    let [uncollected, first, amount, _] = r.group();
    item.uncollected = uncollected;
    item.slices.clear();
    // The first slice has been read: only those behind it take further bytes.
    let behind_first = count(r, slices.saturating_sub(1).max(0));
    let slices = if slices > 0 { behind_first + 1 } else { 0 };
    if slices > 0 {
        item.slices.push(Slice { bucket: BucketNo(narrow(r, first)), amount });
    }
    while item.slices.len() < slices && !r.is_broken() {
        let [bucket, amount, other, other_amount] = r.group();
        item.slices.push(Slice { bucket: BucketNo(narrow(r, bucket)), amount });
        if item.slices.len() < slices {
            item.slices.push(Slice { bucket: BucketNo(narrow(r, other)), amount: other_amount });
        }
    }
}

fn take_identity(r: &mut Reader<'_>) -> Option<Identity> {
    let mut kind = Name::EMPTY;
    r.name(&mut kind);
    let value = Id::new(r.short());
    if value.is_none() {
        r.fail();
    }
    Some(Identity { kind, value: value? })
}

fn take_counter(r: &mut Reader<'_>) -> Option<Counter> {
    let (mut id, mut unit) = (Name::EMPTY, Name::EMPTY);
    r.name(&mut id);
    r.name(&mut unit);
    let [value, period, period_start, _] = r.group();
    let period = match period {
        0 => Period::None,
        1 => Period::Hour,
        2 => Period::Day,
        3 => Period::Week,
        4 => Period::Month,
        _ => {
            r.fail();
            return None;
        }
    };
    Some(Counter { id, unit, period, period_start: Time(period_start), value })
}

fn take_status(r: &mut Reader<'_>, status: i64) -> Status {
    match status {
        0 => Status::Active,
        1 => Status::Suspended,
        2 => Status::Closed,
        _ => {
            r.fail();
            Status::Closed
        }
    }
}

/// A count of things that follow. Each takes a byte or more, so more of them than bytes are
/// left is damage.
fn count(r: &mut Reader<'_>, number: i64) -> usize {
    match usize::try_from(number) {
        Ok(count) if count <= r.remaining() => count,
        _ => {
            r.fail();
            0
        }
    }
}

fn narrow<N: TryFrom<i64> + Default>(r: &mut Reader<'_>, number: i64) -> N {
    N::try_from(number).unwrap_or_else(|_| {
        r.fail();
        N::default()
    })
}

#[expect(clippy::cast_possible_wrap, reason = "the bits of the number")]
fn word(number: u64) -> i64 {
    number as i64
}

#[expect(clippy::cast_sign_loss, reason = "the bits of the number")]
fn unword(number: i64) -> u64 {
    number as u64
}

fn len(len: usize) -> i64 {
    i64::try_from(len).unwrap_or(i64::MAX)
}
