//! The complete body of a request: the command and all its arguments but IFVERSION, LATEUSE and CANCEL.

use scurry_ledger::{Command, SessionOptions, SessionRequest, Transfer};

/// Returns a text that is equal for equal bodies and different for different ones.
pub(super) fn text(command: &Command<'_>) -> String {
    match command {
        Command::Reserve(request) => requested("RESERVE", request),
        Command::Update(request) => requested("UPDATE", request),
        Command::Terminate(request) => requested("TERMINATE", request),
        Command::Transfer(Transfer { unit, amount, payee, bucket, .. }) => {
            format!("TRANSFER {unit:?} {amount} {payee:?} {bucket:?}")
        }
        other => format!("{other:?}"),
    }
}

/// A request of a session: its number, and 0 for RESERVE and TRANSFER, 1 for UPDATE, 2 for TERMINATE.
pub(super) type Asked = (u32, u8);

/// Returns which request of a session has this number and this body.
pub(super) fn asked(number: u32, body: &str) -> Asked {
    let kinds = ["RESERVE", "UPDATE", "TERMINATE"];
    let kind = kinds.iter().position(|kind| body.starts_with(kind)).unwrap_or(0);
    (number, u8::try_from(kind).unwrap_or(0))
}

/// MIN 1, USED 0 and REQUESTED 0 are defaults of the grammar: left out or given, they are the same body. MIN 0 is MIN
/// 1.
fn requested(command: &str, request: &SessionRequest<'_>) -> String {
    let items: Vec<String> = request
        .items
        .iter()
        .map(|item| {
            let min = if item.min == Some(0) { 1 } else { item.min.unwrap_or(1) };
            let (used, requested) = (item.used.unwrap_or(0), item.requested.unwrap_or(0));
            format!("{} {:?} {used} {requested} {min}", item.key, item.unit)
        })
        .collect();
    let options =
        SessionOptions { if_version: None, late_use: false, cancel: false, ..request.options };
    format!(
        "{command} {:?} {} {options:?} {:?} {items:?}",
        request.session, request.request, request.blob,
    )
}
