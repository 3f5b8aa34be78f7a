package scurry.lab;

import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.SortedMap;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicLong;

/** Plain keys and values: SET, GET and DEL by shares, or writes of many keys in one call. */
final class KeyValueDoor implements Door {
    private static final List<String> ONE = List.of("SET", "GET", "DEL");
    private static final List<String> MANY = List.of("MSET", "GET", "DEL");
    private static final int SET = 0, GET = 1, DEL = 2;

    private final Values values;

    KeyValueDoor(Values values) {
        this.values = values;
    }

    @Override
    public CompletionStage<byte[]> answer(String[] words) {
        return switch (words[0]) {
            case "GET" -> values.get(words[1]).thenApply(value ->
                    (value == null ? new Reply().nil() : new Reply().bulk(value)).bytes());
            case "SET" -> values.set(words[1], words[2].getBytes(StandardCharsets.UTF_8))
                    .thenApply(done -> new Reply().simple("OK").bytes());
            case "DEL" -> values.remove(words[1])
                    .thenApply(was -> new Reply().integer(was ? 1 : 0).bytes());
            default -> throw new IllegalArgumentException("no " + words[0] + " here");
        };
    }

    @Override
    public Work work(Plan plan, Failures failures) {
        return new Mix(values, plan, failures);
    }

    private static final class Mix implements Work {
        private final Values values;
        private final Failures failures;
        private final int getBelow, setBelow, shares, valueSize, batch;
        private final LastWrites writes;
        private final AtomicLong wrong = new AtomicLong();

        Mix(Values values, Plan plan, Failures failures) {
            this.values = values;
            this.failures = failures;
            getBelow = plan.count("get");
            setBelow = getBelow + plan.count("set");
            shares = setBelow + plan.count("del");
            valueSize = plan.count("value_size");
            batch = plan.count("batch");
            writes = new LastWrites(plan.count("records"));
            if (batch > writes.keys()) {
                throw new IllegalArgumentException("a batch of " + batch + " needs as many keys");
            }
        }

        @Override
        public List<String> operations() {
            return batch > 0 ? MANY : ONE;
        }

        @Override
        public Session session(SplittableRandom random) {
            return new KeyValueSession(random);
        }

        @Override
        public long[] tally() {
            return writes.tally();
        }

        @Override
        public long replays() {
            return 0;
        }

        @Override
        public long wrong() {
            return wrong.get();
        }

        private final class KeyValueSession implements Session {
            private final SplittableRandom random;
            /** The keys that are written; of a batch each once. */
            private final int[] keys = new int[Math.max(1, batch)];
            private int operation;

            KeyValueSession(SplittableRandom random) {
                this.random = random;
            }

            @Override
            public CompletionStage<?> send() {
                int draw = random.nextInt(shares);
                operation = draw < getBelow ? GET : draw < setBelow ? SET : DEL;
                if (operation == SET && batch > 0) {
                    return values.setAll(some());
                }
                int key = random.nextInt(writes.keys());
                keys[0] = key;
                String text = Names.id("key:", key);
                if (operation == GET) {
                    return values.get(text);
                }
                if (operation == SET) {
                    return values.set(text, Names.value(valueSize, writes.begin(key)));
                }
                writes.beginRemoval(key);
                return values.remove(text);
            }

            private SortedMap<String, byte[]> some() {
                SortedMap<String, byte[]> some = new TreeMap<>();
                for (int at = 0; at < batch; ) {
                    int key = random.nextInt(writes.keys());
                    String text = Names.id("key:", key);
                    if (!some.containsKey(text)) {
                        some.put(text, Names.value(valueSize, writes.begin(key)));
                        keys[at++] = key;
                    }
                }
                return some;
            }

            @Override
            public CompletionStage<?> sendClosing() {
                return null;
            }

            @Override
            public int operation() {
                return operation;
            }

            @Override
            public void answered(Object reply, Throwable error) {
                if (error != null) {
                    failures.add(error);
                } else if (operation == GET && reply != null && ((byte[]) reply).length != valueSize) {
                    wrong.incrementAndGet();
                }
                int written = operation == GET ? 0 : operation == SET ? keys.length : 1;
                for (int at = 0; at < written; at++) {
                    writes.end(keys[at]);
                }
            }
        }
    }
}
