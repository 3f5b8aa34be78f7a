//! Bytes of a window without periods, in place of those of a cycle. The same in a Change and in an image:
//!
//! | bytes | field |
//! |---|---|
//! | u8 | 128 a rolling limit, 129 a rate |
//! | i64 | span, ms |
//! | i64, i64 | of a rate: burst, 0 for none; part of the last used unit that has drained |
//!
//! The numbers of periods are below 128.

use crate::Malformed;
use crate::cycle::{plain_number, take_cycle};
use scurry_ledger::{Span, Window};

/// Number of a rolling limit. Persisted.
const ROLLING: u8 = 128;
/// Number of a rate. Persisted.
const RATE: u8 = 129;

/// Greatest length of the bytes.
pub(crate) const WINDOW_LEN_MAX: usize = 1 + 3 * 8;

/// The bytes of a window without periods.
pub(crate) struct WindowBytes {
    bytes: [u8; WINDOW_LEN_MAX],
    len: usize,
}

impl WindowBytes {
    /// Returns the bytes of a rolling limit.
    pub(crate) fn of_rolling(span: Span) -> WindowBytes {
        WindowBytes::new(ROLLING, [span.ms(), 0, 0], 1 + 8)
    }

    /// Returns the bytes of a rate.
    pub(crate) fn of_rate(span: Span, burst: Option<i64>, drained: i64) -> WindowBytes {
        WindowBytes::new(RATE, [span.ms(), burst.unwrap_or(0), drained], WINDOW_LEN_MAX)
    }

    fn new(number: u8, fields: [i64; 3], len: usize) -> WindowBytes {
        let mut bytes = [0; WINDOW_LEN_MAX];
        bytes[0] = number;
        for (room, field) in bytes[1..].chunks_exact_mut(8).zip(fields) {
            room.copy_from_slice(&field.to_le_bytes());
        }
        WindowBytes { bytes, len }
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

/// Reads the bytes of a cycle or of a window without periods, and the part of a unit that has drained.
pub(crate) fn take_window(bytes: &[u8]) -> Result<(Window, i64), Malformed> {
    let (number, fields) = bytes.split_first().ok_or(Malformed::Choice)?;
    let mut numbers = [0; 3];
    if *number >= ROLLING {
        for (number, field) in numbers.iter_mut().zip(fields.chunks(8)) {
            *number = i64::from_le_bytes(field.try_into().map_err(|_| Malformed::Choice)?);
        }
    }
    let [span, burst, drained] = numbers;
    let span = Span::new(span).ok_or(Malformed::Number);
    match (*number, bytes.len()) {
        (ROLLING, 9) => Ok((Window::Rolling(span?), 0)),
        (RATE, WINDOW_LEN_MAX) if burst >= 0 && drained >= 0 => {
            let burst = Some(burst).filter(|&burst| burst > 0);
            Ok((Window::Rate { span: span?, burst }, drained))
        }
        (0..ROLLING, _) => Ok((Window::Period(take_cycle(bytes, plain_number)?), 0)),
        _ => Err(Malformed::Choice),
    }
}
