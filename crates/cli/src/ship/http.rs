//! `scurry ship http`.

use super::deliver;
use super::source::SourceOptions;
use crate::option_values::Number;
use anyhow::{Context, Result, ensure};
use clap::Args;
use scurry_ship::Form;
use scurry_sink_http::{
    DeadLetterSettings, HttpSettings, HttpSink, HttpTarget, HttpTls, SigningKeys,
};
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

/// Longest time from an event to its delivery in a batch, and to the position of a single one, ms.
const FLUSH_MS: u64 = 1_000;

const EXAMPLES: &str = "Examples:
  scurry ship http http://127.0.0.1:8000/hook --position hook.position --event denied --event limit --from 127.0.0.1:6389
  scurry ship http https://hooks.example/scurry --position hook.position --dead-letter hook.refused --from 10.0.0.1:6389
  scurry ship http https://meter.example/api/v1/events --batch 100 --position meter.position --event debited --event settled --from 10.0.0.1:6389

Each event is a CloudEvent. A receiver may get it again, with the same id and source. Set SCURRY_WEBHOOK_SECRET to sign
requests, and SCURRY_WEBHOOK_HEADERS to add headers such as Authorization. A receiver with the check of the signature:
docs/ship/http.md.";

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ToHttp {
    /// The receiver: http://HOST:PORT/PATH, or https://HOST/PATH for TLS
    #[arg(value_name = "URL")]
    url: HttpTarget,

    /// File with the position, made if it is missing; it belongs to this receiver and this store
    #[arg(long, value_name = "FILE")]
    position: PathBuf,

    /// Send batches of at most so many events [default: one event in each request, and no batch]
    #[arg(long, value_name = "EVENTS")]
    batch: Option<Number<u64, 1, 1_000>>,

    /// Secret that signs requests: whsec_ and base64; several with spaces between while it changes. Prefer the environment: a command line can be read by every user of the machine
    #[arg(long, value_name = "SECRET", env = "SCURRY_WEBHOOK_SECRET", hide_env_values = true)]
    secret: Option<String>,

    /// Header of each request, for example 'Authorization: Bearer ...'; may be given several times, in the environment with line breaks between. Prefer the environment or a file: a command line can be read by every user of the machine
    #[arg(
        long = "header",
        value_name = "HEADER",
        env = "SCURRY_WEBHOOK_HEADERS",
        hide_env_values = true,
        value_delimiter = '\n'
    )]
    headers: Vec<String>,

    /// File with further headers, one on each line
    #[arg(long, value_name = "FILE")]
    header_file: Option<PathBuf>,

    /// File for events that the receiver refuses, JSON lines; shipping goes on [default: shipping ends at the first]
    #[arg(long, value_name = "FILE")]
    dead_letter: Option<PathBuf>,

    /// How often an event is tried that the receiver fails on (5xx) before it goes to --dead-letter [default: for ever]
    #[arg(long, value_name = "TIMES", requires = "dead_letter")]
    attempts: Option<Number<u32, 1, 1_000_000>>,

    /// Timeout of a request, milliseconds
    #[arg(long, value_name = "MS", default_value = "10000")]
    timeout_ms: Number<u64, 1, 600_000>,

    /// Source of the events, a URI [default: /scurry/ and the id of the store]
    #[arg(long, value_name = "URI")]
    source: Option<String>,

    /// Begin of the types of the events; the name of the event follows
    #[arg(long, value_name = "TEXT", default_value = "scurry.")]
    type_prefix: String,

    /// Kind of the identity that is the subject; without it, or where an event does not have it, the account
    #[arg(long, value_name = "KIND")]
    subject_identity: Option<String>,

    /// Certificates that the receiver's must come from (PEM), with https:// [default: those of the system]
    #[arg(long, value_name = "FILE")]
    to_cacert: Option<PathBuf>,

    /// Certificate of this client, for receivers that demand one (PEM)
    #[arg(long, value_name = "FILE", requires = "to_key")]
    to_cert: Option<PathBuf>,

    /// Private key of that certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "to_cert")]
    to_key: Option<PathBuf>,

    #[command(flatten)]
    source_options: SourceOptions,
}

impl ToHttp {
    pub(crate) fn run(mut self) -> Result<()> {
        self.source_options.takes_states = true;
        ensure!(
            self.source_options.form() == Form::Json && !self.source_options.is_parquet(),
            "the data of a CloudEvent is JSON: leave out --format"
        );
        let sink = HttpSink::new(self.settings()?, self.position)?;
        deliver(&self.source_options, FLUSH_MS, Box::new(sink))
    }

    fn settings(&self) -> Result<HttpSettings> {
        let mut settings = HttpSettings::new(self.url.clone());
        let certificates = [&self.to_cacert, &self.to_cert, &self.to_key];
        let wants_tls = certificates.into_iter().any(Option::is_some);
        ensure!(!wants_tls || self.url.has_tls(), "certificates are for TLS: give https://");
        settings.tls = HttpTls {
            ca: self.to_cacert.clone(),
            client: self.to_cert.clone().zip(self.to_key.clone()),
        };
        let file = match &self.header_file {
            None => String::new(),
            Some(path) => fs::read_to_string(path).with_context(|| {
                format!("cannot read {}: check the path and who may read it", path.display())
            })?,
        };
        let lines = self.headers.iter().map(String::as_str).chain(file.lines());
        for line in lines.filter(|line| !line.trim().is_empty()) {
            settings.add_header(line)?;
        }
        settings.batch = self.batch.map(|events| usize::try_from(events.0)).transpose()?;
        // Parsed here and not by clap, which would show it in an error.
        let keys = self.secret.as_deref().map(str::parse::<SigningKeys>);
        settings.keys = keys.transpose()?;
        settings.patience = Duration::from_millis(self.timeout_ms.0);
        settings.dead_letters = self.dead_letter.as_ref().map(|path| DeadLetterSettings {
            path: path.clone(),
            attempts: self.attempts.map(|attempts| attempts.0),
        });
        settings.source.clone_from(&self.source);
        settings.type_prefix.clone_from(&self.type_prefix);
        settings.subject_identity.clone_from(&self.subject_identity);
        Ok(settings)
    }
}
