//! The SCUR commands that move accounts from one store to another.

use super::{BLANK, CommandId, ImageId, Memory, Role, Spec};
use scurry_ledger::Code::{IdentityExists, Invalid, UnknownAccount};

const MOVING: Spec = Spec { group: "store", role: Role::Admin, keys: (1, 1, 1), ..BLANK };

pub(super) const COMMANDS: &[Spec] = &[
    Spec {
        id: CommandId::Image(ImageId::Dump),
        name: "SCUR.DUMP",
        arity: 2,
        flags: &["readonly", "admin", "fast"],
        summary: "Shows the whole account as bytes, for SCUR.LOAD: buckets, sessions, counters, and all that is remembered.",
        term: "export",
        grammar: "account",
        reply: "the account image, docs/formats/account-image.md; its first byte is its version",
        codes: &[Invalid, UnknownAccount],
        example: "SCUR.DUMP alice",
        notes: "The bytes show the account as the last commit left it: expiries that have become due since are due\n\
                wherever the account is loaded. Those of a busy account may be longer than `--max-argument`\n\
                (8 MB by default, some 160,000 transactions): see SCUR.LOAD.",
        ..MOVING
    },
    Spec {
        id: CommandId::Image(ImageId::Load),
        name: "SCUR.LOAD",
        arity: -3,
        flags: &["write", "admin"],
        memory: Memory::Taken,
        summary: "Takes an account from the bytes of SCUR.DUMP.",
        term: "import",
        grammar: "account image [REPLACE]",
        reply: "OK",
        codes: &[Invalid, IdentityExists],
        example: "SCUR.LOAD alice bytes",
        notes: "The answer is BUSYKEY when the account exists, unless REPLACE is given. Bytes that are no image, and\n\
                images that break an invariant of docs/ledger.md, are INVALID and change nothing. Whoever loads one\n\
                account into two stores that serve makes units out of nothing: `scurry export` and `scurry import`\n\
                say how to move. An image longer than `--max-argument` is an error and the end of the connection:\n\
                raise that option on the server that loads, and `--max-request` above the length of the image.",
        ..MOVING
    },
];
