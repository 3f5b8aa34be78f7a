//! Users in files: one `[[users]]` each, in the file of settings or in one of its own.

use anyhow::{Context, Result, ensure};
use scurry_server::UserEntry;
use serde::Deserialize;
use std::path::Path;

/// One of `[[users]]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct UserTable {
    name: String,
    password_hash: Option<String>,
    token_hash: Option<String>,
    roles: Vec<String>,
}

impl From<UserTable> for UserEntry {
    fn from(table: UserTable) -> UserEntry {
        let UserTable { name, password_hash, token_hash, roles } = table;
        UserEntry { name, password_hash, token_hash, roles }
    }
}

/// The users of a file that has nothing else, not checked yet; at least one.
pub(crate) fn read_users(path: &Path) -> Result<Vec<UserEntry>> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct UsersFile {
        users: Vec<UserTable>,
    }
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("cannot read the users in {}", path.display()))?;
    let file: UsersFile =
        toml::from_str(&text).with_context(|| format!("wrong users in {}", path.display()))?;
    ensure!(!file.users.is_empty(), "there are no [[users]] in {}", path.display());
    Ok(file.users.into_iter().map(UserEntry::from).collect())
}
