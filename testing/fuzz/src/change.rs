//! The bytes of a Change: no input makes the decoder panic; a Change has exactly one encoding (versions 1 and 2, which
//! are only read, may have several); and a buffer used before leaves no trace.

use scurry_codec::{ChangeError, decode_change, encode_change};
use scurry_ledger::{Change, Op, Time};

/// Decodes the input as a Change.
pub fn check(data: &[u8]) {
    let _ = one_form(data);
}

/// Decodes a Change; panics when it encodes to other bytes than these.
pub(crate) fn one_form(data: &[u8]) -> Result<Change, ChangeError> {
    let mut change = Change { at: Time(7), ops: vec![Op::Forget; data.len() % 3] };
    decode_change(data, &mut change)?;
    if data[0] < 3 {
        return Ok(change);
    }
    let mut bytes = Vec::new();
    encode_change(&change, &mut bytes);
    assert_eq!(bytes, data, "a Change has two forms: {change:?}");
    Ok(change)
}
