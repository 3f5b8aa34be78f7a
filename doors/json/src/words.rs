//! A command about the store as a whole, as text: it is sent as it is.

/// The words of a command: its name, its key if it has one, its other arguments.
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

    /// Appends an option and its value, or nothing if the value is `None`.
    pub(crate) fn option(self, name: &str, value: Option<impl AsRef<[u8]>>) -> Words {
        match value {
            Some(value) => self.word(name).word(value),
            None => self,
        }
    }

    /// Appends an option and its number, or nothing if the number is `None`.
    pub(crate) fn number(self, name: &str, value: Option<impl Into<i64>>) -> Words {
        match value {
            Some(value) => self.word(name).integer(value),
            None => self,
        }
    }

    /// Appends an option without a value, if it is set.
    pub(crate) fn flag(self, name: &str, set: bool) -> Words {
        if set { self.word(name) } else { self }
    }
}
