//! `scurry cli` with a real server.

use crate::store::Directory;
use crate::support::Server;
use crate::tls::{Certificates, start};
use scurry_resp::table::{ENTITY, SCUR, STORE};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::process::{Command, Output, Stdio};

/// Returns stdout, stderr, and whether the tool succeeded.
#[track_caller]
fn cli(
    server: &Server,
    arguments: &[&str],
    password: Option<&str>,
    input: &str,
) -> (String, String, bool) {
    let Output { status, stdout, stderr } = output(server, arguments, password, input);
    let text = |bytes| String::from_utf8(bytes).expect("text");
    (text(stdout), text(stderr), status.success())
}

/// Returns the exit code and the output.
#[track_caller]
fn code(server: &Server, line: &str, input: &str) -> (Option<i32>, String) {
    let words: Vec<&str> = line.split_whitespace().collect();
    let Output { status, stdout, stderr } = output(server, &words, None, input);
    assert!(stderr.is_empty(), "{line}: {}", String::from_utf8_lossy(&stderr));
    (status.code(), String::from_utf8(stdout).expect("text"))
}

#[track_caller]
fn output(server: &Server, arguments: &[&str], password: Option<&str>, input: &str) -> Output {
    let address = format!("127.0.0.1:{}", server.port);
    let mut command = Command::new(env!("CARGO_BIN_EXE_scurry"));
    command.args(["cli", "--address", &address]).args(arguments).env_remove("SCURRY_PASSWORD");
    command.envs(password.map(|password| ("SCURRY_PASSWORD", password)));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("it runs");
    child.stdin.take().expect("an input").write_all(input.as_bytes()).expect("read");
    child.wait_with_output().expect("it ends")
}

#[test]
fn a_command_is_sent_and_its_reply_shown() {
    let server = Server::start(&[]);
    let create = ["SCUR.CREATE", "alice", "BUCKET", "main", "USD", "1000"];
    assert_eq!(cli(&server, &create, None, "").0, "1) OK\n2) (integer) 1\n");
    let (shown, _, _) = cli(&server, &["-3", "SCUR.AUDIT", "alice"], None, "");
    assert!(shown.starts_with("1# \"ok\" => (integer) 1\n"), "{shown}");
    let (shown, complaint, is_well) = cli(&server, &["GET", "alice"], None, "");
    assert!(shown.starts_with("(error) WRONGTYPE Operation"), "{shown}");
    assert!(!is_well && complaint.is_empty(), "an error has one line: {complaint}");
}

/// `scurry cli SCUR.DEBIT ... && deliver` must not deliver after a denial.
#[test]
fn a_denial_has_an_exit_code_of_its_own() {
    let server = Server::start(&[]);
    let create = "SCUR.CREATE a BUCKET main cent 100";
    assert_eq!(code(&server, create, "").0, Some(0));
    assert_eq!(code(&server, "SCUR.CREATE {a}b BUCKET main cent 5", "").0, Some(0));
    for (line, expected) in [
        ("SCUR.DEBIT a t1 cent 10", 0),
        ("SCUR.DEBIT a t2 cent 9999", 3),
        ("-3 SCUR.DEBIT a t2 cent 9999", 3),
        ("SCUR.DEBIT a t3 EUR 1", 3),
        ("SCUR.CHECK a cent 9999", 3),
        ("SCUR.CHECK a cent 1", 0),
        ("SCUR.RESERVE a s1 0 ITEM 1 cent REQUESTED 5 ITEM 2 octet REQUESTED 5", 3),
        ("SCUR.UPDATE a s1 1 ITEM 1 cent USED 5 REQUESTED 5", 0),
        ("SCUR.UPDATE a s1 2 ITEM 2 octet REQUESTED 5", 3),
        ("SCUR.CHAIN a 4 DEBIT t4 cent 1 {a}b 4 DEBIT t4 cent 9999", 3),
        ("SCUR.CHAIN a 4 DEBIT t5 cent 1 {a}b 4 DEBIT t5 cent 1", 0),
        ("SCUR.CHAIN a 10 RESERVE s2 0 ITEM 1 cent REQUESTED 1 {a}b 4 DEBIT t6 cent 1", 1),
        ("SCUR.DEBIT nobody t cent 1", 1),
        ("SCUR.DEBIT a", 1),
        ("SCUR.STATUS a suspended", 0),
        ("SCUR.DEBIT a t7 cent 1", 3),
        ("SET word CREDIT_LIMIT_REACHED", 0),
        ("GET word", 0),
        ("PING", 0),
    ] {
        let (code, shown) = code(&server, line, "");
        assert_eq!(code, Some(expected), "{line}: {shown}");
    }
    // Of several lines the worst result decides.
    let denied = "SCUR.DEBIT {a}b t8 cent 9999\n";
    for (lines, expected) in [
        ("PING\nGET b\n", 0),
        (&*format!("PING\n{denied}PING\n"), 3),
        (&format!("{denied}INCR\nPING\n"), 1),
        (&format!("MULTI\nPING\n{denied}EXEC\n"), 3),
        ("MULTI\nSCUR.DEBIT {a}b t9 cent 1\nEXEC\n", 0),
        ("MULTI\nSCUR.DEBIT {a}b t9 cent 2\nEXEC\n", 1),
    ] {
        let (code, shown) = code(&server, "", lines);
        assert_eq!(code, Some(expected), "{lines}: {shown}");
    }
    let help = scurry(&["cli", "--help"], None).0;
    assert!(help.contains("Exit code") && help.contains("3  a denial"), "{help}");
}

#[test]
fn lines_of_the_input_are_commands() {
    let server = Server::start(&[]);
    let lines = "SET 'a b' \"x\\n\"\n\nGET 'a b'\nDEL \"a b\" c\n";
    let (shown, complaint, is_well) = cli(&server, &[], None, lines);
    assert_eq!(shown, "OK\n\"x\\n\"\n(integer) 1\n");
    assert!(is_well, "{complaint}");
    // A command that fails does not stop the following ones, but a line that is not a command does.
    let (shown, complaint, is_well) = cli(&server, &[], None, "INCR\nPING\nGET \"a\nPING\n");
    assert_eq!(shown.lines().nth(1), Some("PONG"), "{shown}");
    assert_eq!(shown.lines().count(), 2);
    assert!(!is_well && complaint.contains("a quote is not closed"), "{complaint}");
}

#[test]
fn passwords_go_before_commands_and_troubles_are_told() {
    let server = Server::start(&["--requirepass", "secret"]);
    assert_eq!(cli(&server, &["PING"], Some("secret"), "").0, "PONG\n");
    let (_, complaint, is_well) = cli(&server, &["PING"], Some("wrong"), "");
    assert!(!is_well && complaint.contains("refuses the password: WRONGPASS"), "{complaint}");
    let open = Server::start(&[]);
    let (_, complaint, is_well) = cli(&open, &["PING"], Some("secret"), "");
    let cure = "Leave -a (SCURRY_PASSWORD) away, or start the server with --requirepass.";
    assert!(!is_well && complaint.contains(cure), "{complaint}");
    let nobody = Command::new(env!("CARGO_BIN_EXE_scurry"))
        .args(["cli", "--address", "127.0.0.1:1", "PING"])
        .output()
        .expect("it runs");
    let complaint = String::from_utf8_lossy(&nobody.stderr);
    assert!(complaint.contains("no server answers at 127.0.0.1:1"), "{complaint}");
}

#[test]
fn a_server_is_well_when_it_answers_and_a_password_is_not_needed_to_see_that() {
    let health = |port: u16| {
        let address = format!("127.0.0.1:{port}");
        let (said, complaint, is_well) = scurry(&["health", "--address", &address], None);
        assert_eq!(said, "");
        is_well.then_some(()).ok_or(complaint)
    };
    for options in [[].as_slice(), &["--requirepass", "secret"]] {
        assert_eq!(health(Server::start(options).port), Ok(()), "{options:?}");
    }
    let complaint = health(1).expect_err("nobody is there");
    assert!(complaint.contains("no server answers at 127.0.0.1:1"), "{complaint}");
    // A server that is no store, and one that answers with an error.
    for (answer, told) in
        [(":1\r\n", "is no scurry"), ("-LOADING so\r\n", "is not well: LOADING so")]
    {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let other = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("a connection");
            stream.read_exact(&mut [0; 14]).expect("a command");
            stream.write_all(answer.as_bytes()).expect("it is read");
        });
        let complaint = health(port).expect_err(answer);
        assert!(complaint.contains(told), "{complaint}");
        other.join().expect("it ends");
    }
}

/// Runs `scurry` with these words and this password.
fn scurry(words: &[&str], password: Option<&str>) -> (String, String, bool) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_scurry"));
    command.args(words).env_remove("SCURRY_PASSWORD");
    command.envs(password.map(|password| ("SCURRY_PASSWORD", password)));
    let output = command.stdin(Stdio::null()).output().expect("it runs");
    let text = |bytes| String::from_utf8(bytes).expect("text");
    (text(output.stdout), text(output.stderr), output.status.success())
}

#[test]
fn the_options_of_redis_cli_lead_to_the_server_that_they_name() {
    let server = Server::start(&["--requirepass", "secret"]);
    let port = server.port.to_string();
    let named = ["cli", "-h", "127.0.0.1", "-p", &port];
    for pass in [["-a", "secret"], ["--pass", "secret"], ["--password", "secret"]] {
        let (shown, complaint, _) = scurry(&[&named[..], &pass, &["PING"]].concat(), None);
        assert_eq!(shown, "PONG\n", "{complaint}");
    }
    let user = ["--user", "default", "PING"];
    assert_eq!(scurry(&[&named[..], &user].concat(), Some("secret")).0, "PONG\n");
    let free = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let nobody = free.local_addr().expect("an address").port().to_string();
    drop(free);
    let (_, complaint, is_well) = scurry(&["cli", "-p", &nobody, "PING"], None);
    let expected = format!("no server answers at 127.0.0.1:{nobody}");
    assert!(!is_well && complaint.contains(&expected), "{complaint}");
}

#[test]
fn what_is_no_option_is_refused_and_sent_to_nobody() {
    let server = Server::start(&[]);
    let address = format!("127.0.0.1:{}", server.port);
    let known = ["cli", "--address", &address];
    for unknown in ["-n", "--stat", "--cluster", "-x", "--askpass"] {
        let words = [&known[..], &[unknown, "SET", "key", "value"]].concat();
        let (shown, complaint, is_well) = scurry(&words, None);
        assert!(!is_well && shown.is_empty(), "{unknown}: {shown}");
        assert!(complaint.contains(unknown) && complaint.contains("--help"), "{complaint}");
    }
    // After the command, words with a dash are its arguments. TLS needs a CA.
    assert_eq!(scurry(&[&known[..], &["SET", "key", "-1"]].concat(), None).0, "OK\n");
    let (_, complaint, is_well) = scurry(&[&known[..], &["--tls", "PING"]].concat(), None);
    assert!(
        !is_well && complaint.contains("--tls wants --cacert FILE: the CA that"),
        "{complaint}"
    );
}

#[test]
fn the_tools_speak_tls_and_trust_nobody_else() {
    let files = Certificates::make("by-hand");
    let demanded = ["--tls-client-ca", &files.ca];
    let server = start(&files, &[&demanded[..], &["--requirepass", "secret"]].concat());
    let port = server.port.to_string();
    let own = ["--cert", &files.client.0, "--key", &files.client.1];
    let with = |tool: &'static str, ca: &'static str, last: &[&'static str]| -> Vec<String> {
        let ca = if ca == "good" { &files.ca } else { &files.other_ca };
        let first = [tool, "-h", "localhost", "-p", &port, "--tls", "--cacert", ca];
        [&first[..], &own, last].concat().into_iter().map(str::to_owned).collect()
    };
    let run = |words: Vec<String>| {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        scurry(&words, Some("secret"))
    };
    let (shown, complaint, _) = run(with("cli", "good", &["PING"]));
    assert_eq!(shown, "PONG\n", "{complaint}");
    // The connection works: the server answers that it keeps no data.
    let (_, complaint, _) = run(with("snapshot", "good", &[]));
    assert!(complaint.contains("writes no snapshot: "), "{complaint}");
    for tool in ["cli", "snapshot"] {
        let (shown, complaint, is_well) = run(with(tool, "other", &[]));
        assert!(!is_well && shown.is_empty(), "{shown}");
        assert!(complaint.contains("no TLS was agreed on with localhost"), "{complaint}");
    }
    // Without TLS, and with a name that is not in the certificate.
    let (shown, _, is_well) = scurry(&["cli", "-p", &port, "--timeout", "5", "PING"], None);
    assert!(!is_well && shown.is_empty(), "{shown}");
    let (_, complaint, _) = run(with("cli", "other", &["PING"]));
    let ca = format!("is signed by no CA in {}: give the file of the CA", files.other_ca);
    assert!(complaint.contains(&ca), "{complaint}");
    let (certificate, key) = &files.expired_server;
    let expired = Server::start(&["--tls-cert", certificate, "--tls-key", key]);
    let past = expired.port.to_string();
    let words = ["cli", "-h", "localhost", "-p", &past, "--tls", "--cacert", &files.ca, "PING"];
    let (_, complaint, is_well) = scurry(&words, None);
    let told = "certificate is refused: certificate expired at 2020-01-01T00:00:00Z, and it is 2";
    assert!(!is_well && complaint.contains(told) && !complaint.contains("UNIX"), "{complaint}");
    let words = with("cli", "good", &["--sni", "elsewhere.example", "PING"]);
    assert!(!run(words).2, "the name was not looked at");
}

#[test]
fn help_is_answered_without_asking_the_server() {
    let server = Server::start(&[]);
    let (shown, complaint, is_well) = cli(&server, &["help", "scur.release"], None, "");
    assert!(is_well && complaint.is_empty(), "{shown}{complaint}");
    assert!(shown.starts_with("SCUR.RELEASE account session [CANCEL] [TXN txn]\n"), "{shown}");
    assert_eq!(cli(&server, &["INFO", "commandstats"], None, "").0.matches("help").count(), 0);
}

#[test]
fn the_examples_of_the_reference_run_in_their_order() {
    let directory = Directory::make();
    let kept = ["--dir", directory.path(), "--durability", "write"];
    let server = Server::start(&[&kept[..], &["--entity-index"]].concat());
    let specs = SCUR.iter().chain(ENTITY).chain(STORE);
    let mut typed = 0;
    for spec in specs.filter(|spec| spec.name != "SCUR.LOAD") {
        for line in spec.example_needs.iter().chain([&spec.example]) {
            let (shown, complaint, is_well) = cli(&server, &[], None, &format!("{line}\n"));
            assert!(is_well, "{line}: {shown}{complaint}");
            assert!(!shown.contains("CREDIT_LIMIT_REACHED"), "{line}: {shown}");
            typed += 1;
        }
    }
    assert!(typed > 20, "only {typed} examples were found");
}
