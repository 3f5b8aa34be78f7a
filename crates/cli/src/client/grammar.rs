//! Reads the grammar of a command, as the command table writes it, for completion and hints: the rest of the syntax,
//! and the words that may follow. The server checks the exact syntax; a guess is enough here.

/// Piece of a grammar: a word, or a group in brackets.
#[derive(Clone, Copy, Debug)]
enum SyntaxPart<'a> {
    Word(&'a str),
    Group { shown: &'a str, inner: &'a str },
}

/// One word of a grammar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Atom<'a> {
    /// Keyword, typed as it stands: `ITEM`.
    Keyword(&'a str),
    /// Placeholder for a value (`amount`), or a choice of values (`active|suspended`).
    Place(&'a str),
    /// Bar between two alternatives.
    Bar,
}

/// Pieces of the syntax that the user has not typed yet: required and optional ones.
struct RestOfSyntax<'a> {
    must: Vec<&'a str>,
    may: Vec<&'a str>,
}

/// Returns the rest of the syntax after these arguments.
pub(super) fn rest(grammar: &str, args: &[&str]) -> String {
    let parts = parts(grammar);
    let leading = parts.iter().take_while(|part| matches!(part, SyntaxPart::Word(_))).count();
    if args.len() < leading || parts.len() == leading {
        let left = parts.get(args.len()..).unwrap_or_default();
        return left.iter().map(|part| part.shown()).collect::<Vec<_>>().join(" ");
    }
    let options = &args[leading..];
    let mut left =
        RestOfSyntax { must: wanted(grammar, options).unwrap_or_default(), may: Vec::new() };
    remaining(&parts[leading..], options, &mut left);
    left.must.append(&mut left.may);
    left.must.join(" ")
}

/// Returns the words that may follow these arguments: keywords, or the values of the last keyword.
pub(super) fn words<'a>(grammar: &'a str, args: &[&str]) -> Vec<&'a str> {
    let parts = parts(grammar);
    let leading = parts.iter().take_while(|part| matches!(part, SyntaxPart::Word(_))).count();
    let place = if args.len() < leading {
        Some(parts[args.len()].shown())
    } else {
        wanted(grammar, &args[leading..]).and_then(|places| places.first().copied())
    };
    match place {
        Some(place) if place.contains('|') => {
            place.split('|').filter(|value| !value.is_empty()).collect()
        }
        Some(place) if is_keyword(place) => vec![place],
        Some(_) => Vec::new(),
        None => keywords(grammar),
    }
}

impl<'a> SyntaxPart<'a> {
    fn shown(&self) -> &'a str {
        match *self {
            SyntaxPart::Word(word) => word,
            SyntaxPart::Group { shown, .. } => shown,
        }
    }
}

/// Returns every keyword once.
fn keywords(grammar: &str) -> Vec<&str> {
    let mut all = Vec::new();
    for atom in atoms(grammar) {
        match atom {
            // Placeholder for a command's name in a chain.
            Atom::Keyword("COMMAND") => {}
            Atom::Keyword(word) if !all.contains(&word) => all.push(word),
            _ => {}
        }
    }
    all
}

/// Returns the values that the last keyword still needs. None if it has them all.
fn wanted<'a>(grammar: &'a str, options: &[&str]) -> Option<Vec<&'a str>> {
    let atoms: Vec<Atom> = atoms(grammar).collect();
    let is_keyword = |atom: &Atom, word: &str| matches!(atom, Atom::Keyword(keyword) if keyword.eq_ignore_ascii_case(word));
    let found = options.iter().enumerate().rev().find_map(|(index, word)| {
        let at = atoms.iter().position(|atom| is_keyword(atom, word))?;
        Some((index, at))
    });
    let (index, at) = found?;
    let places = atoms[at + 1..].iter().map_while(|atom| match atom {
        Atom::Place(place) => Some(*place),
        _ => None,
    });
    let left: Vec<&str> = places.skip(options.len() - 1 - index).collect();
    (!left.is_empty()).then_some(left)
}

/// Collects the groups that may still follow these options.
fn remaining<'a>(parts: &[SyntaxPart<'a>], options: &[&str], left: &mut RestOfSyntax<'a>) {
    for part in parts {
        let SyntaxPart::Group { shown, inner } = *part else {
            if options.is_empty() {
                left.may.push(part.shown());
            }
            continue;
        };
        let own = own_keywords(inner);
        let is_own = |word: &&str| own.iter().any(|keyword| keyword.eq_ignore_ascii_case(word));
        let used = if own.is_empty() {
            (!options.is_empty()).then_some(0)
        } else {
            options.iter().rposition(is_own)
        };
        if let Some(at) = used {
            further(inner, &options[at..], left);
            remaining(&parts_of_groups(inner), &options[at + 1..], left);
        }
        // A choice in round brackets is closed once one of its alternatives is typed.
        let is_open = used.is_none() && (options.is_empty() || shown.starts_with('['));
        if is_open || shown.ends_with("...") || inner.ends_with("...") {
            left.may.push(shown);
        }
    }
}

/// Collects the keywords, with their values, that must follow the first keyword of `options` and are missing.
fn further<'a>(inner: &'a str, options: &[&str], left: &mut RestOfSyntax<'a>) {
    let words: Vec<Atom> = words_of(inner).collect();
    let is = |keyword: &str, word: &&str| keyword.eq_ignore_ascii_case(word);
    let chosen = words.split(|atom| *atom == Atom::Bar).find(|alternative| {
        matches!(alternative.first(), Some(Atom::Keyword(keyword)) if is(keyword, &options[0]))
    });
    let mut lacks = false;
    for atom in chosen.unwrap_or_default().iter().skip(1) {
        match *atom {
            Atom::Keyword(keyword) => {
                lacks = !options.iter().any(|word| is(keyword, word));
                left.must.extend(lacks.then_some(keyword));
            }
            Atom::Place(place) => left.must.extend(lacks.then_some(place)),
            Atom::Bar => {}
        }
    }
}

/// Returns the words of a group that are not inside a nested group.
fn words_of(inner: &str) -> impl Iterator<Item = Atom<'_>> {
    let words = parts(inner).into_iter().filter_map(|part| match part {
        SyntaxPart::Word(word) => Some(word),
        SyntaxPart::Group { .. } => None,
    });
    words.flat_map(atoms)
}

fn parts_of_groups(inner: &str) -> Vec<SyntaxPart<'_>> {
    parts(inner).into_iter().filter(|part| matches!(part, SyntaxPart::Group { .. })).collect()
}

/// Returns the keywords that begin the group or one of its alternatives.
fn own_keywords(inner: &str) -> Vec<&str> {
    let mut own = Vec::new();
    let mut begins = true;
    for atom in words_of(inner) {
        match atom {
            Atom::Keyword(keyword) if begins => own.push(keyword),
            _ => {}
        }
        begins = atom == Atom::Bar;
    }
    own
}

/// Splits a grammar into the pieces of its top level.
fn parts(grammar: &str) -> Vec<SyntaxPart<'_>> {
    let mut rest = grammar.trim_start();
    let mut parts = Vec::new();
    while !rest.is_empty() {
        let is_group = rest.starts_with(['[', '(']);
        let end = if is_group { group_end(rest) } else { rest.find(' ').unwrap_or(rest.len()) };
        let (shown, behind) = rest.split_at(end);
        let group = SyntaxPart::Group { shown, inner: inner(shown) };
        parts.push(if is_group { group } else { SyntaxPart::Word(shown) });
        rest = behind.trim_start();
    }
    parts
}

/// Returns the text inside the brackets.
fn inner(shown: &str) -> &str {
    let shown = shown.strip_suffix("...").unwrap_or(shown);
    shown.get(1..shown.len().saturating_sub(1)).unwrap_or_default()
}

/// Returns the end of the group at the start of the text, including the dots that follow it.
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

fn atoms(grammar: &str) -> impl Iterator<Item = Atom<'_>> {
    let words = grammar.split([' ', '[', ']', '(', ')']);
    words.filter(|word| !word.is_empty() && *word != "...").flat_map(|word| {
        if !word.contains('|') || !word.split('|').any(is_keyword) {
            return vec![atom(word)];
        }
        let mut atoms = Vec::new();
        for (number, piece) in word.split('|').enumerate() {
            if number > 0 {
                atoms.push(Atom::Bar);
            }
            if !piece.is_empty() {
                atoms.push(atom(piece));
            }
        }
        atoms
    })
}

fn atom(word: &str) -> Atom<'_> {
    match word {
        "|" => Atom::Bar,
        _ if is_keyword(word) => Atom::Keyword(word),
        _ => Atom::Place(word),
    }
}

fn is_keyword(word: &str) -> bool {
    word.bytes().any(|byte| byte.is_ascii_uppercase())
        && !word.bytes().any(|byte| byte.is_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;
    use scurry_resp::table::find;

    fn grammar(name: &str) -> &'static str {
        find(name.as_bytes()).expect(name).grammar
    }

    fn hint(line: &str) -> String {
        let mut args = line.split(' ');
        let grammar = grammar(args.next().expect("a name"));
        rest(grammar, &args.collect::<Vec<_>>())
    }

    fn offered(line: &str) -> Vec<&'static str> {
        let mut args = line.split(' ');
        let grammar = grammar(args.next().expect("a name"));
        words(grammar, &args.collect::<Vec<_>>())
    }

    #[test]
    fn the_rest_of_the_syntax_shrinks_as_it_is_typed() {
        assert_eq!(hint("GET"), "key");
        assert_eq!(hint("GET a"), "");
        assert!(hint("SCUR.RESERVE").starts_with("account session request [VALIDITY duration]"));
        assert!(hint("SCUR.RESERVE a s").starts_with("request [VALIDITY duration]"));
        let typed = hint("SCUR.RESERVE a s 0 tcc 5 ITEM 1");
        assert_eq!(
            typed,
            "unit REQUESTED n [VALIDITY duration] [OVERRUN overdraw|clamp|held] [CLOSEONDENIAL|KEEPOPEN] [DATA blob] \
             [MIN n] [ITEM key unit REQUESTED n [MIN n]]..."
        );
        assert!(hint("SET k v").starts_with("[NX|XX|IFEQ value] [GET] [EX s|PX ms|"));
        assert_eq!(hint("SET k v NX PX 5"), "[GET]");
        assert_eq!(hint("SET k v NX PX"), "ms [GET]");
        let typed = hint("SCUR.CREATE a BUCKET b octets 5 PRIORITY 1");
        assert_eq!(typed.matches("[PRIORITY n]").count(), 1, "that of another bucket: {typed}");
        assert!(typed.contains("[TXN txn]") && typed.contains("[BUCKET bucket unit"), "{typed}");
        assert_eq!(hint("MGET a b"), "[key ...]");
        let typed = hint("SCUR.LIMIT a t l UNIT cent");
        assert!(typed.starts_with("AMOUNT n [ITEM key] [PERIOD "), "{typed}");
    }

    #[test]
    fn words_that_may_come_next_are_offered() {
        assert!(offered("GET").is_empty());
        assert_eq!(offered("SCUR.STATUS a"), ["active", "suspended", "closed"]);
        assert_eq!(offered("SCUR.CREATE a STATUS"), ["active", "suspended"]);
        assert!(offered("SCUR.CREATE a BUCKET b").is_empty(), "a unit is no keyword");
        let next = offered("SCUR.RESERVE a s 0");
        assert!(next.contains(&"ITEM") && next.contains(&"TCC") && !next.contains(&"account"));
        assert!(offered("SCUR.RESERVE a s 0 TCC").is_empty());
        assert_eq!(
            offered("SET k v"),
            ["NX", "XX", "IFEQ", "GET", "EX", "PX", "EXAT", "PXAT", "KEEPTTL"]
        );
    }

    #[test]
    fn every_grammar_of_the_table_can_be_read() {
        let all = scurry_resp::table::all();
        for spec in all.flat_map(|spec| [spec].into_iter().chain(spec.subcommands)) {
            assert_eq!(rest(spec.grammar, &[]), spec.grammar, "{}", spec.name);
            for typed in 0..8 {
                let args = vec!["x"; typed];
                let _ = (rest(spec.grammar, &args), words(spec.grammar, &args));
            }
        }
    }
}
