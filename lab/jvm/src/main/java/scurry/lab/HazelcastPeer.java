package scurry.lab;

import com.hazelcast.client.HazelcastClient;
import com.hazelcast.client.config.ClientConfig;
import com.hazelcast.config.Config;
import com.hazelcast.config.InMemoryFormat;
import com.hazelcast.config.IndexConfig;
import com.hazelcast.config.IndexType;
import com.hazelcast.config.MapConfig;
import com.hazelcast.config.NetworkConfig;
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
import com.hazelcast.query.Predicates;
import java.io.IOException;
import java.util.Collection;
import java.util.Map;
import java.util.SortedMap;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.locks.LockSupport;

/**
 * Hazelcast. With the rules in an EntryProcessor accounts are kept as objects (OBJECT), as its manual
 * advises for entry processors, and both types have serializers of their own; where the rules run in
 * the client, accounts are bytes (BINARY) that are read and replaced, and so are plain values. Records
 * that are found by their value are objects, as its manual advises for queries, with a hash index.
 */
final class HazelcastPeer {
    private static final String CLUSTER = "lab", OBJECTS = "accounts", PLAIN = "plain", RECORDS = "records";
    private static final long LOOK_EVERY_NS = 50_000_000;

    private HazelcastPeer() {}

    /** Starts a member on a port of the loopback; gives what it calls itself once it is one of all. */
    static String serve(Member member) {
        Config config = new Config();
        config.setClusterName(CLUSTER);
        config.setProperty("hazelcast.logging.type", "none");
        config.setProperty("hazelcast.phone.home.enabled", "false");
        NetworkConfig network = config.getNetworkConfig();
        network.setPort(member.port()).setPortAutoIncrement(false);
        network.getInterfaces().setEnabled(true).addInterface("127.0.0.1");
        network.getJoin().getAutoDetectionConfig().setEnabled(false);
        network.getJoin().getMulticastConfig().setEnabled(false);
        if (member.members() > 1) {
            network.getJoin().getTcpIpConfig().setEnabled(true).addMember("127.0.0.1:" + member.first());
        }
        config.addMapConfig(map(OBJECTS, member).setInMemoryFormat(InMemoryFormat.OBJECT));
        config.addMapConfig(map(PLAIN, member).setInMemoryFormat(InMemoryFormat.BINARY));
        config.addMapConfig(map(RECORDS, member).setInMemoryFormat(InMemoryFormat.OBJECT)
                .addIndexConfig(new IndexConfig(IndexType.HASH, "this")));
        register(config.getSerializationConfig());
        HazelcastInstance server = Hazelcast.newHazelcastInstance(config);
        while (server.getCluster().getMembers().size() < member.number()
                || !server.getPartitionService().isClusterSafe()) {
            LockSupport.parkNanos(LOOK_EVERY_NS);
        }
        server.getMap(OBJECTS);
        server.getMap(PLAIN);
        return BuildInfoProvider.getBuildInfo().getVersion();
    }

    /** Nobody waits for a backup, as nobody waits for the replicas of others. */
    private static MapConfig map(String name, Member member) {
        return new MapConfig(name).setBackupCount(0).setAsyncBackupCount(member.backups())
                .setStatisticsEnabled(false).setPerEntryStatsEnabled(false);
    }

    /** Connects its own client, for this work. */
    static Door connect(int port, String work) {
        HazelcastInstance client = client(port);
        return switch (work) {
            case "server" -> {
                IMap<String, Account> accounts = client.getMap(OBJECTS);
                yield new ChargingDoor((account, command) -> accounts.submitToKey(account, new Call(command)));
            }
            case "client" -> new ChargingDoor(new Swapping(cells(client.getMap(PLAIN))));
            case "values" -> new KeyValueDoor(values(client.getMap(PLAIN)));
            case "records" -> new IndexDoor(records(client.getMap(RECORDS)));
            default -> throw new IllegalArgumentException("no work " + work);
        };
    }

    /** A store that only keeps what the client decides. The map has no asynchronous replace. */
    private static Swapping.Cells cells(IMap<String, byte[]> accounts) {
        return new Swapping.Cells() {
            @Override
            public CompletionStage<byte[]> get(String key) {
                return accounts.getAsync(key);
            }

            @Override
            public CompletionStage<Boolean> swap(String key, byte[] held, byte[] next) {
                return Blocking.call(() -> held == null
                        ? accounts.putIfAbsent(key, next) == null : accounts.replace(key, held, next));
            }
        };
    }

    /** By the calls that bring no old value back. */
    private static Values values(IMap<String, byte[]> map) {
        return new Values() {
            @Override
            public CompletionStage<byte[]> get(String key) {
                return map.getAsync(key);
            }

            @Override
            public CompletionStage<?> set(String key, byte[] value) {
                return map.setAsync(key, value);
            }

            @Override
            public CompletionStage<Boolean> remove(String key) {
                return map.deleteAsync(key);
            }

            @Override
            public CompletionStage<?> setAll(SortedMap<String, byte[]> values) {
                return map.setAllAsync(values);
            }
        };
    }

    /** By a query over the index, which has no asynchronous form. */
    private static Records records(IMap<String, String> map) {
        return new Records() {
            @Override
            public CompletionStage<?> put(String key, String value) {
                return map.setAsync(key, value);
            }

            @Override
            public CompletionStage<Collection<String>> find(String value) {
                return Blocking.call(() -> map.keySet(Predicates.equal("this", value)));
            }
        };
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
