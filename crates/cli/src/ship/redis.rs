//! `scurry ship redis`.

use super::deliver;
use super::source::SourceOptions;
use crate::option_values::Number;
use anyhow::{Context, Result, ensure};
use clap::Args;
use scurry_sink_redis::{RedisSink, RedisTarget, RedisTls};
use std::fs;
use std::path::{Path, PathBuf};

/// Longest time from an event to its delivery, ms.
const FLUSH_MS: u64 = 100;

const EXAMPLES: &str = "Examples:
  scurry ship redis 127.0.0.1:6379 --stream events --from 127.0.0.1:6389
  scurry ship redis rediss://10.0.1.1:6379,10.0.1.2:6379 --to-cacert ca.pem --stream events --from 10.0.0.1:6389
  scurry ship redis 10.0.1.1:7000 --stream '{events}' --max-len 10000000 --from 10.0.0.1:6389

Events of thread 0 go to the stream events:0, and so on. Ids rise with positions, so each event is there once. The first
example with a consumer: docs/ship/redis.md.";

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ToRedis {
    /// The server: HOST:PORT, or rediss://HOST:PORT for TLS; with commas between, a primary and its replicas
    #[arg(value_name = "ADDRESS")]
    address: String,

    /// Begin of the names of the streams: events of thread 0 go to NAME:0
    #[arg(long, value_name = "NAME")]
    stream: String,

    /// About how many entries each stream keeps; older ones are removed [default: all, the streams grow]
    #[arg(long, value_name = "ENTRIES")]
    max_len: Option<Number<u64, 1, { i64::MAX as u64 }>>,

    /// Number of the server's database
    #[arg(long, value_name = "NUMBER", default_value = "0")]
    to_db: u32,

    /// User of the server; without one the password is that of the default user
    #[arg(long, value_name = "NAME", requires = "to_password")]
    to_user: Option<String>,

    /// Password of the server. Prefer the environment: a command line can be read by every user of the machine
    #[arg(long, value_name = "PASSWORD", env = "SCURRY_TO_PASSWORD", hide_env_values = true)]
    to_password: Option<String>,

    /// Certificates that the server's must come from (PEM), with rediss:// [default: those of the system]
    #[arg(long, value_name = "FILE")]
    to_cacert: Option<PathBuf>,

    /// Certificate of this client, for servers that demand one (PEM)
    #[arg(long, value_name = "FILE", requires = "to_key")]
    to_cert: Option<PathBuf>,

    /// Private key of that certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "to_cert")]
    to_key: Option<PathBuf>,

    #[command(flatten)]
    source: SourceOptions,
}

impl ToRedis {
    pub(crate) fn run(self) -> Result<()> {
        let sink = RedisSink::new(self.target()?);
        deliver(&self.source, FLUSH_MS, Box::new(sink))
    }

    fn target(&self) -> Result<RedisTarget> {
        let mut target = RedisTarget::parse(&self.address, &self.stream)?;
        let certificates = [&self.to_cacert, &self.to_cert, &self.to_key];
        let wants_tls = certificates.into_iter().any(Option::is_some);
        ensure!(
            !wants_tls || target.tls.is_some(),
            "certificates are for TLS: give rediss://{}",
            self.address
        );
        if target.tls.is_some() {
            let client = self.to_cert.as_deref().zip(self.to_key.as_deref());
            target.tls = Some(RedisTls {
                roots: self.to_cacert.as_deref().map(read).transpose()?,
                client: client
                    .map(|(cert, key)| Ok::<_, anyhow::Error>((read(cert)?, read(key)?)))
                    .transpose()?,
            });
        }
        target.user.clone_from(&self.to_user);
        target.password.clone_from(&self.to_password);
        target.database = self.to_db;
        target.max_len = self.max_len.map(|entries| entries.0);
        Ok(target)
    }
}

fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).with_context(|| {
        format!("cannot read {}: check the path and who may read it", path.display())
    })
}
