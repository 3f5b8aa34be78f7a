//! Settings of a server, given at its start.

mod start_error;

pub use start_error::StartError;

use crate::adapter::Adapter;
use crate::users::Users;
use scurry_engine::{Durability, LogRetention};
use scurry_group::peers::LostGroup;
use scurry_ledger::{Limits, Name};
use scurry_resp::RequestLimits;
use scurry_tls::{NodeTlsSettings, TlsSettings};
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;

/// Open files of a process besides clients' connections: listeners, the log's directory, some to spare.
const FILES_BASE: usize = 64;
/// The same per thread: nine while idle, and those of a snapshot and of the log's next segment.
const FILES_PER_THREAD: usize = 16;

/// Default address of the server.
pub const DEFAULT_LISTEN: &str = "127.0.0.1:6389";

/// The settings of a server.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Address and port; port 0 takes a free one.
    pub listen: SocketAddr,
    /// Threads, each with its share of the keys; at least 1.
    pub threads: u16,
    /// Port of the first core; each further one has the next. None takes the ports after the main one (free ones when
    /// that is 0). One thread has no port but the main one.
    pub core_port: Option<u16>,
    /// This machine's address in MOVED and CLUSTER. If None, the address that the client connected to.
    pub announce_ip: Option<IpAddr>,
    /// Users, and what each may do.
    pub users: Arc<Users>,
    /// TLS on the main address, or on a separate one; None for plain TCP only.
    pub tls: Option<TlsSettings>,
    /// An adapter besides TCP, such as RDMA's; None for TCP only.
    pub adapter: Option<Arc<dyn Adapter>>,
    /// Whether to listen beyond this machine although there is no password.
    pub open_access_allowed: bool,
    /// Maximum number of connections; at most a quarter of them may be unauthenticated.
    pub clients_max: usize,
    /// Maximum number of connections of doors in the same process, which count apart.
    pub doors_clients_max: usize,
    /// How long a connection may take to end its handshake and to authenticate, ms.
    pub auth_ms_max: i64,
    /// Maximum memory of keys and values, bytes; None for no limit.
    pub memory_max: Option<u64>,
    /// Limits of accounts.
    pub limits: Limits,
    /// Kinds of identities of which no two accounts may have the same.
    pub unique_identities: Vec<Name>,
    /// Whether entities can be found by their value.
    pub entity_index: bool,
    /// How long the deletion of an entity is remembered, ms.
    pub entity_tombstone_ms: i64,
    /// Number of this server in versions of entities, 0 to 511: servers that hold copies of the same entities need
    /// different ones.
    pub node: u16,
    /// Limits of requests.
    pub request: RequestLimits,
    /// Length of unsent replies above which a connection is neither read nor executed, bytes.
    pub unsent_len_max: usize,
    /// Maximum length of one reply, bytes; together with `unsent_len_max` it bounds the output buffer.
    pub reply_len_max: usize,
    /// How long a stopping server waits for clients to read their replies, ms.
    pub drain_ms_max: i64,
    /// Where commits are stored; None for memory only.
    pub storage: Option<Storage>,
    /// The other nodes that keep the same log; None for a store on one machine. It requires a storage that syncs.
    pub group: Option<GroupSettings>,
}

/// Settings of a node of a group with strict replication.
#[derive(Clone, Debug)]
pub struct GroupSettings {
    /// Where the other nodes reach this one.
    pub listen: SocketAddr,
    /// The address that other nodes and clients are given for this node; None for that of `listen`.
    pub announce_ip: Option<IpAddr>,
    /// Members of the group that an empty directory joins, by their addresses for nodes; empty founds a group.
    pub join: Vec<SocketAddr>,
    /// The id of a member that this node replaces when it joins: that member is removed for ever.
    pub replaces: Option<u64>,
    /// True for a node that is to have no vote.
    pub observer: bool,
    /// A lost group whose place this one has taken: its nodes are told, and end for good.
    pub succeeds: Option<LostGroup>,
    /// TLS between the nodes; None for connections without authentication.
    pub tls: Option<NodeTlsSettings>,
    /// A tick of the group's clock, ms: followers miss a leader after ten to twenty of them.
    pub tick_ms: u32,
}

impl GroupSettings {
    /// The default of `tick_ms`.
    pub const TICK_MS: u32 = 30;

    /// Refuses to listen for nodes on an address that is reachable from outside this machine without authentication: a
    /// node that joins has every balance.
    pub(crate) fn check_access(&self, open_access_allowed: bool) -> Result<(), StartError> {
        if self.listen.ip().is_loopback() || self.tls.is_some() || open_access_allowed {
            return Ok(());
        }
        Err(StartError::OpenNodes(self.listen))
    }
}

/// Where and how commits are stored.
#[derive(Clone, Debug)]
pub struct Storage {
    /// The directory of the store.
    pub directory: PathBuf,
    /// How durable a Change is before its reply is sent.
    pub durability: Durability,
    /// A thread writes a snapshot when its log has grown by this many bytes.
    pub snapshot_log_bytes: u64,
    /// How much of each thread's log is kept for readers of events, although no snapshot needs it.
    pub log_retention: LogRetention,
}

impl Storage {
    /// Returns the defaults for a directory.
    pub fn new(directory: PathBuf) -> Storage {
        Storage {
            directory,
            durability: Durability::Fsync,
            snapshot_log_bytes: 1 << 30,
            log_retention: LogRetention::Nothing,
        }
    }
}

impl Settings {
    /// Returns the defaults for these users and this address.
    pub fn new(listen: SocketAddr, users: Users) -> Settings {
        Settings {
            listen,
            threads: 1,
            core_port: None,
            announce_ip: None,
            users: Arc::new(users),
            tls: None,
            adapter: None,
            open_access_allowed: false,
            clients_max: 10_000,
            doors_clients_max: 0,
            auth_ms_max: 30_000,
            memory_max: None,
            limits: Limits::default(),
            unique_identities: Vec::new(),
            entity_index: false,
            entity_tombstone_ms: 24 * 3_600_000,
            node: 0,
            request: RequestLimits::default(),
            unsent_len_max: 1024 * 1024,
            reply_len_max: 64 * 1024 * 1024,
            drain_ms_max: 5_000,
            storage: None,
            group: None,
        }
    }

    /// Returns the maximum number of open files besides the clients' connections.
    pub fn files_beside(&self) -> usize {
        FILES_BASE + FILES_PER_THREAD * usize::from(self.threads) + self.doors_clients_max
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_beside_the_clients_grow_with_threads_and_doors() {
        let users = Users::new(None, &[]).expect("no users");
        let mut settings = Settings::new(([127, 0, 0, 1], 0).into(), users);
        let one = settings.files_beside();
        (settings.threads, settings.doors_clients_max) = (9, 1_000);
        // A thread has nine while idle.
        assert!(settings.files_beside() >= one + 8 * 12 + 1_000);
    }

    #[test]
    fn nodes_of_other_machines_are_let_in_by_certificates_or_where_somebody_has_said_so() {
        let file = |name: &str| name.into();
        let tls = NodeTlsSettings { certificate: file("c"), key: file("k"), ca: file("ca") };
        let group = |listen: &str, tls| GroupSettings {
            listen: listen.parse().expect("an address"),
            announce_ip: None,
            join: Vec::new(),
            replaces: None,
            observer: false,
            succeeds: None,
            tls,
            tick_ms: GroupSettings::TICK_MS,
        };
        for (listen, tls, said, refused) in [
            ("127.0.0.1:7389", None, false, false),
            ("[::1]:7389", None, false, false),
            ("192.0.2.1:7389", None, true, false),
            ("192.0.2.1:7389", Some(tls), false, false),
            ("192.0.2.1:7389", None, false, true),
            ("0.0.0.0:7389", None, false, true),
        ] {
            let outcome = group(listen, tls).check_access(said);
            assert_eq!(outcome.is_err(), refused, "{listen} {said}");
        }
    }
}
