//! What a running server reports about itself. Rows carry this, not what the lab believes that it started.

use anyhow::{Context, Result};

use super::Target;
use crate::client::Client;

/// Identity that a server reports.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Identity {
    /// Product and version.
    pub version: String,
    /// Durability of acknowledged changes. Scurry and Tarantool report it in INFO; for the others it is `none` without
    /// an append-only file, otherwise their `appendfsync`.
    pub durability: String,
}

impl Target {
    /// Asks a running server for its identity.
    ///
    /// # Errors
    /// When the connection fails, or the server does not report it.
    pub fn identify(self, client: &mut Client) -> Result<Identity> {
        if self.is_echo() {
            let version = format!("scurry-lab {}", env!("CARGO_PKG_VERSION"));
            return Ok(Identity { version, durability: "none".to_owned() });
        }
        let reply = client.call(&["INFO"])?;
        let info = reply.text().unwrap_or_default();
        let version = version(info).context("INFO names no product and version")?;
        let durability = match self {
            _ if self.is_scurry() || self.is_tarantool() || self.has_members() => {
                field(info, "durability").context("INFO names no durability")?.to_owned()
            }
            // Not all servers of the family know these settings.
            _ if self.is_by_address() => setting(client, "appendonly")
                .and_then(|word| {
                    if word == "no" {
                        Ok("none".to_owned())
                    } else {
                        setting(client, "appendfsync")
                    }
                })
                .unwrap_or_else(|_| "unknown".to_owned()),
            _ if setting(client, "appendonly")? == "no" => "none".to_owned(),
            _ => setting(client, "appendfsync")?,
        };
        Ok(Identity { version, durability })
    }
}

fn setting(client: &mut Client, name: &str) -> Result<String> {
    let reply = client.call(&["CONFIG", "GET", name])?;
    let value = reply.elements().get(1).and_then(|value| value.text());
    Ok(value.with_context(|| format!("CONFIG GET {name} answers {reply}"))?.to_owned())
}

fn field<'i>(info: &'i str, name: &str) -> Option<&'i str> {
    info.lines().find_map(|line| line.trim_end().strip_prefix(name)?.strip_prefix(':'))
}

/// Returns the most specific version: every server of the family also reports a version of Redis.
fn version(info: &str) -> Option<String> {
    [
        "scurry",
        "tarantool",
        "hazelcast",
        "tigerbeetle",
        "aerospike",
        "ignite",
        "ndb",
        "dragonfly",
        "keydb",
        "kvrocks",
        "garnet",
        "valkey",
        "redis",
    ]
    .iter()
    .find_map(|product| {
        let version = field(info, &format!("{product}_version"))?;
        Some(format!("{product} {version}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_specific_version_counts() {
        let info = "# Server\r\nredis_version:7.2.4\r\nvalkey_version:8.0.1\r\n";
        assert_eq!(version(info).as_deref(), Some("valkey 8.0.1"));
        assert_eq!(version("durability:fsync\r\n"), None);
        assert_eq!(field("a:1\r\ndurability:fsync\r\n", "durability"), Some("fsync"));
    }
}
