//! The tools for data directories, run as typed, on directories that an engine wrote.

mod backup;
mod damage;
mod data;
mod inspect;
mod live;
mod report;
mod restore;
mod snapshot;
mod state;
mod support;
mod tables;
