package scurry.lab;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.SortedMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.logging.Level;
import java.util.logging.LogManager;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteServer;
import org.apache.ignite.InitParameters;
import org.apache.ignite.client.IgniteClient;
import org.apache.ignite.compute.ComputeJob;
import org.apache.ignite.compute.JobDescriptor;
import org.apache.ignite.compute.JobExecutionContext;
import org.apache.ignite.compute.JobTarget;
import org.apache.ignite.internal.properties.IgniteProductVersion;
import org.apache.ignite.table.KeyValueView;
import org.apache.ignite.table.Tuple;

/**
 * Ignite 3, one node of it, with its words as Main has them. The rules run in a compute job that is sent to where
 * the account is, in a transaction on the account's bytes in our own layout; where they run in the client, the
 * same values are read and replaced. Plain values are bytes as well.
 */
public final class Ignite3 {
    private static final String TABLE = "LAB";
    /** Of the node's ports, counted from the one where it says what it is. */
    private static final int NETWORK = 1, CLIENTS = 2, REST = 3;
    private static final long REGION_BYTES = 6L << 30;

    private Ignite3() {}

    public static void main(String[] words) throws IOException {
        LogManager.getLogManager().getLogger("").setLevel(Level.SEVERE);
        int port = Integer.parseInt(words[2]);
        if (words[0].equals("serve")) {
            String durability = words[6];
            String info = "ignite_version:" + serve(port, durability) + " on Java " + Runtime.version().feature()
                    + "\r\ndurability:" + durability + "\r\n";
            new Gateway(null, info).serve(port);
        } else {
            new Gateway(connect(Integer.parseInt(words[3]) + CLIENTS, words[4]), "").serve(port);
        }
    }

    /** Starts a node in the directory that the process was started in; gives what it calls itself. */
    private static String serve(int port, String durability) throws IOException {
        boolean keeps = switch (durability) {
            case "none" -> false;
            case "write", "fsync" -> true;
            default -> throw new IllegalArgumentException("no durability " + durability);
        };
        System.setProperty("micronaut.server.host", "127.0.0.1");
        Path home = Path.of("ignite3").toAbsolutePath();
        Files.createDirectories(home);
        String size = keeps ? "sizeBytes" : "maxSizeBytes";
        Path config = Files.writeString(home.resolve("ignite.conf"), "ignite { network { port: "
                + (port + NETWORK) + ", listenAddresses: [\"127.0.0.1\"], nodeFinder { netClusterNodes: "
                + "[\"127.0.0.1:" + (port + NETWORK) + "\"] } }, clientConnector { port: " + (port + CLIENTS)
                + ", listenAddresses: [\"127.0.0.1\"] }, rest { port: " + (port + REST) + " }, raft { fsync: "
                + durability.equals("fsync") + " }, storage { profiles: [{ name: lab, engine: "
                + (keeps ? "aipersist" : "aimem") + ", " + size + ": " + REGION_BYTES + " }] } }");
        IgniteServer server = IgniteServer.start("lab", config, home.resolve("work"));
        server.initCluster(InitParameters.builder().metaStorageNodes(server).clusterName("lab").build());
        server.waitForInitAsync().join();
        Ignite ignite = server.api();
        ignite.sql().executeScript("CREATE ZONE lab (REPLICAS 1) STORAGE PROFILES ['lab']; CREATE TABLE " + TABLE
                + " (k VARCHAR(64) PRIMARY KEY, v VARBINARY(1048576)) ZONE lab;");
        return IgniteProductVersion.CURRENT_VERSION.toString();
    }

    /** Connects its thin client, for this work. */
    private static Door connect(int port, String work) {
        // In the thread that brings the reply: another one would cost a switch per request.
        IgniteClient client = IgniteClient.builder().addresses("127.0.0.1:" + port)
                .asyncContinuationExecutor(Runnable::run).build();
        return switch (work) {
            case "server" -> {
                JobDescriptor<byte[], byte[]> call = JobDescriptor.builder(Call.class).build();
                yield new ChargingDoor((account, command) -> client.compute().executeAsync(
                        JobTarget.colocated(TABLE, Tuple.create().set("k", account)), call,
                        packed(account, command)));
            }
            case "client" -> new ChargingDoor(new Swapping(cells(view(client))));
            case "values" -> new KeyValueDoor(values(view(client)));
            default -> throw new IllegalArgumentException("no work " + work);
        };
    }

    private static KeyValueView<String, byte[]> view(Ignite ignite) {
        return ignite.tables().table(TABLE).keyValueView(String.class, byte[].class);
    }

    /** A store that only keeps what the client decides. */
    private static Swapping.Cells cells(KeyValueView<String, byte[]> accounts) {
        return new Swapping.Cells() {
            @Override
            public CompletionStage<byte[]> get(String key) {
                return accounts.getAsync(null, key);
            }

            @Override
            public CompletionStage<Boolean> swap(String key, byte[] held, byte[] next) {
                return held == null ? accounts.putIfAbsentAsync(null, key, next)
                        : accounts.replaceAsync(null, key, held, next);
            }
        };
    }

    private static Values values(KeyValueView<String, byte[]> map) {
        return new Values() {
            @Override
            public CompletionStage<byte[]> get(String key) {
                return map.getAsync(null, key);
            }

            @Override
            public CompletionStage<?> set(String key, byte[] value) {
                return map.putAsync(null, key, value);
            }

            @Override
            public CompletionStage<Boolean> remove(String key) {
                return map.removeAsync(null, key);
            }

            @Override
            public CompletionStage<?> setAll(SortedMap<String, byte[]> values) {
                return map.putAllAsync(null, values);
            }
        };
    }

    private static byte[] packed(String account, Command command) {
        try {
            ByteArrayOutputStream bytes = new ByteArrayOutputStream(128);
            DataOutputStream out = new DataOutputStream(bytes);
            out.writeUTF(account);
            command.write(out);
            return bytes.toByteArray();
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }

    /** Runs where the account is; its argument is the account and the command. */
    public static final class Call implements ComputeJob<byte[], byte[]> {
        @Override
        public CompletableFuture<byte[]> executeAsync(JobExecutionContext context, byte[] words) {
            try {
                DataInputStream in = new DataInputStream(new ByteArrayInputStream(words));
                String account = in.readUTF();
                Command command = Command.read(in);
                KeyValueView<String, byte[]> accounts = view(context.ignite());
                return context.ignite().transactions().runInTransactionAsync(transaction ->
                        accounts.getAsync(transaction, account).thenCompose(held -> {
                            Rules.Done done = Rules.run(Swapping.unpacked(held), command, System.currentTimeMillis());
                            return done.changed()
                                    ? accounts.putAsync(transaction, account, Swapping.packed(done.account()))
                                            .thenApply(kept -> done.reply())
                                    : CompletableFuture.completedFuture(done.reply());
                        }));
            } catch (IOException error) {
                throw new UncheckedIOException(error);
            }
        }
    }
}
