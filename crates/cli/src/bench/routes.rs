//! Maps the connections to the nodes of a cluster, and finds names whose hash slots those nodes own.

use super::client::BenchConnection;
use crate::server_address::ServerAddress;
use anyhow::{Result, ensure};
use scurry_resp::client::Value;
use scurry_resp::slot;
use std::ops::RangeInclusive;
use std::time::SystemTime;

/// Servers that commands are sent to. A server outside of a cluster has a single route.
pub(super) struct Routes(Vec<Route>);

struct Route {
    /// None for the server that the user named.
    address: Option<String>,
    slots: Vec<RangeInclusive<i64>>,
}

impl Routes {
    /// Asks a server for the nodes of its cluster.
    pub(super) fn ask(server: &ServerAddress) -> Result<Routes> {
        let reply = BenchConnection::connect(server)?.ask(&["CLUSTER", "SLOTS"])?;
        if let Value::Error(error) = &reply {
            ensure!(
                !error.starts_with("NOAUTH"),
                "{} wants a password: set SCURRY_PASSWORD, and --user for a user of the settings file ({error})",
                server.address()
            );
        }
        let host = server.address();
        let host = host.rsplit_once(':').map_or("", |(host, _)| host);
        Ok(Routes::read(&reply, host))
    }

    /// Reads the reply to CLUSTER SLOTS. Each range has its first and last slot, then host and port of its primary.
    /// Without ranges the only route is the named server, for all slots.
    fn read(reply: &Value, asked_host: &str) -> Routes {
        let mut routes: Vec<Route> = Vec::new();
        for range in reply.elements() {
            let [first, last, node, ..] = range.elements() else { continue };
            let [host, port, ..] = node.elements() else { continue };
            let (Some(first), Some(last), Some(port)) =
                (first.integer(), last.integer(), port.integer())
            else {
                continue;
            };
            let host = host.text().filter(|host| !host.is_empty()).unwrap_or(asked_host);
            let address = Some(format!("{host}:{port}"));
            match routes.iter_mut().find(|route| route.address == address) {
                Some(route) => route.slots.push(first..=last),
                None => routes.push(Route { address, slots: vec![first..=last] }),
            }
        }
        if routes.is_empty() {
            routes.push(Route { address: None, slots: vec![0..=i64::MAX] });
        }
        Routes(routes)
    }

    /// Returns the server of a connection. Connections are spread over the routes in turn.
    pub(super) fn server_of(&self, named: &ServerAddress, connection: u32) -> ServerAddress {
        match &self.route_of(connection).address {
            Some(address) => named.at(address),
            None => named.clone(),
        }
    }

    /// Returns `count` names for a connection, all of the same length, in slots of its server. Names of different runs
    /// and connections differ.
    pub(super) fn names(&self, run: u32, connection: u32, count: u32) -> Vec<Vec<u8>> {
        let route = self.route_of(connection);
        (0..u32::MAX)
            .map(|number| format!("bench-{run:08x}-{connection:04x}-{number:08x}").into_bytes())
            .filter(|name| {
                let slot = i64::from(slot(name));
                route.slots.iter().any(|slots| slots.contains(&slot))
            })
            .take(count as usize)
            .collect()
    }

    fn route_of(&self, connection: u32) -> &Route {
        &self.0[connection as usize % self.0.len()]
    }
}

/// Returns a number that another run is unlikely to have.
#[expect(clippy::disallowed_methods, reason = "names that another run has not used")]
pub(super) fn run_number() -> u32 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    since.subsec_nanos() ^ std::process::id().rotate_left(16)
}

/// Returns a pseudo-random number below a bound, always the same for the same draw: SplitMix64 (Steele, Lea, Flood
/// 2014).
pub(super) fn spread(draw: u64, bound: usize) -> usize {
    let mut z = draw.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    usize::try_from((z ^ (z >> 31)) % bound.max(1) as u64).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLOTS: &str = "*2|*3|:0|:8191|*2|$0||:7001|*3|:8192|:16383|*2|$9|127.0.0.2|:7002|";

    #[test]
    fn names_lie_in_the_slots_of_their_connections_server() {
        let (_, reply) = Value::read(SLOTS.replace('|', "\r\n").as_bytes()).expect("a reply");
        let routes = Routes::read(&reply, "10.0.0.1");
        let addresses: Vec<_> = routes.0.iter().map(|route| route.address.as_deref()).collect();
        assert_eq!(addresses, [Some("10.0.0.1:7001"), Some("127.0.0.2:7002")]);
        for connection in 0..4 {
            let names = routes.names(7, connection, 50);
            assert_eq!(names.len(), 50);
            assert!(names.iter().all(|name| (slot(name) < 8_192) == (connection % 2 == 0)));
        }
    }

    #[test]
    fn a_server_without_a_cluster_has_all_names() {
        for reply in [Value::Array(Vec::new()), Value::Error("ERR no".to_owned())] {
            let routes = Routes::read(&reply, "10.0.0.1");
            assert_eq!(
                routes.names(7, 3, 2).concat(),
                b"bench-00000007-0003-00000000bench-00000007-0003-00000001"
            );
        }
    }

    #[test]
    fn draws_stay_below_the_bound_and_reach_all_of_it() {
        let mut seen = [false; 10];
        (0..1_000).for_each(|draw| seen[spread(draw, 10)] = true);
        assert_eq!(seen, [true; 10]);
    }
}
