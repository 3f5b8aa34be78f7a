//! An account as the value of a key: its packed image, as in the engine's table. A command unpacks it, and packs it
//! again after a commit.
//!
//! The image of a busy account is kept in parts. The address of its annex follows the image in the same memory, so that
//! other accounts pay nothing for it.

use crate::headed::HeaderBox;
use crate::server::{Rewrite, TypeCell, ValueKind};
use crate::timers::{self, Armed};
use crate::{account_totals, server};
use scurry_codec::{UntrustedImageError, decode_foreign_account, is_in_parts};
use scurry_engine::{APART_LEN, AccountParts, WorkingAccount, unpack};
use scurry_ledger::{Account, AccountContribution, Status, next_due};
use std::borrow::Cow;
use std::ffi::{CStr, c_void};
use std::fmt::{self, Display};

/// Argument of APPLY that replaces the content of a key by an image: `SCUR.APPLY key IMAGE image`.
pub(crate) const IMAGE: &[u8] = b"IMAGE";
/// Command that replicas and files receive.
pub(crate) const APPLY: &CStr = c"SCUR.APPLY";

/// Value of a key that holds an account.
pub(crate) struct AccountValue(HeaderBox<Armed>);

static TYPE: TypeCell = TypeCell::new();

/// Bytes of the annex's address.
const ADDRESS_LEN: usize = size_of::<usize>();

impl AccountValue {
    /// Makes the value of an account that is already counted in the totals.
    pub(crate) fn new(working: &WorkingAccount, annex: Option<Box<AccountParts>>) -> AccountValue {
        with_address(working.image(), annex, |bytes| {
            AccountValue(HeaderBox::new(Armed::NONE, bytes, spare(working)))
        })
    }

    /// Replaces the account by the working account. Keeps its annex unless a new one is given.
    pub(crate) fn replace(&mut self, working: &WorkingAccount, annex: Option<Box<AccountParts>>) {
        let annex = if working.is_in_parts() { annex.or_else(|| self.take_annex()) } else { None };
        drop(self.take_annex());
        with_address(working.image(), annex, |bytes| self.0.replace(bytes, spare(working)));
    }

    /// Returns the image. Of an account kept in parts it is the image without the annex.
    pub(crate) fn image(&self) -> &[u8] {
        let bytes = self.0.bytes();
        if is_in_parts(bytes) { &bytes[..bytes.len() - ADDRESS_LEN] } else { bytes }
    }

    /// Returns the image of the whole account.
    pub(crate) fn whole_image(&self) -> Cow<'_, [u8]> {
        match self.annex() {
            Some(annex) => Cow::Owned(annex.whole_image(self.image())),
            None => Cow::Borrowed(self.image()),
        }
    }

    /// Returns the annex of an account kept in parts.
    pub(crate) fn annex(&self) -> Option<&AccountParts> {
        // SAFETY: the value owns the annex, and the reference borrows the value.
        unsafe { self.address().as_ref() }
    }

    /// Removes the annex. The remaining value may only be replaced or freed.
    pub(crate) fn take_annex(&mut self) -> Option<Box<AccountParts>> {
        let address = self.address();
        if address.is_null() {
            return None;
        }
        let bytes = self.0.bytes_mut();
        let front = bytes.len() - ADDRESS_LEN;
        bytes[front..].fill(0);
        // SAFETY: the address is from `Box::into_raw`, and was just erased, so the box is made once.
        Some(unsafe { Box::from_raw(address) })
    }

    /// Returns the address of the annex, null if there is none. The value owns it.
    pub(crate) fn address(&self) -> *mut AccountParts {
        let bytes = self.0.bytes();
        match bytes.last_chunk::<ADDRESS_LEN>() {
            Some(address) if is_in_parts(bytes) => {
                std::ptr::with_exposed_provenance_mut(usize::from_ne_bytes(*address))
            }
            _ => std::ptr::null_mut(),
        }
    }

    /// Arms the timer of an account again after its key was renamed or moved, since the timer still has the old key.
    pub(crate) fn arm_anew(&mut self, context: &server::Context, database: i32, key: &[u8]) {
        let due = next_due(&self.outline());
        *self.armed() = Armed::NONE;
        timers::arm(context, database, key, self.armed(), due);
    }

    /// Returns the account with sums in place of its annex.
    fn outline(&self) -> Account {
        let mut account = None;
        unpack(self.image(), &mut account);
        let mut account = account.unwrap_or_else(|| Account::empty(Status::Active));
        if let Some(annex) = self.annex() {
            **account.unloaded.get_or_insert_default() = annex.sums();
        }
        account
    }

    pub(crate) fn armed(&mut self) -> &mut Armed {
        self.0.head_mut()
    }
}

/// Passes the bytes of a value to `bytes`: the image, followed by the address of the annex if there is one. The bytes
/// then own the annex.
fn with_address<R>(
    image: &[u8],
    annex: Option<Box<AccountParts>>,
    bytes: impl FnOnce(&[u8]) -> R,
) -> R {
    match annex {
        None => bytes(image),
        Some(annex) => {
            let address = Box::into_raw(annex).expose_provenance();
            bytes(&[image, &address.to_ne_bytes()[..]].concat())
        }
    }
}

/// Returns spare bytes for about two further requests of open sessions. An account without sessions gets none.
fn spare(working: &WorkingAccount) -> usize {
    let has_sessions = working.account.as_ref().is_some_and(|account| !account.sessions.is_empty());
    if has_sessions { 64 } else { 0 }
}

/// Decodes an image from outside, or returns why it is refused.
pub(crate) fn read(image: &[u8]) -> Result<Account, ImageFault> {
    let mut account = Account::empty(Status::Active);
    decode_foreign_account(image, &mut account).map_err(ImageFault)?;
    Ok(account)
}

/// Reason why an image is refused: Scurry has not written it.
#[derive(Debug)]
pub(crate) struct ImageFault(UntrustedImageError);

impl Display for ImageFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: dump it again, or load another file", self.0)
    }
}

impl ValueKind for AccountValue {
    const NAME: &'static CStr = c"scurryacc";
    const ENCODING: i32 = 1;

    fn cell() -> &'static TypeCell {
        &TYPE
    }

    fn into_raw(self) -> *mut c_void {
        self.0.into_raw()
    }

    // SAFETY: the contract is that of the trait.
    unsafe fn from_raw(raw: *mut c_void) -> AccountValue {
        // SAFETY: the caller keeps the contract of the trait.
        AccountValue(unsafe { HeaderBox::from_raw(raw) })
    }

    fn load(bytes: &[u8], _: i32) -> Result<AccountValue, impl Display> {
        let mut account = read(bytes)?;
        account_totals::replace(&AccountContribution::default(), Some(&account));
        if bytes.len() <= APART_LEN {
            return Ok::<_, ImageFault>(AccountValue(HeaderBox::new(Armed::NONE, bytes, 0)));
        }
        let (image, annex) = AccountParts::divided(&mut account, APART_LEN);
        Ok(with_address(&image, annex.map(Box::new), |bytes| {
            AccountValue(HeaderBox::new(Armed::NONE, bytes, 0))
        }))
    }

    fn loaded(&mut self, context: &server::Context, database: i32, key: &[u8]) {
        self.arm_anew(context, database, key);
    }

    fn save(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.whole_image());
    }

    fn rewrite(&self, rewrite: &Rewrite<'_>) {
        rewrite.emit(APPLY, IMAGE, &self.whole_image());
    }

    fn memory_bytes(&self) -> usize {
        self.0.memory_bytes() + self.annex().map_or(0, AccountParts::memory_bytes)
    }

    fn free_effort(&self) -> usize {
        self.annex().map_or(1, AccountParts::len)
    }

    fn digest(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.whole_image());
    }

    fn unlinked(&self, database: i32, key: &[u8]) {
        timers::disarm(database, key, self.0.head());
    }

    fn freed(mut self) {
        account_totals::replace(&AccountContribution::of(Some(&self.outline())), None);
        drop(self.take_annex());
    }
}
