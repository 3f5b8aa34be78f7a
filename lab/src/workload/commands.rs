//! The charging commands of loads with amounts that differ from one request to the next.

use crate::dialect::Dialect;
use crate::resp::{write_count, write_number, write_word};

/// Commands of sessions with one item, and of refills, in the target's spelling.
#[derive(Debug)]
pub(super) struct Commands {
    reserve: Head,
    update: Head,
    terminate: Head,
    topup: Head,
    /// `ITEM key unit`, encoded.
    item: Vec<u8>,
    bucket: String,
}

/// Encoded bytes of a command before its account.
#[derive(Debug)]
struct Head {
    words: u64,
    bytes: Vec<u8>,
}

impl Head {
    fn new(dialect: Dialect, command: &str) -> Head {
        let mut words = dialect.arguments(command, "", &[]);
        words.pop();
        let mut bytes = Vec::new();
        words.iter().for_each(|word| write_word(&mut bytes, word));
        Head { words: words.len() as u64, bytes }
    }

    /// Begins a request with `more` arguments after the account.
    #[inline]
    fn begin(&self, out: &mut Vec<u8>, account: &[u8], more: u64) {
        write_count(out, self.words + 1 + more);
        out.extend_from_slice(&self.bytes);
        write_word(out, account);
    }
}

impl Commands {
    pub(super) fn new(dialect: Dialect, item_key: u32, unit: &str, bucket: &str) -> Commands {
        let mut item = Vec::new();
        write_word(&mut item, b"ITEM");
        write_number(&mut item, item_key.into());
        write_word(&mut item, unit.as_bytes());
        Commands {
            reserve: Head::new(dialect, "RESERVE"),
            update: Head::new(dialect, "UPDATE"),
            terminate: Head::new(dialect, "TERMINATE"),
            topup: Head::new(dialect, "TOPUP"),
            item,
            bucket: bucket.to_owned(),
        }
    }

    /// Appends `RESERVE account session request ITEM key unit REQUESTED n`.
    #[inline]
    pub(super) fn reserve(&self, out: &mut Vec<u8>, at: &RequestId<'_>, requested: i64) {
        self.reserve.begin(out, at.account, 7);
        self.place(out, at);
        option(out, b"REQUESTED", requested);
    }

    /// Appends `UPDATE account session request ITEM key unit USED n REQUESTED n`.
    #[inline]
    pub(super) fn update(&self, out: &mut Vec<u8>, at: &RequestId<'_>, used: i64, requested: i64) {
        self.update.begin(out, at.account, 9);
        self.place(out, at);
        option(out, b"USED", used);
        option(out, b"REQUESTED", requested);
    }

    /// Appends `TERMINATE account session request ITEM key unit USED n`.
    #[inline]
    pub(super) fn terminate(&self, out: &mut Vec<u8>, at: &RequestId<'_>, used: i64) {
        self.terminate.begin(out, at.account, 7);
        self.place(out, at);
        option(out, b"USED", used);
    }

    /// Appends `TOPUP account txn bucket amount`.
    #[inline]
    pub(super) fn topup(&self, out: &mut Vec<u8>, account: &[u8], txn: &[u8], amount: i64) {
        self.topup.begin(out, account, 3);
        write_word(out, txn);
        write_word(out, self.bucket.as_bytes());
        write_number(out, amount.unsigned_abs());
    }

    #[inline]
    fn place(&self, out: &mut Vec<u8>, at: &RequestId<'_>) {
        write_word(out, at.session);
        write_number(out, at.request.into());
        out.extend_from_slice(&self.item);
    }
}

/// Account, session and number of a request.
#[derive(Clone, Copy, Debug)]
pub(super) struct RequestId<'a> {
    pub(super) account: &'a [u8],
    pub(super) session: &'a [u8],
    pub(super) request: u32,
}

/// Appends an option; amounts of loads are never negative.
#[inline]
fn option(out: &mut Vec<u8>, name: &[u8], amount: i64) {
    write_word(out, name);
    write_number(out, amount.unsigned_abs());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resp::words;

    #[test]
    fn the_commands_are_those_of_the_grammar() {
        let commands = Commands::new(Dialect::Scur, 1, "octets", "main");
        let at = RequestId { account: b"a", session: b"s", request: 2 };
        let mut all = [Vec::new(), Vec::new(), Vec::new(), Vec::new()];
        commands.reserve(&mut all[0], &at, 10);
        commands.update(&mut all[1], &at, 9, 10);
        commands.terminate(&mut all[2], &at, 0);
        commands.topup(&mut all[3], b"a", b"t1", 500);
        let text = all.map(|request| {
            let words: Vec<String> =
                words(&request).map(|word| word.escape_ascii().to_string()).collect();
            assert_eq!(crate::resp::skip(&request), Ok(request.len()));
            words.join(" ")
        });
        let expected = [
            "SCUR.RESERVE a s 2 ITEM 1 octets REQUESTED 10",
            "SCUR.UPDATE a s 2 ITEM 1 octets USED 9 REQUESTED 10",
            "SCUR.TERMINATE a s 2 ITEM 1 octets USED 0",
            "SCUR.TOPUP a t1 main 500",
        ];
        assert_eq!(text, expected);
    }

    #[test]
    fn a_function_is_called_with_one_key() {
        let commands = Commands::new(Dialect::Functions, 1, "octets", "main");
        let mut out = Vec::new();
        commands.topup(&mut out, b"a", b"t1", 5);
        let words: Vec<&[u8]> = words(&out).collect();
        assert_eq!(words[..4], [&b"FCALL"[..], b"scur_topup", b"1", b"a"]);
    }
}
