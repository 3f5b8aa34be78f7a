package scurry.lab;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
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
 * Ignite with the rules in an entry processor (IgniteCache.invoke) on an atomic cache. A value is
 * the account's bytes in our own layout, which spares Ignite its binary objects. Where the rules run
 * in the client, the same values are read and replaced.
 */
final class IgnitePeer {
    private static final String CACHE = "accounts";
    private static final long REGION_BYTES = 6L << 30;

    private IgnitePeer() {}

    /** Starts the server on three ports of the loopback; gives what it calls itself. */
    static String serve(int port, String durability) {
        IgniteConfiguration config = config(port, port + 1);
        DataStorageConfiguration storage = new DataStorageConfiguration();
        storage.getDefaultDataRegionConfiguration().setMaxSize(REGION_BYTES);
        switch (durability) {
            case "none" -> { }
            case "write" -> storage.setWalMode(WALMode.LOG_ONLY);
            case "fsync" -> storage.setWalMode(WALMode.FSYNC);
            default -> throw new IllegalArgumentException("no durability " + durability);
        }
        storage.getDefaultDataRegionConfiguration().setPersistenceEnabled(!durability.equals("none"));
        config.setDataStorageConfiguration(storage);
        Ignite ignite = Ignition.start(config);
        ignite.cluster().state(ClusterState.ACTIVE);
        ignite.getOrCreateCache(new CacheConfiguration<String, byte[]>(CACHE)
                .setAtomicityMode(CacheAtomicityMode.ATOMIC).setBackups(0).setCopyOnRead(false));
        return ignite.version().toString();
    }

    /** Connects a client node, its way to run an entry processor. */
    static Store connect(int port) {
        IgniteConfiguration config = config(port, port + 2);
        config.setClientMode(true);
        Ignite ignite = Ignition.start(config);
        IgniteCache<String, byte[]> accounts = ignite.cache(CACHE);
        Call call = new Call();
        return new Store() {
            @Override
            public CompletionStage<byte[]> call(String account, Command command) {
                return stage(accounts.invokeAsync(account, call, packed(command)));
            }

            @Override
            public void close() {
                ignite.close();
            }
        };
    }

    /** The same, as a store that only keeps what the client decides. */
    static Store connectPlain(int port) {
        IgniteConfiguration config = config(port, port + 2);
        config.setClientMode(true);
        Ignite ignite = Ignition.start(config);
        IgniteCache<String, byte[]> accounts = ignite.cache(CACHE);
        return new Swapping(new Swapping.Cells() {
            @Override
            public CompletionStage<byte[]> get(String key) {
                return stage(accounts.getAsync(key));
            }

            @Override
            public CompletionStage<Boolean> swap(String key, byte[] held, byte[] next) {
                return stage(held == null
                        ? accounts.putIfAbsentAsync(key, next) : accounts.replaceAsync(key, held, next));
            }

            @Override
            public void close() {
                ignite.close();
            }
        });
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

    private static IgniteConfiguration config(int port, int communicationPort) {
        TcpDiscoveryVmIpFinder finder = new TcpDiscoveryVmIpFinder();
        finder.setAddresses(List.of("127.0.0.1:" + port));
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
