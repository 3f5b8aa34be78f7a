package scurry.lab;

import java.util.concurrent.CompletionStage;

/** Two phases, by a system's own client: an amount is set aside, and later taken in part, or given back. */
interface Holds {
    /** Makes an account with this credit; whether it was new. */
    CompletionStage<Boolean> create(String account, long credit);

    /** Sets an amount aside under a name; whether the account covers it. */
    CompletionStage<Boolean> hold(String account, String name, long amount);

    /** Takes `used` of what was set aside and gives the rest back; whether it was there to be taken. */
    CompletionStage<Boolean> settle(String account, String name, long amount, long used);

    /** Available, held, credited and consumed units; null where there is no such account. */
    CompletionStage<long[]> balance(String account);

    /** The load that comes now has so many connections, with so many requests in flight on each. */
    default void expect(int connections, int depth) {}
}
