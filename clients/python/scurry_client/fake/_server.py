"""The fake's accounts, and a command's way to them: copied, changed, and taken over only when it was carried out."""

from __future__ import annotations

import binascii
from collections.abc import Callable, Sequence
from typing import Any

from .._commands import REFUSALS
from . import _accounts as accounts
from . import _due as due
from ._balances import Command
from ._limits import COMMANDS
from ._sessions import Request, Sessions, unknown_session
from ._values import CLOCK_MAX, Account, Bounds, Reject, Reply
from ._words import Malformed, Options, Words, invalid, unexpected

SESSION_REQUESTS = ("SCUR.RESERVE", "SCUR.UPDATE", "SCUR.TERMINATE")
CHAINED = (*SESSION_REQUESTS, "SCUR.DEBIT", "SCUR.TOPUP", "SCUR.REFUND")
LINKS_MAX = 16
DENIALS = ("CREDIT_LIMIT_REACHED", "SERVICE_DENIED")
# The least number of words of each command, its name included, or exactly as many where it is negative.
LEAST = {
    "SCUR.CREATE": 2,
    "SCUR.STATUS": 3,
    "SCUR.DELETE": 2,
    "SCUR.TOPUP": 5,
    "SCUR.ADJUST": -5,
    "SCUR.BUCKET": 5,
    "SCUR.DEBIT": 5,
    "SCUR.REFUND": 4,
    "SCUR.COUNTER": 5,
    "SCUR.LIMIT": 5,
    "SCUR.CHECK": -4,
    "SCUR.RESERVE": 4,
    "SCUR.UPDATE": 4,
    "SCUR.TERMINATE": 4,
    "SCUR.RELEASE": -3,
    "SCUR.CHAIN": 4,
    "SCUR.GET": -2,
    "SCUR.SESSION": -3,
    "SCUR.AUDIT": -2,
    "SCUR.TOTALS": -1,
    "SCUR.FIND": -3,
    "SCUR.LIST": 2,
}


class ResponseError(Exception):
    """An error reply. It has the name that redis-py and valkey-py give theirs."""


class Fake:
    """The rules of the server over accounts in memory, at the time that `clock` tells."""

    def __init__(self, clock: Callable[[], int], bounds: Bounds, unique_kinds: Sequence[str] = ()) -> None:
        self.clock = clock
        self.bounds = bounds
        self.unique_kinds = tuple(unique_kinds)
        self.accounts: dict[str, Account] = {}
        self.units: dict[str, None] = {}

    def time(self) -> int:
        return min(max(self.clock(), 0), CLOCK_MAX)

    def execute(self, words: Sequence[str | bytes | int]) -> Any:
        raw = [word if isinstance(word, bytes) else str(word).encode() for word in words]
        name = raw[0].decode("latin-1").upper()
        if name not in LEAST:
            raise NotImplementedError(f"the fake has no {name}")
        least = LEAST[name]
        if len(raw) < abs(least) or (least < 0 and len(raw) != -least):
            raise ResponseError(f"ERR wrong number of arguments for '{name.lower()}' command")
        try:
            return self.run(name, Words(raw[1:]))
        except Reject as reject:
            raise ResponseError(f"{reject.code} {REFUSALS[reject.code].number} {reject}") from None

    def run(self, name: str, words: Words) -> Any:
        if name == "SCUR.TOTALS":
            return accounts.totals(list(self.accounts.values()), self.units)
        if name == "SCUR.FIND":
            return self.find(words.name("kind"), words.id("value", 64))
        if name == "SCUR.LIST":
            return self.list_accounts(words)
        if name == "SCUR.CHAIN":
            return self.chain(words)
        id = words.account()
        if name == "SCUR.CREATE":
            return self.create(id, words)
        if name in SESSION_REQUESTS or name in COMMANDS:
            link = Link(name, id, words, self.bounds)
            work, now = self.open(id)
            reply, replayed = link.run(work, now, self.bounds, False)
            self.commit(work, now, replayed)
            return reply.raw(replayed)
        others: dict[str, Callable[[str, Words], Any]] = {
            "SCUR.STATUS": self.status,
            "SCUR.DELETE": self.delete,
            "SCUR.RELEASE": self.release,
            "SCUR.GET": self.get,
            "SCUR.SESSION": self.session,
            "SCUR.AUDIT": self.audit,
            "SCUR.CHECK": self.check,
        }
        return others[name](id, words)

    # ---- Accounts --------------------------------------------------------------------------

    def open(self, id: str, now: int | None = None) -> tuple[Account, int]:
        """A copy of the account in which everything due has been done, and the time."""
        account = self.accounts.get(id)
        if account is None:
            raise Reject("UNKNOWN_ACCOUNT", "no account has this id: create it with SCUR.CREATE")
        now = max(self.time(), account.changed_at) if now is None else now
        work = account.copied()
        due.carry_out(work, now, self.bounds)
        return work, now

    def commit(self, account: Account, now: int, replayed: bool = False) -> None:
        if not replayed:
            account.version += 1
            account.changed_at = now
            self.accounts[account.id] = account
            units = [*(bucket.unit for bucket in account.buckets.values()), *account.uncollected]
            self.units |= dict.fromkeys(units)

    def tick(self) -> int:
        """Does what is due everywhere, as the server's timers do; how many Commits that were."""
        commits = 0
        for account in self.accounts.values():
            times = due.carry_out(account, self.time(), self.bounds)
            account.version += times
            commits += times
        return commits

    def check_identities(self, account: Account) -> None:
        for kind in self.unique_kinds:
            value = account.identities.get(kind)
            for other in self.accounts.values():
                if value is not None and other.id != account.id and other.identities.get(kind) == value:
                    raise Reject("IDENTITY_EXISTS", f"another account has this {kind}")

    def create(self, id: str, words: Words) -> Any:
        given = accounts.Provision("SCUR.CREATE", words, self.bounds)
        if id in self.accounts:
            existing, _ = self.open(id)
            if reply := accounts.remembered(existing, given):
                return ["OK", reply.version, 1]
            raise Reject("ACCOUNT_EXISTS", "an account with this id exists")
        now = self.time()
        account = accounts.create(id, given, now)
        self.check_identities(account)
        reply = accounts.remember(account, given, now, self.bounds)
        self.commit(account, now)
        return provisioned(reply, given, 0)

    def status(self, id: str, words: Words) -> Any:
        given = accounts.Provision("SCUR.STATUS", words, self.bounds)
        account, now = self.open(id)
        if reply := accounts.remembered(account, given):
            return provisioned(reply, given, 1)
        accounts.set_status(account, given, now, self.bounds)
        self.check_identities(account)
        reply = accounts.remember(account, given, now, self.bounds)
        self.commit(account, now)
        return provisioned(reply, given, 0)

    def delete(self, id: str, words: Words) -> Any:
        is_forced = words.peek() == "FORCE"
        if is_forced:
            words.take("force")
        no_more(words)
        account, _ = self.open(id)
        accounts.check_deletion(account, is_forced)
        del self.accounts[id]
        return ["OK", account.version + 1]

    def release(self, id: str, words: Words) -> Any:
        session = words.session()
        account, now = self.open(id)
        reply, replayed = Sessions(account, now, self.bounds).release(session)
        self.commit(account, now, replayed)
        return reply.raw(replayed)

    # ---- Reads -----------------------------------------------------------------------------

    def get(self, id: str, words: Words) -> Any:
        return accounts.show(*self.open(id))

    def session(self, id: str, words: Words) -> Any:
        wanted = words.session()
        account, now = self.open(id)
        if wanted not in account.sessions:
            raise unknown_session(account.tombstones.get(wanted), now)
        return accounts.show(account, now) | {"session": accounts.show_session(account.sessions[wanted])}

    def audit(self, id: str, words: Words) -> Any:
        return accounts.audit(self.open(id)[0])

    def check(self, id: str, words: Words) -> Any:
        unit, amount = words.name("unit"), words.integer("amount", 1)
        account, now = self.open(id)
        return accounts.check(account, unit, amount, now)

    def find(self, kind: str, value: str) -> Any:
        found = sorted(account.id for account in self.accounts.values() if account.identities.get(kind) == value)
        return [int(len(found) > 16), found[:16]]

    def list_accounts(self, words: Words) -> Any:
        """All in one step, in the order of their ids."""
        words.take("cursor")
        options = Options()
        while not words.is_over():
            keyword = words.peek()
            if keyword not in ("COUNT", "PREFIX", "STATUS"):
                raise unexpected(words)
            words.take(keyword)
            if keyword == "STATUS":
                options.put(keyword, words.choice("status", accounts.STATUSES))
            else:
                options.put(
                    keyword, words.integer("count", 1) if keyword == "COUNT" else words.take("prefix").decode("latin-1")
                )
        found = [
            [account.id, account.status, account.version]
            for account in sorted(self.accounts.values(), key=lambda account: account.id.encode())
            if account.id.startswith(options.get("PREFIX", ""))
            and options.get("STATUS", account.status) == account.status
        ]
        return ["0", found]

    # ---- Chains ----------------------------------------------------------------------------

    def chain(self, words: Words) -> Any:
        """Section 15."""
        links = self.links(words)
        known = [self.accounts[link.account] for link in links if link.account in self.accounts]
        now = max([self.time(), *(account.changed_at for account in known)])
        done = [link.try_on(self, now, number, False) for number, link in enumerate(links, 1)]
        if all(replayed for _, _, replayed in done):
            replies = [reply for _, reply, _ in done]
            return chain_reply(replies, 1)
        for number, (_, _, replayed) in enumerate(done, 1):
            if replayed:
                raise Reject("REQUEST_MISMATCH", f"command {number} was carried out before, and others were not")
        if any(reply.code in DENIALS for _, reply, _ in done):
            for number, (link, (_, reply, _)) in enumerate(zip(links, done, strict=True), 1):
                if reply.code not in DENIALS:
                    done[number - 1] = link.try_on(self, now, number, True)
        for account, _, _ in done:
            self.commit(account, now)
        return chain_reply([reply for _, reply, _ in done], 0)

    def links(self, words: Words) -> list[Link]:
        links: list[Link] = []
        while not words.is_over():
            account = words.account()
            count = words.integer("count", 1)
            if words.at + count > len(words.words):
                raise invalid(f"command {len(links) + 1}: count is more than there are words")
            own = words.words[words.at : words.at + count]
            words.at += count
            name = "SCUR." + own[0].decode("latin-1").upper().removeprefix("SCUR.")
            if name not in CHAINED:
                raise invalid(f"command {len(links) + 1}: {name} cannot stand in a chain")
            if any(link.account == account for link in links):
                raise invalid(f"command {len(links) + 1}: the account stands twice")
            try:
                links.append(Link(name, account, Words(own[1:]), self.bounds, is_alone=False))
            except Malformed as reject:
                raise Reject(reject.code, f"command {len(links) + 1}: {reject}") from None
            if len(links) > LINKS_MAX:
                raise invalid(f"a chain has {LINKS_MAX} commands at most")
        if len({slot(link.account) for link in links}) > 1:
            raise ResponseError("CROSSSLOT all accounts of a chain lie in one hash slot: begin them with one {tag}")
        return links


class Link:
    """A command on one account, alone or in a chain."""

    def __init__(self, name: str, account: str, words: Words, bounds: Bounds, *, is_alone: bool = True) -> None:
        self.name = name
        self.account = account
        self.command: Request | Command
        self.fault: Reject | None = None
        """What its fields are refused for, in a chain when it is its turn."""
        try:
            if name in SESSION_REQUESTS:
                self.command = Request(name, words, bounds)
            else:
                self.command = COMMANDS[name](name, words)
        except Malformed:
            raise
        except Reject as fault:
            if is_alone:
                raise
            self.fault = fault
            return
        no_more(words)

    def run(self, account: Account, now: int, bounds: Bounds, is_chain_denied: bool) -> tuple[Reply, bool]:
        if isinstance(self.command, Command):
            return self.command.run(account, now, bounds, is_chain_denied)
        sessions = Sessions(account, now, bounds, is_chain_denied)
        if self.name == "SCUR.RESERVE":
            return sessions.reserve(self.command)
        return sessions.update(self.command) if self.name == "SCUR.UPDATE" else sessions.terminate(self.command)

    def try_on(self, fake: Fake, now: int, number: int, is_chain_denied: bool) -> tuple[Account, Reply, bool]:
        try:
            if self.fault is not None:
                raise self.fault
            account, _ = fake.open(self.account, now)
            reply, replayed = self.run(account, now, fake.bounds, is_chain_denied)
        except Reject as reject:
            raise Reject(reject.code, f"command {number}: {reject}") from None
        return account, reply, replayed


def chain_reply(replies: list[Reply], replayed: int) -> list[Any]:
    denied = next((number for number, reply in enumerate(replies, 1) if reply.code in DENIALS), 0)
    code = replies[denied - 1].code if denied else replies[0].code
    if not denied and any(reply.code == "CHAIN_DENIED" for reply in replies):
        denied = next(number for number, reply in enumerate(replies, 1) if reply.code == "CHAIN_DENIED")
        code = "CHAIN_DENIED"
    return [code, replayed, denied, [reply.raw(bool(replayed)) for reply in replies]]


def provisioned(reply: Reply, given: accounts.Provision, replayed: int) -> list[Any]:
    return ["OK", reply.version] if given.txn is None else ["OK", reply.version, replayed]


def no_more(words: Words) -> None:
    if not words.is_over():
        raise unexpected(words)


def slot(account: str) -> int:
    """The hash slot of a key: of its {tag} where it has one."""
    start = account.find("{")
    end = account.find("}", start + 1) if start >= 0 else -1
    tag = account[start + 1 : end] if end > start + 1 else account
    return binascii.crc_hqx(tag.encode(), 0) % 16384
