//! Properties that must hold for any bytes from outside. Each module has one property, `check`, which panics when the
//! bytes break it. The fuzz targets search for such bytes; the tests run the seed inputs.
#![forbid(unsafe_code)]

pub mod change;
pub mod chunk;
pub mod commands;
pub mod diameter_message;
pub mod diameter_peer;
pub mod frame;
pub mod image;
pub mod inline;
pub mod position;
mod random;
pub mod rdma_message;
pub mod rdma_peer;
pub mod replica_message;
pub mod replies;
pub mod requests;
mod wire;

pub use random::Random;

/// A property; panics when the bytes break it.
pub type Property = fn(&[u8]);

/// All properties, by the names of their fuzz targets and of the directories of their seed inputs.
pub const PROPERTIES: [(&str, Property); 14] = [
    ("change", change::check),
    ("chunk", chunk::check),
    ("commands", commands::check),
    ("diameter-message", diameter_message::check),
    ("diameter-peer", diameter_peer::check),
    ("frame", frame::check),
    ("image", image::check),
    ("inline", inline::check),
    ("position", position::check),
    ("rdma-message", rdma_message::check),
    ("rdma-peer", rdma_peer::check),
    ("replica-message", replica_message::check),
    ("replies", replies::check),
    ("requests", requests::check),
];

/// Checks the files named on the command line.
pub fn replay(check: Property) -> std::io::Result<()> {
    for path in std::env::args_os().skip(1) {
        check(&std::fs::read(&path)?);
        println!("{} holds", path.display());
    }
    Ok(())
}
