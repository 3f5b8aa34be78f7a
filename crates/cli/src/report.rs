//! `scurry report`: answers to questions of finance and support, from a backup or from shipped files. Each is also a
//! query of docs/analytics.md, and a test compares both.

mod answer;
mod conservation;
mod coverage;
mod denied;
mod event_balances;
mod event_holds;
mod event_rows;
mod hold;
mod holds;
mod period;
mod shipped_files;
mod source;
mod spend;
mod state_of_backup;
mod statement;
mod statement_accounts;

use anyhow::{Result, ensure};
use clap::{Args, Subcommand};
use scurry_ship::Record;

/// Most groups of a report, some hundred bytes of memory each.
const GROUPS_MAX: usize = 5_000_000;

const EXAMPLES: &str = "Examples:
  scurry report spend --backup /var/lib/scurry --day yesterday --zone Europe/Berlin --top 10
  scurry report denied --backup /var/lib/scurry --account alice --from yesterday
  scurry report holds --backup /backup/scurry-monday --older 1h
  scurry report conservation --files events --format json
  scurry report statement alice bob --files events --from 2026-11-01 --to 2026-12-01 --format csv

docs/analytics.md has the same questions as queries for DuckDB.";

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Report {
    #[command(subcommand)]
    question: Question,
}

#[derive(Debug, Subcommand)]
enum Question {
    /// What was used in a period, by account, item, session, bucket or day
    Spend(spend::Spend),
    /// Which requests were denied in a period, and why
    Denied(denied::Denied),
    /// Which holds are open, the oldest first
    Holds(holds::Holds),
    /// Whether all sums of the store agree
    Conservation(conservation::Conservation),
    /// Everything that happened to accounts in a period, with the balances before and after it
    Statement(statement::Statement),
}

impl Report {
    pub(crate) fn run(self) -> Result<()> {
        match self.question {
            Question::Spend(spend) => spend.run(),
            Question::Denied(denied) => denied.run(),
            Question::Holds(holds) => holds.run(),
            Question::Conservation(conservation) => conservation.run(),
            Question::Statement(statement) => statement.run(),
        }
    }
}

/// Which accounts and units a report is of.
#[derive(Args, Clone, Debug)]
struct AccountChoice {
    /// Only this account; may be given several times
    #[arg(long = "account", value_name = "ID")]
    accounts: Vec<String>,

    /// Only accounts whose ids begin so
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    account_prefix: String,

    /// Only this unit; may be given several times
    #[arg(long = "unit", value_name = "UNIT")]
    units: Vec<String>,
}

impl AccountChoice {
    fn has(&self, event: &Record) -> bool {
        self.has_account(&event.account) && self.has_unit(event.unit.as_deref().unwrap_or_default())
    }

    fn has_account(&self, account: &str) -> bool {
        account.starts_with(&self.account_prefix)
            && (self.accounts.is_empty() || self.accounts.iter().any(|own| own == account))
    }

    fn has_unit(&self, unit: &str) -> bool {
        self.units.is_empty() || self.units.iter().any(|own| own == unit)
    }
}

/// Refuses more groups than memory is meant for.
fn ensure_groups(groups: usize) -> Result<()> {
    ensure!(
        groups <= GROUPS_MAX,
        "the report has more than {GROUPS_MAX} rows: choose accounts with --account-prefix, a shorter period, or fewer \
         columns of --by"
    );
    Ok(())
}
