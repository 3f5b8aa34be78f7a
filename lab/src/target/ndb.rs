//! MySQL NDB: data nodes, the management server that tells them what they are, and the client of
//! `lab/ndb`, all of which `scripts/install-tools.sh ndb` builds from source.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use super::{Durability, Target};
use crate::process::ServerCommand;
use crate::wire::Wire;

/// Where the step puts it, below the repository.
const BUILT: &str = ".cache/ndb/bin";
const DATA_NODE: &str = "ndbmtd";
/// The management server's beginning, and the client.
const OURS: &str = "scurry-ndb";
/// Ports, counted from that of the first data node; the other data nodes have those between.
const MANAGER_PORT: u16 = 8;
const CLIENT_PORT: u16 = 16;

/// Servers of NDB beside its data nodes, and who speaks for all.
#[derive(Clone, Debug)]
pub struct NdbPlan {
    /// Server that tells the data nodes what they are. It must be there before them.
    pub manager: ServerCommand,
    /// Client, which the lab speaks to.
    pub client: ServerCommand,
}

impl Target {
    /// True of MySQL NDB, whatever it is loaded with.
    pub fn is_ndb(self) -> bool {
        matches!(self, Target::Ndb | Target::NdbClient)
    }
}

/// The program of a data node, looked for from the working directory upwards.
pub(super) fn data_node() -> Option<PathBuf> {
    let here = std::env::current_dir().ok()?;
    let built = |above: &Path| Some(above.join(BUILT)).filter(|path| path.join(OURS).is_file());
    here.ancestors().find_map(built).map(|path| path.join(DATA_NODE))
}

/// The arguments of the data node at this address, which the fleet counts from 1.
pub(super) fn node(address: SocketAddr) -> Vec<String> {
    let mut manager = address;
    manager.set_port(address.port() + MANAGER_PORT);
    let words = ["--no-defaults", "--foreground", "--initial", "--ndb-nodeid=1"];
    let manager = format!("--ndb-connectstring={manager}");
    words.into_iter().map(str::to_owned).chain([manager]).collect()
}

/// The servers beside the data nodes, of which there are so many with as many copies of everything.
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
