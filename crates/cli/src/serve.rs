//! `scurry serve`: settings from the command line and the file, then the server.

mod limits;
mod options;
mod ports;
mod settings;

pub(crate) use options::{Clients, NodeNumber, Options};

use crate::log::Log;
use crate::recovery::Bar;
use crate::reload::{Hangups, read_certificates, tell_of_users, warn_of_certificates};
use crate::supervisor;
use crate::toml_file;
use anyhow::{Context, Result};
use clap::{ArgMatches, FromArgMatches};
use scurry_http::{Door, Front};
use scurry_server::{Certificates, Durability, Reloader, Server, Settings, Users, make_room};
use signal_hook::consts::{SIGHUP, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level::raise;
use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::thread;
use tracing_subscriber::filter::LevelFilter;

/// Serves until it is told to stop. `matches` are what the options of the command line were read
/// from.
pub(crate) fn run(options: Options, matches: &ArgMatches) -> Result<()> {
    let path = options.config.clone();
    let options = options.over_file(matches)?;
    let again = Again { path, matches: matches.clone() };
    serve(&options, Some(again), |_| Ok(()))
}

/// The sources of the options, to be read again.
pub(crate) struct Again {
    /// None where the command line says it all.
    path: Option<PathBuf>,
    matches: ArgMatches,
}

impl Again {
    /// Takes users and certificates anew; what is wrong is told, and what was there before stays.
    fn reload(&self, reloader: &Reloader, door: Option<&Certificates>) {
        if let Some(path) = &self.path {
            let outcome = self.users(path).and_then(|users| Ok(reloader.replace_users(users)?));
            tell_of_users(path, outcome);
        }
        read_certificates(reloader.certificates().into_iter().chain(door));
    }

    fn users(&self, path: &Path) -> Result<Users> {
        let mut options: Options = toml_file::read(path, "settings")?;
        options.update_from_arg_matches(&self.matches)?;
        options.users()
    }
}

/// The addresses that a server has begun to listen on.
pub(crate) struct Open {
    /// The main port.
    pub(crate) store: SocketAddr,
    /// The HTTP door; none without one.
    pub(crate) door: Option<SocketAddr>,
}

/// Serves until it is told to stop; `opened` is called once when clients may come. Without sources to
/// read again it ends with its terminal.
pub(crate) fn serve(
    options: &Options,
    again: Option<Again>,
    opened: impl FnOnce(Open) -> Result<()>,
) -> Result<()> {
    let level = options.log.map_or(LevelFilter::INFO, |level| level.0);
    let _log = Log::start(level).context("cannot start the log")?;
    // One that comes while the store recovers counts when it serves.
    let ends = again.is_none().then(|| Signals::new([SIGHUP])).transpose();
    let ends = ends.context("cannot wait for SIGHUP")?;
    let hangups =
        again.map(|again| Ok::<_, anyhow::Error>((Hangups::new()?, again))).transpose()?;
    let bar = Bar::new();
    let mut settings = options.settings()?;
    let mut front = options.front(&settings)?;
    ports::check(&settings, front.as_ref().map(|front| front.listen))?;
    if let Some(front) = &mut front {
        share_files(&mut settings, front);
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
    let (reloader, of_door) = (server.reloader(), door.as_ref().and_then(Door::certificates));
    warn_of_certificates(reloader.certificates().into_iter().chain(&of_door));
    let waiting = hangups
        .map(|(hangups, again)| hangups.each(move || again.reload(&reloader, of_door.as_ref())));
    let _waiting = waiting.transpose()?;
    ends.map(end_at_first).transpose()?;
    // It serves all the same.
    if let Err(error) = supervisor::tell(supervisor::READY) {
        tracing::warn!("{error:#}");
    }
    let door_address = door.as_ref().map(Door::address);
    opened(Open { store: main, door: door_address })?;
    let outcome = server.run().context("the event loop failed");
    if let Some(door) = door {
        door.close();
    }
    outcome
}

/// Divides the open files that are possible among the clients of both doors: each kind gets what the other does
/// not use, and at least half.
fn share_files(settings: &mut Settings, front: &mut Front) {
    let both = settings.clients_max.saturating_add(front.connections_max);
    let possible = make_room(both, settings.files_beside());
    (settings.clients_max, front.connections_max) =
        shares(possible, settings.clients_max, front.connections_max);
    settings.doors_clients_max = front.connections_max;
}

/// Places of each of two kinds, of so many, of which they want these.
fn shares(possible: usize, first: usize, second: usize) -> (usize, usize) {
    let first = first.min(possible.saturating_sub(second).max(possible / 2)).max(1);
    (first, second.min(possible.saturating_sub(first)).max(1))
}

/// Ends the server at the first of these as SIGTERM does. A terminal that is closed may send several,
/// and a second SIGTERM would end the process at once, with all that it had to remove.
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

/// Two lines that a server says about itself when it starts: its version, where and how it keeps what
/// is committed, and who may come in. Whoever looks for a mistake in the settings finds it here.
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
        // What is left by the one is the other's.
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
