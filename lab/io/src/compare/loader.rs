//! A load that costs less than any server under it: one system call per turn for all
//! connections, replies are counted and not copied. Each connection sends as many requests as
//! its depth, waits for all their replies, and sends again; SET and GET take turns.
#![expect(unsafe_code, reason = "what is submitted must stay where it is until its completion")]

use std::net::{SocketAddr, TcpStream};
use std::os::fd::AsRawFd;

use anyhow::{Context, Result, ensure};
use io_uring::squeue::{Entry, Flags};
use io_uring::{IoUring, opcode, types};
use rustix::time::{ClockId, clock_gettime};

use super::case::Case;

const QUEUE_LEN: u32 = 2_048;
const SET_REPLY_LEN: usize = 5;
const GET_REPLY_LEN: usize = 108;
/// `MSG_NOSIGNAL | MSG_WAITALL`: all of it, and no signal when the server has gone.
const SEND_FLAGS: i32 = 0x4000 | 0x100;
/// `MSG_TRUNC | MSG_WAITALL`: all of it, thrown away by the kernel.
const RECEIVE_FLAGS: i32 = 0x20 | 0x100;
/// A server that answers nothing for this long has failed.
const SILENCE: types::Timespec = types::Timespec::new().sec(20);
/// Completions of sends say this; they come for failed sends only.
const SEND: u64 = u64::MAX;

/// What a connection sends at once, and how long the replies are, bytes.
struct Batch {
    requests: Vec<u8>,
    replies_len: u32,
}

impl Batch {
    fn of(request: &[u8], depth: usize, reply_len: usize) -> Result<Batch> {
        let replies_len = u32::try_from(depth * reply_len).context("the depth is too large")?;
        Ok(Batch { requests: request.repeat(depth), replies_len })
    }
}

/// Open connections and what they send.
pub(super) struct Loader {
    // The ring ends first: until then the kernel may read the batches.
    ring: IoUring,
    batches: [Batch; 2],
    streams: Vec<TcpStream>,
    /// Batches that each connection has sent and seen answered.
    turns: Vec<usize>,
    depth: u64,
}

impl Loader {
    /// Connects.
    ///
    /// # Errors
    /// When the server does not accept, or the kernel has no io_uring for us.
    pub(super) fn connect(case: &Case, address: SocketAddr) -> Result<Loader> {
        let depth = case.depth as usize;
        let key = "$16\r\nkey:000000000001\r\n";
        let set = format!("*3\r\n$3\r\nSET\r\n{key}$100\r\n{}\r\n", "x".repeat(100));
        let get = format!("*2\r\n$3\r\nGET\r\n{key}");
        let mut streams = Vec::new();
        for _ in 0..case.connections {
            let stream = TcpStream::connect(address).context("connecting the load")?;
            stream.set_nodelay(true)?;
            streams.push(stream);
        }
        Ok(Loader {
            ring: IoUring::builder()
                .setup_single_issuer()
                .setup_defer_taskrun()
                .setup_submit_all()
                .build(QUEUE_LEN)?,
            batches: [
                Batch::of(set.as_bytes(), depth, SET_REPLY_LEN)?,
                Batch::of(get.as_bytes(), depth, GET_REPLY_LEN)?,
            ],
            turns: vec![0; streams.len()],
            streams,
            depth: u64::from(case.depth),
        })
    }

    /// Sends so many requests. Returns the seconds that they took.
    ///
    /// # Errors
    /// When the server closes a connection, falls silent, or answers in another length.
    pub(super) fn run(&mut self, requests: u64) -> Result<f64> {
        let started = seconds();
        let mut left = requests.div_ceil(self.depth);
        let mut flying = 0u32;
        for index in 0..self.streams.len() {
            if left > 0 {
                self.send(index)?;
                (left, flying) = (left - 1, flying + 1);
            }
        }
        while flying > 0 {
            let arguments = types::SubmitArgs::new().timespec(&SILENCE);
            self.ring.submitter().submit_with_args(1, &arguments).context("awaiting replies")?;
            loop {
                let Some(completion) = self.ring.completion().next() else { break };
                let index = self.answered(completion.user_data(), completion.result())?;
                flying -= 1;
                if left > 0 {
                    self.send(index)?;
                    (left, flying) = (left - 1, flying + 1);
                }
            }
        }
        Ok(seconds() - started)
    }

    /// The connection whose batch was answered.
    fn answered(&mut self, user_data: u64, result: i32) -> Result<usize> {
        ensure!(user_data != SEND, "a request could not be sent: {result}");
        let index = usize::try_from(user_data)?;
        let expected = self.batches[self.turns[index] % 2].replies_len;
        ensure!(
            u32::try_from(result) == Ok(expected),
            "replies of {expected} bytes were expected, and {result} came"
        );
        self.turns[index] += 1;
        Ok(index)
    }

    /// Submits a batch and the receipt of its replies.
    fn send(&mut self, index: usize) -> Result<()> {
        let fd = types::Fd(self.streams[index].as_raw_fd());
        let batch = &self.batches[self.turns[index] % 2];
        let len = u32::try_from(batch.requests.len())?;
        let sends = opcode::Send::new(fd, batch.requests.as_ptr(), len).flags(SEND_FLAGS).build();
        let receives = opcode::Recv::new(fd, std::ptr::null_mut(), batch.replies_len)
            .flags(RECEIVE_FLAGS)
            .build();
        push(&mut self.ring, &sends.flags(Flags::SKIP_SUCCESS).user_data(SEND))?;
        push(&mut self.ring, &receives.user_data(index as u64))
    }
}

fn push(ring: &mut IoUring, entry: &Entry) -> Result<()> {
    // SAFETY: sends name the requests of a batch, which nobody changes, and which are dropped
    // after the ring; receives throw away what arrives and write to no memory.
    while unsafe { ring.submission().push(entry) }.is_err() {
        ring.submit()?;
    }
    Ok(())
}

fn seconds() -> f64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}
