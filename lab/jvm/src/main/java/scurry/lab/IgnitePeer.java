package scurry.lab;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.List;
import java.util.SortedMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.locks.LockSupport;
import javax.cache.processor.MutableEntry;
import org.apache.ignite.Ignite;
import org.apache.ignite.IgniteCache;
import org.apache.ignite.Ignition;
import org.apache.ignite.cache.CacheAtomicityMode;
import org.apache.ignite.cache.CacheEntryProcessor;
import org.apache.ignite.cluster.ClusterState;
import org.apache.ignite.configuration.CacheConfiguration;
import org.apache.ignite.configuration.DataStorageConfiguration;
import org.apache.ignite.configuration.IgniteConfiguration;
import org.apache.ignite.configuration.WALMode;
import org.apache.ignite.lang.IgniteFuture;
import org.apache.ignite.logger.NullLogger;
import org.apache.ignite.spi.communication.tcp.TcpCommunicationSpi;
import org.apache.ignite.spi.discovery.tcp.TcpDiscoverySpi;
import org.apache.ignite.spi.discovery.tcp.ipfinder.vm.TcpDiscoveryVmIpFinder;

/**
 * Ignite, on atomic caches. The rules run in an entry processor (IgniteCache.invoke) on the account's
 * bytes in our own layout, which spares Ignite its binary objects; where they run in the client, the same
 * values are read and replaced. Plain values are bytes as well.
 */
final class IgnitePeer {
    private static final String CACHE = "lab";
    private static final long REGION_BYTES = 6L << 30;
    private static final long LOOK_EVERY_NS = 50_000_000;

    private IgnitePeer() {}

    /** Starts a member on three ports of the loopback; gives what it calls itself once it is one of all. */
    static String serve(Member member) {
        IgniteConfiguration config = config(member.first(), member.port(), member.port() + 1);
        DataStorageConfiguration storage = new DataStorageConfiguration();
        storage.getDefaultDataRegionConfiguration().setMaxSize(REGION_BYTES);
        switch (member.durability()) {
            case "none" -> { }
            case "write" -> storage.setWalMode(WALMode.LOG_ONLY);
            case "fsync" -> storage.setWalMode(WALMode.FSYNC);
            default -> throw new IllegalArgumentException("no durability " + member.durability());
        }
        boolean keeps = !member.durability().equals("none");
        storage.getDefaultDataRegionConfiguration().setPersistenceEnabled(keeps);
        config.setDataStorageConfiguration(storage);
        Ignite ignite = Ignition.start(config);
        ignite.cluster().state(ClusterState.ACTIVE);
        if (keeps && member.number() > 1) {
            // What keeps its data takes no new member by itself.
            ignite.cluster().setBaselineTopology(ignite.cluster().topologyVersion());
        }
        // Its default waits for the primary alone (PRIMARY_SYNC), as nobody waits for the replicas of others.
        ignite.getOrCreateCache(new CacheConfiguration<String, byte[]>(CACHE)
                .setAtomicityMode(CacheAtomicityMode.ATOMIC).setBackups(member.backups()).setCopyOnRead(false));
        while (ignite.cluster().forServers().nodes().size() < member.number()) {
            LockSupport.parkNanos(LOOK_EVERY_NS);
        }
        return ignite.version().toString();
    }

    /** Connects a client node, its way to run an entry processor, for this work. */
    static Door connect(int first, int communicationPort, String work) {
        IgniteConfiguration config = config(first, first, communicationPort);
        config.setClientMode(true);
        Ignite ignite = Ignition.start(config);
        return switch (work) {
            case "server" -> {
                IgniteCache<String, byte[]> accounts = ignite.cache(CACHE);
                Call call = new Call();
                yield new ChargingDoor((account, command) ->
                        stage(accounts.invokeAsync(account, call, packed(command))));
            }
            case "client" -> new ChargingDoor(new Swapping(cells(ignite.cache(CACHE))));
            case "values" -> new KeyValueDoor(values(ignite.cache(CACHE)));
            default -> throw new IllegalArgumentException("no work " + work);
        };
    }

    /** A store that only keeps what the client decides. */
    private static Swapping.Cells cells(IgniteCache<String, byte[]> accounts) {
        return new Swapping.Cells() {
            @Override
            public CompletionStage<byte[]> get(String key) {
                return stage(accounts.getAsync(key));
            }

            @Override
            public CompletionStage<Boolean> swap(String key, byte[] held, byte[] next) {
                return stage(held == null
                        ? accounts.putIfAbsentAsync(key, next) : accounts.replaceAsync(key, held, next));
            }
        };
    }

    private static Values values(IgniteCache<String, byte[]> cache) {
        return new Values() {
            @Override
            public CompletionStage<byte[]> get(String key) {
                return stage(cache.getAsync(key));
            }

            @Override
            public CompletionStage<?> set(String key, byte[] value) {
                return stage(cache.putAsync(key, value));
            }

            @Override
            public CompletionStage<Boolean> remove(String key) {
                return stage(cache.removeAsync(key));
            }

            @Override
            public CompletionStage<?> setAll(SortedMap<String, byte[]> values) {
                return stage(cache.putAllAsync(values));
            }
        };
    }

    private static <T> CompletionStage<T> stage(IgniteFuture<T> future) {
        CompletableFuture<T> stage = new CompletableFuture<>();
        future.listen(done -> {
            try {
                stage.complete(done.get());
            } catch (RuntimeException error) {
                stage.completeExceptionally(error);
            }
        });
        return stage;
    }

    /** A node that finds the others by the first one. */
    private static IgniteConfiguration config(int first, int port, int communicationPort) {
        TcpDiscoveryVmIpFinder finder = new TcpDiscoveryVmIpFinder();
        finder.setAddresses(List.of("127.0.0.1:" + first));
        TcpDiscoverySpi discovery = new TcpDiscoverySpi();
        discovery.setLocalAddress("127.0.0.1");
        discovery.setLocalPort(port);
        discovery.setLocalPortRange(0);
        discovery.setIpFinder(finder);
        TcpCommunicationSpi communication = new TcpCommunicationSpi();
        communication.setLocalAddress("127.0.0.1");
        communication.setLocalPort(communicationPort);
        communication.setLocalPortRange(0);
        IgniteConfiguration config = new IgniteConfiguration();
        config.setIgniteInstanceName("lab" + communicationPort);
        config.setConsistentId("lab" + communicationPort);
        config.setDiscoverySpi(discovery);
        config.setCommunicationSpi(communication);
        config.setGridLogger(new NullLogger());
        config.setMetricsLogFrequency(0);
        config.setClientConnectorConfiguration(null);
        config.setConnectorConfiguration(null);
        // What a run keeps goes with the directory that the process was started in.
        config.setWorkDirectory(System.getProperty("user.dir") + "/ignite" + communicationPort);
        return config;
    }

    private static byte[] packed(Command command) {
        try {
            ByteArrayOutputStream bytes = new ByteArrayOutputStream(96);
            command.write(new DataOutputStream(bytes));
            return bytes.toByteArray();
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }

    /** Runs where the account is; its argument is the command. */
    static final class Call implements CacheEntryProcessor<String, byte[], byte[]> {
        private static final long serialVersionUID = 1;

        @Override
        public byte[] process(MutableEntry<String, byte[]> entry, Object... arguments) {
            try {
                Account account = Swapping.unpacked(entry.getValue());
                byte[] words = (byte[]) arguments[0];
                Command command = Command.read(new DataInputStream(new ByteArrayInputStream(words)));
                Rules.Done done = Rules.run(account, command, System.currentTimeMillis());
                if (done.changed()) {
                    entry.setValue(Swapping.packed(done.account()));
                }
                return done.reply();
            } catch (IOException error) {
                throw new UncheckedIOException(error);
            }
        }
    }
}
