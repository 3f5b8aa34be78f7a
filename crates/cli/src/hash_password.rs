//! `scurry hash-password`: from a password to what the settings file keeps of it.

use anyhow::{Context, Result, ensure};
use std::io::{BufRead, IsTerminal, Read};

/// Read from stdin at most, bytes: more than any password has.
const LINE_LEN_MAX: u64 = 4096;

pub(crate) fn run() -> Result<()> {
    let password = if std::io::stdin().is_terminal() { ask()? } else { read_line()? };
    let hash = scurry_server::hash_password(password.as_bytes()).context("the password")?;
    println!("{hash}");
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
