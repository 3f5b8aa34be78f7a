//! Notifications to consumers that the store's events lead to (TS 32.290, 5.2.2.4): REAUTHORIZATION after a top-up,
//! ABORT_CHARGING when an account is suspended or closed.

use crate::client_data;
use crate::metrics::Metrics;
use crate::recent_sessions::RecentSessions;
use axum::http::{HeaderMap, Method, StatusCode};
use scurry_http::now;
use scurry_ledger::{Id, ItemKey};
use scurry_sbi::client::{Call, CallError, Client};
use scurry_sbi::{CallbackType, SentHeaders};
use scurry_session_notices::{Delivery, DeliveryFuture, Notice, NoticeAction, Notifier};
use serde_json::{Value, json};
use std::sync::Arc;

/// Sends notifications by HTTP/2 to the URIs that consumers have named, as far as the settings allow these.
pub(crate) struct Consumers {
    pub(crate) client: Client,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) recent: Arc<RecentSessions>,
}

impl Notifier for Consumers {
    fn reaches(&self, data: &[u8]) -> bool {
        client_data::notify_uri(data).is_some()
    }

    fn is_near(&self, account: &[u8], session: &Id) -> bool {
        self.recent.has(account, session.as_bytes())
    }

    fn words(&self) -> &'static str {
        "Nchf notifications"
    }

    fn deliver(&self, notice: Notice) -> DeliveryFuture<'_> {
        Box::pin(async move {
            let Some(uri) = client_data::notify_uri(&notice.data) else { return Delivery::Refused };
            let body = body(&notice.action).to_string();
            let call = Call {
                method: Method::POST,
                uri,
                headers: headers(),
                body: Some(("application/json", body.into())),
            };
            let (delivery, why) = match self.client.send(call).await {
                Ok(answer) => {
                    (delivery(answer.status), format!("status {}", answer.status.as_u16()))
                }
                // The status is all that is asked for.
                Err(CallError::TooLong { status, .. }) => {
                    (delivery(status), format!("status {}", status.as_u16()))
                }
                Err(error @ (CallError::Uri(_) | CallError::Refused(_))) => {
                    tracing::warn!("a consumer is not notified: {error}");
                    (Delivery::Refused, "not allowed".to_owned())
                }
                Err(error) => {
                    tracing::debug!("a notification has no answer: {error}");
                    (Delivery::Failed, "no answer".to_owned())
                }
            };
            if delivery != Delivery::Done {
                self.metrics.notice_failed(authority(uri), &why);
            }
            delivery
        })
    }
}

/// Returns the host and port that a URI names, without what is before `@`.
fn authority(uri: &str) -> &str {
    let rest = uri.split_once("://").map_or(uri, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    authority.rsplit('@').next().unwrap_or_default()
}

fn headers() -> HeaderMap {
    let mut headers = HeaderMap::new();
    let callback = CallbackType::new("Nchf_ConvergedCharging_Notify", None);
    let sent = SentHeaders { callback: callback.as_ref(), ..SentHeaders::default() };
    sent.write(&mut headers, u64::try_from(now().0).unwrap_or(0));
    headers
}

/// Returns ChargingNotifyRequest (TS 32.291 clause 6.1.6.2.1.5).
fn body(action: &NoticeAction) -> Value {
    let keys = match action {
        NoticeAction::End => return json!({ "notificationType": "ABORT_CHARGING" }),
        NoticeAction::AskAgain(keys) => keys,
    };
    let groups = keys.iter().filter_map(|key| match key {
        ItemKey::Number(group) => Some(json!({ "ratingGroup": group })),
        ItemKey::Id(_) => None,
    });
    let details: Vec<Value> = groups.collect();
    match details.is_empty() {
        true => json!({ "notificationType": "REAUTHORIZATION" }),
        false => {
            json!({ "notificationType": "REAUTHORIZATION", "reauthorizationDetails": details })
        }
    }
}

fn delivery(status: StatusCode) -> Delivery {
    match status {
        status if status.is_success() => Delivery::Done,
        // The consumer has no such session: it ends with its supervision time.
        StatusCode::NOT_FOUND | StatusCode::GONE => Delivery::Done,
        StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_MANY_REQUESTS => Delivery::Failed,
        status if status.is_server_error() => Delivery::Failed,
        _ => Delivery::Refused,
    }
}
