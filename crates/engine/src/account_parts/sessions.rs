//! Open sessions of a busy account, each packed as in an image.

use super::ids::Ids;
use super::items::PackedItems;
use scurry_codec::{decode_session, encode_session};
use scurry_ledger::{Id, ItemRequest, ItemsApart, Session, SessionPage, Time};
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::mem;
use std::ops::Bound;

/// Bytes of overhead per session: its nodes in the trees, and the allocator's own.
const BESIDE_BYTES: usize = 80;

/// Open sessions, stored outside their account's image.
#[derive(Debug, Default)]
pub(super) struct PackedSessions {
    /// Packed sessions, in the order of their opening.
    packed: BTreeMap<u64, Box<[u8]>>,
    /// Items of the sessions that have many; the packed sessions have none.
    items: BTreeMap<u64, PackedItems>,
    /// Items above which a session has many.
    items_apart: usize,
    /// The number of the next session.
    next: u64,
    ids: Ids<u64>,
    deadlines: BTreeSet<(Time, u64)>,
    bytes: usize,
    /// Reusable buffer for packing one session.
    room: Vec<u8>,
}

/// Items of a session that are to be loaded. Where a session has few, all are.
#[derive(Clone, Copy, Debug)]
pub(super) enum LoadedItems<'n> {
    All,
    /// Those that a request names.
    Named(&'n [ItemRequest]),
    /// Those at these positions.
    At(&'n [u8]),
}

/// A session that was loaded into the account.
#[derive(Clone, Debug)]
pub(super) struct LoadedSession {
    number: u64,
    id: Id,
    deadline: Time,
    /// Whether it is a transfer, which its deadline does not end.
    is_transfer: bool,
}

impl LoadedSession {
    /// Reports whether its deadline has passed.
    pub(super) fn is_due(&self, now: Time) -> bool {
        self.deadline <= now
    }
}

impl PackedSessions {
    /// Creates an empty store. The items of a session with more than `items_apart` are packed one by one.
    pub(super) fn new(items_apart: usize) -> PackedSessions {
        PackedSessions { items_apart, ..PackedSessions::default() }
    }

    /// Reports whether a session has many items.
    pub(super) fn has_many_items(&self) -> bool {
        !self.items.is_empty()
    }

    /// Returns the number of sessions.
    pub(super) fn len(&self) -> usize {
        self.packed.len()
    }

    /// Returns the bytes of the packed sessions.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns the approximate bytes of memory.
    pub(super) fn memory_bytes(&self) -> usize {
        let items: usize = self.items.values().map(PackedItems::beside_bytes).sum();
        self.bytes + self.len() * BESIDE_BYTES + self.ids.memory_bytes() + items
    }

    /// Returns the first deadline after `now`, leaving out the sessions with the given numbers.
    pub(super) fn first_deadline(&self, now: Time, but: &[u64]) -> Option<Time> {
        let mut later = self.deadlines.range((Bound::Excluded((now, u64::MAX)), Bound::Unbounded));
        later.find(|(_, number)| !but.contains(number)).map(|(deadline, _)| *deadline)
    }

    /// Finds the number of an open session by its id.
    pub(super) fn find(&self, id: &[u8]) -> Option<u64> {
        self.ids.find(id, |number| id_of(&self.packed[&number]))
    }

    /// Returns the numbers of the sessions whose deadline has passed.
    pub(super) fn due(&self, now: Time) -> impl DoubleEndedIterator<Item = u64> {
        self.deadlines.range(..=(now, u64::MAX)).map(|(_, number)| *number)
    }

    /// Returns the numbers of the sessions of a page, and of the first one after it. Sessions whose deadline has passed
    /// are left out. Only ids are looked at: a page of many sessions unpacks no others.
    pub(super) fn page(&self, page: &SessionPage<'_>, now: Time) -> Vec<u64> {
        let due: BTreeSet<u64> = self.due(now).collect();
        let mut first: BinaryHeap<(&[u8], u64)> = BinaryHeap::new();
        for (number, packed) in &self.packed {
            let id = id_of(packed);
            if id > page.after && !due.contains(number) {
                first.push((id, *number));
                if first.len() > page.count + 1 {
                    // The greatest id.
                    first.pop();
                }
            }
        }
        first.into_iter().map(|(_, number)| number).collect()
    }

    /// Returns all numbers, in the order of opening.
    pub(super) fn numbers(&self) -> impl Iterator<Item = u64> {
        self.packed.keys().copied()
    }

    /// Unpacks a session with these of its items, and appends it to the account's sessions.
    pub(super) fn load(
        &self,
        number: u64,
        items: LoadedItems<'_>,
        sessions: &mut Vec<Session>,
    ) -> LoadedSession {
        let mut session = Session::empty();
        // Only this program writes packed sessions, into its own memory.
        if let Err(error) = decode_session(&self.packed[&number], &mut session) {
            panic!("a session in memory is broken: {error}");
        }
        if let Some(packed) = self.items.get(&number) {
            load_items(packed, items, &mut session);
        }
        let loaded = LoadedSession {
            number,
            id: session.id.clone(),
            deadline: session.deadline,
            is_transfer: session.terms.transfer,
        };
        sessions.push(session);
        loaded
    }

    /// Moves sessions back from the account after a Commit at `now`. Those that were loaded come first, in the same
    /// order; the rest are new. A session that was due has ended, and a new one may have its id.
    pub(super) fn unload(
        &mut self,
        loaded: &[LoadedSession],
        sessions: &mut Vec<Session>,
        now: Time,
    ) {
        let mut left = sessions.drain(..).peekable();
        for one in loaded {
            let stays = one.is_transfer || !one.is_due(now);
            let same = left.next_if(|session| stays && session.id == one.id);
            match same {
                Some(session) => self.write(one, session),
                None => self.remove(one),
            }
        }
        for session in left {
            self.insert(session);
        }
    }

    fn insert(&mut self, mut session: Session) {
        let number = self.next;
        self.next += 1;
        self.unload_items(number, &mut session);
        self.room.clear();
        encode_session(&session, &mut self.room);
        self.bytes += self.room.len();
        self.packed.insert(number, self.room.as_slice().into());
        self.deadlines.insert((session.deadline, number));
        let packed = &self.packed;
        self.ids.insert(session.id.as_bytes(), number, |number| id_of(&packed[&number]));
    }

    /// Packs the items of a session that has many, and takes them out of it.
    fn unload_items(&mut self, number: u64, session: &mut Session) {
        let apart = session.apart.take();
        if session.item_count() <= self.items_apart && !self.items.contains_key(&number) {
            return;
        }
        let items = mem::take(&mut session.items);
        let packed = self.items.entry(number).or_default();
        self.bytes -= packed.bytes();
        match apart {
            None => *packed = PackedItems::of(&items),
            Some(apart) => {
                for (position, item) in apart.positions.iter().zip(&items) {
                    packed.put(usize::from(*position), item);
                }
                assert_eq!(packed.len(), apart.count, "all items of a session are packed");
            }
        }
        self.bytes += packed.bytes();
    }

    fn write(&mut self, loaded: &LoadedSession, mut session: Session) {
        let LoadedSession { number, deadline, .. } = *loaded;
        self.unload_items(number, &mut session);
        self.room.clear();
        encode_session(&session, &mut self.room);
        let packed = self.packed.get_mut(&number).expect("it was loaded from here");
        self.bytes = self.bytes + self.room.len() - packed.len();
        if packed.len() == self.room.len() {
            packed.copy_from_slice(&self.room);
        } else {
            *packed = self.room.as_slice().into();
        }
        if session.deadline != deadline {
            self.deadlines.remove(&(deadline, number));
            self.deadlines.insert((session.deadline, number));
        }
    }

    fn remove(&mut self, loaded: &LoadedSession) {
        let LoadedSession { number, id, deadline, .. } = loaded;
        self.ids.remove(id.as_bytes(), |at| at == *number);
        self.deadlines.remove(&(*deadline, *number));
        if let Some(packed) = self.packed.remove(number) {
            self.bytes -= packed.len();
        }
        if let Some(items) = self.items.remove(number) {
            self.bytes -= items.bytes();
        }
    }
}

/// Unpacks items into their session, and notes which.
fn load_items(packed: &PackedItems, items: LoadedItems<'_>, session: &mut Session) {
    let mut positions = Vec::new();
    match items {
        LoadedItems::All => {
            let all = 0..packed.len();
            session.items = all.map(|position| packed.item(position as u8)).collect();
            return;
        }
        LoadedItems::Named(requests) => {
            for (position, item) in requests.iter().filter_map(|request| packed.find(request)) {
                positions.push(position);
                session.items.push(item);
            }
        }
        LoadedItems::At(of_facts) => {
            // A fact may be about an item that the Change adds.
            let known = of_facts.iter().filter(|&&position| usize::from(position) < packed.len());
            for &position in known {
                positions.push(position);
                session.items.push(packed.item(position));
            }
        }
    }
    session.apart = Some(Box::new(ItemsApart { count: packed.len(), positions }));
}

/// Returns the id at the start of a packed session, after its length.
fn id_of(packed: &[u8]) -> &[u8] {
    &packed[1..=usize::from(packed[0])]
}
