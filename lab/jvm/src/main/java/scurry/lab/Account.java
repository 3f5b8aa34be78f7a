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

    static final class Bucket {
        String id, unit;
        long priority, available, held, credited, consumed, overdrawn;
    }

    /** What a session holds of a bucket, by its place. */
    record Slice(int bucket, long amount) {}

    /** A stored answer; `last` says that the grant is final. */
    record Answer(long number, byte[] body, boolean denied, long version, long granted, boolean last) {}

    /** A session and its one item; one that is not open is remembered until `forget`. */
    static final class Session {
        boolean open;
        String unit = "";
        long version, deadline, last, forget, key, granted, used, fromHold, direct, released, lastGrant;
        List<Slice> slices = new ArrayList<>(2);
        List<Answer> answers = new ArrayList<>(4);
    }

    long version, changedAt, due = NEVER;
    List<Bucket> buckets = new ArrayList<>(2);
    Map<String, Session> sessions = new LinkedHashMap<>(4);

    void write(DataOutput out) throws IOException {
        longs(out, version, changedAt, due);
        out.writeShort(buckets.size());
        for (Bucket b : buckets) {
            out.writeUTF(b.id);
            out.writeUTF(b.unit);
            longs(out, b.priority, b.available, b.held, b.credited, b.consumed, b.overdrawn);
        }
        out.writeShort(sessions.size());
        for (Map.Entry<String, Session> entry : sessions.entrySet()) {
            out.writeUTF(entry.getKey());
            write(entry.getValue(), out);
        }
    }

    private static void longs(DataOutput out, long... values) throws IOException {
        for (long value : values) {
            out.writeLong(value);
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
            b.available = in.readLong();
            b.held = in.readLong();
            b.credited = in.readLong();
            b.consumed = in.readLong();
            b.overdrawn = in.readLong();
            account.buckets.add(b);
        }
        for (int left = in.readShort(); left > 0; left--) {
            account.sessions.put(in.readUTF(), readSession(in));
        }
        return account;
    }

    private static void write(Session s, DataOutput out) throws IOException {
        out.writeBoolean(s.open);
        out.writeUTF(s.unit);
        longs(out, s.version, s.deadline, s.last, s.forget, s.key, s.granted, s.used, s.fromHold,
                s.direct, s.released, s.lastGrant);
        out.writeShort(s.slices.size());
        for (Slice slice : s.slices) {
            out.writeShort(slice.bucket);
            out.writeLong(slice.amount);
        }
        out.writeShort(s.answers.size());
        for (Answer a : s.answers) {
            longs(out, a.number, a.version, a.granted);
            out.writeBoolean(a.denied);
            out.writeBoolean(a.last);
            out.writeShort(a.body.length);
            out.write(a.body);
        }
    }

    private static Session readSession(DataInput in) throws IOException {
        Session s = new Session();
        s.open = in.readBoolean();
        s.unit = in.readUTF();
        s.version = in.readLong();
        s.deadline = in.readLong();
        s.last = in.readLong();
        s.forget = in.readLong();
        s.key = in.readLong();
        s.granted = in.readLong();
        s.used = in.readLong();
        s.fromHold = in.readLong();
        s.direct = in.readLong();
        s.released = in.readLong();
        s.lastGrant = in.readLong();
        for (int left = in.readShort(); left > 0; left--) {
            s.slices.add(new Slice(in.readShort(), in.readLong()));
        }
        for (int left = in.readShort(); left > 0; left--) {
            long number = in.readLong(), version = in.readLong(), granted = in.readLong();
            boolean denied = in.readBoolean(), last = in.readBoolean();
            byte[] body = new byte[in.readShort()];
            in.readFully(body);
            s.answers.add(new Answer(number, body, denied, version, granted, last));
        }
        return s;
    }
}
