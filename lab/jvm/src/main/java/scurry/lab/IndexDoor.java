package scurry.lab;

import java.nio.charset.StandardCharsets;
import java.util.Collection;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicLong;

/** Records that are written by key and found by their value: ENTITY.PUT and ENTITY.FIND. */
final class IndexDoor implements Door {
    private static final List<String> OPERATIONS = List.of("SET", "FIND");
    private static final int SET = 0, FIND = 1;

    private final Records records;

    IndexDoor(Records records) {
        this.records = records;
    }

    @Override
    public CompletionStage<byte[]> answer(String[] words) {
        return switch (words[0]) {
            case "ENTITY.PUT" -> records.put(words[1], words[2])
                    .thenApply(done -> new Reply().simple("OK").bytes());
            case "ENTITY.FIND" -> records.find(words[1]).thenApply(keys -> {
                Reply reply = new Reply().array(keys.size());
                keys.forEach(reply::bulk);
                return reply.bytes();
            });
            default -> throw new IllegalArgumentException("no " + words[0] + " here");
        };
    }

    @Override
    public Work work(Plan plan, Failures failures) {
        return new Mix(records, plan, failures);
    }

    private static final class Mix implements Work {
        private final Records records;
        private final Failures failures;
        private final int finds, shares, valueSize;
        private final LastWrites writes;
        private final AtomicLong wrong = new AtomicLong();

        Mix(Records records, Plan plan, Failures failures) {
            this.records = records;
            this.failures = failures;
            finds = plan.count("get");
            shares = finds + plan.count("set");
            valueSize = plan.count("value_size");
            writes = new LastWrites(plan.count("records"));
        }

        @Override
        public List<String> operations() {
            return OPERATIONS;
        }

        @Override
        public Session session(SplittableRandom random) {
            return new IndexSession(random);
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

        private final class IndexSession implements Session {
            private final SplittableRandom random;
            private int key, operation;
            /** The write that is looked for; 0 where the answer may be anything. */
            private long number;

            IndexSession(SplittableRandom random) {
                this.random = random;
            }

            @Override
            public CompletionStage<?> send() {
                key = random.nextInt(writes.keys());
                if (random.nextInt(shares) < finds) {
                    operation = FIND;
                    number = writes.isWriting(key) ? 0 : Math.max(0, writes.last(key));
                    return records.find(value(number));
                }
                operation = SET;
                return records.put(Names.id("key:", key), value(writes.begin(key)));
            }

            private String value(long of) {
                return new String(Names.value(valueSize, of), StandardCharsets.US_ASCII);
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
                if (operation == SET) {
                    writes.end(key);
                }
                if (error != null) {
                    failures.add(error);
                } else if (operation == FIND && number > 0 && writes.last(key) == number) {
                    // It was the record's value all the time.
                    boolean found = reply instanceof Collection<?> keys
                            && List.of(Names.id("key:", key)).equals(List.copyOf(keys));
                    wrong.addAndGet(found ? 0 : 1);
                }
            }
        }
    }
}
