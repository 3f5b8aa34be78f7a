//! An account as the value of a key: its packed image, as in the engine's table. A command unpacks
//! it, and packs it again when it has committed.

use crate::headed::Headed;
use crate::server::{Kind, Rewrite, TypeCell};
use crate::timers::{self, Armed};
use crate::{account_totals, server};
use scurry_codec::{ForeignError, decode_foreign_account};
use scurry_engine::{Slate, unpack};
use scurry_ledger::{Account, Portion, Status, next_due};
use std::ffi::{CStr, c_void};
use std::fmt::{self, Display};

/// Replaces what a key holds by an image: `SCUR.APPLY key IMAGE image`.
pub(crate) const IMAGE: &[u8] = b"IMAGE";
/// The command that replicas and files get.
pub(crate) const APPLY: &CStr = c"SCUR.APPLY";

/// The value of a key that holds an account.
pub(crate) struct AccountValue(Headed<Armed>);

static TYPE: TypeCell = TypeCell::new();

impl AccountValue {
    /// Of an account that is taken into the totals.
    pub(crate) fn new(slate: &Slate) -> AccountValue {
        AccountValue(Headed::new(Armed::NONE, slate.image(), spare(slate)))
    }

    /// Replaces the account by the one on the slate.
    pub(crate) fn replace(&mut self, slate: &Slate) {
        self.0.replace(slate.image(), spare(slate));
    }

    /// The bytes.
    pub(crate) fn image(&self) -> &[u8] {
        self.0.bytes()
    }

    /// Arms the timer of an account that lies under another key than its timer knows.
    pub(crate) fn arm_anew(&mut self, context: &server::Context, database: i32, key: &[u8]) {
        let mut account = None;
        unpack(self.image(), &mut account);
        *self.armed() = Armed::NONE;
        let due = account.as_ref().and_then(next_due);
        timers::arm(context, database, key, self.armed(), due);
    }

    pub(crate) fn armed(&mut self) -> &mut Armed {
        self.0.head_mut()
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
        let account = read(bytes)?;
        account_totals::replace(&Portion::default(), Some(&account));
        Ok::<_, ImageFault>(AccountValue(Headed::new(Armed::NONE, bytes, 0)))
    }

    fn loaded(&mut self, context: &server::Context, database: i32, key: &[u8]) {
        self.arm_anew(context, database, key);
    }

    fn save(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.image());
    }

    fn rewrite(&self, rewrite: &Rewrite<'_>) {
        rewrite.emit(APPLY, IMAGE, self.image());
    }

    fn memory_bytes(&self) -> usize {
        self.0.memory_bytes()
    }

    fn digest(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.image());
    }

    fn unlinked(&self, database: i32, key: &[u8]) {
        timers::disarm(database, key, self.0.head());
    }

    fn freed(self) {
        let mut account = None;
        unpack(self.image(), &mut account);
        account_totals::replace(&Portion::of(account.as_ref()), None);
    }
}
