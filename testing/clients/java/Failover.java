// Debits through Lettuce while the leader of a group dies. See ../README.md for the arguments.

import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.RedisException;
import io.lettuce.core.RedisURI;
import io.lettuce.core.cluster.ClusterClientOptions;
import io.lettuce.core.cluster.ClusterTopologyRefreshOptions;
import io.lettuce.core.cluster.RedisClusterClient;
import io.lettuce.core.cluster.api.sync.RedisClusterCommands;
import io.lettuce.core.codec.StringCodec;
import io.lettuce.core.output.NestedMultiOutput;
import io.lettuce.core.protocol.CommandArgs;
import io.lettuce.core.protocol.ProtocolKeyword;
import io.lettuce.core.resource.ClientResources;
import io.lettuce.core.resource.Delay;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;

public final class Failover {
  // Of each part: before the leader dies, and after it.
  private static final int DEBITS = 200;
  // Between two attempts of the application, and how long it tries one debit.
  private static final long PAUSE_MS = 20;
  private static final long PATIENCE_NS = TimeUnit.SECONDS.toNanos(120);
  // A command that waits for a connection ends with an error after this, and the application repeats it.
  private static final Duration TIMEOUT = Duration.ofSeconds(1);

  private enum Keyword implements ProtocolKeyword {
    DEBIT;

    @Override
    public byte[] getBytes() {
      return "SCUR.DEBIT".getBytes(StandardCharsets.US_ASCII);
    }
  }

  private static volatile boolean killed;

  private static RedisClusterCommands<String, String> connect(String mode, String[] addresses) {
    // Connecting again is put off for 30 s otherwise, when a node is away for long.
    ClientResources resources =
        ClientResources.builder()
            .reconnectDelay(
                Delay.exponential(
                    Duration.ofMillis(10), Duration.ofMillis(200), 2, TimeUnit.MILLISECONDS))
            .build();
    List<RedisURI> places = new ArrayList<>();
    for (String address : addresses) {
      places.add(RedisURI.create("redis://" + address));
    }
    places.forEach(place -> place.setTimeout(TIMEOUT));
    switch (mode) {
      case "cluster" -> {
        ClusterTopologyRefreshOptions refresh =
            ClusterTopologyRefreshOptions.builder()
                .enablePeriodicRefresh(Duration.ofSeconds(1))
                .enableAllAdaptiveRefreshTriggers()
                .adaptiveRefreshTriggersTimeout(Duration.ofMillis(200))
                .refreshTriggersReconnectAttempts(1)
                .build();
        RedisClusterClient client = RedisClusterClient.create(resources, places);
        client.setOptions(ClusterClientOptions.builder().topologyRefreshOptions(refresh).build());
        return client.connect().sync();
      }
      case "sentinel" -> {
        RedisURI.Builder sentinels =
            RedisURI.builder().withSentinelMasterId("scurry").withTimeout(TIMEOUT);
        places.forEach(place -> sentinels.withSentinel(place.getHost(), place.getPort()));
        return RedisClient.create(resources, sentinels.build()).connect().sync();
      }
      default -> {
        return RedisClient.create(resources, places.get(0)).connect().sync();
      }
    }
  }

  public static void main(String[] arguments) throws InterruptedException {
    String mode = arguments[0];
    RedisClusterCommands<String, String> client = connect(mode, arguments[1].split(","));
    Thread listener =
        new Thread(
            () -> {
              try {
                killed = System.in.read() >= 0;
              } catch (IOException error) {
                throw new IllegalStateException(error);
              }
            });
    listener.setDaemon(true);
    listener.start();
    TreeMap<String, Integer> kinds = new TreeMap<>();
    int number = 0;
    int last = DEBITS;
    long gap = 0;
    long answered = System.nanoTime();
    while (number < last) {
      CommandArgs<String, String> words =
          new CommandArgs<>(StringCodec.UTF8)
              .addKey("purse-" + mode)
              .add("txn-" + number)
              .add("cent")
              .add(1);
      List<Object> reply;
      try {
        reply = client.dispatch(Keyword.DEBIT, new NestedMultiOutput<>(StringCodec.UTF8), words);
      } catch (RedisException error) {
        // Whether it was done is not known: the same id again.
        String kind =
            error instanceof RedisCommandExecutionException
                ? error.getMessage().split(" ")[0]
                : error.getClass().getSimpleName();
        kinds.merge(kind, 1, Integer::sum);
        if (System.nanoTime() - answered > PATIENCE_NS) {
          throw error;
        }
        Thread.sleep(PAUSE_MS);
        continue;
      }
      if (!reply.get(0).equals("OK") || !reply.get(3).equals(1L)) {
        throw new AssertionError(reply);
      }
      gap = Math.max(gap, System.nanoTime() - answered);
      answered = System.nanoTime();
      number++;
      if (number == DEBITS) {
        System.out.println("half");
      }
      if (!killed) {
        last = number + DEBITS;
      }
    }
    StringBuilder saw = new StringBuilder();
    kinds.forEach((kind, count) -> saw.append(saw.length() > 0 ? "," : "").append(kind + ":" + count));
    int errors = kinds.values().stream().mapToInt(Integer::intValue).sum();
    System.out.printf(
        "debits=%d errors=%d kinds=%s gap_ms=%d lettuce %s%n",
        number, errors, errors == 0 ? "none" : saw, TimeUnit.NANOSECONDS.toMillis(gap), mode);
    System.exit(0);
  }
}
