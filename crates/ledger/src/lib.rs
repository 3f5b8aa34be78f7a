//! The rules of one account: [`decide`], [`apply`], [`validate`]. Pure: no I/O, no clock, no
//! randomness, no floats, no hash order. docs/ledger.md has the rules in words.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod account;
mod account_limits;
mod answer;
mod apply;
mod carried;
mod cause;
mod chain;
mod change;
mod code;
mod command;
mod debt_rule;
mod decide;
mod digest;
mod item_key;
mod limit;
mod limits;
mod name;
mod period;
mod period_clock;
mod remembered;
mod request_name;
mod session_holder;
mod session_options;
mod shown;
mod span;
mod standing;
mod time;
mod totals;
mod validate;
mod view;
mod window;
mod zone;

pub use account::*;
pub use answer::*;
pub use apply::{NamedSessions, apply, apply_op, seal};
pub use cause::Cause;
pub use chain::*;
pub use change::*;
pub use code::*;
pub use command::*;
pub use debt_rule::DebtRule;
pub use decide::{
    TRANSFER_ITEM, TransferView, decide, decide_denied_with, decide_in_place, decide_with,
    next_due, receipt_id, tick, tick_in_place,
};
pub use item_key::{ITEM_KEY_LEN_MAX, ItemId, ItemKey};
pub use limit::{Limit, LimitPart, LimitSubject};
pub use limits::*;
pub use name::{ID_LEN_MAX, Id, NAME_LEN_MAX, Name, is_printable};
pub use period::Period;
pub use period_clock::PeriodClock;
pub use remembered::*;
pub use request_name::{RequestKind, RequestName};
pub use session_holder::{HolderStanding, SessionHolder};
pub use session_options::{Overrun, SessionOptions, SessionTerms};
pub use shown::{SessionPage, ShownParts};
pub use span::Span;
pub use standing::Standing;
pub use time::{Cycle, Time};
pub use totals::*;
pub use validate::{Violation, validate};
pub use view::{Checked, check, view, view_in_place};
pub use window::Window;
pub use zone::{NamedZone, TZDATA_VERSION, ZONE_NAME_LEN_MAX, Zone};
