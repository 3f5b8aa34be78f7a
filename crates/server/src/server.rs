//! A server: bound first, so that its address is known, then run with a thread per core.

use crate::adapter::OpenAdapter;
use crate::core::{self, Core, EndsWhileStarting, Signals, survive_file_limit};
use crate::durable::{
    self, Durable, GroupPlan, Opened, Plan, RecoveryProgress, RecoveryReport, Retention,
};
use crate::execute::node::Node;
use crate::hash_key::draw_hash_key;
use crate::inside::CoreAccess;
use crate::mail::mesh;
use crate::mail::mesh::Mesh;
use crate::net::port::{Port, PortKind};
use crate::net::ports::Ports;
use crate::open_files;
use crate::reload::Reloader;
use crate::settings::{Settings, StartError};
use crate::shared::Shared;
use crate::users::Checker;
use mio::Poll;
use scurry_consensus::shard::WakeFn;
use scurry_disk::Store;
use scurry_engine::{Config, Durability, Shard, UniqueIdentities};
use scurry_group::peers::{Credentials, Sockets};
use scurry_group::view::Addresses;
use scurry_group::{Clock, Group};
use scurry_ledger::{Name, Time};
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread;

/// A server that listens and is ready to run.
pub struct Server {
    /// The first one has the main port and the signals.
    cores: Vec<Core>,
    shared: Arc<Shared>,
    inside: CoreAccess,
    /// Holds the lock of the directory.
    _store: Option<Arc<Store>>,
    group: Option<Group>,
    recovered: Option<RecoveryReport>,
    tls_address: Option<SocketAddr>,
    adapter_address: Option<SocketAddr>,
}

impl Server {
    /// Listens, and takes over SIGTERM, SIGINT and SIGXFSZ of the process. Connections wait until it runs.
    ///
    /// # Errors
    /// When it must not or cannot listen, with what to do about it.
    pub fn bind(
        mut settings: Settings,
        progress: &(dyn Fn(&RecoveryProgress) + Sync),
    ) -> Result<Server, StartError> {
        let system = StartError::system;
        if let Some(group) = &settings.group {
            group.check_access(settings.open_access_allowed)?;
        }
        let ports = Ports::open(&settings)?;
        let (tls_address, certificates) = (ports.tls_address(), ports.certificates());
        let run_id =
            getrandom::u64().map_err(|error| system("a random number")(io::Error::other(error)))?;
        // Lowers the maximum if the limit of open files does not allow as many.
        settings.clients_max = open_files::make_room(settings.clients_max, settings.files_beside());
        let adapter = open_adapter(&settings)?;
        let adapter_address = adapter.as_ref().map(|adapter| adapter.address);
        let starting = EndsWhileStarting::new().map_err(system("the signals"))?;
        survive_file_limit().map_err(system("the signals"))?;
        let shared = Shared::new(ports.main_address(), ports.core_addresses(), run_id);
        let shared = Arc::new(shared);
        let checker = Checker::start(Arc::clone(&settings.users))
            .map_err(system("the thread that checks passwords"))?;
        let config = Config {
            limits: settings.limits.clone(),
            memory_max: settings.memory_max,
            node: settings.node,
            unique_identities: unique(&settings.unique_identities),
            entity_index: settings.entity_index,
            entity_tombstone_ms: settings.entity_tombstone_ms,
            hash_key: draw_hash_key().map_err(system("a random number"))?,
            ..Config::default()
        };
        let (mut opened, grouped) = open(&settings, &shared, &config, progress)?;
        let mut signals = Some(Signals::new().map_err(system("the signals"))?);
        drop(starting);
        let clock = Clock::start(opened.as_ref().map_or(Time(0), |opened| opened.time));
        if let Some(ms) = clock.behind_ms() {
            tracing::warn!(
                ms,
                "the wall clock is behind what the store has seen: time goes on from there, and \
                 every deadline comes later by what has passed since then"
            );
        }
        let starts = opened.as_mut().map(|opened| std::mem::take(&mut opened.cores));
        let mut starts = starts.unwrap_or_default().into_iter();
        let (mut polls, mut wakers) = (Vec::new(), Vec::new());
        for _ in 0..settings.threads {
            let poll = Poll::new().map_err(system("the poller"))?;
            wakers.push(Arc::new(mesh::waker(&poll, core::MAIL).map_err(system("the waker"))?));
            polls.push(poll);
        }
        // A poller has only one waker: all threads that wake the core share it.
        let desks: Vec<_> = wakers.iter().map(|waker| checker.desk(Arc::clone(waker))).collect();
        let (mut main, mut own) = (ports.main, ports.own.into_iter());
        let meshes = Mesh::places(wakers);
        let letterboxes = meshes.first().map(Mesh::letterboxes).unwrap_or_default();
        let intakes = meshes.iter().map(|mesh| Arc::clone(mesh.intake())).collect();
        let mut inside =
            CoreAccess::new(letterboxes, intakes, Arc::clone(&shared), &settings, certificates);
        let (group, ends) = match grouped {
            None => (None, Vec::new()),
            Some(start) => {
                let way = inside.clone();
                let enter = Box::new(move || way.connect().map_err(io::Error::other));
                let ring = |mesh: &Mesh| -> WakeFn {
                    let bell = mesh.bell();
                    Arc::new(move || bell.ring())
                };
                let rings = meshes.iter().map(ring).collect();
                let started = scurry_group::start(start, rings, settings.clients_max, enter, clock);
                let (group, ends) = started.map_err(StartError::Group)?;
                (Some(group), ends)
            }
        };
        let mut ends = ends.into_iter();
        let member = group.as_ref().map(Group::member);
        if let Some(member) = &member {
            inside.join(Arc::clone(member));
        }
        let mut adapters = adapter.into_iter().flat_map(|adapter| adapter.cores);
        let places = polls.into_iter().zip(meshes).zip(desks);
        let cores = (0..settings.threads).zip(places).map(|(core, ((poll, mesh), desk))| {
            let mut acceptors = std::mem::take(&mut main);
            acceptors.extend(own.next());
            let state = match starts.next() {
                Some(start) => Durable::start(start, &mesh.bell(), clock, ends.next())?,
                None => (Shard::new(config.clone()), Durable::none()),
            };
            let mut node =
                Node::new(core, state, settings.clone(), shared.clone(), mesh, desk, clock);
            if let Some(member) = &member {
                node.join(Arc::clone(member));
            }
            Core::new(poll, acceptors, signals.take(), adapters.next(), node)
        });
        let cores = cores.collect::<io::Result<_>>().map_err(system("the event loop"))?;
        let (store, recovered) = match opened {
            Some(Opened { store, report, .. }) => (Some(store), Some(report)),
            None => (None, None),
        };
        Ok(Server {
            cores,
            shared,
            inside,
            _store: store,
            group,
            recovered,
            tls_address,
            adapter_address,
        })
    }

    /// Returns the main address, with the port that was chosen.
    pub fn local_addr(&self) -> SocketAddr {
        self.shared.main
    }

    /// Returns the access for code in the same process.
    pub fn inside(&self) -> CoreAccess {
        self.inside.clone()
    }

    /// Returns the handle to reload users and certificates.
    pub fn reloader(&self) -> Reloader {
        self.inside.reloader()
    }

    /// Returns the report of recovery, when there is a store.
    pub fn recovered(&self) -> Option<&RecoveryReport> {
        self.recovered.as_ref()
    }

    /// Returns where TLS is spoken for every key: the main address, or the separate one.
    pub fn tls_addr(&self) -> Option<SocketAddr> {
        self.tls_address
    }

    /// Returns where the adapter of the settings listens, for every key.
    pub fn adapter_addr(&self) -> Option<SocketAddr> {
        self.adapter_address
    }

    /// Returns where each core listens for cluster clients; with one core the main address.
    pub fn core_addrs(&self) -> &[SocketAddr] {
        &self.shared.core_addresses
    }

    /// Runs until SIGTERM or SIGINT, then answers the received requests and returns. The calling thread runs the first
    /// core.
    ///
    /// # Errors
    /// When the system fails an event loop itself; the other loops are stopped then.
    pub fn run(self) -> io::Result<()> {
        thread::scope(|scope| {
            let mut cores = self.cores.into_iter();
            let Some(mut first) = cores.next() else { return Ok(()) };
            let mut threads = Vec::new();
            for (number, mut core) in (1..).zip(cores) {
                let thread = thread::Builder::new().name(format!("core-{number}"));
                threads.push(thread.spawn_scoped(scope, move || core.run())?);
            }
            let mut outcome = first.run();
            for thread in threads {
                let ended = thread.join().unwrap_or_else(|_| Err(io::Error::other("it panicked")));
                outcome = outcome.and(ended);
            }
            if let Some(group) = self.group {
                group.stop();
            }
            outcome
        })
    }
}

/// Listens on the adapter of the settings, where that is safe.
fn open_adapter(settings: &Settings) -> Result<Option<OpenAdapter>, StartError> {
    let Some(adapter) = &settings.adapter else { return Ok(None) };
    let port = Port { kind: PortKind::Main, tls: None, inside: None };
    port.check_access(adapter.listen(), settings)?;
    let opened = adapter.open(settings.threads, settings.clients_max);
    opened.map(Some).map_err(StartError::Adapter)
}

/// Opens the store that the settings name, and for a node of a group what its membership needs.
fn open(
    settings: &Settings,
    shared: &Shared,
    config: &Config,
    progress: &(dyn Fn(&RecoveryProgress) + Sync),
) -> Result<(Option<Opened>, Option<scurry_group::Start>), StartError> {
    let Some(storage) = &settings.storage else {
        return match settings.group {
            None => Ok((None, None)),
            Some(_) => {
                Err(StartError::Group("it needs a directory, and --durability fsync".into()))
            }
        };
    };
    let plan = Plan {
        path: &storage.directory,
        threads: settings.threads,
        durability: storage.durability,
        retention: Retention {
            snapshot_log_bytes: storage.snapshot_log_bytes,
            log: storage.log_retention,
            threads: settings.threads,
        },
        config: config.clone(),
    };
    let Some(group) = &settings.group else {
        return Ok((Some(durable::open(&plan, progress)?), None));
    };
    if storage.durability != Durability::Fsync {
        return Err(StartError::Group(
            "a majority must have each change on the device: --durability fsync".to_owned(),
        ));
    }
    let system = StartError::system;
    let listener = TcpListener::bind(group.listen).map_err(|source| match source.kind() {
        io::ErrorKind::AddrInUse => StartError::AddressInUse(group.listen),
        _ => StartError::Listen { address: group.listen, source },
    })?;
    let peer = listener.local_addr().map_err(system("the port for nodes"))?;
    let ip = group.announce_ip.unwrap_or(peer.ip());
    let addresses = Addresses {
        peer: SocketAddr::new(ip, peer.port()),
        ip: settings.announce_ip.unwrap_or(ip),
        main: shared.main.port(),
        cores: shared.core_addresses.iter().map(SocketAddr::port).collect(),
    };
    let gauge = || Arc::clone(&shared.node_certificate);
    let credentials = group.tls.as_ref().map(|files| Credentials::read(files, ip, gauge()));
    let credentials = credentials.transpose()?;
    let sockets = Sockets::new(credentials);
    let with = GroupPlan { settings: group, listener, addresses, sockets };
    let (opened, start) = durable::open_grouped(&plan, with, progress)?;
    Ok((Some(opened), Some(start)))
}

/// Returns the kinds of identities that are unique; None when there are none.
fn unique(kinds: &[Name]) -> Option<UniqueIdentities> {
    (!kinds.is_empty()).then(|| UniqueIdentities::with_kinds(kinds))
}
