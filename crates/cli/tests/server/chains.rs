//! SCUR.CHAIN from a client's view: on one and several threads, on the ports of cores, in transactions, with roles, and
//! across a restart.

use crate::access::{CHEAP, settings};
use crate::store::{Directory, kill};
use crate::support::{Client, Server};

const CROSS_SLOT: &str = "-CROSSSLOT Keys in request don't hash to the same slot: all accounts of a chain \
                          have to, so give them one hash tag, such as {org-7}:team-1 and {org-7}:key-9\r\n";

/// Returns a transfer of 30 cents with this transaction id.
fn transfer(id: &str) -> String {
    format!("SCUR.CHAIN {{b}}1 4 DEBIT {id} cent 30 {{b}}2 4 TOPUP {id} main 30")
}

const DONE: &str = "*4\r\n+OK\r\n:0\r\n:0\r\n*2\r\n*4\r\n+OK\r\n:0\r\n:2\r\n:30\r\n\
                    *4\r\n+OK\r\n:0\r\n:2\r\n:130\r\n";

fn create(client: &mut Client) {
    client.ask("SCUR.CREATE {b}1 BUCKET main cent 100", "*2\r\n+OK\r\n:1\r\n");
    client.ask("SCUR.CREATE {b}2 BUCKET main cent 100", "*2\r\n+OK\r\n:1\r\n");
}

#[test]
fn a_chain_goes_where_its_accounts_are() {
    for threads in ["1", "3"] {
        let server = Server::start(&["--threads", threads]);
        let mut client = server.connect();
        create(&mut client);
        client.ask(&transfer("t1"), DONE);
        // Accounts must be in one slot even on one thread, so that a client works the same on several.
        client.ask("SCUR.CHAIN {b}1 4 DEBIT t2 cent 1 {c}1 4 DEBIT t2 cent 1", CROSS_SLOT);
        client.ask("SET {b}3 1", "+OK\r\n");
        client.ask(
            "SCUR.CHAIN {b}1 4 DEBIT t2 cent 1 {b}3 4 DEBIT t2 cent 1",
            "-WRONGTYPE Operation against a key holding the wrong kind of value: command 2, account \
             {b}3\r\n",
        );
        client.ask(
            "SCUR.CHAIN {b}1 4 DEBIT t2 cent 1 {b}4 4 DEBIT t2 cent 1",
            "-UNKNOWN_ACCOUNT 20 command 2, account {b}4: no account has this id: create it with \
             SCUR.CREATE\r\n",
        );
        client.ask("SCUR.CHECK {b}1 cent 70", "*2\r\n+OK\r\n:70\r\n");
        client.ask(
            "COMMAND GETKEYS SCUR.CHAIN {b}1 4 DEBIT t cent 1 {b}2 4 DEBIT t cent 1",
            "*2\r\n$4\r\n{b}1\r\n$4\r\n{b}2\r\n",
        );
        for (request, reply) in [
            ("MULTI", "+OK\r\n"),
            (transfer("t1").as_str(), "+QUEUED\r\n"),
            ("SCUR.CHECK {b}2 cent 130", "+QUEUED\r\n"),
        ] {
            client.ask(request, reply);
        }
        let again = DONE
            .replace(":0\r\n:0\r\n*2", ":1\r\n:0\r\n*2")
            .replace("+OK\r\n:0\r\n:2", "+OK\r\n:1\r\n:2");
        client.ask("EXEC", &format!("*2\r\n{again}*2\r\n+OK\r\n:130\r\n"));
    }
}

#[test]
fn a_port_of_a_core_sends_a_chain_to_its_owner() {
    let server = Server::start(&["--threads", "2"]);
    let nodes = crate::threads::slots(&mut server.connect());
    let mut cores: Vec<Client> = nodes.iter().map(|(.., port)| server.connect_to(*port)).collect();
    create(&mut server.connect());
    let mut said: Vec<String> = cores
        .iter_mut()
        .map(|core| {
            core.send(format!("{}\r\n", transfer("t1")));
            core.line()
        })
        .collect();
    said.sort();
    // CLUSTER KEYSLOT {b} is 3300, a slot of the first core.
    let moved = format!("-MOVED 3300 127.0.0.1:{}", nodes[0].2);
    assert_eq!(said, ["*4".to_owned(), moved]);
}

#[test]
fn a_chain_asks_for_the_roles_of_its_commands() {
    let users = [("charger", CHEAP, "'charge'"), ("both", CHEAP, "'charge', 'provision'")];
    let path = settings("chain-roles", "", &users);
    let server = Server::start(&["--config", path.to_str().expect("UTF-8")]);
    let mut client = server.connect();
    client.ask("AUTH both password", "+OK\r\n");
    create(&mut client);
    let mut charger = server.connect();
    charger.ask("AUTH charger password", "+OK\r\n");
    let refusal = "-NOPERM User charger has no permissions to run the 'scur.topup' command: it needs the role provision, \
                   and charger has charge\r\n";
    charger.ask(&transfer("t1"), refusal);
    charger.ask("MULTI", "+OK\r\n");
    charger.ask(&transfer("t1"), refusal);
    charger.ask("DISCARD", "+OK\r\n");
    charger.ask(
        "SCUR.CHAIN {b}1 4 DEBIT d cent 1 {b}2 4 scur.debit d cent 1",
        "*4\r\n+OK\r\n:0\r\n:0\r\n*2\r\n*4\r\n+OK\r\n:0\r\n:2\r\n:1\r\n*4\r\n+OK\r\n:0\r\n:2\r\n:1\r\n",
    );
}

#[test]
fn what_a_chain_has_done_is_there_after_a_restart() {
    let directory = Directory::make();
    let server = directory.serve("fsync", "2");
    let mut client = server.connect();
    create(&mut client);
    client.ask(&transfer("t1"), DONE);
    client.ask(
        "SCUR.CHAIN {b}1 4 DEBIT t2 cent 99 {b}2 4 DEBIT t2 cent 1",
        "*4\r\n+CREDIT_LIMIT_REACHED\r\n:0\r\n:1\r\n*2\r\n\
         *5\r\n+CREDIT_LIMIT_REACHED\r\n:0\r\n:3\r\n:0\r\n+balance\r\n\
         *5\r\n+CHAIN_DENIED\r\n:0\r\n:3\r\n:0\r\n+chain\r\n",
    );
    kill(server);
    let server = directory.serve("fsync", "2");
    let mut client = server.connect();
    client.ask("SCUR.DEBIT {b}2 t2 cent 1", "*5\r\n+CHAIN_DENIED\r\n:1\r\n:3\r\n:0\r\n+chain\r\n");
    client.ask("SCUR.CHECK {b}1 cent 70", "*2\r\n+OK\r\n:70\r\n");
    client.ask("SCUR.CHECK {b}2 cent 130", "*2\r\n+OK\r\n:130\r\n");
}
