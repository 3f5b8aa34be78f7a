//! The thread that writes and syncs a core's log: one batch at a time, while the core goes on.
//! Between batches it fills the next segment.

use crate::mesh::Bell;
use scurry_disk::Directory;
use scurry_engine::{Batch, LogWriter};
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

type Done = (Batch, io::Result<()>);

/// The core's end of it.
pub(super) struct Clerk {
    batches: SyncSender<Batch>,
    done: Receiver<Done>,
    /// Looked at and not taken yet.
    stash: Option<Done>,
}

impl Clerk {
    pub(super) fn start(
        core: u32,
        mut writer: LogWriter<Directory>,
        bell: Arc<Bell>,
    ) -> io::Result<Clerk> {
        // One batch is under way at most.
        let (batches, work) = sync_channel::<Batch>(1);
        let (tell, done) = sync_channel(1);
        thread::Builder::new().name(format!("log-{core}")).spawn(move || {
            while let Ok(mut batch) = work.recv() {
                let outcome = batch.run(&mut writer);
                if tell.send((batch, outcome)).is_err() {
                    return;
                }
                bell.ring();
                if let Err(error) = writer.fill_ahead() {
                    tracing::warn!("no segment of the log was made ready ahead: {error}");
                }
            }
        })?;
        Ok(Clerk { batches, done, stash: None })
    }

    pub(super) fn give(&mut self, batch: Batch) {
        if self.batches.send(batch).is_err() {
            tracing::error!("the log's thread has ended");
        }
    }

    pub(super) fn news(&mut self) -> Option<Done> {
        self.stash.take().or_else(|| self.done.try_recv().ok())
    }

    pub(super) fn has_news(&mut self) -> bool {
        self.stash = self.news();
        self.stash.is_some()
    }

    /// Waits for news.
    pub(super) fn wait(&mut self) {
        if self.stash.is_none() {
            self.stash = self.done.recv().ok();
        }
    }
}
