//! Connections over pipes in memory with a paused clock, which advances when every task waits, however slow the machine
//! is.

use super::support::*;
use crate::connection::{Arrival, Connection};
use crate::host::Host;
use crate::link::ConnectionState;
use crate::metrics::ConnectionFault;
use crate::peer_view::PeerState;
use crate::random::Random;
use crate::remote::Remote;
use crate::settings::Settings;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
use tokio::task::JoinHandle;

/// Length of the pipe in each direction, of the output and of a read, bytes.
const PIPE_LEN: usize = 1_024;
const OUTPUT_LEN_MAX: usize = 4_096;
const READ_LEN: usize = 16 * 1024;

fn run(test: impl Future<Output = ()>) {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_time().start_paused(true).build();
    runtime.expect("a runtime").block_on(test);
}

fn host(settings: Settings, answerer: &Arc<StandIn>) -> Arc<Host<Shared>> {
    let random = Random::new().expect("random numbers");
    Arc::new(Host::new(settings, Arc::new(Shared(Arc::clone(answerer))), random))
}

/// Begins a connection.
fn connect(host: &Arc<Host<Shared>>) -> (DuplexStream, JoinHandle<()>) {
    let (near, far) = duplex(PIPE_LEN);
    let link = host.metrics.connected();
    let unidentified = Arc::clone(&host.unidentified).try_acquire_owned().expect("a place");
    let remote = Remote { address: local(1), is_tls: false, certificate: None };
    let arrival = Arrival { link, remote, local: local(0).ip(), unidentified };
    let serving = tokio::spawn(Connection::new(Arc::clone(host), near, arrival).run());
    (far, serving)
}

async fn receive(stream: &mut DuplexStream) -> Received {
    let mut bytes = vec![0; 20];
    stream.read_exact(&mut bytes).await.expect("a header");
    let len = usize::from(bytes[2]) << 8 | usize::from(bytes[3]);
    bytes.resize(len, 0);
    stream.read_exact(&mut bytes[20..]).await.expect("a message");
    Received(bytes)
}

#[test]
fn an_output_that_is_not_read_stops_at_its_bound() {
    run(async {
        let answerer = StandIn::open();
        let host = host(Settings { output_len_max: OUTPUT_LEN_MAX, ..settings() }, &answerer);
        let (far, serving) = connect(&host);
        let (mut reading, mut writing) = tokio::io::split(far);
        let sending = tokio::spawn(async move {
            writing.write_all(&cer(PGW, None)).await.expect("capabilities are taken");
            for number in 0..10_000 {
                if writing.write_all(&ccr(number)).await.is_err() {
                    break;
                }
            }
        });
        serving.await.expect("it ends");
        let fault = ConnectionFault::WriteTimeout;
        assert_eq!(host.metrics.snapshot().faults_of(fault), 1);
        // Each answer was written into the pipe or the output; other requests are no more than a read.
        let most = (PIPE_LEN + OUTPUT_LEN_MAX) / 100 + READ_LEN / ccr(0).len() + 2;
        assert!((10..=most as u64).contains(&answerer.begun()), "{} {most}", answerer.begun());
        let mut rest = Vec::new();
        reading.read_to_end(&mut rest).await.expect("the rest of the pipe");
        assert!(rest.len() <= PIPE_LEN);
        sending.await.expect("it ends");
    });
}

#[test]
fn a_peer_that_reads_slowly_gets_all_answers() {
    run(async {
        let answerer = StandIn::open();
        let bounded = Settings { output_len_max: OUTPUT_LEN_MAX, write_ms: 1_000, ..settings() };
        let host = host(Settings { message_ms: 1_000, ..bounded }, &answerer);
        let (far, serving) = connect(&host);
        let (mut reading, mut writing) = tokio::io::split(far);
        let sending = tokio::spawn(async move {
            writing.write_all(&cer(PGW, None)).await.expect("capabilities are taken");
            for number in 0..500 {
                writing.write_all(&ccr(number)).await.expect("a request is taken");
            }
            writing
        });
        let (mut bytes, mut part) = (Vec::new(), [0; 100]);
        let mut messages = 0;
        while messages < 501 {
            tokio::time::sleep(Duration::from_millis(20)).await;
            let len = reading.read(&mut part).await.expect("bytes");
            assert!(len > 0, "the connection stays");
            bytes.extend_from_slice(&part[..len]);
            let found = scurry_diameter::frame(&bytes, 1 << 20);
            if let Ok(scurry_diameter::Frame::Message(len)) = found {
                bytes.drain(..len);
                messages += 1;
            }
        }
        drop((reading, sending.await.expect("it ends")));
        serving.await.expect("it ends");
        assert_eq!(answerer.begun(), 500);
    });
}

#[test]
fn what_waits_for_a_peer_that_disconnects_is_sent_first() {
    run(async {
        let answerer = StandIn::open();
        let host = host(settings(), &answerer);
        let (far, serving) = connect(&host);
        let (mut reading, mut writing) = tokio::io::split(far);
        let requests: Vec<u8> = (0..50).flat_map(ccr).collect();
        let all = [cer(PGW, None), requests, peer_request(282)].concat();
        writing.write_all(&all).await.expect("all is taken");
        let mut bytes = Vec::new();
        reading.read_to_end(&mut bytes).await.expect("all answers");
        let mut commands = Vec::new();
        while let Ok(scurry_diameter::Frame::Message(len)) = scurry_diameter::frame(&bytes, 1 << 20)
        {
            commands.push(Received(bytes.drain(..len).collect()).summary());
        }
        assert_eq!(commands.iter().filter(|summary| **summary == (272, Some(2001))).count(), 50);
        assert!(commands.contains(&(282, Some(2001))), "{commands:?}");
        drop((reading, writing));
        serving.await.expect("it ends");
    });
}

#[test]
fn a_silent_peer_is_suspected_and_gives_way_to_its_next_connection() {
    run(async {
        let host = host(Settings { watchdog_s: 30, ..settings() }, &StandIn::open());
        let (mut silent, serving) = connect(&host);
        silent.write_all(&cer(PGW, None)).await.expect("it is taken");
        assert_eq!(receive(&mut silent).await.summary(), (257, Some(2001)));
        assert_eq!(receive(&mut silent).await.summary(), (280, None));
        while host.peers.views()[0].state != PeerState::Suspect {
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        let (mut next, _serving) = connect(&host);
        next.write_all(&cer(PGW, None)).await.expect("it is taken");
        assert_eq!(receive(&mut next).await.summary(), (257, Some(2001)));
        serving.await.expect("it ends");
        assert_eq!(host.peers.views()[0].state, PeerState::Open);
    });
}

#[test]
fn a_silent_peer_is_closed() {
    run(async {
        let host = host(Settings { watchdog_s: 30, ..settings() }, &StandIn::open());
        let (mut silent, serving) = connect(&host);
        silent.write_all(&cer(PGW, None)).await.expect("it is taken");
        serving.await.expect("it ends");
        assert_eq!(host.metrics.snapshot().faults_of(ConnectionFault::Watchdog), 1);
        assert_eq!(host.peers.views()[0].state, PeerState::Absent);
        assert_eq!(host.peers.views()[0].totals.counts.requests_out[1], 1);
        assert_eq!(host.metrics.snapshot().connections_in(ConnectionState::Closing), 1);
    });
}
