//! `scurry completions` and `scurry man`: completions and manual pages, generated from the definition of the command
//! line, so that they are never out of date. Packages contain both.

use anyhow::{Context, Result};
use clap::Args;
use clap_complete::Shell;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(crate) struct Completions {
    /// Shell that reads it
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

impl Completions {
    /// Prints the completion script of a shell.
    pub(crate) fn run(self, mut command: clap::Command) -> Result<()> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut command, "scurry", &mut script);
        print!("{}", String::from_utf8(script).context("the script")?);
        Ok(())
    }
}

#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// Directory that the pages are written to; it is made if it is not there
    #[arg(long, value_name = "DIR")]
    dir: PathBuf,
}

impl ManArgs {
    /// Writes a page for the program and one for each command.
    pub(crate) fn run(self, command: clap::Command) -> Result<()> {
        let cannot = || format!("cannot write pages to {}", self.dir.display());
        std::fs::create_dir_all(&self.dir).with_context(cannot)?;
        clap_mangen::generate_to(command, &self.dir).with_context(cannot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CommandLine;
    use clap::CommandFactory;

    fn names() -> Vec<String> {
        let command = CommandLine::command();
        let shown = command.get_subcommands().filter(|sub| !sub.is_hide_set());
        shown.map(|sub| sub.get_name().to_owned()).collect()
    }

    #[test]
    fn each_shell_is_told_every_command_and_the_options_of_serve() {
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish, Shell::Elvish, Shell::PowerShell] {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut CommandLine::command(), "scurry", &mut script);
            let script = String::from_utf8(script).expect("UTF-8");
            for name in names() {
                assert!(script.contains(&name), "{shell}: {name}");
            }
            assert!(script.contains("snapshot-log"), "{shell}");
        }
    }

    #[test]
    fn each_command_has_a_page_and_what_is_hidden_has_none() {
        let home = tempfile::tempdir().expect("a directory");
        let dir = home.path().join("man1");
        ManArgs { dir: dir.clone() }.run(CommandLine::command()).expect("they are written");
        for name in names() {
            let page = std::fs::read_to_string(dir.join(format!("scurry-{name}.1"))).expect(&name);
            assert!(page.contains(&format!("scurry\\-{}", name.replace('-', "\\-"))), "{page}");
        }
        let main = std::fs::read_to_string(dir.join("scurry.1")).expect("the page of the program");
        assert!(main.contains(env!("CARGO_PKG_VERSION")), "{main}");
        assert!(!dir.join("scurry-man.1").exists());
    }
}
