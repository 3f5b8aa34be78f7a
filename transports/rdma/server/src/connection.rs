//! A connection over RDMA. Requests are copied once out of the window that the peer wrote; replies
//! are sent from the vector that they were formed in, unless the settings say otherwise.

use scurry_rdma::{Connection, Notice};
use scurry_rdma_proto::{Endpoint, Fault, Progress};
use scurry_server::{AdapterConnection, Arrival};
use std::io;

/// A connection, and the reason why it failed.
pub(crate) struct Rdma {
    pub(crate) endpoint: Endpoint<Connection>,
    /// The fault, until it is asked for.
    fault: Option<Fault>,
    finishing: bool,
}

impl Rdma {
    pub(crate) fn new(endpoint: Endpoint<Connection>) -> Rdma {
        Rdma { endpoint, fault: None, finishing: false }
    }

    /// Handles a notice of the device. Afterwards there may be something to read.
    pub(crate) fn notice(&mut self, notice: Notice<'_>, now_ms: i64) {
        let outcome = match notice {
            Notice::Established => self.endpoint.open(now_ms),
            Notice::Event(event) => self.endpoint.event(event, now_ms),
        };
        self.note(outcome);
    }

    fn note(&mut self, outcome: Result<(), Fault>) {
        if let Err(fault) = outcome
            && !matches!(fault, Fault::Gone)
        {
            self.fault.get_or_insert(fault);
        }
    }
}

impl AdapterConnection for Rdma {
    fn progress(&mut self) -> io::Result<Arrival> {
        if self.finishing && self.endpoint.is_finished() {
            return Ok(Arrival::End);
        }
        Ok(match self.endpoint.progress() {
            Progress::More(len) => Arrival::More(len),
            Progress::Drained(len) => Arrival::Drained(len),
            Progress::End => Arrival::End,
        })
    }

    fn input(&self) -> &[u8] {
        self.endpoint.input()
    }

    fn parts(&mut self) -> (&[u8], &mut Vec<u8>) {
        self.endpoint.parts()
    }

    fn consume(&mut self, len: usize) {
        self.endpoint.consume(len);
    }

    fn commit(&mut self) {
        self.endpoint.commit();
    }

    fn publish(&mut self) -> io::Result<bool> {
        match self.endpoint.publish() {
            Ok(all) => Ok(all),
            Err(fault) => {
                let error = io::Error::new(io::ErrorKind::ConnectionAborted, fault.to_string());
                self.note(Err(fault));
                Err(error)
            }
        }
    }

    fn unsent(&self) -> usize {
        self.endpoint.unsent()
    }

    fn memory_bytes(&self) -> u64 {
        self.endpoint.memory_bytes()
    }

    fn release(&mut self) {
        self.endpoint.release_memory();
    }

    fn finish(&mut self) {
        self.finishing = true;
        self.endpoint.finish();
    }

    fn is_writable(&self) -> bool {
        self.endpoint.is_writable()
    }

    fn tick(&mut self, now_ms: i64) -> bool {
        if self.endpoint.next_due_ms().is_none_or(|due_ms| due_ms > now_ms) {
            return false;
        }
        let outcome = self.endpoint.tick(now_ms);
        let failed = outcome.is_err();
        self.note(outcome);
        failed
    }

    /// A peer that disconnects is not a fault.
    fn take_fault(&mut self) -> Option<String> {
        self.fault.take().map(|fault| format!("RDMA: {fault}"))
    }
}
