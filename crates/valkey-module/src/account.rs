//! An account as the value of a key: its packed image, as in the engine's table. A command unpacks
//! it, and packs it again when it has committed.

use crate::server::{Kind, Rewrite, TypeCell};
use crate::timers::{self, Armed};
use crate::{account_totals, server};
use scurry_codec::{ForeignError, decode_account, decode_foreign_account, encode_account_over};
use scurry_ledger::{Account, Portion, Status, next_due};
use std::ffi::CStr;
use std::fmt::{self, Display};

/// Replaces what a key holds by an image: `SCUR.APPLY key IMAGE image`.
pub(crate) const IMAGE: &[u8] = b"IMAGE";
/// What replicas and files get.
pub(crate) const APPLY: &CStr = c"SCUR.APPLY";

/// The value of a key that holds an account.
pub(crate) struct AccountValue {
    /// Its room is as long as what the server's allocator gives for it.
    image: Vec<u8>,
    armed: Armed,
}

static TYPE: TypeCell = TypeCell::new();

impl AccountValue {
    /// Of an account that is taken into the totals.
    pub(crate) fn new(account: &Account, buffer: &mut Vec<u8>) -> AccountValue {
        let len = encode_account_over(account, buffer);
        AccountValue { image: kept(&buffer[..len]), armed: Armed::NONE }
    }

    /// What the account is now.
    pub(crate) fn replace(&mut self, account: &Account, buffer: &mut Vec<u8>) {
        let len = encode_account_over(account, buffer);
        if room_for(len) == self.image.capacity() {
            self.image.clear();
            self.image.extend_from_slice(&buffer[..len]);
        } else {
            self.image = kept(&buffer[..len]);
        }
    }

    /// Unpacks it into an account whose buffers are used again.
    pub(crate) fn unpack(&self, account: &mut Option<Account>) {
        let account = account.get_or_insert_with(|| Account::empty(Status::Active));
        if let Err(error) = decode_account(&self.image, account) {
            // Only this crate writes images, and those that are loaded are looked through.
            panic!("the image of an account in memory is broken: {error}");
        }
    }

    /// Its bytes.
    pub(crate) fn image(&self) -> &[u8] {
        &self.image
    }

    pub(crate) fn armed(&mut self) -> &mut Armed {
        &mut self.armed
    }
}

/// An image in room of its own.
fn kept(image: &[u8]) -> Vec<u8> {
    let mut room = Vec::with_capacity(room_for(image.len()));
    room.extend_from_slice(image);
    room
}

/// What the allocators of servers give for so many bytes: four sizes from one power of two to the
/// next, and no two nearer than 16. An image that grows within it stays where it is.
fn room_for(len: usize) -> usize {
    let step = (len.saturating_sub(1).max(1).ilog2().max(6) - 2).min(usize::BITS - 2);
    len.max(1).next_multiple_of(1 << step)
}

/// An account from outside, or why its image is not taken.
pub(crate) fn read(image: &[u8]) -> Result<Account, ImageFault> {
    let mut account = Account::empty(Status::Active);
    decode_foreign_account(image, &mut account).map_err(ImageFault)?;
    Ok(account)
}

/// An image that no Scurry has written.
#[derive(Debug)]
pub(crate) struct ImageFault(ForeignError);

impl Display for ImageFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: dump it again, or load another file", self.0)
    }
}

impl Kind for AccountValue {
    const NAME: &'static CStr = c"scurryacc";
    const ENCODING: i32 = 1;

    fn cell() -> &'static TypeCell {
        &TYPE
    }

    fn load(bytes: &[u8], _: i32) -> Result<AccountValue, impl Display> {
        let account = read(bytes)?;
        account_totals::replace(&Portion::default(), Some(&account));
        Ok::<_, ImageFault>(AccountValue { image: kept(bytes), armed: Armed::NONE })
    }

    fn loaded(&mut self, context: &server::Context, database: i32, key: &[u8]) {
        let mut account = None;
        self.unpack(&mut account);
        timers::arm(context, database, key, &mut self.armed, account.as_ref().and_then(next_due));
    }

    fn save(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.image);
    }

    fn rewrite(&self, rewrite: &Rewrite<'_>) {
        rewrite.emit(APPLY, IMAGE, &self.image);
    }

    fn memory_bytes(&self) -> usize {
        size_of::<AccountValue>() + self.image.capacity()
    }

    fn digest(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.image);
    }

    fn unlinked(&self, database: i32, key: &[u8]) {
        timers::disarm(database, key, &self.armed);
    }

    fn freed(self) {
        let mut account = None;
        self.unpack(&mut account);
        account_totals::replace(&Portion::of(account.as_ref()), None);
    }
}
