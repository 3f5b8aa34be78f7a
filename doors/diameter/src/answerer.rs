//! What connections need of the charging: it begins to answer a request, and writes the answer later. Tests put a
//! stand-in here.

use crate::charging::{Answer, Charging};
use scurry_diameter::ccr::Scratch;
use scurry_diameter::{Message, Origin, Refusal, ResultCode};
use std::future::Future;
use std::pin::Pin;

/// The future of an answer.
pub(crate) type AnswerFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// Answers requests.
pub(crate) trait Answerer: Send + Sync + 'static {
    /// An answer that is ready to be written.
    type Answer: FormedAnswer + 'static;

    /// Begins to answer a request.
    ///
    /// # Errors
    /// The refusal of a request that is wrong.
    fn begin<'a>(
        &self,
        message: &Message<'a>,
        scratch: &'a mut Scratch,
    ) -> Result<AnswerFuture<Self::Answer>, Refusal<'a>>;
}

/// An answer that is ready to be written.
pub(crate) trait FormedAnswer {
    /// Returns its Result-Code.
    fn result(&self) -> ResultCode;
    /// Appends the message.
    fn write(&self, origin: &Origin, out: &mut Vec<u8>);
}

impl Answerer for Charging {
    type Answer = Answer;

    fn begin<'a>(
        &self,
        message: &Message<'a>,
        scratch: &'a mut Scratch,
    ) -> Result<AnswerFuture<Answer>, Refusal<'a>> {
        Charging::begin(self, message, scratch)
    }
}

impl FormedAnswer for Answer {
    fn result(&self) -> ResultCode {
        Answer::result(self)
    }

    fn write(&self, origin: &Origin, out: &mut Vec<u8>) {
        Answer::write(self, origin, out);
    }
}
