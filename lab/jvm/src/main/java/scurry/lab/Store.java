package scurry.lab;

import java.util.concurrent.CompletionStage;

/** Accounts, by a system's own client: a command goes to where the account is. */
interface Store {
    CompletionStage<byte[]> call(String account, Command command);

    /** The load that comes now has so many connections, with so many requests in flight on each. */
    default void expect(int connections, int depth) {}
}
