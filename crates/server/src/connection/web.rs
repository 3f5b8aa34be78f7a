//! HTTP on a RESP port. Any web page can make a browser send a POST to any port that the browser
//! reaches, with a body of the page's choice. RESP would answer the lines of its head with errors and
//! execute its body, so what looks like the head closes the connection, as in Redis and Valkey.

use scurry_resp::Args;

/// Words that close a connection wherever a command should be: Valkey's. No command has such a name.
const WORDS: [&[u8]; 2] = [b"POST", b"Host:"];

/// True for a request that is a line of HTTP; `inline` when it is a line at all. A request line ends
/// with the version, whatever its method is: GET is also the name of a command, and others may become
/// one. No value of ours begins like that when it is typed by hand.
#[cold]
pub(crate) fn is_http(args: Args<'_>, inline: bool) -> bool {
    let name = args.at(0);
    if WORDS.iter().any(|word| name.eq_ignore_ascii_case(word)) {
        return true;
    }
    inline && args.len() == 3 && args.at(2).get(..5).is_some_and(|begin| begin == b"HTTP/")
}
