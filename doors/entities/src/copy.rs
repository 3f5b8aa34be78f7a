//! One node's copy of an entity, and the commands that read and write it.

use axum::body::Bytes;
use redis::{Cmd, RedisError, Value, cmd};
use scurry_engine::Version;
use scurry_ledger::Time;
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// A node's copy of an entity. The greatest copy is the newest. Two doors may give one version to two writes: then the
/// one with the greater content wins, as on the nodes (see [`scurry_engine::EntityContent`]).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct EntityCopy {
    /// [`Version::ABSENT`] when the node does not know the entity.
    pub(crate) version: Version,
    pub(crate) content: Content,
}

/// Content in the order that nodes use: a deletion, then values by their bytes, then by their expiry.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Content {
    /// Deleted, or unknown to the node.
    Gone,
    Value {
        bytes: Bytes,
        /// When the node removes it; None for never.
        forget_at: Option<Time>,
    },
}

impl EntityCopy {
    pub(crate) const NOTHING: EntityCopy =
        EntityCopy { version: Version::ABSENT, content: Content::Gone };

    /// Returns the entity tag. Two doors may give one version to two values, so a digest of the content follows the
    /// version.
    pub(crate) fn tag(&self) -> String {
        match &self.content {
            Content::Gone => format!("\"{}\"", self.version),
            Content::Value { bytes, forget_at } => {
                let seed = forget_at.map_or(0, |time| time.0.cast_unsigned());
                format!("\"{}-{:016x}\"", self.version, xxh3_64_with_seed(bytes, seed))
            }
        }
    }

    /// Returns the command that reads a copy.
    pub(crate) fn read_command(id: &[u8]) -> Cmd {
        let mut command = cmd("ENTITY.GET");
        command.arg(id).arg("WITHVERSION");
        command
    }

    /// Returns the same command as bytes of RESP.
    pub(crate) fn question_packed(id: &[u8]) -> Vec<u8> {
        let mut packed = Vec::with_capacity(64 + id.len());
        packed.extend_from_slice(b"*3\r\n$10\r\nENTITY.GET\r\n$");
        packed.extend_from_slice(id.len().to_string().as_bytes());
        packed.extend_from_slice(b"\r\n");
        packed.extend_from_slice(id);
        packed.extend_from_slice(b"\r\n$11\r\nWITHVERSION\r\n");
        packed
    }

    /// Parses the answer to [`Copy::question`]. None when it has another form: the server is not a node of entities.
    pub(crate) fn of_answer(answer: Value) -> Option<EntityCopy> {
        let parts = match answer {
            Value::Nil => return Some(EntityCopy::NOTHING),
            Value::Array(parts) => <[Value; 3]>::try_from(parts).ok()?,
            _ => return None,
        };
        let [version, value, expires] = parts;
        let content = match (value, expires) {
            (Value::Nil, Value::Int(_)) => Content::Gone,
            (Value::BulkString(bytes), Value::Int(expires)) => Content::Value {
                bytes: bytes.into(),
                forget_at: (expires >= 0).then_some(Time(expires)),
            },
            _ => return None,
        };
        Some(EntityCopy { version: version_of(&version)?, content })
    }

    /// Returns the command that makes a node store this copy, unless it has a later one.
    pub(crate) fn write_command(&self, id: &[u8]) -> Cmd {
        let mut command = match &self.content {
            Content::Gone => cmd("ENTITY.DEL"),
            Content::Value { .. } => cmd("ENTITY.PUT"),
        };
        command.arg(id);
        if let Content::Value { bytes, .. } = &self.content {
            command.arg(&bytes[..]);
        }
        command.arg("VERSION").arg(self.version.get());
        if let Content::Value { forget_at: Some(time), .. } = &self.content {
            command.arg("PXAT").arg(time.0);
        }
        command
    }

    /// Parses the answer to [`Copy::order`]: the version that the node has afterwards. None when it has another form.
    pub(crate) fn version_after(answer: &Value) -> Option<Version> {
        match answer {
            Value::Array(parts) => match &parts[..] {
                [Value::Int(0 | 1), version] => version_of(version),
                _ => None,
            },
            _ => None,
        }
    }
}

fn version_of(value: &Value) -> Option<Version> {
    match value {
        Value::Int(number) => Version::new(u64::try_from(*number).ok()?),
        _ => None,
    }
}

/// Returns the error for an answer that no node of entities gives.
pub(crate) fn not_a_node() -> RedisError {
    (redis::ErrorKind::Parse, "an answer that no node of entities gives").into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use scurry_engine::EntityContent;

    fn words(command: &Cmd) -> Vec<String> {
        command
            .args_iter()
            .map(|arg| match arg {
                redis::Arg::Simple(bytes) => String::from_utf8_lossy(bytes).into_owned(),
                _ => String::from("?"),
            })
            .collect()
    }

    #[test]
    fn a_copy_is_passed_on_as_it_was_read() {
        let value = Value::BulkString(b"blue".to_vec());
        let read = EntityCopy::of_answer(Value::Array(vec![Value::Int(9), value, Value::Int(77)]));
        assert_eq!(
            words(&read.unwrap().write_command(b"user:7")),
            ["ENTITY.PUT", "user:7", "blue", "VERSION", "9", "PXAT", "77"]
        );
        let read =
            EntityCopy::of_answer(Value::Array(vec![Value::Int(9), Value::Nil, Value::Int(-1)]));
        assert_eq!(
            words(&read.unwrap().write_command(b"user:7")),
            ["ENTITY.DEL", "user:7", "VERSION", "9"]
        );
        assert_eq!(EntityCopy::of_answer(Value::Nil), Some(EntityCopy::NOTHING));
    }

    #[test]
    fn of_one_version_the_greater_content_is_newer_as_nodes_have_it() {
        let value = |bytes: &'static [u8], forget_at: Option<i64>| Content::Value {
            bytes: Bytes::from_static(bytes),
            forget_at: forget_at.map(Time),
        };
        let contents = [
            Content::Gone,
            value(b"", None),
            value(b"a", None),
            value(b"a", Some(5)),
            value(b"a", Some(6)),
            value(b"aa", None),
            value(b"b", None),
        ];
        let version = Version::at(Time(1), 0);
        let later = Version::at(Time(2), 0);
        for (at, one) in contents.iter().enumerate() {
            let copy =
                |version, content: &Content| EntityCopy { version, content: content.clone() };
            let nodes = |content| match content {
                &Content::Gone => EntityContent::default(),
                Content::Value { bytes, forget_at } => {
                    EntityContent { value: Some(bytes), expires: *forget_at }
                }
            };
            for other in &contents[..at] {
                assert!(copy(version, one) > copy(version, other), "{one:?} {other:?}");
                assert!(nodes(one) > nodes(other), "{one:?} {other:?}");
                assert!(copy(version, one) < copy(later, other));
                assert_ne!(copy(version, one).tag(), copy(version, other).tag());
            }
        }
    }

    #[test]
    fn a_question_is_packed_as_the_kept_client_packs_it() {
        for id in [&b"a"[..], b"user:7", &[0xff; 300]] {
            assert_eq!(
                EntityCopy::question_packed(id),
                EntityCopy::read_command(id).get_packed_command()
            );
        }
    }

    #[test]
    fn what_no_node_says_is_no_copy() {
        let text = || Value::BulkString(b"x".to_vec());
        for garbage in [
            Value::Int(1),
            text(),
            Value::Array(vec![]),
            Value::Array(vec![Value::Int(-1), text(), Value::Int(-1)]),
            Value::Array(vec![Value::Int(1), Value::Int(1), Value::Int(-1)]),
            Value::Array(vec![text(), text(), Value::Int(-1)]),
            Value::Array(vec![Value::Int(1), text(), Value::Nil]),
        ] {
            assert_eq!(EntityCopy::of_answer(garbage.clone()), None, "{garbage:?}");
            assert_eq!(EntityCopy::version_after(&garbage), None, "{garbage:?}");
        }
        let answer = Value::Array(vec![Value::Int(0), Value::Int(5)]);
        assert_eq!(EntityCopy::version_after(&answer), Version::new(5));
    }
}
