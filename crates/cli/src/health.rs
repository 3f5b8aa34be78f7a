//! `scurry health`: checks whether a server answers. Health checks of containers use it, because the image holds no
//! other program that could.

use crate::server_address::{ServerAddress, ask, error_text};
use anyhow::{Context, Result, bail};
use clap::Args;
use scurry_cluster_client::redis::Value;
use std::time::Duration;

#[derive(Args, Debug)]
#[command(disable_help_flag = true, mut_arg("password", |arg| arg.hide(true)), mut_arg("user", |arg| arg.hide(true)))]
pub(crate) struct Health {
    #[command(flatten)]
    server: ServerAddress,

    /// How long to wait for an answer, seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 5,
        value_parser = clap::value_parser!(u64).range(1..=3_600))]
    timeout: u64,
}

impl Health {
    /// Succeeds if PING is answered. NOAUTH is an answer, too: the server works and asks for a password, which a health
    /// check does not have.
    pub(crate) fn run(self) -> Result<()> {
        let mut server = self.server.connect(Duration::from_secs(self.timeout))?;
        let address = self.server.address();
        let reply = ask(&mut *server, ["PING".as_bytes()]);
        match reply.with_context(|| format!("{address} does not answer"))? {
            Value::SimpleString(text) if text == "PONG" => Ok(()),
            Value::ServerError(error) if error.code() == "NOAUTH" => Ok(()),
            Value::ServerError(error) => bail!("{address} is not well: {}", error_text(&error)),
            _ => bail!("{address} is no scurry"),
        }
    }
}
