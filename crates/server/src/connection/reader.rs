//! The requests of a connection between arrival and execution. Several are parsed at a time, so that the memory that
//! all of them need can be prefetched before the first is executed.

use crate::execute::client::Client;
use crate::execute::dispatch;
use crate::execute::node::LOOKAHEAD_MAX;
use crate::execute::node::Node;
use crate::object_pool::MemorySize;
use scurry_resp::table::Spec;
use scurry_resp::{Args, Parsed, Parser, RequestLimits};

/// A parser, and the command table's entry for each request that it has found.
#[derive(Debug)]
pub(crate) struct ConnectionReader {
    parser: Parser,
    specs: [Option<&'static Spec>; LOOKAHEAD_MAX],
    /// The hash of each request's first argument, where that is a key.
    hashes: [Option<u64>; LOOKAHEAD_MAX],
    /// How the search for requests ended. None once those found are executed.
    ahead: Option<Parsed>,
}

impl Default for ConnectionReader {
    fn default() -> ConnectionReader {
        ConnectionReader {
            parser: Parser::default(),
            specs: [None; LOOKAHEAD_MAX],
            hashes: [None; LOOKAHEAD_MAX],
            ahead: None,
        }
    }
}

impl MemorySize for Box<ConnectionReader> {
    fn memory_bytes(&self) -> usize {
        size_of::<ConnectionReader>() + self.parser.room()
    }
}

impl ConnectionReader {
    /// Finds the next requests, or continues where bytes were missing; requests found before may still wait to be
    /// executed. `input` begins with the first byte that was not executed, here and in all methods below.
    #[inline]
    pub(crate) fn find(&mut self, input: &[u8], node: &Node, client: &Client) {
        self.find_with(input, &node.settings.request, client.authenticated, |spec, args| {
            node.hash_ahead(spec, args)
        });
    }

    /// Does the work of [`ConnectionReader::find`], given the parts of the node that it needs.
    fn find_with(
        &mut self,
        input: &[u8],
        limits: &RequestLimits,
        authenticated: bool,
        hash: impl Fn(&'static Spec, Args<'_>) -> Option<u64>,
    ) {
        if !matches!(self.ahead, None | Some(Parsed::Incomplete(_))) {
            return;
        }
        // Before AUTH, one request at a time: each request can change the limits of the next.
        let most = if authenticated { LOOKAHEAD_MAX } else { 1 };
        let mut at = self.found_len(self.found());
        let parsed = loop {
            let rest = &input[at..];
            match self.parser.parse(rest, limits, authenticated) {
                Parsed::Request(len) => {
                    let index = self.parser.found() - 1;
                    let args = self.parser.args(input, index);
                    let spec = dispatch::look_up(args);
                    self.hashes[index] = spec.and_then(|spec| hash(spec, args));
                    self.specs[index] = spec;
                    at += len;
                    if index + 1 >= most || self.parser.is_full() {
                        break Parsed::Request(len);
                    }
                }
                other => break other,
            }
        };
        self.ahead = Some(parsed);
    }

    /// Reports whether requests were found that are not executed.
    pub(crate) fn is_ahead(&self) -> bool {
        self.ahead.is_some()
    }

    /// Returns the number of requests found.
    pub(crate) fn found(&self) -> usize {
        self.parser.found()
    }

    /// Reports whether the last of them is inline and not an array.
    pub(crate) fn ends_inline(&self) -> bool {
        self.parser.ends_inline()
    }

    /// Returns a request: its entry of the command table, if any, and its arguments.
    #[inline]
    pub(crate) fn request<'a>(
        &'a self,
        input: &'a [u8],
        index: usize,
    ) -> (Option<&'static Spec>, Args<'a>) {
        (self.specs[index], self.parser.args(input, index))
    }

    /// Returns the hash of a request's first argument, where that is a key.
    #[inline]
    pub(crate) fn hash(&self, index: usize) -> Option<u64> {
        self.hashes[index]
    }

    /// Returns the hashes of the first keys of all found requests that have one.
    pub(crate) fn hashes(&self) -> impl Iterator<Item = u64> {
        self.hashes[..self.found()].iter().flatten().copied()
    }

    /// Removes the first `count` requests, which were executed. Returns their length in bytes and how the search for
    /// more had ended. Requests that were not executed have to be found again.
    pub(crate) fn executed(&mut self, count: usize) -> (usize, Option<Parsed>) {
        let len = self.found_len(count);
        if count == self.found() {
            self.parser.forget();
        } else {
            self.parser.restart();
        }
        (len, self.ahead.take())
    }

    /// Returns the length of the first `count` requests, bytes.
    fn found_len(&self, count: usize) -> usize {
        count.checked_sub(1).map_or(0, |last| self.parser.end(last))
    }

    /// Forgets everything. The next search starts where the caller says.
    pub(crate) fn restart(&mut self) {
        self.parser.restart();
        self.ahead = None;
    }

    /// Reports whether no request is under way.
    pub(crate) fn is_idle(&self) -> bool {
        self.parser.is_idle() && self.ahead.is_none()
    }

    /// Releases memory that an unusually large request needed. The reader must be idle.
    pub(crate) fn shrink(&mut self) {
        self.parser.shrink();
    }
}

#[cfg(test)]
mod tests {
    use super::ConnectionReader;
    use scurry_resp::RequestLimits;

    #[test]
    fn the_rest_of_a_request_is_looked_at_while_others_wait() {
        let input = b"*1\r\n$4\r\nPING\r\n*2\r\n$4\r\nECHO\r\n$2\r\nhi\r\nPING\r\n";
        // As an array and as a line, cut at any byte after the first request.
        for cut in 14..input.len() {
            let mut reader = ConnectionReader::default();
            let limits = RequestLimits::default();
            let mut find = |to: usize| reader.find_with(&input[..to], &limits, true, |_, _| None);
            find(cut);
            find(input.len());
            assert_eq!(reader.found(), 3, "cut at {cut}");
            assert_eq!(reader.request(input, 1).1.at(1), b"hi");
        }
    }
}
