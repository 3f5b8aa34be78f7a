//! The log: it tells what it must, and holds up nobody.

use crate::support::Server;

#[test]
fn a_log_that_nobody_reads_holds_up_nobody() {
    const GUESSES: usize = 30_000;
    let mut server = Server::start(&["--log", "debug", "--requirepass", "secret"]);
    let mut client = server.connect();
    let refusal = "-WRONGPASS invalid username-password pair or user is disabled.\r\n";
    // Each guess is a line of about a hundred bytes: more than a pipe and the log hold.
    for _ in 0..GUESSES / 1_000 {
        client.send("AUTH wrong\r\n".repeat(1_000));
        client.expect(&refusal.repeat(1_000));
    }
    client.ask("AUTH secret", "+OK\r\n");
    // Now it is read.
    let mut told = 0;
    let missing = loop {
        let line = server.log_line();
        if let Some((count, _)) = line.split_once(" lines are missing here") {
            break count.parse::<usize>().expect("a number");
        }
        told += usize::from(line.contains("wrong user or password"));
    };
    assert!(told > 0 && missing > 0, "{told} told, {missing} missing");
    assert!(told + missing >= GUESSES, "{told} told, {missing} missing");
}
