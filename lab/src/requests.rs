//! Charging requests of the lab in the ledger's types. The encoder of programs writes them, and a dialect adapts them to
//! a target.

use scurry_ledger::{
    BucketAttributes, Command, Create, ItemKey, ItemRequest, Name, NewBucket, SessionRequest,
};
use scurry_service::{Read, Request, SessionStep};

/// Bucket of accounts that have only one.
pub const MAIN: Name = Name::literal("main");

/// Returns a bucket with its first credit.
pub fn bucket(bucket: Name, unit: Name, amount: i64, priority: Option<i32>) -> NewBucket {
    let attributes = BucketAttributes { priority, ..BucketAttributes::default() };
    NewBucket { bucket, unit, amount, attributes }
}

/// Returns a CREATE.
pub fn create(account: &[u8], buckets: &[NewBucket]) -> Request {
    Request::write(account, &Command::Create(Create::active(buckets)))
}

/// Returns a GET.
pub fn get(account: &[u8]) -> Request {
    Request::Read(Read::Account { account: account.to_vec() })
}

/// Returns an AUDIT.
pub fn audit(account: &[u8]) -> Request {
    Request::Read(Read::Audit { account: account.to_vec() })
}

/// A session with one item, and the number of its next request.
#[derive(Clone, Copy, Debug)]
pub struct SessionAt<'a> {
    /// Account id.
    pub account: &'a [u8],
    /// Session id.
    pub session: &'a [u8],
    /// Request number.
    pub number: u32,
    /// Rating group of the item.
    pub key: u32,
    /// Unit of the item.
    pub unit: Name,
}

impl SessionAt<'_> {
    /// Returns a SESSION.
    pub fn read(&self) -> Request {
        let (account, session) = (self.account.to_vec(), self.session.to_vec());
        Request::Read(Read::Session { account, session })
    }

    /// Returns a RESERVE.
    pub fn reserve(&self, requested: i64) -> Request {
        self.step(SessionStep::Reserve, None, Some(requested))
    }

    /// Returns an UPDATE.
    pub fn update(&self, used: i64, requested: i64) -> Request {
        self.step(SessionStep::Update, Some(used), Some(requested))
    }

    /// Returns a TERMINATE.
    pub fn terminate(&self, used: i64) -> Request {
        self.step(SessionStep::Terminate, Some(used), None)
    }

    /// Returns a request of the session.
    pub fn step(&self, step: SessionStep, used: Option<i64>, requested: Option<i64>) -> Request {
        let (key, unit) = (ItemKey::Number(self.key), self.unit);
        let request = SessionRequest {
            session: self.session,
            request: self.number,
            items: &[ItemRequest { key, unit, used, requested, min: None }],
            ..SessionRequest::default()
        };
        Request::write(self.account, &step.command(request))
    }
}
