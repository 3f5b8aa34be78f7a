//! Clients that openapi-generator makes of the door's own documents, in the languages whose compilers are the
//! strictest about them: they compile, and charge. Nothing of them is kept.

use crate::node::keeping;
use crate::store::Store;
use crate::support::Door;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

const SOURCES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testing/clients/openapi");
const CACHE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../.cache");
const GENERATOR: &str = "clients/openapi/openapi-generator-cli-7.17.0.jar";

/// A store with its door, a door of entities, and a directory with their documents.
struct Doors {
    store: Store,
    entities: Door,
    _nodes: Vec<crate::node::Node>,
    directory: TempDir,
}

impl Doors {
    fn open() -> Doors {
        let directory = TempDir::new().expect("a directory");
        let store = Store::start(&["--durability", "write"]);
        let nodes = keeping(1);
        let entities = Door::open(&nodes);
        let (_, charging) = store.get("/v1/openapi.json");
        let (_, of_entities) = entities.get("/v0/openapi.json");
        std::fs::write(directory.path().join("charging.json"), charging).expect("a file");
        std::fs::write(directory.path().join("entities.json"), of_entities).expect("a file");
        Doors { store, entities, _nodes: nodes, directory }
    }

    /// Makes both clients, each in a directory of its name, with what these options say.
    fn generate(&self, generator: &str, options: &str) {
        let jar = cached(GENERATOR);
        for name in ["charging", "entities"] {
            let mut java = self.command("java");
            java.arg("-jar").arg(&jar).args(["generate", "-g", generator]);
            java.args(["-i", &format!("{name}.json"), "-o", name]);
            java.args(["--global-property", "apiTests=false,modelTests=false"]);
            java.arg(format!("--additional-properties=packageName={name},{options}"));
            run(&mut java);
        }
    }

    /// A program that runs in the directory.
    fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.directory.path());
        command
    }

    fn copy(&self, names: &[&str]) {
        for name in names {
            let place = self.directory.path().join(name);
            std::fs::copy(Path::new(SOURCES).join(name), place).expect(name);
        }
    }

    /// Runs a program that uses both clients.
    fn ask(&self, program: &mut Command) {
        let said = run(program.args([self.store.url(""), self.entities.url("")]));
        assert!(said.ends_with("all right\n"), "{said}");
    }
}

/// A file that scripts/install-tools.sh brings.
fn cached(path: &str) -> PathBuf {
    let path = Path::new(CACHE).join(path);
    assert!(path.exists(), "no {}: run scripts/install-tools.sh", path.display());
    std::path::absolute(path).expect("a path")
}

fn run(command: &mut Command) -> String {
    let output = command.output().expect("it starts");
    let said = [&output.stdout[..], &output.stderr].concat();
    let said = String::from_utf8_lossy(&said).into_owned();
    assert!(output.status.success(), "{command:?}: {said}");
    said
}

#[test]
fn those_of_go_charge() {
    let doors = Doors::open();
    doors.generate("go", "withGoMod=false,disallowAdditionalPropertiesIfNotPresent=true");
    doors.copy(&["main.go", "go.mod", "go.sum"]);
    for name in ["charging", "entities"] {
        // Tests of a module that is not this one.
        let _ = std::fs::remove_dir_all(doors.directory.path().join(name).join("test"));
    }
    let modules = cached("clients/openapi/mod");
    let mut build = doors.command("go");
    build.env("GOMODCACHE", &modules).env("GOCACHE", modules.with_file_name("build"));
    build.env("GOPROXY", "off").env("GOTOOLCHAIN", "local").env("GOFLAGS", "-mod=readonly");
    run(build.args(["build", "-buildvcs=false", "-o", "client", "."]));
    doors.ask(&mut doors.command(doors.directory.path().join("client")));
}

#[test]
fn those_of_typescript_charge() {
    let doors = Doors::open();
    doors.generate("typescript-fetch", "supportsES6=true");
    doors.copy(&["main.ts", "tsconfig.json"]);
    let compiler = cached("clients/openapi/node_modules/typescript/bin/tsc");
    run(doors.command("node").arg(compiler).args(["--project", "."]));
    doors.ask(doors.command("node").arg("out/main.js"));
}

#[test]
fn those_of_python_charge() {
    let doors = Doors::open();
    doors.generate("python", "library=urllib3");
    doors.copy(&["main.py"]);
    let python = cached("openapi-python/bin/python");
    doors.ask(doors.command(python).env("PYTHONPATH", "charging:entities").arg("main.py"));
}

#[test]
fn both_documents_are_valid() {
    let doors = Doors::open();
    let python = cached("openapi-python/bin/python");
    for name in ["charging.json", "entities.json"] {
        run(doors.command(&python).args(["-m", "openapi_spec_validator", name]));
    }
}
