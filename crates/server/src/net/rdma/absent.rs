//! RDMA in a build without the feature `rdma`: the names of `crate::net::rdma`, and no value of any of them, so
//! that nothing else of the server has to know how it was built.

use crate::net::buffer::Buffers;
use crate::net::port::Port;
use crate::net::transport::{Arrival, Transport};
use crate::settings::{RdmaSettings, Settings, StartError};
use mio::{Registry, Token};
use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;

/// A setup, a core's share, a connection or a request for one: nobody can make any of them.
#[derive(Debug)]
pub(crate) enum Absent {}

pub(crate) use Absent as RdmaSetup;
pub(crate) use Absent as CoreRdma;
pub(crate) use Absent as Rdma;
pub(crate) use Absent as Welcome;

impl Absent {
    pub(crate) fn open(
        settings: RdmaSettings,
        _: Port,
        _: &Settings,
    ) -> Result<Absent, StartError> {
        match settings {}
    }

    pub(crate) fn address(&self) -> SocketAddr {
        match *self {}
    }

    pub(crate) fn cores(self, _: u16, _: usize) -> Result<Vec<Absent>, StartError> {
        match self {}
    }

    pub(crate) fn register(&self, _: &Registry, _: [Token; 3]) -> io::Result<()> {
        match *self {}
    }

    pub(crate) fn stop_listening(&mut self, _: &Registry) {
        match *self {}
    }

    pub(crate) fn forget(&mut self, _: &mut Absent) {
        match *self {}
    }

    pub(crate) fn take_fault(&mut self) -> Option<Infallible> {
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

impl Transport for Absent {
    fn progress(&mut self, _: &mut Buffers, _: usize) -> io::Result<Arrival> {
        match *self {}
    }

    fn input(&self) -> &[u8] {
        match *self {}
    }

    fn parts(&mut self, _: &mut Buffers) -> (&[u8], &mut Vec<u8>) {
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

    fn release(&mut self, _: &mut Buffers) {
        match *self {}
    }

    fn finish(&mut self) {
        match *self {}
    }
}
