//! A Rust file split into code and comments, line by line, so that a rule about code ignores words in strings and
//! comments. Strings keep their quotes and lose their text.

/// Rust file; both parts have a line for each line of the file.
pub(crate) struct Source {
    /// Code, with comments and the insides of literals blanked.
    pub(crate) code: Vec<String>,
    /// Comments only.
    pub(crate) comments: Vec<String>,
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    Code,
    LineComment,
    BlockComment { depth: usize },
    Text,
    RawText { hashes: usize },
}

impl Source {
    /// Splits a file.
    pub(crate) fn new(text: &str) -> Source {
        let chars: Vec<char> = text.chars().collect();
        let mut source = Source { code: vec![String::new()], comments: vec![String::new()] };
        let mut state = State::Code;
        let mut at = 0;
        while at < chars.len() {
            if chars[at] == '\n' {
                source.code.push(String::new());
                source.comments.push(String::new());
                if state == State::LineComment {
                    state = State::Code;
                }
                at += 1;
                continue;
            }
            let (next, len) = advance(state, &chars, at);
            let comment = |s| matches!(s, State::LineComment | State::BlockComment { .. });
            for &c in &chars[at..at + len] {
                if c == '\n' {
                    source.code.push(String::new());
                    source.comments.push(String::new());
                } else if comment(state) || comment(next) {
                    source.comments.last_mut().expect("never empty").push(c);
                } else {
                    // Quotes stay visible, the text between them does not.
                    let visible = c == '"' || (state == State::Code && next == State::Code);
                    source.code.last_mut().expect("never empty").push(if visible {
                        c
                    } else {
                        ' '
                    });
                }
            }
            state = next;
            at += len;
        }
        source
    }

    /// Returns the code with everything under `#[cfg(test)]` blanked.
    pub(crate) fn code_without_tests(&self) -> Vec<String> {
        let mut text: Vec<char> = self.code.join("\n").chars().collect();
        let mark: Vec<char> = "#[cfg(test)]".chars().collect();
        let mut at = 0;
        while at + mark.len() <= text.len() {
            if text[at..at + mark.len()] != mark[..] {
                at += 1;
                continue;
            }
            let end = end_of_item(&text, at + mark.len());
            text[at..end].iter_mut().filter(|c| **c != '\n').for_each(|c| *c = ' ');
            at = end;
        }
        text.into_iter().collect::<String>().split('\n').map(str::to_owned).collect()
    }
}

/// Returns the words of a line of code.
pub(crate) fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty())
}

/// Returns the state after the token at `at`, and the length of that token.
fn advance(state: State, chars: &[char], at: usize) -> (State, usize) {
    let two = (chars[at], chars.get(at + 1).copied().unwrap_or('\0'));
    match state {
        State::Code => match two {
            ('/', '/') => (State::LineComment, 2),
            ('/', '*') => (State::BlockComment { depth: 1 }, 2),
            ('"', _) => (State::Text, 1),
            ('r', '#' | '"') if begins_literal(chars, at) => match raw_hashes(chars, at + 1) {
                Some(hashes) => (State::RawText { hashes }, 2 + hashes),
                None => (State::Code, 1),
            },
            ('\'', _) => (State::Code, char_literal_len(chars, at)),
            _ => (State::Code, 1),
        },
        State::LineComment => (state, 1),
        State::BlockComment { depth } => match two {
            ('/', '*') => (State::BlockComment { depth: depth + 1 }, 2),
            ('*', '/') if depth == 1 => (State::Code, 2),
            ('*', '/') => (State::BlockComment { depth: depth - 1 }, 2),
            _ => (state, 1),
        },
        State::Text => match two {
            // A backslash hides the next character, even a quote.
            ('\\', '\0') => (state, 1),
            ('\\', _) => (state, 2),
            ('"', _) => (State::Code, 1),
            _ => (state, 1),
        },
        State::RawText { hashes } => {
            let tail = &chars[at + 1..];
            let ends = chars[at] == '"'
                && tail.len() >= hashes
                && tail[..hashes].iter().all(|&c| c == '#');
            if ends { (State::Code, 1 + hashes) } else { (state, 1) }
        }
    }
}

/// Reports whether the `r` at `at` begins a literal and does not end a longer name (`br` and `cr` begin literals too).
fn begins_literal(chars: &[char], at: usize) -> bool {
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    match at.checked_sub(1).map(|i| chars[i]) {
        Some('b' | 'c') => at < 2 || !is_name(chars[at - 2]),
        Some(c) => !is_name(c),
        None => true,
    }
}

/// Returns how many `#` precede the quote; None when no quote follows (a raw identifier).
fn raw_hashes(chars: &[char], at: usize) -> Option<usize> {
    let hashes = chars[at..].iter().take_while(|&&c| c == '#').count();
    (chars.get(at + hashes) == Some(&'"')).then_some(hashes)
}

/// Returns the length of the char literal at `at`, or 1 for the quote of a lifetime.
fn char_literal_len(chars: &[char], at: usize) -> usize {
    match chars.get(at + 1) {
        Some('\\') => {
            let rest = chars[at + 3..].iter().take_while(|&&c| c != '\'' && c != '\n').count();
            (rest + 4).min(chars.len() - at)
        }
        Some(_) if chars.get(at + 2) == Some(&'\'') => 3,
        _ => 1,
    }
}

/// Returns the index after the item that begins at `at`: after its `;` or its closing brace.
fn end_of_item(text: &[char], at: usize) -> usize {
    let mut depth = 0usize;
    for (index, c) in text.iter().enumerate().skip(at) {
        match c {
            '{' => depth += 1,
            '}' if depth <= 1 => return index + 1,
            '}' => depth -= 1,
            ';' if depth == 0 => return index + 1,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_literals_are_no_code() {
        let source = Source::new(
            "let a = \"dbg! \\\" // no\"; // dbg! here\nlet b = r#\"f64 \" x\"#; /* f32\nf32 /* in */ */ let c = 'x';\n",
        );
        assert_eq!(source.code.len(), source.comments.len());
        assert_eq!(source.comments[0], "// dbg! here");
        assert!(!source.code.concat().contains("dbg") && !source.code.concat().contains("f64"));
        assert!(!source.code[2].contains("f32") && source.code[2].contains("let c"));
        assert!(source.code[0].ends_with("; "));
    }

    #[test]
    fn quotes_of_chars_and_lifetimes_open_no_string() {
        let source =
            Source::new("fn f<'a>(x: &'a str) { g('\"', '\\'', b'\\\\', '\\u{1f}') } // end");
        assert!(source.code[0].contains("fn f<'a>(x: &'a str)"));
        assert!(source.code[0].contains("g('\"'"));
        assert_eq!(source.comments[0], "// end");
    }

    #[test]
    fn raw_identifiers_and_names_that_end_in_r_open_no_string() {
        let source = Source::new("let r#type = for_r; var\"text\"; br#\"x // y\"#; // end");
        assert!(source.code[0].contains("r#type = for_r"));
        assert_eq!(source.comments[0], "// end");
    }

    #[test]
    fn a_text_over_lines_keeps_the_count_of_lines() {
        let source = Source::new("let a = \"one \\\n two\";\nlet b = 1;\n");
        assert_eq!(source.code.len(), 4);
        assert_eq!(source.code[2], "let b = 1;");
    }

    #[test]
    fn test_items_are_blanked_and_the_rest_stays() {
        let source = Source::new(
            "use a;\n#[cfg(test)]\nextern crate std;\nfn f() { g() }\n#[cfg(test)]\nmod tests {\n fn t() { std::x() }\n}\nfn z() {}\n",
        );
        let code = source.code_without_tests();
        assert!(!code.concat().contains("std"));
        assert_eq!((code[0].as_str(), code[3].as_str()), ("use a;", "fn f() { g() }"));
        assert_eq!(code[8], "fn z() {}");
    }
}
