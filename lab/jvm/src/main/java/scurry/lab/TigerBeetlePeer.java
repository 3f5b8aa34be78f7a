package scurry.lab;

import com.tigerbeetle.AccountBatch;
import com.tigerbeetle.AccountFlags;
import com.tigerbeetle.Client;
import com.tigerbeetle.CreateAccountResult;
import com.tigerbeetle.CreateAccountResultBatch;
import com.tigerbeetle.CreateTransferResult;
import com.tigerbeetle.CreateTransferResultBatch;
import com.tigerbeetle.IdBatch;
import com.tigerbeetle.TransferBatch;
import com.tigerbeetle.TransferFlags;
import com.tigerbeetle.UInt128;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * TigerBeetle at an address. RESERVE is a pending transfer from the account to one of the operator, TERMINATE
 * posts it in part or voids it. An account's debits must not exceed its credits. Transfers have ids that grow,
 * by its client's own generator, as its documentation advises; those of accounts begin with bytes of this
 * process, so that what other runs have left behind is not in the way.
 */
final class TigerBeetlePeer implements Holds {
    /** Events in one message at most. */
    private static final int BATCH_MAX = 8189;
    private static final int CLIENTS_MAX = 8;
    private static final int LEDGER = 1, CODE = 1;
    private static final int ID = 16;
    private static final String PROPERTIES = "/META-INF/maven/com.tigerbeetle/tigerbeetle-java/pom.properties";

    private final List<Client> clients = new ArrayList<>();
    private final AtomicInteger turn = new AtomicInteger();
    private final byte[] run = new byte[5];
    private final String server;
    private final byte[] operator;
    private final Map<String, byte[]> pending = new ConcurrentHashMap<>();
    private final Batches<byte[], Boolean> accounts = new Batches<>(1, BATCH_MAX, this::createAccounts);
    private final Batches<byte[], long[]> lookups = new Batches<>(1, BATCH_MAX, this::lookUp);
    private final Batches<Transfer, CreateTransferResult> transfers =
            new Batches<>(1, BATCH_MAX, this::createTransfers);

    private record Transfer(byte[] id, byte[] from, byte[] pending, long amount, int flags, boolean isCredit) {}

    private TigerBeetlePeer(String server) {
        this.server = server;
        ThreadLocalRandom.current().nextBytes(run);
        run[0] |= 1;
        clients.add(client());
        operator = id("operator");
        accounts.ask(operator).join();
    }

    /** What the driver says of it: a client is not told the server's version. */
    static String info() throws IOException {
        Properties properties = new Properties();
        try (InputStream in = Client.class.getResourceAsStream(PROPERTIES)) {
            properties.load(in);
        }
        return "tigerbeetle_version:of its client " + properties.getProperty("version") + "\r\ndurability:fsync\r\n";
    }

    static Door connect(String server) {
        return new ChargingDoor(new TwoPhase(new TigerBeetlePeer(server)));
    }

    private Client client() {
        return new Client(UInt128.asBytes(0), new String[] {server});
    }

    @Override
    public synchronized void expect(int connections, int depth) {
        int lanes = Math.min(connections, CLIENTS_MAX);
        while (clients.size() < lanes) {
            clients.add(client());
        }
        transfers.resize(lanes, Math.min(depth, BATCH_MAX));
    }

    /** A client sends one request at a time, so each batch takes the next one. */
    private synchronized Client any() {
        return clients.get(Math.floorMod(turn.getAndIncrement(), clients.size()));
    }

    @Override
    public CompletionStage<Boolean> create(String account, long credit) {
        byte[] id = id(account);
        return accounts.ask(id).thenCompose(isNew -> isNew && credit > 0
                ? transfers.ask(new Transfer(UInt128.id(), id, null, credit, TransferFlags.NONE, true))
                        .thenApply(result -> expected(result, CreateTransferResult.Ok))
                : CompletableFuture.completedFuture(isNew));
    }

    @Override
    public CompletionStage<Boolean> hold(String account, String name, long amount) {
        byte[] id = UInt128.id();
        return transfers.ask(new Transfer(id, id(account), null, amount, TransferFlags.PENDING, false))
                .thenApply(result -> {
                    if (result == CreateTransferResult.ExceedsCredits) {
                        return false;
                    }
                    pending.put(account + '/' + name, id);
                    return expected(result, CreateTransferResult.Ok);
                });
    }

    @Override
    public CompletionStage<Boolean> settle(String account, String name, long amount, long used) {
        byte[] held = pending.remove(account + '/' + name);
        int flags = used == 0 ? TransferFlags.VOID_PENDING_TRANSFER : TransferFlags.POST_PENDING_TRANSFER;
        return transfers.ask(new Transfer(UInt128.id(), id(account), held, used, flags, false))
                .thenApply(result -> result == CreateTransferResult.Ok);
    }

    @Override
    public CompletionStage<long[]> balance(String account) {
        return lookups.ask(id(account));
    }

    private static boolean expected(CreateTransferResult result, CreateTransferResult wanted) {
        if (result != wanted) {
            throw new IllegalStateException("a transfer was answered " + result);
        }
        return true;
    }

    /** The bytes of a name behind those of this run. */
    private byte[] id(String name) {
        byte[] id = Arrays.copyOf(run, ID);
        byte[] text = name.getBytes(StandardCharsets.US_ASCII);
        System.arraycopy(text, 0, id, run.length, Math.min(text.length, ID - run.length));
        return id;
    }

    private CompletableFuture<List<Boolean>> createAccounts(List<byte[]> ids) {
        AccountBatch batch = new AccountBatch(ids.size());
        for (byte[] id : ids) {
            batch.add();
            batch.setId(id);
            batch.setLedger(LEDGER);
            batch.setCode(CODE);
            batch.setFlags(id == operator || operator == null
                    ? AccountFlags.NONE : AccountFlags.DEBITS_MUST_NOT_EXCEED_CREDITS);
        }
        return any().createAccountsAsync(batch).thenApply(results -> failed(results, ids.size()));
    }

    private static List<Boolean> failed(CreateAccountResultBatch results, int count) {
        Boolean[] made = new Boolean[count];
        Arrays.fill(made, true);
        while (results.next()) {
            if (results.getResult() != CreateAccountResult.Exists) {
                throw new IllegalStateException("an account was answered " + results.getResult());
            }
            made[results.getIndex()] = false;
        }
        return List.of(made);
    }

    private CompletableFuture<List<CreateTransferResult>> createTransfers(List<Transfer> all) {
        TransferBatch batch = new TransferBatch(all.size());
        for (Transfer one : all) {
            batch.add();
            batch.setId(one.id);
            batch.setDebitAccountId(one.isCredit ? operator : one.from);
            batch.setCreditAccountId(one.isCredit ? one.from : operator);
            batch.setAmount(one.amount);
            if (one.pending != null) {
                batch.setPendingId(one.pending);
            }
            batch.setLedger(LEDGER);
            batch.setCode(CODE);
            batch.setFlags(one.flags);
        }
        return any().createTransfersAsync(batch).thenApply(results -> results(results, all.size()));
    }

    /** It answers only what was not done. */
    private static List<CreateTransferResult> results(CreateTransferResultBatch results, int count) {
        CreateTransferResult[] all = new CreateTransferResult[count];
        Arrays.fill(all, CreateTransferResult.Ok);
        while (results.next()) {
            all[results.getIndex()] = results.getResult();
        }
        return List.of(all);
    }

    /** Accounts that are not there are left out of the answer, which keeps the order. */
    private CompletableFuture<List<long[]>> lookUp(List<byte[]> ids) {
        IdBatch batch = new IdBatch(ids.size());
        ids.forEach(batch::add);
        return any().lookupAccountsAsync(batch).thenApply(found -> {
            List<long[]> balances = new ArrayList<>();
            boolean is = found.next();
            for (byte[] id : ids) {
                boolean here = is && Arrays.equals(found.getId(), id);
                balances.add(here ? balance(found) : null);
                is = here ? found.next() : is;
            }
            return balances;
        });
    }

    private static long[] balance(AccountBatch account) {
        long held = account.getDebitsPending().longValueExact(), consumed = account.getDebitsPosted().longValueExact();
        long credited = account.getCreditsPosted().longValueExact();
        return new long[] {credited - consumed - held, held, credited, consumed};
    }
}
