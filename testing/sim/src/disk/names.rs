//! The names of a directory: as programs see them, and as they are on the device.

use scurry_model::Random;
use std::collections::BTreeMap;

#[derive(Clone, Debug)]
enum Change {
    Link(String, usize),
    Unlink(String),
    /// The file that moves, and its names before and after.
    Rename(usize, String, String),
}

#[derive(Clone, Debug, Default)]
pub(super) struct Names {
    cache: BTreeMap<String, usize>,
    durable: BTreeMap<String, usize>,
    /// Changes that were not synced, in their order.
    pending: Vec<Change>,
}

impl Names {
    pub(super) fn get(&self, name: &str) -> Option<usize> {
        self.cache.get(name).copied()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (String, usize)> {
        self.cache.iter().map(|(name, at)| (name.clone(), *at))
    }

    /// A file takes the place of one that was called so, with the name.
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

    /// The power fails: a journal keeps the first changes of those that were not synced. Now and
    /// then what moves and removes is kept or lost in any order, as nothing promises one.
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
            // What has the name on the device may be an older file, where the link of this one was lost.
            if names.get(from) == Some(inode) {
                names.remove(from);
                names.insert(to.clone(), *inode);
            }
        }
    }
}
