//! Commands as bytes, so that a batch is sent in one write.

/// Commands of RESP, one after the other.
#[derive(Debug, Default)]
pub(crate) struct Commands {
    bytes: Vec<u8>,
    count: usize,
}

impl Commands {
    /// Adds a command.
    pub(crate) fn push(&mut self, words: &[&[u8]]) {
        self.number(b'*', words.len());
        for word in words {
            self.number(b'$', word.len());
            self.bytes.extend_from_slice(word);
            self.bytes.extend_from_slice(b"\r\n");
        }
        self.count += 1;
    }

    /// Adds other commands.
    pub(crate) fn append(&mut self, other: &Commands) {
        self.bytes.extend_from_slice(&other.bytes);
        self.count += other.count;
    }

    /// Removes all commands.
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.count = 0;
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the number of commands, and so of their replies.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    fn number(&mut self, kind: u8, number: usize) {
        self.bytes.push(kind);
        self.bytes.extend_from_slice(number.to_string().as_bytes());
        self.bytes.extend_from_slice(b"\r\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_arrays_of_bytes() {
        let mut commands = Commands::default();
        commands.push(&[b"XADD", b"a\r\nb", b""]);
        assert_eq!(commands.bytes(), b"*3\r\n$4\r\nXADD\r\n$4\r\na\r\nb\r\n$0\r\n\r\n");
        assert_eq!(commands.count(), 1);
    }
}
