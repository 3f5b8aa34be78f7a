package scurry.lab;

import com.aerospike.client.AerospikeClient;
import com.aerospike.client.AerospikeException;
import com.aerospike.client.Bin;
import com.aerospike.client.Host;
import com.aerospike.client.Info;
import com.aerospike.client.Key;
import com.aerospike.client.Operation;
import com.aerospike.client.Record;
import com.aerospike.client.ResultCode;
import com.aerospike.client.Value;
import com.aerospike.client.async.NioEventLoops;
import com.aerospike.client.cdt.MapOperation;
import com.aerospike.client.cdt.MapPolicy;
import com.aerospike.client.cdt.MapReturnType;
import com.aerospike.client.exp.Exp;
import com.aerospike.client.exp.Expression;
import com.aerospike.client.exp.MapExp;
import com.aerospike.client.listener.RecordListener;
import com.aerospike.client.policy.ClientPolicy;
import com.aerospike.client.policy.RecordExistsAction;
import com.aerospike.client.policy.WritePolicy;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ThreadLocalRandom;

/**
 * Aerospike at an address. An account is a record of namespace `test` with its amounts and a map of what is set
 * aside; each phase is one request of several operations on the record, with a filter that refuses what the
 * account does not cover. It has no batch of such requests, so the client sends them one behind the other.
 */
final class AerospikePeer implements Holds {
    private static final String NAMESPACE = "test", SET = "scurry-lab";
    private static final String AVAILABLE = "available", HELD = "held", CREDITED = "credited";
    private static final String CONSUMED = "consumed", OPEN = "open";
    private static final int CONNECTIONS_MAX = 300;

    private final AerospikeClient client;
    private final NioEventLoops loops;
    private final String run = Long.toString(ThreadLocalRandom.current().nextLong(), 36) + ":";

    private AerospikePeer(AerospikeClient client, NioEventLoops loops) {
        this.client = client;
        this.loops = loops;
    }

    /** What the driver says of it, and the door to it. */
    static Gateway gateway(String server) {
        NioEventLoops loops = new NioEventLoops(1);
        ClientPolicy policy = new ClientPolicy();
        policy.eventLoops = loops;
        policy.maxConnsPerNode = CONNECTIONS_MAX;
        int colon = server.lastIndexOf(':');
        Host host = new Host(server.substring(0, colon), Integer.parseInt(server.substring(colon + 1)));
        AerospikeClient client = new AerospikeClient(policy, host);
        String build = Info.request(null, client.getNodes()[0], "build");
        Door door = new ChargingDoor(new TwoPhase(new AerospikePeer(client, loops)));
        return new Gateway(door, "aerospike_version:" + build + "\r\ndurability:unknown\r\n");
    }

    @Override
    public CompletionStage<Boolean> create(String account, long credit) {
        WritePolicy policy = new WritePolicy(client.getWritePolicyDefault());
        policy.recordExistsAction = RecordExistsAction.CREATE_ONLY;
        return done(ResultCode.KEY_EXISTS_ERROR, policy, account, Operation.put(new Bin(AVAILABLE, credit)),
                Operation.put(new Bin(HELD, 0)), Operation.put(new Bin(CREDITED, credit)),
                Operation.put(new Bin(CONSUMED, 0)), Operation.put(new Bin(OPEN, Map.of())));
    }

    @Override
    public CompletionStage<Boolean> hold(String account, String name, long amount) {
        Expression covers = Exp.build(Exp.and(
                Exp.ge(Exp.intBin(AVAILABLE), Exp.val(amount)), Exp.not(isOpen(name))));
        return filtered(covers, account, Operation.add(new Bin(AVAILABLE, -amount)),
                Operation.add(new Bin(HELD, amount)),
                MapOperation.put(MapPolicy.Default, OPEN, Value.get(name), Value.get(amount)));
    }

    @Override
    public CompletionStage<Boolean> settle(String account, String name, long amount, long used) {
        if (used > amount) {
            return CompletableFuture.completedFuture(false);
        }
        return filtered(Exp.build(isOpen(name)), account,
                MapOperation.removeByKey(OPEN, Value.get(name), MapReturnType.NONE),
                Operation.add(new Bin(HELD, -amount)), Operation.add(new Bin(AVAILABLE, amount - used)),
                Operation.add(new Bin(CONSUMED, used)));
    }

    private static Exp isOpen(String name) {
        return MapExp.getByKey(MapReturnType.EXISTS, Exp.Type.BOOL, Exp.val(name), Exp.mapBin(OPEN));
    }

    @Override
    public CompletionStage<long[]> balance(String account) {
        Asked asked = new Asked();
        client.get(loops.next(), asked, null, key(account));
        return asked.answer.thenApply(record -> record == null ? null : new long[] {
            record.getLong(AVAILABLE), record.getLong(HELD), record.getLong(CREDITED), record.getLong(CONSUMED)
        });
    }

    private CompletionStage<Boolean> filtered(Expression filter, String account, Operation... operations) {
        WritePolicy policy = new WritePolicy(client.getWritePolicyDefault());
        policy.recordExistsAction = RecordExistsAction.UPDATE_ONLY;
        policy.filterExp = filter;
        policy.failOnFilteredOut = true;
        // What was sent and not answered is not sent again: it would be done twice.
        policy.maxRetries = 0;
        return done(ResultCode.FILTERED_OUT, policy, account, operations);
    }

    /** Whether it was done; refused with this code it was not. */
    private CompletionStage<Boolean> done(int refused, WritePolicy policy, String account, Operation... operations) {
        Asked asked = new Asked();
        client.operate(loops.next(), asked, policy, key(account), operations);
        return asked.answer.thenApply(record -> true).exceptionallyCompose(error -> {
            boolean is = error.getCause() instanceof AerospikeException failure && failure.getResultCode() == refused;
            return is ? CompletableFuture.completedFuture(false) : CompletableFuture.failedFuture(error);
        });
    }

    private Key key(String account) {
        return new Key(NAMESPACE, SET, run + account);
    }

    /** A request on its way. */
    private static final class Asked implements RecordListener {
        final CompletableFuture<Record> answer = new CompletableFuture<>();

        @Override
        public void onSuccess(Key key, Record record) {
            answer.complete(record);
        }

        @Override
        public void onFailure(AerospikeException error) {
            answer.completeExceptionally(error);
        }
    }
}
