package scurry.lab;

import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.CompletionStage;

/** What the sessions of a load do, and what was acknowledged to them. */
interface Work {
    /** The names of the operations, by the number that {@link Session#operation} gives. */
    List<String> operations();

    /** One of the sessions that run at a time. */
    Session session(SplittableRandom random);

    /** What the lab's audit compares with the store: 64 bits for each account or key. */
    long[] tally();

    /** New requests that were called replays. */
    long replays();

    /** Answers that were not what a read should have given. */
    long wrong();

    /** A session. Only the callback of its own request touches it. */
    interface Session {
        /** Sends the next request. */
        CompletionStage<?> send();

        /** Sends the request that ends whatever is open; null where nothing is. */
        CompletionStage<?> sendClosing();

        /** The number of the operation that was sent last. */
        int operation();

        /** The request that was sent last was answered, or failed. */
        void answered(Object reply, Throwable error);
    }
}
