//! The SCUR commands on the store as a whole, which need its files.

use super::{BLANK, CommandId, Role, Spec, Spread, StoreId};
use scurry_ledger::Code::Invalid;

const STORE: Spec = Spec { group: "store", ..BLANK };

pub(super) const COMMANDS: &[Spec] = &[
    Spec {
        id: CommandId::Store(StoreId::Find),
        name: "SCUR.FIND",
        spread: Spread::EveryFound,
        role: Role::Read,
        arity: -3,
        flags: &["readonly"],
        summary: "Finds the accounts that have an identity now, or the one to which a session belongs.",
        term: "look-up by MSISDN, IMSI",
        grammar: "kind value [SESSION session]",
        reply: "[more, accounts]; with SESSION [standing, given_up_at] of the one account; more is 1 when there are more than the 16 that are listed, else 0",
        codes: &[Invalid],
        example: "SCUR.FIND msisdn 41791234567",
        notes: "The accounts come in the order of their ids; of more than 16 it is not said which are listed.\n\
                SESSION is for UPDATE, TERMINATE and RELEASE where a client names the account by an identity that may have\n\
                moved to another account since the session was opened. It answers one account or none: of those that have\n\
                the identity or gave it up (SCUR.GET shows both) the one that has the session open (standing: open) or\n\
                remembers it (ended); else the one that gave the identity up last (former); else one that has it\n\
                (present). given_up_at is nil for an account that has the identity. Ask without SESSION for a RESERVE.\n\
                `--unique-identities` sees to it that there is one at most: CREATE, STATUS\n\
                and SCUR.LOAD that would give a second account the same identity of such a kind are IDENTITY_EXISTS\n\
                then. On several threads the command asks every thread, and each of them looks in its own index; what\n\
                one thread commits while another is asked may be in the reply or not. In a cluster a server answers\n\
                for the accounts that it keeps: ask every one. A node of Valkey or Redis has no such index, and\n\
                answers with an error.",
        ..STORE
    },
    Spec {
        id: CommandId::Store(StoreId::List),
        name: "SCUR.LIST",
        spread: Spread::Special,
        role: Role::Read,
        arity: -2,
        flags: &["readonly"],
        summary: "Lists the accounts with their status and version, in steps.",
        term: "list of accounts",
        grammar: "cursor [COUNT n] [PREFIX p] [STATUS active|suspended|closed]",
        reply: "[cursor, accounts], accounts = array of [account, status, version]; the cursor is 0 at the end",
        codes: &[Invalid],
        example: "SCUR.LIST 0 COUNT 100 PREFIX tenant-7: STATUS active",
        notes: "A walk begins with the cursor 0 and goes on with the cursor of the reply. It lists every account that is\n\
                there from its first step to its last, once on `scurry serve`, at least once on a node of Valkey or\n\
                Redis. An account that is created or deleted meanwhile may be listed or not. A step looks at about\n\
                COUNT keys of any kind (10 unless COUNT says otherwise; a COUNT above 1000 is taken as 1000), so it may\n\
                list fewer accounts, and none. Status and version are those of the moment of the step. On several\n\
                threads a step is one thread's, and the cursor goes on to the next one. In a cluster a node lists the\n\
                accounts that it keeps: ask every primary. `SCAN cursor TYPE scurryacc` lists the ids alone.",
        ..STORE
    },
    Spec {
        id: CommandId::Store(StoreId::Snapshot),
        name: "SCUR.SNAPSHOT",
        spread: Spread::EverySuccess,
        role: Role::Admin,
        arity: 1,
        flags: &["admin", "noscript"],
        summary: "Begins a snapshot, which is written while the server serves.",
        term: "backup",
        grammar: "",
        reply: "OK when it is begun; INFO persistence says when it is written (snapshot_in_progress, snapshots_written, snapshots_failed)",
        codes: &[],
        example: "SCUR.SNAPSHOT",
        notes: "The answer is an error when a snapshot is being written already, or when the server keeps no log. A node\n\
                of Valkey or Redis answers with an error: use BGSAVE and BGREWRITEAOF there.",
        ..STORE
    },
    Spec {
        id: CommandId::Store(StoreId::Watch),
        name: "SCUR.WATCH",
        spread: Spread::Special,
        role: Role::Read,
        arity: -2,
        flags: &["readonly", "blocking"],
        summary: "Reads what was committed, from a position on: each change of a balance, each expiry, each crossing of a threshold.",
        term: "event stream, notification",
        grammar: "position [THREAD n] [COUNT n] [BLOCK ms] [LOW unit amount]... [EVENT name]... [ACCOUNT account]",
        reply: "map of: store, next, oldest, end, events\n\
                events: array of [id, [field, value, ...]]",
        codes: &[Invalid],
        example: "SCUR.WATCH 0 COUNT 100 BLOCK 5000 LOW cent 200",
        notes: "The position is 0 (the oldest that is kept), $ (everything from now on) or the next of an earlier reply.\n\
                With several threads each thread has events of its own: THREAD chooses one; without THREAD a thread's\n\
                own port means that thread, and ACCOUNT means the thread of the account. docs/events.md describes the\n\
                events. The answer is an error when the server keeps no log, and on a node of Valkey or Redis, which\n\
                keeps none.",
        ..STORE
    },
    Spec {
        id: CommandId::Store(StoreId::Statement),
        name: "SCUR.STATEMENT",
        keys: (1, 1, 1),
        spread: Spread::Log,
        role: Role::Read,
        arity: -2,
        flags: &["readonly"],
        summary: "Shows what has happened to an account in a period, from the log, in steps.",
        term: "statement of account",
        grammar: "account [FROM ms] [TO ms] [UNIT unit] [TRANSACTION txn] [SESSION session] [COUNT n] [CURSOR position] [REV]",
        reply: "map of: account, next (nil at the end), complete, kept_from (nil while the log has no commit), looked, \
                reached (nil without any), entries\n\
                entries: array of [position, [field, value, ...]], as the events of SCUR.WATCH",
        codes: &[Invalid],
        example: "SCUR.STATEMENT alice FROM 1700000000000 UNIT cent COUNT 50",
        notes: "FROM is the first moment of the period and TO the first one behind it. UNIT leaves out what is of\n\
                another unit. TRANSACTION shows one transaction alone, and its answer as the last entry, also when it was\n\
                denied; SESSION shows one session alone, also one that has ended. A reply goes through a part of the log: go on with its next as CURSOR, and with the same\n\
                options, until that is nil. REV begins at the newest entry and goes on towards the oldest: the last\n\
                entries of an account come first, however long the log is. looked is how many commits of the thread the\n\
                reply went through, and reached the time of the last of them. It never waits for anything to happen.\n\
                complete is 0 when entries of the\n\
                period, or behind the cursor, are not kept any more; kept_from is the time of the oldest that is kept.\n\
                docs/events.md describes entries and bounds. CLIENT TRACKING does not track what is read so, and MULTI\n\
                does not take it. An account that there is not has no entries, and is no error: one that was deleted is\n\
                in the log. The answer is an error when the server keeps no log, and on a node of Valkey or Redis,\n\
                which keeps none.",
        ..STORE
    },
];
