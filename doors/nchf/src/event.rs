//! Requests without a session: units that are debited at once (IEC), and use that has happened (PEC).

use crate::entry::Entries;
use crate::problem::{call_failed, denied, failed, missing, uncountable};
use crate::request::EventKind;
use crate::session_command::ITEMS_MAX;
use scurry_http::Problem;
use scurry_ledger::{CodeKind, Command, ItemAmount, ItemRequest, SessionOptions, SessionRequest};
use scurry_quota::{Step, Subscriber};
use scurry_service::{CallError, Reply, Request, Service, SessionStep};

/// An event, as the store is asked.
pub(crate) struct Event<'a> {
    pub(crate) kind: EventKind,
    /// Transaction id.
    pub(crate) name: &'a str,
    /// invocationSequenceNumber.
    pub(crate) number: u32,
    pub(crate) subscriber: &'a Subscriber,
}

impl Event<'_> {
    /// Debits all entries, or none. Returns true if it is a copy of an event that was debited before.
    pub(crate) async fn charge(
        &self,
        store: &dyn Service,
        entries: &Entries,
    ) -> Result<bool, Problem> {
        let amounts = amounts(self.kind, entries)?;
        if amounts.is_empty() {
            return Ok(false);
        }
        // Units that are asked for are debited all or none; use that has happened is debited, however much it is.
        if amounts.len() > ITEMS_MAX && self.kind == EventKind::Immediate {
            return Err(uncountable());
        }
        let mut is_replayed = true;
        for (number, amounts) in amounts.chunks(ITEMS_MAX).enumerate() {
            let name =
                if number == 0 { self.name.to_owned() } else { format!("{}/{number}", self.name) };
            let request = |account: &[u8], _: bool| match self.kind {
                EventKind::Immediate => {
                    let txn = name.as_bytes();
                    Request::write(account, &Command::DebitItems { txn, items: amounts })
                }
                EventKind::Post => self.settle(account, &name, amounts),
            };
            let called = self.subscriber.call(store, Step::First, request).await.map_err(failed)?;
            let Reply::Answer(answered) = called.reply else {
                return Err(call_failed(CallError::WrongShape));
            };
            let code = answered.code();
            // The account's overrun policy decides of use that has happened, also if the account is suspended.
            if code.kind() == CodeKind::Denial && self.kind == EventKind::Immediate {
                return Err(denied(code));
            }
            is_replayed &= answered.replayed;
        }
        Ok(is_replayed)
    }

    /// Returns the command that debits use once: it ends a session that nothing has opened.
    fn settle(&self, account: &[u8], name: &str, amounts: &[ItemAmount]) -> Request {
        let used = amounts.iter().map(|amount| ItemRequest {
            key: amount.key,
            unit: amount.unit,
            used: Some(amount.amount),
            requested: None,
            min: None,
        });
        let items: Vec<ItemRequest> = used.collect();
        let command = SessionStep::Terminate.command(SessionRequest {
            session: name.as_bytes(),
            request: self.number,
            options: SessionOptions { late_use: true, ..SessionOptions::default() },
            blob: None,
            items: &items,
        });
        Request::write(account, &command)
    }
}

/// Returns what is debited: of an immediate event the requested units, of one that has happened the used ones.
fn amounts(kind: EventKind, entries: &Entries) -> Result<Vec<ItemAmount>, Problem> {
    let mut amounts = Vec::<ItemAmount>::new();
    for (number, entry) in entries.entries.iter().enumerate() {
        let (has_use, asks) =
            (entry.has_use(), entry.asked().any(|asked| asked.requested.is_some()));
        let (member, is_wrong) = match kind {
            EventKind::Immediate => ("requestedUnit", has_use && !asks),
            EventKind::Post => ("usedUnitContainer", asks && !has_use),
        };
        if is_wrong {
            let place = format!("/multipleUnitUsage/{number}/{member}");
            return Err(missing(&place, "is what an event of this type is about"));
        }
    }
    for asked in entries.asked() {
        let amount = match kind {
            EventKind::Immediate => asked.debit(),
            EventKind::Post => asked.used,
        };
        let (Some(terms), Some(key), Some(amount)) =
            (asked.terms, asked.key(), amount.filter(|amount| *amount > 0))
        else {
            continue;
        };
        if terms.mode == scurry_service_table::Mode::Free {
            continue;
        }
        match amounts.iter_mut().find(|one| one.key == key && one.unit == terms.unit) {
            None => amounts.push(ItemAmount { key, unit: terms.unit, amount }),
            Some(one) => one.amount = one.amount.checked_add(amount).ok_or_else(uncountable)?,
        }
    }
    Ok(amounts)
}
