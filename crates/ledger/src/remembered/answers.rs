//! The window of an open session: its highest-numbered answers.
//!
//! Entry: length u16 (of the whole entry), request number u32, digest u64, code (2 bits) and kind of the request (2 bits)
//! u8, session version LEB128, items. Entries are in the order of the names of their requests; gaps come before them.

use super::gaps::{self, Range};
use super::pack::{self, PackReader, Packed};
use crate::{Code, ItemAnswer, ItemAnswers, RequestKind, RequestName};
use smallvec::SmallVec;

/// Length of the fields up to the request number, and (`HEAD_LEN`) up to the version.
const REQUEST_END: usize = 2 + 4;
const HEAD_LEN: usize = REQUEST_END + 8 + 1;
/// The number of the kind takes the bits above the code.
const KIND_SHIFT: u32 = 2;

/// Stored answers of one open session, in the order of the names of their requests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answers {
    bytes: SmallVec<[u8; 96]>,
    count: u8,
    /// Highest request number, if any: most requests come after it.
    last: u32,
}

/// One stored answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredAnswer {
    /// CC-Request-Number and CC-Request-Type.
    pub request: RequestName,
    /// Digest of the answered body.
    pub digest: u64,
    /// OK or a denial.
    pub code: Code,
    /// Version of the session in the answer.
    pub version: u64,
    /// One answer per item of the request, in its order, or one for a request without items (`Answer::Session`).
    pub items: ItemAnswers,
}

/// A stored answer in its packed form in the window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackedAnswer(Packed);

/// Result of looking up a request in the window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WindowEntry {
    /// The request was never answered, and its answer would be kept.
    New,
    /// The request was never answered and is below the window: its answer would not be kept.
    Late,
    /// The request was answered before.
    Stored(StoredAnswer),
    /// The request is below the window: it was answered before, or it is no longer known whether it was.
    Below,
}

impl Answers {
    /// Returns the number of stored answers.
    pub fn len(&self) -> usize {
        usize::from(self.count)
    }

    /// Reports whether no answer is stored.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Returns the packed bytes, for codecs.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Replaces the content by bytes from [`Answers::as_bytes`]. Returns false, and leaves the window empty, if they
    /// are not whole.
    pub fn load(&mut self, bytes: &[u8]) -> bool {
        self.bytes.clear();
        (self.count, self.last) = (0, 0);
        let (mut rest, mut count) = (&bytes[gaps::len(bytes)..], 0);
        let (mut lowest, mut last) = (0, None);
        while let Some((request, len)) = head(rest) {
            if count == 0 {
                lowest = request.number;
            } else if Some(request) <= last || count == u8::MAX {
                return false;
            }
            last = Some(request);
            count += 1;
            rest = &rest[len..];
        }
        let whole = rest.is_empty() && gaps::are_whole(bytes, lowest);
        if whole {
            (self.count, self.last) = (count, last.map_or(0, |last| last.number));
            self.bytes.extend_from_slice(bytes);
        }
        whole
    }

    /// Looks up a request when at most `answers_max` answers are kept, and `answered` were given in all: one for each
    /// version of the session.
    pub fn look_up(&self, request: RequestName, answers_max: usize, answered: u64) -> WindowEntry {
        // The usual case: a request after all others.
        if request.number > self.last {
            return WindowEntry::New;
        }
        let mut lowest = None;
        for (name, entry) in self.entries() {
            lowest = lowest.or(Some(name));
            if name == request {
                return WindowEntry::Stored(unpack(entry));
            }
        }
        if lowest.is_none_or(|lowest| request > lowest) {
            return WindowEntry::New;
        }
        // Compares with the answers given, not with `answers_max`: what was dropped does not depend on today's bound.
        if answered > u64::from(self.count) {
            let never = gaps::contain(&self.bytes, request.number);
            return if never { WindowEntry::Late } else { WindowEntry::Below };
        }
        if self.len() < answers_max { WindowEntry::New } else { WindowEntry::Below }
    }

    /// Returns the stored answer to a request.
    pub(crate) fn stored(&self, request: RequestName) -> Option<StoredAnswer> {
        self.entries().find(|(name, _)| *name == request).map(|(_, entry)| unpack(entry))
    }

    /// Returns the highest request number that was answered; `None` before the first.
    pub fn last_request(&self) -> Option<u32> {
        (!self.is_empty()).then_some(self.last)
    }

    /// Returns the last request that was answered, in the order of their names.
    pub fn last(&self) -> Option<RequestName> {
        self.entries().last().map(|(name, _)| name)
    }

    /// Stores an answer, and drops the lowest ones beyond `answers_max`. For a number in a gap only the number is noted,
    /// not the answer.
    pub(crate) fn store(&mut self, answer: &PackedAnswer, answers_max: usize) {
        let request = answer.request();
        let at = if self.is_empty() || request.number > self.last {
            self.last = request.number;
            self.bytes.len()
        } else if gaps::contain(&self.bytes, request.number) {
            // The number is below the window: it leaves its gap, and its answer is not kept.
            return self.replace_gaps(&gaps::without(&self.bytes, request.number));
        } else {
            let before = self.entries().take_while(|(name, _)| *name < request);
            gaps::len(&self.bytes) + before.map(|(_, entry)| entry.len()).sum::<usize>()
        };
        self.bytes.insert_from_slice(at, &answer.0);
        self.count += 1;
        for _ in answers_max.max(1)..self.len() {
            self.drop_lowest();
        }
    }

    fn drop_lowest(&mut self) {
        let start = gaps::len(&self.bytes);
        let Some((dropped, len)) = head(&self.bytes[start..]) else { return };
        self.bytes.drain(start..start + len);
        self.count -= 1;
        if let Some((lowest, _)) = head(&self.bytes[start..])
            && lowest.number - dropped.number > 1
        {
            // The numbers between the dropped entry and the next one were never answered: they become a gap.
            let range = Range { first: dropped.number + 1, last: lowest.number - 1 };
            self.replace_gaps(&gaps::with(&self.bytes, range));
        }
    }

    fn replace_gaps(&mut self, gaps: &[u8]) {
        self.bytes.drain(..gaps::len(&self.bytes));
        self.bytes.insert_from_slice(0, gaps);
    }

    fn entries(&self) -> impl Iterator<Item = (RequestName, &[u8])> {
        let mut rest = &self.bytes[gaps::len(&self.bytes)..];
        core::iter::from_fn(move || {
            let (name, entry) = split(rest)?;
            rest = &rest[entry.len()..];
            Some((name, entry))
        })
    }
}

/// Returns the name of the first entry's request, and its bytes.
fn split(bytes: &[u8]) -> Option<(RequestName, &[u8])> {
    let (request, len) = head(bytes)?;
    Some((request, &bytes[..len]))
}

/// Returns the name of the first entry's request, and its length in bytes.
#[inline]
fn head(bytes: &[u8]) -> Option<(RequestName, usize)> {
    let head = bytes.first_chunk::<HEAD_LEN>()?;
    let [len_low, len_high, number @ ..] = head.first_chunk::<REQUEST_END>()?;
    let len = usize::from(u16::from_le_bytes([*len_low, *len_high]));
    let kind = RequestKind::from_number(head[HEAD_LEN - 1] >> KIND_SHIFT)?;
    let whole = len > HEAD_LEN && len <= bytes.len();
    whole.then(|| (RequestName { number: u32::from_le_bytes(*number), kind }, len))
}

impl PackedAnswer {
    /// Packs an answer.
    pub fn new(stored: &StoredAnswer) -> PackedAnswer {
        let StoredAnswer { request, digest, code, version, items } = stored;
        PackedAnswer::from_parts(*request, *digest, (*code, *version), items)
    }

    pub(crate) fn from_parts(
        request: RequestName,
        digest: u64,
        (code, version): (Code, u64),
        items: &[ItemAnswer],
    ) -> PackedAnswer {
        let mut head = [0; HEAD_LEN];
        head[2..6].copy_from_slice(&request.number.to_le_bytes());
        head[6..14].copy_from_slice(&digest.to_le_bytes());
        head[14] = pack::code_bits(code) | (request.kind as u8) << KIND_SHIFT;
        let mut out = Packed::from_slice(&head);
        pack::put_varint(&mut out, version);
        for item in items {
            pack::put_item(&mut out, item);
        }
        let len = u16::try_from(out.len()).unwrap_or(u16::MAX);
        out[..2].copy_from_slice(&len.to_le_bytes());
        PackedAnswer(out)
    }

    /// Returns the packed bytes, for codecs.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Restores an answer from the bytes of [`PackedAnswer::as_bytes`]; `None` if they are not one whole answer.
    pub fn from_bytes(bytes: &[u8]) -> Option<PackedAnswer> {
        PackedAnswer(Packed::from_slice(bytes)).checked()
    }

    /// Restores the answer to the request of a number from the bytes of [`PackedAnswer::bytes_after_request`]; `None` if
    /// they are not those of one whole answer.
    pub fn of_request(number: u32, behind: &[u8]) -> Option<PackedAnswer> {
        let len = u16::try_from(REQUEST_END + behind.len()).ok()?;
        let mut out = Packed::from_slice(&[0; REQUEST_END]);
        out[..2].copy_from_slice(&len.to_le_bytes());
        out[2..].copy_from_slice(&number.to_le_bytes());
        out.extend_from_slice(behind);
        PackedAnswer(out).checked()
    }

    /// Returns the answer if its bytes are one whole answer.
    fn checked(self) -> Option<PackedAnswer> {
        let (_, entry) = split(&self.0)?;
        let (&code, rest) = self.0.get(HEAD_LEN - 1..)?.split_first()?;
        let whole = entry.len() == self.0.len()
            && code >> KIND_SHIFT <= RequestKind::LAST
            && pack::items_are_whole(pack::skip_varint(rest)?);
        whole.then_some(self)
    }

    /// Returns the packed bytes after the request number, for codecs.
    pub fn bytes_after_request(&self) -> &[u8] {
        &self.0[REQUEST_END..]
    }

    /// Returns the name of its request.
    pub fn request(&self) -> RequestName {
        let none = RequestName { number: 0, kind: RequestKind::Reserve };
        split(&self.0).map_or(none, |(request, _)| request)
    }

    pub(super) fn unpack(&self) -> StoredAnswer {
        unpack(&self.0)
    }
}

/// Iterates over consecutive entries.
pub(super) fn entries(mut bytes: &[u8]) -> impl Iterator<Item = StoredAnswer> {
    core::iter::from_fn(move || {
        let (_, entry) = split(bytes)?;
        bytes = &bytes[entry.len()..];
        Some(unpack(entry))
    })
}

fn unpack(entry: &[u8]) -> StoredAnswer {
    let mut reader = PackReader(&entry[2..]);
    let (number, digest, bits) = (reader.u32(), reader.word::<8>(), reader.u8());
    let kind = RequestKind::from_number(bits >> KIND_SHIFT).unwrap_or(RequestKind::Reserve);
    StoredAnswer {
        request: RequestName { number, kind },
        digest,
        code: pack::code_from_bits(bits),
        version: reader.varint(),
        items: pack::take_items(&mut reader),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Cause, Final, Name, Time};

    fn update(number: u32) -> RequestName {
        RequestName { number, kind: RequestKind::Update }
    }

    fn answer(number: u32) -> StoredAnswer {
        let item = ItemAnswer {
            code: Code::Ok,
            granted: i64::MAX,
            last: Final::Held,
            uncollected: i64::MAX,
            cause: Cause::None,
        };
        StoredAnswer {
            request: update(number),
            digest: u64::MAX - u64::from(number),
            code: Code::Ok,
            version: u64::from(u32::MAX),
            items: [item].into(),
        }
    }

    #[test]
    fn the_largest_answer_to_one_item_fits_48_bytes() {
        let largest = StoredAnswer { version: u64::MAX >> 1, ..answer(u32::MAX) };
        assert!(PackedAnswer::new(&largest).0.len() <= 48);
    }

    fn denied(cause: Cause) -> StoredAnswer {
        let denied = |last| ItemAnswer::denied(Code::CreditLimitReached, cause, last);
        let items = [denied(Final::Last), denied(Final::Held)];
        StoredAnswer { items: items[..].into(), ..answer(7) }
    }

    #[test]
    fn a_denial_keeps_its_cause_and_only_a_limit_takes_bytes() {
        let limit = Name::new(b"sixteen-letters!").expect("a name");
        let len = |cause| PackedAnswer::new(&denied(cause)).0.len();
        let by_limit = Cause::Limit { id: limit, allowed_at: None };
        let causes = [
            Cause::Balance,
            Cause::NoBucket,
            Cause::Items,
            Cause::Status,
            Cause::Bucket(limit),
            by_limit,
            Cause::Limit { id: limit, allowed_at: Some(Time::LAST) },
        ];
        for cause in causes {
            let bytes = PackedAnswer::new(&denied(cause)).as_bytes().to_vec();
            assert!(PackedAnswer::from_bytes(&bytes).is_some(), "{cause:?}");
            let mut answers = Answers::default();
            assert!(answers.load(&bytes));
            assert_eq!(answers.look_up(update(7), 1, 1), WindowEntry::Stored(denied(cause)));
            let time_len = if cause.allowed_at().is_some() { 2 * 7 } else { 0 };
            let more = cause.name().map_or(0, |_| 2 * 17) + time_len;
            assert_eq!(len(cause), len(Cause::Untold) + more);
        }
        let bytes = PackedAnswer::new(&denied(by_limit)).as_bytes().to_vec();
        for (from_the_end, byte) in [(17, 0), (17, 17), (16, b' '), (18, 0x60), (18, 0xe2)] {
            let mut wrong = bytes.clone();
            let at = wrong.len() - from_the_end;
            wrong[at] = byte;
            assert_eq!(PackedAnswer::from_bytes(&wrong), None, "{byte} at {from_the_end}");
        }
    }

    #[test]
    fn a_packed_answer_is_made_of_its_own_bytes_alone() {
        let packed = PackedAnswer::new(&answer(7));
        let bytes = packed.as_bytes();
        assert_eq!(PackedAnswer::from_bytes(bytes), Some(packed.clone()));
        assert_eq!(PackedAnswer::from_bytes(&[bytes, bytes].concat()), None);
        for len in 0..bytes.len() {
            // Also if the stored length is the shorter one.
            let mut cut = bytes[..len].to_vec();
            assert_eq!(PackedAnswer::from_bytes(&cut), None, "{len}");
            if len >= 2 {
                cut[..2].copy_from_slice(&u16::try_from(len).expect("short").to_le_bytes());
                // Cut before its only item it is a valid answer without items.
                let whole = len == HEAD_LEN + 5;
                assert_eq!(PackedAnswer::from_bytes(&cut).is_some(), whole, "{len}");
            }
        }
        for (at, byte) in [(HEAD_LEN - 1, 12), (HEAD_LEN + 5, 0x20), (HEAD_LEN + 5, 0x83)] {
            let mut wrong = bytes.to_vec();
            wrong[at] = byte;
            assert_eq!(PackedAnswer::from_bytes(&wrong), None, "{byte} at {at}");
        }
    }

    #[test]
    fn answers_come_back_as_stored_and_the_lowest_goes_first() {
        let mut answers = Answers::default();
        for request in [5, 2, 9, 7] {
            answers.store(&PackedAnswer::new(&answer(request)), 3);
        }
        assert_eq!(answers.len(), 3);
        assert_eq!(answers.last_request(), Some(9));
        assert_eq!(answers.look_up(update(7), 3, 4), WindowEntry::Stored(answer(7)));
        assert_eq!(answers.look_up(update(6), 3, 4), WindowEntry::New);
        for answers_max in 1..=4 {
            assert_eq!(answers.look_up(update(2), answers_max, 4), WindowEntry::Below);
            assert_eq!(answers.look_up(update(3), answers_max, 4), WindowEntry::Late);
        }
        let mut copy = Answers::default();
        assert!(copy.load(answers.as_bytes()));
        assert_eq!(copy, answers);
        assert!(!copy.load(&answers.as_bytes()[1..]));
    }

    #[test]
    fn numbers_below_a_window_that_has_dropped_nothing_were_never_answered() {
        let mut answers = Answers::default();
        for request in [5, 6] {
            answers.store(&PackedAnswer::new(&answer(request)), 2);
        }
        assert_eq!(answers.look_up(update(3), 3, 2), WindowEntry::New);
        assert_eq!(answers.look_up(update(3), 2, 2), WindowEntry::Below);
    }

    #[test]
    fn numbers_without_gaps_cost_nothing_and_a_ninth_range_gives_up_the_lowest() {
        let mut answers = Answers::default();
        for request in 0..40 {
            answers.store(&PackedAnswer::new(&answer(request)), 8);
        }
        assert_eq!(gaps::len(answers.as_bytes()), 0);
        for request in (41..=41 + 3 * 17).step_by(3) {
            answers.store(&PackedAnswer::new(&answer(request)), 8);
        }
        let entry = |request| answers.look_up(update(request), 8, 58);
        // The gaps are 40 alone, then pairs from 42 on.
        assert_eq!(gaps::len(answers.as_bytes()), 2 + 8 * 8);
        assert_eq!((entry(40), entry(43), entry(46)), {
            (WindowEntry::Below, WindowEntry::Below, WindowEntry::Below)
        });
        assert_eq!((entry(48), entry(69)), (WindowEntry::Late, WindowEntry::Late));
        let mut split = answers.clone();
        split.store(&PackedAnswer::new(&answer(49)), 8);
        assert_eq!(split.look_up(update(49), 8, 59), WindowEntry::Below);
        assert_eq!(split.look_up(update(48), 8, 59), WindowEntry::Late);
        assert_eq!(split.len(), answers.len());
    }

    #[test]
    fn gaps_are_loaded_as_they_were_written_alone() {
        let mut answers = Answers::default();
        for request in [1, 5, 9, 20, 30] {
            answers.store(&PackedAnswer::new(&answer(request)), 2);
        }
        let bytes = answers.as_bytes().to_vec();
        let mut copy = Answers::default();
        assert!(copy.load(&bytes));
        assert_eq!((copy.len(), copy.as_bytes()), (2, bytes.as_slice()));
        assert_eq!(copy.look_up(update(19), 2, 5), WindowEntry::Late);
        let ranges = |numbers: &[u32]| {
            let mut wrong = bytes.clone();
            for (at, number) in numbers.iter().enumerate() {
                wrong[2 + 4 * at..][..4].copy_from_slice(&number.to_le_bytes());
            }
            Answers::default().load(&wrong)
        };
        assert!(ranges(&[2, 4, 6, 8, 10, 19]));
        for wrong in [[2, 4, 5, 8, 10, 19], [4, 2, 6, 8, 10, 19], [2, 4, 6, 8, 10, 20]] {
            assert!(!ranges(&wrong), "{wrong:?}");
        }
        for len in [0, 2, 9, 11, 2 + 9 * 8] {
            let mut wrong = bytes.clone();
            wrong[..2].copy_from_slice(&(len | 1_u16 << 15).to_le_bytes());
            assert!(!copy.load(&wrong), "{len}");
        }
    }
}
