package scurry.lab;

import java.io.ByteArrayOutputStream;
import java.io.DataInput;
import java.io.DataOutput;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.List;

/** A charging command without its account: what SCUR.* says, parsed once, by the client. */
final class Command {
    enum Kind { CREATE, RESERVE, UPDATE, TERMINATE, GET, SESSION, AUDIT }

    private static final Kind[] KINDS = Kind.values();

    /** One item of a request; 0 where nothing is used or asked for. */
    record Item(long key, String unit, long used, long requested, long least) {}

    /** A bucket of a new account; `to` is 0 where it does not end. */
    record NewBucket(String id, String unit, long amount, long priority, long from, long to, long floor) {}

    final Kind kind;
    final String session;
    final long number;
    final List<Item> items;
    final List<NewBucket> buckets;

    Command(Kind kind, String session, long number, List<Item> items, List<NewBucket> buckets) {
        this.kind = kind;
        this.session = session;
        this.number = number;
        this.items = items;
        this.buckets = buckets;
    }

    /** From the words of a request: SCUR.UPDATE account session number ITEM ... */
    static Command parse(String[] words) {
        Kind kind = Kind.valueOf(words[0].substring("SCUR.".length()));
        return switch (kind) {
            case GET, AUDIT -> new Command(kind, "", 0, List.of(), List.of());
            case SESSION -> new Command(kind, words[2], 0, List.of(), List.of());
            case CREATE -> new Command(kind, "", 0, List.of(), newBuckets(words));
            default -> new Command(kind, words[2], Long.parseLong(words[3]), items(words), List.of());
        };
    }

    private static List<NewBucket> newBuckets(String[] words) {
        List<NewBucket> buckets = new ArrayList<>();
        for (int at = 2; at < words.length; ) {
            String id = words[at + 1], unit = words[at + 2];
            long amount = Long.parseLong(words[at + 3]), priority = 0, from = 0, to = 0, floor = 0;
            for (at += 4; at < words.length && !words[at].equals("BUCKET"); at += 2) {
                long value = Long.parseLong(words[at + 1]);
                switch (words[at]) {
                    case "PRIORITY" -> priority = value;
                    case "FROM" -> from = value;
                    case "TO" -> to = value;
                    case "FLOOR" -> floor = value;
                    default -> throw new IllegalArgumentException("a bucket has no " + words[at]);
                }
            }
            buckets.add(new NewBucket(id, unit, amount, priority, from, to, floor));
        }
        return buckets;
    }

    private static List<Item> items(String[] words) {
        List<Item> items = new ArrayList<>(1);
        for (int at = 4; at < words.length; ) {
            if (!words[at].equals("ITEM")) {
                throw new IllegalArgumentException("the items are not ITEM key unit ...");
            }
            long key = Long.parseLong(words[at + 1]), used = 0, requested = 0, least = 1;
            String unit = words[at + 2];
            for (at += 3; at < words.length && !words[at].equals("ITEM"); at += 2) {
                long value = Long.parseLong(words[at + 1]);
                switch (words[at]) {
                    case "USED" -> used = value;
                    case "REQUESTED" -> requested = value;
                    case "MIN" -> least = Math.max(1, value);
                    default -> throw new IllegalArgumentException("an item has no " + words[at]);
                }
            }
            items.add(new Item(key, unit, used, requested, least));
        }
        return items;
    }

    void write(DataOutput out) throws IOException {
        out.writeByte(kind.ordinal());
        out.writeUTF(session);
        writeBody(out);
        out.writeByte(buckets.size());
        for (NewBucket bucket : buckets) {
            out.writeUTF(bucket.id);
            out.writeUTF(bucket.unit);
            for (long value : new long[] {
                bucket.amount, bucket.priority, bucket.from, bucket.to, bucket.floor
            }) {
                out.writeLong(value);
            }
        }
    }

    static Command read(DataInput in) throws IOException {
        Kind kind = KINDS[in.readByte()];
        String session = in.readUTF();
        long number = in.readLong();
        int count = in.readByte();
        List<Item> items = new ArrayList<>(count);
        for (int item = 0; item < count; item++) {
            items.add(new Item(in.readLong(), in.readUTF(), in.readLong(), in.readLong(), in.readLong()));
        }
        count = in.readByte();
        List<NewBucket> buckets = new ArrayList<>(count);
        for (int bucket = 0; bucket < count; bucket++) {
            buckets.add(new NewBucket(in.readUTF(), in.readUTF(), in.readLong(), in.readLong(),
                    in.readLong(), in.readLong(), in.readLong()));
        }
        return new Command(kind, session, number, items, buckets);
    }

    /** What must be equal in a duplicate. */
    byte[] body() {
        try {
            ByteArrayOutputStream bytes = new ByteArrayOutputStream(64);
            DataOutputStream out = new DataOutputStream(bytes);
            out.writeByte(kind.ordinal());
            writeBody(out);
            return bytes.toByteArray();
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }

    private void writeBody(DataOutput out) throws IOException {
        out.writeLong(number);
        out.writeByte(items.size());
        for (Item item : items) {
            out.writeLong(item.key);
            out.writeUTF(item.unit);
            out.writeLong(item.used);
            out.writeLong(item.requested);
            out.writeLong(item.least);
        }
    }
}
