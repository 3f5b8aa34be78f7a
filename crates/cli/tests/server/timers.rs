//! What happens although nobody calls.

use crate::support::{Client, Server};

/// Asks again and again, at most so often: each question is a round trip, so this ends.
const TRIES_MAX: usize = 1_000_000;

#[test]
fn holds_of_silent_sessions_come_back_by_themselves() {
    let server = Server::start(&[]);
    let mut client = server.connect();
    for account in 0..50 {
        client.ask(&format!("SCUR.CREATE a{account} BUCKET m cent 100"), "*2\r\n+OK\r\n:1\r\n");
        client.send(format!(
            "SCUR.RESERVE a{account} s 0 TCC 100 VALIDITY 50 ITEM 1 cent REQUESTED 60\r\n"
        ));
        let reply: Vec<String> = (0..10).map(|_| client.line()).collect();
        assert_eq!(reply.join(" "), "*4 +OK :0 :1 *1 *5 :1 +OK :60 :0");
        assert_eq!(client.line(), ":0");
    }
    // TOTALS shows what was committed: only timers can have done it.
    let held = |client: &mut Client| {
        client.send("SCUR.TOTALS\r\n");
        let lines: Vec<String> = (0..22).map(|_| client.line()).collect();
        assert_eq!(lines[7], "$5", "{lines:?}");
        (lines[6].clone(), lines[13].clone(), lines[14].clone())
    };
    let free = (":0".to_owned(), ":5000".to_owned(), ":0".to_owned());
    let freed = (0..TRIES_MAX).find(|_| held(&mut client) == free);
    assert!(freed.is_some(), "sessions, available, held: {:?}", held(&mut client));
    client.send("SCUR.UPDATE a0 s 1\r\n");
    assert!(client.line().starts_with("-UNKNOWN_SESSION 30 "));
}
