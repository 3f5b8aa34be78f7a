//! `make release`: what a page of downloads has, made without a container daemon. Everything that is packed
//! lies first in one directory, so that all artifacts have the same files; which tools pack them, and why, is in
//! docs/adr/README.md.

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

/// Where scripts/install-tools.sh puts the tools.
const TOOLS: &str = ".cache/packaging/bin";

/// Where the page lies, in the directory that cargo builds into.
const PAGE: &str = "release-page";

/// The tests of what is on it.
const TESTS: [&str; 9] =
    ["page", "wheel", "tarball", "unit", "packages", "systemd", "image", "chart", "site"];

/// The status of a test that cannot run here; it has said why.
const CANNOT: i32 = 77;

/// A version that no release has, of packages that others are upgraded to in a test.
const NEXT_VERSION: &str = "99.0.0";

/// One release in the making.
struct Release<'a> {
    host: &'a Host,
    version: String,
    /// The time that files get, in seconds since 1970.
    epoch: u64,
    /// Where it is made; what users get is in `page`.
    work: PathBuf,
    page: PathBuf,
}

/// Makes everything in target/release-page; with `--counts FILE` by these counts; with `--binaries DIR` what is packed
/// of binaries that lie there, for work on the packaging: all but the wheel.
pub(crate) fn run(host: &Host, args: &[String]) -> Result<()> {
    let release = Release::new(host, PAGE)?;
    match args {
        [] => release.make()?,
        [option, file] if option == "--counts" => {
            optimized::take(host, Path::new(file))?;
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

/// Makes the page twice, which gives the same bytes, and tests each artifact.
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
    /// A release into an empty directory of this name.
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

    /// Builds, and makes all artifacts, each with its checksum and its bill of materials. Returns the directory
    /// of what was packed.
    fn make(&self) -> Result<PathBuf> {
        let wheel = wheel::build(self)?;
        let stage = self.pack(&binaries::build(self.host)?, Some(&wheel))?;
        let counts = self.page.join(format!("scurry-{}.profdata", self.version));
        std::fs::copy(optimized::counts(self.host)?, &counts)
            .context("copying what was counted")?;
        sums::write(&self.page)?;
        Ok(stage)
    }

    /// Makes what is archives of the stage, the bills of these, and the archives of documents.
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

    /// A tool that scripts/install-tools.sh has installed, with the time of the release in its environment.
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

/// The version of the workspace.
fn version(host: &Host) -> Result<String> {
    let text = host.cargo_output(&["metadata", "--no-deps", "--format-version", "1"])?;
    let metadata: serde_json::Value = serde_json::from_str(&text)?;
    let packages = metadata["packages"].as_array().context("cargo named no packages")?;
    let own = packages.iter().find(|package| package["name"] == "scurry-cli");
    let version = own.and_then(|own| own["version"].as_str());
    Ok(version.context("scurry-cli has no version")?.to_owned())
}

/// The time that is asked for as everywhere (SOURCE_DATE_EPOCH), else that of the commit.
fn epoch(host: &Host) -> Result<u64> {
    let text = match std::env::var("SOURCE_DATE_EPOCH") {
        Ok(text) => text,
        Err(_) => host.git_output(&["log", "-1", "--format=%ct"])?,
    };
    text.trim().parse().with_context(|| format!("`{}` is not a time", text.trim()))
}
