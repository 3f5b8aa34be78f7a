//! `scurry serve`: reads the settings from command line and file, then runs the server.

mod diameter;
mod limits;
mod options;
mod ports;
mod settings;

pub(crate) use diameter::{read, reload_diameter, reload_nchf, tell_addresses};
pub(crate) use options::{Clients, NodeNumber, Options};

use crate::log::Log;
use crate::recovery::Bar;
use crate::reload::{Hangups, read_certificates, tell_of_users, warn_of_certificates};
use crate::supervisor;
use crate::toml_file;
use anyhow::{Context, Result};
use clap::{ArgMatches, FromArgMatches};
use scurry_door_diameter::{DiameterDoor, open as open_diameter};
use scurry_door_http::{Door, DoorSettings, open_beside};
use scurry_server::{Durability, Reloader, Server, Settings, Users, make_room};
use scurry_stores::Engine;
use scurry_tls::Certificates;
use signal_hook::consts::{SIGHUP, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level::raise;
use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use tracing_subscriber::filter::LevelFilter;

/// Serves until a signal ends it. `matches` is the parsed command line that `options` were read from.
pub(crate) fn run(options: Options, matches: &ArgMatches) -> Result<()> {
    let path = options.config.clone();
    let options = options.over_file(matches)?;
    let again = ReloadSources { path, matches: matches.clone() };
    serve(&options, Some(again), |_| Ok(()))
}

/// Sources of the options, to be read again on SIGHUP.
pub(crate) struct ReloadSources {
    /// None without a settings file.
    path: Option<PathBuf>,
    matches: ArgMatches,
}

impl ReloadSources {
    /// Reloads users and certificates. An error is logged, and the old ones stay in use.
    fn reload(&self, reloader: &Reloader, doors: &[Certificates]) {
        if let Some(path) = &self.path {
            let outcome = self.users(path).and_then(|users| Ok(reloader.replace_users(users)?));
            tell_of_users(path, outcome);
        }
        read_certificates(reloader.certificates().into_iter().chain(doors));
    }

    fn users(&self, path: &Path) -> Result<Users> {
        let mut options: Options = toml_file::read(path, "settings")?;
        options.update_from_arg_matches(&self.matches)?;
        options.users()
    }
}

/// Addresses that a started server listens on.
pub(crate) struct Open {
    /// Main port.
    pub(crate) store: SocketAddr,
    /// HTTP door. None if it is not enabled.
    pub(crate) door: Option<SocketAddr>,
}

/// Serves until a signal ends it. Calls `opened` once clients can connect. Without sources to read again, SIGHUP ends
/// the server (its terminal was closed).
pub(crate) fn serve(
    options: &Options,
    again: Option<ReloadSources>,
    opened: impl FnOnce(Open) -> Result<()>,
) -> Result<()> {
    let level = options.log.map_or(LevelFilter::INFO, |level| level.0);
    let _log = Log::start(level).context("cannot start the log")?;
    // Registers for SIGHUP first, so that a signal during recovery is handled once the server serves.
    let ends = again.is_none().then(|| Signals::new([SIGHUP])).transpose();
    let ends = ends.context("cannot wait for SIGHUP")?;
    let hangups =
        again.map(|again| Ok::<_, anyhow::Error>((Hangups::new()?, again))).transpose()?;
    let bar = Bar::new();
    let mut settings = options.settings()?;
    let mut front = options.front(&settings)?;
    let diameter = options.diameter()?;
    let listening = front.iter().map(|front| ("--http-listen", front.listen));
    let plain = diameter.iter().filter_map(|(door, _)| Some(("--diameter-listen", door.listen?)));
    let tls = diameter.iter().filter_map(|(door, _)| Some(("tls_listen", door.tls_listen?)));
    ports::check(&settings, listening.chain(plain).chain(tls))?;
    if let Some(front) = &mut front {
        share_files(&mut settings, front);
    }
    let announcement = Announcement::new(&settings);
    let server = Server::bind(settings, &|progress| bar.show(progress))?;
    if let Some(report) = server.recovered() {
        bar.end(report);
    }
    let inside = server.inside();
    let diameter = diameter.map(|(settings, table)| {
        open_diameter(settings, table, |runtime| Arc::new(Engine::beside(&inside, runtime)))
    });
    let diameter = diameter.transpose()?;
    let view = diameter.as_ref().map(DiameterDoor::view);
    let nchf = front.is_some().then(|| options.nchf()).transpose()?;
    let door =
        front.zip(nchf).map(|(front, nchf)| open_beside(&front, server.inside(), view, nchf));
    let (door, nchf) = door.transpose()?.unzip();
    eprintln!("{announcement}");
    // Not a log line: scripts that start a server wait for it, at any log level.
    let (main, tls) = (server.local_addr(), server.tls_addr());
    let main_has_tls = tls == Some(main);
    eprintln!("listening on {main}{}", if main_has_tls { " with TLS" } else { "" });
    if let Some(beside) = tls.filter(|_| !main_has_tls) {
        eprintln!("listening on {beside} with TLS");
    }
    if let Some(rdma) = server.adapter_addr() {
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
    if let Some(diameter) = &diameter {
        tell_addresses(diameter);
    }
    let reloader = server.reloader();
    let of_doors: Vec<Certificates> = [
        door.as_ref().and_then(Door::certificates),
        diameter.as_ref().and_then(DiameterDoor::certificates),
    ]
    .into_iter()
    .flatten()
    .collect();
    warn_of_certificates(reloader.certificates().into_iter().chain(&of_doors));
    let of_diameter = diameter.as_ref().map(DiameterDoor::reloader);
    let of_5g = nchf.clone();
    let waiting = hangups.map(|(hangups, again)| {
        hangups.each(move || {
            again.reload(&reloader, &of_doors);
            let Some(path) = &again.path else { return };
            if let Some(reloader) = &of_diameter {
                reload_diameter(path, reloader);
            }
            if let Some(door) = &of_5g {
                reload_nchf(path, door);
            }
        })
    });
    let _waiting = waiting.transpose()?;
    ends.map(end_at_first).transpose()?;
    // The server serves even if it cannot notify the supervisor.
    if let Err(error) = supervisor::tell(supervisor::READY) {
        tracing::warn!("{error:#}");
    }
    let door_address = door.as_ref().map(Door::address);
    opened(Open { store: main, door: door_address })?;
    let outcome = server.run().context("the event loop failed");
    if let Some(diameter) = diameter {
        diameter.close();
    }
    if let Some(nchf) = nchf {
        nchf.deregister();
    }
    if let Some(door) = door {
        door.close();
    }
    outcome
}

/// Divides the file descriptors between the clients of RESP and HTTP: each gets at least half, and the rest that the
/// other does not use.
fn share_files(settings: &mut Settings, front: &mut DoorSettings) {
    let both = settings.clients_max.saturating_add(front.connections_max);
    let possible = make_room(both, settings.files_beside());
    (settings.clients_max, front.connections_max) =
        shares(possible, settings.clients_max, front.connections_max);
    settings.doors_clients_max = front.connections_max;
}

/// Splits `possible` places between two demands.
fn shares(possible: usize, first: usize, second: usize) -> (usize, usize) {
    let first = first.min(possible.saturating_sub(second).max(possible / 2)).max(1);
    (first, second.min(possible.saturating_sub(first)).max(1))
}

/// Ends the server at the first of these signals, as SIGTERM does. A terminal that closes may send several, and a
/// second SIGTERM would end the process at once, before it removes its files.
fn end_at_first(mut signals: Signals) -> Result<()> {
    let wait = move || {
        if signals.forever().next().is_some()
            && let Err(error) = raise(SIGTERM)
        {
            tracing::error!("the server goes on without its terminal: {error}");
        }
    };
    let thread = thread::Builder::new().name("hangup".to_owned());
    thread.spawn(wait).context("cannot start the thread that waits for SIGHUP")?;
    Ok(())
}

/// Two lines that a server prints at its start: version, storage and durability, and which clients may connect. They
/// help to find mistakes in the settings.
struct Announcement {
    store: String,
    entry: String,
}

impl Announcement {
    fn new(settings: &Settings) -> Announcement {
        let store = match &settings.storage {
            None => "durability none: nothing survives a restart".to_owned(),
            Some(storage) => {
                let directory = std::path::absolute(&storage.directory);
                let directory = directory.as_deref().unwrap_or(&storage.directory).display();
                let mode = match storage.durability {
                    Durability::None => "none",
                    Durability::Write => "write",
                    Durability::Fsync => "fsync",
                };
                format!("durability {mode} in {directory}")
            }
        };
        let mut entry = settings.users.in_words();
        if let Some(path) = settings.tls.as_ref().and_then(|tls| tls.client_ca.as_ref()) {
            entry += &format!(", over TLS with a certificate of {}", path.display());
        }
        Announcement { store, entry }
    }
}

impl fmt::Display for Announcement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let version = env!("CARGO_PKG_VERSION");
        writeln!(f, "scurry {version}, {}", self.store)?;
        write!(f, "clients come in {}", self.entry)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_of_both_doors_have_no_more_places_than_there_are() {
        assert_eq!(shares(20_000, 10_000, 1_000), (10_000, 1_000));
        // One kind gets the places that the other does not use.
        assert_eq!(shares(5_000, 10_000, 1_000), (4_000, 1_000));
        assert_eq!(shares(1_100, 300, 1_000), (300, 800));
        assert_eq!(shares(120, 10_000, 1_000), (60, 60));
        for possible in 2..50 {
            let (first, second) = shares(possible, 20, 20);
            assert!(first + second <= possible.max(2) && first >= 1 && second >= 1, "{possible}");
        }
        assert_eq!(shares(0, 10, 10), (1, 1));
    }
}
