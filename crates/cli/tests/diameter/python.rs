//! The package python-diameter as client: testing/diameter/python_client.py.

use crate::store::Process;
use std::path::Path;
use std::process::Command;

#[test]
fn a_client_in_python_charges_sessions_and_events() {
    let store = Process::with_settings("");
    store.ask("SCUR.CREATE imsi-001010000000001 BUCKET main octet 1000");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let python = root.join(".cache/python-diameter/bin/python");
    let mut command = Command::new(python);
    command.arg(root.join("testing/diameter/python_client.py")).arg(store.diameter.to_string());
    let output = command.output().expect("a tool is missing: run scripts/install-tools.sh tests");
    let said = String::from_utf8_lossy(&output.stdout);
    let expected = "up
CCR-I: 2001 [100 2001 400 octets threshold 80] [200 2001 100 octets threshold 20]
CCR-U: 2001 [100 2001 500 octets threshold 100]
CCR-U again: 2001 [100 2001 500 octets threshold 100]
CCR-U all: 2001 [100 2001 100 octets threshold 20]
CCR-U none: 2001 [100 4012]
CCR-T: 2001 [200 2001]
debit: 2001 [1 2001 30 octets]
debit again: 2001 [1 2001 30 octets]
refund: 2001 [1 2001]
refund again: 2001 [1 2001]
check 20: 2001 check 0
check 21: 2001 check 1
price: 5031
watchdog
down
";
    assert_eq!(said, expected, "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(store.balance("imsi-001010000000001"), (20, 0));
}
