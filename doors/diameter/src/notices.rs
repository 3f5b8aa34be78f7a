//! Requests to clients that the store's events lead to: RAR after a top-up (RFC 8506, 5.5), ASR when an account is
//! suspended or closed.

use crate::charging::client_data::SessionClient;
use crate::own_request::{OwnRequest, RequestOutcome};
use crate::peer_table::PeerTable;
use scurry_diameter::{ResultCode, ServerAction};
use scurry_ledger::ItemKey;
use scurry_session_notices::{Delivery, DeliveryFuture, Notice, NoticeAction, Notifier};

impl Notifier for PeerTable {
    fn reaches(&self, data: &[u8]) -> bool {
        SessionClient::read(data).is_some_and(|client| self.has_way_to(client.host))
    }

    fn words(&self) -> &'static str {
        "RAR, ASR"
    }

    fn deliver(&self, notice: Notice) -> DeliveryFuture<'_> {
        Box::pin(async move {
            let Some(client) = SessionClient::read(&notice.data) else { return Delivery::Refused };
            let session_id = match client.session_id {
                Some(session_id) => session_id.to_owned(),
                None => String::from_utf8_lossy(notice.session.as_bytes()).into_owned(),
            };
            let request = OwnRequest {
                session_id,
                host: client.host.to_owned(),
                realm: client.realm.to_owned(),
                action: action(&notice.action),
            };
            delivery(self.request(request).await)
        })
    }
}

/// Returns the request of a notice. A Re-Auth-Request for one service names it; one for several is for the session.
fn action(action: &NoticeAction) -> ServerAction {
    let keys = match action {
        NoticeAction::End => return ServerAction::Abort,
        NoticeAction::AskAgain(keys) => keys,
    };
    let (rating_group, identifier) = match keys[..] {
        [key] => service(key),
        _ => (None, None),
    };
    ServerAction::ReAuth { rating_group, identifier }
}

/// Returns Rating-Group and Service-Identifier of an item.
fn service(key: ItemKey) -> (Option<u32>, Option<u32>) {
    let text = key.to_string();
    match text.split_once('.') {
        Some((group, identifier)) => (group.parse().ok(), identifier.parse().ok()),
        None => (text.parse().ok(), None),
    }
}

fn delivery(outcome: RequestOutcome) -> Delivery {
    match outcome {
        // With 2001 and 2002 it asks again or ends. With 5002 it does not know the session, which ends with its
        // supervision time: RFC 8506, 5.5, and RFC 6733, 8.3.
        RequestOutcome::Answered(code) if is_success(code) => Delivery::Done,
        RequestOutcome::Answered(ResultCode::UNKNOWN_SESSION_ID) => Delivery::Done,
        // A protocol error of a relay, or a fault that passes: RFC 6733, 7.1.3 and 7.1.4.
        RequestOutcome::Answered(ResultCode(3_000..5_000))
        | RequestOutcome::Unanswered
        | RequestOutcome::NotConnected
        | RequestOutcome::NotSent(_) => Delivery::Failed,
        RequestOutcome::Answered(_) => Delivery::Refused,
    }
}

fn is_success(code: ResultCode) -> bool {
    (2_000..3_000).contains(&code.0)
}
