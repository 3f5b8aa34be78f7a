//! `scurry ship nats`. A build without the feature `nats` says how to get one with it.

#[cfg_attr(feature = "nats", path = "nats/present.rs")]
#[cfg_attr(not(feature = "nats"), path = "nats/absent.rs")]
mod run;

use super::source::SourceOptions;
use anyhow::Result;
use clap::Args;
use std::path::PathBuf;

const EXAMPLES: &str = "Examples:
  scurry ship nats nats://127.0.0.1:4222 --subject events --create-stream EVENTS --from 127.0.0.1:6389
  scurry ship nats tls://n1:4222,tls://n2:4222 --to-cacert ca.pem --to-creds ship.creds --subject acme.events --from 10.0.0.1:6389

Events of thread 0 go to the subject events.0, and so on. A flush is one batch, which the stream takes once or not at all.
The first example with a consumer: docs/ship/nats.md.";

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ToNats {
    /// The servers: nats://HOST:PORT, or tls://HOST:PORT for TLS; with commas between, those of a cluster
    #[arg(value_name = "ADDRESS")]
    address: String,

    /// Begin of the subjects: events of thread 0 go to SUBJECT.0; one stream of JetStream takes SUBJECT.> and nothing else
    #[arg(long, value_name = "SUBJECT")]
    subject: String,

    /// Make this stream if none takes the subjects
    #[arg(long, value_name = "STREAM")]
    create_stream: Option<String>,

    /// User of the server
    #[arg(long, value_name = "NAME", requires = "to_password")]
    to_user: Option<String>,

    /// Password of that user; without --to-user a token. Prefer the environment: a command line can be read by every user of the machine
    #[arg(long, value_name = "PASSWORD", env = "SCURRY_TO_PASSWORD", hide_env_values = true)]
    to_password: Option<String>,

    /// File with the JWT and the key of a user
    #[arg(long, value_name = "FILE")]
    to_creds: Option<PathBuf>,

    /// Certificates that the server's must come from (PEM); asks for TLS [default: those of the system]
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

impl ToNats {
    pub(crate) fn run(self) -> Result<()> {
        run::run(self)
    }
}
