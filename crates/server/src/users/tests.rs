//! The rules of the users of a server, each with the mistake that it would catch.

use super::*;

/// The hash of `password`, cheap enough for many checks.
pub(super) const CHEAP: &str =
    "$argon2id$v=19$m=256,t=2,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4";

pub(super) fn entry(name: &str, hash: &str, roles: &[&str]) -> UserEntry {
    let roles = roles.iter().map(|&role| role.to_owned()).collect();
    UserEntry {
        name: name.to_owned(),
        password_hash: Some(hash.to_owned()),
        token_hash: None,
        roles,
    }
}

fn alice() -> Vec<UserEntry> {
    vec![entry("alice", CHEAP, &["read", "charge"])]
}

/// Users with only a token count among those who may authenticate; a default user that is off does not.
#[test]
fn who_comes_in_is_told_with_those_who_have_a_token_alone() {
    let token = |name: &str| UserEntry {
        password_hash: None,
        token_hash: Some(make_token().expect("a token").hash),
        ..entry(name, CHEAP, &["read"])
    };
    let said = |entries: &[UserEntry]| Users::new(None, entries).expect("users").in_words();
    assert_eq!(said(&[]), "without a password, with every role");
    assert_eq!(said(&[token("bob")]), "with the password or token of bob");
    let three = [alice().remove(0), token("bob"), entry("carol", CHEAP, &[])];
    assert_eq!(said(&three), "with the password or token of one of 3 users");
}

fn word() -> Option<Password> {
    Password::new("secret")
}

fn check(users: &Users, name: &[u8], password: &[u8]) -> Option<Arc<User>> {
    users.check(name, password, &mut Workspace::default())
}

/// Returns the name of the user that `judge` admits, or `check` where that is needed.
fn admits(users: &Users, name: &str, password: &str) -> Option<String> {
    let user = match users.judge(name.as_bytes(), password.as_bytes()) {
        NameCheck::Admitted(user) => Some(user),
        NameCheck::Refused => None,
        NameCheck::Unknown => check(users, name.as_bytes(), password.as_bytes()),
    };
    user.map(|user| format!("{}: {}", user.name, user.roles))
}

#[test]
fn without_settings_the_default_user_may_everything() {
    let users = Users::new(None, &[]).expect("no users are fine");
    assert!(users.is_open());
    let all = Some("default: read charge provision admin".to_owned());
    assert_eq!(admits(&users, "default", "anything"), all);
    assert_eq!(admits(&users, "alice", "password"), None);
    assert_eq!(users.computed(), 0);
}

#[test]
fn with_requirepass_the_default_user_needs_it() {
    for entries in [vec![], alice()] {
        let users = Users::new(word(), &entries).expect("good users");
        assert!(!users.is_open());
        assert_eq!(users.default_user().roles, Roles::ALL);
        let all = Some("default: read charge provision admin".to_owned());
        assert_eq!(admits(&users, "default", "secret"), all);
        assert_eq!(admits(&users, "default", "password"), None);
        assert_eq!(admits(&users, "alice", "secret"), None);
    }
}

#[test]
fn with_users_alone_the_default_user_is_off() {
    let users = Users::new(None, &alice()).expect("good users");
    assert!(!users.is_open());
    assert_eq!(users.default_user().roles, Roles::NONE);
    for password in ["", "password", "secret"] {
        assert_eq!(admits(&users, "default", password), None, "{password}");
    }
    assert_eq!(admits(&users, "alice", "password"), Some("alice: read charge".to_owned()));
    let all = users.all();
    let names: Vec<&str> = all.iter().map(|user| user.name.as_str()).collect();
    assert_eq!(names, ["default", "alice"]);
}

#[test]
fn the_default_user_can_have_an_entry() {
    let users = Users::new(None, &[entry("default", CHEAP, &["admin"])]).expect("good users");
    assert!(!users.is_open());
    assert_eq!(admits(&users, "default", "password"), Some("default: admin".to_owned()));
    assert_eq!(admits(&users, "default", "secret"), None);
    assert_eq!(users.all().len(), 1);
    let twice = Users::new(word(), &[entry("default", CHEAP, &[])]);
    assert!(matches!(twice, Err(UserError::DefaultTwice)));
}

#[test]
fn a_confirmed_password_costs_once_and_a_wrong_one_each_time() {
    let mut entries = alice();
    entries.push(entry("bob", CHEAP, &[]));
    let users = Users::new(None, &entries).expect("good users");
    for round in 1..=3 {
        assert_eq!(admits(&users, "alice", "wrong"), None);
        assert_eq!(users.computed(), round, "a failed guess is never remembered");
    }
    for _ in 0..5 {
        assert!(admits(&users, "alice", "password").is_some());
        assert_eq!(users.computed(), 4, "a confirmed password is known again");
    }
    // A check that waited in the queue meanwhile finds the pair confirmed.
    assert!(check(&users, b"alice", b"password").is_some());
    assert_eq!(users.computed(), 4);
    assert_eq!(admits(&users, "alice", "wrong"), None);
    assert_eq!(users.computed(), 5, "a confirmation confirms no other password");
    assert!(admits(&users, "bob", "password").is_some());
    assert_eq!(users.computed(), 6, "a confirmation confirms no other user");
}

#[test]
fn unknown_users_cost_what_known_ones_cost() {
    let users = Users::new(None, &alice()).expect("good users");
    for (count, name) in ["alice", "bob", "default", "", "ALICE", "alice "].iter().enumerate() {
        assert_eq!(admits(&users, name, "wrong"), None, "{name:?}");
        assert_eq!(users.computed(), count as u64 + 1, "{name:?}");
    }
    assert!(matches!(users.judge(b"\xff", b"x"), NameCheck::Unknown));
    assert!(check(&users, b"\xff", b"x").is_none());
    assert_eq!(users.computed(), 7);
    // Too long for any user: this reveals nothing about the name.
    assert_eq!(admits(&users, "alice", &"x".repeat(513)), None);
    assert_eq!(admits(&users, "bob", &"x".repeat(513)), None);
    assert_eq!(users.computed(), 7);
}

#[test]
fn wrong_entries_are_named() {
    let error = |entries: &[UserEntry]| Users::new(None, entries).expect_err("wrong").to_string();
    for name in ["", "a b", "a\n", "\u{fc}", &"x".repeat(65)] {
        let text = error(&[alice().remove(0), entry(name, CHEAP, &[])]);
        assert!(text.starts_with("users entry 2: the name"), "{text}");
    }
    assert!(Users::new(None, &[entry(&"x".repeat(64), CHEAP, &[])]).is_ok());
    let text = error(&[alice(), alice()].concat());
    assert_eq!(text, "user alice: the name is given twice: remove one of the entries");
    let text = error(&[entry("bob", CHEAP, &["read", "root"])]);
    assert_eq!(text, "user bob: \"root\" is not a role: use read, charge, provision, admin");
    let text = error(&[entry("bob", "secret", &["read"])]);
    assert!(text.starts_with("user bob: the password_hash is not an Argon2 hash"), "{text}");
    assert!(text.ends_with("make one with `scurry hash-password`"), "{text}");
    let many: Vec<UserEntry> =
        (0..=USERS_MAX).map(|number| entry(&format!("user{number}"), CHEAP, &[])).collect();
    assert_eq!(error(&many), "there are 1025 users: at most 1024 can be");
    assert!(Users::new(None, &many[1..]).is_ok());
}

#[test]
fn whoever_stays_the_same_is_the_same_user() {
    let before = [
        entry("alice", CHEAP, &["read"]),
        entry("bob", CHEAP, &["read"]),
        entry("carol", CHEAP, &["read", "charge"]),
        entry("dave", CHEAP, &["read"]),
    ];
    let users = Users::new(None, &before).expect("good users");
    let one = |name: &str| check(&users, name.as_bytes(), b"password").expect("it is right");
    let were = ["alice", "bob", "carol", "dave"].map(one);
    assert_eq!(users.computed(), 4);
    let other = CHEAP.replace("nf65", "nf66");
    let now = [
        entry("alice", CHEAP, &["read"]),
        entry("bob", &other, &["read"]),
        entry("carol", CHEAP, &["read"]),
        entry("erin", CHEAP, &["read"]),
    ];
    users.replace(Users::new(None, &now).expect("good users")).expect("nobody else comes in");
    let are = were.each_ref().map(|user| users.is_current(user));
    assert_eq!(are, [true, false, false, false], "alice, bob, carol, dave");
    assert_eq!(admits(&users, "alice", "password").as_deref(), Some("alice: read"));
    assert_eq!(users.computed(), 4, "her password is known");
    assert_eq!(admits(&users, "bob", "password"), None);
    assert_eq!(admits(&users, "carol", "password").as_deref(), Some("carol: read"));
    assert_eq!(admits(&users, "dave", "password"), None);
    assert_eq!(admits(&users, "erin", "password").as_deref(), Some("erin: read"));
}

#[test]
fn the_default_user_stays_while_its_word_does() {
    let users = Users::new(word(), &[]).expect("good users");
    let before = users.default_user();
    let replace =
        |word, entries: &[UserEntry]| users.replace(Users::new(word, entries).expect("good users"));
    replace(word(), &alice()).expect("it has a word");
    assert!(users.is_current(&before));
    replace(Password::new("another"), &alice()).expect("it has a word");
    assert!(!users.is_current(&before));
    let before = users.default_user();
    replace(None, &alice()).expect("alice has a password");
    assert!(!users.is_current(&before), "it is off");
    assert!(matches!(replace(None, &[]), Err(UserError::WouldOpen)));
    assert_eq!(admits(&users, "alice", "password").as_deref(), Some("alice: read charge"));
}
