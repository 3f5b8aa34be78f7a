//! Users in files: entries `[[users]]` in the settings file or in a separate file, and the hashes of passwords and
//! tokens for them.

use crate::toml_file;
use anyhow::{Context, Result, ensure};
use scurry_server::UserEntry;
use serde::Deserialize;
use std::io::{BufRead, IsTerminal, Read};
use std::path::Path;

/// Upper bound of a password read from stdin, bytes: longer than any valid password.
const LINE_LEN_MAX: u64 = 4096;

/// One entry of `[[users]]`.
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

/// Reads a file that contains only users, at least one. The entries are not checked yet.
pub(crate) fn read_users(path: &Path) -> Result<Vec<UserEntry>> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct UsersFile {
        users: Vec<UserTable>,
    }
    let file: UsersFile = toml_file::read(path, "users")?;
    ensure!(!file.users.is_empty(), "there are no [[users]] in {}", path.display());
    Ok(file.users.into_iter().map(UserEntry::from).collect())
}

/// `scurry hash-password`: prints the hash of a password for the settings file.
pub(crate) fn hash_password() -> Result<()> {
    let password = if std::io::stdin().is_terminal() { ask()? } else { read_line()? };
    let hash = scurry_server::hash_password(password.as_bytes()).context("the password")?;
    println!("{hash}");
    Ok(())
}

/// `scurry make-token`: prints a random token and its hash for the settings file.
pub(crate) fn make_token() -> Result<()> {
    let made = scurry_server::make_token().context("cannot make a token")?;
    println!("token       {}", made.token);
    println!("token_hash  {}", made.hash);
    Ok(())
}

fn ask() -> Result<String> {
    let password = rpassword::prompt_password("Password: ").context("cannot ask for it")?;
    let again = rpassword::prompt_password("Again: ").context("cannot ask for it")?;
    ensure!(password == again, "the passwords are not the same: try again");
    Ok(password)
}

/// Reads the first line, without its line break.
fn read_line() -> Result<String> {
    let mut line = String::new();
    let mut input = std::io::stdin().lock().take(LINE_LEN_MAX);
    input.read_line(&mut line).context("cannot read the password from stdin: give it in UTF-8")?;
    let line = line.strip_suffix('\n').unwrap_or(&line);
    Ok(line.strip_suffix('\r').unwrap_or(line).to_owned())
}
