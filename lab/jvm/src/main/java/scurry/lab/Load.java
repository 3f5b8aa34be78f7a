package scurry.lab;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.SplittableRandom;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.HdrHistogram.Histogram;
import org.HdrHistogram.Recorder;

/**
 * A closed loop over a system's own client: sessions, each with one request in flight. What LOAD
 * says and what it gets back is documented in docs/lab.md.
 */
final class Load {
    private static final long LATENCY_NS_MAX = 60_000_000_000L;
    private static final int DRAIN_SECONDS_MAX = 30;

    private final int sessions;
    private final double seconds, warmup;
    private final long seed;
    private final Failures failures = new Failures();
    private final Work work;
    private final List<Recorder> recorders = new ArrayList<>();
    private final CountDownLatch running;
    private volatile boolean stopped;

    Load(Door door, Plan plan) {
        sessions = plan.count("sessions");
        seconds = plan.seconds("seconds");
        warmup = plan.seconds("warmup");
        seed = plan.number("seed");
        work = door.work(plan, failures);
        work.operations().forEach(name -> recorders.add(new Recorder(LATENCY_NS_MAX, 3)));
        running = new CountDownLatch(sessions);
    }

    /** Runs it, and says how it goes. */
    void run(OutputStream out) throws IOException {
        for (int session = 0; session < sessions; session++) {
            new Loop(work.session(new SplittableRandom(seed * 1_000_003 + session))).next();
        }
        long origin = System.nanoTime();
        intervals(warmup, origin, null, out);
        recorders.forEach(Recorder::getIntervalHistogram);
        say(out, new Reply().simple("begin"));
        long begin = System.nanoTime();
        List<Histogram> totals = new ArrayList<>();
        recorders.forEach(recorder -> totals.add(new Histogram(LATENCY_NS_MAX, 3)));
        intervals(seconds, origin, totals, out);
        double measured = (System.nanoTime() - begin) / 1e9;
        say(out, new Reply().simple("end"));
        stopped = true;
        try {
            if (!running.await(DRAIN_SECONDS_MAX, TimeUnit.SECONDS)) {
                say(out, new Reply().bulk("{\"failed\": \"the sessions do not end within "
                        + DRAIN_SECONDS_MAX + " s\"}"));
                return;
            }
        } catch (InterruptedException error) {
            throw new IOException(error);
        }
        say(out, new Reply().bulk(json(measured, totals)));
        long[] tally = work.tally();
        ByteBuffer bytes = ByteBuffer.allocate(8 * tally.length).order(ByteOrder.LITTLE_ENDIAN);
        bytes.asLongBuffer().put(tally);
        say(out, new Reply().bulk(bytes.array()));
    }

    /** Waits, and says every second what came of it. */
    private void intervals(double length, long origin, List<Histogram> totals, OutputStream out)
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
            for (int operation = 0; operation < recorders.size(); operation++) {
                Histogram interval = recorders.get(operation).getIntervalHistogram();
                all.add(interval);
                if (totals != null) {
                    totals.get(operation).add(interval);
                }
            }
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

    private String json(double measured, List<Histogram> totals) {
        Histogram all = new Histogram(LATENCY_NS_MAX, 3);
        totals.forEach(all::add);
        StringBuilder operations = new StringBuilder();
        for (int operation = 0; operation < totals.size(); operation++) {
            Histogram of = totals.get(operation);
            operations.append(operation == 0 ? "" : ", ").append("{\"operation\": \"")
                    .append(work.operations().get(operation)).append("\", \"count\": ")
                    .append(of.getTotalCount()).append(", \"latency_us\": ").append(latency(of)).append('}');
        }
        return "{\"seconds\": " + measured + ", \"operations\": " + all.getTotalCount() + ", \"latency_us\": "
                + latency(all) + ", \"by_operation\": [" + operations + "], \"errors\": " + failures.json()
                + ", \"replays\": " + work.replays() + ", \"wrong\": " + work.wrong() + "}";
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

    /** One session, request after request; only the callback of its own request touches it. */
    private final class Loop {
        private final Work.Session session;
        private long sent;

        Loop(Work.Session session) {
            this.session = session;
        }

        void next() {
            sent = System.nanoTime();
            CompletionStage<?> request = stopped ? session.sendClosing() : session.send();
            if (request == null) {
                running.countDown();
                return;
            }
            // In the thread that brings the reply: another one would cost a switch per request.
            request.whenCompleteAsync(this::answered, Runnable::run);
        }

        private void answered(Object reply, Throwable error) {
            long taken = Math.min(System.nanoTime() - sent, LATENCY_NS_MAX);
            recorders.get(session.operation()).recordValue(taken);
            session.answered(reply, error);
            next();
        }
    }
}
