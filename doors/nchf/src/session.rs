//! Requests of a session: Create, Update, Release.

use crate::entry::Entries;
use crate::numbering::Numbering;
use crate::problem::{call_failed, denied, failed, uncountable};
use crate::reference::Reference;
use crate::request::ChargingDataRequest;
use crate::session_command::{Charged, SessionCommand};
use crate::session_name::SessionName;
use scurry_http::Problem;
use scurry_ledger::{Code, CodeKind, SessionOptions};
use scurry_quota::{Items, QuotaFailure, Subscriber};
use scurry_service::{CallError, Read, Refusal, Reply, Request, Service, SessionStep};

/// A Create, as the store is asked.
pub(crate) struct Create<'a> {
    pub(crate) request: &'a ChargingDataRequest,
    pub(crate) entries: &'a Entries,
    pub(crate) subscriber: &'a Subscriber,
    pub(crate) session: SessionName,
    pub(crate) validity_s: u32,
    /// DATA of the session.
    pub(crate) data: Option<&'a [u8]>,
}

/// A session that was opened.
pub(crate) struct Opened {
    pub(crate) account: String,
    pub(crate) session: SessionName,
    pub(crate) items: Items,
    pub(crate) charged: Charged,
}

impl Create<'_> {
    /// Opens the session, or gets the answer of its first Create again.
    pub(crate) async fn charge(mut self, store: &dyn Service) -> Result<Opened, Problem> {
        if self.request.retransmission_indicator {
            self.find_first(store).await?;
        }
        // A command that opens a session settles no use: then the session is opened without items, and updated at once.
        let has_use = self.entries.entries.iter().any(|entry| entry.has_use());
        let asked = items_of(SessionStep::Update, self.entries)?;
        let first = match has_use {
            true => Items::default(),
            false => items_of(SessionStep::Reserve, self.entries)?,
        };
        let keeps_session = self.entries.asked().any(|asked| asked.keeps_session());
        let id = self.session.id();
        let open = SessionCommand {
            session: &id,
            step: SessionStep::Reserve,
            number: Numbering::of_create(self.request.invocation_sequence_number),
            options: SessionOptions {
                validity_ms: Some(i64::from(self.validity_s) * 1_000),
                keep_open: !first.as_slice().is_empty() && keeps_session,
                ..SessionOptions::default()
            },
            data: self.data,
        };
        let opened = open.open(store, self.subscriber, first.as_slice()).await;
        if let Err(QuotaFailure::Store(error)) = &opened
            && has_use
            && is_rejected(error, Code::SessionExists)
            && self.was_denied(store, &open).await?
        {
            return Err(denied(Code::CreditLimitReached));
        }
        let (account, mut charged) = opened.map_err(failed)?;
        // Version 0: all is denied, and no session is open.
        if charged.version == 0 && charged.code.kind() == CodeKind::Denial {
            return Err(denied(charged.code));
        }
        let mut items = first;
        if has_use {
            let options = SessionOptions::default();
            let update = SessionCommand { step: SessionStep::Update, options, data: None, ..open };
            let updated = update.ask(store, &account, asked.as_slice()).await;
            if let Err(error) = &updated
                && is_rejected(error, Code::UnknownSession)
                && self.was_denied(store, &open).await?
            {
                return Err(denied(Code::CreditLimitReached));
            }
            charged = updated.map_err(call_failed)?;
            items = asked;
            if charged.code == Code::CreditLimitReached && !keeps_session {
                let end = SessionCommand { step: SessionStep::Terminate, ..update };
                end.ask(store, &account, &[]).await.map_err(call_failed)?;
                return Err(denied(charged.code));
            }
        }
        Ok(Opened { account, session: self.session, items, charged })
    }

    /// Reports whether a copy of this Create with use was denied before. It has ended its session then, as the request with
    /// the Create's number, which is that of no Release.
    async fn was_denied(
        &self,
        store: &dyn Service,
        open: &SessionCommand<'_>,
    ) -> Result<bool, Problem> {
        let session = open.session.as_bytes();
        let read = |account: &[u8], _: bool| {
            let (account, session) = (account.to_vec(), session.to_vec());
            Request::Read(Read::Session { account, session })
        };
        match self.subscriber.call(store, scurry_quota::Step::Opens(session), read).await {
            // It is open: it must not be ended.
            Ok(_) => return Ok(false),
            Err(QuotaFailure::Store(error)) if is_rejected(&error, Code::UnknownSession) => {}
            Err(failure) => return Err(failed(failure)),
        }
        let options = SessionOptions::default();
        let end = SessionCommand { step: SessionStep::Terminate, options, data: None, ..*open };
        // Of a session that has ended the store answers only copies of the request that ended it.
        match end.open(store, self.subscriber, &[]).await {
            Ok(_) => Ok(true),
            Err(QuotaFailure::Store(CallError::Refused(Refusal::Rejected { .. }))) => Ok(false),
            Err(failure) => Err(failed(failure)),
        }
    }

    /// Takes the name of the session that this Create has opened, if it has another time stamp now.
    async fn find_first(&mut self, store: &dyn Service) -> Result<(), Problem> {
        let read =
            |account: &[u8], _: bool| Request::Read(Read::Account { account: account.to_vec() });
        let called = self.subscriber.call(store, scurry_quota::Step::First, read).await;
        let Reply::Account(view) = called.map_err(failed)?.reply else {
            return Err(call_failed(CallError::WrongShape));
        };
        let ids =
            view.sessions.iter().filter_map(|row| std::str::from_utf8(row.id.as_bytes()).ok());
        let same = ids.filter_map(SessionName::read).filter(|name| name.is_of_same(&self.session));
        let earlier = same.filter(|name| name.created_ms <= self.session.created_ms);
        if let Some(first) = earlier.max_by_key(|name| name.created_ms) {
            self.session = first;
        }
        Ok(())
    }
}

/// A request about an open session, as the store is asked.
pub(crate) struct Later<'a> {
    pub(crate) reference: &'a Reference,
    pub(crate) step: SessionStep,
    /// invocationSequenceNumber.
    pub(crate) number: u32,
    /// invocationTimeStamp.
    pub(crate) time_ms: i64,
}

impl Later<'_> {
    /// Reports use and requests units. Use is settled also if the session is not open any more.
    pub(crate) async fn charge(
        &self,
        store: &dyn Service,
        entries: &Entries,
    ) -> Result<(Items, Charged), Problem> {
        let items = items_of(self.step, entries)?;
        let Reference { session, number: created, .. } = self.reference;
        let numbering = Numbering::new(self.number, self.time_ms, *created, session.created_ms);
        let charged = self.ask(store, &items, numbering).await.map_err(call_failed)?;
        Ok((items, charged))
    }

    async fn ask(
        &self,
        store: &dyn Service,
        items: &Items,
        numbering: Numbering,
    ) -> Result<Charged, CallError> {
        let outcome = self.ask_numbered(store, items, numbering).await;
        let is_release = self.step == SessionStep::Terminate;
        let Err(error) = outcome else { return outcome };
        if !(is_release && is_rejected(&error, Code::OutOfWindow)) {
            return Err(error);
        }
        // A release of a session that is open is no copy of one, so it is executed as the last request.
        match self.last_request(store).await? {
            Some(last) => self.ask_as(store, items, last.saturating_add(1)).await,
            None => Err(error),
        }
    }

    /// Asks with the first number that no other request has.
    async fn ask_numbered(
        &self,
        store: &dyn Service,
        items: &Items,
        numbering: Numbering,
    ) -> Result<Charged, CallError> {
        if let Some(counted) = numbering.counted {
            match self.ask_as(store, items, counted).await {
                Err(error) if is_rejected(&error, Code::RequestMismatch) => {}
                Err(error)
                    if is_rejected(&error, Code::OutOfWindow)
                        && Numbering::is_by_time(self.last_request(store).await?) => {}
                outcome => return outcome,
            }
        }
        let mut outcome = Err(CallError::WrongShape);
        for number in numbering.by_time() {
            outcome = self.ask_as(store, items, number).await;
            match &outcome {
                Err(error) if is_rejected(error, Code::RequestMismatch) => {}
                _ => break,
            }
        }
        outcome
    }

    async fn ask_as(
        &self,
        store: &dyn Service,
        items: &Items,
        number: u32,
    ) -> Result<Charged, CallError> {
        let Reference { account, session, .. } = self.reference;
        let command = SessionCommand {
            session: &session.id(),
            step: self.step,
            number,
            options: SessionOptions { late_use: true, ..SessionOptions::default() },
            data: None,
        };
        command.ask(store, account, items.as_slice()).await
    }

    /// Returns the highest request number of the session. None if it is not open.
    async fn last_request(&self, store: &dyn Service) -> Result<Option<u32>, CallError> {
        let account = self.reference.account.as_bytes().to_vec();
        let session = self.reference.session.id().into_bytes();
        match store.call(Request::Read(Read::Session { account, session })).await {
            Ok(Reply::Session(view)) => Ok(view.last_request),
            Ok(_) => Err(CallError::WrongShape),
            Err(error) if is_rejected(&error, Code::UnknownSession) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// Returns the items of all entries. Their amounts are bounded, so that a sum is none that cannot be counted.
fn items_of(step: SessionStep, entries: &Entries) -> Result<Items, Problem> {
    Items::of(step, entries.asked()).map_err(|_| uncountable())
}

fn is_rejected(error: &CallError, expected: Code) -> bool {
    matches!(error, CallError::Refused(Refusal::Rejected { code, .. }) if *code == expected)
}
