//! The version of the protocol between nodes that every node of the group has to speak. What an older build cannot
//! read, or would decide differently, is done only after all nodes have spoken the version that brought it, and from
//! then on nodes that do not speak it are refused (docs/adr/0050-what-is-new-waits.md).

use crate::replica::NodeId;

/// Writes the version to the directory, durably.
pub type WriteVersion = Box<dyn FnMut(u16) -> Result<(), String> + Send>;

/// The required version, which only grows.
pub struct RequiredVersion {
    version: u16,
    write: WriteVersion,
    /// Why the version that was last asked for is not required yet. None when it is, or while this node does not decide.
    waits: Option<String>,
    /// True after the version could not be written, until it was.
    has_failed: bool,
}

impl RequiredVersion {
    /// Creates the requirement of a node whose directory has noted this version.
    pub fn new(version: u16, write: WriteVersion) -> RequiredVersion {
        RequiredVersion { version, write, waits: None, has_failed: false }
    }

    /// Returns the version.
    pub fn get(&self) -> u16 {
        self.version
    }

    /// Returns why the version that was last asked for is not required yet.
    pub fn waits(&self) -> Option<&str> {
        self.waits.as_deref()
    }

    /// Reports whether all nodes of the group speak a version, and whether no node can take part that does not. Once that
    /// is so it stays so, also for nodes that are away. A leader makes it so, when it is connected to all other members,
    /// with a vote or without, and each connection uses the version or a later one. `others` has these members, with None
    /// for one without a connection; it is None on a node that does not lead.
    pub fn all_members_speak(
        &mut self,
        version: u16,
        others: Option<&[(NodeId, Option<u16>)]>,
    ) -> bool {
        self.waits = None;
        if self.version >= version {
            return true;
        }
        let Some(others) = others else { return false };
        self.waits = match others.iter().find(|(_, spoken)| *spoken < Some(version)) {
            Some((node, Some(spoken))) => Some(format!("node {node} speaks version {spoken}")),
            Some((node, None)) => Some(format!("node {node} is not connected")),
            None if others.is_empty() => Some("there is no other node".to_owned()),
            None => self.raise(version).err(),
        };
        self.version >= version
    }

    /// Notes that the log has something of this version: a leader has found that all nodes speak it.
    pub fn note_logged(&mut self, version: u16) {
        if self.version < version {
            // After an error it is noted at the next record.
            let _ = self.raise(version);
        }
    }

    fn raise(&mut self, version: u16) -> Result<(), String> {
        if let Err(why) = (self.write)(version) {
            let why = format!("it could not be written down: {why}");
            if !std::mem::replace(&mut self.has_failed, true) {
                tracing::error!("version {version} of the protocol between nodes: {why}");
            }
            return Err(why);
        }
        (self.version, self.has_failed) = (version, false);
        tracing::info!(
            "all nodes speak version {version} of the protocol between nodes: from now on a node that does not is refused"
        );
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, Mutex};

    /// Returns a required version with what was written, which fails while the list has a 0 at its end.
    fn required(version: u16) -> (RequiredVersion, Arc<Mutex<Vec<u16>>>) {
        let written = Arc::new(Mutex::new(Vec::new()));
        let to = written.clone();
        let write: WriteVersion = Box::new(move |version| {
            let mut to = to.lock().unwrap();
            match to.pop_if(|last| *last == 0) {
                Some(_) => Err("no room".to_owned()),
                None => {
                    to.push(version);
                    Ok(())
                }
            }
        });
        (RequiredVersion::new(version, write), written)
    }

    fn others(spoken: &[Option<u16>]) -> Vec<(NodeId, Option<u16>)> {
        (2..).map(|id| NodeId::new(id).unwrap()).zip(spoken.iter().copied()).collect()
    }

    #[test]
    fn what_is_new_waits_until_all_members_are_connected_and_speak_it() {
        let (mut required, written) = required(1);
        for (spoken, why) in [
            (&[][..], "there is no other node"),
            (&[Some(4), None], "node 0000000000000003 is not connected"),
            (&[Some(3), Some(5)], "node 0000000000000002 speaks version 3"),
            (&[Some(4), Some(4), Some(3)], "node 0000000000000004 speaks version 3"),
        ] {
            assert!(!required.all_members_speak(4, Some(&others(spoken))), "{spoken:?}");
            assert_eq!(required.waits(), Some(why));
        }
        let all = others(&[Some(4), Some(5)]);
        assert!(!required.all_members_speak(4, None), "only a leader decides");
        assert_eq!((required.waits(), &*written.lock().unwrap()), (None, &vec![]));
        assert!(required.all_members_speak(4, Some(&all)));
        assert_eq!((required.get(), &*written.lock().unwrap()), (4, &vec![4]));
    }

    /// An observer that is down for days must not end the comparison of memory, whichever node leads.
    #[test]
    fn what_all_have_spoken_once_stays_also_while_nodes_are_away() {
        let (mut required, written) = required(1);
        assert!(required.all_members_speak(4, Some(&others(&[Some(4), Some(4)]))));
        for others in [Some(&others(&[None, Some(4)])[..]), Some(&[]), None] {
            assert!(required.all_members_speak(4, others));
            assert_eq!(required.waits(), None);
        }
        assert!(!required.all_members_speak(5, Some(&others(&[Some(5), Some(4)]))));
        assert_eq!((required.get(), &*written.lock().unwrap()), (4, &vec![4]), "written once");
    }

    #[test]
    fn what_the_log_has_is_required_and_never_less() {
        let (mut required, written) = required(1);
        required.note_logged(4);
        required.note_logged(4);
        required.note_logged(2);
        assert!(required.all_members_speak(4, None));
        assert_eq!((required.get(), &*written.lock().unwrap()), (4, &vec![4]));
    }

    #[test]
    fn a_version_that_cannot_be_written_down_is_not_required_yet() {
        let (mut required, written) = required(1);
        let all = others(&[Some(4)]);
        written.lock().unwrap().push(0);
        assert!(!required.all_members_speak(4, Some(&all)));
        assert_eq!(required.waits(), Some("it could not be written down: no room"));
        assert!(required.all_members_speak(4, Some(&all)));
        assert_eq!((required.waits(), &*written.lock().unwrap()), (None, &vec![4]));
    }
}
