package scurry.lab;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.function.Supplier;

/** Calls of a client that have no asynchronous form: each that is under way has a thread. */
final class Blocking {
    private static final ExecutorService THREADS = Executors.newCachedThreadPool(work -> {
        Thread thread = new Thread(work);
        thread.setDaemon(true);
        return thread;
    });

    private Blocking() {}

    static <T> CompletionStage<T> call(Supplier<T> call) {
        return CompletableFuture.supplyAsync(call, THREADS);
    }
}
