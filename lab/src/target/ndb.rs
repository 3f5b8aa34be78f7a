//! MySQL NDB: data nodes, the management server that configures them, and the client of `lab/ndb`, all built from
//! source by `scripts/install-tools.sh ndb`.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use super::{Durability, Target};
use crate::process::ServerCommand;
use crate::wire::Wire;

/// Build directory, below the repository.
const BUILT: &str = ".cache/ndb/bin";
const DATA_NODE: &str = "ndbmtd";
/// Program that starts the management server, or runs as the client.
const OURS: &str = "scurry-ndb";
/// Port offsets from the first data node; the other data nodes use the ports between.
const MANAGER_PORT: u16 = 8;
const CLIENT_PORT: u16 = 16;

/// Servers of NDB beside its data nodes.
#[derive(Clone, Debug)]
pub struct NdbPlan {
    /// Management server that configures the data nodes. It must run before they start.
    pub manager: ServerCommand,
    /// Client that relays for the lab.
    pub client: ServerCommand,
}

impl Target {
    /// Reports whether the target is MySQL NDB, with any kind of load.
    pub fn is_ndb(self) -> bool {
        matches!(self, Target::Ndb | Target::NdbClient)
    }
}

/// Returns the program of a data node, searched from the working directory upwards.
pub(super) fn data_node() -> Option<PathBuf> {
    let here = std::env::current_dir().ok()?;
    let built = |above: &Path| Some(above.join(BUILT)).filter(|path| path.join(OURS).is_file());
    here.ancestors().find_map(built).map(|path| path.join(DATA_NODE))
}

/// Returns the arguments of the data node at this address; the fleet replaces the node id, counted from 1.
pub(super) fn node(address: SocketAddr) -> Vec<String> {
    let mut manager = address;
    manager.set_port(address.port() + MANAGER_PORT);
    let words = ["--no-defaults", "--foreground", "--initial", "--ndb-nodeid=1"];
    let manager = format!("--ndb-connectstring={manager}");
    words.into_iter().map(str::to_owned).chain([manager]).collect()
}

/// Returns the servers beside `nodes` data nodes that keep `copies` copies of everything.
pub(crate) fn beside(
    first: &ServerCommand,
    nodes: u32,
    copies: u32,
    durability: Durability,
    core: Option<usize>,
) -> NdbPlan {
    let at = |behind: u16| {
        let mut address = first.address;
        address.set_port(address.port() + behind);
        address
    };
    let program = first.program.with_file_name(OURS);
    let command = |words: Vec<String>, address, wire| ServerCommand {
        program: program.clone(),
        arguments: words.into_iter().map(Into::into).collect(),
        cores: core.into_iter().collect(),
        address,
        wire,
        ..first.clone()
    };
    let port = |address: SocketAddr| address.port().to_string();
    let (manager, client) = (at(MANAGER_PORT), at(CLIENT_PORT));
    let word = durability.word().to_owned();
    let numbers = [nodes.to_string(), copies.to_string()];
    let mut manages = vec!["manage".to_owned(), port(manager), port(first.address)];
    manages.extend(numbers);
    manages.push(word.clone());
    let serves = vec!["serve".to_owned(), port(client), port(manager), word];
    NdbPlan {
        manager: command(manages, manager, Wire::Foreign),
        client: command(serves, client, Wire::Locked),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_data_nodes_and_those_beside_them_find_each_other() {
        let address = SocketAddr::from(([127, 0, 0, 1], 20_000));
        let first = ServerCommand {
            program: "/x/ndbmtd".into(),
            arguments: node(address).into_iter().map(Into::into).collect(),
            cores: vec![1],
            address,
            wire: Wire::Foreign,
            place: "p".into(),
            files: &[],
        };
        let plan = beside(&first, 2, 2, Durability::Checkpoint, Some(0));
        let lines = [&first, &plan.manager, &plan.client].map(|one| one.words().join(" "));
        let expected = [
            "ndbmtd --no-defaults --foreground --initial --ndb-nodeid=1 \
             --ndb-connectstring=127.0.0.1:20008",
            "scurry-ndb manage 20008 20000 2 2 checkpoint",
            "scurry-ndb serve 20016 20008 checkpoint",
        ];
        assert_eq!(lines, expected);
        assert_eq!((plan.client.wire, plan.client.cores), (Wire::Locked, vec![0]));
    }
}
