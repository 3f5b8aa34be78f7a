//! Suggests known words for a mistyped one.

/// Returns the known words with the smallest edit distance, all of them if several are equally near. Returns none if
/// every word is too far. The bound grows with the length of the word, because a short word is near to many others.
pub(crate) fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let bound = (word.chars().count() / 4).clamp(1, 3);
    let mut best = bound;
    let mut found = Vec::new();
    for name in known {
        let distance = strsim::damerau_levenshtein(word, name);
        if distance < best {
            found.clear();
        }
        if distance <= best {
            best = distance;
            found.push(name);
        }
    }
    found
}

/// Joins words for the end of a question: `A`, `A or B`, `A, B or C`.
pub(crate) fn join_with_or(words: &[String]) -> String {
    match words {
        [first @ .., last] if !first.is_empty() => format!("{} or {last}", first.join(", ")),
        words => words.concat(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fewest_letters_count_and_equals_are_all_named() {
        let known = ["listen", "http_listen", "touch", "threads", "max_memory"];
        let near = |word| nearest(word, known);
        assert_eq!(near("htp_listen"), ["http_listen"]);
        assert_eq!(near("lisetn"), ["listen"]);
        assert_eq!(near("maxmemory"), ["max_memory"]);
        assert!(near("nosuch").is_empty() && near("scur").is_empty() && near("").is_empty());
        assert_eq!(nearest("gat", ["get", "gat2", "gap"]), ["get", "gat2", "gap"]);
        let words = |words: &[&str]| {
            join_with_or(&words.iter().map(|&word| word.into()).collect::<Vec<_>>())
        };
        assert_eq!(words(&["a"]), "a");
        assert_eq!(words(&["a", "b", "c"]), "a, b or c");
    }
}
