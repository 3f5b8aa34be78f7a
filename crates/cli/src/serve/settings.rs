//! Settings of a server, made of the options: each is checked here, and what was left out is the
//! default.

use super::limits;
use super::options::Options;
use crate::written::{Mode, Number};
use anyhow::{Context, Result, ensure};
use scurry_http::Front;
use scurry_ledger::Name;
use scurry_server::{DEFAULT_LISTEN, Password, Settings, Storage, TlsSettings, UserEntry, Users};
use std::sync::Arc;

/// Connections of the HTTP door, unless told otherwise: people and Prometheus.
const HTTP_CLIENTS_DEFAULT: usize = 1_000;
/// A request must have room for at least this much, bytes.
const REQUEST_LEN_MIN: u64 = 64 * 1024;
/// How long a handshake may take, unless told otherwise, ms.
const HANDSHAKE_MS_DEFAULT: i64 = 10_000;
/// Where the store is when nobody says otherwise.
const DIRECTORY: &str = "scurry-data";
/// Bytes that one request may bring into a frame of the log.
const LOGGED_REQUEST_LEN_MAX: usize = 512 << 20;
/// Snapshots more often than this would be all that a disk does.
const SNAPSHOT_LOG_MIN: u64 = 1 << 20;
/// Positions within a request are 32 bits wide.
const REQUEST_LEN_MAX: u64 = 1 << 31;

impl Options {
    /// Settings of the server. An error names the option, and says what it may be.
    pub(super) fn settings(&self) -> Result<Settings> {
        let listen = match self.listen {
            Some(listen) => listen.0,
            None => DEFAULT_LISTEN.parse().context("the default address")?,
        };
        let mut settings = Settings::new(listen, self.users()?);
        settings.tls = self.tls()?;
        settings.rdma = self.rdma.settings()?;
        if let Some(Number(threads)) = self.threads {
            settings.threads = threads;
        }
        settings.core_port = self.core_port.map(|port| port.0);
        settings.announce_ip = self.announce_ip.map(|machine| machine.0);
        settings.open_access_allowed = self.allow_open_access_without_password.unwrap_or(false);
        // 0 is no bound, as in Redis.
        settings.memory_max = self.max_memory.map(|size| size.0).filter(|&bytes| bytes > 0);
        if let Some(Number(clients_max)) = self.max_clients {
            settings.clients_max = clients_max;
        }
        if let Some(Number(ms)) = self.auth_ms_max {
            settings.auth_ms_max = ms;
        }
        let request = &mut settings.request;
        if let Some(size) = self.max_request {
            ensure!(
                (REQUEST_LEN_MIN..=REQUEST_LEN_MAX).contains(&size.0),
                "--max-request must be 64kb to 2gb"
            );
            request.request_len_max = usize::try_from(size.0)?;
        }
        if let Some(size) = self.max_argument {
            ensure!(
                size.0 >= 1024 && size.0 <= request.request_len_max as u64,
                "--max-argument must be 1kb to --max-request"
            );
            request.argument_len_max = usize::try_from(size.0)?;
        }
        settings.storage = self.storage(settings.request.request_len_max)?;
        limits::check(&self.limits)?;
        settings.limits = self.limits.clone();
        settings.unique_identities = self.unique_identities()?;
        settings.entity_index = self.entity_index.unwrap_or(false);
        if let Some(Number(node)) = self.node {
            settings.node = node;
        }
        if let Some(Number(ms)) = self.entity_tombstone_ms {
            settings.entity_tombstone_ms = ms;
        }
        Ok(settings)
    }

    /// Where the HTTP door listens; none when nobody has asked for one.
    pub(super) fn front(&self, settings: &Settings) -> Result<Option<Front>> {
        let Some(listen) = self.http_listen else {
            ensure!(self.http_max_clients.is_none(), "--http-max-clients is for --http-listen");
            ensure!(self.http_hosts.is_none(), "--http-hosts is for --http-listen");
            return Ok(None);
        };
        let connections_max =
            self.http_max_clients.map_or(HTTP_CLIENTS_DEFAULT, |clients| clients.0);
        Ok(Some(Front {
            listen: listen.0,
            listen_option: "--http-listen",
            connections_max,
            threads: 1,
            tls: settings.tls.clone(),
            users: Arc::clone(&settings.users),
            open_access_allowed: settings.open_access_allowed,
            open_access_option: "--allow-open-access-without-password",
            hosts: self.http_hosts.clone().unwrap_or_default(),
            hosts_option: "--http-hosts",
        }))
    }

    fn unique_identities(&self) -> Result<Vec<Name>> {
        let kinds = self.unique_identities.iter().flatten();
        let read = |kind: &String| {
            let why = "a kind of --unique-identities must be 1 to 16 printable ASCII characters without space";
            Name::new(kind.as_bytes()).context(why)
        };
        kinds.map(read).collect()
    }

    /// The default user with its password, and those of the file.
    fn users(&self) -> Result<Users> {
        let password = self.requirepass.as_deref().map(|text| {
            Password::new(text).context("the password must have 1 to 512 bytes (--requirepass)")
        });
        let of_the_file = || match &self.config {
            Some(path) => format!("wrong users in {}", path.display()),
            None => "wrong users".to_owned(),
        };
        let entries: Vec<_> = self.users.iter().cloned().map(UserEntry::from).collect();
        Users::new(password.transpose()?, &entries).with_context(of_the_file)
    }

    fn tls(&self) -> Result<Option<TlsSettings>> {
        let (certificate, key) = (self.tls_cert.as_ref(), self.tls_key.as_ref());
        let client_ca = self.tls_client_ca.clone();
        let listen = self.tls_listen.map(|listen| listen.0);
        let (Some(certificate), Some(key)) = (certificate, key) else {
            let alone = certificate.or(key).or(client_ca.as_ref()).is_none() && listen.is_none();
            ensure!(alone, "TLS needs both a certificate (--tls-cert) and its key (--tls-key)");
            return Ok(None);
        };
        let handshake_ms_max = self.tls_handshake_ms_max.map_or(HANDSHAKE_MS_DEFAULT, |ms| ms.0);
        Ok(Some(TlsSettings {
            certificate: certificate.clone(),
            key: key.clone(),
            client_ca,
            listen,
            handshake_ms_max,
        }))
    }

    fn storage(&self, request_len_max: usize) -> Result<Option<Storage>> {
        let mode = self.durability.unwrap_or_default();
        let directory = self.dir.as_ref();
        if mode == Mode::None {
            for (option, is_given) in [
                ("--dir", directory.is_some()),
                ("--snapshot-log", self.snapshot_log.is_some()),
                ("--keep-log", self.keep_log.is_some()),
            ] {
                ensure!(
                    !is_given,
                    "--durability none keeps nothing in a directory: leave {option} away, or choose \
                     write or fsync"
                );
            }
            return Ok(None);
        }
        let is_named = directory.is_none_or(|directory| !directory.as_os_str().is_empty());
        ensure!(is_named, "--dir is empty: name a directory, or leave it away for {DIRECTORY}");
        ensure!(
            request_len_max <= LOGGED_REQUEST_LEN_MAX,
            "--max-request must be at most 512mb with a log (--durability {mode:?})"
        );
        let mut storage = Storage::new(directory.cloned().unwrap_or_else(|| DIRECTORY.into()));
        storage.durability = mode.into();
        if let Some(size) = self.snapshot_log {
            ensure!(size.0 >= SNAPSHOT_LOG_MIN, "--snapshot-log must be at least 1mb");
            storage.snapshot_log_bytes = size.0;
        }
        if let Some(size) = self.keep_log {
            storage.kept_log_bytes = size.0;
        }
        Ok(Some(storage))
    }
}
