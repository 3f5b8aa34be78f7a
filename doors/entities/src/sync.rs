//! Brings a node up to date: compares every entity and every deletion that another node knows, and writes the newest
//! copy over older ones.

use crate::copy::{Content, EntityCopy};
use axum::body::Bytes;
use redis::{Cmd, RedisError, Value, cmd};
use scurry_engine::Version;
use scurry_ledger::Time;
use scurry_stores::PipelinedConnection;

/// Number of keys compared in one step. The values of all nodes for them are in memory at once.
const KEYS: usize = 64;

/// Copies to `node` every entity of which one of the `others` has a newer copy. May skip deletions from before
/// `forgotten`.
pub(crate) async fn bring_up(
    node: &PipelinedConnection,
    others: &[PipelinedConnection],
    forgotten: Time,
) -> Result<(), RedisError> {
    // List each of the others, then the node itself: the others may know newer copies of its entities.
    for lister in 0..=others.len() {
        let mut listing = Listing::new();
        loop {
            let listed = others.get(lister).unwrap_or(node);
            let Some(ids) = listing.next(listed).await? else { break };
            let mut newest = vec![EntityCopy::NOTHING; ids.len()];
            for other in others {
                later(&mut newest, known(other, &ids).await?);
            }
            let has = known(node, &ids).await?;
            let lacks = ids.iter().zip(newest).zip(&has);
            let lacks = lacks.filter(|((_, newest), has)| is_lacking(newest, has, forgotten));
            write(node, lacks.map(|((id, newest), _)| (id, newest))).await?;
        }
    }
    Ok(())
}

/// Reports whether a node must be sent the newest copy. An old deletion is not sent to a node that knows nothing of the
/// entity. That node would remember it from now on and pass it to nodes that have just forgotten it, and so on for
/// ever.
fn is_lacking(newest: &EntityCopy, has: &EntityCopy, forgotten: Time) -> bool {
    let is_old = newest.content == Content::Gone && newest.version < Version::at(forgotten, 0);
    newest > has && !(is_old && has.version == Version::ABSENT)
}

/// Removes from `node` every entity that none of the `others` knows and that is older than `before`: its deletion may
/// have been forgotten while the node was away.
pub(crate) async fn purge(
    node: &PipelinedConnection,
    others: &[PipelinedConnection],
    before: Time,
) -> Result<(), RedisError> {
    let mut listing = Listing::new();
    while let Some(ids) = listing.next(node).await? {
        let has = known(node, &ids).await?;
        let mut newest = vec![EntityCopy::NOTHING; ids.len()];
        for other in others {
            later(&mut newest, known(other, &ids).await?);
        }
        let unknown = ids.iter().zip(has).zip(newest).filter(|((_, has), newest)| {
            let old = has.version < Version::at(before, 0) && has.version > Version::ABSENT;
            old && newest.version == Version::ABSENT
        });
        // Write an entity that has already expired: it leaves no trace, and a deletion would leave a tombstone.
        let gone = unknown.filter_map(|((id, has), _)| {
            // The next version, so that the node accepts it.
            let version = Version::new(has.version.get() + 1)?;
            let content = Content::Value { bytes: Bytes::new(), forget_at: Some(Time(1)) };
            Some((id, EntityCopy { version, content }))
        });
        write(node, gone).await?;
    }
    Ok(())
}

/// A walk through the keys of a node and the deletions that it remembers. A Scurry server lists deletions separately;
/// in Valkey they are keys like others.
struct Listing {
    cursor: Vec<u8>,
    pass: SyncPass,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum SyncPass {
    Keys,
    Deletions,
    Over,
}

impl Listing {
    fn new() -> Listing {
        Listing { cursor: b"0".to_vec(), pass: SyncPass::Keys }
    }

    /// Returns the next keys, of any kind; None at the end.
    async fn next(
        &mut self,
        node: &PipelinedConnection,
    ) -> Result<Option<Vec<Vec<u8>>>, RedisError> {
        while self.pass != SyncPass::Over {
            let mut scan = cmd("SCAN");
            scan.arg(&self.cursor[..]).arg("COUNT").arg(KEYS);
            if self.pass == SyncPass::Deletions {
                scan.arg("TYPE").arg("tombstone");
            }
            let answer = match node.ask(&scan).await? {
                // Valkey does not know this type. Any other error must not pass for an empty list.
                Value::ServerError(error)
                    if self.pass == SyncPass::Deletions && error.code() == "ERR" =>
                {
                    self.pass = SyncPass::Over;
                    continue;
                }
                answer => answer.extract_error()?,
            };
            let (cursor, keys): (Vec<u8>, Vec<Vec<u8>>) = redis::from_redis_value(answer)?;
            if cursor == b"0" {
                self.pass =
                    if self.pass == SyncPass::Keys { SyncPass::Deletions } else { SyncPass::Over };
            }
            self.cursor = cursor;
            if !keys.is_empty() {
                return Ok(Some(keys));
            }
        }
        Ok(None)
    }
}

/// Reads a node's copies of the keys. A key that is not an entity counts as nothing.
async fn known(node: &PipelinedConnection, ids: &[Vec<u8>]) -> Result<Vec<EntityCopy>, RedisError> {
    let questions: Vec<Cmd> = ids.iter().map(|id| EntityCopy::read_command(id)).collect();
    let answers = node.ask_all(&questions).await?;
    answers
        .into_iter()
        .map(|answer| match answer {
            // The key is an account or a plain value.
            Value::ServerError(error) if error.code() == "WRONGTYPE" => Ok(EntityCopy::NOTHING),
            other => {
                let answer = other.extract_error()?;
                EntityCopy::of_answer(answer).ok_or_else(crate::copy::not_a_node)
            }
        })
        .collect()
}

/// Replaces each copy by the newer one of the two.
fn later(newest: &mut [EntityCopy], copies: Vec<EntityCopy>) {
    for (newest, copy) in newest.iter_mut().zip(copies) {
        if copy > *newest {
            *newest = copy;
        }
    }
}

/// Sends copies to a node, and checks that it answers as a node does.
async fn write<'a>(
    node: &PipelinedConnection,
    copies: impl Iterator<Item = (&'a Vec<u8>, EntityCopy)>,
) -> Result<(), RedisError> {
    let orders: Vec<Cmd> = copies.map(|(id, copy)| copy.write_command(id)).collect();
    for answer in node.ask_all(&orders).await? {
        let answer = answer.extract_error()?;
        EntityCopy::version_after(&answer).ok_or_else(crate::copy::not_a_node)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn copy(ms: i64, content: Content) -> EntityCopy {
        EntityCopy { version: Version::at(Time(ms), 0), content }
    }

    #[test]
    fn an_old_deletion_goes_to_those_alone_who_have_what_was_deleted() {
        let value = || Content::Value { bytes: Bytes::from_static(b"x"), forget_at: None };
        let (before, deleted) = (copy(500, value()), copy(1_000, Content::Gone));
        for forgotten in [Time(0), Time(2_000)] {
            assert!(is_lacking(&deleted, &before, forgotten));
            assert!(is_lacking(&before, &EntityCopy::NOTHING, forgotten));
            assert!(!is_lacking(&before, &deleted, forgotten));
            assert!(!is_lacking(&deleted, &deleted, forgotten));
        }
        assert!(is_lacking(&deleted, &EntityCopy::NOTHING, Time(1_000)));
        assert!(!is_lacking(&deleted, &EntityCopy::NOTHING, Time(1_001)));
    }

    #[test]
    fn of_one_version_the_greater_content_is_lacking() {
        let value = |text| Content::Value { bytes: Bytes::from_static(text), forget_at: None };
        let (one, other) = (copy(500, value(b"a")), copy(500, value(b"b")));
        assert!(is_lacking(&other, &one, Time(0)) && !is_lacking(&one, &other, Time(0)));
        let mut newest = vec![one];
        later(&mut newest, vec![other.clone()]);
        assert_eq!(newest, [other]);
    }
}
