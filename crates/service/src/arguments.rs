//! The arguments of a RESP command, stored in one buffer to avoid an allocation per argument.

use std::fmt::Display;
use std::io::Write;

/// Arguments of one command. The first argument is the command's name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Arguments {
    bytes: Vec<u8>,
    /// End of each argument in `bytes`.
    ends: Vec<usize>,
}

impl Arguments {
    /// Returns the arguments of a command that so far has only its name.
    pub fn new(name: &str) -> Arguments {
        let mut arguments = Arguments::default();
        arguments.push(name);
        arguments
    }

    /// Appends an argument.
    pub fn push(&mut self, argument: impl AsRef<[u8]>) -> &mut Arguments {
        self.bytes.extend_from_slice(argument.as_ref());
        self.ends.push(self.bytes.len());
        self
    }

    /// Appends an argument in its `Display` form, for example a number.
    pub fn push_display(&mut self, argument: impl Display) -> &mut Arguments {
        // Writing into a `Vec` never fails.
        let _ = write!(self.bytes, "{argument}");
        self.ends.push(self.bytes.len());
        self
    }

    /// Appends an option's name and its value, or nothing if the value is `None`.
    pub fn option(&mut self, name: &str, value: Option<impl AsRef<[u8]>>) -> &mut Arguments {
        match value {
            Some(value) => self.push(name).push(value),
            None => self,
        }
    }

    /// Appends an option's name and its number, or nothing if the number is `None`.
    pub fn number(&mut self, name: &str, value: Option<impl Display>) -> &mut Arguments {
        match value {
            Some(value) => self.push(name).push_display(value),
            None => self,
        }
    }

    /// Appends the name of an option that has no value, if it is set.
    pub fn flag(&mut self, name: &str, set: bool) -> &mut Arguments {
        if set { self.push(name) } else { self }
    }

    /// Returns the number of arguments, including the name.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Reports whether even the name is missing.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Returns the arguments in order, the name first.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        self.ends.iter().enumerate().map(|(at, &end)| {
            let start = at.checked_sub(1).map_or(0, |before| self.ends[before]);
            &self.bytes[start..end]
        })
    }

    /// Returns the command as a RESP array of bulk strings, ready to be sent.
    pub fn packed(&self) -> Vec<u8> {
        // 16 bytes per argument for `$`, its length and two CRLFs.
        let mut packed = Vec::with_capacity(16 + self.bytes.len() + 16 * self.len());
        let _ = write!(packed, "*{}\r\n", self.len());
        for argument in self.iter() {
            let _ = write!(packed, "${}\r\n", argument.len());
            packed.extend_from_slice(argument);
            packed.extend_from_slice(b"\r\n");
        }
        packed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_come_back_in_their_order_and_are_packed_as_resp() {
        let mut arguments = Arguments::new("SET");
        arguments.push("").push_display(-7).option("EX", None::<&str>).number("PX", Some(5));
        let back: Vec<&[u8]> = arguments.iter().collect();
        assert_eq!(back, [&b"SET"[..], b"", b"-7", b"PX", b"5"]);
        let packed = b"*5\r\n$3\r\nSET\r\n$0\r\n\r\n$2\r\n-7\r\n$2\r\nPX\r\n$1\r\n5\r\n";
        assert_eq!(arguments.packed(), packed);
    }
}
