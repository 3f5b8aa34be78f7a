//! Requests: as many as the depth allows, or as many as are due.

use anyhow::Result;

use super::connection::COPIES;
use super::{LoadStage, Loader};
use crate::resp::encode;
use crate::workload::Workload;

/// Timeout of a WAIT, milliseconds.
const COPIES_PATIENCE_MS: &str = "1000";

impl<W: Workload> Loader<'_, W> {
    /// Sends the due requests, on one connection after the other, and returns when the next request is due. A request
    /// without a free session is sent as soon as there is one, and its latency counts from when it was due.
    pub(super) fn send_due(&mut self, now: u64) -> Result<u64> {
        let Some(pace) = self.pace else { return Ok(u64::MAX) };
        let mut due = pace.due(now, self.plan.sessions as usize);
        let mut passed = 0;
        // Stop after one full turn in which no connection could send.
        while due > 0 && passed < self.connections.len() {
            let count = self.send_some(self.turn, due)?;
            due -= count;
            passed = if count == 0 { passed + 1 } else { 0 };
            self.turn = (self.turn + 1) % self.connections.len();
        }
        // Requests that are still overdue are tried again after the next event.
        Ok(if due > 0 { u64::MAX } else { self.pace.map_or(u64::MAX, |pace| pace.time_of(0)) })
    }

    /// Writes as many requests as the depth allows, in one go, in a closed loop.
    pub(super) fn send(&mut self, index: usize) -> Result<()> {
        if self.pace.is_some() && self.stage != LoadStage::Closing {
            return Ok(());
        }
        self.send_some(index, usize::MAX).map(drop)
    }

    /// Writes up to `most` requests and returns how many.
    fn send_some(&mut self, index: usize, most: usize) -> Result<usize> {
        let connection = &mut self.connections[index];
        if self.stage == LoadStage::Draining || connection.is_blocked() {
            return Ok(0);
        }
        self.out.clear();
        self.translated.clear();
        let mut count = 0;
        while connection.depth() < self.plan.depth as usize && count < most {
            let Some(session) = connection.next_ready() else { break };
            let out = match connection.translator {
                Some(_) => &mut self.translated,
                None => &mut self.out,
            };
            let operation = if self.stage == LoadStage::Closing {
                self.workload.emit_closing(session, out)
            } else {
                Some(self.workload.emit(session, out))
            };
            if let Some(operation) = operation {
                if let Some(translator) = &mut connection.translator {
                    translator.request(session, &self.translated, &mut self.out);
                    self.translated.clear();
                }
                connection.sending(session, operation);
                count += 1;
            }
        }
        if count == 0 {
            return Ok(0);
        }
        if let Some(translator) = &mut connection.translator {
            translator.flush(&mut self.out);
        }
        let was_quiet = self.in_flight == 0;
        self.in_flight += count as u64;
        let now = self.clock.nanos();
        match &mut self.pace {
            Some(pace) if self.stage != LoadStage::Closing => {
                // Latency counts from when each request was due, not from when it was written.
                connection.stamp(count, now, |number| pace.time_of(number));
                pace.sent(count);
            }
            _ => connection.stamp(count, now, |_| now),
        }
        // One WAIT covers everything that is written in this go.
        if let Some(copies) = self.plan.copies.filter(|_| self.stage != LoadStage::Closing) {
            self.out.extend(encode(&["WAIT", &(copies - 1).to_string(), COPIES_PATIENCE_MS]));
            connection.sending(COPIES, 0);
            self.in_flight += 1;
        }
        // The silence timeout counts from the last answer, or from the first request after a pause.
        if was_quiet {
            self.answered_at = now;
        }
        connection.write(&self.out, &self.epoll)?;
        Ok(count)
    }
}
