//! Error replies under load: all are counted, and the first few texts are kept.

use serde::{Deserialize, Serialize};

const TEXTS_MAX: usize = 5;

/// Counts of error replies.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorTally {
    /// Number of error replies.
    pub count: u64,
    /// The first different texts, with their counts.
    pub texts: Vec<ErrorText>,
}

/// One error text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorText {
    /// Text as received.
    pub text: String,
    /// Number of times that it was received.
    pub count: u64,
}

impl ErrorTally {
    /// Counts one error reply. Only its first line is read.
    #[cold]
    pub fn add(&mut self, reply: &[u8]) {
        self.count += 1;
        let line = reply.split(|&byte| byte == b'\r').next().unwrap_or_default();
        let text = String::from_utf8_lossy(line);
        let text = text.trim_start_matches('-');
        if let Some(known) = self.texts.iter_mut().find(|known| known.text == text) {
            known.count += 1;
        } else if self.texts.len() < TEXTS_MAX {
            self.texts.push(ErrorText { text: text.to_owned(), count: 1 });
        }
    }

    /// Describes the errors in one line; None when there were none.
    pub fn describe(&self) -> Option<String> {
        let first = self.texts.first()?;
        Some(format!("{} error replies, first: {} (x{})", self.count, first.text, first.count))
    }
}

#[cfg(test)]
mod tests {
    use super::ErrorTally;

    #[test]
    fn all_are_counted_and_few_are_kept() {
        let mut errors = ErrorTally::default();
        assert_eq!(errors.describe(), None);
        errors.add(b"-BUSY 50 later\r\n");
        for number in 0..20 {
            errors.add(format!("-ERR {number}\r\n").as_bytes());
        }
        errors.add(b"-BUSY 50 later\r\n+OK\r\n");
        assert_eq!(errors.count, 22);
        assert_eq!(errors.texts.len(), 5);
        assert_eq!(errors.describe().unwrap(), "22 error replies, first: BUSY 50 later (x2)");
    }
}
