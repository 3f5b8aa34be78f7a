package scurry.lab;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Base64;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.stream.Collectors;
import org.HdrHistogram.Histogram;
import org.HdrHistogram.Recorder;

/**
 * The closed loop of the lab over a system's own client: sessions that read, reserve, update and
 * terminate, each with one request in flight, and the tally of what was acknowledged. The words of
 * LOAD are names and values; what it says back is documented in docs/lab.md.
 */
final class Load {
    private static final long LATENCY_NS_MAX = 60_000_000_000L;
    private static final int TEXTS_MAX = 5;
    private static final String DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz";

    private final Store store;
    private final int sessions, accounts;
    private final double seconds, warmup;
    private final long seed;
    private final Step[] steps;
    private final Map<String, Recorder> recorders = new LinkedHashMap<>();
    private final AtomicLongArray consumed;
    private final AtomicLong ids = new AtomicLong(), errors = new AtomicLong(), replays = new AtomicLong();
    private final Map<String, Long> texts = new LinkedHashMap<>();
    private volatile boolean stopped;
    private CountDownLatch running;

    /** One operation of the loop; `granted` and `used` are what its acknowledgement means. */
    private record Step(Command.Kind kind, long number, List<Command.Item> items, Recorder recorder) {
        Command of(String session) {
            return new Command(kind, session, number, items, List.of());
        }

        long used() {
            return items.isEmpty() ? 0 : items.get(0).used();
        }

        long requested() {
            return items.isEmpty() ? 0 : items.get(0).requested();
        }
    }

    Load(Store store, String[] words) {
        Map<String, String> plan = new HashMap<>();
        for (int at = 1; at + 1 < words.length; at += 2) {
            plan.put(words[at], words[at + 1]);
        }
        this.store = store;
        sessions = Integer.parseInt(plan.get("sessions"));
        accounts = Integer.parseInt(plan.get("accounts"));
        seconds = Double.parseDouble(plan.get("seconds"));
        warmup = Double.parseDouble(plan.get("warmup"));
        seed = Long.parseLong(plan.get("seed"));
        consumed = new AtomicLongArray(accounts);
        String[] operations = plan.get("operations").split(",");
        steps = new Step[operations.length];
        long number = 0;
        for (int at = 0; at < operations.length; at++) {
            Command.Kind kind = Command.Kind.valueOf(operations[at]);
            Recorder recorder =
                    recorders.computeIfAbsent(operations[at], name -> new Recorder(LATENCY_NS_MAX, 3));
            boolean writes = kind != Command.Kind.GET && kind != Command.Kind.SESSION;
            steps[at] = new Step(kind, writes ? number++ : 0, writes ? List.of(item(kind, plan)) : List.of(),
                    recorder);
        }
    }

    private static Command.Item item(Command.Kind kind, Map<String, String> plan) {
        long requested = kind == Command.Kind.TERMINATE ? 0 : Long.parseLong(plan.get("requested"));
        long used = switch (kind) {
            case UPDATE -> Long.parseLong(plan.get("used_update"));
            case TERMINATE -> Long.parseLong(plan.get("used_terminate"));
            default -> 0;
        };
        return new Command.Item(Long.parseLong(plan.get("item")), plan.get("unit"), used, requested, 1);
    }

    /** Runs it, and says how it goes. */
    void run(OutputStream out) throws IOException {
        running = new CountDownLatch(sessions);
        for (int session = 0; session < sessions; session++) {
            new Session(new SplittableRandom(seed * 1_000_003 + session)).next();
        }
        long origin = System.nanoTime();
        intervals(warmup, origin, null, out);
        recorders.values().forEach(Recorder::getIntervalHistogram);
        say(out, new Reply().simple("begin"));
        long begin = System.nanoTime();
        Map<String, Histogram> totals = new LinkedHashMap<>();
        recorders.forEach((name, recorder) -> totals.put(name, new Histogram(LATENCY_NS_MAX, 3)));
        intervals(seconds, origin, totals, out);
        double measured = (System.nanoTime() - begin) / 1e9;
        say(out, new Reply().simple("end"));
        stopped = true;
        try {
            if (!running.await(30, TimeUnit.SECONDS)) {
                say(out, new Reply().bulk("{\"failed\": \"the sessions do not end within 30 s\"}"));
                return;
            }
        } catch (InterruptedException error) {
            throw new IOException(error);
        }
        ByteBuffer tally = ByteBuffer.allocate(8 * accounts).order(ByteOrder.LITTLE_ENDIAN);
        for (int account = 0; account < accounts; account++) {
            tally.putLong(consumed.get(account));
        }
        say(out, new Reply().bulk(json(measured, totals)));
        say(out, new Reply().bulk(tally.array()));
    }

    /** Waits, and says every second what came of it. */
    private void intervals(double length, long origin, Map<String, Histogram> totals, OutputStream out)
            throws IOException {
        long begin = System.nanoTime(), end = begin + (long) (length * 1e9);
        for (long from = begin; from < end; ) {
            long until = Math.min(end, from + 1_000_000_000L);
            try {
                TimeUnit.NANOSECONDS.sleep(until - System.nanoTime());
            } catch (InterruptedException error) {
                throw new IOException(error);
            }
            Histogram all = new Histogram(LATENCY_NS_MAX, 3);
            recorders.forEach((name, recorder) -> {
                Histogram interval = recorder.getIntervalHistogram();
                all.add(interval);
                if (totals != null) {
                    totals.get(name).add(interval);
                }
            });
            long now = System.nanoTime();
            Reply second = new Reply().array(3).bulk(figure((now - origin) / 1e9));
            second.bulk(figure(all.getTotalCount() / ((now - from) / 1e9)));
            say(out, second.bulk(figure(all.getValueAtPercentile(99) / 1e3)));
            from = now;
        }
    }

    private static void say(OutputStream out, Reply reply) throws IOException {
        out.write(reply.bytes());
        out.flush();
    }

    private static String figure(double value) {
        return String.format(Locale.ROOT, "%.3f", value);
    }

    private String json(double measured, Map<String, Histogram> totals) {
        Histogram all = new Histogram(LATENCY_NS_MAX, 3);
        totals.values().forEach(all::add);
        String operations = totals.entrySet().stream()
                .map(entry -> "{\"operation\": \"" + entry.getKey() + "\", \"count\": "
                        + entry.getValue().getTotalCount() + ", \"latency_us\": " + latency(entry.getValue()) + "}")
                .collect(Collectors.joining(", "));
        String first;
        synchronized (texts) {
            first = texts.entrySet().stream()
                    .map(entry -> "{\"text\": \"" + entry.getKey().replace("\\", "/").replace("\"", "'")
                            + "\", \"count\": " + entry.getValue() + "}")
                    .collect(Collectors.joining(", "));
        }
        ByteBuffer packed = ByteBuffer.allocate(all.getNeededByteBufferCapacity());
        int length = all.encodeIntoCompressedByteBuffer(packed);
        byte[] bytes = new byte[length];
        packed.flip();
        packed.get(bytes);
        return "{\"seconds\": " + measured + ", \"operations\": " + all.getTotalCount() + ", \"latency_us\": "
                + latency(all) + ", \"by_operation\": [" + operations + "], \"errors\": {\"count\": " + errors
                + ", \"texts\": [" + first + "]}, \"replays\": " + replays + ", \"histogram\": \""
                + Base64.getEncoder().encodeToString(bytes) + "\"}";
    }

    private static String latency(Histogram of) {
        StringBuilder out = new StringBuilder("{\"avg\": ").append(figure(of.getMean() / 1e3));
        String[] names = {"p50", "p90", "p95", "p99", "p999", "max"};
        double[] shares = {50, 90, 95, 99, 99.9, 100};
        for (int at = 0; at < names.length; at++) {
            out.append(", \"").append(names[at]).append("\": ");
            out.append(figure(of.getValueAtPercentile(shares[at]) / 1e3));
        }
        return out.append('}').toString();
    }

    private void failed(String text) {
        errors.incrementAndGet();
        synchronized (texts) {
            if (texts.size() < TEXTS_MAX || texts.containsKey(text)) {
                texts.merge(text, 1L, Long::sum);
            }
        }
    }

    private static String text(String prefix, long number) {
        char[] digits = new char[7];
        for (int at = 6; at >= 0; at--, number /= 36) {
            digits[at] = DIGITS.charAt((int) (number % 36));
        }
        return prefix + new String(digits);
    }

    /** One session after the other; only the callback of its own request touches it. */
    private final class Session {
        private final SplittableRandom random;
        private int account, step;
        private String accountText, id;
        private boolean open, closing;
        private long sent;

        Session(SplittableRandom random) {
            this.random = random;
        }

        void next() {
            if (stopped) {
                // An open session is ended, with a number that it has not used.
                if (!open || closing) {
                    running.countDown();
                    return;
                }
                closing = true;
                step = steps.length - 1;
            } else if (step == 0) {
                account = random.nextInt(accounts);
                accountText = text("acc:", account);
                id = text("s", ids.getAndIncrement());
            }
            sent = System.nanoTime();
            // In the thread that brings the reply: another one would cost a switch per request.
            store.call(accountText, steps[step].of(id)).whenCompleteAsync(this::answered, Runnable::run);
        }

        private void answered(byte[] reply, Throwable error) {
            Step done = steps[step];
            done.recorder().recordValue(Math.min(System.nanoTime() - sent, LATENCY_NS_MAX));
            step = step + 1 == steps.length ? 0 : step + 1;
            if (error != null) {
                failed(Gateway.oneLine(error));
                step = 0;
            } else if (reply[0] == '-') {
                failed(new String(reply, 1, reply.length - 3, java.nio.charset.StandardCharsets.US_ASCII));
                step = 0;
            } else if (done.kind() != Command.Kind.GET && done.kind() != Command.Kind.SESSION) {
                acknowledge(done, new Acknowledged(reply));
            }
            next();
        }

        private void acknowledge(Step done, Acknowledged reply) {
            replays.addAndGet(reply.replayed ? 1 : 0);
            if (done.kind() == Command.Kind.RESERVE) {
                open = true;
            } else if (done.kind() == Command.Kind.TERMINATE) {
                open = false;
            }
            if (!reply.ok || reply.granted != done.requested()) {
                failed("an answer other than OK with the full grant");
            }
            consumed.addAndGet(account, done.used() - reply.uncollected);
        }
    }

    /** What the audit needs of an answer: [code, replayed, version, [[key, code, granted, ...]]]. */
    private static final class Acknowledged {
        final boolean ok, replayed;
        final long granted, uncollected;

        Acknowledged(byte[] reply) {
            String[] lines = new String(reply, java.nio.charset.StandardCharsets.US_ASCII).split("\r\n");
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
