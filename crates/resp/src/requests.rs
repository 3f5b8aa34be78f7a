//! Requests that own their bytes, which one core passes to another.

use crate::args::{Args, ArgumentSpan};

/// A list of requests. Clearing it keeps its room.
#[derive(Debug, Default)]
pub struct Requests {
    bytes: Vec<u8>,
    spans: Vec<ArgumentSpan>,
    /// End of the spans of each request.
    ends: Vec<u32>,
}

impl Requests {
    /// Appends a request; the first argument is the command's name. A connection bounds the size of a request, so the
    /// offsets of one turn fit 32 bits.
    pub fn push<'a>(&mut self, arguments: impl Iterator<Item = &'a [u8]>) {
        for argument in arguments {
            self.spans.push(ArgumentSpan::new(self.bytes.len(), argument.len()));
            self.bytes.extend_from_slice(argument);
        }
        self.ends.push(u32::try_from(self.spans.len()).unwrap_or(u32::MAX));
    }

    /// Returns the number of requests.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Reports whether the list is empty.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Returns the length of all arguments, bytes.
    pub fn bytes_len(&self) -> usize {
        self.bytes.len()
    }

    /// Returns the arguments of one request; empty after the last.
    pub fn get(&self, index: usize) -> Args<'_> {
        let Some(&end) = self.ends.get(index) else { return Args::default() };
        let first = index.checked_sub(1).map_or(0, |before| self.ends[before]);
        Args { bytes: &self.bytes, spans: &self.spans[first as usize..end as usize] }
    }

    /// Removes all requests.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.spans.clear();
        self.ends.clear();
    }

    /// Returns the capacity in bytes.
    pub fn room(&self) -> usize {
        self.bytes.capacity() + size_of::<ArgumentSpan>() * self.spans.capacity()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_come_back_as_they_were_pushed() {
        let lists: [&[&[u8]]; 4] = [&[b"GET", b"a"], &[], &[b"SET", b"", b"\0\r\n"], &[b"PING"]];
        let mut requests = Requests::default();
        for round in 0..2 {
            for list in lists {
                requests.push(list.iter().copied());
            }
            assert_eq!(requests.len(), lists.len(), "round {round}");
            for (index, list) in lists.iter().enumerate() {
                let got: Vec<&[u8]> = requests.get(index).iter_from(0).collect();
                assert_eq!(&got, list);
            }
            assert_eq!(requests.get(4).len(), 0);
            requests.clear();
            assert!(requests.is_empty());
        }
    }
}
