//! The SCUR commands by which accounts go from one store to another.

use super::{BLANK, CommandId, ImageId, Memory, Role, Spec};
use scurry_ledger::Code::{Invalid, UnknownAccount};

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
        notes: "As the last commit left it: what has become due since is due wherever it is loaded.",
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
        codes: &[Invalid],
        example: "SCUR.LOAD alice bytes",
        notes: "BUSYKEY when the account exists, but for REPLACE. Bytes that are no image, and images that break an invariant of docs/ledger.md, are INVALID and change nothing. Loading the same account into two stores that serve makes units out of nothing: `scurry export` and `scurry import` say how to move.",
        ..MOVING
    },
];
