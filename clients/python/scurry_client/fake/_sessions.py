"""RESERVE, UPDATE, TERMINATE and RELEASE: docs/ledger.md, sections 4 to 10."""

from __future__ import annotations

from dataclasses import replace

from ._amounts import Amounts
from ._due import close
from ._values import (
    I64_MAX,
    Account,
    Bounds,
    Item,
    ItemReply,
    Reject,
    Reply,
    Session,
    Stored,
    Tombstone,
)
from ._words import ItemWords, Options, Words, invalid, no_item_twice, session_request

GAPS_MAX = 8


class Request:
    """A request of a session, its fields checked as far as the account does not matter."""

    def __init__(self, name: str, words: Words, bounds: Bounds) -> None:
        self.name = name
        self.session = words.session()
        self.number = words.request()
        self.options, self.items = session_request(name, words)
        given = self.options.given
        plain = {key: value for key, value in given.items() if key not in ("IFVERSION", "LATEUSE")}
        self.body = (name, tuple(sorted(plain.items())), tuple(item.body() for item in self.items))
        self.check(bounds)

    def check(self, bounds: Bounds) -> None:
        options = self.options
        if "OVERRUN" in options and self.name != "SCUR.RESERVE" and "LATEUSE" not in options:
            raise invalid("OVERRUN is for RESERVE, and for late use beside LATEUSE")
        if "CLOSEONDENIAL" in options and "KEEPOPEN" in options:
            raise invalid("CLOSEONDENIAL and KEEPOPEN exclude each other")
        for item in self.items:
            self.check_item(item)
        no_item_twice(self.items)
        for keyword in ("VALIDITY", "TCC"):
            if keyword in options and options.get(keyword) < 1:
                raise invalid(f"{keyword} must be at least 1 ms")

    def check_item(self, item: ItemWords) -> None:
        given = item.options
        if self.name == "SCUR.RESERVE" and item.requested < 1:
            raise invalid("REQUESTED must be at least 1")
        if self.name == "SCUR.UPDATE" and not ("USED" in given or "REQUESTED" in given):
            raise invalid("an item has USED or REQUESTED")
        if self.name == "SCUR.TERMINATE" and "USED" not in given:
            raise invalid("an item has USED")
        for keyword in ("USED", "REQUESTED", "MIN"):
            if given.get(keyword, 0) < 0:
                raise invalid(f"{keyword} must be at least 0")
        if "MIN" in given and (item.requested == 0 or given.get("MIN") > item.requested):
            raise invalid("MIN is at most REQUESTED")

    def check_bounds(self, bounds: Bounds) -> None:
        """What a smaller bound of today would refuse, which a retry does not meet."""
        if len(self.items) > bounds.items_max:
            raise invalid(f"items_max {bounds.items_max}: more items")
        for keyword in ("VALIDITY", "TCC"):
            if self.options.get(keyword, 0) > bounds.tcc_ms_max:
                raise invalid(f"tcc_ms_max {bounds.tcc_ms_max}: {keyword} is longer")
        if len(self.options.get("DATA", b"")) > bounds.blob_len_max:
            raise invalid(f"blob_len_max {bounds.blob_len_max}: DATA is longer")


class Sessions:
    """The rules over one account at one time. A chain that is denied has them grant nothing."""

    def __init__(self, account: Account, now: int, bounds: Bounds, is_chain_denied: bool = False) -> None:
        self.account = account
        self.now = now
        self.bounds = bounds
        self.is_chain_denied = is_chain_denied

    # ---- Requests --------------------------------------------------------------------------

    def reserve(self, request: Request) -> tuple[Reply, bool]:
        account, bounds = self.account, self.bounds
        if session := account.sessions.get(request.session):
            if stored := session.answers.get(request.number):
                return self.same(stored, request), True
            raise Reject("SESSION_EXISTS", "the session is open: UPDATE it, or take another id")
        if tombstone := account.tombstones.get(request.session):
            if stored := self.remembered(tombstone, request.number):
                return self.same(stored, request), True
            raise Reject("SESSION_EXISTS", id_is_used_up(tombstone, self.now))
        request.check_bounds(bounds)
        self.check_ids()
        session = self.new_session(request)
        reply = self.decide_reserve(request, session)
        if reply.version:
            session.answers[request.number] = Stored(request.body, reply)
            session.highest = request.number
        else:
            account.sessions.pop(session.id, None)
            self.bury(session.id, request, reply, bounds.tombstone_ms, request.number)
        return reply, False

    def decide_reserve(self, request: Request, session: Session) -> Reply:
        account, options = self.account, request.options
        if account.status != "active":
            items = [ItemReply(item.key, "SERVICE_DENIED", cause="status") for item in request.items]
            return Reply("SERVICE_DENIED", 0, items, cause=None if items else "status")
        for limit in account.limits.values():
            if limit.unit is None and account.left_of(limit, self.now) < 1:
                cause = f"limit {limit.id}"
                items = [ItemReply(item.key, "CREDIT_LIMIT_REACHED", 0, 1, cause=cause) for item in request.items]
                return Reply("CREDIT_LIMIT_REACHED", 0, items, cause=None if items else cause)
        if self.is_chain_denied:
            items = [ItemReply(item.key, "CHAIN_DENIED", cause="chain") for item in request.items]
            return self.chain_denied_reserve(request, session, items)
        account.sessions[session.id] = session
        items = []
        for asked in request.items:
            item = Item(asked.key, asked.unit)
            session.items.append(item)
            items.append(self.grant(item, asked, request.number))
        denied = [item for item in items if item.code != "OK"]
        if denied and ("CLOSEONDENIAL" in options or (len(denied) == len(items) and "KEEPOPEN" not in options)):
            if "CLOSEONDENIAL" in options:
                self.undo(items)
            close(account, session, self.now)
            return Reply("CREDIT_LIMIT_REACHED", 0, items)
        code = "CREDIT_LIMIT_REACHED" if items and len(denied) == len(items) else "OK"
        return Reply(code, 1, items)

    def chain_denied_reserve(self, request: Request, session: Session, items: list[ItemReply]) -> Reply:
        cause = None if items else "chain"
        if "KEEPOPEN" not in request.options:
            return Reply("CHAIN_DENIED", 0, items, cause=cause)
        self.account.sessions[session.id] = session
        session.items = [Item(item.key, item.unit) for item in request.items]
        return Reply("CHAIN_DENIED", 1, items, cause=cause)

    def update(self, request: Request) -> tuple[Reply, bool]:
        if stored := self.stored(request):
            return stored, True
        session = self.account.sessions.get(request.session)
        request.check_bounds(self.bounds)
        if session is None:
            return self.late_use(request), False
        is_in_gap = self.prepare(session, request)
        replies = []
        for asked in request.items:
            item = self.item_of(session, asked)
            is_late = is_in_gap or (item.last_grant is not None and request.number < item.last_grant)
            uncollected = self.settle(session, item, asked.used, is_late)
            replies.append((item, asked, is_late, ItemReply(asked.key, uncollected=uncollected)))
        reply = self.after_settling(session, request, replies)
        if reply.version:
            self.store(session, request, reply, is_in_gap)
        else:
            keep = self.bounds.tombstone_ms
            if "LATEUSE" in request.options:
                keep = max(keep, self.bounds.transaction_ms)
            self.bury(session.id, request, reply, keep, max(session.highest, request.number))
        return reply, False

    def after_settling(
        self, session: Session, request: Request, replies: list[tuple[Item, ItemWords, bool, ItemReply]]
    ) -> Reply:
        account, options = self.account, request.options
        rows = [row for *_, row in replies]
        if account.status != "active":
            for row in rows:
                row.code, row.cause = "SERVICE_DENIED", "status"
            close(account, session, self.now)
            return Reply("SERVICE_DENIED", 0, rows, cause=None if rows else "status")
        asked_for = 0
        for item, asked, is_late, row in replies:
            if self.is_chain_denied:
                row.code, row.cause = "CHAIN_DENIED", "chain"
            elif asked.requested:
                asked_for += 1
                if is_late:
                    continue
                granted = self.grant(item, asked, request.number)
                row.code, row.granted, row.final, row.cause = (
                    granted.code,
                    granted.granted,
                    granted.final,
                    granted.cause,
                )
        denied = [row for row in rows if row.code == "CREDIT_LIMIT_REACHED"]
        if denied and "CLOSEONDENIAL" in options:
            self.undo(rows)
            close(account, session, self.now)
            return Reply("CREDIT_LIMIT_REACHED", 0, rows)
        code = "CREDIT_LIMIT_REACHED" if asked_for and len(denied) == asked_for else "OK"
        code = "CHAIN_DENIED" if self.is_chain_denied else code
        self.set_times(session, options)
        session.data = options.get("DATA", session.data)
        session.deadline = self.now + session.tcc
        session.version += 1
        cause = "chain" if self.is_chain_denied and not rows else None
        return Reply(code, session.version, rows, cause=cause)

    def terminate(self, request: Request) -> tuple[Reply, bool]:
        if stored := self.stored(request):
            return stored, True
        session = self.account.sessions.get(request.session)
        request.check_bounds(self.bounds)
        if session is None:
            return self.late_use(request), False
        is_in_gap = self.prepare(session, request)
        rows = []
        for asked in request.items:
            uncollected = self.settle(session, self.item_of(session, asked), asked.used, False)
            rows.append(ItemReply(asked.key, uncollected=uncollected))
        if self.is_chain_denied:
            for row in rows:
                row.code, row.cause = "CHAIN_DENIED", "chain"
            session.deadline = self.now + session.tcc
            session.version += 1
            reply = Reply("CHAIN_DENIED", session.version, rows, cause=None if rows else "chain")
            self.store(session, request, reply, is_in_gap)
            return reply, False
        close(self.account, session, self.now)
        keep = self.bounds.tombstone_ms
        if "LATEUSE" in request.options:
            keep = max(keep, self.bounds.transaction_ms)
        reply = Reply("OK", 0, rows)
        self.bury(session.id, request, reply, keep, max(session.highest, request.number))
        return reply, False

    def release(self, id: str) -> tuple[Reply, bool]:
        reply = Reply("OK", 0, [])
        if session := self.account.sessions.get(id):
            close(self.account, session, self.now)
            forget = self.now + self.bounds.tombstone_ms
            self.account.tombstones[id] = Tombstone(forget, highest=session.highest, was_released=True)
            return reply, False
        tombstone = self.account.tombstones.get(id)
        if tombstone is None or not tombstone.was_released:
            raise unknown_session(tombstone, self.now)
        return reply, True

    # ---- Duplicates ------------------------------------------------------------------------

    def stored(self, request: Request) -> Reply | None:
        """The answer that was given to the same request before."""
        if session := self.account.sessions.get(request.session):
            stored = session.answers.get(request.number)
        else:
            tombstone = self.account.tombstones.get(request.session)
            stored = self.remembered(tombstone, request.number) if tombstone else None
        return self.same(stored, request) if stored else None

    def prepare(self, session: Session, request: Request) -> bool:
        """Checks a new request of an open session; whether its number is in a gap."""
        is_in_gap = self.is_in_gap(session, request.number)
        if "IFVERSION" in request.options and request.options.get("IFVERSION") != session.version:
            raise Reject("VERSION_CONFLICT", f"the session has version {session.version}")
        new = [item for item in request.items if session.item(item.key, item.unit) is None]
        if len(session.items) + len(new) > self.bounds.items_max:
            raise invalid(f"items_max {self.bounds.items_max}: the session would have more items")
        return is_in_gap

    def is_in_gap(self, session: Session, number: int) -> bool:
        if not session.answers or number > min(session.answers):
            return False
        if not session.has_dropped:
            if len(session.answers) < self.bounds.answers_max:
                return False
        elif any(first <= number <= last for first, last in session.gaps):
            return True
        raise Reject("OUT_OF_WINDOW", "the request number is below the window: take a new number")

    def store(self, session: Session, request: Request, reply: Reply, is_in_gap: bool) -> None:
        if is_in_gap:
            self.leave_gap(session, request.number)
            return
        session.answers[request.number] = Stored(request.body, reply)
        session.highest = max(session.highest, request.number)
        while len(session.answers) > self.bounds.answers_max:
            lowest = min(session.answers)
            del session.answers[lowest]
            session.has_dropped = True
            self.add_gap(session, lowest + 1, min(session.answers) - 1)

    def leave_gap(self, session: Session, number: int) -> None:
        gap = next(gap for gap in session.gaps if gap[0] <= number <= gap[1])
        session.gaps.remove(gap)
        self.add_gap(session, gap[0], number - 1)
        self.add_gap(session, number + 1, gap[1])

    def add_gap(self, session: Session, first: int, last: int) -> None:
        if first <= last:
            session.gaps.append((first, last))
            session.gaps = sorted(session.gaps)[-GAPS_MAX:]

    def same(self, stored: Stored, request: Request) -> Reply:
        if stored.body != request.body:
            raise Reject("REQUEST_MISMATCH", "the request number was used with another body")
        return stored.reply

    def remembered(self, tombstone: Tombstone, number: int) -> Stored | None:
        if tombstone.closing is not None and tombstone.number == number:
            return tombstone.closing
        return tombstone.late.get(number)

    def bury(self, id: str, request: Request, reply: Reply, keep_ms: int, highest: int) -> None:
        closing = Stored(request.body, reply)
        self.account.tombstones[id] = Tombstone(self.now + keep_ms, request.number, closing, highest)

    def late_use(self, request: Request) -> Reply:
        """Use of a session that is not open: section 9."""
        if "LATEUSE" not in request.options or not any(item.used for item in request.items):
            raise unknown_session(self.account.tombstones.get(request.session), self.now)
        account, number, most = self.account, request.number, self.bounds.answers_max
        tombstone = account.tombstones.get(request.session)
        if tombstone is None:
            self.check_session_ids()
            tombstone = Tombstone(self.now)
        tombstone = replace(tombstone, late=dict(tombstone.late))
        late = tombstone.late
        if number <= tombstone.highest or (len(late) >= most and number < min(late)):
            raise Reject("OUT_OF_WINDOW", "the number was answered while the session was open: take a new number")
        overrun = request.options.get("OVERRUN", self.bounds.overrun_default)
        rows = []
        for asked in request.items:
            uncollected = Amounts(account, self.now).use(asked.key, asked.unit, asked.used, 0, overrun)[1]
            rows.append(ItemReply(asked.key, uncollected=uncollected))
        reply = Reply("OK", 0, rows)
        if self.is_chain_denied:
            for row in rows:
                row.code, row.cause = "CHAIN_DENIED", "chain"
            reply.code = "CHAIN_DENIED"
        late[number] = Stored(request.body, reply)
        if len(late) > most:
            tombstone.highest = min(late)
            del late[tombstone.highest]
        tombstone.forget = max(tombstone.forget, self.now + self.bounds.transaction_ms)
        account.tombstones[request.session] = tombstone
        return reply

    # ---- Bounds and times ------------------------------------------------------------------

    def check_ids(self) -> None:
        account, bounds = self.account, self.bounds
        deadlines = [session.deadline for session in account.sessions.values()]
        if len(deadlines) >= bounds.sessions_max:
            raise busy("sessions_max", bounds.sessions_max, deadlines, self.now)
        self.check_session_ids()

    def check_session_ids(self) -> None:
        account, most = self.account, self.bounds.session_ids_max
        if len(account.sessions) + len(account.tombstones) >= most:
            # An open session leaves a tombstone: its id stays.
            raise busy("session_ids_max", most, [found.forget for found in account.tombstones.values()], self.now)

    def new_session(self, request: Request) -> Session:
        options, bounds = request.options, self.bounds
        validity = options.get("VALIDITY", bounds.validity_ms_default)
        tcc = options.get("TCC", min(2 * validity, bounds.tcc_ms_max))
        overrun = options.get("OVERRUN", bounds.overrun_default)
        session = Session(request.session, self.now + tcc, validity, tcc, overrun)
        session.data = options.get("DATA", b"")
        return session

    def set_times(self, session: Session, options: Options) -> None:
        if "VALIDITY" in options:
            session.validity = options.get("VALIDITY")
            session.tcc = min(2 * session.validity, self.bounds.tcc_ms_max)
        if "TCC" in options:
            session.tcc = options.get("TCC")

    # ---- Amounts ---------------------------------------------------------------------------

    def item_of(self, session: Session, asked: ItemWords) -> Item:
        item = session.item(asked.key, asked.unit)
        if item is None:
            item = Item(asked.key, asked.unit)
            session.items.append(item)
        return item

    def grant(self, item: Item, asked: ItemWords, number: int) -> ItemReply:
        """Section 8."""
        amounts = Amounts(self.account, self.now)
        grantable, cause = amounts.grantable(item.unit, item.key, asked.requested, asked.min)
        if cause:
            return ItemReply(item.key, "CREDIT_LIMIT_REACHED", 0, 1, cause=cause)
        rest = grantable
        for bucket in self.account.burning(item.unit, self.now):
            taken = min(rest, max(0, bucket.available - bucket.floor))
            if taken:
                bucket.available -= taken
                bucket.held += taken
                bucket.check()
                item.slices.append((bucket.id, taken))
                rest -= taken
        item.granted += grantable
        item.last_grant = number
        if item.granted > I64_MAX:
            raise NotImplementedError("sums beyond 64 bits")
        return ItemReply(item.key, "OK", grantable, int(grantable < asked.requested))

    def settle(self, session: Session, item: Item, used: int, is_late: bool) -> int:
        """Section 7; what could not be collected."""
        account = self.account
        amounts = Amounts(account, self.now)
        left = amounts.left_of_limits(item.key, item.unit)
        if used:
            amounts.begin_periods(item.key, item.unit)
        from_hold = 0
        if not is_late:
            from_hold = self.from_slices(item, used)
        direct, uncollected = amounts.use(item.key, item.unit, used, from_hold, session.overrun, left)
        item.used += used
        item.from_hold += from_hold
        item.direct += direct
        item.uncollected += uncollected
        if not is_late:
            for bucket, amount in item.slices:
                account.buckets[bucket].give_back(amount, self.now)
                item.released += amount
            item.slices = []
        if item.used > I64_MAX:
            raise NotImplementedError("sums beyond 64 bits")
        return uncollected

    def from_slices(self, item: Item, used: int) -> int:
        rest, left = used, []
        for id, amount in item.slices:
            taken = min(rest, amount)
            bucket = self.account.buckets[id]
            bucket.held -= taken
            bucket.consumed += taken
            rest -= taken
            if amount > taken:
                left.append((id, amount - taken))
        item.slices = left
        return used - rest

    def undo(self, rows: list[ItemReply]) -> None:
        """Grants of a request that closes its session; the holds go back with it."""
        for row in rows:
            if row.code == "OK":
                row.granted, row.final = 0, 0


def busy(bound: str, value: int, times: list[int], now: int) -> Reject:
    first = f", the first goes in {min(times) - now} ms" if times else ""
    return Reject("BUSY", f"{bound} {value}{first}: try again later with the same id")


def unknown_session(tombstone: Tombstone | None, now: int) -> Reject:
    if tombstone is None or (tombstone.closing is None and tombstone.expired is None and not tombstone.was_released):
        return Reject("UNKNOWN_SESSION", "no open session has this id: SCUR.RESERVE opens one")
    cure = "report what it used with LATEUSE, and open another one under a new id"
    return Reject("UNKNOWN_SESSION", f"{expired(tombstone, now) or 'the session has ended: '}{cure}")


def id_is_used_up(tombstone: Tombstone, now: int) -> str:
    if since := expired(tombstone, now):
        return f"{since}its id is used up: open another one under a new id, and report what this one used with LATEUSE"
    return "the session id was used and is remembered: use a new one"


def expired(tombstone: Tombstone, now: int) -> str:
    """When it expired; nothing of one that ended otherwise, or that has reported late use."""
    if tombstone.expired is None or tombstone.late:
        return ""
    ago = now - tombstone.expired
    return f"the session expired {ago // 1000}.{ago % 1000 // 100} s ago: "
