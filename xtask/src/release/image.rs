//! The container image: an OCI image layout in one tar, which `docker load` reads as well. It has one layer with the
//! program, Debian's libc, and a store directory owned by the service user. tar is the only tool needed: the rest is
//! four JSON documents and files named by their hash.

use super::{Release, stage, sums, tarball};
use crate::optimized::SERVER;
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Files of the tree that go into the image, and their paths there.
const FILES: [(&str, &str); 4] = [
    ("packaging/image/passwd", "etc/passwd"),
    ("packaging/image/group", "etc/group"),
    ("packaging/image/nsswitch.conf", "etc/nsswitch.conf"),
    ("LICENSE", "usr/share/doc/scurry/copyright"),
];

/// Directory where scripts/install-tools.sh puts Debian packages.
const DEBIAN: &str = ".cache/packaging/debian";

/// Parts of libc that the program does not use, for example character set converters.
const LEFT_OUT: [&str; 4] = [
    "usr/lib/x86_64-linux-gnu/gconv",
    "usr/lib/x86_64-linux-gnu/audit",
    "usr/share/lintian",
    "etc",
];

/// User of packaging/image/passwd.
const USER: &str = "65532";
const STORE: &str = "var/lib/scurry";

const LISTEN_LINE: &str = "listen = \"127.0.0.1:6389\"";
/// A container has its own network, so listen on all addresses. Without a password the server refuses this, and says
/// so.
const LISTEN: &str = "listen = \"0.0.0.0:6389\"";

const MANIFEST_TYPE: &str = "application/vnd.oci.image.manifest.v1+json";
const CONFIG_TYPE: &str = "application/vnd.oci.image.config.v1+json";
const LAYER_TYPE: &str = "application/vnd.oci.image.layer.v1.tar+gzip";

/// Image on the page, and its foreign part as a package of a bill of materials.
pub(crate) struct Image {
    pub(crate) path: PathBuf,
    pub(crate) libc: Value,
}

/// Packs the image, if Debian's libc is available.
pub(crate) fn pack(release: &Release<'_>, stage: &Path) -> Result<Option<Image>> {
    let Some(package) = debian_package(&release.host.root.join(DEBIAN))? else {
        println!(
            "no image: {DEBIAN} has no libc6, which scripts/install-tools.sh gets from Debian"
        );
        return Ok(None);
    };
    let work = release.work.join("image");
    let layout = work.join("layout");
    std::fs::create_dir_all(layout.join("blobs/sha256"))?;
    let libc = fill(release, stage, &package, &work.join("root"))?;
    let layer = work.join("layer.tar");
    pack_layer(release, &work.join("root"), &layer)?;
    let diff = sums::sha256(&layer)?;
    release.host.show(Command::new("gzip").args(["-n", "-9", "-f"]).arg(&layer))?;
    let layer = blob(&layout, &layer.with_extension("tar.gz"), LAYER_TYPE)?;
    let config = config(release, &diff)?;
    let config = document(&layout, &config, CONFIG_TYPE)?;
    write_index(release, &layout, &config, &layer)?;
    let path = release.page.join(format!("scurry-{}-linux-amd64.oci.tar", release.version));
    let mut tar = tarball::tar(release);
    tar.arg("-cf").arg(&path).arg("-C").arg(&layout);
    release.host.show(tar.args(["oci-layout", "index.json", "manifest.json", "blobs"]))?;
    Ok(Some(Image { path, libc }))
}

/// Returns the file of libc6; if there are several, the last by name.
fn debian_package(dir: &Path) -> Result<Option<PathBuf>> {
    if !dir.is_dir() {
        return Ok(None);
    }
    let all = std::fs::read_dir(dir)?.map(|entry| Ok(entry?.path()));
    Ok(all.collect::<Result<Vec<_>>>()?.into_iter().max())
}

/// Builds the root directory. Returns the package of libc for the bill.
fn fill(release: &Release<'_>, stage: &Path, package: &Path, root: &Path) -> Result<Value> {
    let host = release.host;
    for dir in ["etc/scurry", "tmp", STORE, "var/lib/dpkg/status.d"] {
        std::fs::create_dir_all(root.join(dir))?;
    }
    let libc = root.with_extension("libc");
    host.show(Command::new("dpkg-deb").arg("--extract").args([package, &libc]))?;
    for name in LEFT_OUT {
        let path = libc.join(name);
        if path.exists() {
            std::fs::remove_dir_all(path)?;
        }
    }
    host.show(Command::new("cp").arg("-a").arg(libc.join(".")).arg(root))?;
    // Where libc is below usr, link the usual names to it.
    for name in ["lib", "lib64"] {
        if !root.join(name).exists() {
            std::os::unix::fs::symlink(Path::new("usr").join(name), root.join(name))?;
        }
    }
    // Scanners read the version of libc here.
    let control = host.output(Command::new("dpkg-deb").arg("--field").arg(package))?;
    std::fs::write(root.join("var/lib/dpkg/status.d/libc6"), &control)?;
    std::fs::create_dir_all(root.join("usr/bin"))?;
    stage::copy(&stage.join(SERVER), &root.join("usr/bin/scurry"), 0o755)?;
    for (from, to) in FILES {
        let to = root.join(to);
        std::fs::create_dir_all(to.parent().context("no directory")?)?;
        stage::copy(&host.root.join(from), &to, 0o644)?;
    }
    let documents = root.join("usr/share/doc/scurry");
    stage::copy(&stage.join(stage::README), &documents.join(stage::README), 0o644)?;
    let settings = stage::service_settings(&host.root)?;
    ensure!(settings.matches(LISTEN_LINE).count() == 1, "the settings have no line {LISTEN_LINE}");
    std::fs::write(root.join("etc/scurry/scurry.toml"), settings.replace(LISTEN_LINE, LISTEN))?;
    libc_package(&control)
}

/// Returns the package in the form of a bill of materials.
fn libc_package(control: &str) -> Result<Value> {
    let field = |name: &str| {
        let mut values = control.lines().filter_map(|line| line.strip_prefix(name));
        values.next().map(str::trim).with_context(|| format!("libc6 has no field {name}"))
    };
    let (name, version) = (field("Package:")?, field("Version:")?);
    let reference = format!("pkg:deb/debian/{name}@{version}?arch={}", field("Architecture:")?);
    let component = json!({
        "type": "library", "bom-ref": reference, "name": name, "version": version, "purl": reference,
    });
    Ok(json!({"metadata": {"component": component}, "components": [], "dependencies": []}))
}

/// Packs the root into one tar; the store belongs to its user, and tmp is writable for all.
fn pack_layer(release: &Release<'_>, root: &Path, layer: &Path) -> Result<()> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(root)? {
        names.push(entry?.file_name());
    }
    names.sort();
    let mut tar = tarball::tar(release);
    tar.arg("-cf").arg(layer).arg("-C").arg(root).arg("--anchored");
    // These two directories are added separately, with their own owner and mode.
    tar.args([&format!("--exclude={STORE}"), "--exclude=tmp"]).args(&names);
    release.host.show(&mut tar)?;
    for (dir, owner, mode) in [("tmp", "0", "1777"), (STORE, USER, "0700")] {
        let mut tar = tarball::tar(release);
        tar.args([
            format!("--owner={owner}"),
            format!("--group={owner}"),
            format!("--mode={mode}"),
        ]);
        tar.arg("-rf").arg(layer).arg("-C").arg(root).arg("--no-recursion").arg(dir);
        release.host.show(&mut tar)?;
    }
    Ok(())
}

/// Returns the configuration for runtimes. `Healthcheck` is Docker's, and other runtimes ignore it.
fn config(release: &Release<'_>, diff: &str) -> Result<Value> {
    const SECOND: u64 = 1_000_000_000;
    let mut date = Command::new("date");
    date.args(["-u", &format!("--date=@{}", release.epoch), "+%Y-%m-%dT%H:%M:%SZ"]);
    let created = release.host.output(&mut date)?.trim().to_owned();
    let revision = release.host.git_output(&["rev-parse", "HEAD"])?.trim().to_owned();
    Ok(json!({
        "created": created,
        "architecture": "amd64",
        "os": "linux",
        "config": {
            "User": format!("{USER}:{USER}"),
            "ExposedPorts": {"6389/tcp": {}},
            "Env": ["PATH=/usr/bin"],
            "Entrypoint": ["/usr/bin/scurry"],
            "Cmd": ["serve", "--config", "/etc/scurry/scurry.toml"],
            "WorkingDir": format!("/{STORE}"),
            "Volumes": {format!("/{STORE}"): {}},
            "StopSignal": "SIGTERM",
            "Healthcheck": {
                "Test": ["CMD", "/usr/bin/scurry", "health"],
                "Interval": 10 * SECOND,
                "Timeout": 15 * SECOND,
                // The server recovers before it answers.
                "StartPeriod": 600 * SECOND,
                "Retries": 3,
            },
            "Labels": {
                "org.opencontainers.image.title": "scurry",
                "org.opencontainers.image.description": "Real-time balance and session store",
                "org.opencontainers.image.version": release.version,
                "org.opencontainers.image.revision": revision,
                "org.opencontainers.image.created": created,
                "org.opencontainers.image.licenses": "Apache-2.0",
            },
        },
        "rootfs": {"type": "layers", "diff_ids": [format!("sha256:{diff}")]},
        "history": [{"created": created, "created_by": "cargo xtask release"}],
    }))
}

/// Writes the manifest and the files that refer to it: the index of the layout, and that of `docker save`.
fn write_index(release: &Release<'_>, layout: &Path, config: &Value, layer: &Value) -> Result<()> {
    let manifest = json!({
        "schemaVersion": 2, "mediaType": MANIFEST_TYPE, "config": config, "layers": [layer],
    });
    let mut manifest = document(layout, &manifest, MANIFEST_TYPE)?;
    let name = format!("scurry:{}", release.version);
    manifest["annotations"] = json!({
        "org.opencontainers.image.ref.name": release.version,
        "io.containerd.image.name": format!("docker.io/library/{name}"),
    });
    let index = json!({"schemaVersion": 2, "manifests": [manifest]});
    std::fs::write(layout.join("index.json"), index.to_string())?;
    std::fs::write(layout.join("oci-layout"), json!({"imageLayoutVersion": "1.0.0"}).to_string())?;
    let saved = json!([{
        "Config": blob_name(config)?, "RepoTags": [name], "Layers": [blob_name(layer)?],
    }]);
    std::fs::write(layout.join("manifest.json"), saved.to_string())?;
    Ok(())
}

/// Returns the file path of a descriptor's blob.
fn blob_name(descriptor: &Value) -> Result<String> {
    let digest = descriptor["digest"].as_str().context("no digest")?;
    Ok(format!("blobs/{}", digest.replace(':', "/")))
}

/// Adds a document to the blobs. Returns its descriptor.
fn document(layout: &Path, document: &Value, media_type: &str) -> Result<Value> {
    let file = layout.join("document");
    std::fs::write(&file, document.to_string())?;
    blob(layout, &file, media_type)
}

/// Moves a file to the blobs, named by its hash. Returns its descriptor.
fn blob(layout: &Path, file: &Path, media_type: &str) -> Result<Value> {
    let (digest, size) = (sums::sha256(file)?, file.metadata()?.len());
    std::fs::rename(file, layout.join("blobs/sha256").join(&digest))?;
    Ok(json!({"mediaType": media_type, "digest": format!("sha256:{digest}"), "size": size}))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libc_is_named_as_debian_names_it() {
        let control = "Package: libc6\nVersion: 2.36-9\nArchitecture: amd64\nDepends: libgcc-s1\n";
        let package = libc_package(control).expect("it is read");
        let reference = "pkg:deb/debian/libc6@2.36-9?arch=amd64";
        assert_eq!(package["metadata"]["component"]["purl"], reference);
        assert!(libc_package("Package: libc6\n").is_err());
    }
}
