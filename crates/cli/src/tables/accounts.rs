//! Tables of accounts, their identities, and their sums by unit.

use super::{json_of, time};
use scurry_ledger::{Account, Identity, Name, Time};
use scurry_tables::{Cell, table};

/// An account.
pub(crate) struct AccountRow<'a> {
    pub(crate) id: &'a [u8],
    pub(crate) account: &'a Account,
}

table! {
    /// Accounts.
    pub(crate) ACCOUNTS, account_cells, row: AccountRow<'a>, "accounts", "An account.";
    "account" Text required "Account id." => Cell::id(row.id);
    "status" Text required "`active`, `suspended` or `closed`." => Cell::text(row.account.status.name());
    "version" Int required "Number of commits of the account so far. All rows of the account, in all tables, are of this version." => Cell::number(row.account.version);
    "changed_at" Time required "Time of the last commit." => time(row.account.changed_at);
    "identities" Json required "Identities by their kinds, an object of JSON." => json_of(&row.account.identities);
    "open_sessions" Int required "Number of open sessions." => Cell::number(row.account.sessions.len());
    "ended_sessions" Int required "Number of ended sessions that are remembered." => Cell::number(row.account.tombstones.len());
    "transactions" Int required "Number of transactions that are remembered." => Cell::number(row.account.transactions.len());
}

/// An identity of an account.
pub(crate) struct IdentityRow<'a> {
    pub(crate) account: &'a [u8],
    pub(crate) identity: &'a Identity,
    pub(crate) given_up_at: Option<Time>,
}

table! {
    /// Identities.
    pub(crate) IDENTITIES, identity_cells, row: IdentityRow<'a>, "identities", "An identity of an account, or one that it has given up and is still found by.";
    "account" Text required "Account id." => Cell::id(row.account);
    "kind" Text required "Kind, for example `msisdn`." => Cell::text(row.identity.kind.as_str());
    "value" Text required "Value." => Cell::id(row.identity.value.as_bytes());
    "given_up_at" Time optional "Time at which the account gave it up; null if it has it." => Cell::of(row.given_up_at, time);
}

/// Sums of an account that no bucket has.
pub(crate) struct UnitRow<'a> {
    pub(crate) account: &'a [u8],
    pub(crate) unit: Name,
    pub(crate) uncollected: i64,
    pub(crate) in_transit: i64,
}

table! {
    /// Sums by account and unit.
    pub(crate) UNITS, unit_cells, row: UnitRow<'a>, "units", "Sums of an account in a unit that no bucket has. An account without such sums has no row.";
    "account" Text required "Account id." => Cell::id(row.account);
    "unit" Text required "Unit." => Cell::text(row.unit.as_str());
    "uncollected" Int required "Use that could not be debited, in total." => Cell::Int(row.uncollected);
    "in_transit" Int required "Held now for transfers to other accounts." => Cell::Int(row.in_transit);
}
