//! `scurry make-token`: a random token, and what the settings file keeps of it.

use anyhow::{Context, Result};

pub(crate) fn run() -> Result<()> {
    let made = scurry_server::make_token().context("cannot make a token")?;
    println!("token       {}", made.token);
    println!("token_hash  {}", made.hash);
    Ok(())
}
