package scurry.lab;

import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicLongArray;

/**
 * Which write of each key was the last one, as far as a client can know. Writes are numbered from 1;
 * those that gave the keys their first values, one after the other, have the first numbers.
 */
final class LastWrites {
    /** Writes overlapped, so that either may have come last. */
    static final long UNKNOWN = -1;
    /** No write, or one that took the key away. */
    static final long ABSENT = 0;

    // Of each key: the number of its last write, whether one was sent while another was on its way and
    // none alone since, and how many are on their way.
    private static final long WRITING = 0xFFFF, OVERLAPPED = 0x1_0000;
    private static final int NUMBER = 17;

    private final AtomicLongArray keys;
    private final AtomicLong numbers;

    LastWrites(int count) {
        keys = new AtomicLongArray(count);
        for (int key = 0; key < count; key++) {
            keys.set(key, (key + 1L) << NUMBER);
        }
        numbers = new AtomicLong(count);
    }

    int keys() {
        return keys.length();
    }

    /** A write of a key is sent; gives its number. */
    long begin(int key) {
        long number = numbers.incrementAndGet();
        begin(key, number);
        return number;
    }

    /** What takes a key away is sent. */
    void beginRemoval(int key) {
        begin(key, ABSENT);
    }

    private void begin(int key, long number) {
        keys.updateAndGet(key, state -> number << NUMBER
                | ((state & WRITING) > 0 ? OVERLAPPED : 0) | (state & WRITING) + 1);
    }

    /** A write of a key was answered. */
    void end(int key) {
        keys.decrementAndGet(key);
    }

    /** The number of the last write of a key once none is on its way, or what is known of it instead. */
    long last(int key) {
        long state = keys.get(key);
        return (state & OVERLAPPED) > 0 ? UNKNOWN : state >>> NUMBER;
    }

    boolean isWriting(int key) {
        return (keys.get(key) & WRITING) > 0;
    }

    long[] tally() {
        long[] tally = new long[keys()];
        for (int key = 0; key < tally.length; key++) {
            tally[key] = last(key);
        }
        return tally;
    }
}
