//! Lists the accounts of a node with the server's own scan.

use crate::product::products;
use crate::support::Node;
use std::collections::BTreeSet;

#[test]
fn a_list_shows_every_account_of_the_node_and_nothing_else() {
    for product in products() {
        for node in [Node::start(product), Node::cluster(product)] {
            let mut client = node.connect();
            let mut all = BTreeSet::new();
            for number in 0..300 {
                client.expect(&format!("SCUR.CREATE account{number}"), "[OK, 1]");
                client.expect(&format!("SET plain{number} 1"), "OK");
                client.expect(&format!("ENTITY.PUT entity{number} x VERSION 1"), "[1, 1]");
                all.insert(format!("[account{number}, active, 1]"));
            }
            let (mut listed, mut cursor, mut steps) = (BTreeSet::new(), "0".to_owned(), 0);
            loop {
                let reply = client.ask(&format!("SCUR.LIST {cursor} COUNT 50"));
                let (next, rows) =
                    reply[1..reply.len() - 1].split_once(", ").expect("two elements");
                // A scan of the server may return a key twice.
                let rows = rows.trim_start_matches("[[").trim_end_matches("]]");
                let rows = rows.split("], [").filter(|row| *row != "[]");
                listed.extend(rows.map(|row| format!("[{row}]")));
                (cursor, steps) = (next.to_owned(), steps + 1);
                if cursor == "0" {
                    break;
                }
            }
            assert_eq!(listed, all, "{product:?}");
            assert!(steps > 5, "{steps} steps");
        }
    }
}
