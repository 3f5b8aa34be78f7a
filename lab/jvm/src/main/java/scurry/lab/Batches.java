package scurry.lab;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;

/** Gathers what is asked for while batches are on their way, and sends it as the next one. */
final class Batches<Q, A> {
    private record Waiting<Q, A>(Q question, CompletableFuture<A> answer) {}

    private final Function<List<Q>, CompletableFuture<List<A>>> send;
    private final Queue<Waiting<Q, A>> waiting = new ArrayDeque<>();
    private int lanes, most, underWay;

    /** At most so many batches on their way at a time, of at most so many questions. */
    Batches(int lanes, int most, Function<List<Q>, CompletableFuture<List<A>>> send) {
        this.send = send;
        this.lanes = lanes;
        this.most = most;
    }

    synchronized void resize(int lanes, int most) {
        this.lanes = lanes;
        this.most = most;
    }

    CompletableFuture<A> ask(Q question) {
        CompletableFuture<A> answer = new CompletableFuture<>();
        synchronized (this) {
            waiting.add(new Waiting<>(question, answer));
        }
        next();
        return answer;
    }

    private void next() {
        List<Waiting<Q, A>> batch = new ArrayList<>();
        synchronized (this) {
            if (underWay >= lanes || waiting.isEmpty()) {
                return;
            }
            underWay++;
            while (batch.size() < most && !waiting.isEmpty()) {
                batch.add(waiting.remove());
            }
        }
        send.apply(batch.stream().map(Waiting::question).toList()).whenComplete((answers, error) -> {
            for (int at = 0; at < batch.size(); at++) {
                CompletableFuture<A> answer = batch.get(at).answer();
                if (error != null) {
                    answer.completeExceptionally(error);
                } else {
                    answer.complete(answers.get(at));
                }
            }
            // Only now, so that what these answers brought forth goes together.
            synchronized (this) {
                underWay--;
            }
            next();
        });
    }
}
