//! Rules for the alerts that users load into Prometheus: each names an existing section of the runbooks.

use super::Finding;
use super::tree::Tree;
use crate::markdown::anchors;

const RULES: &str = "docs/grafana/alerts.yml";
/// Copy of the rules inside the chart, which cannot read files outside of itself.
const COPY: &str = "packaging/helm/scurry/files/alerts.yml";

/// Finds alerts without a section of the runbooks, and a copy of the rules that differs.
pub(crate) fn runbooks(tree: &Tree) -> Vec<Finding> {
    let Some(rules) = tree.text(RULES) else { return vec![Finding::in_file(RULES, "is missing")] };
    let mut findings: Vec<Finding> = alerts(rules)
        .filter_map(|(index, name, url)| {
            let why = link_fault(tree, url)?;
            Some(Finding::at(RULES, index, format!("{name}: {why}")))
        })
        .collect();
    if tree.text(COPY) != Some(rules) {
        findings.push(Finding::in_file(COPY, format!("is another one: cp {RULES} {COPY}")));
    }
    findings
}

/// Returns each alert with its line, its name and its `runbook_url`.
fn alerts(rules: &str) -> impl Iterator<Item = (usize, &str, Option<&str>)> {
    let lines = || rules.lines().enumerate();
    lines().filter_map(move |(index, line)| {
        let name = line.trim().strip_prefix("- alert: ")?;
        let own = lines().skip(index + 1).map(|(_, line)| line.trim());
        let mut own = own.take_while(|line| !line.starts_with("- alert: "));
        let url = own.find_map(|line| line.strip_prefix("runbook_url: "));
        Some((index, name, url.map(|url| url.trim_matches('"'))))
    })
}

/// Returns the fault of a link to a section of a page, if any.
fn link_fault(tree: &Tree, url: Option<&str>) -> Option<String> {
    let Some(url) = url else { return Some("has no runbook_url".to_owned()) };
    let (page, anchor) = url.split_once('#').unwrap_or((url, ""));
    let Some(text) = tree.text(page) else { return Some(format!("`{url}`: no such file")) };
    let has_it = anchors(text).iter().any(|known| known == anchor);
    (!has_it).then(|| format!("`{url}`: no such heading"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_alert_has_a_section_and_the_chart_the_same_rules() {
        let rules = "- alert: A\n  runbook_url: \"docs/runbooks.md#a-disk\"\n- alert: B\n- alert: C\n  \
                     runbook_url: \"docs/runbooks.md#gone\"\n- alert: D\n  runbook_url: \"x.md#a-disk\"\n";
        let page = ("docs/runbooks.md", "# Runbooks\n\n## A disk\n");
        let tree = Tree::from_files(&[(RULES, rules), (COPY, rules), page]);
        let found: Vec<String> = runbooks(&tree).iter().map(ToString::to_string).collect();
        assert_eq!(
            found,
            [
                "docs/grafana/alerts.yml:3: B: has no runbook_url",
                "docs/grafana/alerts.yml:4: C: `docs/runbooks.md#gone`: no such heading",
                "docs/grafana/alerts.yml:6: D: `x.md#a-disk`: no such file",
            ]
        );
        let tree = Tree::from_files(&[(RULES, ""), (COPY, rules), page]);
        assert_eq!(runbooks(&tree).len(), 1);
        assert_eq!(runbooks(&Tree::from_files(&[])).len(), 1);
    }
}
