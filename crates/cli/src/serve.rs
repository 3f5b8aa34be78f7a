//! `scurry serve`: settings from the command line and the file, then the server.

use crate::announcement::Announcement;
use crate::file::{File, YEAR_MS};
use crate::log::Log;
use crate::mode::Mode;
use crate::rdma::Rdma;
use crate::recovery::Bar;
use crate::size::Size;
use anyhow::{Context, Result, ensure};
use clap::Args;
use scurry_http::{Door, Front};
use scurry_server::{
    DEFAULT_LISTEN, Password, Server, Settings, Storage, TlsSettings, Users, make_room,
};
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use tracing_subscriber::filter::LevelFilter;

/// Threads at most.
const THREADS_MAX: u16 = 256;
/// Connections of the HTTP door, unless told otherwise: people and Prometheus.
const HTTP_CLIENTS_DEFAULT: usize = 1_000;
/// A request must have room for at least this much, bytes.
const REQUEST_LEN_MIN: u64 = 64 * 1024;
/// How long a handshake may take, and the most that can be set, ms.
const HANDSHAKE_MS_DEFAULT: i64 = 10_000;
const HANDSHAKE_MS_MAX: i64 = 600_000;
/// The most that a connection can be given to come in, ms.
const AUTH_MS_MAX: i64 = 3_600_000;
/// Where the store is when nobody says otherwise.
const DIRECTORY: &str = "scurry-data";
/// What one request may bring into a frame of the log, bytes.
const LOGGED_REQUEST_LEN_MAX: usize = 512 << 20;
/// Snapshots more often than this would be all that a disk does.
const SNAPSHOT_LOG_MIN: u64 = 1 << 20;
/// Positions within a request are 32 bits wide.
const REQUEST_LEN_MAX: u64 = 1 << 31;

#[derive(Args, Debug)]
pub(crate) struct Serve {
    /// Address and port to listen on; port 0 takes a free one and prints it [default: 127.0.0.1:6389]
    #[arg(long, value_name = "ADDR:PORT")]
    listen: Option<SocketAddr>,

    /// Threads, each with its own share of the keys. With more than one, each also gets a port of
    /// its own for clients that know clusters (CLUSTER SLOTS names them); the main port serves
    /// every key to everybody [default: 1]
    #[arg(long, value_name = "N")]
    threads: Option<u16>,

    /// Port of the first thread; the others follow [default: the one behind the main port]
    #[arg(long, value_name = "PORT")]
    core_port: Option<u16>,

    /// Address that CLUSTER SLOTS and MOVED name as this machine [default: the one that the client
    /// has connected to]
    #[arg(long, value_name = "IP")]
    announce_ip: Option<IpAddr>,

    /// Memory for keys, values and accounts; writes above it get the OOM error [default: no bound]
    #[arg(long, value_name = "SIZE", visible_alias = "maxmemory")]
    max_memory: Option<Size>,

    /// Password that clients must give with AUTH. Prefer the environment: a command line can be
    /// read by every user of the machine
    #[arg(long, value_name = "PASSWORD", env = "SCURRY_REQUIREPASS", hide_env_values = true)]
    requirepass: Option<String>,

    /// Listen on addresses beyond this machine although there is no password: whoever reaches the
    /// port can spend and delete balances
    #[arg(long)]
    allow_open_access_without_password: bool,

    /// Certificate of the server and those between it and its root (PEM). With --tls-key the main
    /// port and those of the threads speak TLS 1.2 and 1.3
    #[arg(long, value_name = "FILE")]
    tls_cert: Option<PathBuf>,

    /// Private key of the certificate (PEM)
    #[arg(long, value_name = "FILE")]
    tls_key: Option<PathBuf>,

    /// Clients must show a certificate that one of these has signed (PEM)
    #[arg(long, value_name = "FILE")]
    tls_client_ca: Option<PathBuf>,

    /// Speak TLS here, and leave --listen and the ports of the threads without
    #[arg(long, value_name = "ADDR:PORT")]
    tls_listen: Option<SocketAddr>,

    /// Connections at most; a quarter of them may be such as have not authenticated [default: 10000]
    #[arg(long, value_name = "N", visible_alias = "maxclients")]
    max_clients: Option<usize>,

    /// Longest argument of a command [default: 1mb]
    #[arg(long, value_name = "SIZE")]
    max_argument: Option<Size>,

    /// Longest whole command, which bounds the input buffer of a connection [default: 16mb]
    #[arg(long, value_name = "SIZE")]
    max_request: Option<Size>,

    /// Let ENTITY.FIND find entities by their value: costs memory for each entity
    #[arg(long)]
    entity_index: bool,

    /// Number of this server in versions of entities, 0 to 511: servers with copies of the same
    /// entities need different ones [default: 0]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(0..=511))]
    node: Option<u16>,

    /// Directory of the store: the log and the snapshots. It is made if it is not there
    /// [default: scurry-data]
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,

    /// When a change is answered: none (kept in memory alone), write (in the page cache: it
    /// survives the process), fsync (on the device: it survives a power failure) [default: fsync]
    #[arg(long, value_name = "MODE", value_enum, hide_possible_values = true)]
    durability: Option<Mode>,

    /// A thread writes a snapshot when its log has grown by this much; recovery reads as much of
    /// the log at most, or little more [default: 1gb]
    #[arg(long, value_name = "SIZE")]
    snapshot_log: Option<Size>,

    /// So much of each thread's log is kept for readers of events (SCUR.WATCH) although recovery
    /// does not need it [default: 0, what recovery needs]
    #[arg(long, value_name = "SIZE")]
    keep_log: Option<Size>,

    /// Open the HTTP door here too: /metrics, /healthz, /readyz and the console at /. With
    /// --tls-cert it speaks HTTPS; users and roles are those of RESP [default: no HTTP door]
    #[arg(long, value_name = "ADDR:PORT")]
    http_listen: Option<SocketAddr>,

    /// Connections of the HTTP door at most [default: 1000]
    #[arg(long, value_name = "N")]
    http_max_clients: Option<usize>,

    /// Names of hosts that the HTTP door is asked by, and whose pages may ask it, beside its addresses
    /// and localhost. On loopback without users and TLS other names are refused: a web page could have
    /// made them up [default: none]
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    http_hosts: Option<Vec<String>>,

    #[command(flatten)]
    rdma: Rdma,

    /// File of settings (TOML); the command line goes before it. See scurry.example.toml
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,

    /// What to log to stderr: off, error, warn, info, debug or trace [default: info]
    #[arg(long, value_name = "LEVEL")]
    log: Option<String>,
}

impl Serve {
    pub(crate) fn run(self) -> Result<()> {
        let file = self.config.as_deref().map(File::read).transpose()?.unwrap_or_default();
        let level = self.log.as_deref().or(file.log.as_deref()).unwrap_or("info");
        let level: LevelFilter = level.parse().ok().with_context(|| {
            format!("{level:?} is not a log level: use off, error, warn, info, debug or trace")
        })?;
        let _log = Log::start(level).context("cannot start the log")?;
        let bar = Bar::new();
        let mut settings = self.settings(&file)?;
        let front = self.front(&file, &settings)?;
        if let Some(front) = &front {
            // Both kinds of connections are open files.
            let both = settings.clients_max.saturating_add(front.connections_max);
            let possible = make_room(both);
            settings.clients_max = settings
                .clients_max
                .min(possible.saturating_sub(front.connections_max).max(possible / 2));
        }
        let announcement = Announcement::new(&settings);
        let server = Server::bind(settings, &|progress| bar.show(progress))?;
        if let Some(report) = server.recovered() {
            bar.end(report);
        }
        let door = front.map(|front| Door::beside(&front, server.inside())).transpose()?;
        eprintln!("{announcement}");
        // Not a log line: whoever starts a server waits for it, at any log level.
        let (main, tls) = (server.local_addr(), server.tls_addr());
        let main_has_tls = tls == Some(main);
        eprintln!("listening on {main}{}", if main_has_tls { " with TLS" } else { "" });
        if let Some(beside) = tls.filter(|_| !main_has_tls) {
            eprintln!("listening on {beside} with TLS");
        }
        if let Some(rdma) = server.rdma_addr() {
            eprintln!("listening on {rdma} over RDMA");
        }
        if let [first, .., last] = server.core_addrs() {
            eprintln!(
                "{} threads on ports {} to {}{}",
                server.core_addrs().len(),
                first.port(),
                last.port(),
                if main_has_tls { " with TLS" } else { "" }
            );
        }
        if let Some(door) = &door {
            let tls = if door.has_tls() { "https" } else { "http" };
            eprintln!("{tls}://{} is open", door.address());
        }
        let outcome = server.run().context("the event loop failed");
        if let Some(door) = door {
            door.close();
        }
        outcome
    }

    /// Where the HTTP door listens; none when nobody has asked for one.
    fn front(&self, file: &File, settings: &Settings) -> Result<Option<Front>> {
        let connections_max = self.http_max_clients.or(file.http_max_clients);
        let hosts = self.http_hosts.as_ref().or(file.http_hosts.as_ref());
        let Some(listen) = self.http_listen.or(file.http_listen) else {
            ensure!(connections_max.is_none(), "--http-max-clients is for --http-listen");
            ensure!(hosts.is_none(), "--http-hosts is for --http-listen");
            return Ok(None);
        };
        let connections_max = connections_max.unwrap_or(HTTP_CLIENTS_DEFAULT);
        ensure!(connections_max > 0, "--http-max-clients must be at least 1");
        Ok(Some(Front {
            listen,
            connections_max,
            threads: 1,
            tls: settings.tls.clone(),
            users: Arc::clone(&settings.users),
            open_access_allowed: settings.open_access_allowed,
            open_access_option: "--allow-open-access-without-password",
            hosts: hosts.cloned().unwrap_or_default(),
            hosts_option: "--http-hosts",
        }))
    }

    /// The default user with its password, and those of the file.
    fn users(&self, file: &File) -> Result<Users> {
        let given = self.requirepass.as_deref().or(file.requirepass.as_deref());
        let password = match given {
            None => None,
            Some(text) => Some(
                Password::new(text)
                    .context("the password must have 1 to 512 bytes (--requirepass)")?,
            ),
        };
        let of_the_file = || match &self.config {
            Some(path) => format!("wrong users in {}", path.display()),
            None => "wrong users".to_owned(),
        };
        Users::new(password, &file.users()).with_context(of_the_file)
    }

    fn tls(&self, file: &File) -> Result<Option<TlsSettings>> {
        let certificate = self.tls_cert.as_ref().or(file.tls_cert.as_ref());
        let key = self.tls_key.as_ref().or(file.tls_key.as_ref());
        let client_ca = self.tls_client_ca.as_ref().or(file.tls_client_ca.as_ref());
        let listen = self.tls_listen.or(file.tls_listen);
        let (Some(certificate), Some(key)) = (certificate, key) else {
            let alone = certificate.or(key).or(client_ca).is_none() && listen.is_none();
            ensure!(alone, "TLS needs both a certificate (--tls-cert) and its key (--tls-key)");
            return Ok(None);
        };
        let handshake_ms_max = file.tls_handshake_ms_max.unwrap_or(HANDSHAKE_MS_DEFAULT);
        ensure!(
            (1..=HANDSHAKE_MS_MAX).contains(&handshake_ms_max),
            "tls_handshake_ms_max must be 1 to {HANDSHAKE_MS_MAX} ms"
        );
        Ok(Some(TlsSettings {
            certificate: certificate.clone(),
            key: key.clone(),
            client_ca: client_ca.cloned(),
            listen,
            handshake_ms_max,
        }))
    }

    fn storage(&self, file: &File, request_len_max: usize) -> Result<Option<Storage>> {
        let mode = self.durability.or(file.durability).unwrap_or_default();
        let directory = self.dir.as_ref().or(file.dir.as_ref());
        if mode == Mode::None {
            ensure!(
                directory.is_none(),
                "--durability none keeps nothing in a directory: leave --dir away, or choose write \
                 or fsync"
            );
            return Ok(None);
        }
        ensure!(
            request_len_max <= LOGGED_REQUEST_LEN_MAX,
            "--max-request must be at most 512mb with a log (--durability {mode:?})"
        );
        let mut storage = Storage::new(directory.cloned().unwrap_or_else(|| DIRECTORY.into()));
        storage.durability = mode.into();
        if let Some(size) = self.snapshot_log.or(file.snapshot_log) {
            ensure!(size.0 >= SNAPSHOT_LOG_MIN, "--snapshot-log must be at least 1mb");
            storage.snapshot_log_bytes = size.0;
        }
        if let Some(size) = self.keep_log.or(file.keep_log) {
            storage.kept_log_bytes = size.0;
        }
        Ok(Some(storage))
    }

    fn settings(&self, file: &File) -> Result<Settings> {
        let listen = match self.listen.or(file.listen) {
            Some(listen) => listen,
            None => DEFAULT_LISTEN.parse().context("the default address")?,
        };
        let mut settings = Settings::new(listen, self.users(file)?);
        settings.tls = self.tls(file)?;
        settings.rdma = self.rdma.settings(&file.rdma)?;
        if let Some(threads) = self.threads.or(file.threads) {
            ensure!(
                (1..=THREADS_MAX).contains(&threads),
                "--threads must be 1 to {THREADS_MAX}: not more than the machine has cores is best"
            );
            settings.threads = threads;
        }
        settings.core_port = self.core_port.or(file.core_port);
        settings.announce_ip = self.announce_ip.or(file.announce_ip);
        settings.open_access_allowed = self.allow_open_access_without_password
            || file.allow_open_access_without_password.unwrap_or(false);
        // 0 is no bound, as in Redis.
        settings.memory_max =
            self.max_memory.or(file.max_memory).map(|size| size.0).filter(|&bytes| bytes > 0);
        if let Some(clients_max) = self.max_clients.or(file.max_clients) {
            ensure!(clients_max > 0, "--max-clients must be at least 1");
            settings.clients_max = clients_max;
        }
        if let Some(ms) = file.auth_ms_max {
            ensure!((1..=AUTH_MS_MAX).contains(&ms), "auth_ms_max must be 1 to {AUTH_MS_MAX} ms");
            settings.auth_ms_max = ms;
        }
        let request = &mut settings.request;
        if let Some(size) = self.max_request.or(file.max_request) {
            ensure!(
                (REQUEST_LEN_MIN..=REQUEST_LEN_MAX).contains(&size.0),
                "--max-request must be 64kb to 2gb"
            );
            request.request_len_max = usize::try_from(size.0)?;
        }
        if let Some(size) = self.max_argument.or(file.max_argument) {
            ensure!(
                size.0 >= 1024 && size.0 <= request.request_len_max as u64,
                "--max-argument must be 1kb to --max-request"
            );
            request.argument_len_max = usize::try_from(size.0)?;
        }
        settings.storage = self.storage(file, settings.request.request_len_max)?;
        settings.limits = file.limits()?;
        settings.entity_index = self.entity_index || file.entity_index.unwrap_or(false);
        if let Some(node) = self.node.or(file.node) {
            ensure!(node <= 511, "node must be 0 to 511");
            settings.node = node;
        }
        if let Some(ms) = file.entity_tombstone_ms {
            ensure!((0..=YEAR_MS).contains(&ms), "entity_tombstone_ms must be 0 to {YEAR_MS} ms");
            settings.entity_tombstone_ms = ms;
        }
        Ok(settings)
    }
}
