//! Checks that no two options of a server name the same port. Otherwise the server would find its own port in use and
//! blame another program.

use anyhow::{Result, ensure};
use scurry_server::Settings;
use std::net::SocketAddr;

/// An address that the server listens on, and its option.
struct Listening {
    name: String,
    address: SocketAddr,
}

impl Listening {
    /// Reports whether both would bind the same port. Port 0 never collides; an unspecified address collides with every
    /// address.
    fn meets(&self, other: &Listening) -> bool {
        let (here, there) = (self.address, other.address);
        let is_one_ip =
            here.ip() == there.ip() || here.ip().is_unspecified() || there.ip().is_unspecified();
        here.port() != 0 && here.port() == there.port() && is_one_ip
    }
}

/// Refuses an address that two options name, or that a thread uses.
pub(super) fn check(
    settings: &Settings,
    doors: impl Iterator<Item = (&'static str, SocketAddr)>,
) -> Result<()> {
    let all = all(settings, doors);
    for (at, own) in all.iter().enumerate() {
        let taken = all[..at].iter().find(|other| other.meets(own));
        let name = taken.map_or("", |other| &other.name);
        ensure!(
            taken.is_none(),
            "{} cannot be {}: that is the port of {name} of this server; choose another port",
            own.name,
            own.address
        );
    }
    Ok(())
}

fn all(
    settings: &Settings,
    doors: impl Iterator<Item = (&'static str, SocketAddr)>,
) -> Vec<Listening> {
    let listening = |name: &str, address| Listening { name: name.to_owned(), address };
    let mut all = vec![listening("--listen", settings.listen)];
    let behind = settings.listen.port().checked_add(1).filter(|&port| port > 1);
    let first = settings.core_port.or(behind).filter(|&port| port != 0);
    if let Some(first) = first.filter(|_| settings.threads > 1 || settings.group.is_some()) {
        all.extend((0..settings.threads).filter_map(|thread| {
            let address = SocketAddr::new(settings.listen.ip(), first.checked_add(thread)?);
            Some(Listening { name: format!("thread {thread} (--threads, --core-port)"), address })
        }));
    }
    let tls = settings.tls.as_ref().and_then(|tls| tls.listen);
    all.extend(tls.map(|address| listening("--tls-listen", address)));
    let nodes = settings.group.as_ref().map(|group| group.listen);
    all.extend(nodes.map(|address| listening("--replicate", address)));
    all.extend(doors.map(|(option, address)| listening(option, address)));
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use scurry_server::Users;

    fn settings(listen: &str, threads: u16, core_port: Option<u16>) -> Settings {
        let users = Users::new(None, &[]).expect("nobody asks");
        let mut settings = Settings::new(listen.parse().expect("an address"), users);
        (settings.threads, settings.core_port) = (threads, core_port);
        settings
    }

    #[test]
    fn a_port_serves_one_thing() {
        let own = settings("127.0.0.1:6389", 2, None);
        for (door, taken) in [
            ("127.0.0.1:6389", "--listen"),
            ("127.0.0.1:6390", "thread 0"),
            ("0.0.0.0:6391", "thread 1"),
        ] {
            let why =
                check(&own, [("--http-listen", door.parse().expect("an address"))].into_iter())
                    .expect_err(door);
            let head = format!("--http-listen cannot be {door}: that is the port of {taken}");
            assert!(why.to_string().starts_with(&head), "{why}");
        }
        for (own, door) in [
            (own, "127.0.0.1:6392"),
            (settings("127.0.0.1:6389", 1, None), "127.0.0.1:6390"),
            (settings("127.0.0.1:6389", 2, None), "127.0.0.2:6390"),
            (settings("127.0.0.1:6389", 2, Some(7000)), "127.0.0.1:6390"),
            (settings("127.0.0.1:0", 2, None), "127.0.0.1:1"),
            (settings("127.0.0.1:0", 2, Some(0)), "127.0.0.1:0"),
        ] {
            let allowed =
                check(&own, [("--http-listen", door.parse().expect("an address"))].into_iter());
            allowed.expect(door);
        }
        let own = settings("127.0.0.1:6389", 2, Some(6388));
        let why = check(&own, std::iter::empty()).expect_err("the second thread has the main port");
        assert!(why.to_string().starts_with("thread 1"), "{why}");
    }
}
