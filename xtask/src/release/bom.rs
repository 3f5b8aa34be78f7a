//! Bills of materials (CycloneDX): cargo-cyclonedx lists the dependencies of one of our packages; this module combines
//! such lists into the bill of an artifact, which has one package or two and a checksum.

use super::{Release, sums};
use crate::optimized;
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

/// Published path of the root, so that no path of the build machine appears.
const ROOT: &str = "/scurry";
const SPECIFICATION: &str = "1.5";
/// Ending of a bill's file name, after the whole name of its artifact.
const ENDING: &str = "cdx.json";

/// Returns the bill of the server's package.
pub(crate) fn server(release: &Release<'_>) -> Result<Value> {
    package(release, "crates/cli", &["--features", "rdma,amqp,kafka,nats"])
}

/// Returns the bill of the module's package.
pub(crate) fn module(release: &Release<'_>) -> Result<Value> {
    package(release, "crates/valkey-module", &[])
}

/// Runs the tool on a copy of the workspace, because it writes a file into each package.
fn package(release: &Release<'_>, dir: &str, features: &[&str]) -> Result<Value> {
    let tree = &release.work.join("tree");
    if !tree.exists() {
        copy_tree(release, tree)?;
    }
    let mut tool = release.tool("cargo-cyclonedx")?;
    tool.args(["cyclonedx", "--quiet", "--format", "json", "--spec-version", SPECIFICATION])
        .args(["--target", optimized::TARGET, "--override-filename", "bom", "--manifest-path"])
        .arg(tree.join(dir).join("Cargo.toml"))
        .args(features);
    release.host.show(&mut tool)?;
    let text = std::fs::read_to_string(tree.join(dir).join("bom.json")).context("no bill")?;
    let root = tree.to_str().context("a path is not UTF-8")?;
    serde_json::from_str(&text.replace(root, ROOT)).context("the bill is no JSON")
}

/// Copies the files that git tracks.
fn copy_tree(release: &Release<'_>, tree: &Path) -> Result<()> {
    std::fs::create_dir_all(tree)?;
    let list = release.work.join("files");
    std::fs::write(&list, release.host.git_output(&["ls-files", "-z"])?)?;
    let mut tar = Command::new("sh");
    tar.args(["-c", "tar --null -T \"$1\" -cf - | tar -xf - -C \"$2\"", "-"]).arg(list).arg(tree);
    release.host.show(&mut tar)
}

/// Writes the bill of an artifact beside it.
pub(crate) fn write(release: &Release<'_>, of: &[&Value], artifact: &Path) -> Result<()> {
    let name = artifact.file_name().and_then(|name| name.to_str()).context("a name")?;
    let bill = bill(name, &release.version, &sums::sha256(artifact)?, of)?;
    let path = release.page.join(format!("{name}.{ENDING}"));
    std::fs::write(path, serde_json::to_string_pretty(&bill)? + "\n")?;
    Ok(())
}

/// Builds the bill of an artifact that contains these packages.
fn bill(name: &str, version: &str, sha256: &str, of: &[&Value]) -> Result<Value> {
    let mut components: BTreeMap<String, Value> = BTreeMap::new();
    let mut edges: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for package in of {
        let mut own = package["metadata"]["component"].clone();
        // Drop the targets of the package: one of them is the artifact itself.
        own.as_object_mut().context("a package of no kind")?.remove("components");
        edges.entry(name.to_owned()).or_default().insert(reference(&own)?);
        let others = package["components"].as_array().context("a bill without components")?;
        for component in others.iter().chain([&own]) {
            components.insert(reference(component)?, component.clone());
        }
        for edge in package["dependencies"].as_array().context("a bill without dependencies")? {
            let to = edge["dependsOn"].as_array().into_iter().flatten();
            let to = to.filter_map(|to| to.as_str().map(str::to_owned));
            let from = edge["ref"].as_str().context("an edge from nowhere")?;
            edges.entry(from.to_owned()).or_default().extend(to);
        }
    }
    ensure!(!components.contains_key(name), "{name} is a component of itself");
    let edges = edges.into_iter().map(|(from, to)| json!({"ref": from, "dependsOn": to}));
    Ok(json!({
        "bomFormat": "CycloneDX",
        "specVersion": SPECIFICATION,
        "version": 1,
        "metadata": {
            "component": {
                "type": "file",
                "bom-ref": name,
                "name": name,
                "version": version,
                "hashes": [{"alg": "SHA-256", "content": sha256}],
                "licenses": [{"license": {"id": "Apache-2.0"}}],
            },
            "tools": of.first().map(|package| package["metadata"]["tools"].clone()),
        },
        "components": components.into_values().collect::<Vec<_>>(),
        "dependencies": edges.collect::<Vec<_>>(),
    }))
}

fn reference(component: &Value) -> Result<String> {
    let reference = component["bom-ref"].as_str();
    Ok(reference.context("a component without a reference")?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(name: &str, others: &[&str]) -> Value {
        let component = |name: &&str| json!({"bom-ref": name, "name": name, "components": []});
        json!({
            "metadata": {"component": component(&name), "tools": [{"name": "tool"}]},
            "components": others.iter().map(component).collect::<Vec<_>>(),
            "dependencies": [{"ref": name, "dependsOn": others}],
        })
    }

    #[test]
    fn an_artifact_depends_on_its_packages_and_what_they_share_stands_once() {
        let (server, module) = (package("server", &["b", "a"]), package("module", &["b", "c"]));
        let bill = bill("x.tar", "1.0.0", "00", &[&server, &module]).expect("it is made");
        let names = |value: &Value| {
            let all = value.as_array().expect("a list").iter();
            all.map(|one| one["bom-ref"].as_str().expect("a name").to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(names(&bill["components"]), ["a", "b", "c", "module", "server"]);
        assert_eq!(
            bill["dependencies"],
            json!([
                {"ref": "module", "dependsOn": ["b", "c"]},
                {"ref": "server", "dependsOn": ["a", "b"]},
                {"ref": "x.tar", "dependsOn": ["module", "server"]},
            ])
        );
        assert_eq!(bill["metadata"]["component"]["hashes"][0]["content"], "00");
    }

    #[test]
    fn a_bill_without_components_is_an_error() {
        let mut package = package("server", &[]);
        package["components"] = Value::Null;
        assert!(bill("x", "1", "00", &[&package]).is_err());
    }
}
