//! The headers of a request.
//!
//! A request says nothing with them that its body needs: TS 29.500 table 5.2.3.3.1-1 lets a sender leave them out, and a
//! receiver not know them. So a header that breaks its grammar is ignored, and named for the log: table 5.2.7.2-1 has
//! OPTIONAL_IE_INCORRECT only for what prevents the service. A request is refused for one reason: its sender waits no
//! more (clause 6.11.2).

use super::callback::CallbackType;
use super::correlation::CorrelationInfo;
use super::fault::HeaderFault;
use super::max_rsp_time::MaxRspTime;
use super::names::{CALLBACK, CORRELATION_INFO, MAX_RSP_TIME, MESSAGE_PRIORITY, SENDER_TIMESTAMP};
use super::priority::MessagePriority;
use super::single::single;
use super::timestamp::SenderTimestamp;
use http::{HeaderMap, HeaderName};

/// What the headers of a request say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RequestHeaders {
    /// Its priority.
    pub priority: Option<MessagePriority>,
    /// When its sender stops waiting, ms since 1970: an answer that is not sent before then is of no use.
    pub deadline_ms: Option<u64>,
    /// When it was sent.
    pub sent: Option<SenderTimestamp>,
    /// That it is a notification, and of which kind.
    pub callback: Option<CallbackType>,
    /// What its answer gives back.
    pub correlation_info: Option<CorrelationInfo>,
    /// Headers that were not read, one of a name.
    pub ignored: Vec<IgnoredHeader>,
}

/// A header that breaks its grammar.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IgnoredHeader {
    /// Its name.
    pub name: HeaderName,
    /// What is wrong.
    pub why: &'static str,
}

impl RequestHeaders {
    /// Reads the headers of a request that is received at `now_ms`, ms since 1970.
    ///
    /// The sender stops waiting 3gpp-Sbi-Max-Rsp-Time after 3gpp-Sbi-Sender-Timestamp. Without the latter, or if it
    /// lies in the future, so that the clocks differ, it is taken to be sent at `now_ms`.
    ///
    /// # Errors
    /// If the sender waits no more.
    pub fn read(headers: &HeaderMap, now_ms: u64) -> Result<RequestHeaders, HeaderFault> {
        let mut ignored = Vec::new();
        let priority = read(headers, MESSAGE_PRIORITY, MessagePriority::read, &mut ignored);
        let callback = read(headers, CALLBACK, CallbackType::read, &mut ignored);
        let sent = read(headers, SENDER_TIMESTAMP, SenderTimestamp::read, &mut ignored);
        let wait = read(headers, MAX_RSP_TIME, MaxRspTime::read, &mut ignored);
        let correlation_info = read(headers, CORRELATION_INFO, CorrelationInfo::read, &mut ignored);
        let sent_ms = sent.map_or(now_ms, |sent| sent.ms().min(now_ms));
        let deadline_ms = wait.map(|wait| sent_ms.saturating_add(wait.ms()));
        if let Some(late_ms) = deadline_ms.and_then(|deadline| now_ms.checked_sub(deadline)) {
            return Err(HeaderFault::TimedOut { late_ms, correlation_info });
        }
        Ok(RequestHeaders { priority, deadline_ms, sent, callback, correlation_info, ignored })
    }

    /// Reports whether the sender has stopped waiting at `now_ms`, ms since 1970.
    pub fn is_late(&self, now_ms: u64) -> bool {
        self.deadline_ms.is_some_and(|deadline_ms| deadline_ms <= now_ms)
    }

    /// Writes the headers of the answer, which gives 3gpp-Sbi-Correlation-Info back (TS 29.500 clause 6.13.2.2).
    pub fn write_answer(&self, answer: &mut HeaderMap) {
        if let Some(info) = &self.correlation_info {
            answer.insert(CORRELATION_INFO, info.value().clone());
        }
    }
}

/// Reads a header, or notes why it is ignored.
fn read<T>(
    headers: &HeaderMap,
    name: HeaderName,
    parse: impl FnOnce(&[u8]) -> Result<T, &'static str>,
    ignored: &mut Vec<IgnoredHeader>,
) -> Option<T> {
    single(headers, &name, parse).unwrap_or_else(|why| {
        ignored.push(IgnoredHeader { name, why });
        None
    })
}
