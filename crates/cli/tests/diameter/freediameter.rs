//! freeDiameter as client: its daemon, with testing/diameter/freediameter_client.c as an extension.

use crate::store::Process;
use std::path::Path;
use std::process::Command;

/// Host of the client. freeDiameter wants a certificate for it although no connection uses TLS.
const HOST: &str = "fd.example";

fn run(directory: &Path, program: &str, words: &[&str]) -> String {
    let mut command = Command::new(program);
    command.current_dir(directory).args(words);
    let missing = "a tool is missing: run scripts/install-tools.sh tests";
    let output = command.output().unwrap_or_else(|error| panic!("{program}: {error}: {missing}"));
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program}: {said}\n{errors}");
    said
}

/// Writes a certificate, its key and the settings of the daemon, which connects to this port.
fn write_settings(directory: &Path, port: u16) {
    let rcgen::CertifiedKey { cert, signing_key } =
        rcgen::generate_simple_self_signed([HOST.to_owned()]).expect("a certificate");
    std::fs::write(directory.join("cert.pem"), cert.pem()).expect("a file");
    std::fs::write(directory.join("key.pem"), signing_key.serialize_pem()).expect("a file");
    let extension = directory.join("freediameter_client.fdx");
    let settings = format!(
        "Identity = \"{HOST}\";\nRealm = \"example\";\nPort = 0;\nSecPort = 0;\nNo_SCTP;\nNo_IPv6;\n\
         TLS_Cred = \"cert.pem\", \"key.pem\";\nTLS_CA = \"cert.pem\";\nTwTimer = 6;\n\
         LoadExtension = \"dict_nasreq.fdx\";\nLoadExtension = \"dict_dcca.fdx\";\n\
         LoadExtension = \"dict_dcca_3gpp.fdx\";\nLoadExtension = \"{}\";\n\
         ConnectPeer = \"scurry.localdomain\" \
         {{ ConnectTo = \"127.0.0.1\"; Port = {port}; No_TLS; No_SCTP; Realm = \"localdomain\"; }};\n",
        extension.display()
    );
    std::fs::write(directory.join("freediameter.conf"), settings).expect("a file");
}

#[test]
fn a_client_of_freediameter_charges_a_session() {
    let store = Process::with_settings("");
    store.ask("SCUR.CREATE imsi-001010000000001 BUCKET main octet 1000");
    let directory = store.files.path();
    let source =
        concat!(env!("CARGO_MANIFEST_DIR"), "/../../testing/diameter/freediameter_client.c");
    let warnings = ["-Wall", "-Wextra", "-Werror"];
    let build = ["-shared", "-fPIC", "-o", "freediameter_client.fdx", source];
    run(directory, "gcc", &[&warnings[..], &build].concat());
    write_settings(directory, store.diameter);
    let said = run(directory, "freeDiameterd", &["-c", "freediameter.conf", "-q", "-q"]);
    let expected = "up
CCR-I: 2001 failover 1 [100 2001 400 octets for 600 s threshold 80]
CCR-U: 2001 failover 1 [100 2001 500 octets for 600 s threshold 100]
CCR-U again: 2001 failover 1 [100 2001 500 octets for 600 s threshold 100]
CCR-U all: 2001 failover 1 [100 2001 200 octets for 600 s final 0]
CCR-U none: 2001 failover 1 [100 4012]
CCR-T: 2001 failover 1 [100 2001]
CCR-U late: 5002
watchdog
down
";
    // The daemon tells that it ends, however quiet it is asked to be.
    let is_told = |line: &&str| !line.ends_with("Initiating freeDiameter shutdown sequence (3)");
    let told: String = said.lines().filter(is_told).map(|line| format!("{line}\n")).collect();
    assert_eq!(told, expected);
    assert_eq!(store.balance("imsi-001010000000001"), (0, 0));
}
