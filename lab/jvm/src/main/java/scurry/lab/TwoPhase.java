package scurry.lab;

import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Charging in two phases alone: RESERVE sets an amount aside, TERMINATE takes what was used of it. The
 * client remembers the amounts of its open sessions, which the store knows as well.
 */
final class TwoPhase implements Store {
    private static final String REFUSED = "CREDIT_LIMIT_REACHED";

    private final Holds holds;
    private final Map<String, Long> open = new ConcurrentHashMap<>();

    TwoPhase(Holds holds) {
        this.holds = holds;
    }

    @Override
    public void expect(int connections, int depth) {
        holds.expect(connections, depth);
    }

    @Override
    public CompletionStage<byte[]> call(String account, Command command) {
        return switch (command.kind) {
            case CREATE -> holds.create(account, command.buckets.stream()
                    .mapToLong(Command.NewBucket::amount).sum()).thenApply(TwoPhase::created);
            case RESERVE -> reserve(account, command);
            case TERMINATE -> terminate(account, command);
            case GET -> holds.balance(account).thenApply(TwoPhase::sessions);
            case AUDIT -> holds.balance(account).thenApply(TwoPhase::audit);
            default -> CompletableFuture.completedFuture(
                    Reply.error("ERR two phases know no " + command.kind));
        };
    }

    private CompletionStage<byte[]> reserve(String account, Command command) {
        Command.Item item = command.item;
        String name = command.session;
        return holds.hold(account, name, item.requested()).thenApply(covered -> {
            if (!covered) {
                return reply(REFUSED, item, 0);
            }
            open.put(key(account, name), item.requested());
            return reply("OK", item, item.requested());
        });
    }

    private CompletionStage<byte[]> terminate(String account, Command command) {
        Command.Item item = command.item;
        Long held = open.remove(key(account, command.session));
        if (held == null) {
            return CompletableFuture.completedFuture(
                    Reply.error("UNKNOWN_SESSION 22 no open session of the account has this id"));
        }
        return holds.settle(account, command.session, held, item.used()).thenApply(settled -> settled
                ? reply("OK", item, 0) : Reply.error("ERR what was set aside is not there to be taken"));
    }

    private static String key(String account, String session) {
        return account + '/' + session;
    }

    private static byte[] reply(String code, Command.Item item, long granted) {
        Reply reply = new Reply().array(4).simple(code).integer(0).integer(0).array(1);
        return reply.array(5).integer(item.key()).simple(code).integer(granted).integer(0).integer(0).bytes();
    }

    private static byte[] created(boolean isNew) {
        return isNew ? new Reply().array(2).simple("OK").integer(1).bytes()
                : Reply.error("ACCOUNT_EXISTS 21 an account with this id exists");
    }

    /** Nothing lists the open sessions of an account; what they hold shows whether there are any. */
    private static byte[] sessions(long[] balance) {
        if (balance == null) {
            return unknown();
        }
        Reply reply = new Reply().array(2).bulk("sessions").array(balance[1] == 0 ? 0 : 1);
        return (balance[1] == 0 ? reply : reply.bulk("some hold " + balance[1])).bytes();
    }

    private static byte[] audit(long[] balance) {
        if (balance == null) {
            return unknown();
        }
        boolean ok = balance[0] + balance[1] == balance[2] - balance[3];
        Reply reply = new Reply().array(4).bulk("ok").integer(ok ? 1 : 0).bulk("buckets").array(1).array(10);
        reply.bulk("main").bulk("units").integer(balance[0]).integer(balance[1]).integer(balance[2]).integer(0);
        return reply.integer(balance[3]).integer(0).integer(0).integer(0).bytes();
    }

    private static byte[] unknown() {
        return Reply.error("UNKNOWN_ACCOUNT 20 no account has this id");
    }
}
