//! Writing through io_uring, a batch at a time.
#![expect(unsafe_code, reason = "the kernel reads memory that a submission names")]

use std::fs::File;
use std::os::fd::AsRawFd;

use anyhow::{Result, ensure};
use io_uring::squeue::{Entry, Flags};
use io_uring::{IoUring, opcode, types};

/// Submissions that fit: a write and a sync.
const ENTRIES: u32 = 2;

/// A file and the ring that it is written through.
pub(crate) struct Ring {
    ring: IoUring,
    file: File,
    syncs: bool,
}

impl Ring {
    /// A ring of the calling thread. `syncs`: each write is followed by a sync of data.
    pub(crate) fn new(file: File, syncs: bool) -> Result<Ring> {
        let ring = IoUring::builder().setup_single_issuer().setup_defer_taskrun().build(ENTRIES)?;
        Ok(Ring { ring, file, syncs })
    }

    /// Submits, waits, and looks at what the kernel says: one system call.
    pub(crate) fn write(&mut self, offset: u64, bytes: &[u8]) -> Result<()> {
        let file = types::Fd(self.file.as_raw_fd());
        let len = u32::try_from(bytes.len())?;
        let write = opcode::Write::new(file, bytes.as_ptr(), len).offset(offset).build();
        let sync = opcode::Fsync::new(file).flags(types::FsyncFlags::DATASYNC).build();
        if self.syncs {
            self.wait(&[write.flags(Flags::IO_LINK), sync], len)
        } else {
            self.wait(&[write], len)
        }
    }

    fn wait(&mut self, entries: &[Entry], written: u32) -> Result<()> {
        // SAFETY: the bytes and the file are borrowed until this function has seen all
        // completions, after which the kernel does not look at them.
        unsafe { self.ring.submission().push_multiple(entries)? };
        let mut waiting = entries.len();
        while waiting > 0 {
            match self.ring.submit_and_wait(waiting) {
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                other => drop(other?),
            }
            for completion in self.ring.completion() {
                let result = completion.result();
                ensure!(result >= 0, std::io::Error::from_raw_os_error(-result));
                ensure!(
                    result == 0 || result.cast_unsigned() == written,
                    "a short write of {result} bytes"
                );
                waiting -= 1;
            }
        }
        Ok(())
    }
}
