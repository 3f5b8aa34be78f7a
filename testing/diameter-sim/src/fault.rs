//! Known bugs that a run can be given, to show that the simulator finds them.

use crate::request::{Kind, Quantity, Words};

/// A bug.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// None: the product as it is.
    None,
    /// Each door knows duplicates by Origin-Host and end-to-end identifier, and gives the store numbers of its own.
    DuplicatesByEndToEnd,
    /// Doors give a request with the T flag another number.
    CopiesGetNumbers,
    /// A connection that the watchdog has suspected stays suspect.
    WatchdogStaysSuspect,
    /// The store sometimes answers what it does not keep.
    StoreForgets,
    /// Doors exchange the identifiers of two answers.
    AnswersSwapped,
    /// Doors count one unit more than clients report.
    UseMiscounted,
    /// Reported use of nothing in an event is taken for a request that does not say how much.
    NothingIsGrant,
    /// Of the refunds in one request only the first is looked at, and all are answered.
    LaterRefundsDropped,
    /// Use beside a request for units in an event is passed over.
    UseBesideRequestLost,
    /// Services that are recorded only, or free, are charged.
    AllCharged,
    /// A request that opens a session is given to the present holder of the number, also if it is a copy.
    CopiesOpenAgain,
}

impl Fault {
    /// Returns the words of a request as doors with this bug understand them.
    pub(crate) fn written(self, words: &Words) -> Words {
        let mut words = words.clone();
        let is_event = words.kind.is_event();
        let (first, is_use) = (words.refunded().to_vec(), words.used() > 0);
        for part in &mut words.parts {
            match self {
                Fault::UseMiscounted if part.used() > 0 => {
                    part.used = Some(Quantity::Octets(part.used() + 1));
                }
                Fault::NothingIsGrant if words.kind == Kind::Debit && !is_use => {
                    part.used = None;
                }
                Fault::LaterRefundsDropped if words.kind == Kind::Refund => {
                    part.refund.clone_from(&first);
                }
                Fault::UseBesideRequestLost if is_event && part.asked.is_some() => part.used = None,
                _ => {}
            }
        }
        if self == Fault::LaterRefundsDropped {
            words.refund.clear();
        }
        words
    }
}
