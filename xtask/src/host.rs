//! Where the workspace is and how its tools are called.

use anyhow::{Context, Result, bail, ensure};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

/// Workspace on this machine.
pub(crate) struct Host {
    /// Directory of the root Cargo.toml.
    pub(crate) root: PathBuf,
    pub(crate) cargo: OsString,
}

impl Host {
    /// Finds the workspace around the current directory.
    pub(crate) fn find() -> Result<Host> {
        let here = std::env::current_dir().context("no current directory")?;
        let root = here
            .ancestors()
            .find(|dir| is_workspace_root(dir))
            .context("not inside the workspace: change into the repository")?;
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        Ok(Host { root: root.to_owned(), cargo })
    }

    /// Runs cargo with its output shown; returns an error when it fails.
    pub(crate) fn cargo(&self, args: &[&str]) -> Result<()> {
        println!("$ cargo {}", args.join(" "));
        self.show(Command::new(&self.cargo).args(args))
    }

    /// Returns a cargo command without arguments.
    pub(crate) fn cargo_command(&self) -> Command {
        Command::new(&self.cargo)
    }

    /// Returns a cargo tool with these arguments: from beside the tree, where scripts/install-tools.sh puts it,
    /// otherwise from this machine.
    pub(crate) fn cargo_tool(&self, name: &str, words: &[&str]) -> Result<Command> {
        let program_name = format!("cargo-{name}");
        let mut program = self.root.join(".cache").join(name).join("bin").join(&program_name);
        if !program.is_file() {
            program = program_name.clone().into();
            let mut asked = Command::new(&program);
            asked.args([name, "--version"]).stdin(Stdio::null()).stdout(Stdio::null());
            let answers = asked.stderr(Stdio::null()).status().is_ok_and(|status| status.success());
            ensure!(
                answers,
                "{program_name} is missing: run scripts/install-tools.sh tests, or cargo install --locked {program_name}"
            );
        }
        println!("$ cargo {name} {}", words.join(" "));
        let mut command = Command::new(program);
        command.arg(name).args(words).env("CARGO", &self.cargo).current_dir(&self.root);
        Ok(command)
    }

    /// Runs a program with its output shown; returns an error when it fails.
    pub(crate) fn show(&self, command: &mut Command) -> Result<()> {
        let status = command
            .current_dir(&self.root)
            .stdin(Stdio::null())
            .status()
            .with_context(|| format!("cannot start {}", name(command)))?;
        if !status.success() {
            bail!("{} ended with {status}", name(command));
        }
        Ok(())
    }

    /// Runs a program with its output shown, and interrupts it after this many seconds; timeout(1) then exits with 124.
    pub(crate) fn within(&self, command: &Command, seconds: u64) -> Result<ExitStatus> {
        let mut timed = Command::new("timeout");
        timed.args(["--signal=INT", "--kill-after=60", &seconds.to_string()]);
        timed.arg(command.get_program()).args(command.get_args());
        for (key, value) in command.get_envs() {
            match value {
                Some(value) => timed.env(key, value),
                None => timed.env_remove(key),
            };
        }
        let status = timed.current_dir(&self.root).stdin(Stdio::null()).status();
        status.with_context(|| format!("cannot start {}", name(&timed)))
    }

    /// Returns the output of cargo; an error when it fails.
    pub(crate) fn cargo_output(&self, args: &[&str]) -> Result<String> {
        self.output(Command::new(&self.cargo).args(args))
    }

    /// Returns the output of git; an error when it fails.
    pub(crate) fn git_output(&self, args: &[&str]) -> Result<String> {
        // Git refuses a clone made by another user, which happens in containers.
        let trust = format!("safe.directory={}", self.root.display());
        self.output(Command::new("git").args(["-c", &trust]).args(args))
    }

    /// Returns the output of a program; an error when it fails. Its stderr is shown.
    pub(crate) fn output(&self, command: &mut Command) -> Result<String> {
        let output = command
            .current_dir(&self.root)
            .stdin(Stdio::null())
            .stderr(Stdio::inherit())
            .output()
            .with_context(|| format!("cannot start {}", name(command)))?;
        if !output.status.success() {
            bail!("{} ended with {}", name(command), output.status);
        }
        String::from_utf8(output.stdout)
            .with_context(|| format!("{} printed what is not UTF-8", name(command)))
    }

    /// Returns cargo's target directory.
    pub(crate) fn target_dir(&self) -> Result<PathBuf> {
        let text = self.cargo_output(&["metadata", "--no-deps", "--format-version", "1"])?;
        let metadata: serde_json::Value = serde_json::from_str(&text)?;
        let dir =
            metadata["target_directory"].as_str().context("cargo named no target directory")?;
        Ok(PathBuf::from(dir))
    }

    /// Builds these binaries of the workspace and returns their directory. They are built together with a test, so with
    /// the same features of their dependencies as in the step `test`; after that step nothing is left to build.
    pub(crate) fn binaries(&self, names: &[&str]) -> Result<PathBuf> {
        let together = ["build", "--locked", "--workspace", "--test", "device"];
        let names = names.iter().flat_map(|name| ["--bin", name]);
        self.cargo(&together.into_iter().chain(names).collect::<Vec<_>>())?;
        Ok(self.target_dir()?.join("debug"))
    }
}

fn is_workspace_root(dir: &Path) -> bool {
    std::fs::read_to_string(dir.join("Cargo.toml"))
        .is_ok_and(|text| text.lines().any(|line| line.trim() == "[workspace]"))
}

/// Formats the command as one would type it.
fn name(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let program = program.file_name().unwrap_or(command.get_program());
    let words = std::iter::once(program).chain(command.get_args());
    words.map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
}
