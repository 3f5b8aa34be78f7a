//! 3gpp-Sbi-Message-Priority.

use super::single::number;
use http::HeaderValue;

/// Priority of a message: 0 to 31, of which 0 is the highest (TS 29.500 clauses 5.2.3.2.2 and 6.8).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MessagePriority(u8);

impl MessagePriority {
    /// The lowest priority.
    pub const LOWEST: MessagePriority = MessagePriority(31);

    /// Returns this priority; None above 31.
    pub fn new(number: u8) -> Option<MessagePriority> {
        (number <= MessagePriority::LOWEST.0).then_some(MessagePriority(number))
    }

    /// Returns the number, 0 to 31.
    pub fn number(self) -> u8 {
        self.0
    }

    /// Reads the header. The grammar has no zeros before a number.
    pub(crate) fn read(text: &[u8]) -> Result<MessagePriority, &'static str> {
        const WHY: &str = "it is no number from 0 to 31";
        let number = number(text, 2).filter(|_| text.len() == 1 || text[0] != b'0').ok_or(WHY)?;
        u8::try_from(number).ok().and_then(MessagePriority::new).ok_or(WHY)
    }
}

impl From<MessagePriority> for HeaderValue {
    fn from(priority: MessagePriority) -> HeaderValue {
        HeaderValue::from(u16::from(priority.0))
    }
}
