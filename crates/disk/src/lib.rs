//! Real files: the engine's [`scurry_engine::Disk`] over a directory, and the directory of a whole store, with its
//! lock, its manifest, and the notes of its logs' reach.
#![forbid(unsafe_code)]

mod ballot;
mod directory;
mod durably;
mod fault;
mod file;
mod group_file;
mod lock;
mod manifest;
mod mark;
mod reach;
mod sealed;
mod store;
mod store_error;
mod zeros;

pub use ballot::read_vote;
pub use directory::Directory;
pub use fault::os_error;
pub use file::DiskFile;
pub use group_file::GroupFile;
pub use manifest::{FORMAT, Manifest};
pub use reach::read_least;
pub use store::{Store, order_begin, read_group, read_manifest};
pub use store_error::StoreError;
