package scurry.lab;

import java.util.Arrays;
import java.util.Comparator;
import scurry.lab.Account.Answer;
import scurry.lab.Account.Bucket;
import scurry.lab.Account.Session;
import scurry.lab.Account.Slice;

/**
 * The charging rules of docs/ledger.md on one account, as far as the scenario moaf-scur and the
 * lab's probe need them. They run where the account is, under its lock. Left out, because the
 * scenario never uses it: a second item, MIN, FROM, TO, FLOOR, OVERRUN clamp, VALIDITY, TCC and the end
 * of a session by it, CLOSEONDENIAL, IFVERSION, DATA, counters, identities, any status but active.
 * Nothing is changed before the last refusal.
 */
final class Rules {
    private static final long VALIDITY = 600_000, TCC = 1_200_000, TOMBSTONE_MS = 240_000;
    private static final int SESSIONS_MAX = 64, SESSION_IDS_MAX = 256, ANSWERS_MAX = 8;

    /** The account afterwards, whether it must be kept, and the reply. */
    record Done(Account account, boolean changed, byte[] reply) {}

    private final Account account;
    private final Command command;
    private final long now;
    private boolean changed;

    private Rules(Account account, Command command, long now) {
        this.account = account;
        this.command = command;
        this.now = now;
    }

    /** Carries out a command; `held` is null where there is no account. */
    static Done run(Account held, Command command, long wall) {
        if (command.kind == Command.Kind.CREATE) {
            return held != null
                    ? new Done(held, false, Reply.error("ACCOUNT_EXISTS 21 an account with this id exists"))
                    : new Done(create(command, wall), true, new Reply().array(2).simple("OK").integer(1).bytes());
        }
        if (held == null) {
            return new Done(null, false, Reply.error("UNKNOWN_ACCOUNT 20 no account has this id"));
        }
        Rules rules = new Rules(held, command, Math.max(wall, held.changedAt));
        if (held.due <= rules.now) {
            rules.forget();
        }
        byte[] reply = switch (command.kind) {
            case RESERVE -> rules.reserve();
            case UPDATE, TERMINATE -> rules.settleOrEnd();
            case SESSION -> rules.session();
            case AUDIT -> rules.audit();
            default -> rules.describe(new Reply().array(12)).bytes();
        };
        return new Done(held, rules.changed, reply);
    }

    private static Account create(Command command, long now) {
        Account account = new Account();
        account.version = 1;
        account.changedAt = now;
        for (Command.NewBucket wanted : command.buckets) {
            Bucket b = new Bucket();
            b.id = wanted.id();
            b.unit = wanted.unit();
            b.available = b.credited = wanted.amount();
            b.priority = wanted.priority();
            account.buckets.add(b);
        }
        account.buckets.sort(Comparator.<Bucket>comparingLong(b -> b.priority).thenComparing(b -> b.id));
        return account;
    }

    /** Forgets the ids of sessions that ended long enough ago. */
    private void forget() {
        changed = true;
        account.sessions.values().removeIf(s -> !s.open && s.forget <= now);
        account.due = account.sessions.values().stream().filter(s -> !s.open)
                .mapToLong(s -> s.forget).min().orElse(Account.NEVER);
    }

    /** Closes a session and remembers its id, and the answer that it may have. */
    private void bury(Session s) {
        s.open = false;
        s.answers.clear();
        s.forget = now + TOMBSTONE_MS;
        account.due = Math.min(account.due, s.forget);
    }

    // Settling and granting (sections 7 and 8).

    private void settle(Session s, boolean late) {
        long used = command.item.used(), rest = used;
        if (!late) {
            for (Slice slice : s.slices) {
                Bucket b = account.buckets.get(slice.bucket());
                long taken = Math.min(rest, slice.amount()), left = slice.amount() - taken;
                b.held -= slice.amount();
                b.consumed += taken;
                b.available += left;
                s.released += left;
                rest -= taken;
            }
            s.slices.clear();
        }
        s.used += used;
        s.fromHold += used - rest;
        s.direct += rest;
        Bucket last = null;
        for (Bucket b : account.buckets) {
            if (b.unit.equals(s.unit)) {
                long taken = Math.max(0, Math.min(rest, b.available));
                b.available -= taken;
                b.consumed += taken;
                rest -= taken;
                last = b;
            }
        }
        if (rest > 0) {
            last.available -= rest;
            last.consumed += rest;
            last.overdrawn += rest;
        }
    }

    /** What is granted; 0 is a denial. */
    private long grant(Session s) {
        long granted = 0;
        for (int bucket = 0; bucket < account.buckets.size(); bucket++) {
            Bucket b = account.buckets.get(bucket);
            long room = Math.min(command.item.requested() - granted, b.available);
            if (b.unit.equals(s.unit) && room > 0) {
                b.available -= room;
                b.held += room;
                s.slices.add(new Slice(bucket, room));
                granted += room;
            }
        }
        if (granted > 0) {
            s.granted += granted;
            s.lastGrant = command.number;
        }
        return granted;
    }

    // Sessions (sections 4 to 6 and 9).

    /** The stored answer to this number; null where there is none. */
    private byte[] stored(Session s, byte[] body) {
        for (Answer answer : s.answers) {
            if (answer.number() == command.number) {
                return Arrays.equals(answer.body(), body)
                        ? shown(s, answer, true)
                        : Reply.error("REQUEST_MISMATCH 32 the request number was used with another body");
            }
        }
        return null;
    }

    private static byte[] shown(Session s, Answer answer, boolean replayed) {
        String code = answer.denied() ? "CREDIT_LIMIT_REACHED" : "OK";
        Reply reply = new Reply().array(4).simple(code).integer(replayed ? 1 : 0).integer(answer.version());
        reply.array(1).array(5).integer(s.key).simple(code).integer(answer.granted());
        return reply.integer(answer.last() ? 1 : 0).integer(0).bytes();
    }

    /** Keeps an answer, ascending by number, the highest eight, and counts the change. */
    private byte[] remember(Session s, Answer answer) {
        int at = s.answers.size();
        while (at > 0 && s.answers.get(at - 1).number() > answer.number()) {
            at--;
        }
        s.answers.add(at, answer);
        if (s.answers.size() > ANSWERS_MAX) {
            s.answers.remove(0);
        }
        s.last = Math.max(s.last, answer.number());
        account.version++;
        account.changedAt = now;
        changed = true;
        return shown(s, answer, false);
    }

    private byte[] reserve() {
        byte[] body = command.body();
        Session known = account.sessions.get(command.session);
        if (known != null) {
            byte[] stored = stored(known, body);
            return stored != null ? stored
                    : Reply.error("SESSION_EXISTS 31 the session id is open, or was used");
        }
        long open = account.sessions.values().stream().filter(s -> s.open).count();
        if (open >= SESSIONS_MAX || account.sessions.size() >= SESSION_IDS_MAX) {
            return Reply.error("BUSY 50 a bound of the account is reached: safe to retry later");
        }
        Session s = new Session();
        s.open = true;
        s.version = 1;
        s.deadline = now + TCC;
        s.key = command.item.key();
        s.unit = command.item.unit();
        account.sessions.put(command.session, s);
        long granted = grant(s);
        if (granted == 0) {
            s.version = 0;
            bury(s);
        }
        boolean last = granted < command.item.requested();
        return remember(s, new Answer(command.number, body, granted == 0, s.version, granted, last));
    }

    /** UPDATE and TERMINATE. */
    private byte[] settleOrEnd() {
        byte[] body = command.body();
        Session s = account.sessions.get(command.session);
        byte[] stored = s == null ? null : stored(s, body);
        if (stored != null) {
            return stored;
        }
        if (s == null || !s.open) {
            return Reply.error("UNKNOWN_SESSION 30 no open session has this id");
        }
        if (s.answers.size() >= ANSWERS_MAX && command.number < s.answers.get(0).number()) {
            return Reply.error("OUT_OF_WINDOW 33 the request number is below the stored answers");
        }
        boolean ends = command.kind == Command.Kind.TERMINATE, late = command.number < s.lastGrant;
        settle(s, late && !ends);
        if (ends) {
            bury(s);
            return remember(s, new Answer(command.number, body, false, 0, 0, false));
        }
        long requested = late ? 0 : command.item.requested(), granted = requested > 0 ? grant(s) : 0;
        boolean denied = requested > 0 && granted == 0;
        s.version++;
        s.deadline = now + TCC;
        return remember(s, new Answer(command.number, body, denied, s.version, granted, granted < requested));
    }

    // Reading.

    private Reply describe(Reply reply) {
        reply.bulk("status").bulk("active").bulk("version").integer(account.version);
        reply.bulk("identities").array(0).bulk("buckets").array(account.buckets.size());
        for (Bucket b : account.buckets) {
            reply.array(8).bulk(b.id).bulk(b.unit).integer(b.available).integer(b.held);
            reply.integer(0).integer(b.priority).integer(0).nil();
        }
        reply.bulk("counters").array(0).bulk("sessions");
        reply.array((int) account.sessions.values().stream().filter(s -> s.open).count());
        account.sessions.forEach((id, s) -> {
            if (s.open) {
                reply.array(3).bulk(id).integer(s.version).integer(s.deadline);
            }
        });
        return reply;
    }

    private byte[] session() {
        Session s = account.sessions.get(command.session);
        if (s == null || !s.open) {
            return Reply.error("UNKNOWN_SESSION 30 no open session has this id");
        }
        Reply reply = new Reply().array(14).bulk("session").array(18);
        reply.bulk("id").bulk(command.session).bulk("version").integer(s.version);
        reply.bulk("deadline").integer(s.deadline).bulk("validity").integer(VALIDITY);
        reply.bulk("tcc").integer(TCC).bulk("overrun").bulk("overdraw");
        reply.bulk("last_request").integer(s.last).bulk("data").bulk("");
        reply.bulk("items").array(1).array(9).integer(s.key).bulk(s.unit).integer(s.granted);
        reply.integer(s.slices.stream().mapToLong(Slice::amount).sum()).integer(s.used);
        reply.integer(s.fromHold).integer(s.direct).integer(s.released).integer(0);
        return describe(reply).bytes();
    }

    private byte[] audit() {
        boolean ok = account.buckets.stream().allMatch(
                b -> b.available + b.held == b.credited - b.consumed && b.held >= 0);
        Reply reply = new Reply().array(8).bulk("ok").integer(ok ? 1 : 0);
        reply.bulk("version").integer(account.version).bulk("buckets").array(account.buckets.size());
        for (Bucket b : account.buckets) {
            reply.array(10).bulk(b.id).bulk(b.unit).integer(b.available).integer(b.held);
            reply.integer(b.credited).integer(0).integer(b.consumed).integer(0);
            reply.integer(0).integer(b.overdrawn);
        }
        return reply.bulk("uncollected").array(0).bytes();
    }
}
