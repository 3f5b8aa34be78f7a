//! The charging commands of loads with amounts that differ from one request to the next.

use scurry_ledger::{BucketAttributes, Command, Name};
use scurry_service::Request;

use crate::dialect::Dialect;
use crate::requests::SessionAt;
use crate::resp::{write_count, write_number, write_word};

/// Commands of sessions with one item, and of refills, in the target's spelling.
#[derive(Debug)]
pub(super) struct Commands {
    reserve: CutRequest<4>,
    update: CutRequest<5>,
    terminate: CutRequest<4>,
    topup: CutRequest<3>,
}

/// A request that was encoded once, and cut at the arguments that differ from one request to the next.
#[derive(Debug)]
struct CutRequest<const CUTS: usize> {
    /// Bytes before each of these arguments.
    before: [Vec<u8>; CUTS],
    /// Bytes after the last one.
    end: Vec<u8>,
}

/// An argument of a request.
#[derive(Clone, Copy, Debug)]
enum Argument<'a> {
    Word(&'a [u8]),
    Number(u64),
}

impl<const CUTS: usize> CutRequest<CUTS> {
    /// Encodes a request, and cuts it at arguments with these indexes, which ascend; the account's is 0.
    fn new(dialect: Dialect, request: &Request, cuts: [usize; CUTS]) -> CutRequest<CUTS> {
        let arguments = dialect.arguments(request);
        let mut from = 0;
        let piece = |words: &[Vec<u8>], out: &mut Vec<u8>| {
            words.iter().for_each(|word| write_word(out, word));
        };
        let before = cuts.map(|cut| {
            let (mut bytes, cut) = (Vec::new(), dialect.account_index() + cut);
            if from == 0 {
                write_count(&mut bytes, arguments.len() as u64);
            }
            piece(&arguments[from..cut], &mut bytes);
            from = cut + 1;
            bytes
        });
        let mut end = Vec::new();
        piece(&arguments[from..], &mut end);
        CutRequest { before, end }
    }

    /// Appends the request with these arguments.
    #[inline]
    fn append(&self, out: &mut Vec<u8>, arguments: [Argument<'_>; CUTS]) {
        for (before, argument) in self.before.iter().zip(arguments) {
            out.extend_from_slice(before);
            match argument {
                Argument::Word(word) => write_word(out, word),
                Argument::Number(number) => write_number(out, number),
            }
        }
        out.extend_from_slice(&self.end);
    }
}

impl Commands {
    pub(super) fn new(dialect: Dialect, key: u32, unit: Name, bucket: Name) -> Commands {
        let at = SessionAt { account: b"", session: b"", number: 0, key, unit };
        let topup = Command::TopUp {
            txn: b"",
            bucket,
            amount: 1,
            unit: None,
            attributes: BucketAttributes::default(),
            keys: &[],
        };
        // account, session, number, ITEM, key, unit, option, amount, option, amount
        Commands {
            reserve: CutRequest::new(dialect, &at.reserve(1), [0, 1, 2, 7]),
            update: CutRequest::new(dialect, &at.update(1, 1), [0, 1, 2, 7, 9]),
            terminate: CutRequest::new(dialect, &at.terminate(1), [0, 1, 2, 7]),
            // account, txn, bucket, amount
            topup: CutRequest::new(dialect, &Request::write(b"", &topup), [0, 1, 3]),
        }
    }

    /// Appends a RESERVE.
    #[inline]
    pub(super) fn reserve(&self, out: &mut Vec<u8>, at: &RequestId<'_>, requested: i64) {
        let [account, session, number] = at.arguments();
        self.reserve.append(out, [account, session, number, amount(requested)]);
    }

    /// Appends an UPDATE.
    #[inline]
    pub(super) fn update(&self, out: &mut Vec<u8>, at: &RequestId<'_>, used: i64, requested: i64) {
        let [account, session, number] = at.arguments();
        self.update.append(out, [account, session, number, amount(used), amount(requested)]);
    }

    /// Appends a TERMINATE.
    #[inline]
    pub(super) fn terminate(&self, out: &mut Vec<u8>, at: &RequestId<'_>, used: i64) {
        let [account, session, number] = at.arguments();
        self.terminate.append(out, [account, session, number, amount(used)]);
    }

    /// Appends a TOPUP.
    #[inline]
    pub(super) fn topup(&self, out: &mut Vec<u8>, account: &[u8], txn: &[u8], credit: i64) {
        self.topup.append(out, [Argument::Word(account), Argument::Word(txn), amount(credit)]);
    }
}

/// Account, session and number of a request.
#[derive(Clone, Copy, Debug)]
pub(super) struct RequestId<'a> {
    pub(super) account: &'a [u8],
    pub(super) session: &'a [u8],
    pub(super) request: u32,
}

impl RequestId<'_> {
    #[inline]
    fn arguments(&self) -> [Argument<'_>; 3] {
        let number = Argument::Number(self.request.into());
        [Argument::Word(self.account), Argument::Word(self.session), number]
    }
}

/// Returns an amount as an argument; amounts of loads are never negative.
#[inline]
fn amount(amount: i64) -> Argument<'static> {
    Argument::Number(amount.unsigned_abs())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::requests::MAIN;
    use crate::resp::words;

    #[test]
    fn the_commands_are_those_of_the_grammar() {
        let commands = Commands::new(Dialect::Scur, 1, Name::literal("octets"), MAIN);
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
        let commands = Commands::new(Dialect::Functions, 1, Name::literal("octets"), MAIN);
        let mut out = Vec::new();
        commands.topup(&mut out, b"a", b"t1", 5);
        let words: Vec<&[u8]> = words(&out).collect();
        assert_eq!(words[..4], [&b"FCALL"[..], b"scur_topup", b"1", b"a"]);
    }
}
