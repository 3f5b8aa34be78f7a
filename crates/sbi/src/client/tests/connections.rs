//! Connections are shared, kept, bounded, and made again.

use super::raw::RawPeer;
use super::*;

#[tokio::test]
async fn calls_at_the_same_time_share_a_connection() {
    let peer = StandIn::start_with(None, 0, |_| ok()).await;
    let (client, uri) = (client(), peer.uri("/"));
    let calls: Vec<_> = (0..20)
        .map(|_| {
            let (client, uri) = (client.clone(), uri.clone());
            tokio::spawn(async move { client.send(post(&uri, "{}")).await })
        })
        .collect();
    // All of them are under way before the first is answered.
    peer.wait_requests(20).await;
    peer.permit(20);
    for call in calls {
        let answer = call.await.expect("it does not panic").expect("an answer");
        assert_eq!(answer.status, StatusCode::NO_CONTENT);
    }
    assert_eq!(peer.connections(), 1);
}

#[tokio::test]
async fn a_connection_that_has_ended_is_made_again() {
    let peer = StandIn::start(|_| ok()).await;
    let client = client();
    for connection in 1..=3 {
        for _ in 0..2 {
            client.send(post(&peer.uri("/"), "{}")).await.expect("an answer");
        }
        assert_eq!(peer.connections(), connection);
        peer.end_connections();
        peer.wait_open(0).await;
    }
}

#[tokio::test]
async fn a_call_under_way_is_answered_while_its_connection_ends() {
    let peer = StandIn::start_with(None, 0, |_| ok()).await;
    let (client, uri) = (client(), peer.uri("/"));
    let under_way = {
        let (client, uri) = (client.clone(), uri.clone());
        tokio::spawn(async move { client.send(post(&uri, "{}")).await })
    };
    peer.wait_requests(1).await;
    peer.end_connections();
    peer.permit(2);
    under_way.await.expect("it does not panic").expect("an answer");
    client.send(post(&uri, "{}")).await.expect("an answer");
    peer.wait_open(1).await;
    assert_eq!(peer.connections(), 2);
}

#[tokio::test]
async fn a_connection_whose_peer_was_silent_is_not_used_again() {
    let peer = StandIn::start_with(None, 0, |_| ok()).await;
    let short = ClientSettings { call_ms_max: 200, ..settings(AllowedTargets::any()) };
    let client = Client::new(&short).expect("no files");
    // On a slow machine the time may be over before the peer has the request.
    let silence = async || {
        let requests = peer.requests();
        while peer.requests() == requests {
            let error = error_of(&client, &peer.uri("/")).await;
            assert!(matches!(error, CallError::Timeout { .. }), "{error}");
        }
        peer.connections()
    };
    let first = silence().await;
    assert!(silence().await > first);
    // The first one ends: no call is under way on it.
    peer.wait_open(1).await;
}

#[tokio::test]
async fn the_connection_unused_for_longest_gives_way() {
    let peers = [
        StandIn::start(|_| ok()).await,
        StandIn::start(|_| ok()).await,
        StandIn::start(|_| ok()).await,
    ];
    let few = ClientSettings { connections_max: 2, ..settings(AllowedTargets::any()) };
    let client = Client::new(&few).expect("no files");
    let call = async |peer: &StandIn| {
        client.send(post(&peer.uri("/"), "{}")).await.expect("an answer");
    };
    let [a, b, c] = &peers;
    call(a).await;
    call(b).await;
    call(a).await;
    call(c).await;
    b.wait_open(0).await;
    call(a).await;
    call(c).await;
    assert_eq!(peers.each_ref().map(StandIn::connections), [1, 1, 1]);
    call(b).await;
    a.wait_open(0).await;
    assert_eq!(peers.each_ref().map(StandIn::connections), [1, 2, 1]);
}

#[tokio::test]
async fn connections_in_use_stay_and_no_more_are_made() {
    let (busy, other) =
        (StandIn::start_with(None, 0, |_| ok()).await, StandIn::start(|_| ok()).await);
    let one = ClientSettings { connections_max: 1, ..settings(AllowedTargets::any()) };
    let client = Client::new(&one).expect("no files");
    let (under_way, uri) = (client.clone(), busy.uri("/"));
    let under_way = tokio::spawn(async move { under_way.send(post(&uri, "{}")).await });
    busy.wait_requests(1).await;
    let error = error_of(&client, &other.uri("/")).await;
    assert!(matches!(error, CallError::Busy(1)), "{error}");
    busy.permit(1);
    under_way.await.expect("it does not panic").expect("an answer");
    client.send(post(&other.uri("/"), "{}")).await.expect("an answer");
    assert_eq!((busy.connections(), other.connections()), (1, 1));
}

#[tokio::test]
async fn what_may_not_be_called_takes_no_place() {
    let peer = StandIn::start(|_| ok()).await;
    let targets = AllowedTargets::parse("notify_targets", &["127.0.0.1"]).expect("an entry");
    let one = ClientSettings { connections_max: 1, ..settings(targets) };
    let client = Client::new(&one).expect("no files");
    for _ in 0..2 {
        client.send(post(&peer.uri("/"), "{}")).await.expect("an answer");
        let error = error_of(&client, "http://10.0.0.1/").await;
        assert!(matches!(error, CallError::Refused(_)), "{error}");
    }
    assert_eq!(peer.connections(), 1);
}

#[tokio::test]
async fn no_task_of_a_connection_outlives_it() {
    // The peer allows any number of bytes, and reads none.
    let peer = RawPeer::start(|_, mut peer| async move {
        let any = i32::MAX.to_be_bytes();
        peer.frame(raw::SETTINGS, 0, 0, &[&[0, 4][..], &any].concat()).await;
        peer.frame(raw::WINDOW_UPDATE, 0, 0, &(i32::MAX - 65_535).to_be_bytes()).await;
        std::future::pending::<()>().await;
    })
    .await;
    let short = ClientSettings { call_ms_max: 500, ..settings(AllowedTargets::any()) };
    let client = Client::new(&short).expect("no files");
    let body = Some(("application/json", Bytes::from(vec![b' '; 64 << 20])));
    let uri = peer.uri();
    let call = Call { method: Method::POST, uri: &uri, headers: HeaderMap::new(), body };
    let error = client.send(call).await.expect_err("it takes too long");
    assert!(matches!(error, CallError::Timeout { .. }), "{error}");
    drop(client);
    // What is left are the peer's own: one that accepts, and one for its connection.
    let tasks = tokio::runtime::Handle::current().metrics();
    let waited = tokio::time::timeout(PATIENCE, async {
        while tasks.num_alive_tasks() > 1 + peer.connections() {
            tokio::time::sleep(Duration::from_millis(2)).await; // The tasks have to notice.
        }
    });
    waited.await.expect("the tasks end");
}

#[tokio::test]
async fn connections_end_with_the_client() {
    let peer = StandIn::start(|_| ok()).await;
    let client = client();
    client.send(post(&peer.uri("/"), "{}")).await.expect("an answer");
    peer.wait_open(1).await;
    drop(client);
    peer.wait_open(0).await;
}
