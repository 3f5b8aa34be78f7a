//! A node without a vote: it has everything and holds up no node, leads never, and shows what it has.

use super::nodes::{Client, Nodes};
use super::said::scurry;
use nix::sys::signal::Signal;
use std::path::Path;

/// Starts three nodes with a vote and one that observes. Returns them with the id of that one.
fn group() -> (Nodes, String) {
    let mut nodes = Nodes::start(3, 1);
    nodes.execute(&["SET", "key", "before"]);
    nodes.set_options(vec!["--observer".to_owned()]);
    nodes.begin_one_more();
    nodes.set_options(Vec::new());
    let id = nodes.until("it observes", || {
        let said = nodes.status(nodes.leader_of(&[0, 1, 2])?)?;
        let line = said.lines().find(|line| line.contains("observes=yes"))?;
        let id = line.split("id=").nth(1)?.split(',').next()?;
        Some(id.to_owned())
    });
    (nodes, id)
}

/// Returns the line of a member at the leader.
fn line_of(nodes: &Nodes, id: &str) -> Option<String> {
    let said = nodes.status(nodes.leader_of(&[0, 1, 2])?)?;
    said.lines().find(|line| line.contains(id) && line.starts_with("member")).map(str::to_owned)
}

/// Sets the key at the leader, whichever of the three it is.
fn set(nodes: &Nodes, value: &str) {
    nodes.until("it is set", || {
        let said = nodes.ask_node(nodes.leader_of(&[0, 1, 2])?, &["SET", "key", value])?;
        said.starts_with("+OK").then_some(())
    });
}

/// Waits until the observer shows this value.
fn shows(nodes: &Nodes, value: &str) {
    let mut client = nodes.until("it listens", || Client::connect(nodes.thread_port(3)));
    client.ask(&["READONLY"]).expect("an answer");
    nodes.until("it shows the value", || {
        client.ask(&["GET", "key"]).ok().filter(|said| said.contains(value)).map(drop)
    });
}

#[test]
fn an_observer_has_everything_and_never_a_vote() {
    let (mut nodes, id) = group();
    shows(&nodes, "before");
    nodes.execute(&["SET", "key", "after"]);
    shows(&nodes, "after");
    nodes.until("it has caught up", || line_of(&nodes, &id).filter(|it| it.contains("lag=0")));
    // A node that has caught up would have got a vote by now: this is a change of members, and the next one.
    let said = nodes.execute(&["SCUR.REPLICA", "STATUS"]);
    assert!(said.contains("can_lose_a_node:yes"), "{said}");
    let line = line_of(&nodes, &id).expect("it is a member");
    assert!(line.contains("votes=no,observes=yes"), "{line}");
    assert!(nodes.number(3, "age_ms").is_some_and(|age| age < 5_000));
    // It is asked in vain to lead.
    let said = nodes.until("an answer", || {
        nodes.ask_node(nodes.leader_of(&[0, 1, 2])?, &["SCUR.REPLICA", "TRANSFER", &id])
    });
    assert!(said.contains("it has no vote, and cannot lead"), "{said}");
    // It is restarted, and still observes; without the option it would get a vote.
    nodes.set_options(vec!["--observer".to_owned()]);
    nodes.stop(3);
    nodes.start_again(3);
    nodes.execute(&["SET", "key", "again"]);
    shows(&nodes, "again");
    let line = nodes
        .until("it observes", || line_of(&nodes, &id).filter(|line| line.contains("observes=yes")));
    assert!(line.contains("votes=no"), "{line}");
    nodes.set_options(Vec::new());
    nodes.stop(3);
    nodes.start_again(3);
    nodes.until("it gets a vote", || {
        line_of(&nodes, &id).filter(|line| line.contains("votes=yes,observes=no"))
    });
}

#[test]
fn no_node_waits_for_an_observer_that_stands_still() {
    let (nodes, id) = group();
    shows(&nodes, "before");
    nodes.signal(3, Signal::SIGSTOP);
    for number in 0..200 {
        set(&nodes, &number.to_string());
    }
    let said = nodes.status(nodes.leader_of(&[0, 1, 2]).expect("one leads")).expect("an answer");
    assert!(said.contains("can_lose_a_node:yes"), "{said}");
    assert!(line_of(&nodes, &id).is_some_and(|line| line.contains("votes=no,observes=yes")));
    // Two of the three with a vote are enough, and the observer is none of them.
    let leader = nodes.leader_of(&[0, 1, 2]).expect("one leads");
    nodes.signal((leader + 1) % 3, Signal::SIGKILL);
    set(&nodes, "by two");
    nodes.signal(3, Signal::SIGCONT);
    shows(&nodes, "by two");
    assert!(line_of(&nodes, &id).is_some_and(|line| line.contains("votes=no")));
}

/// All nodes have known digests once, so one that is dead holds up none, whichever node leads and since when.
#[test]
fn memory_is_compared_while_an_observer_is_dead_and_all_others_were_restarted() {
    let (mut nodes, _) = group();
    shows(&nodes, "before");
    nodes.stop(3);
    for node in 0..3 {
        nodes.stop(node);
        nodes.start_again(node);
        nodes.until("it has a leader", || {
            nodes
                .status(node)
                .filter(|said| said.contains("serves=yes") || said.contains("role=follower"))
        });
    }
    set(&nodes, "after");
    let leader = nodes.until("one leads", || nodes.leader_of(&[0, 1, 2]));
    let committed = nodes.until("it says what is committed", || nodes.number(leader, "committed"));
    nodes.until("memory is compared after that", || {
        let said = nodes.status(nodes.leader_of(&[0, 1, 2])?)?;
        assert!(said.contains("protocol:6\r\n"), "{said}");
        let compared = |node| nodes.number(node, "compared").is_some_and(|at| at > committed);
        (0..3).all(compared).then_some(())
    });
}

/// Makes a store of what a node has. Returns the value of `--succeeds` that is shown for its group.
fn restore(directory: &Path, to: &Path) -> String {
    let [directory, to] = [directory, to].map(|path| path.to_str().expect("text"));
    let said = scurry(&["restore", directory, "--to", to, "--uncommitted"]).well();
    let lost = said.split("--succeeds ").nth(1).expect("it shows the lost group");
    lost.split_whitespace().next().expect("a word").to_owned()
}

/// The three with a vote are lost: the runbook, as it is typed.
#[test]
fn a_group_is_made_of_what_an_observer_has() {
    let (mut nodes, _) = group();
    set(&nodes, "kept");
    shows(&nodes, "kept");
    for node in 0..3 {
        nodes.signal(node, Signal::SIGKILL);
    }
    let (observer, restored) = (nodes.stop(3), nodes.directory_of(9));
    let lost = restore(&observer, &restored);
    for node in 0..3 {
        assert!(lost.contains(&nodes.peer_address(node)), "{lost}");
    }
    let options = vec!["--succeeds".to_owned(), lost];
    let again = Nodes::start_from_with(&restored, 3, 1, options);
    assert_eq!(again.execute(&["GET", "key"]), "$kept");
    again.execute(&["SET", "key", "goes on"]);
    again.until("it can lose a node", || {
        again.status(again.leader())?.contains("can_lose_a_node:yes").then_some(())
    });
    again.until("it says what is missing", || {
        again.log(0).contains("this node has not reached nodes of the lost group").then_some(())
    });
    // The old machines come back: each ends for good, also one alone, and no start uses its directory again.
    nodes.set_options(Vec::new());
    for node in [2, 0, 1] {
        nodes.start_again(node);
        nodes.until("it ends for good", || {
            nodes.log(node).contains("this node stops for good").then_some(())
        });
        let reason = std::fs::read_to_string(nodes.directory_of(node).join("RETIRED"));
        assert!(reason.expect("a reason").contains("was begun in the place of this one"));
        let told = format!("{} is told, and has ended for good", nodes.peer_address(node));
        again.until("a node says so", || {
            (0..3).any(|node| again.log(node).contains(&told)).then_some(())
        });
    }
    assert_eq!(again.execute(&["GET", "key"]), "$goes on");
}

/// A group that is told the store of another one goes on, and the other is told nothing.
#[test]
fn a_group_is_not_ended_by_one_that_succeeds_another() {
    let nodes = Nodes::start(3, 1);
    let others: Vec<String> = (0..3).map(|node| nodes.peer_address(node)).collect();
    let lost = format!("00000000000000a7@{}", others.join(","));
    let other = Nodes::start_with(1, 1, vec!["--succeeds".to_owned(), lost]);
    other.until("it is refused", || other.log(0).contains("they are of two groups").then_some(()));
    nodes.execute(&["SET", "key", "goes on"]);
    assert!((0..3).all(|node| !nodes.directory_of(node).join("RETIRED").exists()));
}

#[test]
fn a_node_with_a_vote_is_no_observer() {
    let mut nodes = Nodes::start(3, 1);
    nodes.stop(2);
    nodes.set_options(vec!["--observer".to_owned()]);
    nodes.start_again(2);
    nodes.until("it is refused", || {
        nodes
            .log(2)
            .contains("has a vote, and --observer is for one that never gets it")
            .then_some(())
    });
}

/// One of a living group is told that its own group is lost: it does not start, and ends no other.
#[test]
fn a_group_does_not_take_its_own_place() {
    let mut nodes = Nodes::start(3, 1);
    nodes.execute(&["SET", "key", "before"]);
    let directory = nodes.stop(2);
    let lost = restore(&directory, &nodes.directory_of(9));
    nodes.set_options(vec!["--succeeds".to_owned(), lost]);
    nodes.start_again(2);
    let words = "is of the group";
    nodes.until("it is refused", || nodes.log(2).contains(words).then_some(()));
    // Nor does an empty one that joins.
    nodes.start_anew(2);
    nodes.until("it is refused again", || (nodes.log(2).matches(words).count() > 1).then_some(()));
    assert!((0..2).all(|node| !nodes.directory_of(node).join("RETIRED").exists()));
    nodes.execute(&["SET", "key", "after"]);
    nodes.set_options(Vec::new());
    nodes.start_again(2);
    nodes.wait_for_all();
}

/// The new group begins at the address of the observer, where a node of the lost group looks for that.
#[test]
fn a_new_group_does_not_yield_to_the_lost_one() {
    let (mut nodes, _) = group();
    shows(&nodes, "before");
    for node in 0..3 {
        nodes.signal(node, Signal::SIGKILL);
    }
    let (observer, restored) = (nodes.stop(3), nodes.directory_of(9));
    let lost = restore(&observer, &restored);
    // One old node is up and looks for the observer.
    nodes.start_again(0);
    nodes.set_options(vec!["--succeeds".to_owned(), lost]);
    std::fs::remove_dir_all(&observer).expect("it is removed");
    std::fs::rename(&restored, &observer).expect("it is moved");
    super::nodes::begin_in(&observer);
    nodes.start_again(3);
    nodes.until("the new group serves", || nodes.leader_of(&[3]));
    nodes.until("the old node ends", || {
        nodes.log(0).contains("this node stops for good").then_some(())
    });
    nodes.set_options(Vec::new());
    nodes.start_again(0);
    let said = nodes.until("it does not start", || {
        let log = nodes.log(0);
        let after = log.rsplit_once("this node stops for good")?.1.to_owned();
        after.contains("was begun in the place of this one, whose nodes").then_some(after)
    });
    assert!(!said.contains("the other nodes have what it had acknowledged"), "{said}");
    assert!(nodes.ask_node(3, &["GET", "key"]).is_some_and(|said| said.contains("before")));
}
