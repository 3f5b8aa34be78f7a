//! Report on a node of a group: its identity, its members and its votes.

use crate::store::DataDirectory;
use scurry_codec::GroupMember;
use scurry_disk::{GroupFile, read_vote};
use scurry_engine::Vote;
use serde_json::{Value, json};
use std::io::{self, Write};

/// The readable part of a node's identity and votes. Empty for a store of one machine.
#[derive(Debug)]
pub(super) struct NodeReport {
    file: Option<GroupFile>,
    /// Votes in the order of the cores.
    votes: Vec<Vote>,
    pub(super) problems: Vec<String>,
}

impl NodeReport {
    pub(super) fn read(directory: &DataDirectory) -> NodeReport {
        let mut node = NodeReport { file: None, votes: vec![], problems: vec![] };
        match directory.group() {
            Ok(file) => node.file = file,
            Err(error) => node.problems.push(error.to_string()),
        }
        if let (Some(_), Some(manifest)) = (&node.file, &directory.manifest) {
            for core in 0..manifest.threads {
                match read_vote(&directory.path, manifest, core) {
                    Ok(vote) => node.votes.push(vote),
                    Err(error) => {
                        node.problems.push(error.to_string());
                        break;
                    }
                }
            }
        }
        node
    }

    pub(super) fn print(&self, out: &mut impl Write) -> io::Result<()> {
        if let Some(GroupFile { node, founder, members }) = &self.file {
            writeln!(out, "node {node:016x} of a group that {founder:016x} began")?;
            for GroupMember { id, votes, peer, ip, main, .. } in members {
                let part = if *votes { "votes" } else { "has no vote" };
                writeln!(out, "  member {id:016x}: {part}, reached at {peer}, serves {ip}:{main}")?;
            }
        }
        for (core, Vote { term, node }) in self.votes.iter().enumerate() {
            let term = term.get();
            match node {
                0 => writeln!(out, "  vote of core {core}: term {term}, none given")?,
                _ => writeln!(out, "  vote of core {core}: term {term}, given to {node:016x}")?,
            }
        }
        for problem in &self.problems {
            writeln!(out, "  WRONG: {problem}")?;
        }
        Ok(())
    }

    /// Returns the node as JSON: null for a store of one machine.
    pub(super) fn json(&self) -> Value {
        let id = |number: u64| format!("{number:016x}");
        let member = |member: &GroupMember| {
            json!({
                "id": id(member.id),
                "votes": member.votes,
                "peer": member.peer.to_string(),
                "ip": member.ip.to_string(),
                "port": member.main,
            })
        };
        let vote = |vote: &Vote| json!({"term": vote.term.get(), "node": id(vote.node)});
        if self.file.is_none() && self.problems.is_empty() {
            return Value::Null;
        }
        json!({
            "id": self.file.as_ref().map(|file| id(file.node)),
            "founder": self.file.as_ref().map(|file| id(file.founder)),
            "members": self.file.iter().flat_map(|file| &file.members).map(member).collect::<Vec<_>>(),
            "votes": self.votes.iter().map(vote).collect::<Vec<_>>(),
            "problems": self.problems,
        })
    }
}
