package scurry.lab;

import com.hazelcast.client.HazelcastClient;
import com.hazelcast.client.config.ClientConfig;
import com.hazelcast.config.Config;
import com.hazelcast.config.InMemoryFormat;
import com.hazelcast.config.MapConfig;
import com.hazelcast.config.SerializationConfig;
import com.hazelcast.config.SerializerConfig;
import com.hazelcast.core.Hazelcast;
import com.hazelcast.core.HazelcastInstance;
import com.hazelcast.instance.BuildInfoProvider;
import com.hazelcast.map.EntryProcessor;
import com.hazelcast.map.IMap;
import com.hazelcast.nio.ObjectDataInput;
import com.hazelcast.nio.ObjectDataOutput;
import com.hazelcast.nio.serialization.StreamSerializer;
import java.io.IOException;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/**
 * Hazelcast with the rules in an EntryProcessor. Accounts are kept as objects (OBJECT), as its
 * manual advises for entry processors, and both types have serializers of their own. Where the rules
 * run in the client, accounts are bytes (BINARY) that are read and replaced.
 */
final class HazelcastPeer {
    private static final String CLUSTER = "lab", MAP = "accounts", PLAIN = "plain";

    private HazelcastPeer() {}

    /** Starts the server on a port of the loopback; gives what it calls itself. */
    static String serve(int port) {
        Config config = new Config();
        config.setClusterName(CLUSTER);
        config.setProperty("hazelcast.logging.type", "none");
        config.setProperty("hazelcast.phone.home.enabled", "false");
        config.getNetworkConfig().setPort(port).setPortAutoIncrement(false);
        config.getNetworkConfig().getInterfaces().setEnabled(true).addInterface("127.0.0.1");
        config.getNetworkConfig().getJoin().getAutoDetectionConfig().setEnabled(false);
        config.getNetworkConfig().getJoin().getMulticastConfig().setEnabled(false);
        config.addMapConfig(new MapConfig(MAP).setInMemoryFormat(InMemoryFormat.OBJECT)
                .setBackupCount(0).setStatisticsEnabled(false).setPerEntryStatsEnabled(false));
        config.addMapConfig(new MapConfig(PLAIN).setInMemoryFormat(InMemoryFormat.BINARY)
                .setBackupCount(0).setStatisticsEnabled(false).setPerEntryStatsEnabled(false));
        register(config.getSerializationConfig());
        HazelcastInstance server = Hazelcast.newHazelcastInstance(config);
        server.getMap(MAP);
        server.getMap(PLAIN);
        return BuildInfoProvider.getBuildInfo().getVersion();
    }

    /** Connects its own client. */
    static Store connect(int port) {
        HazelcastInstance client = client(port);
        IMap<String, Account> accounts = client.getMap(MAP);
        return new Store() {
            @Override
            public CompletionStage<byte[]> call(String account, Command command) {
                return accounts.submitToKey(account, new Call(command));
            }

            @Override
            public void close() {
                client.shutdown();
            }
        };
    }

    /**
     * The same, as a store that only keeps what the client decides. Its map has no asynchronous
     * replace: each that is under way has a thread.
     */
    static Store connectPlain(int port) {
        HazelcastInstance client = client(port);
        IMap<String, byte[]> accounts = client.getMap(PLAIN);
        ExecutorService threads = Executors.newCachedThreadPool(work -> {
            Thread thread = new Thread(work);
            thread.setDaemon(true);
            return thread;
        });
        return new Swapping(new Swapping.Cells() {
            @Override
            public CompletionStage<byte[]> get(String key) {
                return accounts.getAsync(key);
            }

            @Override
            public CompletionStage<Boolean> swap(String key, byte[] held, byte[] next) {
                return CompletableFuture.supplyAsync(() -> held == null
                        ? accounts.putIfAbsent(key, next) == null : accounts.replace(key, held, next), threads);
            }

            @Override
            public void close() {
                client.shutdown();
            }
        });
    }

    private static HazelcastInstance client(int port) {
        ClientConfig config = new ClientConfig();
        config.setClusterName(CLUSTER);
        config.setProperty("hazelcast.logging.type", "none");
        config.getNetworkConfig().addAddress("127.0.0.1:" + port);
        register(config.getSerializationConfig());
        return HazelcastClient.newHazelcastClient(config);
    }

    private static void register(SerializationConfig config) {
        config.addSerializerConfig(new SerializerConfig().setTypeClass(Call.class).setImplementation(
                new StreamSerializer<Call>() {
                    @Override
                    public int getTypeId() {
                        return 1;
                    }

                    @Override
                    public void write(ObjectDataOutput out, Call call) throws IOException {
                        call.command.write(out);
                    }

                    @Override
                    public Call read(ObjectDataInput in) throws IOException {
                        return new Call(Command.read(in));
                    }
                }));
        config.addSerializerConfig(new SerializerConfig().setTypeClass(Account.class).setImplementation(
                new StreamSerializer<Account>() {
                    @Override
                    public int getTypeId() {
                        return 2;
                    }

                    @Override
                    public void write(ObjectDataOutput out, Account account) throws IOException {
                        account.write(out);
                    }

                    @Override
                    public Account read(ObjectDataInput in) throws IOException {
                        return Account.read(in);
                    }
                }));
    }

    /** A command on its way to its account. There is no backup to repeat it on. */
    static final class Call implements EntryProcessor<String, Account, byte[]> {
        private static final long serialVersionUID = 1;
        private final transient Command command;

        Call(Command command) {
            this.command = command;
        }

        @Override
        public byte[] process(Map.Entry<String, Account> entry) {
            Rules.Done done = Rules.run(entry.getValue(), command, System.currentTimeMillis());
            if (done.changed()) {
                entry.setValue(done.account());
            }
            return done.reply();
        }

        @Override
        public EntryProcessor<String, Account, byte[]> getBackupProcessor() {
            return null;
        }
    }
}
