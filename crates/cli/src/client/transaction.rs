//! Shapes of replies in order, including those of the commands that EXEC executes.

use super::dialogue::first;
use super::shape::Shape;
use scurry_cluster_client::redis::Value;

/// Shapes of the commands queued by MULTI. None outside of a transaction.
#[derive(Debug, Default)]
pub(super) struct Transaction(Option<Vec<Shape>>);

impl Transaction {
    /// Returns the shape of the reply to a command, and follows MULTI, EXEC and DISCARD for the next ones.
    pub(super) fn shape(&mut self, words: &[&[u8]], reply: &Value) -> Shape {
        let is_queued = matches!(reply, Value::SimpleString(word) if word == "QUEUED");
        match (&*first(words), &mut self.0) {
            (_, Some(queued)) if is_queued => {
                queued.push(Shape::from_words(words));
                Shape::Unknown
            }
            (b"MULTI", queued) if *reply == Value::Okay => {
                *queued = Some(Vec::new());
                Shape::Unknown
            }
            (b"EXEC", queued) => Shape::Each(queued.take().unwrap_or_default()),
            (b"DISCARD" | b"RESET", queued) => {
                *queued = None;
                Shape::Unknown
            }
            _ => Shape::from_words(words),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exec_answers_for_what_was_queued() {
        let mut transaction = Transaction::default();
        let mut shape = |line: &str, reply: &str| {
            let words: Vec<&[u8]> = line.split(' ').map(str::as_bytes).collect();
            let reply = match reply {
                "OK" => Value::Okay,
                text => Value::SimpleString(text.to_owned()),
            };
            transaction.shape(&words, &reply)
        };
        let debit = Shape::from_words(&[b"SCUR.DEBIT"]);
        assert_eq!(shape("SCUR.DEBIT a", ""), debit);
        assert_eq!(shape("multi", "OK"), Shape::Unknown);
        assert_eq!(shape("SCUR.DEBIT a", "QUEUED"), Shape::Unknown);
        assert_eq!(shape("SCUR.DEBIT", "an error"), debit, "and not queued");
        assert_eq!(shape("GET a", "QUEUED"), Shape::Unknown);
        assert_eq!(shape("exec", ""), Shape::Each(vec![debit.clone(), Shape::Unknown]));
        assert_eq!(shape("SCUR.DEBIT a", "QUEUED"), debit, "outside of one it is a value");
        assert_eq!(shape("MULTI", "OK"), Shape::Unknown);
        assert_eq!(shape("SCUR.DEBIT a", "QUEUED"), Shape::Unknown);
        // The connection ended in between; MULTI on the new one starts a new queue.
        assert_eq!(shape("MULTI", "OK"), Shape::Unknown);
        assert_eq!(shape("EXEC", ""), Shape::Each(Vec::new()));
        assert_eq!(shape("MULTI", "OK"), Shape::Unknown);
        assert_eq!(shape("DISCARD", "OK"), Shape::Unknown);
        assert_eq!(shape("EXEC", ""), Shape::Each(Vec::new()));
    }
}
