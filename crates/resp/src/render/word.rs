//! Words that every reply repeats, as bulk strings that are formed at compile time.

/// Returns the bulk string of a constant text of 1 to 99 bytes.
pub(super) const fn form<const N: usize>(text: &str) -> [u8; N] {
    let text = text.as_bytes();
    let digits = if text.len() < 10 { 1 } else { 2 };
    assert!(!text.is_empty() && text.len() < 100 && N == text.len() + digits + 5);
    let mut formed = [0; N];
    formed[0] = b'$';
    if digits == 2 {
        formed[1] = b'0' + (text.len() / 10) as u8;
    }
    formed[digits] = b'0' + (text.len() % 10) as u8;
    formed[digits + 1] = b'\r';
    formed[digits + 2] = b'\n';
    let mut at = 0;
    while at < text.len() {
        formed[digits + 3 + at] = text[at];
        at += 1;
    }
    formed[N - 2] = b'\r';
    formed[N - 1] = b'\n';
    formed
}

/// Appends a constant word as a bulk string, in one piece.
macro_rules! word {
    ($reply:expr, $text:literal) => {{
        const LEN: usize = $text.len() + if $text.len() < 10 { 6 } else { 7 };
        const FORMED: [u8; LEN] = $crate::render::word::form($text);
        $reply.formed(&FORMED);
    }};
}

/// Does the same as [`form`], followed by the head of an empty array, 4 bytes.
pub(super) const fn form_list<const N: usize, const M: usize>(text: &str) -> [u8; M] {
    assert!(M == N + 4);
    let word: [u8; N] = form(text);
    let mut formed = [0; M];
    let mut at = 0;
    while at < M {
        formed[at] = if at < N { word[at] } else { b"*0\r\n"[at - N] };
        at += 1;
    }
    formed
}

/// Appends a constant word as a bulk string and the head of an array, in one piece.
macro_rules! list {
    ($reply:expr, $text:literal, $len:expr) => {{
        const LEN: usize = $text.len() + if $text.len() < 10 { 6 } else { 7 };
        const FORMED: [u8; LEN + 4] = $crate::render::word::form_list::<LEN, { LEN + 4 }>($text);
        $reply.list(&FORMED, $len);
    }};
}

pub(super) use {list, word};

#[cfg(test)]
mod tests {
    use crate::{Protocol, Reply};

    #[test]
    fn words_are_what_text_writes() {
        let (mut words, mut texts) = (Vec::new(), Vec::new());
        let (mut word, mut text) =
            (Reply::new(&mut words, Protocol::Resp2), Reply::new(&mut texts, Protocol::Resp2));
        word!(word, "x");
        word!(word, "123456789");
        word!(word, "1234567890");
        word!(word, "last_request");
        for expected in ["x", "123456789", "1234567890", "last_request"] {
            text.text(expected);
        }
        assert_eq!(words, texts);
    }

    #[test]
    fn lists_are_a_word_and_the_head_of_an_array() {
        for len in [0, 1, 9, 10, 11, 255, 256, 257, 1000, usize::MAX] {
            let (mut lists, mut parts) = (Vec::new(), Vec::new());
            let mut list = Reply::new(&mut lists, Protocol::Resp2);
            list!(list, "sessions", len);
            list!(list, "1234567890", len);
            let mut part = Reply::new(&mut parts, Protocol::Resp2);
            for text in ["sessions", "1234567890"] {
                part.text(text);
                part.array(len);
            }
            assert_eq!(lists, parts);
        }
    }
}
