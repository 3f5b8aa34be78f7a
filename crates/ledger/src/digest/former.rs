//! The digest that release 0.1 stored with its answers: they are still recognised after an upgrade.

use crate::{BucketAttributes, Command, ItemKey, ItemRequest, Name, Period, SessionRequest};

/// A 64-bit digest built word by word; multiply and fold, no table, no key.
struct Digest(u64);

impl Digest {
    fn word(&mut self, word: u64) {
        let mixed = (self.0 ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = mixed ^ (mixed >> 32);
    }

    #[expect(clippy::cast_sign_loss, reason = "the bits of the number, not its value")]
    fn signed(&mut self, number: i64) {
        self.word(number as u64);
    }

    fn option(&mut self, number: Option<i64>) {
        match number {
            None => self.word(0),
            Some(number) => {
                self.word(1);
                self.signed(number);
            }
        }
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.word(bytes.len() as u64);
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.word(u64::from_le_bytes(word));
        }
    }

    fn name(&mut self, name: Name) {
        let [low, high] = name.words();
        self.word(low);
        self.word(high);
    }

    fn attributes(&mut self, attributes: &BucketAttributes) {
        self.option(attributes.priority.map(i64::from));
        self.option(attributes.valid_from.map(|time| time.0));
        match attributes.valid_to {
            None => self.word(0),
            Some(None) => self.word(2),
            Some(Some(time)) => self.option(Some(time.0)),
        }
        self.option(attributes.floor);
        if attributes.period.is_some() {
            // Release 0.1 was never sent it: a body that has it is none of its.
            self.word(u64::MAX);
        }
    }

    fn item(&mut self, item: &ItemRequest) {
        match item.key {
            ItemKey::Number(key) => self.word(u64::from(key)),
            ItemKey::Id(id) => {
                // No number is so great: no body that release 0.1 was sent begins an item like this.
                self.word(1 << 63);
                self.bytes(id.as_bytes());
            }
        }
        self.name(item.unit);
        self.signed(item.used.unwrap_or(0));
        self.signed(item.requested.unwrap_or(0));
        self.signed(item.min.unwrap_or(1).max(1));
    }

    fn session(&mut self, request: &SessionRequest<'_>) {
        self.option(request.validity_ms);
        self.option(request.tcc_ms);
        self.option(request.overrun.map(|overrun| overrun as i64));
        self.word(u64::from(request.close_on_denial));
        // Release 0.1 did not know it: no body with it is one of that release.
        if request.keep_open {
            self.word(u64::MAX);
        }
        match request.blob {
            None => self.word(0),
            Some(blob) => {
                self.word(1);
                self.bytes(blob);
            }
        }
        for item in request.items {
            self.item(item);
        }
    }
}

/// The digest of a body that release 0.1 could be sent, 0 of any other.
pub(super) fn digest(command: &Command<'_>) -> u64 {
    let mut digest = Digest(0x5343_5552_5259_0001);
    match command {
        Command::Create(_)
        | Command::Status { .. }
        | Command::DebitItems { .. }
        | Command::RefundItems { .. }
        | Command::Delete { .. }
        | Command::Release { .. }
        | Command::Limit { .. } => return 0,
        Command::TopUp { bucket, amount, unit, attributes, .. } => {
            digest.word(1);
            digest.name(*bucket);
            digest.signed(*amount);
            match unit {
                None => digest.word(0),
                Some(unit) => digest.name(*unit),
            }
            digest.attributes(attributes);
        }
        Command::Adjust { bucket, amount, .. } => {
            digest.word(2);
            digest.name(*bucket);
            digest.signed(*amount);
        }
        Command::Bucket { bucket, attributes, remove, .. } => {
            digest.word(3);
            digest.name(*bucket);
            digest.attributes(attributes);
            digest.word(u64::from(*remove));
        }
        Command::Debit { unit, amount, .. } => {
            digest.word(4);
            digest.name(*unit);
            digest.signed(*amount);
        }
        Command::Refund { debit, amount, .. } => {
            digest.word(5);
            digest.bytes(debit);
            digest.option(*amount);
        }
        Command::Counter { counter, amount, unit, period, .. } => {
            digest.word(6);
            digest.name(*counter);
            digest.signed(*amount);
            match unit {
                None => digest.word(0),
                Some(unit) => digest.name(*unit),
            }
            digest.option(period.map(|period: Period| period as i64));
        }
        Command::Reserve(request) => {
            digest.word(7);
            digest.session(request);
        }
        Command::Update(request) => {
            digest.word(8);
            digest.session(request);
        }
        Command::Terminate(request) => {
            digest.word(9);
            digest.session(request);
        }
    }
    digest.0
}
