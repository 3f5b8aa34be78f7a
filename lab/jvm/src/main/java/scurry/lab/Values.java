package scurry.lab;

import java.util.SortedMap;
import java.util.concurrent.CompletionStage;

/** Plain keys and values, by a system's own client. */
interface Values {
    /** Null where there is none. */
    CompletionStage<byte[]> get(String key);

    CompletionStage<?> set(String key, byte[] value);

    /** Whether there was one. */
    CompletionStage<Boolean> remove(String key);

    /** All in one call; in order, because two calls that lock the same keys must do so alike. */
    CompletionStage<?> setAll(SortedMap<String, byte[]> values);
}
