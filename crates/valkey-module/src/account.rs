//! An account as the value of a key: its packed image, as in the engine's table. A command unpacks
//! it, and packs it again when it has committed. Behind the image of a busy account, which is kept in
//! parts, stands the address of its annex: what few accounts have takes no room in the others.

use crate::headed::Headed;
use crate::server::{Kind, Rewrite, TypeCell};
use crate::timers::{self, Armed};
use crate::{account_totals, server};
use scurry_codec::{ForeignError, decode_foreign_account, is_apart};
use scurry_engine::{APART_LEN, Annex, Slate, unpack};
use scurry_ledger::{Account, Portion, Status, next_due};
use std::borrow::Cow;
use std::ffi::{CStr, c_void};
use std::fmt::{self, Display};

/// Replaces what a key holds by an image: `SCUR.APPLY key IMAGE image`.
pub(crate) const IMAGE: &[u8] = b"IMAGE";
/// The command that replicas and files get.
pub(crate) const APPLY: &CStr = c"SCUR.APPLY";

/// The value of a key that holds an account.
pub(crate) struct AccountValue(Headed<Armed>);

static TYPE: TypeCell = TypeCell::new();

/// Bytes of an address.
const ADDRESS_LEN: usize = size_of::<usize>();

impl AccountValue {
    /// Of an account that is taken into the totals.
    pub(crate) fn new(slate: &Slate, annex: Option<Box<Annex>>) -> AccountValue {
        with_address(slate.image(), annex, |bytes| {
            AccountValue(Headed::new(Armed::NONE, bytes, spare(slate)))
        })
    }

    /// Replaces the account by the one on the slate. Its annex is the one that it had, unless a new one
    /// is given.
    pub(crate) fn replace(&mut self, slate: &Slate, annex: Option<Box<Annex>>) {
        let annex = if slate.is_apart() { annex.or_else(|| self.take_annex()) } else { None };
        drop(self.take_annex());
        with_address(slate.image(), annex, |bytes| self.0.replace(bytes, spare(slate)));
    }

    /// The image: of an account that is kept in parts that of the part.
    pub(crate) fn image(&self) -> &[u8] {
        let bytes = self.0.bytes();
        if is_apart(bytes) { &bytes[..bytes.len() - ADDRESS_LEN] } else { bytes }
    }

    /// The image of the whole account.
    pub(crate) fn whole_image(&self) -> Cow<'_, [u8]> {
        match self.annex() {
            Some(annex) => Cow::Owned(annex.whole_image(self.image())),
            None => Cow::Borrowed(self.image()),
        }
    }

    /// The annex of an account that is kept in parts.
    pub(crate) fn annex(&self) -> Option<&Annex> {
        // SAFETY: the value owns it, and is borrowed as long.
        unsafe { self.address().as_ref() }
    }

    /// Takes the annex away. What is left is only good to be replaced or freed.
    pub(crate) fn take_annex(&mut self) -> Option<Box<Annex>> {
        let address = self.address();
        if address.is_null() {
            return None;
        }
        let bytes = self.0.bytes_mut();
        let front = bytes.len() - ADDRESS_LEN;
        bytes[front..].fill(0);
        // SAFETY: it is from `Box::into_raw`, and its address is not there any more.
        Some(unsafe { Box::from_raw(address) })
    }

    /// The address of the annex; null where there is none. The value owns it.
    pub(crate) fn address(&self) -> *mut Annex {
        let bytes = self.0.bytes();
        match bytes.last_chunk::<ADDRESS_LEN>() {
            Some(address) if is_apart(bytes) => {
                std::ptr::with_exposed_provenance_mut(usize::from_ne_bytes(*address))
            }
            _ => std::ptr::null_mut(),
        }
    }

    /// Arms the timer of an account that lies under another key than its timer knows.
    pub(crate) fn arm_anew(&mut self, context: &server::Context, database: i32, key: &[u8]) {
        let due = next_due(&self.outline());
        *self.armed() = Armed::NONE;
        timers::arm(context, database, key, self.armed(), due);
    }

    /// The account, with sums of what is kept apart.
    fn outline(&self) -> Account {
        let mut account = None;
        unpack(self.image(), &mut account);
        let mut account = account.unwrap_or_else(|| Account::empty(Status::Active));
        if let Some(annex) = self.annex() {
            **account.elsewhere.get_or_insert_default() = annex.sums();
        }
        account
    }

    pub(crate) fn armed(&mut self) -> &mut Armed {
        self.0.head_mut()
    }
}

/// Bytes of a value: the image, and where the account is kept in parts the address of its annex, which
/// these bytes own from now on.
fn with_address<R>(image: &[u8], annex: Option<Box<Annex>>, bytes: impl FnOnce(&[u8]) -> R) -> R {
    match annex {
        None => bytes(image),
        Some(annex) => {
            let address = Box::into_raw(annex).expose_provenance();
            bytes(&[image, &address.to_ne_bytes()[..]].concat())
        }
    }
}

/// Room for what the next requests of open sessions add, bytes: two or so. An account without any
/// takes no more than it needs.
fn spare(slate: &Slate) -> usize {
    let has_sessions = slate.account.as_ref().is_some_and(|account| !account.sessions.is_empty());
    if has_sessions { 64 } else { 0 }
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

    fn into_raw(self) -> *mut c_void {
        self.0.into_raw()
    }

    // SAFETY: see the trait.
    unsafe fn from_raw(raw: *mut c_void) -> AccountValue {
        // SAFETY: as the caller promises.
        AccountValue(unsafe { Headed::from_raw(raw) })
    }

    fn load(bytes: &[u8], _: i32) -> Result<AccountValue, impl Display> {
        let mut account = read(bytes)?;
        account_totals::replace(&Portion::default(), Some(&account));
        if bytes.len() <= APART_LEN {
            return Ok::<_, ImageFault>(AccountValue(Headed::new(Armed::NONE, bytes, 0)));
        }
        let (image, annex) = Annex::divided(&mut account, APART_LEN);
        Ok(with_address(&image, annex.map(Box::new), |bytes| {
            AccountValue(Headed::new(Armed::NONE, bytes, 0))
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
        self.0.memory_bytes() + self.annex().map_or(0, Annex::memory_bytes)
    }

    fn free_effort(&self) -> usize {
        self.annex().map_or(1, Annex::len)
    }

    fn digest(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.whole_image());
    }

    fn unlinked(&self, database: i32, key: &[u8]) {
        timers::disarm(database, key, self.0.head());
    }

    fn freed(mut self) {
        account_totals::replace(&Portion::of(Some(&self.outline())), None);
        drop(self.take_annex());
    }
}
