//! Small requests that write much to the log: each waits until the log has written enough of the earlier ones,
//! whichever client sent them.

use super::{Directory, kill};
use crate::support::{Server, array};

const VALUE_LEN: usize = 1_000_000;
/// Bound of the server's memory: bytes that wait for the log or are being written, and buffers.
const MEMORY_MAX: u64 = 160 << 20;

/// Returns the peak memory of the server, bytes.
fn memory_most(server: &Server) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.pid()));
    let status = status.expect("it runs");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a line");
    let kilobytes = line.trim().strip_suffix(" kB").expect("a unit");
    kilobytes.parse::<u64>().expect("a number") * 1024
}

/// Makes several clients change a byte of the same long value many times in one pipeline, after a read of keys of every
/// thread, and checks the peak memory.
fn change_a_byte(server: &Server, clients: usize, changes: usize) {
    let mut first = server.connect();
    first.send(array(&[b"SET", b"k", &vec![b'v'; VALUE_LEN]]));
    first.expect("+OK\r\n");
    let before = memory_most(server);
    let mut clients: Vec<_> = (0..clients).map(|_| server.connect()).collect();
    for client in &mut clients {
        let changes = "SETRANGE k 0 x\r\n".repeat(changes);
        client.send(format!("EXISTS a b c d e f g h\r\n{changes}"));
    }
    for client in &mut clients {
        client.expect(&format!(":0\r\n{}", format!(":{VALUE_LEN}\r\n").repeat(changes)));
    }
    let more = memory_most(server) - before;
    assert!(more < MEMORY_MAX, "{more} bytes");
    first.ask("GETRANGE k 0 1", "$2\r\nxv\r\n");
}

#[test]
fn a_pipeline_that_writes_much_into_the_log_waits_for_it() {
    for (durability, threads) in [("write", 1), ("fsync", 1), ("write", 3)] {
        let directory = Directory::make();
        let server = directory.serve(durability, &threads.to_string());
        // One client on each thread.
        for _ in 0..threads {
            change_a_byte(&server, 1, 300);
        }
        kill(server);
        let server = directory.serve(durability, &threads.to_string());
        server.connect().ask("GETRANGE k 0 1", "$2\r\nxv\r\n");
    }
}

#[test]
fn many_clients_that_write_much_into_the_log_wait_for_it() {
    for threads in ["1", "3"] {
        let directory = Directory::make();
        change_a_byte(&directory.serve("fsync", threads), 100, 6);
    }
}
