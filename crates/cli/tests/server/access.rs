//! Users and roles: which users can log in, which commands each role permits, and that checking a password delays no
//! other client.

use crate::support::{Client, Server, array, serve};
use nix::sys::signal::Signal;
use scurry_resp::table::{self, Role, Spec};
use std::io::{ErrorKind, Write};
use std::net::Shutdown;
use std::path::PathBuf;
use std::process::Stdio;

/// Hash of `password` that is cheap to check.
pub(crate) const CHEAP: &str =
    "$argon2id$v=19$m=256,t=2,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4";
/// Hash that no password matches, and that takes tenths of a second to check.
const SLOW: &str =
    "$argon2id$v=19$m=65536,t=8,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4";

pub(crate) const WRONG_PASS: &str =
    "-WRONGPASS invalid username-password pair or user is disabled.\r\n";
pub(crate) const NO_AUTH: &str = "-NOAUTH Authentication required.\r\n";

/// Writes a settings file with these users. `name` must be unique to the test.
pub(crate) fn settings(name: &str, before: &str, users: &[(&str, &str, &str)]) -> PathBuf {
    let mut text = before.to_owned();
    for (name, hash, roles) in users {
        text +=
            &format!("\n[[users]]\nname = {name:?}\npassword_hash = {hash:?}\nroles = [{roles}]\n");
    }
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.toml"));
    std::fs::write(&path, text).expect("it is written");
    path
}

fn start(name: &str, before: &str, users: &[(&str, &str, &str)]) -> Server {
    let path = settings(name, before, users);
    Server::start(&["--config", path.to_str().expect("UTF-8")])
}

/// Returns every command and subcommand that is executed once its arity is right.
fn commands() -> impl Iterator<Item = &'static Spec> {
    table::all()
        .flat_map(|spec| std::iter::once(spec).chain(spec.subcommands))
        .filter(|spec| spec.subcommands.is_empty() || spec.arity.unsigned_abs() == 1)
}

/// Returns a request that the command's arity allows. A command with a variable number of arguments gets an invalid
/// one, so that nothing is stopped or deleted.
fn request(spec: &Spec) -> Vec<u8> {
    let mut words: Vec<&[u8]> = spec.name.split('|').map(str::as_bytes).collect();
    let least = usize::try_from(spec.arity.unsigned_abs()).expect("small");
    let wanted = if spec.arity < 0 && spec.subcommands.is_empty() { least + 1 } else { least };
    let accepted = (wanted.max(words.len())..).find(|&len| spec.accepts(len));
    words.resize(accepted.expect("some number of arguments is right"), b"x");
    array(&words)
}

#[test]
fn each_role_permits_its_commands_and_no_others() {
    let server = start(
        "roles",
        "",
        &[
            ("only-read", CHEAP, "'read'"),
            ("only-charge", CHEAP, "'charge'"),
            ("only-provision", CHEAP, "'provision'"),
            ("only-admin", CHEAP, "'admin'"),
            ("nobody", CHEAP, ""),
        ],
    );
    let roles = Role::ALL.into_iter().map(|role| (format!("only-{}", role.name()), Some(role)));
    for (user, own) in roles.chain([("nobody".to_owned(), None)]) {
        let (mut permitted, mut refused) = (0, 0);
        for spec in commands() {
            let mut client = server.connect();
            client.ask(&format!("AUTH {user} password"), "+OK\r\n");
            client.send(request(spec));
            let reply = client.line();
            let name = spec.lower_name();
            let (role, roles) = (spec.role.name(), own.map_or("none", Role::name));
            let refusal = format!(
                "-NOPERM User {user} has no permissions to run the '{name}' command: it needs the role {role}, and \
                 {user} has {roles}"
            );
            if spec.role == Role::Anyone || Some(spec.role) == own {
                assert!(!reply.starts_with("-NOPERM"), "{user} {name}: {reply}");
                permitted += 1;
            } else {
                assert_eq!(reply, refusal);
                refused += 1;
            }
        }
        assert!(permitted > 0 && refused > 0, "{user}: {permitted} {refused}");
    }
}

#[test]
fn a_refused_command_does_nothing() {
    let server = start(
        "refused",
        "requirepass = 'secret'",
        &[("reader", CHEAP, "'read'"), ("charger", CHEAP, "'charge'")],
    );
    let mut admin = server.connect();
    admin.ask("AUTH secret", "+OK\r\n");
    admin.ask("SCUR.CREATE a BUCKET m cent 5", "*2\r\n+OK\r\n:1\r\n");
    let mut reader = server.connect();
    reader.ask("AUTH reader password", "+OK\r\n");
    let refusal = "-NOPERM User reader has no permissions to run the 'scur.debit' command: it needs the role charge, and \
                   reader has read\r\n";
    reader.ask("SCUR.DEBIT a t cent 5", refusal);
    reader.ask("SCUR.CHECK a cent 5", "*2\r\n+OK\r\n:5\r\n");
    reader.ask("AUTH charger password", "+OK\r\n");
    reader.ask("SCUR.DEBIT a t cent 5", "*4\r\n+OK\r\n:0\r\n:2\r\n:5\r\n");
    let refusal = "-NOPERM User charger has no permissions to run the 'scur.get' command: it needs the role read, and \
                   charger has charge\r\n";
    reader.ask("SCUR.GET a", refusal);
}

#[test]
fn with_users_alone_nobody_else_comes_in() {
    let server = start("alone", "", &[("alice", CHEAP, "'read', 'charge'")]);
    let mut client = server.connect();
    for line in ["PING", "GET k", "ACL WHOAMI", "CLIENT INFO"] {
        client.ask(line, NO_AUTH);
    }
    for line in [
        "AUTH password",
        "AUTH default password",
        "AUTH default x",
        "AUTH alice wrong",
        "AUTH bob password",
        "HELLO 3 AUTH alice wrong",
    ] {
        client.ask(line, WRONG_PASS);
        client.ask("PING", NO_AUTH);
    }
    client.ask("AUTH alice password", "+OK\r\n");
    client.ask("ACL WHOAMI", "$5\r\nalice\r\n");
    // A wrong guess does not log the client out.
    client.ask("AUTH alice wrong", WRONG_PASS);
    client.ask("ACL WHOAMI", "$5\r\nalice\r\n");
    client.ask("SET k v", "+OK\r\n");
    client.send("CLIENT INFO\r\n");
    client.line();
    let line = client.line();
    assert!(line.contains(" user=alice "), "{line}");
    let mut client = server.connect();
    client.send("HELLO 3 AUTH alice password SETNAME worker\r\n");
    assert_eq!(client.line(), "%7");
    let last = std::iter::repeat_with(|| client.line()).take(50).find(|line| line == "*0");
    assert!(last.is_some(), "HELLO ends with its modules");
    client.ask("CLIENT GETNAME", "$6\r\nworker\r\n");
    client.ask("RESET", "+RESET\r\n");
    client.ask("PING", NO_AUTH);
}

#[test]
fn without_users_everybody_is_the_default_user() {
    let server = Server::start(&[]);
    let mut client = server.connect();
    client.ask("ACL WHOAMI", "$7\r\ndefault\r\n");
    client.ask("ACL USERS", "*1\r\n$7\r\ndefault\r\n");
    client.ask("AUTH default anything", "+OK\r\n");
    client.ask("AUTH alice anything", WRONG_PASS);
    client.ask("FLUSHALL", "+OK\r\n");
}

#[test]
fn what_was_begun_with_more_rights_ends_with_them() {
    let all = "'read', 'charge', 'admin'";
    let users = [("boss", CHEAP, all), ("reader", CHEAP, "'read'"), ("writer", CHEAP, "'charge'")];
    let server = start("lesser", "", &users);
    let login = |client: &mut Client, user: &str| {
        client.ask(&format!("AUTH {user} password"), "+OK\r\n");
    };
    let mut boss = server.connect();
    login(&mut boss, "boss");
    let mut watcher = server.connect();
    login(&mut watcher, "boss");
    watcher.ask("MONITOR", "+OK\r\n");
    // Another watcher with the same rights stays connected.
    login(&mut watcher, "boss");
    boss.ask("SET k shown", "+OK\r\n");
    assert!(watcher.line().ends_with("\"SET\" \"k\" \"shown\""));
    login(&mut watcher, "reader");
    boss.ask("SET k hidden", "+OK\r\n");
    watcher.ask("GET k", "$6\r\nhidden\r\n");
    // The same holds for tracked and watched keys, where EXEC would reveal whether they changed.
    let mut tracker = server.connect();
    login(&mut tracker, "reader");
    tracker.send("HELLO 3\r\nCLIENT TRACKING ON\r\nGET k\r\nWATCH k\r\n");
    tracker.until("+OK\r\n$6\r\nhidden\r\n+OK\r\n");
    let tracking = |boss: &mut Client| {
        boss.send("INFO clients\r\n");
        boss.bulk()
            .lines()
            .find_map(|line| Some(line.strip_prefix("tracking_clients:")?.to_owned()))
    };
    assert_eq!(tracking(&mut boss).as_deref(), Some("1"));
    tracker.ask("AUTH writer password", "+OK\r\n");
    assert_eq!(tracking(&mut boss).as_deref(), Some("0"));
    boss.ask("SET k unseen", "+OK\r\n");
    tracker.ask("MULTI", "+OK\r\n");
    tracker.ask("EXEC", "*0\r\n");
}

#[test]
fn wrong_passwords_are_told_in_the_log_and_many_in_few_lines() {
    const GUESSES: usize = 300;
    let users = [("boss", CHEAP, "'admin'")];
    let server = start("guesses", "", &users);
    for guess in 0..GUESSES {
        let mut client = server.connect();
        let command = if guess % 2 == 0 { "AUTH" } else { "HELLO 3 AUTH" };
        client.ask(&format!("{command} \"mal\\nlory\" wrong"), WRONG_PASS);
    }
    server.signal(Signal::SIGTERM);
    let (_, log) = server.wait();
    let lines = log.lines().filter(|line| line.contains("wrong user or password"));
    let told: Vec<&str> = lines.collect();
    let failed = |line: &&str| {
        let digits = line.split_once("failed=").expect("a count").1.split(' ').next();
        digits.and_then(|digits| digits.parse::<usize>().ok()).expect("a number")
    };
    assert_eq!(told.iter().map(failed).sum::<usize>(), GUESSES, "{log}");
    assert!(told.len() < 100, "{} lines", told.len());
    for line in told {
        assert!(line.contains("WARN") && line.contains("peer=127.0.0.1:"), "{line}");
        assert!(line.contains(r"mal\\nlory") || line.contains(r"mal\nlory"), "{line}");
    }
}

/// Returns a client whose AUTH is being checked, with more requests after it.
fn waiting(server: &Server) -> Client {
    let mut client = server.connect();
    client.send([&b"AUTH slow x\r\n"[..], &b"PING\r\n".repeat(1_000)].concat());
    client
}

#[test]
fn a_check_holds_up_its_own_connection_alone() {
    let server = start("slow", "", &[("slow", SLOW, ""), ("alice", CHEAP, "'read'")]);
    let gone = waiting(&server);
    let mut client = waiting(&server);
    let mut other = server.connect();
    other.ask("PING", NO_AUTH);
    client.stream().set_nonblocking(true).expect("it is set");
    let early = client.stream().peek(&mut [0]).map_err(|error| error.kind());
    assert_eq!(early, Err(ErrorKind::WouldBlock), "the loop has waited for the check");
    client.stream().set_nonblocking(false).expect("it is set");
    // Disconnecting, or closing the sending side, while a check is under way does no harm.
    drop(gone);
    client.stream().shutdown(Shutdown::Write).expect("it is open");
    assert_eq!(client.rest(), format!("{WRONG_PASS}{}", NO_AUTH.repeat(1_000)));
    other.ask("AUTH alice password", "+OK\r\n");
    other.ask("PING", "+PONG\r\n");
}

#[test]
fn what_follows_a_right_password_is_executed_in_order() {
    let server = start("order", "", &[("alice", CHEAP, "'charge', 'read'")]);
    let mut clients: Vec<Client> = (0..50).map(|_| server.connect()).collect();
    for (number, client) in clients.iter_mut().enumerate() {
        let set = format!("SET k{number} {number:02}\r\nGET k{number}\r\n");
        client.send(format!("PING\r\nAUTH alice password\r\n{set}AUTH alice wrong\r\nPING\r\n"));
    }
    for (number, client) in clients.iter_mut().enumerate() {
        let got = format!("+OK\r\n+OK\r\n$2\r\n{number:02}\r\n");
        client.expect(&format!("{NO_AUTH}{got}{WRONG_PASS}+PONG\r\n"));
    }
}

#[test]
fn too_many_checks_are_refused_and_not_queued_for_ever() {
    let server = start("queue", "requirepass = 'secret'", &[("slow", SLOW, "")]);
    let mut clients: Vec<Client> = (0..400).map(|_| server.connect()).collect();
    for client in &mut clients {
        client.send("AUTH slow x\r\n");
        client.stream().set_nonblocking(true).expect("it is set");
    }
    // Which client is refused depends on which thread of the server reads first. If the queue had no bound, none would
    // be refused: the first client that waits too long would be disconnected instead.
    let mut refused = loop {
        let mut word = [0; 4];
        let found = clients.iter().position(|client| match client.stream().peek(&mut word) {
            Ok(len) => {
                assert!(len > 0, "closed, and nobody was refused");
                &word == b"-ERR"
            }
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::WouldBlock);
                false
            }
        });
        match found {
            Some(found) => break clients.swap_remove(found),
            None => std::thread::yield_now(),
        }
    };
    refused.stream().set_nonblocking(false).expect("it is set");
    refused.expect("-ERR too many passwords are being checked: try again in a second\r\n");
    // A password that needs no check is still accepted.
    refused.ask("AUTH secret", "+OK\r\n");
}

#[test]
fn stopping_waits_for_a_check() {
    let server = start("stopping", "", &[("slow", SLOW, "")]);
    let mut client = waiting(&server);
    let mut other = server.connect();
    other.ask("PING", NO_AUTH);
    server.signal(Signal::SIGTERM);
    assert_eq!(client.rest(), format!("{WRONG_PASS}{}", NO_AUTH.repeat(1_000)));
    drop((client, other));
    let (status, log) = server.wait();
    assert_eq!(status.code(), Some(0), "{log}");
}

#[test]
fn wrong_users_are_named_with_their_file() {
    for (users, expected) in [
        (&[("a b", CHEAP, "")][..], "users entry 1: the name \"a b\" must be 1 to 64 printable"),
        (&[("bob", CHEAP, "'root'")], "user bob: \"root\" is not a role: use read, charge,"),
        (&[("bob", "secret", "")], "user bob: the password_hash is not an Argon2 hash"),
        (&[("bob", CHEAP, ""), ("bob", CHEAP, "")], "user bob: the name is given twice"),
        (&[("default", CHEAP, "")], "user default: requirepass is its password already"),
    ] {
        let path = settings("wrong-users", "requirepass = 'x'", users);
        let output =
            serve(&["--config", path.to_str().expect("UTF-8")]).output().expect("it starts");
        assert!(!output.status.success(), "{expected}");
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(error.contains("wrong-users.toml"), "{error}");
        assert!(error.contains(expected), "{error}");
    }
}

/// Returns the output of `scurry hash-password`.
fn hash_password(input: &[u8]) -> Result<String, String> {
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_scurry"));
    command.arg("hash-password").stdin(Stdio::piped());
    let mut child =
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    child.stdin.take().expect("stdin is piped").write_all(input).expect("it reads");
    let output = child.wait_with_output().expect("it ends");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim_end().to_owned();
    if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
}

#[test]
fn a_hash_from_hash_password_lets_its_user_in() {
    let hash = hash_password(b"pass word\r\nsecond line\n").expect("it is hashed");
    assert!(hash.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{hash}");
    let server = start("hashed", "", &[("alice", &hash, "'read'")]);
    let mut client = server.connect();
    client.send(array(&[b"AUTH", b"alice", b"pass word\n"]));
    client.expect(WRONG_PASS);
    client.send(array(&[b"AUTH", b"alice", b"pass word"]));
    client.expect("+OK\r\n");
    for input in [&b""[..], b"\n", &[b'x'; 513]] {
        let error = hash_password(input).expect_err("no password");
        assert!(error.contains("a password has 1 to 512 bytes"), "{error}");
    }
    assert!(hash_password(b"\xff\n").expect_err("no text").contains("UTF-8"));
}

#[test]
fn guesses_cost_the_same_and_the_memory_of_one() {
    let hash = hash_password(b"password\n").expect("it is hashed");
    let server = start("memory", "", &[("alice", &hash, "'read'")]);
    let mut client = server.connect();
    for name in ["alice", "bob", "default"].repeat(5) {
        client.ask(&format!("AUTH {name} wrong"), WRONG_PASS);
    }
    client.ask("AUTH alice password", "+OK\r\n");
    client.send("INFO\r\n");
    let mut value = |name: &str| {
        let line = std::iter::repeat_with(|| client.line()).find(|line| line.starts_with(name));
        let text = line.expect("INFO has it");
        text.rsplit(':').next().and_then(|value| value.parse::<u64>().ok()).expect("a number")
    };
    let resident = value("used_memory_rss:");
    assert!(resident < 70_000_000, "{resident} bytes are resident");
    assert_eq!(value("password_hashes_computed:"), 16);
}
