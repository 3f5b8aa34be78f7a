//! Writing on a thread of its own, as an event loop that may not wait has it done. The batch goes
//! there and comes back, so nothing is copied.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use anyhow::{Context, Result};

use crate::memory::Aligned;

/// A thread that writes and syncs; it ends when this is dropped.
pub(crate) struct Thread {
    to: Sender<(u64, Aligned)>,
    from: Receiver<Result<Aligned>>,
}

impl Thread {
    pub(crate) fn start(file: File) -> Thread {
        let (to, requests) = channel::<(u64, Aligned)>();
        let (answers, from) = channel();
        thread::spawn(move || {
            for (offset, batch) in requests {
                if answers.send(write(&file, offset, batch)).is_err() {
                    break;
                }
            }
        });
        Thread { to, from }
    }

    pub(crate) fn write(&mut self, offset: u64, batch: &mut Aligned) -> Result<()> {
        self.to.send((offset, std::mem::take(batch))).ok().context("the thread has ended")?;
        *batch = self.from.recv()??;
        Ok(())
    }
}

fn write(file: &File, offset: u64, mut batch: Aligned) -> Result<Aligned> {
    file.write_all_at(batch.bytes(), offset)?;
    file.sync_data()?;
    Ok(batch)
}
