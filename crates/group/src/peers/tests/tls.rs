//! Tests of nodes that authenticate with certificates: valid ones, and one of each kind that is refused.

use super::*;
use crate::peers::socket::{DialledSocket, Socket};
use rcgen::{
    BasicConstraints, CertificateParams, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    date_time_ymd,
};
use rustls::pki_types::ServerName;
use scurry_tls::NodeTlsSettings;
use std::net::IpAddr;
use std::path::PathBuf;
use tempfile::TempDir;

const HERE: &str = "127.0.0.1";

/// A CA, and a directory with the certificates that it signs.
pub(super) struct Authority {
    dir: TempDir,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    pub(super) fn new() -> Authority {
        Authority::named("nodes")
    }

    fn named(name: &str) -> Authority {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(vec![]).unwrap();
        params.distinguished_name.push(rcgen::DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let certificate = params.self_signed(&key).unwrap();
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("ca.pem"), certificate.pem()).unwrap();
        Authority { dir, issuer: Issuer::new(params, key) }
    }

    fn ca(&self) -> PathBuf {
        self.dir.path().join("ca.pem")
    }

    /// Signs a certificate with changed parameters, and writes its files.
    fn sign_with(&self, name: &str, change: impl Fn(&mut CertificateParams)) -> NodeTlsSettings {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(vec![HERE.to_owned()]).unwrap();
        (params.not_before, params.not_after) =
            (date_time_ymd(2020, 1, 1), date_time_ymd(2120, 1, 1));
        change(&mut params);
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        let file = |end: &str| self.dir.path().join(format!("{name}.{end}"));
        std::fs::write(file("pem"), certificate.pem()).unwrap();
        std::fs::write(file("key"), key.serialize_pem()).unwrap();
        NodeTlsSettings { certificate: file("pem"), key: file("key"), ca: self.ca() }
    }

    pub(super) fn sign(&self, name: &str) -> NodeTlsSettings {
        self.sign_with(name, |_| {})
    }

    /// Returns certificates that nodes refuse, each with a part of the error text.
    fn bad(&self) -> Vec<(NodeTlsSettings, &'static str)> {
        let expired = |params: &mut CertificateParams| {
            params.not_before = date_time_ymd(2010, 1, 1);
            params.not_after = date_time_ymd(2020, 1, 1);
        };
        let elsewhere = |params: &mut CertificateParams| {
            params.subject_alt_names =
                CertificateParams::new(vec!["192.0.2.1".to_owned()]).unwrap().subject_alt_names;
        };
        vec![
            (self.sign_with("expired", expired), "certificate expired"),
            (self.sign_with("elsewhere", elsewhere), "not valid for name"),
        ]
    }
}

fn read(files: &NodeTlsSettings) -> Result<Credentials, String> {
    Credentials::read(files, ip(), Arc::default()).map_err(|error| error.to_string())
}

fn ip() -> IpAddr {
    HERE.parse().unwrap()
}

fn sockets(files: &NodeTlsSettings) -> Sockets {
    let sockets = Sockets::new(Some(Credentials::unchecked(files, ip())));
    Sockets { greeting_ms: GREETING_MS, ..sockets }
}

pub(super) fn node_with(number: u64, files: &NodeTlsSettings) -> Node {
    Node::start_over(number, bind(), sockets(files), |_| {})
}

/// Asks a node to join, and is refused. Returns the text that this node gets, and the text that the other node reports.
fn join_refused(door: &Node, dialler: &Sockets) -> (String, String) {
    let peer = (HERE.parse::<IpAddr>().unwrap(), 1).into();
    let request =
        JoinRequest { node: node(2), replaces: None, addresses: addresses(peer), observes: false };
    let told = ask_to_join(&[door.address], &request, &|| false, dialler).unwrap_err();
    let heard = door.heard.recv_timeout(WITHIN).expect("it is told");
    let Inbound::Strange { text } = heard else { panic!("{heard:?}") };
    (told, text)
}

#[test]
fn nodes_with_certificates_of_one_ca_send_each_other_packets() {
    let authority = Authority::new();
    let mut nodes = [1, 2, 3].map(|number| node_with(number, &authority.sign(&number.to_string())));
    join(&mut nodes);
    let long = packet(9, &[70_000, 0, 3 << 20]);
    for from in 0..3 {
        for to in (0..3).filter(|to| *to != from) {
            let to_id = nodes[to].own;
            for packet in [packet(1, &[5, 9]), long.clone()] {
                assert!(nodes[from].peers.send(to_id, packet.clone()));
                assert_eq!(nodes[to].wait_packet(), (nodes[from].own, packet));
            }
        }
    }
}

#[test]
fn a_node_is_admitted_over_tls() {
    let authority = Authority::new();
    let door = node_with(1, &authority.sign("door"));
    let address = door.address;
    let dialler = sockets(&authority.sign("dialler"));
    let peer = (HERE.parse::<IpAddr>().unwrap(), 1).into();
    let request =
        JoinRequest { node: node(2), replaces: None, addresses: addresses(peer), observes: false };
    let asked = request.clone();
    let asks = std::thread::spawn(move || ask_to_join(&[address], &asked, &|| false, &dialler));
    let (came, answer) = door.wait(|inbound| match inbound {
        Inbound::Join { request, answer } => Some((request, answer)),
        _ => None,
    });
    assert_eq!(came, request);
    let members = Vec::new();
    let accepted = Accepted {
        store: STORE,
        generation: 1,
        restored: 0,
        founder: node(1),
        threads: 2,
        members,
    };
    answer.send(JoinAnswer::Accepted(Box::new(accepted.clone())));
    assert_eq!(asks.join().unwrap(), Ok(Some(accepted)));
}

#[test]
fn a_certificate_that_does_not_count_is_refused_on_both_sides_and_changes_nothing() {
    let (authority, other) = (Authority::new(), Authority::named("others"));
    let good = authority.sign("good");
    let foreign = NodeTlsSettings { ca: authority.ca(), ..other.sign("foreign") };
    // The issuer has the CA's name but not its key.
    let alike = Authority::new();
    let named_alike = NodeTlsSettings { ca: authority.ca(), ..alike.sign("named-alike") };
    let stranger = other.sign("stranger");
    let refuses = "it refuses the certificate or the TLS of this node";
    let mut bad = authority.bad();
    bad.extend([foreign, named_alike].map(|files| (files, "has not signed its certificate")));
    for (files, words) in bad {
        // The node that dials has the bad certificate. The name is checked once it has sent its address.
        let (told, heard) = join_refused(&node_with(1, &good), &sockets(&files));
        let is_told = told.contains(refuses) || told.contains(words);
        assert!(is_told && heard.contains(words), "{told}; {heard}");
        // The dialled node has the bad certificate.
        let (told, heard) = join_refused(&node_with(1, &files), &sockets(&good));
        assert!(told.contains(words) && heard.contains(refuses), "{told}; {heard}");
    }
    let (told, heard) = join_refused(&node_with(1, &good), &sockets(&stranger));
    assert!(told.contains("has not signed its certificate"), "{told}");
    assert!(heard.contains(refuses), "{heard}");
}

#[test]
fn members_without_the_right_certificates_are_not_connected() {
    let (authority, other) = (Authority::new(), Authority::new());
    let mut first = node_with(1, &authority.sign("first"));
    for files in [Some(other.sign("second")), None] {
        let mut second = match files {
            Some(files) => node_with(2, &files),
            None => Node::start(2),
        };
        let members = [first.place(), second.place()];
        first.peers.set(&members);
        second.peers.set(&members);
        for node in [&first, &second] {
            let heard = node.heard.recv_timeout(WITHIN).expect("it is told");
            assert!(matches!(heard, Inbound::Strange { .. }), "{heard:?}");
        }
        assert!(!first.peers.send(node(2), packet(0, &[])));
        assert!(!second.peers.send(node(1), packet(0, &[])));
        first = node_with(1, &authority.sign("first"));
    }
}

#[test]
fn a_node_without_tls_and_one_with_it_refuse_each_other_in_words() {
    let authority = Authority::new();
    let files = authority.sign("node");
    let (told, heard) = join_refused(&node_with(1, &files), &Sockets::new(None));
    for words in [told, heard] {
        assert!(words.contains("nodes of this group speak TLS with each other"), "{words}");
    }
    let (told, heard) = join_refused(&Node::start(1), &sockets(&files));
    assert!(told.contains("it does not speak TLS between nodes"), "{told}");
    assert!(heard.contains("it speaks TLS, and this node speaks none"), "{heard}");
}

/// Connects a client with its own TLS configuration, which is refused. Returns the text that the node's host gets.
fn client_refused(config: rustls::ClientConfig, door: &Node) -> String {
    let name = ServerName::IpAddress(ip().into());
    let client = rustls::ClientConnection::new(Arc::new(config), name).unwrap();
    let mut stream = rustls::StreamOwned::new(client, TcpStream::connect(door.address).unwrap());
    stream.sock.set_read_timeout(Some(WITHIN)).unwrap();
    // The write fails if the node has already refused the client.
    let _ = stream.write_all(&[0; 64]);
    assert!(stream.read(&mut [0]).is_err(), "there is no answer within TLS");
    drop(stream);
    door.wait_strange()
}

#[test]
fn whoever_shows_no_certificate_or_speaks_older_tls_is_refused() {
    let authority = Authority::new();
    let files = authority.sign("node");
    let roots = scurry_tls::pem::roots("CA", &std::fs::read(&files.ca).unwrap(), &files.ca);
    let builder = |version| {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = rustls::ClientConfig::builder_with_provider(provider);
        builder.with_protocol_versions(&[version]).unwrap()
    };
    let roots = roots.unwrap();
    let bare = builder(&rustls::version::TLS13).with_root_certificates(roots.clone());
    let words = client_refused(bare.with_no_client_auth(), &node_with(1, &files));
    assert!(words.contains("it has shown no certificate"), "{words}");
    let old = builder(&rustls::version::TLS12).with_root_certificates(roots);
    let words = client_refused(old.with_no_client_auth(), &node_with(1, &files));
    assert!(words.contains("it does not speak TLS 1.3"), "{words}");
}

#[test]
fn files_that_other_nodes_would_refuse_are_refused_at_the_start() {
    let (authority, other) = (Authority::new(), Authority::new());
    let good = authority.sign("good");
    assert!(read(&good).is_ok());
    let for_servers = |params: &mut CertificateParams| {
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    };
    let for_clients = |params: &mut CertificateParams| {
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    };
    let of_other = NodeTlsSettings { ca: other.ca(), ..good.clone() };
    let mut bad = authority.bad();
    bad.push((of_other, "has not signed it"));
    bad.push((
        authority.sign_with("for-servers", for_servers),
        "does not allow extended key usage",
    ));
    bad.push((
        authority.sign_with("for-clients", for_clients),
        "does not allow extended key usage",
    ));
    let mismatch = NodeTlsSettings { key: authority.sign("other").key, ..good.clone() };
    bad.push((mismatch, "does not belong to the certificate"));
    let no_file = NodeTlsSettings { ca: PathBuf::from("/none"), ..good.clone() };
    bad.push((no_file, "cannot read the CA of the group in /none"));
    let no_pem = NodeTlsSettings { certificate: good.key.clone(), ..good };
    bad.push((no_pem, "BEGIN CERTIFICATE"));
    for (files, words) in bad {
        let error = read(&files).expect_err(words);
        assert!(error.contains(words), "{words}: {error}");
    }
}

#[test]
fn files_that_are_replaced_count_from_the_next_connection_on_and_a_half_of_them_does_not() {
    let (authority, other) = (Authority::new(), Authority::new());
    let files = authority.sign("node");
    let mut nodes = [node_with(1, &files), node_with(2, &files)];
    join(&mut nodes);
    let put = |from: &PathBuf, to: &PathBuf| std::fs::copy(from, to).unwrap();
    let new = other.sign("new");
    put(&new.certificate, &files.certificate);
    // A certificate and a key that do not belong together are not used.
    let old = sockets(&authority.sign("old"));
    let [first, mut second] = nodes;
    assert!(join_refused(&first, &sockets(&new)).1.contains("it refuses the certificate"));
    put(&new.key, &files.key);
    put(&new.ca, &files.ca);
    let (_, heard) = join_refused(&second, &old);
    assert!(heard.contains("it refuses the certificate"), "{heard}");
    // The existing connection continues, and new connections use the new files.
    assert!(second.peers.send(node(1), packet(1, &[])));
    assert_eq!(first.wait_packet(), (node(2), packet(1, &[])));
    let members = [first.place(), second.place()];
    drop(first);
    second.wait_lost(1);
    let listener = TcpListener::bind(members[0].1).unwrap();
    let mut first = Node::start_over(1, listener, sockets(&new), |_| {});
    first.peers.set(&members);
    second.wait_connected(1);
    second.send_until_it_comes(&first, packet(2, &[2]));
}

#[test]
fn files_count_when_they_fit_together_and_others_would_take_them() {
    let (authority, other) = (Authority::new(), Authority::new());
    let (files, new) = (authority.sign("node"), other.sign("new"));
    let credentials = read(&files).unwrap();
    let before = credentials.sides();
    let is_old = || Arc::ptr_eq(&credentials.sides().door, &before.door);
    assert!(is_old());
    for (from, to, counts) in [
        (&new.certificate, &files.certificate, false),
        (&new.key, &files.key, false),
        (&new.ca, &files.ca, true),
    ] {
        std::fs::copy(from, to).unwrap();
        assert_eq!(!is_old(), counts, "{}", to.display());
    }
    std::fs::remove_file(&files.key).unwrap();
    let newest = credentials.sides();
    assert!(!Arc::ptr_eq(&newest.door, &before.door));
}

/// Returns both ends of a connection: the end that dialled, and the end that accepted.
fn connected(files: &NodeTlsSettings) -> (Socket, Socket) {
    let (listener, sockets) = (bind(), sockets(files));
    let address = listener.local_addr().unwrap();
    let stream = DialledSocket::new(address).unwrap().connect(address, GREETING_MS).unwrap();
    let (taken, _) = listener.accept().unwrap();
    let accepts = {
        let sockets = sockets.clone();
        std::thread::spawn(move || {
            let mut socket = sockets.accepted(taken, GREETING_MS).unwrap();
            socket.read_exact(&mut [0]).unwrap();
            socket
        })
    };
    let mut dialled = sockets.dialled(stream, GREETING_MS).unwrap();
    dialled.write_all(&[0]).unwrap();
    (dialled, accepts.join().unwrap())
}

/// The side that dialled takes incoming bytes for the end of the connection, and connections live long enough to change
/// keys. So the reading side must not send anything when keys change.
#[test]
fn the_side_that_reads_says_nothing_when_keys_change() {
    let (mut dialled, mut accepted) = connected(&Authority::new().sign("node"));
    for byte in 0..100 {
        dialled.change_keys();
        dialled.write_all(&[byte; 300]).unwrap();
        let mut came = [0; 300];
        accepted.read_exact(&mut came).unwrap();
        assert_eq!(came, [byte; 300]);
    }
    let copy = dialled.copy().unwrap();
    copy.set_nonblocking(true).unwrap();
    let said = copy.peek(&mut [0]).map_err(|error| error.kind());
    assert_eq!(said, Err(std::io::ErrorKind::WouldBlock));
}

#[test]
fn a_byte_that_was_changed_on_the_way_ends_the_connection() {
    let (mut dialled, mut accepted) = connected(&Authority::new().sign("node"));
    // A record that was not encrypted with the connection's keys.
    dialled
        .copy()
        .unwrap()
        .write_all(&[23, 3, 3, 0, 30].iter().copied().chain([7; 30]).collect::<Vec<u8>>())
        .unwrap();
    let error = accepted.read(&mut [0]).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::InvalidData, "{error}");
    assert!(accepted.read(&mut [0]).is_err() && accepted.write(&[0]).is_err(), "for good");
}
