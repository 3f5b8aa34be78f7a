//! Access over RDMA.

use crate::support::{Server, device};
use std::process::Command;

#[test]
fn passwords_and_roles_are_those_of_tcp() {
    let Some(address) = device() else { return };
    let server = Server::guarded(address, &["--requirepass", "secret"]);
    let mut client = server.connect();
    client.send("GET a\r\n");
    assert!(client.line().starts_with("-NOAUTH"));
    client.send("AUTH wrong\r\n");
    assert!(client.line().starts_with("-WRONGPASS"));
    client.ask("AUTH secret", "+OK");
    client.ask("SET a 1", "+OK");
}

#[test]
fn it_is_not_open_to_everybody_unless_somebody_says_so() {
    let Some(address) = device() else { return };
    let binary = std::env::var("SCURRY_BIN");
    let binary = binary.unwrap_or_else(|_| env!("CARGO_BIN_EXE_scurry").to_owned());
    let address = address.to_string();
    let said = Command::new(binary)
        .args(["serve", "--durability", "none", "--listen", "127.0.0.1:0"])
        .args(["--rdma-listen", &address])
        .output()
        .expect("it runs");
    let text = String::from_utf8_lossy(&said.stderr);
    assert!(!said.status.success() && text.contains("without a password"), "{text}");
}

/// Runs where there is no device.
#[test]
fn a_machine_without_a_device_says_so_in_one_line() {
    if std::env::var_os("SCURRY_RDMA_GUEST").is_some() {
        return;
    }
    // An address that no device has: RFC 5737.
    let said = Command::new(env!("CARGO_BIN_EXE_scurry"))
        .args(["serve", "--durability", "none", "--listen", "127.0.0.1:0"])
        .args(["--rdma-listen", "192.0.2.1:0", "--allow-open-access-without-password"])
        .output()
        .expect("it runs");
    let text = String::from_utf8_lossy(&said.stderr);
    assert!(!said.status.success(), "{text}");
    let lines: Vec<&str> = text.lines().filter(|line| line.starts_with("scurry:")).collect();
    assert_eq!(lines.len(), 1, "{text}");
    assert!(lines[0].contains("cannot listen on 192.0.2.1:0 over RDMA"), "{text}");
    assert!(lines[0].contains("TCP alone"), "{text}");
}

#[test]
fn options_of_rdma_want_an_address() {
    let said = Command::new(env!("CARGO_BIN_EXE_scurry"))
        .args(["serve", "--durability", "none", "--rdma-tuning", "spin=0"])
        .output();
    // In the guest the binary lies elsewhere.
    let Ok(said) = said else { return };
    let text = String::from_utf8_lossy(&said.stderr);
    assert!(!said.status.success() && text.contains("for --rdma-listen"), "{text}");
}
