//! Replies: read from a connection, processed one after the other, and counted.

use std::io::ErrorKind;

use anyhow::{Context, Result, bail, ensure};

use super::connection::COPIES;
use super::{LoadStage, Loader};
use crate::resp::{Stop, Value, skip};
use crate::wire::{Sink, Step};
use crate::workload::Workload;

/// Longest reply, bytes.
const READ_BUFFER_MAX: usize = 64 * 1_048_576;

impl<W: Workload> Loader<'_, W> {
    /// Reads once and processes every complete reply. Returns true when the read filled the buffer, so that there may
    /// be more.
    pub(super) fn receive(&mut self, index: usize) -> Result<bool> {
        let connection = &mut self.connections[index];
        let kept = connection.take_unread(&mut self.received);
        let count = match connection.read(&mut self.received[kept..]) {
            Ok(0) => bail!("the server closed a connection under load"),
            Ok(count) => count,
            Err(error) if error.kind() == ErrorKind::WouldBlock => 0,
            Err(error) => return Err(error).context("reading replies"),
        };
        let now = self.clock.nanos();
        self.answered_at = now;
        if connection.translator.is_some() {
            return self.receive_translated(index, kept + count, now).map(|()| false);
        }
        let bytes = &self.received[..kept + count];
        let mut at = 0;
        while let Some(request) = connection.oldest() {
            // The WAIT covers the requests before it, which count as answered only now.
            if request.session == COPIES {
                let Ok(length) = skip(&bytes[at..]) else { break };
                let copies = reply_copies(&bytes[at..at + length])?;
                let is_enough = self.plan.copies.is_none_or(|wanted| copies >= wanted);
                for request in connection.acknowledged() {
                    self.recorder.record(&request, now);
                    self.recorder.not_enough(u64::from(!is_enough));
                }
                at += length;
                self.in_flight -= 1;
                continue;
            }
            match self.workload.accept(request.session, &bytes[at..]) {
                Ok(length) => {
                    at += length;
                    // The reply is here, but the WAIT after it tells whether enough copies exist.
                    if self.plan.copies.is_some() && self.stage != LoadStage::Closing {
                        connection.hold();
                    } else {
                        self.recorder.record(&request, now);
                        connection.answered();
                    }
                    self.in_flight -= 1;
                }
                Err(Stop::Incomplete) => break,
                Err(Stop::Malformed) => bail!(
                    "a reply is not what was asked for: {}",
                    bytes[at..].iter().take(80).copied().collect::<Vec<u8>>().escape_ascii()
                ),
            }
        }
        // Bytes may be left over only when a request still waits for its reply.
        ensure!(
            at == bytes.len() || connection.oldest().is_some(),
            "the server sent more than was asked for"
        );
        connection.keep_unread(&bytes[at..]);
        let is_full = kept + count == self.received.len();
        self.grow(kept + count, at)?;
        Ok(is_full)
    }

    /// Grows the buffer when one incomplete reply fills it.
    fn grow(&mut self, filled: usize, taken: usize) -> Result<()> {
        if filled == self.received.len() && taken == 0 {
            ensure!(
                self.received.len() < READ_BUFFER_MAX,
                "a reply is longer than {READ_BUFFER_MAX} bytes"
            );
            self.received.resize(2 * self.received.len(), 0);
        }
        Ok(())
    }

    /// Processes every complete reply of a target that does not speak RESP and may answer out of order.
    fn receive_translated(&mut self, index: usize, filled: usize, now: u64) -> Result<()> {
        let connection = &mut self.connections[index];
        let bytes = &self.received[..filled];
        let mut at = 0;
        self.out.clear();
        while let Some(translator) = connection.translator.as_mut().filter(|_| at < filled) {
            self.translated.clear();
            let mut sink = Sink { reply: &mut self.translated, again: &mut self.out };
            let session = match translator.reply(&bytes[at..], &mut sink) {
                Ok((length, step)) => {
                    at += length;
                    let Step::Answer(session) = step else { continue };
                    session
                }
                Err(Stop::Incomplete) => break,
                Err(Stop::Malformed) => bail!("a reply is not what the target's protocol says"),
            };
            let request = connection.answered_by(session);
            let request = request.context("the server answered what was not asked")?;
            let read = self.workload.accept(session, &self.translated);
            ensure!(
                read == Ok(self.translated.len()),
                "a reply is not what was asked for: {}",
                self.translated.escape_ascii()
            );
            self.recorder.record(&request, now);
            self.in_flight -= 1;
        }
        connection.keep_unread(&bytes[at..]);
        // Send the further requests that these replies made necessary.
        if let Some(translator) = &mut connection.translator {
            translator.flush(&mut self.out);
        }
        if !self.out.is_empty() {
            connection.write(&self.out, &self.epoll)?;
        }
        self.grow(filled, at)
    }
}

/// Returns the number of copies from the reply to WAIT, which counts replicas.
fn reply_copies(reply: &[u8]) -> Result<u32> {
    let (_, value) = Value::read(reply)?;
    let replicas = value.integer().and_then(|replicas| u32::try_from(replicas).ok());
    Ok(1 + replicas.with_context(|| format!("WAIT answers {value}"))?)
}
