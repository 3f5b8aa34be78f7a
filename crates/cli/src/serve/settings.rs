//! Builds the settings of a server from the options: checks each one and fills in defaults.

use super::limits;
use super::options::Options;
use crate::keep_log::KeepLog;
use crate::option_values::{Mode, Number, UnitDecimal};
use anyhow::{Context, Result, bail, ensure};
use scurry_door_diameter::DiameterSection;
use scurry_door_http::DoorSettings;
use scurry_door_http::NchfPart;
use scurry_ledger::Name;
use scurry_server::{
    DEFAULT_LISTEN, Durability, GroupSettings, Password, Settings, Storage, UserEntry, Users,
};
use scurry_service_table::ServiceTable;
use scurry_tls::{NodeTlsSettings, TlsSettings};
use std::net::SocketAddr;
use std::sync::Arc;

/// Default connections of the HTTP door, for people and Prometheus.
const HTTP_CLIENTS_DEFAULT: usize = 1_000;
/// Least value of `--max-request`, bytes.
const REQUEST_LEN_MIN: u64 = 64 * 1024;
/// Default timeout of a TLS handshake, ms.
const HANDSHAKE_MS_DEFAULT: i64 = 10_000;
/// Default data directory.
const DIRECTORY: &str = "scurry-data";
/// Upper bound of `--max-request` with a log, bytes: a request must fit a frame of the log.
const LOGGED_REQUEST_LEN_MAX: usize = 512 << 20;
/// Least value of `--snapshot-log`, bytes. With less, the disk would write snapshots all the time.
const SNAPSHOT_LOG_MIN: u64 = 1 << 20;
/// Upper bound of `--max-request`, bytes: positions within a request have 32 bits.
const REQUEST_LEN_MAX: u64 = 1 << 31;

impl Options {
    /// Returns the settings of the server. An error names the option and its allowed values.
    pub(super) fn settings(&self) -> Result<Settings> {
        let listen = match self.listen {
            Some(listen) => listen.0,
            None => DEFAULT_LISTEN.parse().context("the default address")?,
        };
        let mut settings = Settings::new(listen, self.users()?);
        settings.tls = self.tls()?;
        settings.adapter = self.rdma.adapter()?;
        if let Some(Number(threads)) = self.threads {
            settings.threads = threads;
        }
        settings.core_port = self.core_port.map(|port| port.0);
        settings.announce_ip = self.announce_ip.map(|machine| machine.0);
        settings.open_access_allowed = self.allow_open_access_without_password.unwrap_or(false);
        // 0 means unlimited, as in Redis.
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
        settings.group = self.group(&settings)?;
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

    /// Returns the settings of a node of a group. None for a store of one machine.
    fn group(&self, settings: &Settings) -> Result<Option<GroupSettings>> {
        let Some(listen) = self.replicate.map(|address| address.0) else {
            for (option, is_given) in [
                ("--join", self.join.is_some()),
                ("--replaces", self.replaces.is_some()),
                ("--observer", self.observer == Some(true)),
                ("--succeeds", self.succeeds.is_some()),
                ("--replicate-tls-cert", self.replicate_tls_cert.is_some()),
                ("--replicate-tls-key", self.replicate_tls_key.is_some()),
                ("--replicate-tls-ca", self.replicate_tls_ca.is_some()),
                ("--tick-ms", self.tick_ms.is_some()),
            ] {
                ensure!(
                    !is_given,
                    "{option} is for a node of a group: say where the other nodes reach this one \
                     with --replicate ADDR:PORT"
                );
            }
            return Ok(None);
        };
        let mode = settings.storage.as_ref().map(|storage| storage.durability);
        ensure!(
            mode == Some(Durability::Fsync),
            "a node of a group has on its device what it has promised to the others: --replicate \
             takes --durability fsync"
        );
        // With another directory a node would found another group, or join as another node.
        ensure!(self.dir.is_some(), "--replicate takes a --dir: the directory is what the node is");
        ensure!(listen.port() > 0, "--replicate takes a port: the other nodes come back to it");
        let announce_ip = settings.announce_ip;
        let ip = announce_ip.unwrap_or(listen.ip());
        ensure!(
            !ip.is_unspecified(),
            "the other nodes cannot reach {ip}: give --replicate the address of this machine in its \
             network, or name it with --announce-ip"
        );
        let client_ip = settings.listen.ip();
        ensure!(
            announce_ip.is_some() || client_ip.is_unspecified() || client_ip == ip,
            "clients are sent from node to node and would not find this one at {ip}, since it listens \
             on {client_ip}: give --listen {}, or name this machine with --announce-ip",
            std::net::SocketAddr::new(ip, settings.listen.port())
        );
        let join: Vec<_> = self.join.iter().flatten().map(|address| address.0).collect();
        ensure!(
            !join.contains(&listen),
            "--join names the nodes that this one asks: leave its own address {listen} out"
        );
        ensure!(
            self.replaces.is_none() || !join.is_empty(),
            "--replaces is for a node that joins a group: name nodes of it with --join"
        );
        // Connections are forwarded unchanged to the main port of the leader, so TLS must be on the main port.
        ensure!(
            self.tls_listen.is_none(),
            "a node that does not lead forwards its clients to the main port of the leader: leave \
             --tls-listen away, and --tls-cert and --tls-key make the main port speak TLS"
        );
        Ok(Some(GroupSettings {
            listen,
            announce_ip,
            join,
            replaces: self.replaces.map(|name| name.0),
            observer: self.observer.unwrap_or(false),
            succeeds: self.succeeds.as_ref().map(|name| name.0.clone()),
            tls: self.tls_of_nodes()?,
            tick_ms: self.tick_ms.map_or(GroupSettings::TICK_MS, |ms| ms.0),
        }))
    }

    /// Returns the settings of TLS between nodes. None if they speak without TLS.
    fn tls_of_nodes(&self) -> Result<Option<NodeTlsSettings>> {
        match (&self.replicate_tls_cert, &self.replicate_tls_key, &self.replicate_tls_ca) {
            (None, None, None) => Ok(None),
            (Some(certificate), Some(key), Some(ca)) => Ok(Some(NodeTlsSettings {
                certificate: certificate.clone(),
                key: key.clone(),
                ca: ca.clone(),
            })),
            _ => bail!(
                "TLS between nodes needs the node's certificate (--replicate-tls-cert), its key \
                 (--replicate-tls-key) and the CA of all nodes (--replicate-tls-ca)"
            ),
        }
    }

    /// Returns the settings of the HTTP door. None if it is not enabled.
    pub(super) fn front(&self, settings: &Settings) -> Result<Option<DoorSettings>> {
        let Some(listen) = self.http_listen else {
            ensure!(self.http_max_clients.is_none(), "--http-max-clients is for --http-listen");
            ensure!(self.http_hosts.is_none(), "--http-hosts is for --http-listen");
            ensure!(self.unit_decimals.is_none(), "--unit-decimals is for --http-listen");
            return Ok(None);
        };
        let (tls, users) = (settings.tls.clone(), Arc::clone(&settings.users));
        Ok(Some(self.door_settings(listen.0, tls, users)?))
    }

    /// Returns the settings of an HTTP door beside a door that is a process of its own. Its users and TLS are those of
    /// the file.
    pub(crate) fn front_alone(&self, listen: SocketAddr) -> Result<DoorSettings> {
        let open_access_option = "allow_open_access_without_password in the settings";
        let settings = self.door_settings(listen, self.tls()?, Arc::new(self.users()?))?;
        Ok(DoorSettings { open_access_option, ..settings })
    }

    fn door_settings(
        &self,
        listen: SocketAddr,
        tls: Option<TlsSettings>,
        users: Arc<Users>,
    ) -> Result<DoorSettings> {
        Ok(DoorSettings {
            listen,
            listen_option: "--http-listen",
            connections_max: self
                .http_max_clients
                .map_or(HTTP_CLIENTS_DEFAULT, |clients| clients.0),
            threads: 1,
            tls,
            users,
            open_access_allowed: self.allow_open_access_without_password.unwrap_or(false),
            open_access_option: "--allow-open-access-without-password",
            hosts: self.http_hosts.clone().unwrap_or_default(),
            hosts_option: "--http-hosts",
            unit_decimals: UnitDecimal::table(self.unit_decimals.as_deref().unwrap_or_default())?,
        })
    }

    /// Returns the settings of the Diameter door and its table of services. None if it is not enabled.
    pub(super) fn diameter(
        &self,
    ) -> Result<Option<(scurry_door_diameter::Settings, ServiceTable)>> {
        let Some(listen) = self.diameter_listen else {
            if !self.diameter.as_ref().is_some_and(DiameterSection::has_address) {
                return Ok(None);
            }
            return Ok(Some((self.diameter_settings(None)?, self.service_table()?)));
        };
        Ok(Some((self.diameter_settings(Some(listen.0))?, self.service_table()?)))
    }

    /// Returns the settings of a Diameter door on this address, else on that of the file.
    pub(crate) fn diameter_settings(
        &self,
        listen: Option<SocketAddr>,
    ) -> Result<scurry_door_diameter::Settings> {
        let least = scurry_door_diameter::DATA_LEN_MAX;
        ensure!(
            self.limits.blob_len_max >= least,
            "{}: blob_len_max must be {least} at least where there is a Diameter door: its sessions have DATA",
            self.wrong("[limits]")
        );
        let section = self.diameter.clone().unwrap_or_default();
        section.into_settings(listen).with_context(|| self.wrong("settings of [diameter]"))
    }

    /// Returns the table of services.
    pub(crate) fn service_table(&self) -> Result<ServiceTable> {
        let table = ServiceTable::new(&self.services, &self.subscribers, self.unknown_subscriber);
        let table = table.with_context(|| self.wrong("table of services"))?;
        let longest_ms = i64::from(table.validity_s_max()) * 1_000;
        ensure!(
            longest_ms <= self.limits.tcc_ms_max,
            "{}: tcc_ms_max is below the longest validity of a service, {longest_ms} ms",
            self.wrong("[limits]")
        );
        Ok(table)
    }

    /// Returns what the door of 5G charges by.
    pub(crate) fn nchf(&self) -> Result<NchfPart> {
        Ok(NchfPart { services: self.service_table()?, settings: self.nchf.clone() })
    }

    /// Returns the context of an error about what the settings file says.
    fn wrong(&self, what: &str) -> String {
        match &self.config {
            Some(path) => format!("wrong {what} in {}", path.display()),
            None => format!("wrong {what}"),
        }
    }

    fn unique_identities(&self) -> Result<Vec<Name>> {
        let kinds = self.unique_identities.iter().flatten();
        let read = |kind: &String| {
            let why = "a kind of --unique-identities must be 1 to 16 printable ASCII characters without space";
            Name::new(kind.as_bytes()).context(why)
        };
        kinds.map(read).collect()
    }

    /// Returns the default user with its password, and the users of the file.
    pub(crate) fn users(&self) -> Result<Users> {
        let password = self.requirepass.as_deref().map(|text| {
            Password::new(text).context("the password must have 1 to 512 bytes (--requirepass)")
        });
        let entries: Vec<_> = self.users.iter().cloned().map(UserEntry::from).collect();
        Users::new(password.transpose()?, &entries).with_context(|| self.wrong("users"))
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
        if let Some(KeepLog(retention)) = self.keep_log {
            storage.log_retention = retention;
        }
        Ok(Some(storage))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{Args, Command, FromArgMatches};

    fn group(words: &str) -> Result<Option<GroupSettings>> {
        let command = Options::augment_args(Command::new("serve")).no_binary_name(true);
        let matches = command.try_get_matches_from(words.split_whitespace())?;
        Ok(Options::from_arg_matches(&matches)?.settings()?.group)
    }

    #[test]
    fn a_node_of_a_group_is_told_what_it_lacks() {
        for (words, cure) in [
            ("--join 127.0.0.1:1", "--replicate ADDR:PORT"),
            ("--tick-ms 5", "--replicate ADDR:PORT"),
            (
                "--replicate-tls-cert c --replicate-tls-key k --replicate-tls-ca a",
                "--replicate ADDR",
            ),
            ("--replaces 00000000000000a7", "--replicate ADDR:PORT"),
            ("--observer", "--replicate ADDR:PORT"),
            ("--succeeds 00000000000000a7@127.0.0.1:1", "--replicate ADDR:PORT"),
            ("--replicate 127.0.0.1:1 --durability none", "--durability fsync"),
            ("--replicate 127.0.0.1:1 --dir d --durability write", "--durability fsync"),
            ("--replicate 127.0.0.1:1", "takes a --dir"),
            ("--replicate 127.0.0.1:0 --dir d", "takes a port"),
            ("--replicate 0.0.0.0:1 --dir d", "--announce-ip"),
            ("--replicate 10.0.0.1:1 --dir d", "--listen 10.0.0.1:6389"),
            ("--replicate 127.0.0.1:1 --dir d --join 127.0.0.1:1", "leave its own address"),
            ("--replicate 127.0.0.1:1 --dir d --replaces 00000000000000a7", "--join"),
            ("--replicate 127.0.0.1:1 --dir d --replicate-tls-cert c", "--replicate-tls-key"),
            (
                "--replicate 127.0.0.1:1 --dir d --replicate-tls-cert c --replicate-tls-key k",
                "--replicate-tls-ca",
            ),
            ("--replicate 127.0.0.1:1 --dir d --replicate-tls-ca a", "--replicate-tls-cert"),
            (
                "--replicate 127.0.0.1:1 --dir d --tls-cert c --tls-key k --tls-listen 127.0.0.1:2",
                "leave --tls-listen away",
            ),
        ] {
            let error = group(words).expect_err(words).to_string();
            assert!(error.contains(cure), "{words}: {error}");
        }
        assert!(group("").expect("no group").is_none());
    }

    #[test]
    fn a_node_of_a_group_is_what_the_options_say() {
        let founder = group("--replicate 127.0.0.1:7000 --dir d").expect("it fits").expect("one");
        assert_eq!((founder.listen.port(), founder.tick_ms), (7_000, GroupSettings::TICK_MS));
        assert!(founder.join.is_empty() && founder.announce_ip.is_none() && founder.tls.is_none());
        let words = "--replicate 0.0.0.0:7000 --announce-ip 10.0.0.3 --dir d --tick-ms 9 \
                     --join 10.0.0.1:7000,10.0.0.2:7000 --replaces 00000000000000a7 \
                     --replicate-tls-cert c --replicate-tls-key k --replicate-tls-ca a";
        let third = group(words).expect("it fits").expect("one");
        assert_eq!((third.tick_ms, third.replaces, third.join.len()), (9, Some(167), 2));
        assert_eq!(third.announce_ip.map(|ip| ip.to_string()).as_deref(), Some("10.0.0.3"));
        let tls = third.tls.expect("it has certificates");
        let files = [tls.certificate, tls.key, tls.ca];
        assert_eq!(files, ["c", "k", "a"].map(std::path::PathBuf::from));
    }
}
