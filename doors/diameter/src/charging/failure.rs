//! Why a request is answered with an error as a whole.

use scurry_diameter::ResultCode;
use scurry_ledger::Code;
use scurry_quota::QuotaFailure;
use scurry_service::{CallError, Refusal};
use std::borrow::Cow;

/// A Result-Code that is no success, and its Error-Message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Failure {
    pub(super) result: ResultCode,
    pub(super) text: Cow<'static, str>,
    /// The ledger's code, if the ledger has rejected the request.
    pub(super) code: Option<Code>,
}

impl Failure {
    pub(super) fn new(result: ResultCode, text: &'static str) -> Failure {
        Failure { result, text: Cow::Borrowed(text), code: None }
    }
}

impl From<QuotaFailure> for Failure {
    fn from(failure: QuotaFailure) -> Failure {
        match failure {
            QuotaFailure::Store(error) => error.into(),
            QuotaFailure::UnknownSubscriber(unknown) => {
                let result = ResultCode(unknown.result_code());
                Failure::new(result, QuotaFailure::UNKNOWN_SUBSCRIBER)
            }
            QuotaFailure::SeveralAccounts => {
                Failure::new(ResultCode::UNABLE_TO_COMPLY, QuotaFailure::SEVERAL_ACCOUNTS)
            }
        }
    }
}

impl From<CallError> for Failure {
    fn from(error: CallError) -> Failure {
        match error {
            CallError::Refused(Refusal::Rejected { code, why }) => Failure {
                result: ResultCode(code.diameter().into()),
                text: Cow::Owned(why),
                code: Some(code),
            },
            // The client sends the request again, to another door or later: it is known by its number.
            CallError::Refused(Refusal::Store(_)) => {
                Failure::new(ResultCode::TOO_BUSY, "the store takes no requests now")
            }
            CallError::NotSent(_) => {
                Failure::new(ResultCode::TOO_BUSY, "the store cannot be reached")
            }
            CallError::Unknown(_) => {
                Failure::new(ResultCode::TOO_BUSY, "the store does not answer")
            }
            CallError::WrongShape => Failure::new(
                ResultCode::UNABLE_TO_COMPLY,
                "the store answers with something else than is asked for: is it of this version?",
            ),
        }
    }
}
