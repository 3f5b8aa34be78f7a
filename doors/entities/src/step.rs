//! One step of listing a node's entities: those with a value (ENTITY.FIND) or all (SCAN). Both commands have the same
//! form of answer.

use redis::{Cmd, Value, cmd};

/// Maximum number of ids in one step; the node has the same bound.
pub(crate) const IDS_MAX: usize = 1_000;

/// The part of a list that a node returns in one step.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Step {
    /// Cursor of the next step; None at the end.
    pub(crate) next: Option<Vec<u8>>,
    pub(crate) ids: Vec<Vec<u8>>,
}

impl Step {
    /// Cursor of the first step.
    pub(crate) const BEGIN: &[u8] = b"0";

    /// Returns the command that lists entities by value.
    pub(crate) fn question(value: &[u8], cursor: &[u8]) -> Cmd {
        let mut command = cmd("ENTITY.FIND");
        command.arg(value).arg("COUNT").arg(IDS_MAX).arg("AFTER").arg(cursor);
        command
    }

    /// Returns the command that lists all entities with this id prefix.
    pub(crate) fn scan(prefix: &[u8], cursor: &[u8]) -> Cmd {
        let mut pattern = Vec::with_capacity(prefix.len() + 1);
        for &byte in prefix {
            // Escape the special characters of a pattern.
            if b"*?[]\\^-".contains(&byte) {
                pattern.push(b'\\');
            }
            pattern.push(byte);
        }
        pattern.push(b'*');
        let mut command = cmd("SCAN");
        command.arg(cursor).arg("MATCH").arg(pattern).arg("COUNT").arg(IDS_MAX);
        command.arg("TYPE").arg("scurryent");
        command
    }

    /// Parses the answer to either command. None when it has another form.
    pub(crate) fn of_answer(answer: Value) -> Option<Step> {
        let Value::Array(parts) = answer else { return None };
        let [Value::BulkString(cursor), Value::Array(ids)] = <[Value; 2]>::try_from(parts).ok()?
        else {
            return None;
        };
        let id = |id| match id {
            Value::BulkString(id) => Some(id),
            _ => None,
        };
        let ids = ids.into_iter().map(id).collect::<Option<Vec<_>>>()?;
        Some(Step { next: (cursor != Step::BEGIN).then_some(cursor), ids })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_node_says_is_no_step() {
        let text = |text: &str| Value::BulkString(text.as_bytes().to_vec());
        let ids = || Value::Array(vec![text("a")]);
        let step = Step::of_answer(Value::Array(vec![text("7"), ids()]));
        assert_eq!(step, Some(Step { next: Some(b"7".to_vec()), ids: vec![b"a".to_vec()] }));
        let last = Step::of_answer(Value::Array(vec![text("0"), ids()])).expect("a step");
        assert_eq!(last.next, None);
        for garbage in [
            Value::Nil,
            ids(),
            Value::Array(vec![Value::Int(0), ids()]),
            Value::Array(vec![text("0"), text("a")]),
            Value::Array(vec![text("0"), Value::Array(vec![Value::Nil])]),
            Value::Array(vec![text("0"), ids(), ids()]),
        ] {
            assert_eq!(Step::of_answer(garbage.clone()), None, "{garbage:?}");
        }
    }
}
