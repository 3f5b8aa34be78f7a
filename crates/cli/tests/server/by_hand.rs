//! `scurry cli` against a real server.

use crate::store::Directory;
use crate::support::Server;
use crate::tls::{Certificates, start};
use scurry_resp::table::{ENTITY, SCUR, STORE};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::process::{Command, Output, Stdio};

/// Output of the tool, its complaints, and whether it says that all went well.
#[track_caller]
fn cli(
    server: &Server,
    arguments: &[&str],
    password: Option<&str>,
    input: &str,
) -> (String, String, bool) {
    let address = format!("127.0.0.1:{}", server.port);
    let mut command = Command::new(env!("CARGO_BIN_EXE_scurry"));
    command.args(["cli", "--address", &address]).args(arguments).env_remove("SCURRY_PASSWORD");
    command.envs(password.map(|password| ("SCURRY_PASSWORD", password)));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("it runs");
    child.stdin.take().expect("an input").write_all(input.as_bytes()).expect("read");
    let Output { status, stdout, stderr } = child.wait_with_output().expect("it ends");
    let text = |bytes| String::from_utf8(bytes).expect("text");
    (text(stdout), text(stderr), status.success())
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
    assert!(!is_well && complaint.contains("answered with an error"), "{complaint}");
}

#[test]
fn lines_of_the_input_are_commands() {
    let server = Server::start(&[]);
    let lines = "SET 'a b' \"x\\n\"\n\nGET 'a b'\nDEL \"a b\" c\n";
    let (shown, complaint, is_well) = cli(&server, &[], None, lines);
    assert_eq!(shown, "OK\n\"x\\n\"\n(integer) 1\n");
    assert!(is_well, "{complaint}");
    // One that fails does not stop those behind it, but what is no command does.
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
    assert!(
        !is_well && complaint.contains("refuses the password: (error) WRONGPASS"),
        "{complaint}"
    );
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
    // What is no store, and one that answers with an error.
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

/// `scurry` with these words and this password.
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
    // Behind the command they are its words, and TLS asks whom to trust.
    assert_eq!(scurry(&[&known[..], &["SET", "key", "-1"]].concat(), None).0, "OK\n");
    let (_, complaint, is_well) = scurry(&[&known[..], &["--tls", "PING"]].concat(), None);
    assert!(!is_well && complaint.contains("--cacert"), "{complaint}");
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
    // It has come to the server, which keeps nothing.
    let (_, complaint, _) = run(with("snapshot", "good", &[]));
    assert!(complaint.contains("writes no snapshot: "), "{complaint}");
    for tool in ["cli", "snapshot"] {
        let (shown, complaint, is_well) = run(with(tool, "other", &[]));
        assert!(!is_well && shown.is_empty(), "{shown}");
        assert!(complaint.contains("no TLS was agreed on with localhost"), "{complaint}");
    }
    // Without TLS, and with a name that the certificate has not.
    let (shown, _, is_well) = scurry(&["cli", "-p", &port, "--timeout", "5", "PING"], None);
    assert!(!is_well && shown.is_empty(), "{shown}");
    let words = with("cli", "good", &["--sni", "elsewhere.example", "PING"]);
    assert!(!run(words).2, "the name was not looked at");
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
