package scurry.lab;

import java.util.concurrent.CompletionStage;

/** What a driver loads: a system's own client, with what it is asked to do there. */
interface Door {
    /** Answers a request of the lab's probe, filling or audit, in RESP. */
    CompletionStage<byte[]> answer(String[] words);

    /** The load that LOAD asks for; its errors go to `failures`. */
    Work work(Plan plan, Failures failures);
}
