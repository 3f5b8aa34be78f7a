//! Sending a snapshot from the leader to a node that lacks more than the leader's log still has. One thread reads it
//! here, and one thread writes it on the other node, so that the host thread never waits for a device. Parts are sent
//! in order, several ahead of the acknowledgements; lost ones are sent again.

use crate::peers::CatchUp;
use scurry_consensus::replica::{ByteCount, Index, NodeId};
use scurry_consensus::shard::{FrameBytes, SnapshotMessage, SnapshotOffer};
use scurry_disk::Directory;
use scurry_engine::{Disk, File, LogId, clear_incoming, incoming_name, snapshot_name};
use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Bytes of one part.
const PART_LEN: ByteCount = ByteCount(1 << 20);
/// Most bytes that are sent and not acknowledged.
const AHEAD_LEN: ByteCount = ByteCount(4 * PART_LEN.get());
/// How long the sender waits for an answer before it sends again.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(2);
/// Timeouts without progress after which the sender gives up.
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
    answers: Sender<SnapshotMessage>,
}

impl Sending {
    /// Passes an answer of the receiving node to the thread.
    pub(super) fn answer(&self, word: SnapshotMessage) {
        // This fails only after the thread has ended.
        let _ = self.answers.send(word);
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
    let (answers, inbox) = channel();
    thread::Builder::new().name("catch-up-send".to_owned()).spawn(move || {
        let index = offer.base.index;
        let say =
            |word, bytes| tell(News::SendMessage { to, catch_up: CatchUp { number, word }, bytes });
        let outcome = deliver((&mut directory, log), offer, &inbox, &say).map(|()| index);
        // This fails only after the host has ended.
        let _ = tell(News::Sent { to, outcome });
    })?;
    Ok(Sending { number, answers })
}

fn deliver(
    (directory, log): (&mut Directory, LogId),
    mut offer: SnapshotOffer,
    answers: &Receiver<SnapshotMessage>,
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
    // The node has confirmed everything below `have`. No part is sent before it has answered the offer.
    let (mut have, mut sent) = (ByteCount(0), ByteCount(0));
    let (mut tries, mut begun) = (0, false);
    loop {
        while begun && sent < len && sent < have + AHEAD_LEN {
            let part_len = PART_LEN.min(len - sent);
            let mut bytes = vec![0; part_len.in_memory()];
            let read = file.read_at(sent.get(), &mut bytes).map_err(text)?;
            if read < bytes.len() {
                return Err(format!("{name} ends before byte {len}"));
            }
            if !say(SnapshotMessage::Part { offset: sent }, Some(FrameBytes::new(bytes))) {
                return Err(gone());
            }
            sent += part_len;
        }
        match answers.recv_timeout(ANSWER_TIMEOUT) {
            Ok(SnapshotMessage::Have { offset }) => {
                begun = true;
                if offset > have && offset <= len {
                    (have, tries) = (offset, 0);
                    sent = sent.max(have);
                }
            }
            Ok(SnapshotMessage::Done) => return Ok(()),
            Ok(SnapshotMessage::Refused(why)) => {
                return Err(format!("the node does not take it: {why}"));
            }
            Ok(SnapshotMessage::Offer(_) | SnapshotMessage::Part { .. }) => {}
            Err(RecvTimeoutError::Timeout) if tries < TRIES_MAX => {
                tries += 1;
                // Some packets were lost. Go back to what was confirmed, and repeat the offer: its answer says how much
                // has arrived.
                sent = have;
                if !say(SnapshotMessage::Offer(offer.clone()), None) {
                    return Err(gone());
                }
            }
            Err(RecvTimeoutError::Timeout) => return Err("the node does not answer".to_owned()),
            Err(RecvTimeoutError::Disconnected) => return Err(gone()),
        }
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
