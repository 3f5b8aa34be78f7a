//! Runs every script over RDMA in both protocols, and compares the replies with those over TCP byte for byte. Needs a
//! device: it runs in the guest of scripts/rdma-guest.sh.

use scurry_conformance::{Door, Script, ScriptStore, ServerDoor, run, scripts};
use scurry_ledger::Time;
use scurry_resp::Protocol;
use std::cell::RefCell;
use std::net::IpAddr;
use std::rc::Rc;

type Transcript = Rc<RefCell<Vec<Vec<u8>>>>;

/// A door that records its replies.
struct Recorded {
    door: ServerDoor,
    transcript: Transcript,
}

struct RecordedVisit {
    visit: Box<dyn ScriptStore>,
    transcript: Transcript,
}

impl Door for Recorded {
    fn name(&self) -> &'static str {
        self.door.name()
    }

    fn takes(&self, script: &Script) -> bool {
        self.door.takes(script)
    }

    fn open(&self, script: &Script, protocol: Protocol) -> anyhow::Result<Box<dyn ScriptStore>> {
        let visit = self.door.open(script, protocol)?;
        Ok(Box::new(RecordedVisit { visit, transcript: Rc::clone(&self.transcript) }))
    }
}

impl ScriptStore for RecordedVisit {
    fn send(&mut self, now: Time, words: &[Vec<u8>]) -> anyhow::Result<Vec<u8>> {
        let reply = self.visit.send(now, words)?;
        // An image contains binary times, so it is left out. Other replies show the account that it is loaded as.
        let is_image = words.first().is_some_and(|word| word.eq_ignore_ascii_case(b"SCUR.DUMP"));
        let written = if is_image { b"an image".to_vec() } else { without_times(&reply) };
        self.transcript.borrow_mut().push(written);
        Ok(reply)
    }

    fn tick(&mut self, now: Time) -> anyhow::Result<usize> {
        self.visit.tick(now)
    }
}

/// Replaces values that depend on the time by `T`: numbers of 13 digits and more, which are times of this run, and
/// numbers of ms, which are durations.
fn without_times(reply: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut parts = reply.chunk_by(|a, b| a.is_ascii_digit() == b.is_ascii_digit()).peekable();
    while let Some(part) = parts.next() {
        let is_span = parts.peek().is_some_and(|next| next.starts_with(b" ms"));
        let is_time = part[0].is_ascii_digit() && (part.len() >= 13 || is_span);
        out.extend_from_slice(if is_time { b"T" } else { part });
    }
    out
}

/// Address of the guest's device.
const IN_THE_GUEST: &str = "10.77.0.1";

/// Returns the address of an RDMA device. None if there is no device.
fn device() -> Option<IpAddr> {
    let guest = std::env::var_os("SCURRY_RDMA_GUEST").map(|_| IN_THE_GUEST.to_owned());
    let Some(address) = std::env::var("SCURRY_RDMA_ADDRESS").ok().or(guest) else {
        println!("skipped: SCURRY_RDMA_ADDRESS names no address of an RDMA device");
        return None;
    };
    Some(address.parse().expect("SCURRY_RDMA_ADDRESS is an IP address"))
}

/// Runs the script through the door. Returns the failures and the recorded replies.
fn told(door: ServerDoor, script: &Script, protocol: Protocol) -> (Vec<String>, Vec<Vec<u8>>) {
    let door = Recorded { door, transcript: Transcript::default() };
    let failures = match run(&door, script, protocol) {
        Ok(outcome) => outcome.mismatches.iter().map(ToString::to_string).collect(),
        Err(error) => vec![format!("{error:#}")],
    };
    (failures, door.transcript.take())
}

#[test]
fn every_script_is_answered_over_rdma_as_over_tcp() {
    let Some(address) = device() else { return };
    let find = || ServerDoor::find().expect("a scurry binary");
    let scripts = scripts().expect("the scripts are read");
    let (mut ran, mut replies, mut failures) = (0, 0, Vec::new());
    for script in scripts.iter().map(|source| &source.script).filter(|script| find().takes(script))
    {
        ran += 1;
        for protocol in [Protocol::Resp3, Protocol::Resp2] {
            let (wrong, over_rdma) = told(find().over_rdma(address), script, protocol);
            failures.extend(wrong);
            let (_, over_tcp) = told(find(), script, protocol);
            replies += over_rdma.len();
            if over_rdma != over_tcp {
                failures.push(format!("{}: not the same in {protocol:?}", script.file));
            }
        }
    }
    println!("{ran} scripts in 2 protocols, {replies} replies over RDMA and over TCP");
    let count = failures.len();
    assert!(failures.is_empty(), "{count} results differ:\n{}", failures.join("\n"));
    assert!(ran > 0 && replies > 0, "nothing was run");
}

#[test]
fn times_are_left_out_of_a_transcript_and_nothing_else() {
    let reply = b"*2\r\n:1764500000000\r\n$12\r\n176450000000\r\n";
    assert_eq!(without_times(reply), b"*2\r\n:T\r\n$12\r\n176450000000\r\n");
    let busy = b"-BUSY 50 sessions_max 64, the first goes in 1200 ms: later\r\n";
    let left = b"-BUSY 50 sessions_max 64, the first goes in T ms: later\r\n";
    assert_eq!(without_times(busy), left);
}
