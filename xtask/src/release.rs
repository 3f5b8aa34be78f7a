//! `make release`: builds everything of a download page, without a container daemon. All files to pack are first put
//! into one directory, so that all artifacts have the same files; docs/adr/README.md says which tools pack them, and
//! why.

pub(crate) mod binaries;
mod bom;
mod client;
mod documents;
mod image;
mod packages;
mod stage;
mod sums;
mod tarball;
mod wheel;

use crate::host::Host;
use crate::optimized;
use crate::steps::Outcome;
use anyhow::{Context, Result, bail, ensure};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Directory where scripts/install-tools.sh puts the tools.
const TOOLS: &str = ".cache/packaging/bin";

/// Directory of the page, below cargo's target directory.
const PAGE: &str = "release-page";

/// Tests of the artifacts on it.
const TESTS: [&str; 9] =
    ["page", "wheel", "tarball", "unit", "packages", "systemd", "image", "chart", "site"];

/// Exit status of a test that cannot run here; it has printed why.
const CANNOT: i32 = 77;

/// Version that no release has, for packages that a test upgrades to.
const NEXT_VERSION: &str = "99.0.0";

/// Release in progress.
struct Release<'a> {
    host: &'a Host,
    version: String,
    /// Time stamp of all files, seconds since 1970.
    epoch: u64,
    /// Working directory; what users get is in `page`.
    work: PathBuf,
    page: PathBuf,
}

/// Builds everything in target/release-page. `--counts FILE` uses these execution counts; `--binaries DIR` packs
/// existing binaries, for work on the packaging: all but the wheel.
pub(crate) fn run(host: &Host, args: &[String]) -> Result<()> {
    let release = Release::new(host, PAGE)?;
    match args {
        [] => release.make()?,
        [option, file] if option == "--counts" => {
            optimized::import_counts(host, Path::new(file))?;
            release.make()?
        }
        [option, dir] if option == "--binaries" => {
            let stage = release.pack(&binaries::find(Path::new(dir))?, None)?;
            sums::write(&release.page)?;
            stage
        }
        _ => bail!("release takes --counts FILE or --binaries DIR, and nothing else"),
    };
    println!("{}:", release.page.display());
    sums::listing(&release.page)?.iter().for_each(|line| println!("  {line}"));
    Ok(())
}

/// Builds the page twice, which must give the same bytes, and tests each artifact.
pub(crate) fn test(host: &Host) -> Result<Outcome> {
    let first = Release::new(host, PAGE)?;
    let stage = first.make()?;
    let second = Release::new(host, "release-page-again")?;
    second.make()?;
    let sums = |release: &Release<'_>| std::fs::read_to_string(release.page.join(sums::FILE));
    ensure!(sums(&first)? == sums(&second)?, "the same binaries were packed to other bytes");
    println!("release: packed twice to the same bytes");
    let upgrade = first.work.join("upgrade");
    std::fs::create_dir_all(&upgrade)?;
    packages::pack(&first, &stage, NEXT_VERSION, "# A line of the new version.\n", &upgrade)?;
    let mut left_out = Vec::new();
    for test in TESTS {
        let mut script = Command::new(host.root.join(format!("testing/release/{test}.sh")));
        script.args([&*first.page, Path::new(&first.version), &upgrade]).current_dir(&host.root);
        let status = script.stdin(Stdio::null()).status();
        let status = status.with_context(|| format!("cannot start the test of the {test}"))?;
        match status.code() {
            Some(0) => {}
            Some(CANNOT) => left_out.push(test),
            _ => bail!("the test of the {test} ended with {status}"),
        }
    }
    match left_out[..] {
        [] => Ok(Outcome::Passed),
        _ => Ok(Outcome::Skipped(format!("not tested here: {}", left_out.join(", ")))),
    }
}

impl<'a> Release<'a> {
    /// Starts a release in an empty directory of this name.
    fn new(host: &'a Host, name: &str) -> Result<Release<'a>> {
        let page = host.target_dir()?.join(name);
        let work = page.with_extension("work");
        for dir in [&page, &work] {
            let cannot = || format!("cannot make {}", dir.display());
            if dir.exists() {
                std::fs::remove_dir_all(dir).with_context(cannot)?;
            }
            std::fs::create_dir_all(dir).with_context(cannot)?;
        }
        Ok(Release { host, version: version(host)?, epoch: epoch(host)?, work, page })
    }

    /// Builds all artifacts, each with its checksum and its bill of materials. Returns the directory of the packed
    /// files.
    fn make(&self) -> Result<PathBuf> {
        let wheel = wheel::build(self)?;
        let stage = self.pack(&binaries::build(self.host)?, Some(&wheel))?;
        let counts = self.page.join(format!("scurry-{}.profdata", self.version));
        std::fs::copy(optimized::counts(self.host)?, &counts)
            .context("copying what was counted")?;
        sums::write(&self.page)?;
        Ok(stage)
    }

    /// Packs the archives of the stage, their bills of materials, and the archives of documents.
    fn pack(&self, built: &binaries::Built, wheel: Option<&Path>) -> Result<PathBuf> {
        documents::pack(self)?;
        client::pack(self)?;
        let stage = stage::fill(self, built)?;
        let (server, module) = (bom::server(self)?, bom::module(self)?);
        let mut artifacts = vec![tarball::pack(self, &stage)?];
        artifacts.extend(packages::pack(self, &stage, &self.version, "", &self.page)?);
        for artifact in &artifacts {
            bom::write(self, &[&server, &module], artifact)?;
        }
        if let Some(wheel) = wheel {
            bom::write(self, &[&server], wheel)?;
        }
        if let Some(image) = image::pack(self, &stage)? {
            bom::write(self, &[&server, &image.libc], &image.path)?;
        }
        Ok(stage)
    }

    /// Returns a tool that scripts/install-tools.sh has installed, with the time of the release in its environment.
    fn tool(&self, name: &str) -> Result<Command> {
        let path = self.host.root.join(TOOLS).join(name);
        if !path.is_file() {
            bail!("{name} is missing: scripts/install-tools.sh packaging");
        }
        let mut command = Command::new(path);
        command.env("SOURCE_DATE_EPOCH", self.epoch.to_string());
        Ok(command)
    }
}

/// Returns the version of the workspace.
fn version(host: &Host) -> Result<String> {
    let text = host.cargo_output(&["metadata", "--no-deps", "--format-version", "1"])?;
    let metadata: serde_json::Value = serde_json::from_str(&text)?;
    let packages = metadata["packages"].as_array().context("cargo named no packages")?;
    let own = packages.iter().find(|package| package["name"] == "scurry-cli");
    let version = own.and_then(|own| own["version"].as_str());
    Ok(version.context("scurry-cli has no version")?.to_owned())
}

/// Returns the time from SOURCE_DATE_EPOCH, otherwise that of the commit.
fn epoch(host: &Host) -> Result<u64> {
    let text = match std::env::var("SOURCE_DATE_EPOCH") {
        Ok(text) => text,
        Err(_) => host.git_output(&["log", "-1", "--format=%ct"])?,
    };
    text.trim().parse().with_context(|| format!("`{}` is not a time", text.trim()))
}
