//! Which nodes keep an id: rendezvous hashing. The rank of a node for an id depends on node and id alone, and the nodes
//! with the highest ranks keep the id. So the nodes for a smaller `from` are among those for a larger one, and the
//! order of `--nodes` does not matter.

use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

/// The nodes, as hash seeds.
pub(crate) struct Placement {
    /// A hash of each node's address.
    seeds: Vec<u64>,
}

impl Placement {
    pub(crate) fn new<'a>(addresses: impl Iterator<Item = &'a str>) -> Placement {
        Placement { seeds: addresses.map(|address| xxh3_64(address.as_bytes())).collect() }
    }

    /// Returns the indexes of the `from` nodes with the highest ranks for this id, highest first.
    pub(crate) fn nodes(&self, id: &[u8], from: usize) -> Vec<usize> {
        let mut ranks: Vec<(u64, usize)> = self
            .seeds
            .iter()
            .enumerate()
            .map(|(node, &seed)| (xxh3_64_with_seed(id, seed), node))
            .collect();
        ranks.sort_unstable_by(|a, b| b.cmp(a));
        ranks.into_iter().take(from).map(|(_, node)| node).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NODES: [&str; 5] = ["a:1", "b:2", "c:3", "d:4", "e:5"];

    #[test]
    fn fewer_copies_are_on_some_of_the_nodes_of_more() {
        let placement = Placement::new(NODES.into_iter());
        for id in 0..1_000_u32 {
            let all = placement.nodes(&id.to_le_bytes(), 5);
            for from in 1..5 {
                assert_eq!(placement.nodes(&id.to_le_bytes(), from), all[..from]);
            }
        }
    }

    #[test]
    fn the_order_in_which_nodes_are_named_does_not_matter() {
        let turned: Vec<&str> = NODES.into_iter().rev().collect();
        let (one, other) =
            (Placement::new(NODES.into_iter()), Placement::new(turned.iter().copied()));
        for id in 0..1_000_u32 {
            let names = |nodes: &[&'static str], at: Vec<usize>| -> Vec<&str> {
                at.into_iter().map(|node| nodes[node]).collect()
            };
            let here = names(&NODES, one.nodes(&id.to_le_bytes(), 3));
            assert_eq!(here, names(&turned, other.nodes(&id.to_le_bytes(), 3)));
        }
    }

    #[test]
    fn every_node_is_first_for_its_share() {
        let placement = Placement::new(NODES.into_iter());
        let mut firsts = [0; 5];
        for id in 0..10_000_u32 {
            firsts[placement.nodes(&id.to_le_bytes(), 1)[0]] += 1;
        }
        assert!(firsts.iter().all(|&count| (1_800..2_200).contains(&count)), "{firsts:?}");
    }
}
