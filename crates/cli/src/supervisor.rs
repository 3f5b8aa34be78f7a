//! Notifies the supervisor that started this process (systemd's `Type=notify`). Recovery takes as long as the log is,
//! and units that need the store should wait until it serves.

use anyhow::{Context, Result};
use std::ffi::OsStr;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

const SOCKET: &str = "NOTIFY_SOCKET";
/// Notification of a server that serves, with the settings that it last read.
pub(crate) const READY: &[u8] = b"READY=1";
/// Notification of a server that is reading users and certificates again.
pub(crate) const RELOADING: &[u8] = b"RELOADING=1";

/// Sends a notification, if a supervisor has asked for them.
pub(crate) fn tell(word: &[u8]) -> Result<()> {
    match std::env::var_os(SOCKET) {
        Some(name) => send(&name, word).context("cannot tell the supervisor how the server is"),
        None => Ok(()),
    }
}

/// Sends to a socket. A name that begins with `@` is in the abstract namespace, which has no files.
fn send(name: &OsStr, word: &[u8]) -> Result<()> {
    let address = match name.as_bytes() {
        [b'@', rest @ ..] => SocketAddr::from_abstract_name(rest)?,
        _ => SocketAddr::from_pathname(name)?,
    };
    UnixDatagram::unbound()?.send_to_addr(word, &address)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_supervisor_hears_of_it_by_a_path_and_by_an_abstract_name() {
        let home = tempfile::tempdir().expect("a directory");
        let path = home.path().join("notify");
        let of_path = UnixDatagram::bind(&path).expect("a socket");
        let name = format!("scurry-ready-{}", std::process::id());
        let address = SocketAddr::from_abstract_name(&name).expect("a name");
        let of_name = UnixDatagram::bind_addr(&address).expect("a socket");
        send(path.as_os_str(), READY).expect("it is sent");
        send(format!("@{name}").as_ref(), READY).expect("it is sent");
        for socket in [of_path, of_name] {
            let mut said = [0; 16];
            let len = socket.recv(&mut said).expect("a word");
            assert_eq!(&said[..len], READY);
        }
        assert!(send(home.path().join("absent").as_os_str(), READY).is_err());
    }
}
