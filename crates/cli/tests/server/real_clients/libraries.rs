//! The client libraries of other languages, and how the programs of testing/clients run with them.

use std::path::Path;
use std::process::Command;

/// Returns the command line of a Python program. `venv` is a directory of `.cache` with the package.
pub(crate) fn python(venv: &str, package: &str, file: &str) -> Vec<String> {
    let own = format!("{}/../../.cache/{venv}/bin/python", env!("CARGO_MANIFEST_DIR"));
    let python = match std::env::var("SCURRY_TEST_PYTHON") {
        Ok(python) if venv == "venv" => python,
        _ => own,
    };
    build(&[&python, "-c", &format!("import {package}")]);
    words(&[&python, &source(&format!("python/{file}"))])
}

/// Returns the command line of a package of testing/clients/go, compiled into a file of this name.
pub(crate) fn go(package: &str, name: &str) -> Vec<String> {
    let binary = built(name);
    let cache = format!("{}/go", cache());
    build(&[
        "env",
        &format!("GOMODCACHE={cache}/mod"),
        &format!("GOCACHE={cache}/build"),
        "GOPROXY=off",
        "GOTOOLCHAIN=local",
        "GOFLAGS=-mod=readonly",
        "go",
        "-C",
        &source("go"),
        "build",
        "-buildvcs=false",
        "-o",
        &binary,
        package,
    ]);
    vec![binary]
}

/// Returns the command line of a Node program.
pub(crate) fn node(file: &str) -> Vec<String> {
    let modules = format!("{}/node/node_modules", cache());
    assert!(Path::new(&modules).is_dir(), "no {modules}: run scripts/install-tools.sh");
    words(&["env", &format!("NODE_PATH={modules}"), "node", &source(&format!("node/{file}"))])
}

/// Returns the command line of a class of testing/clients/java, compiled into a directory of this name.
pub(crate) fn java(class: &str, name: &str) -> Vec<String> {
    java_with("java", class, name)
}

/// Returns the command line of a class with the libraries of this directory.
pub(crate) fn java_with(directory: &str, class: &str, name: &str) -> Vec<String> {
    let jars = format!("{}/{directory}/jars/*", cache());
    let classes = built(name);
    let file = source(&format!("java/{class}.java"));
    build(&["javac", "-encoding", "UTF-8", "-d", &classes, "-cp", &jars, &file]);
    // A short run gains nothing from the optimizing compiler.
    words(&["java", "-XX:TieredStopAtLevel=1", "-cp", &format!("{jars}:{classes}"), class])
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

fn source(path: &str) -> String {
    format!("{}/../../testing/clients/{path}", env!("CARGO_MANIFEST_DIR"))
}

/// Returns the directory where scripts/install-tools.sh puts the libraries.
fn cache() -> String {
    format!("{}/../../.cache/clients", env!("CARGO_MANIFEST_DIR"))
}

fn built(name: &str) -> String {
    format!("{}/{name}", env!("CARGO_TARGET_TMPDIR"))
}

/// Compiles, with a long timeout: an empty cache on a busy machine takes a while.
fn build(words: &[&str]) {
    let output = Command::new("timeout").arg("300").args(words).output();
    let output = output.expect("timeout (coreutils) runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{words:?}: {said}: run scripts/install-tools.sh");
}
