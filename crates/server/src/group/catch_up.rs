//! A snapshot on its way from the leader to a node that is too far behind for the log: a thread reads it there and
//! one writes it here, so that the host's own never waits for a device. Parts go one behind another, some
//! ahead of the answers; what is lost is sent again.

use super::peers::CatchUp;
use scurry_consensus::replica::{Index, NodeId};
use scurry_consensus::shard::{Body, Offer, Word};
use scurry_disk::Directory;
use scurry_engine::{Disk, File, LogId, clear_incoming, incoming_name, snapshot_name};
use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Bytes of a part.
const PART_LEN: u64 = 1 << 20;
/// Bytes that are sent ahead of the answers.
const AHEAD_LEN: u64 = 4 * PART_LEN;
/// How long an answer is waited for before something is sent again.
const PATIENCE: Duration = Duration::from_secs(2);
/// How often, without any answer.
const TRIES_MAX: u32 = 15;

/// News of a thread for the host.
pub(crate) enum News {
    /// Something to be sent to the other node.
    Say { to: NodeId, catch_up: CatchUp, bytes: Option<Body> },
    /// The end of a sending: where the node's log begins, or why it does not.
    Sent { to: NodeId, outcome: Result<Index, String> },
    /// All of a snapshot has come and is on the device.
    Came { from: NodeId, number: u64, offer: Box<Offer> },
}

/// A snapshot that is being sent.
pub(super) struct Sending {
    pub(super) number: u64,
    answers: Sender<Word>,
}

impl Sending {
    /// An answer of the node.
    pub(super) fn answer(&self, word: Word) {
        // A thread that has ended needs none.
        let _ = self.answers.send(word);
    }
}

/// A snapshot that is being received.
pub(super) struct Receiving {
    pub(super) from: NodeId,
    pub(super) number: u64,
    parts: Sender<(u64, Option<Body>)>,
    thread: JoinHandle<()>,
}

impl Receiving {
    /// Bytes from an offset on; none where the sender wants to know how much is there.
    pub(super) fn part(&self, offset: u64, bytes: Option<Body>) {
        // A thread that has ended has said why.
        let _ = self.parts.send((offset, bytes));
    }
}

/// Starts to send the snapshot that an offer names; its length is looked up.
pub(super) fn send(
    (mut directory, log): (Directory, LogId),
    (to, number): (NodeId, u64),
    offer: Offer,
    tell: impl Fn(News) -> bool + Send + 'static,
) -> io::Result<Sending> {
    let (answers, inbox) = channel();
    thread::Builder::new().name("catch-up-send".to_owned()).spawn(move || {
        let index = Index(offer.base.index);
        let say = |word, bytes| tell(News::Say { to, catch_up: CatchUp { number, word }, bytes });
        let outcome = deliver((&mut directory, log), offer, &inbox, &say).map(|()| index);
        // The host may have ended.
        let _ = tell(News::Sent { to, outcome });
    })?;
    Ok(Sending { number, answers })
}

fn deliver(
    (directory, log): (&mut Directory, LogId),
    mut offer: Offer,
    answers: &Receiver<Word>,
    say: &impl Fn(Word, Option<Body>) -> bool,
) -> Result<(), String> {
    let name = snapshot_name(offer.begun);
    let text = |error: io::Error| format!("{name}: {error}");
    let mut file = offer.open(directory, log).map_err(text)?;
    let len = offer.len;
    let offer = Box::new(offer);
    let gone = || "this node stops".to_owned();
    if !say(Word::Offer(offer.clone()), None) {
        return Err(gone());
    }
    // Up to `have` the node has it; nothing is sent before it has answered the offer.
    let (mut have, mut sent, mut tries, mut begun) = (0, 0, 0, false);
    loop {
        while begun && sent < len && sent < have + AHEAD_LEN {
            let part_len = usize::try_from(PART_LEN.min(len - sent)).unwrap_or(0);
            let mut bytes = vec![0; part_len];
            let read = file.read_at(sent, &mut bytes).map_err(text)?;
            if read < part_len {
                return Err(format!("{name} ends before byte {len}"));
            }
            if !say(Word::Part { offset: sent }, Some(Body::new(bytes))) {
                return Err(gone());
            }
            sent += part_len as u64;
        }
        match answers.recv_timeout(PATIENCE) {
            Ok(Word::Have { offset }) => {
                begun = true;
                if offset > have && offset <= len {
                    (have, tries) = (offset, 0);
                    sent = sent.max(have);
                }
            }
            Ok(Word::Done) => return Ok(()),
            Ok(Word::Refused(why)) => return Err(format!("the node does not take it: {why}")),
            Ok(Word::Offer(_) | Word::Part { .. }) => {}
            Err(RecvTimeoutError::Timeout) if tries < TRIES_MAX => {
                tries += 1;
                sent = have;
                if !say(Word::Offer(offer.clone()), None) {
                    return Err(gone());
                }
            }
            Err(RecvTimeoutError::Timeout) => return Err("the node does not answer".to_owned()),
            Err(RecvTimeoutError::Disconnected) => return Err(gone()),
        }
    }
}

/// Starts to receive what was offered. What was received before comes to nothing, and its thread has ended before
/// this one touches a file.
pub(super) fn receive(
    mut directory: Directory,
    (from, number): (NodeId, u64),
    offer: Offer,
    before: Option<Receiving>,
    tell: impl Fn(News) -> bool + Send + 'static,
) -> io::Result<Receiving> {
    let (parts, inbox) = channel();
    // Without a sender of parts it ends.
    let before = before.map(|before| before.thread);
    let thread = thread::Builder::new().name("catch-up-receive".to_owned()).spawn(move || {
        if let Some(before) = before {
            // One that has panicked has ended too.
            let _ = before.join();
        }
        let say =
            |word| tell(News::Say { to: from, catch_up: CatchUp { number, word }, bytes: None });
        let came = || tell(News::Came { from, number, offer: Box::new(offer.clone()) });
        if let Err(error) = take_in(&mut directory, &offer, &inbox, &say, &came) {
            say(Word::Refused(error.to_string()));
        }
    })?;
    Ok(Receiving { from, number, parts, thread })
}

/// Writes parts until nobody sends any more.
fn take_in(
    directory: &mut Directory,
    offer: &Offer,
    parts: &Receiver<(u64, Option<Body>)>,
    say: &impl Fn(Word) -> bool,
    came: &impl Fn() -> bool,
) -> io::Result<()> {
    clear_incoming(directory)?;
    let mut file = directory.create(&incoming_name(offer.base.sequence, offer.begun), 0)?;
    let mut have = 0;
    say(Word::Have { offset: have });
    while let Ok((offset, bytes)) = parts.recv() {
        if let Some(bytes) = bytes.filter(|_| offset == have && have < offer.len) {
            file.write_at(have, &bytes)?;
            have += bytes.len() as u64;
            if have == offer.len {
                file.sync()?;
                directory.sync_dir()?;
                came();
            }
        }
        say(Word::Have { offset: have });
    }
    Ok(())
}
