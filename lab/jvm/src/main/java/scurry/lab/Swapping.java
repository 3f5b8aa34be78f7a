package scurry.lab;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/**
 * The rules in the client: it reads the account, decides, and puts the new one in the place of the one
 * that it has read. Who comes too late reads again.
 */
final class Swapping implements Store {
    private static final int ATTEMPTS_MAX = 1000;

    /** A store that only keeps bytes. */
    interface Cells {
        /** Null where there is none. */
        CompletionStage<byte[]> get(String key);

        /** Puts `next` in the place of `held`, null where there must be none; whether it did. */
        CompletionStage<Boolean> swap(String key, byte[] held, byte[] next);
    }

    private final Cells cells;

    Swapping(Cells cells) {
        this.cells = cells;
    }

    @Override
    public CompletionStage<byte[]> call(String account, Command command) {
        CompletableFuture<byte[]> reply = new CompletableFuture<>();
        attempt(account, command, 1, reply);
        return reply;
    }

    private void attempt(String key, Command command, int number, CompletableFuture<byte[]> reply) {
        cells.get(key).whenComplete((held, error) -> {
            try {
                if (error != null) {
                    throw error;
                }
                Rules.Done done = Rules.run(unpacked(held), command, System.currentTimeMillis());
                if (!done.changed()) {
                    reply.complete(done.reply());
                    return;
                }
                cells.swap(key, held, packed(done.account())).whenComplete((swapped, failure) -> {
                    if (failure != null) {
                        reply.completeExceptionally(failure);
                    } else if (swapped) {
                        reply.complete(done.reply());
                    } else if (number == ATTEMPTS_MAX) {
                        reply.completeExceptionally(new IOException(
                                key + " was changed by others " + ATTEMPTS_MAX + " times in a row"));
                    } else {
                        attempt(key, command, number + 1, reply);
                    }
                });
            } catch (Throwable failure) {
                reply.completeExceptionally(failure);
            }
        });
    }

    /** An account in the layout of our own; null is none. */
    static Account unpacked(byte[] bytes) {
        try {
            return bytes == null ? null
                    : Account.read(new DataInputStream(new ByteArrayInputStream(bytes)));
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }

    static byte[] packed(Account account) {
        try {
            ByteArrayOutputStream bytes = new ByteArrayOutputStream(1024);
            account.write(new DataOutputStream(bytes));
            return bytes.toByteArray();
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }
}
