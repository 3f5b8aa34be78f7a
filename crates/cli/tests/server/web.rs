//! Requests that a web page can make a browser send to a RESP port: none of them is executed.

use crate::support::Server;
use crate::tls::{Certificates, start, trust};
use std::io::{Read, Write};
use std::net::Shutdown;

const BODY: &str = "SCUR.DEBIT a d cent 5\r\nSET k v\r\n*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$1\r\nv\r\n";

/// Returns requests that browsers send. The last is from another program with a choice of method.
fn requests() -> Vec<String> {
    let head =
        "Host: 127.0.0.1:6389\r\nOrigin: http://evil.example\r\nContent-Type: text/plain\r\n";
    let mut requests = vec![
        // A proxy may change the case of the line.
        format!("post / HTTP/1.0\r\n\r\n{BODY}"),
        format!("host: 127.0.0.1\r\n{BODY}"),
        format!("NONSENSE\r\nHost: 127.0.0.1\r\n{BODY}"),
        format!("*1\r\n$4\r\nPOST\r\n{BODY}"),
        format!("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n{BODY}"),
    ];
    for method in ["POST", "GET", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD", "SET"] {
        for target in ["/", "k", "/k?a=b&c=d", "http://127.0.0.1:6389/"] {
            let head =
                format!("{method} {target} HTTP/1.1\r\n{head}Content-Length: {}\r\n", BODY.len());
            requests.push(format!("{head}\r\n{BODY}"));
        }
    }
    requests
}

#[test]
fn nothing_that_a_browser_sends_is_executed() {
    let mut server = Server::start(&[]);
    let mut own = server.connect();
    own.ask("SCUR.CREATE a BUCKET m cent 100", "*2\r\n+OK\r\n:1\r\n");
    for request in requests() {
        let mut client = server.connect();
        client.send(&request);
        client.stream().shutdown(Shutdown::Write).expect("it is open");
        let said = client.rest();
        // Only an error of an earlier line is sent.
        let may = request.starts_with("NONSENSE") && said.starts_with("-ERR unknown command");
        assert!(said.is_empty() || may, "{request:?}: {said:?}");
        own.ask("EXISTS k /", ":0\r\n");
        own.ask("SCUR.CHECK a cent 100", "*2\r\n+OK\r\n:100\r\n");
    }
    // Commands sent before it are executed: they did not come from a web page.
    let mut client = server.connect();
    client.send(format!("SET mine 1\r\nPOST / HTTP/1.1\r\n\r\n{BODY}"));
    assert_eq!(client.rest(), "+OK\r\n");
    let line = server.log_line();
    assert!(line.contains("WARN") && line.contains("HTTP on a RESP port"), "{line}");
    own.ask("EXISTS k mine", ":1\r\n");
}

#[test]
fn values_that_look_like_http_are_values() {
    let server = Server::start(&[]);
    let mut client = server.connect();
    client.send("*3\r\n$3\r\nSET\r\n$4\r\nPOST\r\n$8\r\nHTTP/1.1\r\n");
    client.expect("+OK\r\n");
    client.ask("GET POST", "$8\r\nHTTP/1.1\r\n");
    client.ask("ECHO Host:", "$5\r\nHost:\r\n");
    client.ask("DELETE x", "-ERR unknown command 'DELETE', with args beginning with: 'x' \r\n");
}

#[test]
fn nor_is_it_over_tls_nor_by_several_threads() {
    let files = Certificates::make("web");
    for more in [&[][..], &["--threads", "2"]] {
        let server = start(&files, more);
        let mut own = trust(&files).connect(server.port);
        for request in requests() {
            let mut client = trust(&files).connect(server.port);
            let stream = client.stream_mut();
            stream.write_all(request.as_bytes()).expect("it is open");
            // The connection is closed, however much was read.
            let _ = stream.read_to_end(&mut Vec::new());
            own.ask("EXISTS k", ":0\r\n");
        }
    }
}
