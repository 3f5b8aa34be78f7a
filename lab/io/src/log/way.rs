//! The ways to write a batch and make it durable.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use anyhow::Result;
use clap::ValueEnum;
use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};

use crate::memory::Aligned;
use crate::ring::Ring;
use crate::thread::Thread;

/// One way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Way {
    /// `pwrite`, not synced: the durability `write`.
    Write,
    /// `pwrite`, then `fdatasync`.
    WriteSync,
    /// `pwrite` to a file that was opened with `O_DSYNC`.
    WriteDsync,
    /// `pwrite` past the cache, padded to blocks, then `fdatasync`.
    DirectSync,
    /// The same with `O_DSYNC` in place of the second call.
    DirectDsync,
    /// io_uring: a write and, linked to it, a sync of data.
    RingSync,
    /// The same past the cache.
    RingDirectSync,
    /// io_uring: one write past the cache to a file that was opened with `O_DSYNC`.
    RingDirectDsync,
    /// `write-sync` on a thread of its own, with handing over and waiting for it.
    ThreadSync,
    /// `direct-sync` on a thread of its own.
    ThreadDirectSync,
}

impl Way {
    /// The name in tables and arguments.
    pub(crate) fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }

    /// True when it writes past the cache, so that whole blocks must be written.
    pub(crate) fn is_direct(self) -> bool {
        use Way::{DirectDsync, DirectSync, RingDirectDsync, RingDirectSync, ThreadDirectSync};
        matches!(
            self,
            DirectSync | DirectDsync | RingDirectSync | RingDirectDsync | ThreadDirectSync
        )
    }

    fn is_dsync(self) -> bool {
        matches!(self, Way::WriteDsync | Way::DirectDsync | Way::RingDirectDsync)
    }

    /// Opens a file that is there. To be called on the thread that writes.
    pub(crate) fn open(self, path: &Path) -> Result<Writer> {
        let mut flags = OFlags::empty();
        flags.set(OFlags::DIRECT, self.is_direct());
        flags.set(OFlags::DSYNC, self.is_dsync());
        let flags = flags.bits().cast_signed();
        let file = OpenOptions::new().write(true).custom_flags(flags).open(path)?;
        let syncs = matches!(self, Way::WriteSync | Way::DirectSync);
        Ok(match self {
            Way::RingSync | Way::RingDirectSync => Writer::Ring(Box::new(Ring::new(file, true)?)),
            Way::RingDirectDsync => Writer::Ring(Box::new(Ring::new(file, false)?)),
            Way::ThreadSync | Way::ThreadDirectSync => Writer::Thread(Thread::start(file)),
            _ => Writer::Calls { file, syncs },
        })
    }
}

/// A file that is written in one of the ways.
pub(crate) enum Writer {
    Calls { file: File, syncs: bool },
    Ring(Box<Ring>),
    Thread(Thread),
}

impl Writer {
    /// Writes a batch; returns when it is as durable as the way makes it.
    pub(crate) fn write(&mut self, offset: u64, batch: &mut Aligned) -> Result<()> {
        match self {
            Writer::Calls { file, syncs } => {
                file.write_all_at(batch.bytes(), offset)?;
                if *syncs {
                    file.sync_data()?;
                }
                Ok(())
            }
            Writer::Ring(ring) => ring.write(offset, batch.bytes()),
            Writer::Thread(thread) => thread.write(offset, batch),
        }
    }
}
