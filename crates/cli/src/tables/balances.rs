//! Tables of buckets, limits and counters.

use super::{shown, time};
use scurry_ledger::{Account, Bucket, Counter, Limit, LimitSubject, Time, Zone};
use scurry_tables::{Cell, table};

/// A bucket of an account.
pub(crate) struct BucketRow<'a> {
    pub(crate) id: &'a [u8],
    pub(crate) account: &'a Account,
    pub(crate) bucket: &'a Bucket,
}

table! {
    /// Buckets.
    pub(crate) BUCKETS, bucket_cells, row: BucketRow<'a>, "buckets", "A bucket of an account. `available + held = credited + refunded - consumed - expired - voided`.";
    "account" Text required "Account id." => Cell::id(row.id);
    "bucket" Text required "Name of the bucket." => Cell::text(row.bucket.id.as_str());
    "bucket_no" Int required "Number of the bucket, never reused in the account." => Cell::Int(row.bucket.no.0.into());
    "unit" Text required "Unit of the amounts, which are minor units." => Cell::text(row.bucket.unit.as_str());
    "priority" Int required "Rank in burn order; a lower value is debited first." => Cell::Int(row.bucket.priority.into());
    "created" Time required "Time of its creation." => time(row.bucket.created);
    "valid_from" Time required "First moment of its validity." => time(row.bucket.valid_from);
    "valid_to" Time optional "End of its validity; null for no end." => Cell::of(row.bucket.valid_to, time);
    "floor" Int required "Minus the credit limit: 0 or less." => Cell::Int(row.bucket.floor);
    "mark" Int optional "Amount whose crossing is an event; null without one." => Cell::of(row.bucket.mark, Cell::Int);
    "items" Text optional "Keys of the items that it is for, with spaces between; null for all." => row.items();
    "available" Int required "Amount that can be granted or debited." => Cell::Int(row.bucket.available);
    "held" Int required "Amount held by open sessions: the sum of its `holds`." => Cell::Int(row.bucket.held);
    "credited" Int required "Total of credits." => Cell::Int(row.bucket.credited);
    "refunded" Int required "Total of refunds." => Cell::Int(row.bucket.refunded);
    "consumed" Int required "Total of debits." => Cell::Int(row.bucket.consumed);
    "expired" Int required "Total that expired." => Cell::Int(row.bucket.expired);
    "voided" Int required "Total of negative adjustments." => Cell::Int(row.bucket.voided);
    "overdrawn" Int required "Total debited below the floor; a part of `consumed`." => Cell::Int(row.bucket.overdrawn);
    "refill_period" Text optional "Period of its refills; null if it is never refilled." => Cell::of(row.allowance(), |of| shown(of.cycle.period));
    "refill_zone" Text optional "Time zone of the period." => Cell::of(row.allowance(), |of| zone(of.cycle.zone));
    "refill_amount" Int optional "Credit of each period." => Cell::of(row.allowance(), |of| Cell::Int(of.amount));
    "refill_since" Time optional "Begin of the last period that was refilled." => Cell::of(row.allowance(), |of| time(of.period_start));
}

/// Returns a zone by its name, or as minutes ahead of UTC.
fn zone<'a>(zone: Zone) -> Cell<'a> {
    match zone {
        Zone::Fixed(minutes) => shown(minutes),
        Zone::Named(zone) => Cell::text(zone.name()),
    }
}

impl<'a> BucketRow<'a> {
    fn allowance(&self) -> Option<&'a scurry_ledger::Allowance> {
        self.account.allowance(self.bucket.no)
    }

    fn items(&self) -> Cell<'a> {
        let keys: Vec<String> =
            self.account.keys_of(self.bucket.no).map(|key| key.to_string()).collect();
        Cell::of(Some(keys).filter(|keys| !keys.is_empty()), |keys| shown(keys.join(" ")))
    }
}

/// A limit of an account, as read at a time.
pub(crate) struct LimitRow<'a> {
    pub(crate) id: &'a [u8],
    pub(crate) account: &'a Account,
    pub(crate) limit: &'a Limit,
    pub(crate) now: Time,
}

table! {
    /// Limits.
    pub(crate) LIMITS, limit_cells, row: LimitRow<'a>, "limits", "A limit of an account, as it is at the time of the tables: use that counts no more is gone.";
    "account" Text required "Account id." => Cell::id(row.id);
    "limit" Text required "Name of the limit." => Cell::text(row.limit.id.as_str());
    "unit" Text optional "Unit that it counts; null for a limit of open sessions." => row.unit();
    "item" Text optional "Key of the item whose units count; null for all." => row.item();
    "window" Text required "How long a use counts: a period, a rolling span or a rate." => shown(row.limit.window);
    "amount" Int required "Most that may be used in the window, or open sessions." => Cell::Int(row.limit.amount);
    "used" Int required "Amount used that counts." => Cell::Int(row.account.limit_at(row.limit, row.now).used);
    "held" Int required "Amount held by open grants, or open sessions." => Cell::Int(row.account.held_in(row.limit));
    "left" Int required "The rest." => Cell::Int(row.account.left_in(row.limit, row.now));
    "overrun" Int required "Use beyond the limit." => Cell::Int(row.account.limit_at(row.limit, row.now).overrun);
    "resets_at" Time optional "When `used` becomes 0 if nothing more is used." => Cell::of(row.account.limit_resets_at(row.limit, row.now), time);
}

impl<'a> LimitRow<'a> {
    fn unit(&self) -> Cell<'a> {
        match &self.limit.counted {
            LimitSubject::Sessions => Cell::Null,
            LimitSubject::Units { unit, .. } => Cell::text(unit.as_str()),
        }
    }

    fn item(&self) -> Cell<'a> {
        match &self.limit.counted {
            LimitSubject::Sessions => Cell::Null,
            LimitSubject::Units { item, .. } => Cell::of(item.as_ref(), shown),
        }
    }
}

/// A counter of an account, as read at a time.
pub(crate) struct CounterRow<'a> {
    pub(crate) account: &'a [u8],
    pub(crate) counter: &'a Counter,
    pub(crate) now: Time,
}

table! {
    /// Counters.
    pub(crate) COUNTERS, counter_cells, row: CounterRow<'a>, "counters", "A counter of an account, as it is at the time of the tables.";
    "account" Text required "Account id." => Cell::id(row.account);
    "counter" Text required "Name of the counter." => Cell::text(row.counter.id.as_str());
    "unit" Text required "Unit that it counts; empty for none." => Cell::text(row.counter.unit.as_str());
    "period" Text required "Period after which it is 0 again; `none` for never." => shown(row.counter.cycle.period);
    "value" Int required "Value in the period." => Cell::Int(row.counter.value_at(row.now));
    "resets_at" Time optional "When it is 0 next." => Cell::of(row.counter.resets_at(row.now), time);
}
