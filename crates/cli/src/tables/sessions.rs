//! Tables of open sessions, their items and their holds.

use super::{shown, time};
use scurry_ledger::{Account, Item, Session, Slice};
use scurry_tables::{Cell, table};

/// An open session of an account.
pub(crate) struct SessionRow<'a> {
    pub(crate) account: &'a [u8],
    pub(crate) session: &'a Session,
}

table! {
    /// Open sessions.
    pub(crate) SESSIONS, session_cells, row: SessionRow<'a>, "sessions", "An open session.";
    "account" Text required "Account id." => Cell::id(row.account);
    "session" Text required "Session id." => Cell::id(row.session.id.as_bytes());
    "opened" Time required "Time at which it began." => time(row.session.opened);
    "active" Time required "Time of its last request." => time(row.session.active());
    "deadline" Time required "When it expires if no request comes." => time(row.session.deadline);
    "tcc_ms" Int required "How long it may go without a request, ms." => Cell::Int(row.session.tcc_ms);
    "validity_ms" Int required "How long its grants are valid, ms." => Cell::Int(row.session.validity_ms);
    "version" Int required "Version of the session: 1 when opened, 1 more with each UPDATE." => Cell::number(row.session.version);
    "last_request_no" Int optional "Highest request number." => Cell::of(row.session.answers.last_request(), Cell::number);
    "overrun" Text required "Policy for use beyond the amount that could be debited." => Cell::text(row.session.terms.overrun.name());
    "is_transfer" Bool required "Whether it is a transfer to another account." => Cell::Bool(row.session.terms.transfer);
    "items" Int required "Number of its items." => Cell::number(row.session.items.len());
    "data" Bytes optional "DATA of the session: bytes of its client." => row.data();
}

impl<'a> SessionRow<'a> {
    fn data(&self) -> Cell<'a> {
        let data = Some(self.session.blob.as_slice()).filter(|data| !data.is_empty());
        Cell::of(data, |data| Cell::Bytes(data.into()))
    }
}

/// An item of an open session.
pub(crate) struct ItemRow<'a> {
    pub(crate) account: &'a [u8],
    pub(crate) session: &'a Session,
    pub(crate) item_no: usize,
    pub(crate) item: &'a Item,
}

table! {
    /// Items of open sessions.
    pub(crate) ITEMS, item_cells, row: ItemRow<'a>, "items", "An item of an open session. Amounts are totals over the life of the session.";
    "account" Text required "Account id." => Cell::id(row.account);
    "session" Text required "Session id." => Cell::id(row.session.id.as_bytes());
    "item_no" Int required "Place of the item in its session, from 0." => Cell::number(row.item_no);
    "item" Text required "Key of the item." => shown(row.item.key);
    "unit" Text required "Unit of the amounts." => Cell::text(row.item.unit.as_str());
    "granted" Int required "Granted." => Cell::Int(row.item.granted);
    "used" Int required "Reported as used." => Cell::Int(row.item.used);
    "held" Int required "Held now." => Cell::Int(row.item.outstanding());
    "from_hold" Int required "Part of `used` that was taken from holds." => Cell::Int(row.item.from_hold);
    "direct" Int required "Part of `used` that was taken from available." => Cell::Int(row.item.direct);
    "released" Int required "Part of `granted` that went back unused." => Cell::Int(row.item.released);
    "uncollected" Int required "Part of `used` that could not be debited." => Cell::Int(row.item.uncollected);
    "standing" Text required "What its last request for units got: `granted`, `final`, `final_held` or `denied`." => Cell::text(row.item.standing.name());
}

/// A hold of an item in one bucket.
pub(crate) struct HoldRow<'a> {
    pub(crate) id: &'a [u8],
    pub(crate) account: &'a Account,
    pub(crate) session: &'a Session,
    pub(crate) item: &'a Item,
    pub(crate) slice: &'a Slice,
}

table! {
    /// Holds.
    pub(crate) HOLDS, hold_cells, row: HoldRow<'a>, "holds", "The hold of an item of an open session in one bucket.";
    "account" Text required "Account id." => Cell::id(row.id);
    "session" Text required "Session id." => Cell::id(row.session.id.as_bytes());
    "item" Text required "Key of the item." => shown(row.item.key);
    "unit" Text required "Unit of the amount." => Cell::text(row.item.unit.as_str());
    "bucket" Text required "Name of the bucket." => row.bucket();
    "bucket_no" Int required "Number of the bucket." => Cell::Int(row.slice.bucket.0.into());
    "amount" Int required "Amount held, at least 1." => Cell::Int(row.slice.amount);
    "opened" Time required "Time at which the session began." => time(row.session.opened);
    "active" Time required "Time of the session's last request." => time(row.session.active());
    "deadline" Time required "When the session expires if no request comes." => time(row.session.deadline);
}

impl<'a> HoldRow<'a> {
    fn bucket(&self) -> Cell<'a> {
        Cell::text(
            self.account.bucket_no(self.slice.bucket).map_or("", |bucket| bucket.id.as_str()),
        )
    }
}
