//! What a server says about itself when it starts: its version, where and how it keeps what is
//! committed, and who may come in. Whoever looks for a mistake in the settings finds it here.

use scurry_server::{Durability, Settings};
use std::fmt;

/// Two lines.
pub(crate) struct Announcement {
    store: String,
    entry: String,
}

impl Announcement {
    pub(crate) fn new(settings: &Settings) -> Announcement {
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
