//! Known bugs that a run can be given, to show that the simulator finds them.

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
}
