//! Sending a snapshot from the leader to a node that lacks more than the leader's log still has. One thread reads it
//! here, and one thread writes it on the other node, so that the host thread never waits for a device. Parts are sent
//! in order, several ahead of the acknowledgements; lost ones are sent again. How many are ahead follows from what the
//! link takes, as TCP finds it (RFC 5681, 3.1): one more with each window that arrives, half as many after a loss.

use crate::peers::CatchUp;
use scurry_consensus::replica::{ByteCount, Index, NodeId};
use scurry_consensus::shard::{FrameBytes, SnapshotMessage, SnapshotOffer};
use scurry_disk::Directory;
use scurry_engine::{Disk, File, LogId, clear_incoming, incoming_name, snapshot_name};
use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Bytes of the shortest and of the longest part. Between them a part is a quarter of the window.
const PART_LENS: [ByteCount; 2] = [ByteCount(16 << 10), ByteCount(1 << 20)];
/// Most bytes that are sent and not acknowledged.
const AHEAD_LEN: ByteCount = ByteCount(4 << 20);
/// How long the sender waits for an answer before it asks how much has arrived.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(2);
/// Timeouts in a row after which the sender gives up.
const TRIES_MAX: u32 = 15;

/// Messages of these threads to the host.
pub(crate) enum News {
    /// A message for the other node.
    SendMessage { to: NodeId, catch_up: CatchUp, bytes: Option<FrameBytes> },
    /// The end of sending: the entry at which the receiver's log begins now, or the reason of a failure.
    Sent { to: NodeId, outcome: Result<Index, String> },
    /// A snapshot was received completely and is on the device.
    SnapshotReceived { from: NodeId, number: u64, offer: Box<SnapshotOffer> },
}

/// A snapshot that is being sent.
pub(super) struct Sending {
    pub(super) number: u64,
    echoes: Sender<Echo>,
}

/// What becomes of the messages that a thread sends.
enum Echo {
    /// The receiving node has answered.
    Answer(SnapshotMessage),
    /// The part at this offset was not sent: the link is full, or is not there.
    NotSent(ByteCount),
}

impl Sending {
    /// Passes an answer of the receiving node to the thread.
    pub(super) fn answer(&self, word: SnapshotMessage) {
        // This fails only after the thread has ended.
        let _ = self.echoes.send(Echo::Answer(word));
    }

    /// Tells the thread that the link has not taken the part at an offset.
    pub(super) fn not_sent(&self, offset: ByteCount) {
        // This fails only after the thread has ended.
        let _ = self.echoes.send(Echo::NotSent(offset));
    }
}

/// A part of a snapshot that has arrived, or only the question how much has been received.
pub(super) enum SnapshotPart {
    /// Bytes of the file from an offset on.
    Bytes { offset: ByteCount, bytes: FrameBytes },
    /// The question.
    Asks,
}

/// A snapshot that is being received.
pub(super) struct Receiving {
    pub(super) from: NodeId,
    pub(super) number: u64,
    parts: Sender<SnapshotPart>,
    thread: JoinHandle<()>,
}

impl Receiving {
    /// Passes a part to the thread.
    pub(super) fn on_part(&self, part: SnapshotPart) {
        // This fails only after the thread has ended, which has reported why.
        let _ = self.parts.send(part);
    }
}

/// Starts to send the snapshot that an offer names. Its length is read from the file.
pub(super) fn send(
    (mut directory, log): (Directory, LogId),
    (to, number): (NodeId, u64),
    offer: SnapshotOffer,
    tell: impl Fn(News) -> bool + Send + 'static,
) -> io::Result<Sending> {
    let (echoes, inbox) = channel();
    thread::Builder::new().name("catch-up-send".to_owned()).spawn(move || {
        let index = offer.base.index;
        let say =
            |word, bytes| tell(News::SendMessage { to, catch_up: CatchUp { number, word }, bytes });
        let outcome = deliver((&mut directory, log), offer, &inbox, &say).map(|()| index);
        // This fails only after the host has ended.
        let _ = tell(News::Sent { to, outcome });
    })?;
    Ok(Sending { number, echoes })
}

fn deliver(
    (directory, log): (&mut Directory, LogId),
    mut offer: SnapshotOffer,
    echoes: &Receiver<Echo>,
    say: &impl Fn(SnapshotMessage, Option<FrameBytes>) -> bool,
) -> Result<(), String> {
    let name = snapshot_name(offer.begun.get());
    let text = |error: io::Error| format!("{name}: {error}");
    let mut file = offer.open(directory, log).map_err(text)?;
    let len = offer.len;
    let offer = Box::new(offer);
    let gone = || "this node stops".to_owned();
    if !say(SnapshotMessage::Offer(offer.clone()), None) {
        return Err(gone());
    }
    let mut progress = Progress::new(len);
    loop {
        while let Some((offset, part_len)) = progress.next_part() {
            let mut bytes = vec![0; part_len.in_memory()];
            let read = file.read_at(offset.get(), &mut bytes).map_err(text)?;
            if read < bytes.len() {
                return Err(format!("{name} ends before byte {len}"));
            }
            if !say(SnapshotMessage::Part { offset }, Some(FrameBytes::new(bytes))) {
                return Err(gone());
            }
        }
        match echoes.recv_timeout(ANSWER_TIMEOUT) {
            Ok(Echo::NotSent(offset)) => progress.on_not_sent(offset),
            Ok(Echo::Answer(SnapshotMessage::Have { offset })) => progress.on_answer(offset),
            Ok(Echo::Answer(SnapshotMessage::Done)) => return Ok(()),
            Ok(Echo::Answer(SnapshotMessage::Refused(why))) => {
                return Err(format!("the node does not take it: {why}"));
            }
            Ok(Echo::Answer(SnapshotMessage::Offer(_) | SnapshotMessage::Part { .. })) => {}
            Err(RecvTimeoutError::Timeout) if progress.on_timeout() => {
                if !say(SnapshotMessage::Offer(offer.clone()), None) {
                    return Err(gone());
                }
            }
            Err(RecvTimeoutError::Timeout) => return Err("the node does not answer".to_owned()),
            Err(RecvTimeoutError::Disconnected) => return Err(gone()),
        }
    }
}

/// What of a snapshot was sent and has arrived, and how much is sent ahead.
struct Progress {
    len: ByteCount,
    /// The node has confirmed everything below.
    have: ByteCount,
    sent: ByteCount,
    /// Most bytes that are sent and not acknowledged; one part at least.
    window: ByteCount,
    /// Bytes that were acknowledged since the window grew.
    acknowledged: ByteCount,
    /// No part is sent before the answer to an offer: at the beginning, and after a timeout.
    asked: bool,
    /// No part is sent before an answer shows that the link carries something: it has not taken a part.
    full: bool,
    /// Timeouts since the last answer.
    tries: u32,
}

impl Progress {
    fn new(len: ByteCount) -> Progress {
        let none = ByteCount(0);
        Progress {
            len,
            have: none,
            sent: none,
            window: PART_LENS[0],
            acknowledged: none,
            asked: true,
            full: false,
            tries: 0,
        }
    }

    fn part_len(&self) -> ByteCount {
        let [least, most] = PART_LENS;
        ByteCount(self.window.get() / 4).clamp(least, most)
    }

    /// Returns the offset and the length of the part to send now, if there is one.
    fn next_part(&mut self) -> Option<(ByteCount, ByteCount)> {
        let offset = self.sent;
        if self.asked || self.full || offset >= self.len || offset >= self.have + self.window {
            return None;
        }
        let len = self.part_len().min(self.len - offset);
        self.sent += len;
        Some((offset, len))
    }

    /// Notes that the node has so many bytes. Parts and offers are answered in the order in which they arrive, so an
    /// answer without progress, after a timeout, is that to the offer: no part that was sent is still under way. A node
    /// that was started again has less than before.
    fn on_answer(&mut self, have: ByteCount) {
        let have = have.min(self.len);
        (self.full, self.tries) = (false, 0);
        if have > self.have {
            self.acknowledged += have - self.have;
            self.have = have;
            self.sent = self.sent.max(have);
            if self.acknowledged >= self.window {
                self.window = (self.window + self.part_len()).min(AHEAD_LEN);
                self.acknowledged = ByteCount(0);
            }
        } else if self.asked {
            self.asked = false;
            (self.have, self.sent) = (have, have);
        }
    }

    /// Notes that the link has not taken a part.
    fn on_not_sent(&mut self, offset: ByteCount) {
        self.sent = self.sent.min(offset.max(self.have));
        self.full = true;
        self.shrink();
    }

    /// Notes that no answer has arrived for long. Returns whether the offer is to be repeated.
    fn on_timeout(&mut self) -> bool {
        self.tries += 1;
        self.asked = true;
        self.shrink();
        self.tries <= TRIES_MAX
    }

    fn shrink(&mut self) {
        self.window = ByteCount(self.window.get() / 2).max(PART_LENS[0]);
        self.acknowledged = ByteCount(0);
    }
}

/// Starts to receive the snapshot of an offer. It replaces an earlier one, `before`, whose thread ends before this one
/// touches a file.
pub(super) fn receive(
    mut directory: Directory,
    (from, number): (NodeId, u64),
    offer: SnapshotOffer,
    before: Option<Receiving>,
    tell: impl Fn(News) -> bool + Send + 'static,
) -> io::Result<Receiving> {
    let (parts, inbox) = channel();
    // This drops its sender of parts, so that its thread ends.
    let before = before.map(|before| before.thread);
    let thread = thread::Builder::new().name("catch-up-receive".to_owned()).spawn(move || {
        if let Some(before) = before {
            // A thread that has panicked has ended as well.
            let _ = before.join();
        }
        let say = |word| {
            tell(News::SendMessage { to: from, catch_up: CatchUp { number, word }, bytes: None })
        };
        let came = || tell(News::SnapshotReceived { from, number, offer: Box::new(offer.clone()) });
        if let Err(error) = write_parts(&mut directory, &offer, &inbox, &say, &came) {
            say(SnapshotMessage::Refused(error.to_string()));
        }
    })?;
    Ok(Receiving { from, number, parts, thread })
}

/// Writes parts to the file until the host drops the sender, and answers each with the length received. A part that
/// does not continue the file is ignored: the answer makes the sender repeat.
fn write_parts(
    directory: &mut Directory,
    offer: &SnapshotOffer,
    parts: &Receiver<SnapshotPart>,
    say: &impl Fn(SnapshotMessage) -> bool,
    came: &impl Fn() -> bool,
) -> io::Result<()> {
    clear_incoming(directory)?;
    let mut file =
        directory.create(&incoming_name(offer.base.sequence.get(), offer.begun.get()), 0)?;
    let mut have = ByteCount(0);
    say(SnapshotMessage::Have { offset: have });
    while let Ok(part) = parts.recv() {
        if let SnapshotPart::Bytes { offset, bytes } = part
            && offset == have
            && have < offer.len
        {
            file.write_at(have.get(), &bytes)?;
            have += ByteCount::of(&bytes);
            if have == offer.len {
                // The file and its name must be durable before the host learns of the snapshot.
                file.sync()?;
                directory.sync_dir()?;
                came();
            }
        }
        say(SnapshotMessage::Have { offset: have });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;

    /// Offset and length.
    type Part = (ByteCount, ByteCount);

    /// A link that carries so many bytes a second and takes no part when it has a backlog, and the node behind it.
    struct ThinLink {
        rate: u64,
        room: u64,
        /// What is under way: an offer, or a part with its offset and length; and how long it takes, seconds.
        queue: VecDeque<(Option<Part>, f64)>,
        have: ByteCount,
        carried: u64,
    }

    impl ThinLink {
        fn backlog(&self) -> f64 {
            self.queue.iter().map(|(_, takes_s)| takes_s).sum::<f64>()
        }

        fn send(&mut self, part: Option<Part>) -> bool {
            let len = part.map_or(100, |(_, len)| len.get());
            let takes = part.is_none() || self.backlog() * self.rate as f64 <= self.room as f64;
            if takes {
                self.queue.push_back((part, len as f64 / self.rate as f64));
                self.carried += len;
            }
            takes
        }

        /// Returns the next answer, and how long it took. None if nothing is under way.
        fn answer(&mut self) -> Option<(ByteCount, f64)> {
            let (part, takes_s) = self.queue.pop_front()?;
            if let Some((offset, len)) = part
                && offset == self.have
            {
                self.have += len;
            }
            Some((self.have, takes_s))
        }
    }

    /// Sends a snapshot over a link. Returns bytes that it carried for each of the snapshot, and seconds.
    fn send_over(rate: u64, room: u64, len: ByteCount) -> (f64, f64) {
        let (queue, have) = (VecDeque::new(), ByteCount(0));
        let mut link = ThinLink { rate, room, queue, have, carried: 0 };
        let mut progress = Progress::new(len);
        let timeout_s = ANSWER_TIMEOUT.as_secs_f64();
        let (mut all_s, mut silent_s) = (0.0, 0.0);
        link.send(None);
        while progress.have < len {
            while let Some(part) = progress.next_part() {
                if !link.send(Some(part)) {
                    progress.on_not_sent(part.0);
                }
            }
            let next_s = link.queue.front().map(|(_, takes_s)| takes_s - silent_s);
            if next_s.is_some_and(|next_s| next_s <= timeout_s) {
                let (have, takes_s) = link.answer().unwrap();
                all_s += takes_s - silent_s;
                silent_s = 0.0;
                progress.on_answer(have);
            } else {
                all_s += timeout_s;
                silent_s = if link.queue.is_empty() { 0.0 } else { silent_s + timeout_s };
                assert!(progress.on_timeout(), "{rate} bytes/s: given up at {}", progress.have);
                link.send(None);
            }
        }
        (link.carried as f64 / len.get() as f64, all_s)
    }

    /// Parts of 1 MiB that were sent again each two seconds never arrived through 512 kbit/s.
    #[test]
    fn a_thin_link_carries_a_snapshot_about_once() {
        let len = ByteCount(25 << 20);
        for (rate, room) in [(4_000, 16_384), (64_000, 32_768), (500_000, 250_000)] {
            let (times, seconds) = send_over(rate, room, len);
            assert!(times < 1.1, "{rate} bytes/s: carried {times} times");
            let least = len.get() as f64 / rate as f64;
            assert!(seconds < 1.5 * least, "{rate} bytes/s: {seconds} s, and {least} s at best");
        }
    }

    #[test]
    fn a_window_grows_as_its_parts_arrive_and_halves_after_a_loss() {
        let mut progress = Progress::new(ByteCount(1 << 30));
        assert_eq!(progress.next_part(), None, "the offer is not answered");
        progress.on_answer(ByteCount(0));
        let mut under_way = VecDeque::new();
        while progress.window < AHEAD_LEN {
            under_way.extend(std::iter::from_fn(|| progress.next_part()));
            let (offset, len): Part = under_way.pop_front().unwrap();
            progress.on_answer(offset + len);
        }
        let (have, more) = (progress.have, PART_LENS[1]);
        assert!(have < ByteCount(64 << 20), "{have} before it is as wide as it gets");
        assert!(progress.on_timeout());
        assert_eq!(progress.window, ByteCount(AHEAD_LEN.get() / 2));
        assert_eq!(progress.next_part(), None, "the node is asked first");
        progress.on_answer(have + more);
        assert_eq!(progress.next_part(), None, "more may be under way");
        progress.on_answer(have + more);
        let part_len = ByteCount(AHEAD_LEN.get() / 8);
        assert_eq!(progress.next_part(), Some((have + more, part_len)));
    }

    #[test]
    fn a_node_that_never_answers_is_given_up() {
        let mut progress = Progress::new(ByteCount(1 << 30));
        assert!((0..TRIES_MAX).all(|_| progress.on_timeout()));
        assert!(!progress.on_timeout());
    }
}
