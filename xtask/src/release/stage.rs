//! The files that all artifacts carry, laid out as in the tarball.

use super::{Release, binaries::Built};
use crate::optimized::{MODULE, SERVER};
use anyhow::{Context, Result, ensure};
use std::path::{Path, PathBuf};
use std::process::Command;

/// File names of completions that the shells look for.
const COMPLETIONS: [(&str, &str); 3] =
    [("bash", "scurry.bash"), ("zsh", "_scurry"), ("fish", "scurry.fish")];

/// Files of the tree beside the binaries.
const DOCUMENTS: [&str; 2] = ["LICENSE", "CHANGELOG.md"];

/// Page that each artifact has.
pub(crate) const README: &str = "README.md";

/// Settings file with the defaults.
const SETTINGS: &str = "crates/cli/scurry.example.toml";

/// Line of the settings with the store's directory.
const DIR_LINE: &str = "dir = \"scurry-data\"";

/// Fills the directory. Man pages and completions are printed by the binary itself, which so runs at least once.
pub(crate) fn fill(release: &Release<'_>, built: &Built) -> Result<PathBuf> {
    let stage = release.work.join(release.base());
    std::fs::create_dir_all(stage.join("completions"))?;
    let server = stage.join(SERVER);
    copy(&built.server, &server, 0o755)?;
    copy(&built.module, &stage.join(MODULE), 0o755)?;
    for name in DOCUMENTS {
        copy(&release.host.root.join(name), &stage.join(name), 0o644)?;
    }
    let readme = stage.join(README);
    copy(&release.host.root.join(README), &readme, 0o644)?;
    let page = std::fs::read_to_string(&readme)?;
    std::fs::write(&readme, without_repository_links(&page, &release.version))?;
    let settings = release.host.root.join(SETTINGS);
    copy(&settings, &stage.join("scurry.example.toml"), 0o644)?;
    let said = release.host.output(Command::new(&server).arg("--version"))?;
    ensure!(said.trim() == format!("scurry {}", release.version), "the binary is {said}");
    for (shell, name) in COMPLETIONS {
        let script = release.host.output(Command::new(&server).args(["completions", shell]))?;
        std::fs::write(stage.join("completions").join(name), script)?;
    }
    release.host.show(Command::new(&server).arg("man").arg("--dir").arg(stage.join("man/man1")))?;
    Ok(stage)
}

/// Makes a page independent of the repository: a link to a file becomes its name; links within the page and to other
/// machines stay.
pub(crate) fn without_repository_links(page: &str, version: &str) -> String {
    let mut alone = String::with_capacity(page.len());
    let mut rest = page;
    while let Some((before, text, target, after)) = next_link(rest) {
        alone.push_str(before);
        if target.starts_with('#') || target.contains("://") {
            alone.push_str(&format!("[{text}]({target})"));
        } else {
            let file = target.split('#').next().unwrap_or(target);
            alone.push_str(&format!("{text} ({})", file.trim_start_matches("../")));
        }
        rest = after;
    }
    alone.push_str(rest);
    alone
        + &format!(
            "\nFiles that this page names are in the repository; docs/ is also in `scurry-docs-{version}.tar.gz`.\n"
        )
}

/// Finds the first link: returns the text before it, its text and target, and the text after it.
fn next_link(page: &str) -> Option<(&str, &str, &str, &str)> {
    let middle = page.find("](")?;
    let start = page[..middle].rfind('[')?;
    let (target, after) = page[middle + 2..].split_once(')')?;
    Some((&page[..start], &page[start + 1..middle], target, after))
}

/// Returns the settings of a service: the defaults, with the store in the system's usual directory.
pub(crate) fn service_settings(root: &Path) -> Result<String> {
    let text = std::fs::read_to_string(root.join(SETTINGS)).context(SETTINGS)?;
    ensure!(text.matches(DIR_LINE).count() == 1, "{SETTINGS} has no line {DIR_LINE}");
    Ok(text.replace(DIR_LINE, "dir = \"/var/lib/scurry\""))
}

/// Copies with a mode that does not depend on the umask.
pub(crate) fn copy(from: &Path, to: &Path, mode: u32) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    std::fs::copy(from, to).with_context(|| format!("cannot copy {}", from.display()))?;
    std::fs::set_permissions(to, std::fs::Permissions::from_mode(mode))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::without_repository_links;

    #[test]
    fn links_to_files_become_their_names() {
        let page = "See [rules](../../docs/ledger.md#5) and\n[here](#below), [RFC](https://example.org/a), `a[0]`.\n";
        let alone = without_repository_links(page, "1.2.3");
        let expected = "See rules (docs/ledger.md) and\n[here](#below), [RFC](https://example.org/a), `a[0]`.\n";
        assert!(alone.starts_with(expected), "{alone}");
        assert!(alone.contains("scurry-docs-1.2.3.tar.gz"), "{alone}");
    }

    #[test]
    fn no_link_of_the_page_leads_to_a_file() {
        let alone = without_repository_links(include_str!("../../../README.md"), "1.2.3");
        for link in alone.split("](").skip(1) {
            assert!(link.starts_with('#') || link.starts_with("http"), "]({link:.60}");
        }
        assert!(alone.contains("(docs/commands.md)"));
    }
}
