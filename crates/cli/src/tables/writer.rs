//! Writes the tables of a store, account by account, in bounded memory.

use super::accounts::{
    AccountRow, IdentityRow, UnitRow, account_cells, identity_cells, unit_cells,
};
use super::balances::{BucketRow, CounterRow, LimitRow, bucket_cells, counter_cells, limit_cells};
use super::sessions::{HoldRow, ItemRow, SessionRow, hold_cells, item_cells, session_cells};
use super::totals::{TOTALS, total_cells};
use super::transactions::{DebitRow, TransactionRow, debit_cells, transaction_cells};
use super::{TABLES, accounts, balances, sessions, transactions};
use scurry_ledger::{Account, AccountContribution, Name, Session, Time, Totals, UnitAmount};
use scurry_tables::{Cell, Format, Table, TableDirectory, TableError, TableFile, rfc3339};
use signal_hook::consts::SIGXFSZ;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Writes the tables of a store.
pub(crate) struct TablesWriter {
    directory: TableDirectory,
    /// In the order of [`TABLES`].
    files: Vec<(&'static Table, TableFile)>,
    totals: Totals,
}

/// What tables are of: texts in the footer of each file of Parquet, and in `export.json`.
#[derive(Clone, Debug)]
pub(crate) struct TablesOf {
    /// `backup` or `live`.
    pub(crate) source: &'static str,
    /// The store, 16 hexadecimal digits. None where it has no id.
    pub(crate) store: Option<String>,
    /// Positions of the events that the tables have all of, and of those that they may have some of: where each thread's
    /// events continue. None where the store keeps no events.
    pub(crate) positions: Option<(String, String)>,
    /// Time of the tables.
    pub(crate) time: Time,
}

impl TablesOf {
    fn texts(&self) -> Vec<(String, String)> {
        let time = rfc3339(self.time.0).unwrap_or_else(|| self.time.0.to_string());
        let mut texts = vec![
            ("scurry.version", env!("CARGO_PKG_VERSION").to_owned()),
            ("scurry.source", self.source.to_owned()),
            ("scurry.time", time),
        ];
        texts.extend(self.store.clone().map(|store| ("scurry.store", store)));
        if let Some((from, to)) = &self.positions {
            texts.push(("scurry.positions", from.clone()));
            texts.push(("scurry.positions_end", to.clone()));
        }
        texts.into_iter().map(|(name, text)| (name.to_owned(), text)).collect()
    }
}

impl TablesWriter {
    /// Begins the tables in a directory that is empty or not there.
    pub(crate) fn open(path: &Path, format: Format) -> Result<TablesWriter, TableError> {
        fail_when_files_are_too_long();
        let mut directory = TableDirectory::open(path, format)?;
        let begin = |table: &&'static Table| Ok((*table, directory.begin(table)?));
        let files = TABLES.iter().map(begin).collect::<Result<_, TableError>>()?;
        Ok(TablesWriter { directory, files, totals: Totals::default() })
    }

    /// Adds an account as it is at a time, with all of its rows.
    pub(crate) fn push(
        &mut self,
        id: &[u8],
        account: &Account,
        now: Time,
    ) -> Result<(), TableError> {
        let now = now.on(Some(account));
        self.totals.replace(&AccountContribution::default(), Some(account));
        self.write(&accounts::ACCOUNTS, &account_cells(&AccountRow { id, account }))?;
        self.push_identities(id, account)?;
        for bucket in &account.buckets {
            self.write(&balances::BUCKETS, &bucket_cells(&BucketRow { id, account, bucket }))?;
        }
        for limit in &account.limits {
            self.write(&balances::LIMITS, &limit_cells(&LimitRow { id, account, limit, now }))?;
        }
        for counter in &account.counters {
            let row = CounterRow { account: id, counter, now };
            self.write(&balances::COUNTERS, &counter_cells(&row))?;
        }
        for session in &account.sessions {
            self.push_session(id, account, session)?;
        }
        self.push_transactions(id, account)
    }

    fn push_identities(&mut self, id: &[u8], account: &Account) -> Result<(), TableError> {
        for identity in &account.identities {
            let row = IdentityRow { account: id, identity, given_up_at: None };
            self.write(&accounts::IDENTITIES, &identity_cells(&row))?;
        }
        for former in &account.former_identities {
            let given_up_at = Some(former.given_up_at);
            let row = IdentityRow { account: id, identity: &former.identity, given_up_at };
            self.write(&accounts::IDENTITIES, &identity_cells(&row))?;
        }
        let mut units: Vec<Name> = Vec::new();
        for of in account.uncollected.iter().chain(&account.in_transit) {
            if !units.contains(&of.unit) {
                units.push(of.unit);
            }
        }
        let amount = |amounts: &[UnitAmount], unit| {
            amounts.iter().find(|of| of.unit == unit).map_or(0, |of| of.amount)
        };
        for unit in units {
            let uncollected = amount(&account.uncollected, unit);
            let in_transit = amount(&account.in_transit, unit);
            let row = UnitRow { account: id, unit, uncollected, in_transit };
            self.write(&accounts::UNITS, &unit_cells(&row))?;
        }
        Ok(())
    }

    fn push_session(
        &mut self,
        id: &[u8],
        account: &Account,
        session: &Session,
    ) -> Result<(), TableError> {
        let row = SessionRow { account: id, session };
        self.write(&sessions::SESSIONS, &session_cells(&row))?;
        for (item_no, item) in session.items.iter().enumerate() {
            let row = ItemRow { account: id, session, item_no, item };
            self.write(&sessions::ITEMS, &item_cells(&row))?;
            for slice in &item.slices {
                let row = HoldRow { id, account, session, item, slice };
                self.write(&sessions::HOLDS, &hold_cells(&row))?;
            }
        }
        Ok(())
    }

    fn push_transactions(&mut self, id: &[u8], account: &Account) -> Result<(), TableError> {
        for transaction in account.transactions.iter() {
            let row = TransactionRow { account: id, transaction: &transaction };
            self.write(&transactions::TRANSACTIONS, &transaction_cells(&row))?;
            for part in &transaction.parts {
                let row = DebitRow { id, account, transaction: &transaction, part };
                self.write(&transactions::DEBITS, &debit_cells(&row))?;
            }
        }
        Ok(())
    }

    fn write(&mut self, table: &Table, cells: &[Cell<'_>]) -> Result<(), TableError> {
        let file = self.files.iter_mut().find(|(of, _)| of.name == table.name);
        file.map_or(Ok(()), |(_, file)| file.push(cells))
    }

    /// Adds the sums, and completes the directory. Returns a line about what was written.
    pub(crate) fn finish(mut self, of: &TablesOf) -> Result<String, TableError> {
        let mut units = std::mem::take(&mut self.totals.units);
        units.sort_unstable_by_key(|unit| unit.unit);
        for unit in &units {
            self.write(&TOTALS, &total_cells(unit))?;
        }
        let rows: Vec<String> =
            self.files.iter().map(|(of, file)| format!("{} {}", of.name, file.rows())).collect();
        let files = self.files.into_iter().map(|(_, file)| file).collect();
        self.directory.complete(files, &of.texts())?;
        Ok(rows.join(", "))
    }
}

/// Has a write beyond the limit of a file's size (`ulimit -f`) fail as on a full disk, and not end the process.
fn fail_when_files_are_too_long() {
    // Without the handler such a write ends the process, and what is not complete keeps its name.
    let _ = signal_hook::flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false)));
}
