package scurry.lab;

import java.util.concurrent.CompletionStage;

/** A connection of a system's own client: a command goes to where the account is. */
interface Store extends AutoCloseable {
    CompletionStage<byte[]> call(String account, Command command);

    @Override
    void close();
}
