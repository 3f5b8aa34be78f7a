package scurry.lab;

import java.util.Collection;
import java.util.concurrent.CompletionStage;

/** Records that are written by key, and found by their value through the system's own index. */
interface Records {
    CompletionStage<?> put(String key, String value);

    /** The keys of all that have this value. */
    CompletionStage<Collection<String>> find(String value);
}
