//! Events and positions in the form of server-sent events (HTML, clause 9.2).

use scurry_ship::{Form, Positions, Record, encode};

/// First bytes of a stream: a client whose connection is cut waits a second before it comes back.
pub(super) const BEGIN: &[u8] = b"retry: 1000\n\n";

/// Appends an event. `after` is where reading continues after it.
pub(super) fn write_event(out: &mut Vec<u8>, record: &Record, after: &Positions) {
    let mut data = Vec::new();
    // JSON has no line break outside its strings, and none within them.
    encode(record, Form::Json, &mut data);
    out.extend_from_slice(format!("id: {after}\nevent: {}\ndata: ", record.event).as_bytes());
    out.extend_from_slice(&data);
    out.extend_from_slice(b"\n\n");
}

/// Returns what shows that the stream lives. It has the positions, so that a client for which there were no events is not
/// behind when it comes back; without data it is no event.
pub(super) fn heartbeat(at: &Positions) -> Vec<u8> {
    format!(":\nid: {at}\n\n").into_bytes()
}

/// Returns a comment, which browsers ignore and people see.
pub(super) fn comment(text: &str) -> Vec<u8> {
    format!(": {}\n\n", text.replace(['\r', '\n'], " ")).into_bytes()
}
