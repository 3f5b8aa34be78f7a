//! Requests as they arrive: whole, in pieces, several in a row, and malformed.

use proptest::prelude::*;
use scurry_resp::{Parsed, Parser, RequestLimits};

type Command = Vec<Vec<u8>>;

/// Feeds the input in pieces of these lengths, repeated as needed, as a connection would, in batches whose size depends
/// on the length of the piece. Returns the commands that have arguments, then the error if there was one.
fn feed(input: &[u8], pieces: &[usize], limits: &RequestLimits) -> (Vec<Command>, Option<String>) {
    let (mut parser, mut commands) = (Parser::default(), Vec::new());
    let (mut start, mut end) = (0, 0);
    for piece in pieces.iter().cycle() {
        end = input.len().min(end + (*piece).max(1));
        loop {
            let mut at = start;
            let parsed = loop {
                match parser.parse(&input[at..end], limits, true) {
                    Parsed::Request(len) => {
                        at += len;
                        assert!(len > 0 && at <= end, "consumed what was there");
                        if parser.found() == piece % 7 + 1 || parser.is_full() {
                            break Parsed::Request(len);
                        }
                    }
                    other => break other,
                }
            };
            for index in 0..parser.found() {
                let args = parser.args(&input[start..end], index);
                if !args.is_empty() {
                    commands.push(args.iter_from(0).map(<[u8]>::to_vec).collect());
                }
            }
            if let Some(last) = parser.found().checked_sub(1) {
                assert_eq!(start + parser.end(last), at);
            }
            parser.forget();
            start = at;
            match parsed {
                Parsed::Request(_) => {}
                Parsed::Incomplete(missing) => {
                    assert!(missing > 0);
                    break;
                }
                Parsed::Error(error) => return (commands, Some(error.to_string())),
            }
        }
        if end == input.len() {
            break;
        }
    }
    (commands, None)
}

#[test]
fn a_batch_that_was_not_executed_in_full_is_parsed_again() {
    let input = b"*1\r\n$1\r\na\r\n*2\r\n$1\r\nb\r\n$1\r\nc\r\n*1\r\n$9\r\npart";
    let (mut parser, limits) = (Parser::default(), RequestLimits::default());
    let mut at = 0;
    while let Parsed::Request(len) = parser.parse(&input[at..], &limits, true) {
        at += len;
    }
    assert_eq!((parser.found(), parser.end(0), parser.end(1)), (2, 11, 29));
    assert_eq!(parser.args(input, 1).iter_from(0).collect::<Vec<_>>(), [b"b", b"c"]);
    // Only the first one was executed.
    let rest = &input[parser.end(0)..];
    parser.restart();
    assert_eq!(parser.parse(rest, &limits, true), Parsed::Request(18));
    assert_eq!(parser.args(rest, 0).iter_from(0).collect::<Vec<_>>(), [b"b", b"c"]);
    assert!(parser.args(rest, 1).is_empty());
}

fn whole(input: &[u8]) -> (Vec<Command>, Option<String>) {
    feed(input, &[input.len()], &RequestLimits::default())
}

fn encode(commands: &[Command], inline: &[bool]) -> Vec<u8> {
    let mut out = Vec::new();
    for (command, inline) in commands.iter().zip(inline.iter().cycle()) {
        let plain = |arg: &Vec<u8>| !arg.is_empty() && arg.iter().all(u8::is_ascii_alphanumeric);
        if *inline && command.iter().all(plain) {
            out.extend_from_slice(&command.join(&b' '));
            out.extend_from_slice(b"\r\n");
            continue;
        }
        out.extend_from_slice(format!("*{}\r\n", command.len()).as_bytes());
        for arg in command {
            out.extend_from_slice(format!("${}\r\n", arg.len()).as_bytes());
            out.extend_from_slice(arg);
            out.extend_from_slice(b"\r\n");
        }
    }
    out
}

fn argument() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        "[a-zA-Z0-9]{1,12}".prop_map(String::into_bytes),
        proptest::collection::vec(any::<u8>(), 0..40)
    ]
}

proptest! {
    #[test]
    fn any_split_gives_the_same_commands(
        commands in proptest::collection::vec(proptest::collection::vec(argument(), 1..14), 0..12),
        inline in proptest::collection::vec(any::<bool>(), 1..5),
        pieces in proptest::collection::vec(1usize..60, 1..20),
    ) {
        let input = encode(&commands, &inline);
        prop_assert_eq!(whole(&input), (commands.clone(), None));
        prop_assert_eq!(feed(&input, &pieces, &RequestLimits::default()), (commands.clone(), None));
        prop_assert_eq!(feed(&input, &[1], &RequestLimits::default()), (commands, None));
    }

    #[test]
    fn random_bytes_never_panic_and_splits_do_not_matter(
        input in proptest::collection::vec(prop_oneof![
            any::<u8>(), Just(b'*'), Just(b'$'), Just(b'\r'), Just(b'\n'), b'0'..=b'9', Just(b'"'), Just(b'-'),
        ], 0..200),
        pieces in proptest::collection::vec(1usize..30, 1..10),
    ) {
        let limits = RequestLimits { argument_len_max: 64, inline_len_max: 32, ..RequestLimits::default() };
        prop_assert_eq!(feed(&input, &pieces, &limits).0, feed(&input, &[input.len()], &limits).0);
    }
}

#[test]
fn errors_in_the_words_of_redis() {
    for (input, error) in [
        ("*x\r\n", "invalid multibulk length"),
        ("*1048577\r\n", "invalid multibulk length"),
        ("*99999999999999999999\r\n", "invalid multibulk length"),
        ("*01\r\n", "invalid multibulk length"),
        ("*+1\r\n", "invalid multibulk length"),
        ("*1\rx", "invalid multibulk length"),
        ("*111111111111111111111111111111111111", "too big mbulk count string"),
        ("*1\r\n:1\r\n", "expected '$', got ':'"),
        ("*1\r\n\r\n", "expected '$', got '\\r'"),
        ("*1\r\n$-1\r\n", "invalid bulk length"),
        ("*1\r\n$x\r\n", "invalid bulk length"),
        (
            "*1\r\n$8388609\r\n",
            "invalid bulk length: an argument of 8388609 bytes is longer than 8388608 (--max-argument)",
        ),
        ("*1\r\n$3\r\nabcd\r\n", "invalid CRLF in request"),
        ("*1\r\n$00000000000000000000000000000000", "too big bulk count string"),
        ("get \"a\r\n", "unbalanced quotes in request"),
        ("get \"a\"b\r\n", "unbalanced quotes in request"),
    ] {
        let expected = Some(format!("Protocol error: {error}"));
        assert_eq!(whole(input.as_bytes()), (Vec::new(), expected.clone()), "{input:?}");
        let bytewise = feed(input.as_bytes(), &[1], &RequestLimits::default());
        assert_eq!(bytewise, (Vec::new(), expected), "{input:?} byte by byte");
    }
}

#[test]
fn nothing_is_a_request_without_arguments() {
    assert_eq!(whole(b"\r\n\n*0\r\n*-1\r\n  \r\nPING\r\n"), (vec![vec![b"PING".to_vec()]], None));
}

#[test]
fn bounds_hold_at_their_edges() {
    let limits = RequestLimits {
        arguments_max: 3,
        argument_len_max: 8,
        request_len_max: 40,
        inline_len_max: 16,
    };
    let fed = |input: &[u8]| feed(input, &[input.len()], &limits);
    assert_eq!(fed(b"*3\r\n$1\r\na\r\n$1\r\nb\r\n$1\r\nc\r\n").1, None);
    assert!(fed(b"*4\r\n").1.expect("too many").ends_with("invalid multibulk length"));
    assert_eq!(fed(b"*1\r\n$8\r\n12345678\r\n").1, None);
    assert!(
        fed(b"*1\r\n$9\r\n")
            .1
            .expect("too long")
            .ends_with("9 bytes is longer than 8 (--max-argument)")
    );
    assert!(
        fed(b"*3\r\n$8\r\n12345678\r\n$8\r\n12345678\r\n$8\r\n")
            .1
            .expect("too much")
            .ends_with("too big request: longer than 40 bytes (--max-request)")
    );
    assert_eq!(fed(b"ping 1234567890\r\n").1, None);
    assert!(
        fed(b"ping 1234567890123\r\n").1.expect("too long").ends_with("too big inline request")
    );
    assert!(fed(b"ping 1234567890123").1.expect("too long").ends_with("too big inline request"));
}

/// Parsing the request again from its start with each piece would take hours here.
#[test]
fn a_long_request_costs_its_length_in_any_pieces() {
    let command: Command = vec![b"x".to_vec(); 200_000];
    let input = encode(std::slice::from_ref(&command), &[false]);
    assert!(feed(&input, &[1], &RequestLimits::default()) == (vec![command], None));
    let line = [&vec![b'x'; 60_000][..], b"\r\n"].concat();
    let (commands, error) = feed(&line, &[1], &RequestLimits::default());
    assert_eq!((commands[0][0].len(), error), (60_000, None));
}

#[test]
fn before_auth_requests_are_small() {
    let limits = RequestLimits::default();
    let parse = |input: &[u8]| Parser::default().parse(input, &limits, false);
    let error = |parsed| match parsed {
        Parsed::Error(error) => error.to_string(),
        other => format!("{other:?}"),
    };
    assert_eq!(error(parse(b"*11\r\n")), "Protocol error: unauthenticated multibulk length");
    assert_eq!(error(parse(b"*1\r\n$16385\r\n")), "Protocol error: unauthenticated bulk length");
    assert!(matches!(parse(b"*10\r\n$16000\r\n"), Parsed::Incomplete(_)));
}
