//! The tools for data directories, run as they are typed, on directories that an engine wrote.

mod backup;
mod damage;
mod data;
mod inspect;
mod live;
mod restore;
mod snapshot;
mod support;
