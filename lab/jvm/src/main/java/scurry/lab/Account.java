package scurry.lab;

import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** An account with its sessions, open or remembered. Buckets stand in burn order. */
final class Account {
    static final long NEVER = Long.MAX_VALUE;

    /** A bucket; `to` is 0 where it does not end. */
    static final class Bucket {
        String id, unit;
        long priority, from, to, floor, available, held, credited, consumed, expired, overdrawn;

        boolean serves(String wanted, long now) {
            return unit.equals(wanted) && from <= now && (to == 0 || now < to);
        }

        /** Puts back what was held or never taken. */
        void giveBack(long amount, long now) {
            if (to != 0 && to <= now) {
                expired += amount;
            } else {
                available += amount;
            }
        }
    }

    /** An item of a session. */
    static final class Item {
        long key, granted, used, fromHold, direct, released, uncollected, lastGrant;
        String unit;
    }

    /** What an item holds of a bucket, both by their places. */
    static final class Slice {
        int item, bucket;
        long amount;
    }

    /** What one item of a request was answered. */
    record Granted(long key, boolean denied, long amount, boolean last, long uncollected) {}

    /** A stored answer. */
    record Answer(long number, byte[] body, boolean denied, long version, List<Granted> items) {}

    /** A session; one that is not open is remembered until `forget`. */
    static final class Session {
        boolean open;
        long version, deadline, validity, tcc, last, forget;
        List<Item> items = new ArrayList<>(1);
        List<Slice> slices = new ArrayList<>(2);
        List<Answer> answers = new ArrayList<>(4);
    }

    long version, changedAt, due;
    List<Bucket> buckets = new ArrayList<>(2);
    Map<String, Session> sessions = new LinkedHashMap<>(4);
    Map<String, Long> uncollected = new LinkedHashMap<>(0);

    void write(DataOutput out) throws IOException {
        out.writeLong(version);
        out.writeLong(changedAt);
        out.writeLong(due);
        out.writeShort(buckets.size());
        for (Bucket b : buckets) {
            out.writeUTF(b.id);
            out.writeUTF(b.unit);
            for (long value : new long[] {b.priority, b.from, b.to, b.floor, b.available, b.held,
                b.credited, b.consumed, b.expired, b.overdrawn}) {
                out.writeLong(value);
            }
        }
        out.writeShort(sessions.size());
        for (Map.Entry<String, Session> entry : sessions.entrySet()) {
            out.writeUTF(entry.getKey());
            writeSession(entry.getValue(), out);
        }
        out.writeShort(uncollected.size());
        for (Map.Entry<String, Long> entry : uncollected.entrySet()) {
            out.writeUTF(entry.getKey());
            out.writeLong(entry.getValue());
        }
    }

    static Account read(DataInput in) throws IOException {
        Account account = new Account();
        account.version = in.readLong();
        account.changedAt = in.readLong();
        account.due = in.readLong();
        for (int left = in.readShort(); left > 0; left--) {
            Bucket b = new Bucket();
            b.id = in.readUTF();
            b.unit = in.readUTF();
            b.priority = in.readLong();
            b.from = in.readLong();
            b.to = in.readLong();
            b.floor = in.readLong();
            b.available = in.readLong();
            b.held = in.readLong();
            b.credited = in.readLong();
            b.consumed = in.readLong();
            b.expired = in.readLong();
            b.overdrawn = in.readLong();
            account.buckets.add(b);
        }
        for (int left = in.readShort(); left > 0; left--) {
            account.sessions.put(in.readUTF(), readSession(in));
        }
        for (int left = in.readShort(); left > 0; left--) {
            account.uncollected.put(in.readUTF(), in.readLong());
        }
        return account;
    }

    private static void writeSession(Session s, DataOutput out) throws IOException {
        out.writeBoolean(s.open);
        for (long value : new long[] {s.version, s.deadline, s.validity, s.tcc, s.last, s.forget}) {
            out.writeLong(value);
        }
        out.writeShort(s.items.size());
        for (Item i : s.items) {
            out.writeUTF(i.unit);
            for (long value : new long[] {i.key, i.granted, i.used, i.fromHold, i.direct,
                i.released, i.uncollected, i.lastGrant}) {
                out.writeLong(value);
            }
        }
        out.writeShort(s.slices.size());
        for (Slice slice : s.slices) {
            out.writeShort(slice.item);
            out.writeShort(slice.bucket);
            out.writeLong(slice.amount);
        }
        out.writeShort(s.answers.size());
        for (Answer a : s.answers) {
            out.writeLong(a.number);
            out.writeShort(a.body.length);
            out.write(a.body);
            out.writeBoolean(a.denied);
            out.writeLong(a.version);
            out.writeShort(a.items.size());
            for (Granted g : a.items) {
                out.writeLong(g.key);
                out.writeBoolean(g.denied);
                out.writeLong(g.amount);
                out.writeBoolean(g.last);
                out.writeLong(g.uncollected);
            }
        }
    }

    private static Session readSession(DataInput in) throws IOException {
        Session s = new Session();
        s.open = in.readBoolean();
        s.version = in.readLong();
        s.deadline = in.readLong();
        s.validity = in.readLong();
        s.tcc = in.readLong();
        s.last = in.readLong();
        s.forget = in.readLong();
        for (int left = in.readShort(); left > 0; left--) {
            Item i = new Item();
            i.unit = in.readUTF();
            i.key = in.readLong();
            i.granted = in.readLong();
            i.used = in.readLong();
            i.fromHold = in.readLong();
            i.direct = in.readLong();
            i.released = in.readLong();
            i.uncollected = in.readLong();
            i.lastGrant = in.readLong();
            s.items.add(i);
        }
        for (int left = in.readShort(); left > 0; left--) {
            Slice slice = new Slice();
            slice.item = in.readShort();
            slice.bucket = in.readShort();
            slice.amount = in.readLong();
            s.slices.add(slice);
        }
        for (int left = in.readShort(); left > 0; left--) {
            long number = in.readLong();
            byte[] body = new byte[in.readShort()];
            in.readFully(body);
            boolean denied = in.readBoolean();
            long version = in.readLong();
            int count = in.readShort();
            List<Granted> items = new ArrayList<>(count);
            for (int item = 0; item < count; item++) {
                items.add(new Granted(in.readLong(), in.readBoolean(), in.readLong(),
                        in.readBoolean(), in.readLong()));
            }
            s.answers.add(new Answer(number, body, denied, version, items));
        }
        return s;
    }
}
