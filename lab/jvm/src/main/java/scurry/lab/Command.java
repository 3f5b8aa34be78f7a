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

    /** The one item of a request; 0 where nothing is used or asked for. */
    record Item(long key, String unit, long used, long requested) {}

    record NewBucket(String id, String unit, long amount, long priority) {}

    static final Item NOTHING = new Item(0, "", 0, 0);

    final Kind kind;
    final String session;
    final long number;
    final Item item;
    final List<NewBucket> buckets;

    Command(Kind kind, String session, long number, Item item, List<NewBucket> buckets) {
        this.kind = kind;
        this.session = session;
        this.number = number;
        this.item = item;
        this.buckets = buckets;
    }

    /** From the words of a request: SCUR.UPDATE account session number ITEM ... */
    static Command parse(String[] words) {
        Kind kind = Kind.valueOf(words[0].substring("SCUR.".length()));
        return switch (kind) {
            case GET, AUDIT -> new Command(kind, "", 0, NOTHING, List.of());
            case SESSION -> new Command(kind, words[2], 0, NOTHING, List.of());
            case CREATE -> new Command(kind, "", 0, NOTHING, newBuckets(words));
            default -> new Command(kind, words[2], Long.parseLong(words[3]), item(words), List.of());
        };
    }

    private static List<NewBucket> newBuckets(String[] words) {
        List<NewBucket> buckets = new ArrayList<>();
        for (int at = 2; at < words.length; ) {
            boolean ranked = at + 4 < words.length && words[at + 4].equals("PRIORITY");
            buckets.add(new NewBucket(words[at + 1], words[at + 2], Long.parseLong(words[at + 3]),
                    ranked ? Long.parseLong(words[at + 5]) : 0));
            at += ranked ? 6 : 4;
        }
        return buckets;
    }

    private static Item item(String[] words) {
        if (!words[4].equals("ITEM")) {
            throw new IllegalArgumentException("the request has no ITEM key unit ...");
        }
        long used = 0, requested = 0;
        for (int at = 7; at < words.length; at += 2) {
            long value = Long.parseLong(words[at + 1]);
            switch (words[at]) {
                case "USED" -> used = value;
                case "REQUESTED" -> requested = value;
                default -> throw new IllegalArgumentException("an item has no " + words[at]);
            }
        }
        return new Item(Long.parseLong(words[5]), words[6], used, requested);
    }

    void write(DataOutput out) throws IOException {
        out.writeByte(kind.ordinal());
        out.writeUTF(session);
        writeBody(out);
        out.writeByte(buckets.size());
        for (NewBucket bucket : buckets) {
            out.writeUTF(bucket.id);
            out.writeUTF(bucket.unit);
            out.writeLong(bucket.amount);
            out.writeLong(bucket.priority);
        }
    }

    static Command read(DataInput in) throws IOException {
        Kind kind = KINDS[in.readByte()];
        String session = in.readUTF();
        long number = in.readLong();
        Item item = new Item(in.readLong(), in.readUTF(), in.readLong(), in.readLong());
        int count = in.readByte();
        List<NewBucket> buckets = new ArrayList<>(count);
        for (int bucket = 0; bucket < count; bucket++) {
            buckets.add(new NewBucket(in.readUTF(), in.readUTF(), in.readLong(), in.readLong()));
        }
        return new Command(kind, session, number, item, buckets);
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
        out.writeLong(item.key);
        out.writeUTF(item.unit);
        out.writeLong(item.used);
        out.writeLong(item.requested);
    }
}
