//! Users in files: one `[[users]]` each, in the file of settings or in one of its own, and what these
//! keep of a password or a token.

use crate::toml_file;
use anyhow::{Context, Result, ensure};
use scurry_server::UserEntry;
use serde::Deserialize;
use std::io::{BufRead, IsTerminal, Read};
use std::path::Path;

/// Bytes of a password from stdin at most: more than any has.
const LINE_LEN_MAX: u64 = 4096;

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
    let file: UsersFile = toml_file::read(path, "users")?;
    ensure!(!file.users.is_empty(), "there are no [[users]] in {}", path.display());
    Ok(file.users.into_iter().map(UserEntry::from).collect())
}

/// `scurry hash-password`: from a password to what the file keeps of it.
pub(crate) fn hash_password() -> Result<()> {
    let password = if std::io::stdin().is_terminal() { ask()? } else { read_line()? };
    let hash = scurry_server::hash_password(password.as_bytes()).context("the password")?;
    println!("{hash}");
    Ok(())
}

/// `scurry make-token`: a random token, and what the file keeps of it.
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

/// The first line, without its end.
fn read_line() -> Result<String> {
    let mut line = String::new();
    let mut input = std::io::stdin().lock().take(LINE_LEN_MAX);
    input.read_line(&mut line).context("cannot read the password from stdin: give it in UTF-8")?;
    let line = line.strip_suffix('\n').unwrap_or(&line);
    Ok(line.strip_suffix('\r').unwrap_or(line).to_owned())
}
