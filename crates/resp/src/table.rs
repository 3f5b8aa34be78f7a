//! THE command table: name, arity, key, flags, grammar, reply, errors, since. It feeds the
//! server's dispatch, COMMAND DOCS and COMMAND INFO, the reference page and the conformance checker.

/// One command, or one subcommand of a container.
#[derive(Debug)]
pub struct Spec {
    /// Upper case; a subcommand is `CONTAINER SUB`.
    pub name: &'static str,
    /// As Redis counts it: the name included; negative means at least.
    pub arity: i32,
    /// Redis command flags.
    pub flags: &'static [&'static str],
    /// First key, last key, step, as in COMMAND INFO; 0,0,0 for none.
    pub keys: (i32, i32, i32),
    /// Group in COMMAND DOCS.
    pub group: &'static str,
    /// One sentence.
    pub summary: &'static str,
    /// Term of the field, empty where there is none.
    pub term: &'static str,
    /// Arguments after the name.
    pub grammar: &'static str,
    /// The reply.
    pub reply: &'static str,
    /// Names of result codes it can answer, in order of precedence; OK is not listed.
    pub codes: &'static [&'static str],
    /// First version that had it.
    pub since: &'static str,
}
