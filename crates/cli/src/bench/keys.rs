//! The load of plain keys: SET and GET of values. It remembers the last value of each key, to check reads and for the
//! audit.

use super::client::{Task, Workload};
use anyhow::{Result, ensure};
use scurry_resp::client::{Stop, Template, append, skip};

const VALUE_LEN: usize = 100;

pub(super) struct Keys {
    keys: Vec<Key>,
    slots: Vec<Slot>,
    get: Template,
    set: Template,
    begun: u64,
    fault: Option<String>,
}

struct Key {
    name: Vec<u8>,
    /// Number of the last value that was sent. The server executes the requests of a connection in order, so a later
    /// GET returns it.
    written: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Slot {
    Get { key: usize, written: u64 },
    Set,
}

impl Workload for Keys {
    const REMOVALS: usize = 1;

    fn new(names: Vec<Vec<u8>>, slots: usize) -> Keys {
        let name = names.first().cloned().unwrap_or_default();
        let get = Template::new(&[b"GET".to_vec(), name.clone()], 1, None);
        let set = Template::new(&[b"SET".to_vec(), name, value(0).to_vec()], 1, Some(2));
        let keys = names.into_iter().map(|name| Key { name, written: 0 }).collect();
        Keys { keys, slots: vec![Slot::Set; slots], get, set, begun: 0, fault: None }
    }

    fn append_next(&mut self, slot: usize, out: &mut Vec<u8>) {
        let at = super::routes::spread(self.begun, self.keys.len());
        self.begun += 1;
        let key = &mut self.keys[at];
        self.slots[slot] = if self.begun.is_multiple_of(2) {
            self.get.append(out, &key.name, &[]);
            Slot::Get { key: at, written: key.written }
        } else {
            key.written = self.begun;
            self.set.append(out, &key.name, &value(key.written));
            Slot::Set
        };
    }

    fn append_end(&mut self, _: usize, _: &mut Vec<u8>) -> bool {
        false
    }

    fn accept(&mut self, slot: usize, reply: &[u8]) -> Result<usize, Stop> {
        let length = skip(reply)?;
        let is_right = match self.slots[slot] {
            Slot::Set => &reply[..length] == b"+OK\r\n",
            Slot::Get { written, .. } => is_value(&reply[..length], written),
        };
        if !is_right && self.fault.is_none() {
            let asked = match self.slots[slot] {
                Slot::Set => "SET".to_owned(),
                Slot::Get { key, .. } => format!("GET {}", self.keys[key].name.escape_ascii()),
            };
            let text = reply[..length].trim_ascii_end().escape_ascii();
            self.fault = Some(format!("the reply to {asked} is wrong: {text}"));
        }
        Ok(length)
    }

    fn fault(&self) -> Option<&str> {
        self.fault.as_deref()
    }

    fn len(&self) -> usize {
        self.keys.len()
    }

    fn append_task(&self, task: Task, number: usize, out: &mut Vec<u8>) {
        let name = &self.keys[number].name;
        match task {
            Task::Prepare => append(&[&b"SET"[..], name, &value(0)], out),
            Task::Audit => append(&[&b"GET"[..], name], out),
            Task::Remove => append(&[&b"DEL"[..], name], out),
        }
    }

    fn check_audit(&self, number: usize, reply: &[u8]) -> Result<()> {
        let Key { name, written } = &self.keys[number];
        ensure!(
            is_value(reply, *written),
            "{} has another value than was written last: {}",
            name.escape_ascii(),
            reply.escape_ascii()
        );
        Ok(())
    }
}

/// Reports whether a reply to GET is the value with this number.
fn is_value(reply: &[u8], number: u64) -> bool {
    let value_of = reply.strip_prefix(b"$100\r\n").and_then(|rest| rest.strip_suffix(b"\r\n"));
    value_of == Some(&value(number))
}

/// Returns a value that contains its own number.
fn value(number: u64) -> [u8; VALUE_LEN] {
    let mut value = [b'.'; VALUE_LEN];
    value[..8].copy_from_slice(&number.to_be_bytes());
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_read_must_give_what_was_written_last_and_so_must_the_audit() {
        let mut load = Keys::new(vec![b"bench-1".to_vec()], 2);
        let mut out = Vec::new();
        load.append_next(0, &mut out);
        load.append_next(1, &mut out);
        assert!(out.starts_with(b"*3\r\n$3\r\nSET\r\n") && load.keys[0].written == 1);
        let right = [b"$100\r\n", &value(1)[..], b"\r\n"].concat();
        assert_eq!(load.accept(0, b"+OK\r\n"), Ok(5));
        assert_eq!((load.accept(1, &right), load.fault()), (Ok(right.len()), None));
        load.check_audit(0, &right).expect("it is the last one");
        let older = [b"$100\r\n", &value(0)[..], b"\r\n"].concat();
        load.check_audit(0, &older).expect_err("it is an older one");
        load.check_audit(0, b"$-1\r\n").expect_err("it is lost");
        load.accept(1, b"$-1\r\n").expect("a reply");
        assert_eq!(load.fault(), Some("the reply to GET bench-1 is wrong: $-1"));
    }
}
