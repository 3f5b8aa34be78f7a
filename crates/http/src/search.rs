//! Entities by value over several nodes. A node lists what its index has, which may be old, so what
//! it says is a hint: each id is read from its quorum before it is shown.

use crate::coordinator::{Coordinator, Failure};
use crate::node::{Missing, Node};
use crate::quorum::Quorum;
use crate::round::Round;
use crate::step::{IDS_MAX, Step};
use futures_util::stream::{self, FuturesUnordered, StreamExt, TryStreamExt};
use std::collections::BTreeSet;

/// Steps through the entities of one node for one request.
const STEPS_MAX: usize = 1_000;
/// Entities that are read at a time.
const READS: usize = 16;

/// What is looked for.
#[derive(Clone, Copy)]
pub(crate) struct Search<'a> {
    pub(crate) value: &'a [u8],
    /// Ids greater than this one.
    pub(crate) after: &'a [u8],
    /// Ids that are looked at, at most.
    pub(crate) limit: usize,
    /// Longer ids are left out, bytes.
    pub(crate) id_len_max: usize,
}

/// A page of ids, in the order of their bytes.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) ids: Vec<Vec<u8>>,
    /// There may be more behind this id.
    pub(crate) next: Option<Vec<u8>>,
}

/// The smallest ids that were seen, as many as a page has.
#[derive(Default)]
struct Page {
    ids: BTreeSet<Vec<u8>>,
    /// Others were left out.
    is_cut: bool,
}

impl Coordinator {
    /// The ids of entities that have the value. One that has it all the while, and that a quorum
    /// like this one has acknowledged, is listed; one that has another value or is deleted, as any
    /// `ack` of its nodes know, is not.
    pub(crate) async fn find(&self, search: Search<'_>, quorum: Quorum) -> Result<Found, Failure> {
        let mut round = Round::new(&self.nodes, quorum.over(self.nodes.len()));
        let mut asked: FuturesUnordered<_> =
            self.nodes.iter().map(|node| async move { (node, list(node, search).await) }).collect();
        let mut page = Page::default();
        while round.answered < round.quorum.ack() {
            match asked.next().await {
                Some((_, Ok(Some(listed)))) => {
                    round.answered += 1;
                    page.merge(listed, search.limit);
                }
                Some((_, Ok(None))) => return Err(Failure::TooMany(STEPS_MAX * IDS_MAX)),
                Some((node, Err(missing))) => round.missed(node, missing),
                None => return Err(round.failure()),
            }
            if round.is_lost() {
                return Err(round.failure());
            }
        }
        let next = page.ids.last().filter(|_| page.is_cut).cloned();
        let ids = self.confirm(page.ids, search.value, quorum).await?;
        Ok(Found { ids, next })
    }

    /// Those that a quorum shows with the value, in the same order.
    async fn confirm(
        &self,
        ids: BTreeSet<Vec<u8>>,
        value: &[u8],
        quorum: Quorum,
    ) -> Result<Vec<Vec<u8>>, Failure> {
        let reads = stream::iter(ids).map(|id| async move {
            let shown = self.get(&id, quorum).await?;
            let has_it = shown.is_some_and(|shown| *shown.bytes == *value);
            Ok(has_it.then_some(id))
        });
        reads.buffered(READS).try_filter_map(|id| async move { Ok(id) }).try_collect().await
    }
}

/// What a node lists, step by step to the end; none when that is too far away.
async fn list(node: &Node, search: Search<'_>) -> Result<Option<Page>, Missing> {
    let mut page = Page::default();
    let mut cursor = Step::BEGIN.to_vec();
    let line = node.line().ok_or(Missing::NotReady)?;
    for _ in 0..STEPS_MAX {
        let step = node.find(&line, search.value, &cursor).await?;
        let wanted = |id: &Vec<u8>| id[..] > *search.after && id.len() <= search.id_len_max;
        for id in step.ids.into_iter().filter(wanted) {
            page.insert(id, search.limit);
        }
        match step.next {
            None => return Ok(Some(page)),
            Some(next) => cursor = next,
        }
    }
    Ok(None)
}

impl Page {
    fn insert(&mut self, id: Vec<u8>, limit: usize) {
        self.ids.insert(id);
        if self.ids.len() > limit {
            self.ids.pop_last();
            self.is_cut = true;
        }
    }

    fn merge(&mut self, other: Page, limit: usize) {
        self.is_cut |= other.is_cut;
        for id in other.ids {
            self.insert(id, limit);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(ids: &[u8], limit: usize) -> Page {
        let mut page = Page::default();
        for id in ids {
            page.insert(vec![*id], limit);
        }
        page
    }

    #[test]
    fn a_page_has_the_smallest_ids_and_knows_that_there_are_more() {
        let all = page(b"dbaceb", 5);
        assert!(all.ids.iter().flatten().eq(b"abcde") && !all.is_cut);
        let mut cut = page(b"dbace", 4);
        assert!(cut.ids.iter().flatten().eq(b"abcd") && cut.is_cut);
        cut.merge(page(b"0a", 4), 4);
        assert!(cut.ids.iter().flatten().eq(b"0abc") && cut.is_cut);
        let mut both = page(b"ac", 4);
        both.merge(page(b"cb", 4), 4);
        assert!(both.ids.iter().flatten().eq(b"abc") && !both.is_cut);
    }
}
