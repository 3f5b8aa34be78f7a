//! The digest of a request's body. A duplicate has the same body, so 64 bits of it are stored with the answer.
//! Persisted: the bytes that are hashed must never change.
//!
//! The hash is xxh3 of 64 bits. It compares a body with the one body that is stored under the same id. So a different
//! body passes as a duplicate once in 2^64 times that an id is used again for another body; a longer digest would cost
//! every remembered id 8 bytes more.

use crate::session_options::HashedOptions;
use crate::{
    BucketAttributes, Command, Create, ItemAmount, ItemKey, ItemRequest, LimitSubject, LimitTerms,
    Name, NewBucket, Period, PeriodClock, RequestKind, RequestName, SessionRequest, Transfer,
    WindowTerms,
};
use alloc::vec::Vec;
use xxhash_rust::xxh3::xxh3_64;

/// The body of a command that is remembered by an id. The id itself and IFVERSION are no part of it.
pub(crate) struct CommandBody {
    digest: u64,
    /// Kind of the request of a session; RESERVE for a command of another sort.
    kind: RequestKind,
}

impl CommandBody {
    pub(crate) fn new(command: &Command<'_>) -> CommandBody {
        let kind = match command {
            Command::Update(_) => RequestKind::Update,
            Command::Terminate(_) => RequestKind::Terminate,
            _ => RequestKind::Reserve,
        };
        CommandBody { digest: digest(command), kind }
    }

    /// Returns the name of the request of a session that has this body.
    pub(crate) fn name(&self, number: u32) -> RequestName {
        RequestName { number, kind: self.kind }
    }

    /// Returns the digest to store.
    pub(crate) fn digest(&self) -> u64 {
        self.digest
    }

    /// Reports whether the stored digest is that of the same body.
    pub(crate) fn is(&self, stored: u64) -> bool {
        stored == self.digest
    }
}

/// Words that fit on the stack: enough for a usual request.
const WORDS: usize = 16;

/// Bytes to hash, collected in words. Each word determines which words follow, so different bodies have different
/// words.
struct HashedWords {
    near: [[u8; 8]; WORDS],
    len: usize,
    /// Words before `near` of a long request, which moved to the heap.
    far: Vec<u8>,
}

impl HashedWords {
    /// Adds the command's number and one bit per option, from bit 8 on.
    #[inline]
    fn begin(&mut self, command: u8, options: u64) {
        self.word(u64::from(command) | options << 8);
    }

    #[inline]
    fn push(&mut self, word: [u8; 8]) {
        if self.len >= WORDS {
            self.spill();
        }
        self.near[self.len] = word;
        self.len += 1;
    }

    #[cold]
    fn spill(&mut self) {
        self.far.extend_from_slice(self.near[..self.len].as_flattened());
        self.len = 0;
    }

    fn hash(&mut self) -> u64 {
        if self.far.is_empty() {
            return xxh3_64(self.near[..self.len].as_flattened());
        }
        self.spill();
        xxh3_64(&self.far)
    }

    #[inline]
    fn word(&mut self, word: u64) {
        self.push(word.to_le_bytes());
    }

    #[inline]
    fn signed(&mut self, number: i64) {
        self.push(number.to_le_bytes());
    }

    #[inline]
    fn given(&mut self, number: Option<i64>) {
        if let Some(number) = number {
            self.signed(number);
        }
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.word(bytes.len() as u64);
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.push(word);
        }
    }

    #[inline]
    fn name(&mut self, name: Name) {
        let [low, high] = name.words();
        self.word(low);
        self.word(high);
    }

    fn attributes(&mut self, attributes: &BucketAttributes) {
        self.given(attributes.priority.map(i64::from));
        self.given(attributes.valid_from.map(|time| time.0));
        self.given(attributes.valid_to.flatten().map(|time| time.0));
        self.given(attributes.floor);
        self.given(attributes.clock.offset_minutes);
        self.given(attributes.refill);
        self.given(attributes.rollover);
        self.given(attributes.debt.map(|rule| i64::from(rule.number())));
        self.calendar(attributes.period, &attributes.clock);
        self.given(attributes.mark.flatten());
    }

    /// Adds the keys of the items that a bucket is for, if there are any.
    fn keys(&mut self, keys: impl Iterator<Item = ItemKey> + Clone) {
        let count = keys.clone().count();
        if count > 0 {
            // A mark and the count, so that no attribute looks the same.
            self.word(u64::MAX);
            self.word(count as u64);
        }
        for key in keys {
            match key {
                ItemKey::Number(key) => self.word(u64::from(key)),
                ItemKey::Id(id) => {
                    self.word(1 << 63);
                    self.bytes(id.as_bytes());
                }
            }
        }
    }

    /// Adds what periods and clocks have beside a name and an offset.
    fn calendar(&mut self, period: Option<Period>, clock: &PeriodClock) {
        let count = period.map_or(0, Period::count);
        self.given((count > 0).then_some(i64::from(count)));
        if let Some(zone) = clock.zone {
            self.bytes(zone.name().as_bytes());
        }
        self.given(clock.begin.map(i64::from));
    }

    /// Adds an item. USED 0, REQUESTED 0 and MIN 1 hash the same whether they are set or left out.
    #[inline]
    fn item(&mut self, item: &ItemRequest) {
        let used = item.used.filter(|&used| used != 0);
        let requested = item.requested.filter(|&requested| requested != 0);
        let min = item.min.filter(|&min| min > 1);
        let options = [used.is_some(), requested.is_some(), min.is_some()];
        match item.key {
            ItemKey::Number(key) => self.word(u64::from(key) | bits(&options) << 32),
            ItemKey::Id(id) => {
                // No option uses this bit, so a text key differs from every number.
                self.word(1 << 63 | bits(&options) << 32);
                self.bytes(id.as_bytes());
            }
        }
        self.name(item.unit);
        self.given(used);
        self.given(requested);
        self.given(min);
    }
}

/// Returns one bit per option, the first option in the lowest bit.
fn bits(options: &[bool]) -> u64 {
    options.iter().rev().fold(0, |bits, &option| bits << 1 | u64::from(option))
}

/// Returns the bits of a bucket's attributes.
fn attribute_bits(attributes: &BucketAttributes) -> u64 {
    bits(&[
        attributes.priority.is_some(),
        attributes.valid_from.is_some(),
        attributes.valid_to.is_some(),
        attributes.valid_to.flatten().is_some(),
        attributes.floor.is_some(),
        attributes.mark.is_some(),
        attributes.mark.flatten().is_some(),
    ]) | bits(&[
        attributes.clock.offset_minutes.is_some(),
        attributes.refill.is_some(),
        attributes.clock.zone.is_some(),
        attributes.clock.begin.is_some(),
        attributes.rollover.is_some(),
        attributes.debt.is_some(),
    ]) << 16
        | period_bits(attributes.period) << 24
}

fn period_bits(period: Option<Period>) -> u64 {
    period.map_or(0, |period| 1 + u64::from(period.number()))
}

/// Returns the bits of a clock that are not as old as OFFSET.
fn clock_bits(clock: &PeriodClock) -> u64 {
    bits(&[clock.zone.is_some(), clock.begin.is_some()])
}

#[inline]
fn session(words: &mut HashedWords, command: u8, request: &SessionRequest<'_>) {
    let HashedOptions { bits, values } = request.options.hashed();
    words.begin(command, bits | u64::from(request.blob.is_some()) << 2);
    values.into_iter().for_each(|value| words.given(value));
    if let Some(blob) = request.blob {
        words.bytes(blob);
    }
    for item in request.items {
        words.item(item);
    }
}

fn item_amounts(words: &mut HashedWords, items: &[ItemAmount]) {
    for ItemAmount { key, unit, amount } in items {
        match key {
            ItemKey::Number(key) => words.word(u64::from(*key)),
            ItemKey::Id(id) => {
                words.word(1 << 32);
                words.bytes(id.as_bytes());
            }
        }
        words.name(*unit);
        words.signed(*amount);
    }
}

fn identities(words: &mut HashedWords, identities: &[(Name, &[u8])]) {
    words.word(identities.len() as u64);
    for (kind, value) in identities {
        words.name(*kind);
        words.bytes(value);
    }
}

fn limit(words: &mut HashedWords, limit: Name, terms: &LimitTerms) {
    let LimitTerms::Set { counted, amount, window } = *terms else {
        words.begin(12, 0);
        return words.name(limit);
    };
    let (unit, item) = match counted {
        LimitSubject::Sessions => (None, None),
        LimitSubject::Units { unit, item } => (Some(unit), item),
    };
    // Bits 22 to 24 of the options are those of the windows without periods.
    let (period, clock, of_span) = match window {
        WindowTerms::Period { period, clock } => (period, clock, 0),
        WindowTerms::Rolling { .. } => (None, PeriodClock::NONE, 1),
        WindowTerms::Rate { burst, .. } => {
            (None, PeriodClock::NONE, 2 | u64::from(burst.is_some()) << 2)
        }
    };
    let is_named = matches!(item, Some(ItemKey::Id(_)));
    let options =
        bits(&[true, unit.is_some(), item.is_some(), clock.offset_minutes.is_some(), is_named]);
    let of_window = period_bits(period) << 8 | clock_bits(&clock) << 16 | of_span << 22;
    words.begin(12, options | of_window);
    words.name(limit);
    words.signed(amount);
    if let Some(unit) = unit {
        words.name(unit);
    }
    match item {
        None => {}
        Some(ItemKey::Number(key)) => words.word(u64::from(key)),
        Some(ItemKey::Id(id)) => words.bytes(id.as_bytes()),
    }
    match window {
        WindowTerms::Period { .. } => {
            words.given(clock.offset_minutes);
            words.calendar(period, &clock);
        }
        WindowTerms::Rolling { span_ms } => words.signed(span_ms),
        WindowTerms::Rate { span_ms, burst } => {
            words.signed(span_ms);
            words.given(burst);
        }
    }
}

/// Returns the digest of a command's body; 0 for commands that have no id.
fn digest(command: &Command<'_>) -> u64 {
    let words = &mut HashedWords { near: [[0; 8]; WORDS], len: 0, far: Vec::new() };
    match command {
        Command::Create(Create { txn: None, .. })
        | Command::Status { txn: None, .. }
        | Command::Delete { .. }
        | Command::Carry(_)
        | Command::Release { txn: None, .. } => return 0,
        Command::Create(create) => {
            words.begin(10, create.status as u64);
            identities(words, create.identities);
            let buckets = create.buckets.iter().enumerate();
            for (index, NewBucket { bucket, unit, amount, attributes }) in buckets {
                words.word(attribute_bits(attributes));
                words.name(*bucket);
                words.name(*unit);
                words.signed(*amount);
                words.attributes(attributes);
                words.keys(create.keys_of(index));
            }
        }
        Command::Status { status, identities: given, .. } => {
            words.begin(11, *status as u64);
            identities(words, given);
        }
        Command::Release { session, cancel, .. } => {
            words.begin(17, u64::from(*cancel));
            words.bytes(session);
        }
        Command::TopUp { bucket, amount, unit, attributes, keys, .. } => {
            let options = attribute_bits(attributes) | u64::from(unit.is_some()) << 8;
            words.begin(1, options);
            words.name(*bucket);
            words.signed(*amount);
            if let Some(unit) = unit {
                words.name(*unit);
            }
            words.attributes(attributes);
            words.keys(keys.iter().copied());
        }
        Command::Adjust { bucket, amount, .. } => {
            words.begin(2, 0);
            words.name(*bucket);
            words.signed(*amount);
        }
        Command::Bucket { bucket, attributes, keys, remove, .. } => {
            let options = u64::from(*remove) << 8 | u64::from(keys.is_some()) << 9;
            words.begin(3, attribute_bits(attributes) | options);
            words.name(*bucket);
            words.attributes(attributes);
            words.keys(keys.unwrap_or(&[]).iter().copied());
        }
        Command::Debit { unit, amount, .. } => {
            words.begin(4, 0);
            words.name(*unit);
            words.signed(*amount);
        }
        Command::DebitItems { items, .. } => {
            words.begin(14, 0);
            item_amounts(words, items);
        }
        Command::RefundItems { debit, items, carry, .. } => {
            words.begin(15, u64::from(*carry));
            words.bytes(debit);
            item_amounts(words, items);
        }
        Command::Refund { debit, amount, carry, .. } => {
            words.begin(5, bits(&[amount.is_some(), *carry]));
            words.given(*amount);
            words.bytes(debit);
        }
        Command::Counter { counter, amount, unit, period, clock, .. } => {
            let has_offset = u64::from(clock.offset_minutes.is_some());
            let options = u64::from(unit.is_some()) | has_offset << 1;
            words.begin(6, options | period_bits(*period) << 8 | clock_bits(clock) << 16);
            words.name(*counter);
            words.signed(*amount);
            if let Some(unit) = unit {
                words.name(*unit);
            }
            words.given(clock.offset_minutes);
            words.calendar(*period, clock);
        }
        Command::Limit { limit, terms, .. } => {
            self::limit(words, *limit, terms);
        }
        Command::Transfer(Transfer { payer: _, id: _, unit, amount, payee, bucket }) => {
            words.begin(16, 0);
            words.name(*unit);
            words.signed(*amount);
            words.name(*bucket);
            words.bytes(payee);
        }
        Command::Reserve(request) | Command::Update(request) | Command::Terminate(request) => {
            // One call site for the three commands, so that the call is inlined and its state stays in registers.
            let command = match command {
                Command::Reserve(_) => 7,
                Command::Update(_) => 8,
                _ => 9,
            };
            session(words, command, request);
        }
    }
    words.hash()
}
