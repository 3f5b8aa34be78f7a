//! `scurry diameter`: the Diameter door before a store, what its table of services says, and a probe of a server.

mod peer;
mod probe;
mod rar;
mod result_words;

use crate::log::Log;
use crate::option_values::{Address, Level, Number};
use crate::reload::{Hangups, read_certificates, tell_of_users, warn_of_certificates};
use crate::serve::{Options, read, reload_diameter, tell_addresses};
use anyhow::{Context, Result, ensure};
use clap::{Args, Subcommand};
use scurry_door_diameter::{DiameterSection, open};
use scurry_door_http::{Door, open_beside_diameter};
use scurry_service_table::ServiceTable;
use scurry_stores::RespStore;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Address without settings: the port of RFC 6733 on this machine.
const LISTEN_DEFAULT: &str = "127.0.0.1:3868";

const EXAMPLES: &str = "Examples:
  scurry diameter --store 127.0.0.1:6389
  scurry diameter --store 10.0.0.1:6389,10.0.0.2:6389,10.0.0.3:6389 --config scurry.toml
  scurry diameter --store 127.0.0.1:6389 --http-listen 127.0.0.1:8081
  scurry diameter --config scurry.toml --explain 32251@3gpp.org 100
  scurry diameter probe 127.0.0.1:3868 --subscriber imsi:001010000000001
  scurry diameter rar 127.0.0.1:3868 'pgw1.example.net;1876543210;102'";

/// What `scurry diameter` does beside serving.
#[derive(Debug, Subcommand)]
enum DiameterCommand {
    /// Connect to a Diameter server as a client would, and tell what it answers.
    ///
    /// Sends CER, DWR, a balance check (CCR-E) if a subscriber is given, and DPR. It charges nothing.
    Probe(Box<probe::Probe>),
    /// Have a door ask the client of a session to request units again (RAR), or to end the session.
    ///
    /// The door sends the request to the client, and this command tells the client's answer.
    Rar(Box<rar::Rar>),
}

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES, args_conflicts_with_subcommands = true)]
pub(crate) struct Diameter {
    #[command(subcommand)]
    command: Option<DiameterCommand>,

    /// Address and port to listen on without TLS; port 0 takes a free one and prints it [default: listen of
    /// [diameter] in the settings, else 127.0.0.1:3868]
    #[arg(long, value_name = "ADDR:PORT")]
    listen: Option<Address>,

    /// The store of accounts: a Scurry server, all nodes of a group, or any nodes of a Valkey Cluster with
    /// libscurry.so
    #[arg(long, value_name = "HOST:PORT,...", value_delimiter = ',')]
    store: Vec<String>,

    /// Settings of `scurry serve`, of which this takes the tables [diameter], [[services]] and [[subscribers]]. SIGHUP
    /// reads services, subscribers and peers again
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,

    /// Open an HTTP port too: /metrics, /healthz, /readyz and the console at /. Users, TLS and host names are those of
    /// the settings [default: no HTTP port]
    #[arg(long, value_name = "ADDR:PORT")]
    http_listen: Option<Address>,

    /// Show what a request with this Service-Context-Id, Rating-Group (- for none) and Service-Identifier gets, and
    /// end
    #[arg(long, num_args = 2..=3, value_names = ["CONTEXT", "GROUP", "SERVICE"])]
    explain: Option<Vec<String>>,

    /// How long the store may take to answer, milliseconds: after that the client gets 3004
    #[arg(long, value_name = "MS", default_value = "3000")]
    patience_ms: Number<u64, 10, 600_000>,

    /// User of the store; without one the password is that of the default user
    #[arg(long, value_name = "NAME", requires = "password")]
    user: Option<String>,

    /// Password of the store. Prefer the environment: a command line can be read by every user of the machine
    #[arg(long, value_name = "PASSWORD", env = "SCURRY_PASSWORD", hide_env_values = true)]
    password: Option<String>,

    /// Level of the log on stderr: off, error, warn, info, debug or trace
    #[arg(long, value_name = "LEVEL", default_value = "info")]
    log: Level,
}

impl Diameter {
    pub(crate) fn run(self) -> Result<()> {
        match self.command {
            Some(DiameterCommand::Probe(probe)) => return probe.run(),
            Some(DiameterCommand::Rar(rar)) => return rar.run(),
            None => {}
        }
        let options = match &self.config {
            Some(path) => read(path)?,
            None => Options::default(),
        };
        let table = options.service_table()?;
        if let Some(words) = &self.explain {
            return explain(&table, words);
        }
        ensure!(!self.store.is_empty(), "name the store of accounts: --store HOST:PORT");
        let _log = Log::start(self.log.0).context("cannot start the log")?;
        let mut signals = Signals::new([SIGINT, SIGTERM]).context("cannot wait for signals")?;
        let hangups = Hangups::new()?;
        let has_address = options.diameter.as_ref().is_some_and(DiameterSection::has_address);
        let default: Option<SocketAddr> = LISTEN_DEFAULT.parse().ok().filter(|_| !has_address);
        let listen = self.listen.map(|address| address.0).or(default);
        let settings = options.diameter_settings(listen)?;
        let patience = Duration::from_millis(self.patience_ms.0);
        let (store, user, password) = (self.store, self.user, self.password);
        let store =
            || Arc::new(RespStore::new(store.clone(), user.clone(), password.clone(), patience));
        let front = self.http_listen.map(|listen| options.front_alone(listen.0)).transpose()?;
        let users = front.as_ref().map(|front| Arc::clone(&front.users));
        let door = open(settings, table, |_| store())?;
        let http = front.map(|front| open_beside_diameter(&front, door.view(), store()));
        let http = http.transpose()?;
        if let Some(http) = &http {
            let scheme = if http.has_tls() { "https" } else { "http" };
            eprintln!("{scheme}://{} is open", http.address());
        }
        tell_addresses(&door);
        let of_http = http.as_ref().and_then(Door::certificates);
        let certificates: Vec<_> = door.certificates().into_iter().chain(of_http).collect();
        warn_of_certificates(&certificates);
        let (reloader, config) = (door.reloader(), self.config);
        let _waiting = hangups.each(move || {
            if let Some(path) = &config {
                reload_diameter(path, &reloader);
                if let Some(users) = &users {
                    let fresh = read(path).and_then(|options| options.users());
                    tell_of_users(path, fresh.and_then(|fresh| Ok(users.replace(fresh)?)));
                }
            }
            read_certificates(certificates.iter());
        })?;
        signals.forever().next();
        door.close();
        if let Some(http) = http {
            http.close();
        }
        Ok(())
    }
}

fn explain(table: &ServiceTable, words: &[String]) -> Result<()> {
    let number = |at: usize| -> Result<Option<u32>> {
        match words.get(at).map(String::as_str) {
            None | Some("-") => Ok(None),
            Some(text) => Ok(Some(text.parse().with_context(|| {
                format!("{text} is no number of 32 bits: write CONTEXT GROUP [SERVICE], - for none")
            })?)),
        }
    };
    let context = words.first().map_or("", String::as_str);
    print!("{}", table.explain(context, number(1)?, number(2)?));
    Ok(())
}
