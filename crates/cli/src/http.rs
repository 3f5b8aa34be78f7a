//! `scurry http`: the HTTP door to charging and to nodes of entities.

use crate::log::Log;
use crate::option_values::{Address, Level, Number, UnitDecimal};
use crate::reload::{Hangups, read_certificates, tell_of_users, warn_of_certificates};
use crate::serve::{Clients, NodeNumber, read, reload_nchf};
use crate::size::Size;
use crate::users::read_users;
use anyhow::{Context, Result, ensure};
use clap::Args;
use scurry_door_http::{DoorSettings, EntitySettings, Settings};
use scurry_server::{Users, make_room};
use scurry_tls::TlsSettings;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Upper bound of `--max-value`, bytes. The nodes set their own bound for an argument (--max-argument).
const VALUE_LEN_LIMIT: u64 = 512 << 20;

/// Timeout of a TLS handshake, ms.
const HANDSHAKE_MS_MAX: i64 = 10_000;
/// Open files in addition to the clients' connections: listener, pollers, connections to the nodes, and a reserve.
const FILES_BESIDE: usize = 64;

const EXAMPLES: &str = "Examples:
  scurry http --store 127.0.0.1:6389
  curl 'http://127.0.0.1:8080/v1/accounts/alice'
  scurry http --nodes 127.0.0.1:6389
  scurry http --listen 127.0.0.1:8081 --nodes 10.0.0.1:6389,10.0.0.2:6389,10.0.0.3:6389
  curl -X PUT --data-binary blue 'http://127.0.0.1:8080/v0/entity?id=user:7&replicas=2/3'
  curl 'http://127.0.0.1:8080/v0/entity?id=user:7'";

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Http {
    /// Address and port to listen on; port 0 takes a free one and prints it
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:8080")]
    listen: Address,

    /// The store of accounts that charging is asked of: a Scurry server, or any nodes of a Valkey
    /// Cluster with libscurry.so
    #[arg(long, value_name = "HOST:PORT,...", value_delimiter = ',')]
    store: Vec<String>,

    /// All nodes that keep entities: Scurry servers, or Valkey with libscurry.so. The same for
    /// every door; their names decide which ids they keep
    #[arg(long, value_name = "HOST:PORT,...", value_delimiter = ',')]
    nodes: Vec<String>,

    /// Number that ends the versions of this door, 0 to 511. Doors may have the same, but for one case:
    /// before nodes of an older build each needs another
    #[arg(long, value_name = "N", default_value = "0")]
    number: NodeNumber,

    /// Longest value, at most 512mb; a longer one gets 413
    #[arg(long, value_name = "SIZE", default_value = "1mb")]
    max_value: Size,

    /// How long a node or the store may take to answer, milliseconds: after that the client gets 504, and a later
    /// answer is ignored
    #[arg(long, value_name = "MS", default_value = "1000")]
    patience_ms: Number<u64, 10, 600_000>,

    /// How long the nodes remember deletions, milliseconds: the setting entity_tombstone_ms that
    /// they all have
    #[arg(long, value_name = "MS", default_value = "86400000")]
    entity_tombstone_ms: Number<i64, 1_000, 31_536_000_000>,

    /// User of the nodes and of the store; without one the password is that of the default user
    #[arg(long, value_name = "NAME", requires = "password")]
    user: Option<String>,

    /// Password of the nodes and of the store. Prefer the environment: a command line can be read by every user of
    /// the machine
    #[arg(long, value_name = "PASSWORD", env = "SCURRY_PASSWORD", hide_env_values = true)]
    password: Option<String>,

    /// Use nodes that no door has reached for a long time without a new copy. Deleted entities may reappear
    #[arg(long)]
    trust_old_nodes: bool,

    /// File with [[users]] as in the settings of `scurry serve`: the users and their roles. Without it every client
    /// has every role
    #[arg(long, value_name = "FILE")]
    users: Option<PathBuf>,

    /// Settings file with what 5G is charged by: [[services]], [[subscribers]] and [nchf], as `scurry serve` has them
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,

    /// Host names that requests may use and whose web pages may send requests, in addition to its addresses and
    /// localhost. On loopback without users and TLS other names are refused: a web page could have made them up
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    hosts: Vec<String>,

    /// Decimals of units, with which the console shows and reads amounts: USD=2 shows 1234 as 12.34. Amounts in
    /// requests and answers stay whole numbers
    #[arg(long, value_name = "UNIT=N,...", value_delimiter = ',')]
    unit_decimals: Vec<UnitDecimal>,

    /// Listen on addresses beyond this machine although this door does not authenticate clients
    #[arg(long)]
    allow_open_access: bool,

    /// Certificate of this door and those between it and its root (PEM): speak HTTPS
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,

    /// Private key of the certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,

    /// Clients must show a certificate signed by one of these authorities (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_client_ca: Option<PathBuf>,

    /// Connections at most; a new one above them is closed
    #[arg(long, value_name = "N", default_value = "10000")]
    max_clients: Clients,

    /// Threads of the door, at most 256
    #[arg(long, value_name = "N", default_value = "1")]
    threads: Number<usize, 1, 256>,

    /// Level of the log on stderr: off, error, warn, info, debug or trace
    #[arg(long, value_name = "LEVEL", default_value = "info")]
    log: Level,
}

/// Reads the users of a file.
fn users_of(path: &Path) -> Result<Users> {
    let entries = read_users(path)?;
    Users::new(None, &entries).with_context(|| format!("wrong users in {}", path.display()))
}

impl Http {
    fn front(&self) -> Result<DoorSettings> {
        let users = match &self.users {
            None => Users::new(None, &[])?,
            Some(path) => users_of(path)?,
        };
        let tls = self.tls_cert.clone().zip(self.tls_key.clone());
        Ok(DoorSettings {
            listen: self.listen.0,
            listen_option: "--listen",
            connections_max: make_room(self.max_clients.0, FILES_BESIDE),
            threads: self.threads.0,
            tls: tls.map(|(certificate, key)| TlsSettings {
                certificate,
                key,
                client_ca: self.tls_client_ca.clone(),
                listen: None,
                handshake_ms_max: HANDSHAKE_MS_MAX,
            }),
            users: Arc::new(users),
            open_access_allowed: self.allow_open_access,
            open_access_option: "--allow-open-access",
            hosts: self.hosts.clone(),
            hosts_option: "--hosts",
            unit_decimals: UnitDecimal::table(&self.unit_decimals)?,
        })
    }

    pub(crate) fn run(self) -> Result<()> {
        ensure!(self.max_value.0 <= VALUE_LEN_LIMIT, "--max-value must be at most 512mb");
        let _log = Log::start(self.log.0).context("cannot start the log")?;
        let mut signals = Signals::new([SIGINT, SIGTERM]).context("cannot wait for signals")?;
        let hangups = Hangups::new()?;
        let front = self.front()?;
        let (users, users_file) = (Arc::clone(&front.users), self.users.clone());
        let options = self.config.as_deref().map(read).transpose()?.unwrap_or_default();
        let (door, nchf) = scurry_door_http::open(Settings {
            front,
            store: self.store,
            entities: EntitySettings {
                nodes: self.nodes,
                number: self.number.0,
                value_len_max: usize::try_from(self.max_value.0)?,
                patience: Duration::from_millis(self.patience_ms.0),
                tombstone_ms: self.entity_tombstone_ms.0,
                user: self.user,
                password: self.password,
                trust_old_nodes: self.trust_old_nodes,
            },
            nchf: options.nchf()?,
        })?;
        // Not a log line: scripts that start a door wait for it, at any log level.
        let tls = if door.has_tls() { " with TLS" } else { "" };
        eprintln!("listening on {}{tls}", door.address());
        let certificates = door.certificates();
        warn_of_certificates(&certificates);
        let (config, reloaded) = (self.config, nchf.clone());
        let _waiting = hangups.each(move || {
            if let (Some(path), Some(nchf)) = (&config, &reloaded) {
                reload_nchf(path, nchf);
            }
            if let Some(path) = &users_file {
                let outcome = users_of(path).and_then(|fresh| Ok(users.replace(fresh)?));
                tell_of_users(path, outcome);
            }
            read_certificates(certificates.iter());
        })?;
        signals.forever().next();
        if let Some(nchf) = nchf {
            nchf.deregister();
        }
        door.close();
        Ok(())
    }
}
