//! Replies arrive complete, whatever they contain, although the module passes as much as possible of one to the server
//! in a single call.

use crate::product::products;
use crate::support::Node;

#[test]
fn what_looks_like_a_reply_or_ends_a_text_is_data() {
    for product in products() {
        let node = Node::start(product);
        for (at, blob) in [
            b"plain".as_slice(),
            b"",
            b"a\0b",
            b"\0",
            b"\r\n+OK\r\n:1\r\n",
            b"+\0\r\n$-1\r\n",
            &[b'x'; 256],
        ]
        .into_iter()
        .enumerate()
        {
            let mut client = node.connect();
            let account = format!("acc{at}");
            client.expect(&format!("SCUR.CREATE {account} BUCKET main cent 1000"), "[OK, 1]");
            let mut words: Vec<&[u8]> = vec![b"SCUR.RESERVE", account.as_bytes()];
            words.extend([b"s".as_slice(), b"0", b"DATA", blob]);
            words.extend([b"ITEM".as_slice(), b"1", b"cent", b"REQUESTED", b"7"]);
            assert_eq!(client.send(&words), "[OK, 0, 1, [[1, OK, 7, 0, 0]]]", "{at}");
            let shown = client.send(&[b"SCUR.SESSION", account.as_bytes(), b"s"]);
            let data = String::from_utf8_lossy(blob);
            assert!(shown.contains(&*data), "{at}: {shown}");
            assert!(shown.contains("overdraw") && shown.contains("active"), "{at}: {shown}");
            // Later replies on the connection are not shifted.
            client.expect(&format!("ECHO {account}"), &account);
            client.expect(&format!("SCUR.CHECK {account} cent 993"), "[OK, 993]");
            client.expect(
                &format!("SCUR.CHECK {account} cent 994"),
                "[CREDIT_LIMIT_REACHED, 993, balance]",
            );
        }
    }
}
