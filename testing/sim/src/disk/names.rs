//! The names in a directory, as programs see them and as they are on the device.

use scurry_model::Random;
use std::collections::BTreeMap;

#[derive(Clone, Debug)]
enum Change {
    Link(String, usize),
    Unlink(String),
    /// The inode, its old name and its new name.
    Rename(usize, String, String),
}

#[derive(Clone, Debug, Default)]
pub(super) struct Names {
    cache: BTreeMap<String, usize>,
    durable: BTreeMap<String, usize>,
    /// Changes that were not synced, in order.
    pending: Vec<Change>,
}

impl Names {
    pub(super) fn get(&self, name: &str) -> Option<usize> {
        self.cache.get(name).copied()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (String, usize)> {
        self.cache.iter().map(|(name, at)| (name.clone(), *at))
    }

    /// Adds a name for a file. A file that had the name loses it.
    pub(super) fn link(&mut self, name: &str, inode: usize) {
        self.add(Change::Link(name.to_owned(), inode));
    }

    pub(super) fn unlink(&mut self, name: &str) {
        self.add(Change::Unlink(name.to_owned()));
    }

    pub(super) fn rename(&mut self, from: &str, to: &str) {
        if let Some(inode) = self.get(from) {
            self.add(Change::Rename(inode, from.to_owned(), to.to_owned()));
        }
    }

    fn add(&mut self, change: Change) {
        apply(&mut self.cache, &change);
        self.pending.push(change);
    }

    pub(super) fn sync(&mut self) {
        self.durable.clone_from(&self.cache);
        self.pending.clear();
    }

    /// Loses power: keeps the changes that were not synced up to a random one, as a file system with a journal does. In
    /// half of the cases renames and removals are kept or lost independently, because no order is guaranteed.
    pub(super) fn lose(&mut self, random: &mut Random) {
        let (kept, is_loose) = (random.below(self.pending.len() + 1), random.one_in(2));
        for (index, change) in self.pending.drain(..).enumerate() {
            let is_made = matches!(change, Change::Link(..));
            if if is_loose && !is_made { random.one_in(2) } else { index < kept } {
                apply(&mut self.durable, &change);
            }
        }
        self.cache.clone_from(&self.durable);
    }
}

fn apply(names: &mut BTreeMap<String, usize>, change: &Change) {
    match change {
        Change::Link(name, inode) => {
            names.insert(name.clone(), *inode);
        }
        Change::Unlink(name) => {
            names.remove(name);
        }
        Change::Rename(inode, from, to) => {
            // On the device the name may belong to an older file, if the link of this file was lost.
            if names.get(from) == Some(inode) {
                names.remove(from);
                names.insert(to.clone(), *inode);
            }
        }
    }
}
