//! The ACL file that is shipped: it gives applications the permissions of the command table.

use crate::product::products;
use crate::support::Node;
use scurry_resp::table::{self, Role, Spec};
use std::path::Path;

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/scurry.acl");

/// Returns the commands of a role, in the form of an ACL file.
fn permitted(role: Role) -> String {
    let of_role = |spec: &&Spec| spec.role == role;
    let all = table::SCUR.iter().chain(table::ENTITY).filter(of_role);
    all.map(|spec| format!("+{}", spec.lower_name())).collect::<Vec<_>>().join(" ")
}

#[test]
fn the_file_permits_what_the_table_says() {
    let text = std::fs::read_to_string(FILE).expect("the file");
    for (user, roles) in [
        ("reading", &[Role::Read][..]),
        ("charging", &[Role::Read, Role::Charge]),
        ("provisioning", &[Role::Read, Role::Provision]),
    ] {
        let line = text.lines().find(|line| line.starts_with(&format!("user {user} ")));
        let line = line.unwrap_or_else(|| panic!("no user {user}"));
        for role in roles {
            let commands = permitted(*role);
            assert!(line.contains(&commands), "{user} lacks: {commands}");
        }
        let granted =
            line.split(' ').filter(|word| word.starts_with("+scur") || word.starts_with("+entity"));
        let wanted: usize = roles.iter().map(|role| permitted(*role).split(' ').count()).sum();
        assert_eq!(granted.count(), wanted, "{user} has more than its roles");
    }
}

#[test]
fn applications_cannot_touch_accounts_by_other_commands() {
    for product in products() {
        assert!(Path::new(FILE).exists());
        let node = Node::with(product, &["--aclfile", FILE]);
        let mut client = node.connect();
        client.expect("SCUR.CREATE alice BUCKET main cent 100", "[OK, 1]");
        client.expect("ACL SETUSER charging on >secret", "OK");
        client.expect("AUTH charging secret", "OK");
        client.expect("SCUR.DEBIT alice d cent 1", "[OK, 0, 2, 1]");
        client.expect("PING", "PONG");
        for line in [
            "DEL alice",
            "UNLINK alice",
            "COPY alice bob",
            "RENAME alice bob",
            "RESTORE alice 0 x REPLACE",
            "EXPIRE alice 1",
            "PERSIST alice",
            "MOVE alice 1",
            "SET alice x",
            "FLUSHALL",
            "FLUSHDB",
            "SWAPDB 0 1",
            "MIGRATE 127.0.0.1 1 alice 0 1",
            "DEBUG SLEEP 0",
            "CONFIG SET maxmemory-policy allkeys-lru",
            "SCUR.TOPUP alice t main 1000",
            "SCUR.APPLY alice x",
        ] {
            let said = client.ask(line);
            assert!(said.starts_with("!NOPERM"), "{line}: {said}");
        }
        client.expect("SCUR.CHECK alice cent 99", "[OK, 99]");
    }
}
