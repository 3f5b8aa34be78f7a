//! One command as it goes to the store.

/// The words of a command: its name, its key, the rest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Command(pub(crate) Vec<Vec<u8>>);

impl Command {
    pub(crate) fn new(name: &str) -> Command {
        let mut words = Vec::with_capacity(16);
        words.push(name.as_bytes().to_vec());
        Command(words)
    }

    pub(crate) fn word(mut self, word: impl AsRef<[u8]>) -> Command {
        self.0.push(word.as_ref().to_vec());
        self
    }

    pub(crate) fn integer(self, number: impl Into<i64>) -> Command {
        self.word(number.into().to_string())
    }

    /// An option and its value, where there is one.
    pub(crate) fn option(self, name: &str, value: Option<impl AsRef<[u8]>>) -> Command {
        match value {
            Some(value) => self.word(name).word(value),
            None => self,
        }
    }

    /// An option and its number, where there is one.
    pub(crate) fn number(self, name: &str, value: Option<impl Into<i64>>) -> Command {
        match value {
            Some(value) => self.word(name).integer(value),
            None => self,
        }
    }

    /// An option that has a duration, ms.
    pub(crate) fn duration(self, name: &str, value: Option<impl Into<i64>>) -> Command {
        match value {
            Some(ms) => self.word(name).word(format!("{}ms", ms.into())),
            None => self,
        }
    }

    /// An option that has no value.
    pub(crate) fn flag(self, name: &str, set: bool) -> Command {
        if set { self.word(name) } else { self }
    }
}
