//! The account image, version 1, little-endian:
//!
//! | bytes | field |
//! |---|---|
//! | u8 | version, 1 |
//! | u8 | flags: bits 0 and 1 status, bit 2 wide, bit 3 more |
//! | u16, u8, u8, u32, i48 | next bucket number, count of buckets, of sessions, version, time of the last change |
//! | groups | when wide, instead of these; with more, lengths and counts of the parts after the sessions |
//! | | buckets, sessions with their items: each in its file in `image` |
//! | | tombstones, transactions, identities, counters, uncollected totals, allowances, limits, carried debts, units in transit, former identities |
//!
//! A group is four signed numbers: a byte with the width of each (two bits: 0, 2, 4 or 8 bytes), then
//! the numbers. docs/formats/account-image.md has every part.
//!
//! The parts that most accounts have are at offsets known at compile time, in widths that suit most numbers: reading
//! and writing them is a run of moves without a branch for each. Larger numbers and rare parts are in groups after
//! them.

mod bucket;
mod item;
mod limit;
mod session;

use crate::Malformed;
use crate::cycle::{
    CYCLE_LEN_MAX, CycleBytes, EXTENDED, plain_counter_number, plain_number, plain_period,
    take_cycle,
};
use crate::reader::{ImageReader, Tail};
use crate::writer::{FIXED_LEN_MAX, GROUP_LEN_MAX, NAME_ROOM, Writer};
use alloc::vec::Vec;
use core::fmt;
use scurry_ledger::{
    Account, Allowance, Bucket, BucketKey, BucketNo, CarriedDebt, Counter, Cycle, DebtRule,
    FormerIdentity, ID_LEN_MAX, ITEM_KEY_LEN_MAX, Id, Identity, Item, ItemId, ItemKey, Name,
    Period, Session, Status, TZDATA_VERSION, Time, UnitAmount,
};

const VERSION: u8 = 3;

/// Length of the longest id with its length byte.
const SHORT_LEN_MAX: usize = 1 + ID_LEN_MAX;

/// Reasons why bytes are not an account image that this program can read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImageError {
    /// Unknown version byte.
    Version(u8),
    /// Malformed content, or bytes are missing or left over.
    Damaged,
    /// A time zone that is not in the tables of this build.
    Zone,
}

impl fmt::Display for ImageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ImageError::Version(version) => {
                write!(f, "account image of version {version}: version {VERSION} is known")
            }
            ImageError::Damaged => f.write_str("account image is damaged"),
            ImageError::Zone => write!(
                f,
                "account image has a time zone that tzdata {TZDATA_VERSION} does not know: use a newer version"
            ),
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

/// Writes the image of an account to the start of a reused buffer, which grows if it is too short. Returns the length
/// of the image; the bytes after it have no meaning.
pub fn encode_account_over(account: &Account, buffer: &mut Vec<u8>) -> usize {
    let room = room(account);
    if buffer.len() < room {
        buffer.resize(room, 0);
    }
    write_account(account, buffer)
}

/// Marks an image as that of a part of an account, whose open sessions, tombstones and transactions are kept apart.
/// Such an image stays in the memory of its host.
pub fn mark_in_parts(image: &mut [u8]) {
    if let Some(flags) = image.get_mut(1) {
        *flags |= flag::APART;
    }
}

/// Reports whether [`mark_in_parts`] has marked the image.
#[inline]
pub fn is_in_parts(image: &[u8]) -> bool {
    image.get(1).is_some_and(|flags| flags & flag::APART != 0)
}

/// Appends the bytes of an open session, as they are in an image.
pub fn encode_session(session: &Session, out: &mut Vec<u8>) {
    append(out, session::len_max(session), |w| session::put(w, session));
}

/// Reads an open session from the bytes of [`encode_session`], in place.
pub fn decode_session(bytes: &[u8], session: &mut Session) -> Result<(), ImageError> {
    read_whole(bytes, |r| session::read_session(r, session))
}

/// Appends the bytes of an item of a session, as they are in an image.
pub fn encode_item(item: &Item, out: &mut Vec<u8>) {
    append(out, item::len_max(item), |w| item::put(w, item));
}

/// Reads an item from the bytes of [`encode_item`], in place.
pub fn decode_item(bytes: &[u8], item: &mut Item) -> Result<(), ImageError> {
    read_whole(bytes, |r| item::read_item(r, item))
}

/// Appends what `put` writes, at most so many bytes.
fn append(out: &mut Vec<u8>, len_max: usize, put: impl FnOnce(&mut Writer<'_>)) {
    let at = out.len();
    out.resize(at + len_max + FIXED_LEN_MAX, 0);
    let room = out.len() - at;
    let mut w = Writer::new(&mut out[at..]);
    put(&mut w);
    let len = room - w.remaining();
    out.truncate(at + len);
}

/// Reads all of the bytes.
fn read_whole(bytes: &[u8], read: impl FnOnce(&mut ImageReader<'_>)) -> Result<(), ImageError> {
    let mut tail: Tail = [0; 2 * FIXED_LEN_MAX];
    let mut r = ImageReader::new(bytes, &mut tail);
    read(&mut r);
    if r.is_done() { Ok(()) } else { Err(ImageError::Damaged) }
}

/// Bits of the second byte, above those of the status.
mod flag {
    /// The numbers are in groups.
    pub(super) const WIDE: u8 = 1 << 2;
    /// The image has parts other than buckets and sessions.
    pub(super) const MORE: u8 = 1 << 3;
    /// Sessions, tombstones and transactions are kept apart. Only in memory.
    pub(super) const APART: u8 = 1 << 4;
    pub(super) const STATUS: u8 = 3;
    pub(super) const ALL: u8 = WIDE | MORE | STATUS | APART;
}

/// Length of the head when it is narrow, bytes.
const HEAD_LEN: usize = 16;

/// Place of the lowest bit of the count of units in transit, in the number that also has the count of carried debts.
const IN_TRANSIT: u32 = 16;
/// Place of the lowest bit of the count of former identities in that number.
const FORMER: u32 = 32;
/// Place of the lowest bit of the count of keys of buckets, in the number that also has the count of allowances.
const BUCKET_KEYS: u32 = 16;

/// Returns an upper bound of an image's length, with the bytes that the writer may touch after its end.
fn room(account: &Account) -> usize {
    HEAD_LEN
        + 4 * GROUP_LEN_MAX
        + account.buckets.len() * bucket::LEN_MAX
        + account.sessions.iter().map(session::len_max).sum::<usize>()
        + account.tombstones.as_bytes().len()
        + account.transactions.as_bytes().len()
        + account.identities.len() * (NAME_ROOM + SHORT_LEN_MAX)
        + account.counters.len() * (2 * NAME_ROOM + GROUP_LEN_MAX + 1 + CYCLE_LEN_MAX)
        + (account.uncollected.len() + account.in_transit.len()) * (NAME_ROOM + GROUP_LEN_MAX)
        + account.allowances.len() * (2 * GROUP_LEN_MAX + 1 + CYCLE_LEN_MAX)
        + account.bucket_keys.len() * (GROUP_LEN_MAX + 1 + ITEM_KEY_LEN_MAX)
        + account.carried.len() * GROUP_LEN_MAX
        + account.former_identities.len() * (NAME_ROOM + SHORT_LEN_MAX + GROUP_LEN_MAX)
        + account.limits.len() * limit::LEN_MAX
        + account.limit_parts.len() * limit::PART_LEN
        + FIXED_LEN_MAX
}

/// Writes an image to the start of `out`, and returns its length.
fn write_account(account: &Account, out: &mut [u8]) -> usize {
    let len_all = out.len();
    let mut w = Writer::new(out);
    let base = account.changed_at.0;
    put_head(&mut w, account);
    for bucket in &account.buckets {
        bucket::put(&mut w, bucket, base);
    }
    for session in &account.sessions {
        session::put(&mut w, session);
    }
    for remembered in [account.tombstones.as_bytes(), account.transactions.as_bytes()] {
        if !remembered.is_empty() {
            w.bytes(remembered);
        }
    }
    if has_rarer(account) {
        w = put_rarer(w, account);
    }
    len_all - w.remaining()
}

/// Reports whether the account has any of the rare parts after the sessions.
#[inline]
fn has_rarer(account: &Account) -> bool {
    let Account { identities, counters, uncollected, allowances, limits, carried, .. } = account;
    let of_buckets = allowances.len() | carried.len() | account.bucket_keys.len();
    let of_units = uncollected.len() | account.in_transit.len();
    let names = identities.len() | account.former_identities.len();
    names | counters.len() | of_units | of_buckets | limits.len() != 0
}

/// Writes the rare parts. The writer is passed and returned by value, so that it can stay in registers for most
/// accounts.
#[inline(never)]
fn put_rarer<'a>(mut w: Writer<'a>, account: &Account) -> Writer<'a> {
    let base = account.changed_at.0;
    for identity in &account.identities {
        w.name(&identity.kind);
        w.short(identity.value.as_bytes());
    }
    for counter in &account.counters {
        w.name(&counter.id);
        w.name(&counter.unit);
        let plain = plain_counter_number(counter.cycle);
        let number = i64::from(plain.unwrap_or(EXTENDED));
        w.group([counter.value, number, counter.period_start.0, 0]);
        if plain.is_none() {
            w.short(CycleBytes::new(counter.cycle).as_bytes());
        }
    }
    for total in &account.uncollected {
        w.name(&total.unit);
        w.group([total.amount, 0, 0, 0]);
    }
    for allowance in &account.allowances {
        let Allowance { bucket, cycle, amount, period_start, rollover, debt, owed } = allowance;
        let plain = plain_number(*cycle);
        let is_plain = !allowance.has_terms();
        let minutes = plain.and(cycle.zone.offset_minutes()).unwrap_or(0);
        let number = i64::from(minutes) << PERIOD_BITS | i64::from(plain.unwrap_or(EXTENDED));
        let terms = if is_plain { 0 } else { WITH_TERMS };
        w.group([i64::from(bucket.0) | terms, number, *amount, period_start.0]);
        if plain.is_none() {
            w.short(CycleBytes::new(*cycle).as_bytes());
        }
        if !is_plain {
            w.group([*rollover, i64::from(debt.number()), *owed, 0]);
        }
    }
    for BucketKey { bucket, key } in &account.bucket_keys {
        match key {
            ItemKey::Number(key) => w.group([i64::from(bucket.0), i64::from(*key), 0, 0]),
            ItemKey::Id(id) => {
                w.group([i64::from(bucket.0), 0, 1, 0]);
                w.short(id.as_bytes());
            }
        }
    }
    let mut parts = &account.limit_parts[..];
    for limit in &account.limits {
        let (of_it, others) = parts.split_at(usize::from(limit.parts).min(parts.len()));
        limit::put(&mut w, limit, of_it, base);
        parts = others;
    }
    for debt in &account.carried {
        let CarriedDebt { bucket, period, since, amount } = *debt;
        w.group([i64::from(bucket.0), i64::from(period), word(since), amount]);
    }
    for sum in &account.in_transit {
        w.name(&sum.unit);
        w.group([sum.amount, 0, 0, 0]);
    }
    for former in &account.former_identities {
        w.name(&former.identity.kind);
        w.short(former.identity.value.as_bytes());
        w.group([former.given_up_at.0, former.forget_at.0, 0, 0]);
    }
    w
}

#[inline(always)]
fn put_head(w: &mut Writer<'_>, account: &Account) {
    let (buckets, sessions) = (account.buckets.len(), account.sessions.len());
    let more = [
        len(account.tombstones.as_bytes().len()),
        len(account.transactions.as_bytes().len()),
        len(account.identities.len()),
        len(account.counters.len()),
    ];
    let uncollected = len(account.uncollected.len());
    let limits = len(account.limits.len());
    let allowances = len(account.allowances.len()) | len(account.bucket_keys.len()) << BUCKET_KEYS;
    let former = len(account.former_identities.len()) << FORMER;
    let carried = len(account.carried.len()) | len(account.in_transit.len()) << IN_TRANSIT | former;
    let rarer = uncollected | limits | allowances | carried;
    let has_more = more[0] | more[1] | more[2] | more[3] | rarer != 0;
    let flags = account.status as u8 | if has_more { flag::MORE } else { 0 };
    let fields = w.fixed::<{ HEAD_LEN + 2 }>();
    fields[0] = VERSION;
    // The narrow form fits nearly all accounts.
    if let (Ok(version), Ok(buckets), Ok(sessions), true) = (
        u32::try_from(account.version),
        u8::try_from(buckets),
        u8::try_from(sessions),
        fits_six(account.changed_at.0),
    ) {
        (fields[1], fields[4], fields[5]) = (flags, buckets, sessions);
        fields[2..4].copy_from_slice(&account.next_bucket.to_le_bytes());
        fields[6..10].copy_from_slice(&version.to_le_bytes());
        fields[10..18].copy_from_slice(&account.changed_at.0.to_le_bytes());
        w.advance(HEAD_LEN);
    } else {
        fields[1] = flags | flag::WIDE;
        w.advance(2);
        let version = word(account.version);
        w.group([version, account.changed_at.0, i64::from(account.next_bucket), 0]);
        w.group([len(buckets), len(sessions), 0, 0]);
    }
    if has_more {
        w.group(more);
        w.group([uncollected, limits, allowances, carried]);
    }
}

/// Counts of the parts that follow the head.
#[derive(Default)]
struct Counts {
    buckets: usize,
    sessions: usize,
    /// Length in bytes.
    tombstones: usize,
    /// Length in bytes.
    transactions: usize,
    rarer: RareCounts,
}

/// Counts of the rare parts, not checked yet.
#[derive(Default)]
struct RareCounts {
    identities: i64,
    counters: i64,
    uncollected: i64,
    allowances: i64,
    bucket_keys: i64,
    limits: i64,
    carried: i64,
    in_transit: i64,
    former: i64,
}

/// Reads an image into an account whose buffers are reused.
pub fn decode_account(bytes: &[u8], account: &mut Account) -> Result<(), ImageError> {
    // A partial image is valid only in the memory of its host.
    if is_in_parts(bytes) {
        return Err(ImageError::Damaged);
    }
    decode_part(bytes, account)?;
    let whole = account.tombstones.are_whole() && account.transactions.are_whole();
    if whole { Ok(()) } else { Err(ImageError::Damaged) }
}

/// Returns status and version from an image, also from that of a part. Only the head is read.
pub fn decode_state(bytes: &[u8]) -> Result<(Status, u64), ImageError> {
    match bytes.first() {
        Some(&VERSION) => {}
        version => return Err(ImageError::Version(version.copied().unwrap_or(0))),
    }
    let mut tail: Tail = [0; 2 * FIXED_LEN_MAX];
    let mut r = ImageReader::new(bytes, &mut tail);
    let mut account = Account::empty(Status::Active);
    take_head(&mut r, &mut account);
    if r.is_broken() { Err(ImageError::Damaged) } else { Ok((account.status, account.version)) }
}

/// Does the same as [`decode_account`] for an image in the memory of its host, which [`mark_in_parts`] may have marked:
/// the parts that are kept apart are left out. Tombstones and transactions are not checked again; they were when the
/// image was first read.
#[inline]
pub fn decode_part(bytes: &[u8], account: &mut Account) -> Result<(), ImageError> {
    match bytes.first() {
        Some(&VERSION) => {}
        version => return Err(ImageError::Version(version.copied().unwrap_or(0))),
    }
    let mut tail: Tail = [0; 2 * FIXED_LEN_MAX];
    let mut r = ImageReader::new(bytes, &mut tail);
    let counts = take_head(&mut r, account);
    let base = account.changed_at.0;
    account.buckets.truncate(counts.buckets);
    for at in 0..counts.buckets {
        // Buckets of the account before are overwritten, which saves allocations.
        if at == account.buckets.len() {
            account.buckets.push(Bucket::empty());
        }
        bucket::read_bucket(&mut r, base, &mut account.buckets[at]);
        if r.is_broken() {
            break;
        }
    }
    account.sessions.truncate(counts.sessions);
    for at in 0..counts.sessions {
        if at == account.sessions.len() {
            account.sessions.push(Session::empty());
        }
        session::read_session(&mut r, &mut account.sessions[at]);
        if r.is_broken() {
            break;
        }
    }
    account.tombstones.load(r.bytes(counts.tombstones));
    account.transactions.load(r.bytes(counts.transactions));
    account.identities.clear();
    account.counters.clear();
    account.uncollected.clear();
    account.allowances.clear();
    account.bucket_keys.clear();
    account.limits.clear();
    account.limit_parts.clear();
    account.carried.clear();
    account.in_transit.clear();
    account.former_identities.clear();
    let RareCounts { identities, counters, uncollected, allowances, limits, carried, .. } =
        counts.rarer;
    let RareCounts { in_transit, former, bucket_keys, .. } = counts.rarer;
    let rarest = carried | in_transit | former | bucket_keys;
    if identities | counters | uncollected | allowances | limits | rarest != 0 {
        take_rarer(&mut r, account, counts.rarer);
        if r.has_unknown_zone() {
            return Err(ImageError::Zone);
        }
    }
    if r.is_done() { Ok(()) } else { Err(ImageError::Damaged) }
}

/// Reads the rare parts after the sessions.
#[inline(never)]
fn take_rarer(r: &mut ImageReader<'_>, account: &mut Account, rarer: RareCounts) {
    let base = account.changed_at.0;
    let identities = count(r, rarer.identities);
    while account.identities.len() < identities && !r.is_broken() {
        let identity = take_identity(r);
        account.identities.extend(identity);
    }
    let counters = count(r, rarer.counters);
    while account.counters.len() < counters && !r.is_broken() {
        let counter = take_counter(r);
        account.counters.extend(counter);
    }
    let uncollected = count(r, rarer.uncollected);
    while account.uncollected.len() < uncollected && !r.is_broken() {
        let total = take_unit_amount(r);
        account.uncollected.push(total);
    }
    let allowances = count(r, rarer.allowances);
    while account.allowances.len() < allowances && !r.is_broken() {
        let allowance = take_allowance(r);
        account.allowances.extend(allowance);
    }
    let bucket_keys = count(r, rarer.bucket_keys);
    while account.bucket_keys.len() < bucket_keys && !r.is_broken() {
        let key = take_bucket_key(r);
        account.bucket_keys.extend(key);
    }
    let limits = count(r, rarer.limits);
    while account.limits.len() < limits && !r.is_broken() {
        let limit = limit::read_limit(r, &mut account.limit_parts, base);
        account.limits.extend(limit);
    }
    let carried = count(r, rarer.carried);
    while account.carried.len() < carried && !r.is_broken() {
        let [bucket, period, since, amount] = r.group();
        let (bucket, period) = (BucketNo(narrow(r, bucket)), narrow(r, period));
        account.carried.push(CarriedDebt { bucket, period, since: unword(since), amount });
    }
    let in_transit = count(r, rarer.in_transit);
    while account.in_transit.len() < in_transit && !r.is_broken() {
        let sum = take_unit_amount(r);
        account.in_transit.push(sum);
    }
    let former = count(r, rarer.former);
    while account.former_identities.len() < former && !r.is_broken() {
        let identity = take_identity(r);
        let [given_up_at, forget_at, ..] = r.group().map(Time);
        let former = |identity| FormerIdentity { identity, given_up_at, forget_at };
        account.former_identities.extend(identity.map(former));
    }
}

fn take_bucket_key(r: &mut ImageReader<'_>) -> Option<BucketKey> {
    let [bucket, number, is_named, _] = r.group();
    let key = match is_named {
        0 => Some(ItemKey::Number(narrow(r, number))),
        1 if number == 0 => ItemId::new(r.short()).map(ItemKey::Id),
        _ => None,
    };
    if key.is_none() {
        r.fail();
    }
    Some(BucketKey { bucket: BucketNo(narrow(r, bucket)), key: key? })
}

fn take_unit_amount(r: &mut ImageReader<'_>) -> UnitAmount {
    let mut sum = UnitAmount { unit: Name::EMPTY, amount: 0 };
    r.name(&mut sum.unit);
    [sum.amount, ..] = r.group();
    sum
}

#[inline(always)]
fn take_head(r: &mut ImageReader<'_>, account: &mut Account) -> Counts {
    let mut counts = Counts::default();
    let fields = r.fixed::<{ HEAD_LEN + 2 }>();
    let flags = fields[1];
    if flags & !flag::ALL != 0 {
        r.fail();
    }
    account.status = take_status(r, flags & flag::STATUS);
    if flags & flag::WIDE == 0 {
        account.next_bucket = u16::from_le_bytes(part(fields, 2));
        account.version = u64::from(u32::from_le_bytes(part(fields, 6)));
        account.changed_at = Time(six(fields, 10));
        r.skip(HEAD_LEN);
        counts.buckets = count(r, i64::from(fields[4]));
        counts.sessions = count(r, i64::from(fields[5]));
    } else {
        r.skip(2);
        let [version, changed_at, next_bucket, _] = r.group();
        let [buckets, sessions, ..] = r.group();
        account.version = unword(version);
        account.changed_at = Time(changed_at);
        account.next_bucket = narrow(r, next_bucket);
        counts.buckets = count(r, buckets);
        counts.sessions = count(r, sessions);
    }
    if flags & flag::MORE != 0 {
        let [tombstones, transactions, identities, counters] = r.group();
        let [uncollected, limits, allowances, carried] = r.group();
        counts.tombstones = count(r, tombstones);
        counts.transactions = count(r, transactions);
        let former = carried >> FORMER;
        let in_transit = (carried >> IN_TRANSIT) & 0xffff;
        let carried = carried & 0xffff;
        let (allowances, bucket_keys) =
            (allowances & ((1 << BUCKET_KEYS) - 1), allowances >> BUCKET_KEYS);
        counts.rarer = RareCounts {
            identities,
            counters,
            uncollected,
            allowances,
            bucket_keys,
            limits,
            carried,
            in_transit,
            former,
        };
    }
    counts
}

fn take_identity(r: &mut ImageReader<'_>) -> Option<Identity> {
    let mut kind = Name::EMPTY;
    r.name(&mut kind);
    let value = Id::new(r.short());
    if value.is_none() {
        r.fail();
    }
    Some(Identity { kind, value: value? })
}

fn take_counter(r: &mut ImageReader<'_>) -> Option<Counter> {
    let (mut id, mut unit) = (Name::EMPTY, Name::EMPTY);
    r.name(&mut id);
    r.name(&mut unit);
    let [value, period, period_start, _] = r.group();
    let cycle = match period {
        EXTENDED_NUMBER => extended_cycle(r, plain_counter_number)?,
        number => Cycle::fixed(take_period(r, number)?, 0),
    };
    Some(Counter { id, unit, cycle, period_start: Time(period_start), value })
}

/// Bit above the number of an allowance's bucket, which says that a group with its further terms follows.
const WITH_TERMS: i64 = 1 << 16;

/// Bits of the period in the number that holds the offset above it.
const PERIOD_BITS: u32 = 3;

fn take_allowance(r: &mut ImageReader<'_>) -> Option<Allowance> {
    let [bucket, cycle, amount, period_start] = r.group();
    let is_plain = bucket & WITH_TERMS == 0;
    let bucket = BucketNo(narrow(r, bucket & !WITH_TERMS));
    let cycle = match cycle {
        EXTENDED_NUMBER => extended_cycle(r, plain_number)?,
        _ => {
            let offset_minutes = narrow(r, cycle >> PERIOD_BITS);
            let period = take_period(r, cycle & ((1 << PERIOD_BITS) - 1))?;
            Cycle::fixed(period, offset_minutes)
        }
    };
    let period_start = Time(period_start);
    let plain = Allowance {
        bucket,
        cycle,
        amount,
        period_start,
        rollover: 0,
        debt: DebtRule::Net,
        owed: 0,
    };
    if is_plain {
        return Some(plain);
    }
    let [rollover, debt, owed, zero] = r.group();
    let Some(debt) = DebtRule::from_number(narrow(r, debt)) else {
        r.fail();
        return None;
    };
    let allowance = Allowance { rollover, debt, owed, ..plain };
    if zero != 0 || !allowance.has_terms() {
        r.fail();
    }
    Some(allowance)
}

/// Number in place of a period, after which the bytes of a cycle follow.
const EXTENDED_NUMBER: i64 = EXTENDED as i64;

fn extended_cycle(r: &mut ImageReader<'_>, plain: fn(Cycle) -> Option<u8>) -> Option<Cycle> {
    let bytes = r.short();
    if r.is_broken() {
        return None;
    }
    let cycle = take_cycle(bytes, plain);
    match cycle {
        Ok(_) => {}
        Err(Malformed::Zone) => r.fail_for_zone(),
        Err(_) => r.fail(),
    }
    cycle.ok()
}

fn take_period(r: &mut ImageReader<'_>, number: i64) -> Option<Period> {
    let period = u8::try_from(number).ok().and_then(plain_period);
    if period.is_none() {
        r.fail();
    }
    period
}

#[inline]
fn take_status(r: &mut ImageReader<'_>, status: u8) -> Status {
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

/// Returns a count of parts that follow. Each takes at least one byte, so a count above the remaining bytes is damage.
/// No memory is reserved for the count: in memory each part is hundreds of bytes, so each gets its room when it is
/// read, and none after damage.
#[inline]
fn count(r: &mut ImageReader<'_>, number: i64) -> usize {
    match usize::try_from(number) {
        Ok(count) if count <= r.remaining() => count,
        _ => {
            r.fail();
            0
        }
    }
}

fn narrow<N: TryFrom<i64> + Default>(r: &mut ImageReader<'_>, number: i64) -> N {
    N::try_from(number).unwrap_or_else(|_| {
        r.fail();
        N::default()
    })
}

/// Returns the bytes at an offset of the fixed fields.
#[inline(always)]
fn part<const N: usize, const M: usize>(fields: &[u8; M], at: usize) -> [u8; N] {
    let mut part = [0; N];
    part.copy_from_slice(&fields[at..at + N]);
    part
}

/// Returns the number of 32 bits, not negative, at an offset of the fixed fields.
#[inline(always)]
fn four<const M: usize>(fields: &[u8; M], at: usize) -> i64 {
    i64::from(u32::from_le_bytes(part(fields, at)))
}

/// Returns the number of 48 bits at an offset of the fixed fields, which must have two more bytes after it.
#[inline(always)]
fn six<const M: usize>(fields: &[u8; M], at: usize) -> i64 {
    (i64::from_le_bytes(part(fields, at)) << 16) >> 16
}

/// Reports whether [`six`] gives the number back.
#[inline(always)]
fn fits_six(number: i64) -> bool {
    (number << 16) >> 16 == number
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
