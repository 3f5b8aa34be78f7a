//! The seeds as ordinary tests, for any compiler: each unchanged, and with a few bytes changed.

use scurry_fuzz::{PROPERTIES, Random};
use std::path::{Path, PathBuf};

/// Changed copies of each seed.
const VARIANTS: u64 = 200;
/// Most bytes of all seeds together, because they are in git.
const SEEDS_LEN_MAX: usize = 50 * 1024;

fn seeds(name: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("seeds").join(name);
    let entries = directory.read_dir().expect("every property has seeds");
    let mut seeds: Vec<(PathBuf, Vec<u8>)> = entries
        .map(|entry| entry.expect("an entry").path())
        .map(|path| (path.clone(), std::fs::read(path).expect("a seed")))
        .collect();
    seeds.sort();
    seeds
}

/// Replaces, removes or moves a few bytes.
fn changed(seed: &[u8], variant: u64) -> Vec<u8> {
    let (mut bytes, mut random) = (seed.to_vec(), Random::new(variant));
    for _ in 0..=random.below(4) {
        let (from, at) = (random.below(bytes.len()), random.below(bytes.len()));
        match random.below(4) {
            _ if bytes.is_empty() => return bytes,
            0 => bytes[at] = u8::try_from(random.below(256)).unwrap_or_default(),
            1 => bytes[at] ^= 1 << random.below(8),
            2 => drop(bytes.drain(at..bytes.len().min(at + 1 + random.below(8)))),
            _ => {
                let end = bytes.len().min(from + 1 + random.below(16));
                let copy = bytes[from..end].to_vec();
                bytes.splice(at..at, copy);
            }
        }
    }
    bytes
}

fn hold(name: &str) {
    let (_, check) =
        PROPERTIES.into_iter().find(|property| property.0 == name).expect("it is known");
    let seeds = seeds(name);
    assert!(seeds.len() >= 3, "{name} has {} seeds", seeds.len());
    for (path, seed) in seeds {
        println!("{}", path.display());
        check(&seed);
        for variant in 0..VARIANTS {
            println!("variant {variant}");
            check(&changed(&seed, variant));
        }
    }
}

#[test]
fn change_holds() {
    hold("change");
}

#[test]
fn chunk_holds() {
    hold("chunk");
}

#[test]
fn diameter_messages_hold() {
    hold("diameter-message");
}

#[test]
fn diameter_peers_hold() {
    hold("diameter-peer");
}

#[test]
fn frame_holds() {
    hold("frame");
}

#[test]
fn commands_hold() {
    hold("commands");
}

#[test]
fn image_holds() {
    hold("image");
}

#[test]
fn inline_holds() {
    hold("inline");
}

#[test]
fn position_holds() {
    hold("position");
}

#[test]
fn rdma_messages_hold() {
    hold("rdma-message");
}

#[test]
fn rdma_peers_hold() {
    hold("rdma-peer");
}

#[test]
fn replica_messages_hold() {
    hold("replica-message");
}

#[test]
fn replies_hold() {
    hold("replies");
}

#[test]
fn requests_hold() {
    hold("requests");
}

#[test]
fn image_seeds_are_images() {
    for (path, seed) in seeds("image") {
        let mut account = scurry_ledger::Account::empty(scurry_ledger::Status::Active);
        let outcome = scurry_codec::decode_account(&seed, &mut account);
        assert_eq!(
            outcome,
            Ok(()),
            "{}: cargo run -p scurry-fuzz --example write_seeds",
            path.display()
        );
    }
}

#[test]
fn seeds_stay_small() {
    let lens = PROPERTIES.iter().flat_map(|(name, _)| seeds(name)).map(|(_, seed)| seed.len());
    let total: usize = lens.sum();
    assert!(total <= SEEDS_LEN_MAX, "{total} bytes of seeds");
}
