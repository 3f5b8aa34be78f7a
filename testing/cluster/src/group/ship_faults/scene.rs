//! The group, the shippers and the broker, and where things are.

use super::event::ShippedEvent;
use super::load::Control;
use super::process::Process;
use super::tight_disk::TightDisk;
use crate::group::{Group, NODES};
use crate::namespaces::{self, Namespace};
use crate::wait;
use anyhow::{Context, Result, bail, ensure};
use scurry_conformance::Value;
use scurry_crash::Binary;
use scurry_crash::wire::{Wire, array, entry, int, text, words};
use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Number of the network of the broker. Those of the shippers follow.
pub(super) const BROKER_PLACE: usize = 50;
const BROKER_PORT: u16 = 6_379;
/// Range searched for the broker's port without networks.
const BROKER_PORTS: std::ops::Range<u16> = 10_400..10_500;
/// Name of the streams.
const STREAM: &str = "events";
/// Timeout of the broker's answers to the test.
const PATIENCE: Duration = Duration::from_secs(10);
/// Entries of one read.
const ENTRIES: usize = 1_000;

/// Destinations, in the order of the shippers.
pub(super) const KINDS: [&str; 3] = ["files", "usage", "redis"];
pub(super) const REDIS: usize = 2;

pub(super) struct Scene {
    pub(super) group: Group,
    pub(super) shippers: Vec<Process>,
    pub(super) broker: Process,
    pub(super) disk: Option<TightDisk>,
    broker_address: (String, u16),
    /// Directory of the files, and that of usage records.
    directories: [PathBuf; 2],
}

impl Scene {
    /// Starts the broker and the shippers.
    pub(super) fn start(
        group: Group,
        binary: &Binary,
        directory: &std::path::Path,
    ) -> Result<Scene> {
        let has_networks = namespaces::inside();
        let at = directory.join("shipped");
        fs::create_dir_all(&at)?;
        let disk = has_networks.then(|| TightDisk::mount(&at)).transpose()?;
        let directories = ["files", "usage"].map(|name| at.join(name));
        let network = |place| has_networks.then(|| Namespace::new(place)).transpose();
        let broker_address = match has_networks {
            true => (Namespace::address(BROKER_PLACE), BROKER_PORT),
            false => ("127.0.0.1".to_owned(), wait::free_ports(BROKER_PORTS, 1)?),
        };
        let home = directory.join("broker");
        fs::create_dir_all(&home)?;
        let (host, port) = &broker_address;
        let line = format!(
            "valkey-server --bind {host} --port {port} --protected-mode no --appendonly yes --appendfsync always --dir {}",
            home.display()
        );
        let mut words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        words.extend(["--save".to_owned(), String::new()]);
        let mut broker = Process::new(words, home.join("log"), network(BROKER_PLACE)?);
        broker.start()?;
        let nodes: Vec<String> = group.nodes.iter().map(|node| node.name()).collect();
        let mut shippers = Vec::new();
        for (number, kind) in KINDS.into_iter().enumerate() {
            let program = binary.path().display();
            let to = match directories.get(number) {
                Some(directory) => {
                    format!("{} --file-size 64kb --flush-ms 300", directory.display())
                }
                None => format!("{host}:{port} --stream {STREAM}"),
            };
            let line = format!("{program} ship {kind} {to} --log warn --from {}", nodes.join(","));
            let words = line.split(' ').map(str::to_owned).collect();
            let log = directory.join(format!("ship-{kind}.log"));
            let mut shipper = Process::new(words, log, network(BROKER_PLACE + 1 + number)?);
            shipper.start()?;
            shippers.push(shipper);
        }
        Ok(Scene { group, shippers, broker, disk, broker_address, directories })
    }

    /// Fails if a process has ended by itself.
    pub(super) fn check(&mut self) -> Result<()> {
        self.broker.check()?;
        self.shippers.iter_mut().try_for_each(Process::check)
    }

    /// Lets time pass under load.
    pub(super) fn pass_ms(&self, ms: i64, control: &Control) -> Result<()> {
        self.group.pass(Duration::from_millis(u64::try_from(ms)?))?;
        if control.has_failed.load(Ordering::Relaxed) {
            bail!("a client has failed");
        }
        Ok(())
    }

    /// Waits until each shipper has delivered more than now.
    pub(super) fn until_shipped(&mut self, control: &Control) -> Result<()> {
        let mut before: [Option<u64>; 3] = [None; 3];
        let (directories, broker) = (self.directories.clone(), self.broker_address.clone());
        let outcome = self.group.until("all shippers deliver", |_| {
            if control.has_failed.load(Ordering::Relaxed) {
                // The next pause tells.
                return Ok(());
            }
            for (number, before) in before.iter_mut().enumerate() {
                let now = match directories.get(number) {
                    Some(directory) => complete(directory)?.len() as u64,
                    None => length(&broker)?,
                };
                ensure!(now > *before.get_or_insert(now), "{} does not deliver", KINDS[number]);
            }
            Ok(())
        });
        outcome.with_context(|| {
            let said: Vec<String> = self.shippers.iter().map(Process::tail).collect();
            said.join("\n")
        })
    }

    /// Returns the lines of the files, and of the usage records, by thread.
    pub(super) fn lines(&self, number: usize) -> Result<BTreeMap<u16, Vec<String>>> {
        let mut lines: BTreeMap<u16, Vec<String>> = BTreeMap::new();
        for name in complete(&self.directories[number])? {
            let thread = name.split('-').nth(2).and_then(|log| log.split_once('.'));
            let thread = thread.context("a name of a file")?.1.parse()?;
            let file = fs::read_to_string(self.directories[number].join(&name))?;
            lines.entry(thread).or_default().extend(file.lines().map(str::to_owned));
        }
        Ok(lines)
    }

    /// Returns how many files are complete.
    pub(super) fn files(&self) -> Result<u64> {
        let counts = self.directories.iter().map(|directory| complete(directory));
        Ok(counts.collect::<Result<Vec<_>>>()?.iter().map(Vec::len).sum::<usize>() as u64)
    }

    /// Returns the events of the files.
    pub(super) fn events_of_files(&self, threads: u16) -> Result<Vec<Vec<ShippedEvent>>> {
        let mut lines = self.lines(0)?;
        let threads = (0..threads).map(|thread| lines.remove(&thread).unwrap_or_default());
        threads
            .map(|lines| lines.iter().map(|line| ShippedEvent::of_json(line)).collect())
            .collect()
    }

    /// Returns the usage records.
    pub(super) fn records(&self) -> Result<Vec<Json>> {
        let lines = self.lines(1)?;
        lines.values().flatten().map(|line| Ok(serde_json::from_str(line)?)).collect()
    }

    /// Returns the events of the streams.
    pub(super) fn events_of_streams(&self, threads: u16) -> Result<Vec<Vec<ShippedEvent>>> {
        (0..threads).map(|thread| self.events_of_stream(thread)).collect()
    }

    fn events_of_stream(&self, thread: u16) -> Result<Vec<ShippedEvent>> {
        let mut wire = connect(&self.broker_address)?;
        let (mut events, mut from) = (Vec::new(), "-".to_owned());
        loop {
            let read = format!("XRANGE {STREAM}:{thread} {from} + COUNT {ENTRIES}");
            let reply = wire.ask(&words(&read))?;
            let entries = array(&reply)?;
            for shown in entries {
                let [id, fields] = array(shown)? else { bail!("no entry: {shown}") };
                let mut pairs = array(fields)?.chunks(2);
                let payload = pairs.find(|pair| pair[0] == Value::Word(b"payload".to_vec()));
                let [_, payload] = payload.context("no payload")? else { bail!("no pair") };
                events.push(ShippedEvent::of_json(&text(payload)?)?);
                from = format!("({}", text(id)?);
            }
            if entries.len() < ENTRIES {
                return Ok(events);
            }
        }
    }

    /// Returns the events that a node tells when it leads, by thread.
    pub(super) fn told_by(&mut self, node: usize, threads: u16) -> Result<Vec<Vec<ShippedEvent>>> {
        let mut told = Vec::new();
        for thread in 0..threads {
            let (mut events, mut request) =
                (Vec::new(), format!("SCUR.WATCH 0 COUNT 1000 THREAD {thread}"));
            loop {
                let reply = self.group.asked_of(node, &[words(&request)])?;
                let reply = reply.first().context("a reply")?;
                let read = array(entry(reply, "events").with_context(|| reply.to_string())?)?;
                for shown in read {
                    events.push(ShippedEvent::of_watch(shown)?);
                }
                let next = text(entry(reply, "next")?)?;
                if next == text(entry(reply, "end")?)? {
                    break;
                }
                request = format!("SCUR.WATCH {next} COUNT 1000");
            }
            told.push(events);
        }
        Ok(told)
    }

    /// Returns the addresses of the nodes' networks.
    pub(super) fn store_places(&self) -> Result<Vec<usize>> {
        let places = (0..NODES).map(|node| self.group.nodes[node].namespace.as_ref());
        places.map(|own| Ok(own.context("the node has no network of its own")?.index())).collect()
    }
}

/// Returns the names of the complete files of a directory, in their order.
fn complete(directory: &std::path::Path) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(directory).into_iter().flatten() {
        let name = entry?.file_name().to_string_lossy().into_owned();
        // The checkpoint of usage records has another form of name.
        if name.ends_with(".jsonl") && name.split('-').count() == 5 {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}

fn connect((host, port): &(String, u16)) -> Result<Wire> {
    Wire::connect_within((host.as_str(), *port), PATIENCE)
}

/// Returns how many entries the streams have.
fn length(broker: &(String, u16)) -> Result<u64> {
    let mut wire = connect(broker)?;
    let lengths = wire.ask_all(&[0, 1].map(|thread| words(&format!("XLEN {STREAM}:{thread}"))))?;
    let sum: i128 = lengths.iter().map(int).collect::<Result<Vec<_>>>()?.iter().sum();
    Ok(u64::try_from(sum)?)
}
