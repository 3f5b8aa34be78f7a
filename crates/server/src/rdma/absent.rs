//! RDMA in a build without the feature `rdma`: the names of `crate::rdma`, and no value of any of them, so
//! that nothing else of the server has to know how it was built.

use crate::pool::Pool;
use crate::port::Port;
use crate::transport::{Arrival, Transport};
use crate::{Settings, StartError};
use mio::{Registry, Token};
use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;

/// How the server speaks RDMA; this build does not.
#[derive(Clone, Copy, Debug)]
pub enum RdmaSettings {}

pub(crate) type Fault = Infallible;
pub(crate) type Welcome = Infallible;

pub(crate) enum Door {}

impl Door {
    pub(crate) fn open(settings: RdmaSettings, _: Port, _: &Settings) -> Result<Door, StartError> {
        match settings {}
    }

    pub(crate) fn address(&self) -> SocketAddr {
        match *self {}
    }

    pub(crate) fn places(self, _: u16, _: usize) -> Result<Vec<Place>, StartError> {
        match self {}
    }
}

pub(crate) enum Place {}

impl Place {
    pub(crate) fn register(&self, _: &Registry, _: [Token; 3]) -> io::Result<()> {
        match *self {}
    }

    pub(crate) fn stop_listening(&mut self, _: &Registry) {
        match *self {}
    }

    pub(crate) fn forget(&mut self, _: &mut Rdma) {
        match *self {}
    }
}

/// Counts of RDMA, all of them 0.
#[derive(Clone, Debug, Default)]
pub(crate) struct RdmaReport {
    pub(crate) connections: u64,
    pub(crate) pinned_bytes: u64,
}

impl RdmaReport {
    pub(crate) fn add(&mut self, _: &RdmaReport) {}

    pub(crate) fn lines(&self) -> [(&'static str, &'static str, u64); 0] {
        []
    }
}

pub(crate) enum Rdma {}

impl Rdma {
    pub(crate) fn take_fault(&mut self) -> Option<Fault> {
        match *self {}
    }
}

impl Transport for Rdma {
    fn progress(&mut self, _: &mut Pool, _: usize) -> io::Result<Arrival> {
        match *self {}
    }

    fn input(&self) -> &[u8] {
        match *self {}
    }

    fn parts(&mut self, _: &mut Pool) -> (&[u8], &mut Vec<u8>) {
        match *self {}
    }

    fn consume(&mut self, _: usize) {
        match *self {}
    }

    fn commit(&mut self) {
        match *self {}
    }

    fn publish(&mut self) -> io::Result<bool> {
        match *self {}
    }

    fn unsent(&self) -> usize {
        match *self {}
    }

    fn memory_bytes(&self) -> u64 {
        match *self {}
    }

    fn settle(&mut self, _: &mut Pool) {
        match *self {}
    }

    fn finish(&mut self) {
        match *self {}
    }
}
