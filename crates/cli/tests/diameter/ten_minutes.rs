//! docs/diameter.md: the commands of its first section, and the settings of its examples.

use crate::client::{Ask, Client};
use crate::store::Process;
use scurry_diameter::ccr::RequestType::Initial;
use scurry_diameter::ccr::{Service, Units};
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).expect("a file")
}

/// Returns the fenced blocks in this language of a section of docs/diameter.md.
pub(crate) fn fenced(section: &str, language: &str) -> Vec<String> {
    let page = read("docs/diameter.md");
    let (mut is_within, mut blocks, mut block) = (false, Vec::new(), None::<String>);
    let mut is_wanted = false;
    for line in page.lines() {
        match (&mut block, line.strip_prefix("```")) {
            (None, Some(name)) => {
                is_wanted = is_within && name == language;
                block = Some(String::new());
            }
            (Some(_), Some(_)) => {
                let ended = block.take();
                blocks.extend(ended.filter(|_| is_wanted));
            }
            (Some(text), None) => *text += &format!("{line}\n"),
            (None, None) => {
                if line.starts_with('#') {
                    is_within = line.trim_start_matches('#').trim() == section;
                }
            }
        }
    }
    assert!(!blocks.is_empty(), "no {language} in {section}");
    blocks
}

/// Runs a command of the page, with what differs in tests: where programs are, and the ports.
fn run(store: &Process, line: &str) -> String {
    let words: Vec<&str> = line.split_whitespace().collect();
    let mut command = match words[..] {
        ["scurry", "cli", ..] => {
            let mut command = Command::new(env!("CARGO_BIN_EXE_scurry"));
            command.args(["cli", "--port", &store.port.to_string()]).args(&words[2..]);
            command
        }
        ["diameter-client/bin/python", script, "3868"] => {
            let mut command = Command::new(root().join(".cache/python-diameter/bin/python"));
            command.args([script, &store.diameter.to_string()]);
            command
        }
        _ => panic!("the test does not know {line}"),
    };
    command.current_dir(root()).env_remove("SCURRY_PASSWORD");
    let output = command.output().expect("a tool is missing: run scripts/install-tools.sh tests");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{line}: {said}\n{errors}");
    said
}

#[test]
fn the_commands_of_the_page_charge_a_session() {
    let section = "From nothing to a charged session";
    let commands = fenced(section, "sh").concat();
    let mut lines = commands.lines();
    let serve = lines.next().expect("a command");
    let options = serve.strip_suffix(" --diameter-listen 127.0.0.1:3868").expect("a listener");
    let words: Vec<&str> = options.split_whitespace().skip(1).collect();
    let words = [&words[..], &["--listen", "127.0.0.1:0"]].concat();
    let store = Process::try_start(&words, "").unwrap_or_else(|said| panic!("no start: {said}"));
    let mut told = Vec::new();
    for line in lines {
        // These two are what scripts/install-tools.sh does: it has the same version.
        if let Some(version) = line.split("install python-diameter==").nth(1) {
            let tools = read("scripts/install-tools.sh");
            assert!(tools.contains(&format!("\npython_diameter={version}\n")), "{line}");
        } else if line != "python3 -m venv diameter-client" {
            told.push(run(&store, line));
        }
    }
    let shown = fenced(section, "text");
    assert_eq!(told.len(), 3, "{commands}");
    assert_eq!(told[1..], shown[..], "{commands}");
    assert_eq!(store.balance("imsi-001010000000001"), (20, 0));
}

#[test]
fn the_settings_for_open5gs_charge_both_of_its_contexts() {
    let store = Process::with_settings(&fenced("Settings of Open5GS", "toml").concat());
    store.ask("SCUR.CREATE imsi-001010000000001 BUCKET main octet 2000000000");
    let mut client = Client::connect(store.diameter, "smf.localdomain");
    let mut granted = |session, context, requested| {
        let ask = Ask { context, ..Ask::data(session, Initial, 0) };
        client.services(ask, &[Service { requested: Some(requested), ..Service::default() }])
    };
    let million = Units { total_octets: Some(1_000_000), ..Units::default() };
    assert_eq!(
        granted("s;1", "32251@3gpp.org", million),
        "2001 MSCC={ GSU={ CC-Total-Octets=1000000 } Validity-Time=600 Result-Code=2001 \
         Volume-Quota-Threshold=200000 }"
    );
    assert_eq!(
        granted("s;2", "open5gs-smfd@open5gs.org", Units::default()),
        "2001 MSCC={ GSU={ CC-Total-Octets=1000000000 } Validity-Time=600 Result-Code=2001 }"
    );
    let (_, answer) = Client::try_connect(store.diameter, "other.localdomain");
    assert!(answer.contains("Result-Code=3010"), "{answer}");
}
