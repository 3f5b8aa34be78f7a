//! The headers of the requests that we send, such as notifications.

use super::callback::CallbackType;
use super::correlation::CorrelationInfo;
use super::max_rsp_time::MaxRspTime;
use super::names::{CALLBACK, CORRELATION_INFO, MAX_RSP_TIME, MESSAGE_PRIORITY, SENDER_TIMESTAMP};
use super::priority::MessagePriority;
use super::timestamp::SenderTimestamp;
use http::HeaderMap;

/// Headers of a request that we send; what is None is left out.
#[derive(Clone, Copy, Debug, Default)]
pub struct SentHeaders<'a> {
    /// Its priority.
    pub priority: Option<MessagePriority>,
    /// That it is a notification, and of which kind. Every notification has it (TS 29.500 clause 5.2.3.2.3).
    pub callback: Option<&'a CallbackType>,
    /// How long we wait for the answer.
    pub max_rsp_time: Option<MaxRspTime>,
    /// Whom it is about: what a request about the same said.
    pub correlation_info: Option<&'a CorrelationInfo>,
}

impl SentHeaders<'_> {
    /// Writes the headers of a request that is sent at `now_ms`, ms since 1970. 3gpp-Sbi-Sender-Timestamp stands beside
    /// 3gpp-Sbi-Max-Rsp-Time, since only both tell when we stop waiting (TS 29.500 clause 6.11.2.2).
    pub fn write(&self, request: &mut HeaderMap, now_ms: u64) {
        if let Some(priority) = self.priority {
            request.insert(MESSAGE_PRIORITY, priority.into());
        }
        if let Some(callback) = self.callback {
            request.insert(CALLBACK, callback.into());
        }
        if let Some(wait) = self.max_rsp_time {
            request.insert(MAX_RSP_TIME, wait.into());
            if let Some(now) = SenderTimestamp::from_ms(now_ms) {
                request.insert(SENDER_TIMESTAMP, now.into());
            }
        }
        if let Some(info) = self.correlation_info {
            request.insert(CORRELATION_INFO, info.value().clone());
        }
    }
}
