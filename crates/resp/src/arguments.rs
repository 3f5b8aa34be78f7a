//! Parses the grammar of a command, as written in the table, into the arguments of COMMAND DOCS. `valkey-cli` and
//! similar clients use them to show what to type next.

/// Kind of an argument, in the words of COMMAND DOCS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArgumentKind {
    /// Text that a user types.
    String,
    /// Text that is a key.
    Key,
    /// A keyword without a value.
    PureToken,
    /// A choice between its arguments.
    OneOf,
    /// All of its arguments, in order.
    Block,
}

impl ArgumentKind {
    /// Returns the word of COMMAND DOCS.
    pub fn word(self) -> &'static str {
        match self {
            ArgumentKind::String => "string",
            ArgumentKind::Key => "key",
            ArgumentKind::PureToken => "pure-token",
            ArgumentKind::OneOf => "oneof",
            ArgumentKind::Block => "block",
        }
    }
}

/// One argument, or several that belong together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Argument<'a> {
    /// Kind.
    pub kind: ArgumentKind,
    /// Name in a syntax.
    pub name: &'a str,
    /// Keyword before the argument.
    pub token: Option<&'a str>,
    /// Whether it may be left out.
    pub is_optional: bool,
    /// Whether it may be repeated, with its keyword.
    pub is_multiple: bool,
    /// Arguments of a block, or alternatives of a choice.
    pub arguments: Vec<Argument<'a>>,
}

/// Parses a grammar into its arguments.
pub fn arguments(grammar: &str) -> Vec<Argument<'_>> {
    let mut ways: Vec<Vec<Argument<'_>>> = split(grammar).into_iter().map(sequence).collect();
    if ways.len() == 1 {
        return ways.remove(0);
    }
    vec![one_of(ways.into_iter().map(as_one).collect())]
}

impl<'a> Argument<'a> {
    fn new(kind: ArgumentKind, name: &'a str) -> Argument<'a> {
        let (is_optional, is_multiple) = (false, false);
        Argument { kind, name, token: None, is_optional, is_multiple, arguments: Vec::new() }
    }

    fn place(name: &'a str) -> Argument<'a> {
        let kind = if name == "key" { ArgumentKind::Key } else { ArgumentKind::String };
        Argument::new(kind, name)
    }

    /// Returns a keyword with its values.
    fn option(token: &'a str, places: Vec<&'a str>) -> Argument<'a> {
        let mut argument = match places[..] {
            [] => Argument::new(ArgumentKind::PureToken, token),
            [place] => Argument::place(place),
            _ => {
                let arguments = places.into_iter().map(Argument::place).collect();
                Argument { arguments, ..Argument::new(ArgumentKind::Block, token) }
            }
        };
        argument.token = Some(token);
        argument
    }
}

fn one_of(arguments: Vec<Argument<'_>>) -> Argument<'_> {
    let name = arguments.first().map_or("", |first| first.name);
    Argument { arguments, ..Argument::new(ArgumentKind::OneOf, name) }
}

/// Combines several arguments into one.
fn as_one(mut arguments: Vec<Argument<'_>>) -> Argument<'_> {
    if arguments.len() == 1 {
        return arguments.remove(0);
    }
    let name = arguments.first().map_or("", |first| first.name);
    Argument { arguments, ..Argument::new(ArgumentKind::Block, name) }
}

/// Splits a grammar into alternatives that are separated by a bar with a blank before it.
fn split(grammar: &str) -> Vec<&str> {
    let (mut ways, mut begin, mut depth) = (Vec::new(), 0, 0_u32);
    for (at, byte) in grammar.bytes().enumerate() {
        match byte {
            b'[' | b'(' => depth += 1,
            b']' | b')' => depth = depth.saturating_sub(1),
            b'|' if depth == 0 && grammar[..at].ends_with(' ') => {
                ways.push(grammar[begin..at].trim());
                begin = at + 1;
            }
            _ => {}
        }
    }
    ways.push(grammar[begin..].trim());
    ways
}

/// Tokens of one nesting level.
enum Piece<'a> {
    Keyword(&'a str),
    Place(&'a str),
    Bar,
    /// Marks that the argument before it repeats.
    Dots,
    Group {
        inner: &'a str,
        is_optional: bool,
        is_multiple: bool,
    },
}

fn sequence(grammar: &str) -> Vec<Argument<'_>> {
    let mut arguments: Vec<Argument<'_>> = Vec::new();
    // Set after a bar: the last argument is an alternative to the next one.
    let mut is_open = false;
    let mut pieces = pieces(grammar).into_iter().peekable();
    while let Some(piece) = pieces.next() {
        let argument = match piece {
            Piece::Bar => {
                is_open = true;
                continue;
            }
            Piece::Dots => {
                if let Some(last) = arguments.last_mut() {
                    last.is_multiple = true;
                }
                continue;
            }
            Piece::Place(name) => Argument::place(name),
            Piece::Keyword(token) => {
                let mut places = Vec::new();
                while let Some(Piece::Place(place)) = pieces.peek() {
                    places.push(*place);
                    pieces.next();
                }
                Argument::option(token, places)
            }
            Piece::Group { inner, is_optional, is_multiple } => {
                if repeats(&mut arguments, inner) {
                    continue;
                }
                let inner = self::arguments(inner);
                let repeated = is_multiple || matches!(&inner[..], [one] if one.is_multiple);
                Argument { is_optional, is_multiple: repeated, ..as_one(inner) }
            }
        };
        match arguments.pop() {
            Some(mut last) if is_open && last.kind == ArgumentKind::OneOf => {
                last.arguments.push(argument);
                arguments.push(last);
            }
            Some(last) if is_open => arguments.push(one_of(vec![last, argument])),
            last => {
                arguments.extend(last);
                arguments.push(argument);
            }
        }
        is_open = false;
    }
    arguments
}

/// Reports whether a group repeats the last arguments (`key [key ...]`), and if so marks these as repeated.
fn repeats<'a>(arguments: &mut Vec<Argument<'a>>, inner: &'a str) -> bool {
    let Some(again) = inner.strip_suffix("...") else { return false };
    let again = self::arguments(again.trim());
    let Some(from) = arguments.len().checked_sub(again.len()) else { return false };
    if arguments[from..] != again[..] {
        return false;
    }
    let repeated = as_one(arguments.split_off(from));
    arguments.push(Argument { is_multiple: true, ..repeated });
    true
}

fn pieces(grammar: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut rest = grammar.trim();
    while !rest.is_empty() {
        let is_group = rest.starts_with(['[', '(']);
        let end = if is_group { group_end(rest) } else { word_end(rest) };
        let (shown, behind) = rest.split_at(end);
        if is_group {
            let bare = shown.strip_suffix("...").unwrap_or(shown);
            pieces.push(Piece::Group {
                inner: &bare[1..bare.len() - 1],
                is_optional: bare.starts_with('['),
                is_multiple: bare.len() < shown.len(),
            });
        } else {
            words(shown, &mut pieces);
        }
        rest = behind.trim_start();
    }
    pieces
}

/// Splits a word into tokens: alternatives if one of them is a keyword, else one value (`active|suspended`).
fn words<'a>(word: &'a str, pieces: &mut Vec<Piece<'a>>) {
    if word == "..." {
        return pieces.push(Piece::Dots);
    }
    if !word.split('|').any(is_keyword) {
        return pieces.push(Piece::Place(word));
    }
    for (number, piece) in word.split('|').enumerate() {
        if number > 0 {
            pieces.push(Piece::Bar);
        }
        match piece {
            "" => {}
            _ if is_keyword(piece) => pieces.push(Piece::Keyword(piece)),
            _ => pieces.push(Piece::Place(piece)),
        }
    }
}

fn word_end(text: &str) -> usize {
    text.find(' ').unwrap_or(text.len())
}

/// Returns the end of the group at the start of the text, including the dots after it.
fn group_end(text: &str) -> usize {
    let mut depth = 0_u32;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'[' | b'(' => depth += 1,
            b']' | b')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            let end = at + 1;
            return if text[end..].starts_with("...") { end + 3 } else { end };
        }
    }
    text.len()
}

fn is_keyword(word: &str) -> bool {
    word.bytes().any(|byte| byte.is_ascii_uppercase())
        && !word.bytes().any(|byte| byte.is_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table;

    /// Renders an argument as `valkey-cli` shows it.
    fn shown(argument: &Argument<'_>) -> String {
        let parts: Vec<String> = argument.arguments.iter().map(shown).collect();
        let bare = match argument.kind {
            ArgumentKind::OneOf => parts.join("|"),
            ArgumentKind::Block => parts.join(" "),
            ArgumentKind::PureToken => String::new(),
            ArgumentKind::String | ArgumentKind::Key => argument.name.to_owned(),
        };
        let token = argument.token.unwrap_or_default();
        let mut text = format!("{token} {bare}").trim().to_owned();
        if argument.is_multiple {
            text = format!("{text} [{text} ...]");
        }
        if argument.is_optional { format!("[{text}]") } else { text }
    }

    fn all_shown(grammar: &str) -> String {
        arguments(grammar).iter().map(shown).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn options_alternatives_and_repetitions_are_told_apart() {
        for same in [
            "key",
            "key value [NX|XX|IFEQ value] [GET] [EX s|PX ms|EXAT s|PXAT ms|KEEPTTL]",
            "key [key ...]",
            "key value [key value ...]",
            "cursor [MATCH pattern] [COUNT n] [TYPE type]",
            "[FILTERBY PATTERN pattern|ACLCAT category|MODULE name]",
            "ON|OFF [OPTIN] [OPTOUT] [NOLOOP]",
            "[2|3 [AUTH user password] [SETNAME name]]",
            "account active|suspended|closed [TXN txn]",
            "account image [REPLACE]",
        ] {
            assert_eq!(all_shown(same), same);
        }
        assert_eq!(all_shown("LIB-NAME name | LIB-VER version"), "LIB-NAME name|LIB-VER version");
        assert_eq!(all_shown("[name ...]"), "[name [name ...]]");
        assert_eq!(
            all_shown("[IDENTITY kind value]..."),
            "[IDENTITY kind value [IDENTITY kind value ...]]"
        );
        assert_eq!(all_shown("a (B x | C)"), "a B x|C");
        assert!(arguments("").is_empty());
    }

    #[test]
    fn every_grammar_of_the_table_has_its_words_and_no_others() {
        fn words(argument: &Argument<'_>, all: &mut Vec<String>) {
            all.extend(argument.token.map(str::to_owned));
            if argument.arguments.is_empty() && argument.kind != ArgumentKind::PureToken {
                all.extend(argument.name.split('|').map(str::to_owned));
            }
            argument.arguments.iter().for_each(|inner| words(inner, all));
        }
        for spec in table::all().flat_map(|spec| [spec].into_iter().chain(spec.subcommands)) {
            let mut found = Vec::new();
            arguments(spec.grammar).iter().for_each(|argument| words(argument, &mut found));
            let signs = [' ', '[', ']', '(', ')', '|', '.'];
            let mut expected: Vec<&str> =
                spec.grammar.split(signs).filter(|word| !word.is_empty()).collect();
            expected.sort_unstable();
            expected.dedup();
            found.sort_unstable();
            found.dedup();
            assert_eq!(found, expected, "{}: {}", spec.name, spec.grammar);
        }
    }
}
