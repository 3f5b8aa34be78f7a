//! A session and its effect on TOTALS, and entities.

use crate::product::products;
use crate::support::Node;

#[test]
fn a_session_and_its_duplicates_and_totals() {
    for product in products() {
        let node = Node::start(product);
        let mut client = node.connect();
        client.expect("SCUR.CREATE alice BUCKET main cent 1000", "[OK, 1]");
        let granted = "[OK, 0, 1, [[1, OK, 200, 0, 0]]]";
        client.expect("SCUR.RESERVE alice s 0 ITEM 1 cent REQUESTED 200", granted);
        let again = "[OK, 1, 1, [[1, OK, 200, 0, 0]]]";
        client.expect("SCUR.RESERVE alice s 0 ITEM 1 cent REQUESTED 200", again);
        let totals =
            "[accounts, 1, sessions, 1, units, [[cent, 800, 200, 1000, 0, 0, 0, 0, 0, 0, 0]]]";
        client.expect("SCUR.TOTALS", totals);
        let settled = "[OK, 0, 2, [[1, OK, 100, 0, 0]]]";
        client.expect("SCUR.UPDATE alice s 1 ITEM 1 cent USED 150 REQUESTED 100", settled);
        client.expect(
            "SCUR.TERMINATE alice s 2 ITEM 1 cent USED 30",
            "[OK, 0, 0, [[1, OK, 0, 0, 0]]]",
        );
        let totals =
            "[accounts, 1, sessions, 0, units, [[cent, 820, 0, 1000, 0, 180, 0, 0, 0, 0, 0]]]";
        client.expect("SCUR.TOTALS", totals);
        client.expect("SCUR.STATUS alice closed", "[OK, 5]");
        client.expect("SCUR.ADJUST alice t main -820", "[OK, 0, 6, 0]");
        client.expect("SCUR.DELETE alice FORCE", "[OK, 7]");
        client.expect(
            "SCUR.TOTALS",
            "[accounts, 0, sessions, 0, units, [[cent, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]]]",
        );
        client.expect("EXISTS alice", "0");
    }
}

#[test]
fn a_closed_session_gives_its_room_back() {
    for product in products() {
        let node = Node::start(product);
        let mut client = node.connect();
        let mut bytes = move |command: &str| -> u64 {
            client.ask(command);
            client.ask("MEMORY USAGE alice").parse().expect("a number of bytes")
        };
        bytes("SCUR.CREATE alice BUCKET main cent 1000");
        let open = bytes("SCUR.RESERVE alice s 0 ITEM 1 cent REQUESTED 200");
        let grown = bytes("SCUR.UPDATE alice s 1 ITEM 1 cent USED 150 REQUESTED 100");
        assert_eq!(grown, open, "there was room for what an UPDATE adds");
        let closed = bytes("SCUR.TERMINATE alice s 2 ITEM 1 cent USED 30");
        assert!(closed < open, "{closed} bytes, {open} while it was open");
    }
}

#[test]
fn entities_live_beside_accounts() {
    for product in products() {
        let node = Node::start(product);
        let mut client = node.connect();
        client.expect("ENTITY.PUT e one VERSION 10", "[1, 10]");
        client.expect("ENTITY.PUT e late VERSION 9", "[0, 10]");
        client.expect("ENTITY.GET e WITHVERSION", "[10, one, -1]");
        client.expect("ENTITY.DEL e VERSION 11", "[1, 11]");
        client.expect("ENTITY.GET e WITHVERSION", "[11, nil, -1]");
        client.expect("ENTITY.PUT e late VERSION 10", "[0, 11]");
        client.expect("ENTITY.PUT e new VERSION 12 PXAT 4102444800123", "[1, 12]");
        client.expect("PEXPIRETIME e", "4102444800123");
        client.expect("ENTITY.PUT e gone VERSION 13 PXAT 1", "[1, 13]");
        client.expect("EXISTS e", "0");
        client.expect("TYPE e", "none");
        client.expect("SCUR.CREATE e", "[OK, 1]");
        client.expect("TYPE e", "scurryacc");
        let wrong = "!WRONGTYPE Operation against a key holding the wrong kind of value";
        client.expect("ENTITY.PUT e x", wrong);
        let found = client.ask("ENTITY.FIND x");
        assert!(found.starts_with("!ERR entities are not indexed"), "{found}");
    }
}
