//! One command of a session, as the store is asked.

use scurry_ledger::{
    Answer, Cause, Code, Final, ItemAnswer, ItemRequest, SessionOptions, SessionRequest,
};
use scurry_quota::{QuotaFailure, Step, Subscriber};
use scurry_service::{Answered, CallError, Reply, Request, Service, SessionStep};
use smallvec::SmallVec;

/// Most items of a command.
pub(crate) const ITEMS_MAX: usize = 64;

/// What a command of a session has beside its items.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SessionCommand<'a> {
    pub(crate) session: &'a str,
    pub(crate) step: SessionStep,
    pub(crate) number: u32,
    pub(crate) options: SessionOptions,
    /// DATA of a session that is opened.
    pub(crate) data: Option<&'a [u8]>,
}

/// The store's answer.
#[derive(Clone, Debug)]
pub(crate) struct Charged {
    pub(crate) code: Code,
    pub(crate) is_replayed: bool,
    /// Version of the session, 0 if it is not open.
    pub(crate) version: u64,
    /// The answer to each item.
    pub(crate) items: SmallVec<[ItemAnswer; 1]>,
}

impl SessionCommand<'_> {
    fn request(&self, account: &[u8], items: &[ItemRequest]) -> Request {
        let command = self.step.command(SessionRequest {
            session: self.session.as_bytes(),
            request: self.number,
            options: self.options,
            blob: self.data,
            items,
        });
        Request::write(account, &command)
    }

    /// Asks the store about an account.
    pub(crate) async fn ask(
        &self,
        store: &dyn Service,
        account: &str,
        items: &[ItemRequest],
    ) -> Result<Charged, CallError> {
        let (own, more) = items.split_at(items.len().min(ITEMS_MAX));
        let charged = charged(store.call(self.request(account.as_bytes(), own)).await?)?;
        self.settle(store, account, more, charged).await
    }

    /// Opens a session of a subscriber. Returns the id of the account too.
    pub(crate) async fn open(
        &self,
        store: &dyn Service,
        subscriber: &Subscriber,
        items: &[ItemRequest],
    ) -> Result<(String, Charged), QuotaFailure> {
        let (own, more) = items.split_at(items.len().min(ITEMS_MAX));
        let request = |account: &[u8], _: bool| self.request(account, own);
        let step = Step::Opens(self.session.as_bytes());
        let called = subscriber.call(store, step, request).await?;
        let account = String::from_utf8_lossy(&called.account).into_owned();
        let charged = charged(called.reply)?;
        let charged = self.settle(store, &account, more, charged).await?;
        Ok((account, charged))
    }

    /// Debits the use of items beyond the bound of a command, as use of sessions that nothing has opened, once. They get no units.
    async fn settle(
        &self,
        store: &dyn Service,
        account: &str,
        more: &[ItemRequest],
        mut charged: Charged,
    ) -> Result<Charged, CallError> {
        for (number, items) in (1..).zip(more.chunks(ITEMS_MAX)) {
            let used = items.iter().filter(|item| item.used.is_some_and(|used| used > 0));
            let used: Vec<_> =
                used.map(|item| ItemRequest { requested: None, min: None, ..*item }).collect();
            // Named after the request, so that no other one is taken for it.
            let step = match self.step {
                SessionStep::Reserve => "create",
                SessionStep::Update => "update",
                SessionStep::Terminate => "release",
            };
            let session = format!("{}/{step}-{}-{number}", self.session, self.number);
            let command = SessionCommand {
                session: &session,
                step: SessionStep::Terminate,
                options: SessionOptions { late_use: true, ..SessionOptions::default() },
                data: None,
                ..*self
            };
            if !used.is_empty() {
                let request = command.request(account.as_bytes(), &used);
                self::charged(store.call(request).await?)?;
            }
            let refused = ItemAnswer {
                code: Code::Busy,
                granted: 0,
                last: Final::No,
                uncollected: 0,
                cause: Cause::None,
            };
            charged.items.extend(items.iter().map(|_| refused));
        }
        Ok(charged)
    }
}

fn charged(reply: Reply) -> Result<Charged, CallError> {
    match reply {
        Reply::Answer(Answered {
            answer: Answer::Session { code, version, items },
            replayed: is_replayed,
            ..
        }) => Ok(Charged { code, is_replayed, version, items }),
        _ => Err(CallError::WrongShape),
    }
}
