//! A row `[[subscribers]]` of the settings file, and the rule that it makes.

use crate::check::{RowCheck, quoted};
use crate::{SubscriberKind, SubscriberRule, TableError};
use scurry_ledger::ACCOUNT_ID_LEN_MAX;
use serde::Deserialize;

/// Most rows `[[subscribers]]`.
pub const SUBSCRIBERS_MAX: usize = 16;
/// Longest pattern of an account, bytes.
pub const PATTERN_LEN_MAX: usize = ACCOUNT_ID_LEN_MAX;

/// A row `[[subscribers]]`: how an identifier of a kind finds its account. The rows are tried in their order.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SubscriberRow {
    /// Kind of the identifier.
    #[serde(rename = "type")]
    pub kind: SubscriberKind,
    /// Pattern of the id of the account, with one `{}` for the identifier: `imsi-{}`.
    pub account: Option<String>,
    /// Kind of the identity by which the account is found, 1 to 16 characters, if it is not found by its id.
    pub identity: Option<String>,
}

/// Makes the rules of rows. Without rows they are those that hold without settings.
///
/// # Errors
/// The first mistake in the rows.
pub(crate) fn rules_of_rows(rows: &[SubscriberRow]) -> Result<Vec<SubscriberRule>, TableError> {
    const LIST: &str = "subscribers";
    if rows.is_empty() {
        return Ok(SubscriberRule::standard());
    }
    if rows.len() > SUBSCRIBERS_MAX {
        let rows_max = SUBSCRIBERS_MAX;
        return Err(TableError::TooMany { list: LIST, rows: rows.len(), rows_max });
    }
    for (at, row) in rows.iter().enumerate() {
        if let Some(first) = rows[..at].iter().position(|earlier| earlier == row) {
            let what = "type, account and identity";
            return Err(TableError::Repeated { list: LIST, row: at + 1, first: first + 1, what });
        }
    }
    let numbered = rows.iter().zip(1..);
    numbered.map(|(row, number)| rule_of_row(RowCheck { list: LIST, row: number }, row)).collect()
}

fn rule_of_row(check: RowCheck, row: &SubscriberRow) -> Result<SubscriberRule, TableError> {
    let account = row.account.as_deref().map(|text| pattern(check, text)).transpose()?;
    let identity = row.identity.as_deref().map(|text| check.name("identity", text)).transpose()?;
    if account.is_none() && identity.is_none() {
        let cure = "give a pattern such as \"imsi-{}\", or `identity`, or both";
        return Err(check.error("account", format!("it is missing: {cure}")));
    }
    Ok(SubscriberRule { kind: row.kind, account, identity })
}

/// Returns the text before and after the `{}` of a pattern.
fn pattern(check: RowCheck, text: &str) -> Result<(String, String), TableError> {
    const KEY: &str = "account";
    check.printable(KEY, text, PATTERN_LEN_MAX)?;
    match text.split_once("{}") {
        Some((before, after)) if !after.contains("{}") => Ok((before.to_owned(), after.to_owned())),
        _ => {
            let allowed = "write exactly one {} where the identifier goes, such as \"imsi-{}\"";
            Err(check.error(KEY, format!("{} is no pattern: {allowed}", quoted(text))))
        }
    }
}
