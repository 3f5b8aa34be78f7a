//! Markdown pages: their prose, their link targets, and the anchors of their headings.

/// Returns the lines outside of fenced code, with their indexes from 0.
pub(crate) fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut fenced = false;
    text.lines().enumerate().filter(move |(_, line)| {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        !fence && !fenced
    })
}

/// Returns the targets of `[text](target)`.
pub(crate) fn targets(line: &str) -> impl Iterator<Item = &str> {
    line.split("](").skip(1).filter_map(|rest| {
        let target = &rest[..rest.find(')')?];
        target.split_whitespace().next()
    })
}

/// Reports whether a target is outside of the repository.
pub(crate) fn is_elsewhere(target: &str) -> bool {
    target.contains("://") || target.starts_with("mailto:")
}

/// Resolves a link to a file path from the root of the repository and an anchor. None when it leaves the repository.
pub(crate) fn resolve<'a>(from: &str, target: &'a str) -> Option<(String, Option<&'a str>)> {
    let (path, anchor) = match target.split_once('#') {
        Some((path, anchor)) => (path, Some(anchor)),
        None => (target, None),
    };
    if path.is_empty() {
        return Some((from.to_owned(), anchor));
    }
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            name => parts.push(name),
        }
    }
    Some((parts.join("/"), anchor))
}

/// Returns the anchors of a page's headings, as forges make them: lower case, hyphens for spaces, no punctuation, and a
/// number when the anchor occurred before.
pub(crate) fn anchors(text: &str) -> Vec<String> {
    let mut anchors: Vec<String> = Vec::new();
    let headings = prose(text).filter(|(_, line)| line.starts_with('#'));
    let titles = headings.filter_map(|(_, line)| line.trim_start_matches('#').strip_prefix(' '));
    for title in titles {
        let base = slug(&shown(title));
        let mut anchor = base.clone();
        let mut before = 0;
        while anchors.contains(&anchor) {
            before += 1;
            anchor = format!("{base}-{before}");
        }
        anchors.push(anchor);
    }
    anchors
}

/// Returns a title without the targets of its links.
fn shown(title: &str) -> String {
    let mut parts = title.trim().split("](");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        text.push_str(part.split_once(')').map_or(part, |(_, rest)| rest));
    }
    text
}

fn slug(title: &str) -> String {
    let kept = title.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.flat_map(char::to_lowercase).map(|c| if c == ' ' { '-' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_is_resolved_from_its_page() {
        let at = |target| resolve("docs/adr/a.md", target);
        assert_eq!(at("../b.md#part"), Some(("docs/b.md".into(), Some("part"))));
        assert_eq!(at("#part"), Some(("docs/adr/a.md".into(), Some("part"))));
        assert_eq!(at("./c.md"), Some(("docs/adr/c.md".into(), None)));
        assert_eq!(at("../../../c.md"), None);
    }

    #[test]
    fn anchors_are_those_of_forges() {
        let text = "# SCUR.CREATE, or `BUSY`\n## A part-one_x\n```\n# no heading\n```\n\
            ## A part-one_x\n#none\n### [ADR 3](adr/3.md): why?\n";
        let expected = ["scurcreate-or-busy", "a-part-one_x", "a-part-one_x-1", "adr-3-why"];
        assert_eq!(anchors(text), expected);
    }

    #[test]
    fn targets_have_no_titles() {
        let line = "[a](b.md \"title\") ![c](d.png) [e](f.md#g)";
        assert_eq!(targets(line).collect::<Vec<_>>(), ["b.md", "d.png", "f.md#g"]);
    }
}
