//! Search of entities by value or by a range of ids, over several nodes. A node's list may be out of date, so it is
//! only a hint: each id is read from its quorum before it is shown.

use crate::coordinator::Coordinator;
use crate::node::{EntityNode, NodeFailure};
use crate::quorum::Quorum;
use crate::round::{Effect, Failure, QuorumRequest};
use crate::step::{IDS_MAX, Step};
use futures_util::stream::{self, FuturesUnordered, StreamExt, TryStreamExt};
use redis::Cmd;
use scurry_stores::{ASKED_AGAIN_MAX, PipelinedConnection};
use std::collections::BTreeSet;

/// Maximum number of steps through a node's entities with a value, for one page.
const STEPS_MAX: usize = 1_000;
/// Maximum number of steps through all entities of a node, for one page.
const SCANS_MAX: usize = 10_000;
/// Number of entities that are read at a time.
pub(crate) const READS: usize = 16;

/// Which entities to find.
#[derive(Clone, Copy)]
pub(crate) enum EntityFilter<'a> {
    /// Entities with exactly this value.
    Value(&'a [u8]),
    /// Ids from `start` on, and before `end` if there is one.
    Range { start: &'a [u8], end: Option<&'a [u8]> },
}

/// Which entities to find, and how many.
#[derive(Clone, Copy)]
pub(crate) struct Search<'a> {
    pub(crate) wanted: EntityFilter<'a>,
    /// Only ids greater than this one.
    pub(crate) after: &'a [u8],
    /// Maximum number of ids to look at.
    pub(crate) limit: usize,
    /// Longer ids are left out, bytes.
    pub(crate) id_len_max: usize,
}

/// A page of ids, in the order of their bytes.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct SearchPage {
    pub(crate) ids: Vec<Vec<u8>>,
    /// The last id of the page when more may follow; None at the end.
    pub(crate) next: Option<Vec<u8>>,
}

/// The smallest ids seen so far, up to the limit of a page.
#[derive(Default)]
struct Page {
    ids: BTreeSet<Vec<u8>>,
    /// Greater ids were left out.
    is_cut: bool,
}

impl EntityFilter<'_> {
    /// Returns the command for one step.
    fn question(self, cursor: &[u8]) -> Cmd {
        match self {
            EntityFilter::Value(value) => Step::question(value, cursor),
            // Ids between two ids start with their common prefix.
            EntityFilter::Range { start, end } => {
                let pairs = start.iter().zip(end.unwrap_or_default());
                let common = pairs.take_while(|(one, other)| one == other).count();
                Step::scan(&start[..common], cursor)
            }
        }
    }

    /// Reports whether an id of a node's list matches.
    fn has(self, id: &[u8]) -> bool {
        match self {
            EntityFilter::Value(_) => true,
            EntityFilter::Range { start, end } => id >= start && end.is_none_or(|end| id < end),
        }
    }

    fn steps_max(self) -> usize {
        match self {
            EntityFilter::Value(_) => STEPS_MAX,
            EntityFilter::Range { .. } => SCANS_MAX,
        }
    }
}

impl Coordinator {
    /// Returns the ids of entities that have the value. An entity is listed if it has the value all the time and a
    /// quorum of this size has acknowledged it. It is not listed if any `ack` of its nodes know that it has another
    /// value or is deleted.
    pub(crate) async fn find(
        &self,
        value: &[u8],
        search: Search<'_>,
        quorum: Quorum,
    ) -> Result<SearchPage, Failure> {
        let SearchPage { ids, next } = self.candidates(search, quorum).await?;
        Ok(SearchPage { ids: self.confirm(ids, value, quorum).await?, next })
    }

    /// Returns up to `limit` ids that the nodes list, unconfirmed. Asks enough nodes that they include `ack` of the
    /// nodes of every id.
    pub(crate) async fn candidates(
        &self,
        search: Search<'_>,
        quorum: Quorum,
    ) -> Result<SearchPage, Failure> {
        let mut round =
            QuorumRequest::new(&self.nodes, quorum.over(self.nodes.len()), self.patience);
        let mut asked: FuturesUnordered<_> =
            self.nodes.iter().map(|node| async move { (node, list(node, search).await) }).collect();
        let mut page = Page::default();
        while round.answered < round.quorum.ack() {
            match asked.next().await {
                Some((_, Ok(Some(listed)))) => {
                    round.answered += 1;
                    page.merge(listed, search.limit);
                }
                Some((_, Ok(None))) => {
                    return Err(Failure::TooMany(search.wanted.steps_max() * IDS_MAX));
                }
                Some((node, Err(missing))) => round.missed(node, missing),
                None => return Err(round.failure(Effect::Read)),
            }
            if round.is_lost() {
                return Err(round.failure(Effect::Read));
            }
        }
        let next = page.ids.last().filter(|_| page.is_cut).cloned();
        Ok(SearchPage { ids: page.ids.into_iter().collect(), next })
    }

    /// Returns those ids that have the value by a read from their quorum, in the same order.
    async fn confirm(
        &self,
        ids: Vec<Vec<u8>>,
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

/// Lists a page of one node. None when the node has too many entities. Starts again when the connection ends.
async fn list(node: &EntityNode, search: Search<'_>) -> Result<Option<Page>, NodeFailure> {
    let mut again = 0;
    loop {
        match walk(&node.wait().await?, search).await {
            Err(NodeFailure::Failed(error))
                if error.is_connection_dropped() && again < ASKED_AGAIN_MAX =>
            {
                again += 1;
            }
            listed => return listed,
        }
    }
}

/// Lists a page of the node on this connection, step by step. None when that takes too many steps.
async fn walk(line: &PipelinedConnection, search: Search<'_>) -> Result<Option<Page>, NodeFailure> {
    let mut page = Page::default();
    let mut cursor = Step::BEGIN.to_vec();
    for _ in 0..search.wanted.steps_max() {
        let step = EntityNode::step(line, &search.wanted.question(&cursor)).await?;
        let wanted = |id: &Vec<u8>| {
            id[..] > *search.after && id.len() <= search.id_len_max && search.wanted.has(id)
        };
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
