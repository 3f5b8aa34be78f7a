//! The bound of lists, which Valkey has not. What both have is compared by the random commands.

use crate::support::{Client, Server, array};

fn talk(client: &mut Client, said: &[(&str, &str)]) {
    for (request, reply) in said {
        client.send(format!("{request}\r\n"));
        client.expect(reply);
    }
}

#[test]
fn a_push_beyond_the_bound_is_refused_and_changes_nothing() {
    let server = Server::start(&[]);
    let mut client = server.connect();
    let most = "x".repeat(65_536 - 5);
    client.send(array(&[b"RPUSH", b"list", most.as_bytes()]));
    client.expect(":1\r\n");
    let refused = "-ERR the list would take more than 65536 bytes: keep long queues in Valkey\r\n";
    let shown = format!("${}\r\n{most}\r\n", most.len());
    talk(
        &mut client,
        &[
            ("RPUSH list x", refused),
            ("LPUSHX list x", refused),
            ("LLEN list", ":1\r\n"),
            ("LINDEX list 0", &shown),
            ("LSET list 0 x", "+OK\r\n"),
            ("LPUSH list y z", ":3\r\n"),
            ("LRANGE list 0 -1", "*3\r\n$1\r\nz\r\n$1\r\ny\r\n$1\r\nx\r\n"),
        ],
    );
    client.send(array(&[b"LSET", b"list", b"0", &vec![b'x'; 65_536]]));
    client.expect(refused);
    client.send(array(&[b"RPUSH", b"other", &vec![b'x'; 65_536]]));
    client.expect(refused);
    talk(&mut client, &[("EXISTS list other", ":1\r\n"), ("LPOP list", "$1\r\nz\r\n")]);
    talk(&mut client, &[("LSET list 4294967296 x", "-ERR index out of range\r\n")]);
}
