package scurry.lab;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicLongArray;

/** Charging: SCUR.* commands, and the loop of sessions that read, reserve, update and terminate. */
final class ChargingDoor implements Door {
    private final Store store;

    ChargingDoor(Store store) {
        this.store = store;
    }

    @Override
    public CompletionStage<byte[]> answer(String[] words) {
        return store.call(words[1], Command.parse(words));
    }

    @Override
    public Work work(Plan plan, Failures failures) {
        store.expect(plan.count("connections"), plan.count("depth"));
        return new Loop(store, plan, failures);
    }

    /** One operation of the loop; its amounts are what its acknowledgement means. */
    private record Step(Command.Kind kind, int operation, long number, Command.Item item) {
        Command of(String session) {
            return new Command(kind, session, number, item, List.of());
        }

        boolean writes() {
            return kind != Command.Kind.GET && kind != Command.Kind.SESSION;
        }
    }

    private static final class Loop implements Work {
        private final Store store;
        private final Failures failures;
        private final int accounts;
        private final Step[] steps;
        private final List<String> operations = new ArrayList<>();
        private final AtomicLongArray consumed;
        private final AtomicLong ids = new AtomicLong(), replays = new AtomicLong();

        Loop(Store store, Plan plan, Failures failures) {
            this.store = store;
            this.failures = failures;
            accounts = plan.count("records");
            consumed = new AtomicLongArray(accounts);
            String[] names = plan.text("operations").split(",");
            steps = new Step[names.length];
            long number = 0;
            for (int at = 0; at < names.length; at++) {
                Command.Kind kind = Command.Kind.valueOf(names[at]);
                if (!operations.contains(names[at])) {
                    operations.add(names[at]);
                }
                int operation = operations.indexOf(names[at]);
                boolean reads = kind == Command.Kind.GET || kind == Command.Kind.SESSION;
                steps[at] = reads ? new Step(kind, operation, 0, Command.NOTHING)
                        : new Step(kind, operation, number++, item(kind, plan));
            }
        }

        private static Command.Item item(Command.Kind kind, Plan plan) {
            long requested = kind == Command.Kind.TERMINATE ? 0 : plan.number("requested");
            long used = switch (kind) {
                case UPDATE -> plan.number("used_update");
                case TERMINATE -> plan.number("used_terminate");
                default -> 0;
            };
            return new Command.Item(plan.number("item"), plan.text("unit"), used, requested);
        }

        @Override
        public List<String> operations() {
            return operations;
        }

        @Override
        public Session session(SplittableRandom random) {
            return new ChargingSession(random);
        }

        @Override
        public long[] tally() {
            long[] tally = new long[accounts];
            for (int account = 0; account < accounts; account++) {
                tally[account] = consumed.get(account);
            }
            return tally;
        }

        @Override
        public long replays() {
            return replays.get();
        }

        @Override
        public long wrong() {
            return 0;
        }

        private final class ChargingSession implements Session {
            private final SplittableRandom random;
            private int account, step;
            private String accountText, id;
            private boolean open, closing;

            ChargingSession(SplittableRandom random) {
                this.random = random;
            }

            @Override
            public CompletionStage<?> send() {
                if (step == 0) {
                    account = random.nextInt(accounts);
                    accountText = Names.id("acc:", account);
                    id = Names.id("s", ids.getAndIncrement());
                }
                return store.call(accountText, steps[step].of(id));
            }

            @Override
            public CompletionStage<?> sendClosing() {
                // An open session is ended, with a number that it has not used.
                if (!open || closing) {
                    return null;
                }
                closing = true;
                step = steps.length - 1;
                return store.call(accountText, steps[step].of(id));
            }

            @Override
            public int operation() {
                return steps[step].operation();
            }

            @Override
            public void answered(Object reply, Throwable error) {
                Step done = steps[step];
                step = step + 1 == steps.length ? 0 : step + 1;
                if (error != null) {
                    failures.add(error);
                    step = 0;
                    return;
                }
                byte[] bytes = (byte[]) reply;
                if (bytes[0] == '-') {
                    failures.add(new String(bytes, 1, bytes.length - 3, StandardCharsets.US_ASCII));
                    step = 0;
                } else if (done.writes()) {
                    acknowledge(done, new Acknowledged(bytes));
                }
            }

            private void acknowledge(Step done, Acknowledged reply) {
                replays.addAndGet(reply.replayed ? 1 : 0);
                if (done.kind() == Command.Kind.RESERVE) {
                    open = true;
                } else if (done.kind() == Command.Kind.TERMINATE) {
                    open = false;
                }
                if (!reply.ok || reply.granted != done.item().requested()) {
                    failures.add("an answer other than OK with the full grant");
                }
                consumed.addAndGet(account, done.item().used() - reply.uncollected);
            }
        }
    }

    /** What the audit needs of an answer: [code, replayed, version, [[key, code, granted, ...]]]. */
    private static final class Acknowledged {
        final boolean ok, replayed;
        final long granted, uncollected;

        Acknowledged(byte[] reply) {
            String[] lines = new String(reply, StandardCharsets.US_ASCII).split("\r\n");
            boolean fine = lines[1].equals("+OK");
            replayed = !lines[2].equals(":0");
            long granting = 0, failing = 0;
            for (int at = 5; at < lines.length; at += 6) {
                fine &= lines[at + 2].equals("+OK");
                granting += Long.parseLong(lines[at + 3].substring(1));
                failing += Long.parseLong(lines[at + 5].substring(1));
            }
            ok = fine;
            granted = granting;
            uncollected = failing;
        }
    }
}
