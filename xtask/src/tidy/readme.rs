//! The README stays short: a newcomer reads all of it, and the linked pages when needed.

use super::Finding;
use super::tree::Tree;

const PAGE: &str = "README.md";

/// 6 KB: three minutes of reading, including the commands to type.
const LEN_MAX: usize = 6 << 10;

/// Texts that the page must contain.
const NAMES: &[&str] =
    &["## What you get", "## Try it", "## Limits", "## Figures", "`make test`", "SCUR.RESERVE"];

/// Checks the length of README.md, and the texts that it must contain.
pub(crate) fn front_door(tree: &Tree) -> Vec<Finding> {
    let Some(text) = tree.text(PAGE) else {
        return vec![Finding::in_file(PAGE, "is missing")];
    };
    let too_long = (text.len() > LEN_MAX).then(|| {
        let len = text.len();
        format!("has {len} bytes, at most {LEN_MAX}: move what is not for newcomers to docs/")
    });
    let missing = NAMES.iter().filter(|name| !text.contains(*name));
    let missing = missing.map(|name| format!("does not have `{name}`"));
    too_long.into_iter().chain(missing).map(|what| Finding::in_file(PAGE, what)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<String> {
        let tree = Tree::from_files(&[(PAGE, text)]);
        front_door(&tree).into_iter().map(|finding| finding.what).collect()
    }

    #[test]
    fn a_short_page_that_names_all_passes_and_a_byte_more_does_not() {
        let mut page = NAMES.join("\n");
        page.push_str(&" ".repeat(LEN_MAX - page.len()));
        assert!(found(&page).is_empty());
        page.push('.');
        assert_eq!(
            found(&page),
            ["has 6145 bytes, at most 6144: move what is not for newcomers to docs/"]
        );
    }

    #[test]
    fn what_a_newcomer_looks_for_is_missed() {
        for name in NAMES {
            let page = NAMES.join("\n").replace(name, "");
            assert_eq!(found(&page), [format!("does not have `{name}`")]);
        }
        assert_eq!(front_door(&Tree::from_files(&[]))[0].what, "is missing");
    }
}
