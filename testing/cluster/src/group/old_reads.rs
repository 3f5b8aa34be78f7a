//! Connections to a node that leads until a fault hits it. Afterwards they must show the newest value or none.

use super::{Group, THREADS};
use anyhow::{Result, ensure};
use scurry_conformance::Value;
use scurry_crash::wire::{Wire, words};

const KEY: &str = "old-reads";

/// Open connections and the value that they must show.
pub(crate) struct OldReads {
    wires: Vec<Wire>,
    expected: String,
}

impl OldReads {
    /// Opens them and reads the old value once on each.
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

    /// Writes a new value through another node.
    pub(crate) fn overwrite(&mut self, group: &mut Group, by: usize, value: &str) -> Result<()> {
        group.execute(&[by], &format!("SET {KEY} {value}"))?;
        value.clone_into(&mut self.expected);
        Ok(())
    }

    /// Sends a read on all connections without waiting for replies.
    pub(crate) fn ask(&mut self) {
        for wire in &mut self.wires {
            // The peer may have closed the connection.
            let _ = wire.send(&[words(&format!("GET {KEY}"))]);
        }
    }

    /// Reads the replies. Returns how many showed the newest value.
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
