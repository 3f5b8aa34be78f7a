//! The Diameter application of Erlang/OTP as client: testing/diameter/otp_client.erl.

use crate::store::Process;
use std::path::Path;
use std::process::Command;

/// Any service in octets. OTP's dictionary is that of the IETF, and its stack refuses AVPs of 3GPP, which have the M flag:
/// the client's context is none of 3GPP.
const SETTINGS: &str = "[[services]]\nmeasure = 'volume'\nthreshold = '20%'\n";

/// Compiles OTP's dictionary and our client into the directory.
const BUILD: &str = "
    Dictionaries = code:lib_dir(diameter) ++ \"/examples/dict/\",
    Base = {inherits, \"common/diameter_gen_base_rfc6733\"},
    ok = diameter_make:codec(Dictionaries ++ \"rfc4005_nas.dia\", [Base]),
    {ok, _} = compile:file(\"rfc4005_nas\"),
    ok = diameter_make:codec(Dictionaries ++ \"rfc4006_cc.dia\", [Base]),
    {ok, _} = compile:file(\"rfc4006_cc\"),
    ok = diameter_make:codec(os:getenv(\"CHARGING\"), [Base]),
    {ok, _} = compile:file(\"otp_charging\"),
    {ok, _} = compile:file(os:getenv(\"CLIENT\"), [report]),
    halt(0).";

fn erl(directory: &Path, words: &[&str]) -> String {
    let client = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testing/diameter/otp_client");
    let charging = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testing/diameter/otp_charging.dia");
    let mut command = Command::new("erl");
    command.env("CHARGING", charging);
    command.current_dir(directory).env("CLIENT", client).args(["-noshell", "-pa", "."]).args(words);
    let output = command.output().expect("erl is missing: run scripts/install-tools.sh tests");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}\n{errors}");
    said
}

#[test]
fn a_client_of_otp_charges_sessions_and_events() {
    let store = Process::with_log(SETTINGS);
    store.logged("clients are asked again after a top-up");
    store.ask("SCUR.CREATE imsi-001010000000001 BUCKET main octet 1000");
    let directory = store.files.path();
    erl(directory, &["-eval", BUILD]);
    let ports = [store.diameter, store.port].map(|port| port.to_string());
    let said = erl(directory, &["-run", "otp_client", "run", &ports[0], &ports[1]]);
    let expected = "up
CCR-I: 2001 [100 2001 400 octets] [200 2001 100 octets]
CCR-U: 2001 [100 2001 500 octets]
CCR-U again: 2001 [100 2001 500 octets]
CCR-U all: 2001 [100 2001 100 octets]
CCR-U none: 2001 [100 4012]
CCR-T: 2001 [200 2001]
debit: 2001 [1 2001 30 octets]
debit again: 2001 [1 2001 30 octets]
check 10: 2001 check 0
check 11: 2001 check 1
price: 5031
CCR-I: 2001 [100 2001 10 octets final 0]
RAR [100]
CCR-U: 2001 [100 2001 500 octets]
ASR
CCR-T: 2001 [100 2001]
down
";
    let lines = said.lines().filter(|line| !line.is_empty() && !line.starts_with("    "));
    let told: String =
        lines.filter(|line| !line.starts_with('=')).map(|line| format!("{line}\n")).collect();
    assert_eq!(told, expected, "{said}");
    assert_eq!(store.balance("imsi-001010000000001"), (10 + 1_000 - 110, 0));
}
