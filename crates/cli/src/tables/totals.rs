//! The table of sums over all accounts, by unit.

use scurry_ledger::UnitTotals;
use scurry_tables::{Cell, table};

table! {
    /// Sums by unit.
    pub(crate) TOTALS, total_cells, row: UnitTotals, "totals", "The sums of a unit over the rows of `buckets` and `units`, as SCUR.TOTALS has them.";
    "unit" Text required "Unit." => Cell::text(row.unit.as_str());
    "available" Wide required "Amount that can be granted or debited." => Cell::Wide(row.available);
    "held" Wide required "Amount held." => Cell::Wide(row.held);
    "credited" Wide required "Total of credits." => Cell::Wide(row.credited);
    "refunded" Wide required "Total of refunds." => Cell::Wide(row.refunded);
    "consumed" Wide required "Total of debits." => Cell::Wide(row.consumed);
    "expired" Wide required "Total that expired." => Cell::Wide(row.expired);
    "voided" Wide required "Total of negative adjustments." => Cell::Wide(row.voided);
    "overdrawn" Wide required "Total debited below floors." => Cell::Wide(row.overdrawn);
    "uncollected" Wide required "Total of use that could not be debited." => Cell::Wide(row.uncollected);
    "in_transit" Wide required "Held for transfers to other accounts." => Cell::Wide(row.in_transit);
    "conserves" Bool required "Whether `available + held = credited + refunded - consumed - expired - voided`." => Cell::Bool(row.conserves());
}
