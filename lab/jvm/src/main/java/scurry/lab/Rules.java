package scurry.lab;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import scurry.lab.Account.Answer;
import scurry.lab.Account.Bucket;
import scurry.lab.Account.Granted;
import scurry.lab.Account.Item;
import scurry.lab.Account.Session;
import scurry.lab.Account.Slice;

/**
 * The charging rules of docs/ledger.md on one account, as far as the scenario moaf-scur and the
 * lab's probe need them. They run where the account is, under its lock. Left out, because the
 * scenario never uses it: OVERRUN clamp, VALIDITY, TCC, CLOSEONDENIAL, IFVERSION, DATA, counters,
 * identities, any status but active. Nothing is changed before the last refusal.
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
            rules.expire();
        }
        byte[] reply = switch (command.kind) {
            case RESERVE -> rules.reserve();
            case UPDATE -> rules.update();
            case TERMINATE -> rules.terminate();
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
        account.due = Account.NEVER;
        for (Command.NewBucket wanted : command.buckets) {
            Bucket b = new Bucket();
            b.id = wanted.id();
            b.unit = wanted.unit();
            b.available = b.credited = wanted.amount();
            b.priority = wanted.priority();
            b.from = wanted.from();
            b.to = wanted.to();
            b.floor = wanted.floor();
            if (b.to != 0) {
                account.due = Math.min(account.due, b.to);
            }
            account.buckets.add(b);
        }
        account.buckets.sort(Comparator.<Bucket>comparingLong(b -> b.priority)
                .thenComparingLong(b -> b.to == 0 ? Account.NEVER : b.to)
                .thenComparing(b -> b.id));
        return account;
    }

    // What is due (section 3).

    private void expire() {
        changed = true;
        account.sessions.entrySet().stream()
                .filter(entry -> entry.getValue().open && entry.getValue().deadline <= now)
                .sorted(Comparator.<Map.Entry<String, Session>>comparingLong(e -> e.getValue().deadline)
                        .thenComparing(Map.Entry::getKey))
                .forEach(entry -> {
                    Session s = entry.getValue();
                    release(s, s.deadline);
                    s.answers.clear();
                    bury(s, s.deadline + TOMBSTONE_MS);
                });
        long due = Account.NEVER;
        for (Bucket b : account.buckets) {
            if (b.to != 0 && b.to <= now && b.available > 0) {
                b.expired += b.available;
                b.available = 0;
            }
            if (b.to > now) {
                due = Math.min(due, b.to);
            }
        }
        for (Iterator<Session> all = account.sessions.values().iterator(); all.hasNext(); ) {
            Session s = all.next();
            if (!s.open && s.forget <= now) {
                all.remove();
            } else {
                due = Math.min(due, s.open ? s.deadline : s.forget);
            }
        }
        account.due = due;
    }

    /** Gives back what the session holds, to the buckets as they are at that time. */
    private void release(Session s, long time) {
        for (Slice slice : s.slices) {
            Bucket b = account.buckets.get(slice.bucket);
            b.held -= slice.amount;
            b.giveBack(slice.amount, time);
            s.items.get(slice.item).released += slice.amount;
        }
        s.slices.clear();
    }

    /** Closes a session and remembers its id, and the answer that it may have. */
    private void bury(Session s, long forget) {
        s.open = false;
        s.forget = forget;
        s.items = List.of();
        account.due = Math.min(account.due, forget);
    }

    // Settling and granting (sections 7 and 8).

    private static int find(Session s, Command.Item wanted) {
        for (int at = 0; at < s.items.size(); at++) {
            if (s.items.get(at).key == wanted.key()) {
                return at;
            }
        }
        Item item = new Item();
        item.key = wanted.key();
        item.unit = wanted.unit();
        s.items.add(item);
        return s.items.size() - 1;
    }

    /** Gives what could not be collected. */
    private long settle(Session s, int at, long used, boolean late) {
        Item item = s.items.get(at);
        long rest = used;
        if (!late) {
            for (Iterator<Slice> slices = s.slices.iterator(); slices.hasNext(); ) {
                Slice slice = slices.next();
                if (slice.item != at) {
                    continue;
                }
                slices.remove();
                Bucket b = account.buckets.get(slice.bucket);
                long taken = Math.min(rest, slice.amount), left = slice.amount - taken;
                b.held -= slice.amount;
                b.consumed += taken;
                rest -= taken;
                if (left > 0) { // then nothing is left to settle
                    b.giveBack(left, now);
                    item.released += left;
                }
            }
        }
        item.used += used;
        item.fromHold += used - rest;
        long beyond = rest;
        Bucket last = null;
        for (int level = 0; level < 2 && rest > 0; level++) {
            for (Bucket b : account.buckets) {
                if (!b.serves(item.unit, now)) {
                    continue;
                }
                long taken = Math.min(rest, level == 0 ? b.available : b.available - b.floor);
                if (taken > 0) {
                    b.available -= taken;
                    b.consumed += taken;
                    rest -= taken;
                }
                last = b;
            }
        }
        if (rest > 0 && last != null) {
            last.available -= rest;
            last.consumed += rest;
            last.overdrawn += rest;
            rest = 0;
        }
        item.direct += beyond - rest;
        if (rest > 0) {
            item.uncollected += rest;
            account.uncollected.merge(item.unit, rest, Long::sum);
        }
        return rest;
    }

    private Granted grant(Session s, int at, Command.Item wanted, long uncollected) {
        Item item = s.items.get(at);
        long total = 0;
        for (Bucket b : account.buckets) {
            if (b.serves(item.unit, now)) {
                total += Math.max(0, b.available - b.floor);
            }
        }
        total = Math.min(total, wanted.requested());
        if (total < wanted.least()) {
            return new Granted(wanted.key(), true, 0, true, uncollected);
        }
        long rest = total;
        for (int bucket = 0; bucket < account.buckets.size() && rest > 0; bucket++) {
            Bucket b = account.buckets.get(bucket);
            long room = b.serves(item.unit, now) ? Math.min(rest, b.available - b.floor) : 0;
            if (room > 0) {
                b.available -= room;
                b.held += room;
                Slice slice = new Slice();
                slice.item = at;
                slice.bucket = bucket;
                slice.amount = room;
                s.slices.add(slice);
                rest -= room;
            }
        }
        item.granted += total;
        item.lastGrant = command.number;
        return new Granted(wanted.key(), false, total, total < wanted.requested(), uncollected);
    }

    // Sessions (sections 4 to 6 and 9).

    /** The stored answer to this number; null where there is none. */
    private byte[] stored(Session s, byte[] body) {
        for (Answer answer : s.answers) {
            if (answer.number() == command.number) {
                return Arrays.equals(answer.body(), body)
                        ? shown(answer, true)
                        : Reply.error("REQUEST_MISMATCH 32 the request number was used with another body");
            }
        }
        return null;
    }

    private static byte[] shown(Answer answer, boolean replayed) {
        Reply reply = new Reply().array(4).simple(code(answer.denied()));
        reply.integer(replayed ? 1 : 0).integer(answer.version()).array(answer.items().size());
        for (Granted item : answer.items()) {
            reply.array(5).integer(item.key()).simple(code(item.denied())).integer(item.amount());
            reply.integer(item.last() ? 1 : 0).integer(item.uncollected());
        }
        return reply.bytes();
    }

    private static String code(boolean denied) {
        return denied ? "CREDIT_LIMIT_REACHED" : "OK";
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
        return shown(answer, false);
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
        s.validity = VALIDITY;
        s.tcc = TCC;
        s.last = command.number;
        List<Granted> items = new ArrayList<>(command.items.size());
        command.items.forEach(item -> find(s, item));
        for (Command.Item item : command.items) {
            items.add(grant(s, find(s, item), item, 0));
        }
        boolean denied = items.stream().allMatch(Granted::denied);
        account.sessions.put(command.session, s);
        if (denied) {
            s.version = 0;
            bury(s, now + TOMBSTONE_MS);
        } else {
            account.due = Math.min(account.due, s.deadline);
        }
        return remember(s, new Answer(command.number, body, denied, s.version, items));
    }

    /** Why an update or an end does not happen, or its stored answer; null where it does. */
    private byte[] refusal(Session s, byte[] body) {
        byte[] unknown = Reply.error("UNKNOWN_SESSION 30 no open session has this id");
        byte[] stored = s == null ? null : stored(s, body);
        if (s == null || stored != null || !s.open) {
            return stored != null ? stored : unknown;
        }
        boolean full = s.answers.size() >= ANSWERS_MAX;
        return full && command.number < s.answers.get(0).number()
                ? Reply.error("OUT_OF_WINDOW 33 the request number is below the stored answers")
                : null;
    }

    private byte[] update() {
        byte[] body = command.body();
        Session s = account.sessions.get(command.session);
        byte[] refusal = refusal(s, body);
        if (refusal != null) {
            return refusal;
        }
        int count = command.items.size(), asked = 0, denied = 0;
        long[] uncollected = new long[count];
        for (int i = 0; i < count; i++) {
            Command.Item item = command.items.get(i);
            int at = find(s, item);
            uncollected[i] = settle(s, at, item.used(), command.number < s.items.get(at).lastGrant);
        }
        List<Granted> items = new ArrayList<>(count);
        for (int i = 0; i < count; i++) {
            Command.Item item = command.items.get(i);
            int at = find(s, item);
            Granted granted = new Granted(item.key(), false, 0, false, uncollected[i]);
            if (item.requested() > 0 && command.number >= s.items.get(at).lastGrant) {
                granted = grant(s, at, item, uncollected[i]);
                asked++;
                denied += granted.denied() ? 1 : 0;
            }
            items.add(granted);
        }
        s.version++;
        s.deadline = now + s.tcc;
        return remember(s, new Answer(command.number, body, asked > 0 && asked == denied, s.version, items));
    }

    private byte[] terminate() {
        byte[] body = command.body();
        Session s = account.sessions.get(command.session);
        byte[] refusal = refusal(s, body);
        if (refusal != null) {
            return refusal;
        }
        List<Granted> items = new ArrayList<>(command.items.size());
        for (Command.Item item : command.items) {
            items.add(new Granted(item.key(), false, 0, false, settle(s, find(s, item), item.used(), false)));
        }
        release(s, now);
        s.answers.clear();
        bury(s, now + TOMBSTONE_MS);
        return remember(s, new Answer(command.number, body, false, 0, items));
    }

    // Reading.

    private Reply describe(Reply reply) {
        reply.bulk("status").bulk("active").bulk("version").integer(account.version);
        reply.bulk("identities").array(0).bulk("buckets").array(account.buckets.size());
        for (Bucket b : account.buckets) {
            reply.array(8).bulk(b.id).bulk(b.unit).integer(b.available).integer(b.held);
            reply.integer(b.floor).integer(b.priority).integer(b.from);
            if (b.to == 0) {
                reply.nil();
            } else {
                reply.integer(b.to);
            }
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
        reply.bulk("deadline").integer(s.deadline).bulk("validity").integer(s.validity);
        reply.bulk("tcc").integer(s.tcc).bulk("overrun").bulk("overdraw");
        reply.bulk("last_request").integer(s.last).bulk("data").bulk("");
        reply.bulk("items").array(s.items.size());
        for (int at = 0; at < s.items.size(); at++) {
            Item item = s.items.get(at);
            long outstanding = 0;
            for (Slice slice : s.slices) {
                outstanding += slice.item == at ? slice.amount : 0;
            }
            reply.array(9).integer(item.key).bulk(item.unit).integer(item.granted);
            reply.integer(outstanding).integer(item.used).integer(item.fromHold);
            reply.integer(item.direct).integer(item.released).integer(item.uncollected);
        }
        return describe(reply).bytes();
    }

    private byte[] audit() {
        boolean ok = account.buckets.stream().allMatch(
                b -> b.available + b.held == b.credited - b.consumed - b.expired && b.held >= 0);
        Reply reply = new Reply().array(8).bulk("ok").integer(ok ? 1 : 0);
        reply.bulk("version").integer(account.version).bulk("buckets").array(account.buckets.size());
        for (Bucket b : account.buckets) {
            reply.array(10).bulk(b.id).bulk(b.unit).integer(b.available).integer(b.held);
            reply.integer(b.credited).integer(0).integer(b.consumed).integer(b.expired);
            reply.integer(0).integer(b.overdrawn);
        }
        reply.bulk("uncollected").array(account.uncollected.size());
        account.uncollected.forEach((unit, amount) -> reply.array(2).bulk(unit).integer(amount));
        return reply.bytes();
    }
}
