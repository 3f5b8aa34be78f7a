//! The thread that writes and syncs a core's log: one batch at a time, while the core goes on. Between batches it
//! prepares the next segment and fills it.

use crate::mail::bell::CoreWaker;
use scurry_disk::Directory;
use scurry_engine::{Batch, LogSpace, LogWriter};
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

/// Orders to the log's thread. At most one batch and one try to prepare a segment are under way.
enum LogOrder {
    Write(Batch),
    /// Try again to prepare the next segment.
    SetAhead,
}

/// Reports of the log's thread.
pub(super) enum LogReport {
    /// The result of writing and syncing a batch.
    Done(Batch, io::Result<()>),
    /// The result of preparing the next segment.
    Ahead(LogSpace, io::Result<()>),
}

/// The core's handle of the log's thread.
pub(super) struct LogThread {
    orders: Sender<LogOrder>,
    said: Receiver<LogReport>,
    /// A report that `has_news` or `wait` has received and `news` has not returned yet.
    stash: Option<LogReport>,
}

impl LogThread {
    pub(super) fn start(
        core: u32,
        mut writer: LogWriter<Directory>,
        bell: Arc<CoreWaker>,
    ) -> io::Result<LogThread> {
        let (orders, work) = channel::<LogOrder>();
        let (tell, said) = channel();
        thread::Builder::new().name(format!("log-{core}")).spawn(move || {
            let mut gave_up = writer.room().ahead == 0;
            while let Ok(order) = work.recv() {
                let is_batch = matches!(order, LogOrder::Write(_));
                if let LogOrder::Write(mut batch) = order {
                    let outcome = batch.run(&mut writer);
                    if tell.send(LogReport::Done(batch, outcome)).is_err() {
                        return;
                    }
                    bell.ring();
                }
                // After a failure the core decides when to try again.
                if is_batch && gave_up {
                    continue;
                }
                let before = writer.room().ahead;
                let outcome = writer.fill_ahead();
                gave_up = outcome.is_err();
                if gave_up || !is_batch || writer.room().ahead != before {
                    if tell.send(LogReport::Ahead(writer.room(), outcome)).is_err() {
                        return;
                    }
                    bell.ring();
                }
            }
        })?;
        Ok(LogThread { orders, said, stash: None })
    }

    pub(super) fn give(&mut self, batch: Batch) {
        self.order(LogOrder::Write(batch));
    }

    /// Asks for another try to prepare the next segment.
    pub(super) fn set_ahead(&mut self) {
        self.order(LogOrder::SetAhead);
    }

    fn order(&mut self, order: LogOrder) {
        if self.orders.send(order).is_err() {
            tracing::error!("the log's thread has ended");
        }
    }

    pub(super) fn news(&mut self) -> Option<LogReport> {
        self.stash.take().or_else(|| self.said.try_recv().ok())
    }

    pub(super) fn has_news(&mut self) -> bool {
        self.stash = self.news();
        self.stash.is_some()
    }

    /// Waits for a report.
    pub(super) fn wait(&mut self) {
        if self.stash.is_none() {
            self.stash = self.said.recv().ok();
        }
    }
}
