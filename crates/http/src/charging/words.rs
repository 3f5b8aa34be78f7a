//! A command about the store as a whole, in the words in which it goes there.

/// The words of a command: its name, its key, the rest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Words(pub(crate) Vec<Vec<u8>>);

impl Words {
    pub(crate) fn new(name: &str) -> Words {
        let mut words = Vec::with_capacity(16);
        words.push(name.as_bytes().to_vec());
        Words(words)
    }

    pub(crate) fn word(mut self, word: impl AsRef<[u8]>) -> Words {
        self.0.push(word.as_ref().to_vec());
        self
    }

    pub(crate) fn integer(self, number: impl Into<i64>) -> Words {
        self.word(number.into().to_string())
    }

    /// An option and its value, where there is one.
    pub(crate) fn option(self, name: &str, value: Option<impl AsRef<[u8]>>) -> Words {
        match value {
            Some(value) => self.word(name).word(value),
            None => self,
        }
    }

    /// An option and its number, where there is one.
    pub(crate) fn number(self, name: &str, value: Option<impl Into<i64>>) -> Words {
        match value {
            Some(value) => self.word(name).integer(value),
            None => self,
        }
    }

    /// An option that has no value.
    pub(crate) fn flag(self, name: &str, set: bool) -> Words {
        if set { self.word(name) } else { self }
    }
}
