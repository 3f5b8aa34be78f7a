//! The program and the module as packages carry them, compiled twice: the second time with the execution counts that
//! the first build collected under load ([ADR 39](../../docs/adr/0039-counted-builds.md)). The laboratory is compiled
//! with the same counts.

use crate::host::Host;
use crate::lab;
use anyhow::{Context, Result, ensure};
use std::path::{Path, PathBuf};
use std::process::Command;

pub(crate) const TARGET: &str = "x86_64-unknown-linux-gnu";
/// Profile of Cargo.toml.
pub(crate) const PROFILE: &str = "dist";

/// File names of the build.
pub(crate) const SERVER: &str = "scurry";
pub(crate) const MODULE: &str = "libscurry.so";

/// Build directory, below cargo's target directory.
const DIR: &str = "optimized";
/// Files with the counts, and with the sources that they were collected from.
const COUNTS: &str = "scurry.profdata";
const SOURCES: &str = "sources";

/// Paths that determine the counts; changes in other files keep them valid.
const COMPILED: [&str; 7] =
    ["crates", "doors", "lab", "transports", "Cargo.lock", "Cargo.toml", "xtask/src/optimized.rs"];

/// Loads, as arguments of scurry-lab. Code that none of them runs is compiled for size instead of speed, so every
/// frequent operation has a load here, charging the most.
const LOADS: [&str; 14] = [
    "run moaf-scur-pipelined --target scurry --accounts 200000 --seconds 5 --warmup 1",
    "run moaf-scur-pipelined --target scurry:fsync --accounts 50000 --seconds 3 --warmup 1",
    "run moaf-scur --target scurry --target scurry:fsync --accounts 50000 --seconds 2 --warmup 1",
    "run moaf-scur --target scurry+replicas --accounts 5000 --seconds 2 --warmup 1",
    "run charging-hot --target scurry --seconds 2 --warmup 1",
    "run charging-live --target scurry:fsync --short",
    "run charglt --target scurry --short",
    "run ndb-30-records --target scurry --short",
    "run kv --target scurry --connections 50 --depth 64 --sessions 3200 --accounts 200000 --seconds 3 --warmup 1",
    "run kts-index --target scurry --short",
    "run kts-persistence --target scurry:fsync --short",
    "run entity-quorum --target scurry-http --short",
    "run moaf-scur-pipelined --target valkey+module --accounts 100000 --seconds 4 --warmup 1",
    "run charging-live --target valkey+module --short",
];

/// Program of the laboratory.
const LAB: &str = "scurry-lab";

/// Builds the program, the module and the laboratory into one directory.
pub(crate) fn run(host: &Host) -> Result<()> {
    let at = Optimized::new(host)?;
    let counts = at.counts()?;
    at.build(&at.dir, &flag(&counts))?;
    println!("{}: {SERVER}, {MODULE}, {LAB}", at.dir.display());
    Ok(())
}

/// Returns that directory.
pub(crate) fn dir(host: &Host) -> Result<PathBuf> {
    Ok(Optimized::new(host)?.dir)
}

/// Returns the compiler flag that uses these counts.
pub(crate) fn flag(counts: &Path) -> String {
    format!("-Cprofile-use={}", counts.display())
}

/// Imports counts that were collected elsewhere from these sources.
pub(crate) fn import_counts(host: &Host, counts: &Path) -> Result<()> {
    let at = Optimized::new(host)?;
    std::fs::create_dir_all(&at.dir)?;
    // Read the whole file first: source and destination may be the same.
    let bytes = std::fs::read(counts).with_context(|| format!("reading {}", counts.display()))?;
    std::fs::write(at.dir.join(COUNTS), bytes)?;
    Ok(std::fs::write(at.dir.join(SOURCES), at.sources()?)?)
}

/// Returns the counts of these sources, and collects them first if they are missing.
pub(crate) fn counts(host: &Host) -> Result<PathBuf> {
    Optimized::new(host)?.counts()
}

struct Optimized<'h> {
    host: &'h Host,
    dir: PathBuf,
}

impl Optimized<'_> {
    fn new(host: &Host) -> Result<Optimized<'_>> {
        Ok(Optimized { host, dir: host.target_dir()?.join(DIR) })
    }

    fn counts(&self) -> Result<PathBuf> {
        let (counts, of) = (self.dir.join(COUNTS), self.dir.join(SOURCES));
        let sources = self.sources()?;
        // Counts stay valid for the same compiler and sources.
        if counts.is_file() && std::fs::read_to_string(&of).is_ok_and(|text| text == sources) {
            return Ok(counts);
        }
        let tool = self.llvm_profdata()?;
        let counting = self.dir.join("counting");
        let raw = counting.join("raw");
        // Counts of an earlier build must not be merged.
        if raw.exists() {
            std::fs::remove_dir_all(&raw)?;
        }
        std::fs::create_dir_all(&raw)?;
        self.build(&counting, &format!("-Cprofile-generate={}", raw.display()))?;
        for load in LOADS {
            self.load(&counting, load)?;
        }
        let mut doors = Command::new("python3");
        doors.arg("scripts/bench-http.py").arg(counting.join(SERVER)).args(["2", "16", "1"]);
        self.host.show(doors.arg(counting.join("doors.json")))?;
        let mut merge = Command::new(tool);
        merge.args(["merge", "--sparse", "--output"]).arg(&counts).arg(&raw);
        self.host.show(&mut merge)?;
        // Written last: after a failure the counts are collected again.
        std::fs::write(of, sources)?;
        Ok(counts)
    }

    /// Identifies the compiler and the sources, including uncommitted changes.
    fn sources(&self) -> Result<String> {
        let compiler = self.host.output(Command::new("rustc").arg("-vV"))?;
        let trees = COMPILED.map(|path| format!("HEAD:{path}"));
        let ids = [&["rev-parse"], &trees.each_ref().map(String::as_str)[..]].concat();
        let changes = [&["diff", "HEAD", "--"], &COMPILED[..]].concat();
        Ok([compiler, self.host.git_output(&ids)?, self.host.git_output(&changes)?].concat())
    }

    /// Compiles all three with these flags, and copies them into one directory, where the laboratory finds the others.
    fn build(&self, into: &Path, flags: &str) -> Result<()> {
        std::fs::create_dir_all(into)?;
        let server =
            ["--profile", PROFILE, "--features", "rdma,amqp,kafka,nats", "-p", "scurry-cli"];
        // Built alone, so that features that other packages request of a crate do not get into it.
        let module = ["--profile", PROFILE, "-p", "scurry-valkey-module"];
        let lab = ["--release", "--manifest-path", lab::MANIFEST, "--bin", LAB];
        let programs = [
            (SERVER, &server[..], PROFILE),
            (MODULE, &module[..], PROFILE),
            (LAB, &lab[..], "release"),
        ];
        for (program, words, profile) in programs {
            println!("$ RUSTFLAGS={flags} cargo build {}", words.join(" "));
            let mut cargo = self.host.cargo_command();
            // With an explicit target, cargo does not apply the flags to build scripts and proc macros.
            cargo.args(["build", "--locked", "--target", TARGET]).args(words);
            let built = self.dir.join("build");
            self.host.show(cargo.env("RUSTFLAGS", flags).env("CARGO_TARGET_DIR", &built))?;
            let (from, to) = (built.join(TARGET).join(profile).join(program), into.join(program));
            if to.exists() {
                std::fs::remove_file(&to)?;
            }
            std::fs::copy(&from, &to).with_context(|| format!("copying {}", from.display()))?;
        }
        Ok(())
    }

    fn load(&self, programs: &Path, words: &str) -> Result<()> {
        println!("$ {LAB} {words}");
        let mut load = Command::new(programs.join(LAB));
        // The counting loader is slower, and its figures do not matter.
        load.args(words.split(' ')).arg("--quiet");
        self.host.show(&mut load).context("a load to count under")
    }

    /// Returns llvm-profdata, the tool that merges counts, of the same LLVM as the compiler.
    fn llvm_profdata(&self) -> Result<PathBuf> {
        let libraries =
            self.host.output(Command::new("rustc").args(["--print", "target-libdir"]))?;
        let beside = Path::new(libraries.trim()).with_file_name("bin").join("llvm-profdata");
        if beside.is_file() {
            return Ok(beside);
        }
        let compiler = self.host.output(Command::new("rustc").arg("-vV"))?;
        let major = llvm_major(&compiler).context("rustc -vV names no version of LLVM")?;
        let tool = PathBuf::from(format!("/usr/lib/llvm-{major}/bin/llvm-profdata"));
        ensure!(
            tool.is_file(),
            "llvm-profdata of LLVM {major} is missing: scripts/install-tools.sh packaging, or rustup component add \
             llvm-tools"
        );
        Ok(tool)
    }
}

/// Returns the major version of the compiler's LLVM.
fn llvm_major(compiler: &str) -> Option<u32> {
    let version = compiler.lines().find_map(|line| line.strip_prefix("LLVM version: "))?;
    version.split('.').next()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_major_version_of_llvm_stands_in_what_the_compiler_says_of_itself() {
        let said =
            "rustc 1.95.0 (f00 2026-01-01)\nhost: x86_64-unknown-linux-gnu\nLLVM version: 22.1.2\n";
        assert_eq!(llvm_major(said), Some(22));
        assert_eq!(llvm_major("rustc 1.95.0"), None);
    }
}
