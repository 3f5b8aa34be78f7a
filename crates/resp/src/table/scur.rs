//! The SCUR commands: their table entries. Their rules are in docs/ledger.md.

use super::{
    BLANK, CommandId, Memory, Role, ScurChainId, ScurReadId, ScurWriteId, Spec, Spread, StoreId,
};
use scurry_ledger::Code::{
    AccountExists, BucketExpired, Busy, ChainDenied, CreditLimitReached, IdentityExists, Invalid,
    NotApplicable, NotEmpty, OutOfWindow, Overflow, RequestMismatch, ServiceDenied, SessionExists,
    UnknownAccount, UnknownBucket, UnknownLimit, UnknownSession, UnknownTransaction,
    VersionConflict,
};

const WRITE: &[&str] = &["write", "fast"];
const WRITE_MOVING: &[&str] = &["write", "fast", "movablekeys"];
const READ: &[&str] = &["readonly", "fast"];
const READ_LONG: &[&str] = &["readonly"];

const DELETED_REPLY: &str = "[code, version]; with IFTXN [code, version, replayed]";
const REMEMBERED_REPLY: &str = "[code, version]; with TXN [code, version, replayed]";
const AMOUNT_REPLY: &str = "[code, replayed, version, amount]";
/// Reply of commands that can be denied.
const DENIED_AMOUNT_REPLY: &str =
    "[code, replayed, version, amount], and cause and allowed_at where it is denied";
const SESSION_REPLY: &str = "[code, replayed, version, items], and cause and allowed_at where a request without items is denied\n\
    items: array of [key, code, granted, final, uncollected], and cause and allowed_at where the item is denied\n\
    final: 0; where less was granted than requested 1 (nothing is left but this) or 2 (other items hold the rest)";
const RELEASE_REPLY: &str = "[code, replayed, version, items], with no items";
const TRANSFER_REPLY: &str = "[code, replayed, amount, state], and cause and allowed_at where it is denied\n\
    state: in_transit, arrived or denied";
const CHAIN_REPLY: &str = "[code, replayed, denied, replies]\n\
    replies: array of the reply of each command";

const BASE: Spec = Spec { keys: (1, 1, 1), group: "scur", ..BLANK };

pub(super) const COMMANDS: &[Spec] = &[
    Spec {
        id: CommandId::ScurWrite(ScurWriteId::Create),
        name: "SCUR.CREATE",
        role: Role::Provision,
        arity: -2,
        flags: WRITE,
        memory: Memory::ForNew,
        summary: "Creates an account, with its first buckets and their first credit.",
        term: "provisioning",
        grammar: "account [TXN txn] [STATUS active|suspended] [IDENTITY kind value]... [BUCKET bucket unit amount [PRIORITY n] [FROM ms] [TO ms] [FLOOR n] [MARK n] [PERIOD period] [OFFSET minutes] [ZONE zone] [BEGIN n] [AMOUNT n] [ROLLOVER n] [DEBT net|carry|forgive] [ITEM key]...]...",
        reply: REMEMBERED_REPLY,
        codes: &[Invalid, AccountExists, RequestMismatch, Overflow, IdentityExists],
        notes: "A bucket with a PERIOD is refilled to AMOUNT, or to its first credit, when a period begins. PERIOD is none, minute,\n\
                hour, day, week, month, quarter, year, or a number of minutes, hours or days, as 90m, 5h or 30d. Its clocks\n\
                are OFFSET minutes ahead of UTC, or those of a ZONE of the IANA database, as Europe/Berlin. It begins at\n\
                BEGIN: of a day an hour 0 to 23, of a week a weekday 1 (Monday) to 7, of a month, quarter or year a day 1 to 31\n\
                (of a shorter month the last). At most ROLLOVER unused units stay when a period ends; the rest expires. A DEBT\n\
                is paid by the refill (net), stays until other credit pays it (carry), or is written off (forgive). With TXN a retry gets the stored answer, as long as the account is not deleted.\n\
                Without it a retry gets ACCOUNT_EXISTS, which does not tell whether the first attempt or somebody else made\n\
                the account: give a TXN.",
        example: "SCUR.CREATE alice BUCKET main cent 1000 BUCKET data octet 5000000 PRIORITY 1 FLOOR -100",
        ..BASE
    },
    Spec {
        id: CommandId::ScurWrite(ScurWriteId::Status),
        name: "SCUR.STATUS",
        role: Role::Provision,
        arity: -3,
        flags: WRITE,
        summary: "Sets the status of an account and its identities; an empty value removes an identity, closed is final.",
        term: "provisioning",
        grammar: "account active|suspended|closed [TXN txn] [IDENTITY kind value]...",
        reply: REMEMBERED_REPLY,
        codes: &[Invalid, UnknownAccount, RequestMismatch, NotApplicable, Busy, IdentityExists],
        example: "SCUR.STATUS alice active",
        ..BASE
    },
    Spec {
        id: CommandId::ScurWrite(ScurWriteId::Delete),
        name: "SCUR.DELETE",
        role: Role::Provision,
        arity: -2,
        flags: WRITE,
        summary: "Deletes a closed and empty account; FORCE does not wait until remembered ids are forgotten.",
        term: "provisioning",
        grammar: "account [FORCE] [IFTXN txn]",
        reply: DELETED_REPLY,
        codes: &[Invalid, UnknownAccount, UnknownTransaction, NotEmpty],
        notes: "There is no TXN: what would remember it is deleted. IFTXN makes DELETE FORCE repeatable: it deletes the account\n\
                that remembers this transaction, such as the TXN of the SCUR.STATUS that closed it, and is OK with version 0\n\
                if there is no account. One that somebody has made again meanwhile stays: UNKNOWN_TRANSACTION. Without IFTXN\n\
                a retry of a command that was carried out gets UNKNOWN_ACCOUNT.",
        example: "SCUR.DELETE bob FORCE",
        example_needs: &["SCUR.CREATE bob", "SCUR.STATUS bob closed"],
        ..BASE
    },
    Spec {
        id: CommandId::ScurWrite(ScurWriteId::TopUp),
        name: "SCUR.TOPUP",
        role: Role::Provision,
        arity: -5,
        flags: WRITE,
        memory: Memory::ForNew,
        summary: "Credits a bucket, after debts of its unit; creates it when UNIT is given and there is none. Amount: available afterwards.",
        term: "refill",
        grammar: "account txn bucket amount [UNIT unit] [PRIORITY n] [FROM ms] [TO ms|none] [FLOOR n] [MARK n|none] [PERIOD period] [OFFSET minutes] [ZONE zone] [BEGIN n] [AMOUNT n] [ROLLOVER n] [DEBT net|carry|forgive] [ITEM key]...",
        reply: DENIED_AMOUNT_REPLY,
        codes: &[
            Invalid,
            UnknownAccount,
            RequestMismatch,
            UnknownBucket,
            BucketExpired,
            NotApplicable,
            Busy,
            ServiceDenied,
            ChainDenied,
            Overflow,
        ],
        notes: "It first pays what other buckets of the unit, expired ones too, lack to their floors, each by a credit of\n\
                its own; the named bucket gets the rest. SCUR.ADJUST credits one bucket alone.\n\
                An account makes at most 65,535 buckets in its life, those included that were removed: a further one is\n\
                NOT_APPLICABLE for good, where BUSY says that there is no room now.",
        example: "SCUR.TOPUP alice txn-1 main 500",
        ..BASE
    },
    Spec {
        id: CommandId::ScurWrite(ScurWriteId::Adjust),
        name: "SCUR.ADJUST",
        role: Role::Provision,
        arity: 5,
        flags: WRITE,
        summary: "Corrects a bucket by an amount of any sign; a negative one voids. Amount: available afterwards.",
        term: "adjust, void",
        grammar: "account txn bucket amount",
        reply: DENIED_AMOUNT_REPLY,
        codes: &[
            Invalid,
            UnknownAccount,
            RequestMismatch,
            UnknownBucket,
            BucketExpired,
            Busy,
            CreditLimitReached,
            Overflow,
        ],
        notes: "A positive amount pays no debt of another bucket: that is how a debt is forgiven or moved by hand. Of an\n\
                expired bucket SCUR.BUCKET TO extends the validity first.",
        example: "SCUR.ADJUST alice txn-2 main -20",
        ..BASE
    },
    Spec {
        id: CommandId::ScurWrite(ScurWriteId::Bucket),
        name: "SCUR.BUCKET",
        role: Role::Provision,
        arity: -5,
        flags: WRITE,
        summary: "Changes the priority, validity, floor, mark or allowance of a bucket, or removes an empty one. Amount: available afterwards.",
        term: "change validity, priority, floor, recurring credit",
        grammar: "account txn bucket ([PRIORITY n] [FROM ms] [TO ms|none] [FLOOR n] [MARK n|none] [PERIOD period [OFFSET minutes] [ZONE zone] [BEGIN n] [AMOUNT n] [ROLLOVER n] [DEBT net|carry|forgive]] [ITEM key]... [ANYITEM] | REMOVE)",
        reply: DENIED_AMOUNT_REPLY,
        codes: &[
            Invalid,
            UnknownAccount,
            RequestMismatch,
            UnknownBucket,
            NotEmpty,
            NotApplicable,
            Busy,
            CreditLimitReached,
            Overflow,
        ],
        notes: "In another zone no period is refilled twice and none is left out: if a later day has begun in it, that day's\n\
                refill comes at once. With another PERIOD or BEGIN the present period brings nothing. If less is available than\n\
                MARK from then on, the event below-mark tells it, at once and then at each crossing; above-mark tells the\n\
                return. MARK may have any sign.",
        example: "SCUR.BUCKET alice txn-3 main FLOOR -500",
        ..BASE
    },
    Spec {
        id: CommandId::ScurWrite(ScurWriteId::Debit),
        name: "SCUR.DEBIT",
        role: Role::Charge,
        arity: -5,
        flags: WRITE,
        memory: Memory::ForNew,
        summary: "Debits an amount, or those of several items, at once, all or nothing. Amount: what was debited, over all items, or 0.",
        term: "IEC, direct debiting",
        grammar: "account txn (unit amount | ITEM key unit amount [ITEM ...])",
        reply: DENIED_AMOUNT_REPLY,
        codes: &[
            Invalid,
            UnknownAccount,
            RequestMismatch,
            Busy,
            ServiceDenied,
            CreditLimitReached,
            ChainDenied,
            Overflow,
        ],
        example: "SCUR.DEBIT alice txn-4 cent 30",
        ..BASE
    },
    Spec {
        id: CommandId::ScurWrite(ScurWriteId::Refund),
        name: "SCUR.REFUND",
        role: Role::Charge,
        arity: -4,
        flags: WRITE,
        summary: "Gives back a remembered debit, a part of it, or parts of its items. Amount: what was refunded, over all items.",
        term: "refund by debit reference",
        grammar: "account txn debit-txn [CARRY] [amount | ITEM key unit amount [ITEM ...]]",
        reply: DENIED_AMOUNT_REPLY,
        codes: &[
            Invalid,
            UnknownAccount,
            RequestMismatch,
            UnknownTransaction,
            NotApplicable,
            Busy,
            ChainDenied,
            Overflow,
        ],
        notes: "What was debited from an allowance in a period that has ended expires as it comes back, but for the debt that it makes\n\
                good. With CARRY the present period gets it.",
        example: "SCUR.REFUND alice txn-5 txn-4 10",
        ..BASE
    },
    Spec {
        id: CommandId::ScurWrite(ScurWriteId::Counter),
        name: "SCUR.COUNTER",
        role: Role::Charge,
        arity: -5,
        flags: WRITE,
        memory: Memory::ForNew,
        summary: "Adds an amount of any sign to a counter, which is made when there is none. Amount: its value afterwards.",
        term: "counters",
        grammar: "account txn counter amount [UNIT unit] [PERIOD period [OFFSET minutes] [ZONE zone] [BEGIN n|first-use]]",
        reply: AMOUNT_REPLY,
        codes: &[Invalid, UnknownAccount, RequestMismatch, Busy, Overflow],
        example: "SCUR.COUNTER alice txn-6 calls 1 PERIOD day",
        ..BASE
    },
    Spec {
        id: CommandId::ScurWrite(ScurWriteId::Limit),
        name: "SCUR.LIMIT",
        role: Role::Provision,
        arity: -5,
        flags: WRITE,
        memory: Memory::ForNew,
        summary: "Limits what may be used of a unit in a period, in a rolling span or at a rate, or how many sessions may be open; changes or removes a limit. Amount: what is left of it.",
        term: "spending limit, policy counter (TS 29.594), rate limit",
        grammar: "account txn limit (UNIT unit [ITEM key] AMOUNT n [PERIOD period] [OFFSET minutes] [ZONE zone] [BEGIN n|first-use] [ROLLING span] [RATE span] [BURST n] | SESSIONS AMOUNT n | REMOVE)",
        reply: AMOUNT_REPLY,
        codes: &[Invalid, UnknownAccount, RequestMismatch, UnknownLimit, Busy, Overflow],
        notes: "PERIOD, OFFSET, ZONE and BEGIN are as of CREATE. Others than before keep what is used: it counts until the present period is over. A clock that is set back\n\
                over midnight does not end the same day again. To begin at 0, remove the limit and make it again.\n\
                With BEGIN first-use a period begins with the first use after the last one ended, and lasts for its length: minute to week, or so many\n\
                minutes, hours or days, without a zone. COUNTER takes it too.\n\
                In place of a period: with ROLLING a use counts for the span (`60s`, `5h`, `30d`), and at most a thirtieth of it longer. With RATE use drains evenly, the amount in\n\
                each span; BURST, the amount unless given, is the most that may be used and held at once.",
        example: "SCUR.LIMIT alice txn-7 a-day UNIT cent PERIOD day AMOUNT 500",
        ..BASE
    },
    Spec {
        id: CommandId::ScurRead(ScurReadId::Check),
        name: "SCUR.CHECK",
        role: Role::Read,
        arity: -4,
        flags: READ,
        summary: "Says whether an amount could be reserved now, without reserving it. Amount: what could be granted.",
        term: "balance check",
        grammar: "account unit amount [ITEM key]",
        reply: "[code, amount], and cause and allowed_at where it is denied",
        codes: &[Invalid, UnknownAccount, ServiceDenied, CreditLimitReached],
        example: "SCUR.CHECK alice cent 100",
        ..BASE
    },
    Spec {
        id: CommandId::ScurWrite(ScurWriteId::Transfer),
        name: "SCUR.TRANSFER",
        role: Role::Provision,
        arity: 7,
        flags: WRITE,
        memory: Memory::ForNew,
        summary: "Takes an amount from an account and gives it to another one, in any hash slot, once.",
        term: "credit transfer",
        grammar: "account transfer unit amount payee bucket",
        reply: TRANSFER_REPLY,
        codes: &[
            Invalid,
            UnknownAccount,
            SessionExists,
            RequestMismatch,
            BucketExpired,
            NotApplicable,
            Busy,
            ServiceDenied,
            CreditLimitReached,
            Overflow,
        ],
        notes: "The amount is held at once, and the server credits the bucket of the payee, which is created if there is none,\n\
                as soon as the hold is durable. Until then it is in_transit: SCUR.HOLDS shows the hold, as a session with the\n\
                id of the transfer, and SCUR.TOTALS the sum. Repeat the command to see whether it has arrived. If the payee can\n\
                never take it (no such account, a closed one, a bucket of another unit or an expired one), the amount comes\n\
                back, and the repeated command gets the payee's refusal. Accounts of one hash slot can have SCUR.CHAIN instead,\n\
                which is done when it is answered. A module of Valkey has no transfers: NOT_APPLICABLE.",
        example: "SCUR.TRANSFER alice gift-1 cent 5 bob main",
        example_needs: &["SCUR.CREATE bob"],
        ..BASE
    },
    Spec {
        id: CommandId::ScurWrite(ScurWriteId::Reserve),
        name: "SCUR.RESERVE",
        role: Role::Charge,
        arity: -4,
        flags: WRITE,
        memory: Memory::ForNew,
        summary: "Opens a session and grants its items; without items they are asked for later.",
        term: "FirstReservation, CCR-INITIAL, Nchf Create",
        grammar: "account session request [VALIDITY duration] [TCC duration] [OVERRUN overdraw|clamp|held] [CLOSEONDENIAL|KEEPOPEN] [DATA blob] [ITEM key unit REQUESTED n [MIN n]]...",
        reply: SESSION_REPLY,
        codes: &[
            Invalid,
            UnknownAccount,
            SessionExists,
            RequestMismatch,
            Busy,
            ServiceDenied,
            CreditLimitReached,
            ChainDenied,
            Overflow,
        ],
        example: "SCUR.RESERVE alice call-1 0 ITEM 1 cent REQUESTED 200 MIN 50",
        notes: "OVERRUN is for use beyond what the buckets have down to their floors. Left out it is the server's\n\
                `overrun_default`, `overdraw` unless configured: the first valid bucket in burn order that has an allowance,\n\
                else the last valid one, goes below its floor, so an account may end below 0 although its floor is 0.\n\
                What it owes counts against what any bucket of the unit can give. `clamp` stops at the floors and counts\n\
                the rest as uncollected. SCUR.SESSION shows which one a session has.",
        ..BASE
    },
    Spec {
        id: CommandId::ScurWrite(ScurWriteId::Update),
        name: "SCUR.UPDATE",
        role: Role::Charge,
        arity: -4,
        flags: WRITE,
        summary: "Settles what was used, replaces holds with new grants and restarts Tcc.",
        term: "Update, CCR-UPDATE",
        grammar: "account session request [IFVERSION n] [VALIDITY duration] [TCC duration] [CLOSEONDENIAL|KEEPHOLD] [DATA blob] [LATEUSE [OVERRUN overdraw|clamp|held]] [ITEM key unit [USED n] [REQUESTED n] [MIN n]]...",
        reply: SESSION_REPLY,
        codes: &[
            Invalid,
            UnknownAccount,
            UnknownSession,
            RequestMismatch,
            OutOfWindow,
            VersionConflict,
            NotApplicable,
            Busy,
            ServiceDenied,
            CreditLimitReached,
            ChainDenied,
            Overflow,
        ],
        example: "SCUR.UPDATE alice call-1 1 ITEM 1 cent USED 150 REQUESTED 200",
        notes: "Use in a unit for which the account has no bucket is uncollected, all of it, with the code OK: it was used.\n\
                The same key with another unit is another item. Units are told apart by case.\n\
                LATEUSE settles what was used where the session is not open: docs/ledger.md section 9.\n\
                With KEEPHOLD an item that asks and is denied keeps what it held; without, it holds nothing then.",
        ..BASE
    },
    Spec {
        id: CommandId::ScurWrite(ScurWriteId::Terminate),
        name: "SCUR.TERMINATE",
        role: Role::Charge,
        arity: -4,
        flags: WRITE,
        summary: "Settles what was used, releases the rest and closes the session.",
        term: "Clear, Delete, CCR-TERMINATION",
        grammar: "account session request [IFVERSION n] [CANCEL] [LATEUSE [OVERRUN overdraw|clamp|held]] [ITEM key unit USED n]...",
        reply: SESSION_REPLY,
        codes: &[
            Invalid,
            UnknownAccount,
            UnknownSession,
            RequestMismatch,
            OutOfWindow,
            VersionConflict,
            NotApplicable,
            Busy,
            ChainDenied,
            Overflow,
        ],
        example: "SCUR.TERMINATE alice call-1 2 ITEM 1 cent USED 80",
        notes: "LATEUSE settles what was used where the session is not open: docs/ledger.md section 9.\n\
                CANCEL ends a session that is not known yet, too: its SCUR.RESERVE, should it come later, opens nothing.",
        ..BASE
    },
    Spec {
        id: CommandId::ScurWrite(ScurWriteId::Release),
        name: "SCUR.RELEASE",
        role: Role::Provision,
        arity: -3,
        flags: WRITE,
        summary: "Closes a session and releases all that it holds; nothing is debited.",
        term: "abort by the operator",
        grammar: "account session [CANCEL] [TXN txn]",
        reply: RELEASE_REPLY,
        codes: &[Invalid, UnknownAccount, UnknownSession, RequestMismatch, NotApplicable, Busy],
        example: "SCUR.RELEASE alice call-2",
        example_needs: &["SCUR.RESERVE alice call-2 0 ITEM 1 cent REQUESTED 200"],
        notes: "The array of items is empty, and there is no cause: a RELEASE is never denied.\n\
                CANCEL ends a session that is not known yet, too: its SCUR.RESERVE, should it come later, opens nothing.\n\
                With TXN it is remembered like a balance command, and its events have the transaction id.",
        ..BASE
    },
    Spec {
        id: CommandId::ScurChain(ScurChainId::Chain),
        name: "SCUR.CHAIN",
        role: Role::Charge,
        arity: -5,
        has_dynamic_keys: true,
        flags: WRITE_MOVING,
        memory: Memory::ForNew,
        summary: "Commands on several accounts that are all carried out or none.",
        term: "transfer, budgets above budgets",
        grammar: "account count COMMAND [argument ...] [account count COMMAND [argument ...]]...",
        reply: CHAIN_REPLY,
        codes: &[
            Invalid,
            UnknownAccount,
            UnknownSession,
            SessionExists,
            RequestMismatch,
            OutOfWindow,
            VersionConflict,
            UnknownBucket,
            BucketExpired,
            UnknownTransaction,
            NotApplicable,
            Busy,
            ServiceDenied,
            CreditLimitReached,
            ChainDenied,
            Overflow,
        ],
        example: "SCUR.CHAIN alice 4 DEBIT move-1 cent 50 {alice}:savings 6 TOPUP move-1 main 50 UNIT cent",
        example_needs: &["SCUR.CREATE {alice}:savings"],
        notes: "COMMAND is RESERVE, UPDATE, TERMINATE, DEBIT, TOPUP or REFUND, with or without `SCUR.`; its arguments\n\
                are those of the command without the account, and count is the number of words from COMMAND on. 1 to 16\n\
                accounts, all of one hash slot, each once. A refusal says which command it is about, and nothing changes.\n\
                A denial of one denies all: denied is the number of the first that was denied by itself, 0 where none is.\n\
                A chain with TOPUP needs the role provision too.",
        ..BASE
    },
    Spec {
        id: CommandId::ScurRead(ScurReadId::Get),
        name: "SCUR.GET",
        role: Role::Read,
        arity: 2,
        flags: READ,
        summary: "Shows the account: buckets, counters, limits and open sessions in one atomic read.",
        term: "GetMsData, balance query",
        grammar: "account",
        reply: "map of: status, version, identities, buckets, counters, limits, sessions, bucket_items (only where there are any), bucket_marks (only where there are any), former_identities (only where there are any)\n\
                identities: array of [kind, value]\n\
                former_identities: array of [kind, value, forget_at]\n\
                buckets: array of [id, unit, available, held, floor, priority, valid_from, valid_to] (valid_to nil when none)\n\
                a bucket with an allowance has one more: [period, zone, amount, refills_at] (zone: minutes ahead of UTC, or a name; refills_at nil when it ends before), and begin and rollover and debt and owed where they are not the usual ones (only begin, where the others are; owed: what refills do not pay)\n\
                bucket_items: array of [bucket, item] (the items that a bucket is for; one without is for all)\n\
                bucket_marks: array of [bucket, mark] (buckets that have a mark)\n\
                counters: array of [id, unit, value, period, resets_at] (resets_at nil for period none), and zone and begin where they are not UTC and the usual one\n\
                limits: array of [id, unit, item, amount, used, held, left, overrun, period, zone, resets_at] (unit and item nil for open sessions, item nil for all of a unit, resets_at nil if it never does), period as `rolling 5h` or `rate 1m` of those, and begin and burst where a begin is not the usual one, or the burst of a rate is not its amount (begin nil then)\n\
                sessions: array of [id, version, deadline, opened, active]",
        codes: &[Invalid, UnknownAccount],
        example: "SCUR.GET alice",
        ..BASE
    },
    Spec {
        id: CommandId::ScurRead(ScurReadId::Session),
        name: "SCUR.SESSION",
        role: Role::Read,
        arity: 3,
        flags: READ,
        summary: "Shows an open session and its account in one atomic read.",
        term: "GetMsData2",
        grammar: "account session",
        reply: "the same map as GET with one more, last, entry: session:\n\
                map of: id, version, deadline, opened, active, validity, tcc, overrun, last_request, data, items\n\
                items: array of [key, unit, granted, outstanding, used, from_hold, direct, released, uncollected, standing]\n\
                standing: what its last request for units got: granted, final, final_held (others hold the rest) or denied",
        codes: &[Invalid, UnknownAccount, UnknownSession],
        example: "SCUR.SESSION alice call-3",
        example_needs: &["SCUR.RESERVE alice call-3 0 ITEM 1 cent REQUESTED 200"],
        notes: "`sessions` lists every open session of a small account. A busy account, once above 4 KiB of sessions and\n\
                remembered ids, is kept in parts: of it the named session alone is listed. SCUR.GET lists all.\n\
                The data of a transfer are its payee and bucket, and its item is `transfer`. active is the time of the last\n\
                request.",
        ..BASE
    },
    Spec {
        id: CommandId::ScurRead(ScurReadId::Audit),
        name: "SCUR.AUDIT",
        role: Role::Read,
        arity: 2,
        flags: READ,
        summary: "Checks the invariants of an account and shows its conservation totals.",
        term: "conservation totals of an account",
        grammar: "account",
        reply: "map of: ok (1|0), version, buckets, uncollected\n\
                buckets: array of [id, unit, available, held, credited, refunded, consumed, expired, voided, overdrawn]\n\
                uncollected: array of [unit, amount]",
        codes: &[Invalid, UnknownAccount],
        example: "SCUR.AUDIT alice",
        ..BASE
    },
    Spec {
        id: CommandId::ScurRead(ScurReadId::Holds),
        name: "SCUR.HOLDS",
        role: Role::Read,
        arity: -2,
        flags: READ_LONG,
        summary: "Shows balances and each open hold in one atomic read, in pages of sessions.",
        term: "reserved units of an account; pending transfers of other ledgers",
        grammar: "account [COUNT n] [AFTER session]",
        reply: "map of: version, buckets, holds, next (nil on the last page)\n\
                buckets: array of [id, unit, available, held]\n\
                holds: array of [session, key, unit, bucket, amount, deadline, opened, active]",
        codes: &[Invalid, UnknownAccount],
        notes: "A page has the holds of COUNT sessions (1 to 1000, 100 by default), in the order of their ids; the next one\n\
                begins AFTER the session that `next` names. The holds of all pages on a bucket add up to its `held` if all\n\
                pages have the same `version`. A session that stays open is on exactly one page, whatever changes between them.",
        example: "SCUR.HOLDS alice COUNT 2",
        example_needs: &["SCUR.RESERVE alice call-4 0 ITEM 1 cent REQUESTED 10"],
        ..BASE
    },
    Spec {
        id: CommandId::ScurRead(ScurReadId::Transaction),
        name: "SCUR.TRANSACTION",
        role: Role::Read,
        arity: 3,
        flags: READ,
        summary: "Shows what is remembered of a transaction id: its answer, its refunds, and until when.",
        term: "lookup of a payment by its idempotency key",
        grammar: "account txn",
        reply: "map of: code, version, amount, cause (nil where nothing is denied), allowed_at (nil where no limit denied or time alone does not help), forget_at, parts\n\
                parts: array of [bucket, unit, amount, refunded, item] (bucket and unit nil where the bucket was removed, item nil for a debit without items)",
        codes: &[Invalid, UnknownAccount, UnknownTransaction],
        notes: "`parts` are those of a debit. An id is remembered for transaction_ms; the log has it for longer:\n\
                SCUR.STATEMENT with TRANSACTION. Session ids are not transaction ids: SCUR.SESSION shows an open session,\n\
                SCUR.STATEMENT with SESSION one that ended.",
        example: "SCUR.TRANSACTION alice debit-2",
        example_needs: &["SCUR.DEBIT alice debit-2 cent 5"],
        ..BASE
    },
    Spec {
        id: CommandId::Store(StoreId::Totals),
        name: "SCUR.TOTALS",
        spread: Spread::Special,
        role: Role::Read,
        arity: 1,
        flags: READ_LONG,
        keys: (0, 0, 0),
        summary: "Shows the conservation totals of this node per unit.",
        term: "conservation totals of the store",
        grammar: "",
        reply: "map of: accounts, sessions, units\n\
                units: array of [unit, available, held, credited, refunded, consumed, expired, voided, overdrawn, uncollected, in_transit]",
        codes: &[],
        example: "SCUR.TOTALS",
        notes: "The command has no key and answers for one node; clients add nodes up. The sums cover the accounts that\n\
                exist: a deleted account leaves the sums.",
        ..BASE
    },
];
