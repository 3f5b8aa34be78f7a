//! Commands that another command of their chain denies (docs/ledger.md section 15): their reported use is settled, they
//! get nothing, and their answers are remembered by their ids.

use super::draft::Draft;
use super::due::expire_due;
use super::{Outcome, Step, balance, reject, session};
use crate::digest::CommandBody;
use crate::{Code, Command};

/// Carries out a command as denied. The chain only denies commands that alone would be Commits and no denials, so their
/// ids are new and there is room to remember them.
pub(super) fn run(draft: &mut Draft<'_>, command: &Command<'_>) -> Step<Outcome> {
    expire_due(draft);
    let body = &CommandBody::new(command);
    match command {
        Command::Reserve(request) => Ok(session::deny_reserve(draft, request, body)),
        Command::Update(request) | Command::Terminate(request) => {
            session::deny_report(draft, request, body, matches!(command, Command::Update(_)))
        }
        Command::TopUp { txn, bucket, .. } => {
            let available = draft.account().bucket(*bucket).map_or(0, |bucket| bucket.available);
            Ok(balance::deny(draft, txn, (command, body), available))
        }
        Command::Debit { txn, .. }
        | Command::DebitItems { txn, .. }
        | Command::Refund { txn, .. }
        | Command::RefundItems { txn, .. } => Ok(balance::deny(draft, txn, (command, body), 0)),
        Command::Create(_)
        | Command::Status { .. }
        | Command::Delete { .. }
        | Command::Adjust { .. }
        | Command::Bucket { .. }
        | Command::Counter { .. }
        | Command::Limit { .. }
        | Command::Transfer(_)
        | Command::Carry(_)
        | Command::Release { .. } => reject(Code::Invalid, "no chain takes this command"),
    }
}
