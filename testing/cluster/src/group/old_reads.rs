//! Connections to a node that leads until something happens to it: what they show afterwards must be the newest, or
//! nothing.

use super::{Group, THREADS};
use anyhow::{Result, ensure};
use scurry_conformance::Value;
use scurry_crash::wire::{Wire, words};

const KEY: &str = "old-reads";

/// The connections.
pub(crate) struct OldReads {
    wires: Vec<Wire>,
    expected: String,
}

impl OldReads {
    /// Opens them, and has each read the value once.
    pub(crate) fn open(group: &mut Group, leader: usize) -> Result<OldReads> {
        group.execute(&[leader], &format!("SET {KEY} old"))?;
        let node = &group.nodes[leader];
        let mut wires = vec![node.wire()?, node.wire()?];
        let threads: Result<Vec<Wire>> =
            (0..THREADS).map(|thread| node.wire_of_thread(thread)).collect();
        wires.extend(threads?);
        for wire in &mut wires {
            wire.ask(&words(&format!("GET {KEY}")))?;
        }
        Ok(OldReads { wires, expected: "old".to_owned() })
    }

    /// Has another node write what they must show from here on.
    pub(crate) fn overwrite(&mut self, group: &mut Group, by: usize, value: &str) -> Result<()> {
        group.execute(&[by], &format!("SET {KEY} {value}"))?;
        value.clone_into(&mut self.expected);
        Ok(())
    }

    /// Asks on all of them, and waits for nothing.
    pub(crate) fn ask(&mut self) {
        for wire in &mut self.wires {
            // Its other end may be gone.
            let _ = wire.send(&[words(&format!("GET {KEY}"))]);
        }
    }

    /// Reads the replies; how many showed the newest value.
    pub(crate) fn judge(self) -> Result<u64> {
        let mut newest = 0;
        for mut wire in self.wires {
            match wire.reply() {
                Ok(Value::Error(_)) | Err(_) => {}
                Ok(reply) => {
                    let expected = Value::Word(self.expected.clone().into_bytes());
                    ensure!(reply == expected, "an old connection shows {reply}, not {expected}");
                    newest += 1;
                }
            }
        }
        Ok(newest)
    }
}
