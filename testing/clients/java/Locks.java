// What Redisson does by commands works, and what it does by scripts is refused at once. See ../README.md for the
// arguments.

import java.time.Duration;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.redisson.Redisson;
import org.redisson.api.RedissonClient;
import org.redisson.client.RedisException;
import org.redisson.config.Config;

public final class Locks {
  private static final String WORDS = "runs no scripts";

  private Locks() {}

  public static void main(String[] arguments) throws Exception {
    Config config = new Config();
    config.useSingleServer()
        .setAddress("redis://" + arguments[0])
        .setTimeout(60_000)
        .setConnectionMinimumIdleSize(1)
        .setSubscriptionConnectionMinimumIdleSize(1);
    RedissonClient client = Redisson.create(config);
    try {
      locks(client);
    } finally {
      client.shutdown();
    }
    System.out.println("uses: Redisson: right");
  }

  private static void locks(RedissonClient client) throws Exception {
    client.getBucket("one").set("1", Duration.ofMinutes(1));
    equal(client.getBucket("one").get(), "1");
    equal(client.getAtomicLong("number").incrementAndGet(), 1L);
    client.getBuckets().set(Map.of("two", "2", "three", "3"));
    equal(client.getBuckets().get("two", "three"), Map.of("two", "2", "three", "3"));
    // Each is asked once; with other words it would ask for ever, so there is an end to waiting.
    refused(() -> client.getLock("lock").lockAsync(1, TimeUnit.MINUTES).get(5, TimeUnit.MINUTES));
    refused(() -> client.getBucket("one").getAndDeleteAsync().get(5, TimeUnit.MINUTES));
    equal(client.getBucket("lock").get(), null);
  }

  private interface Call {
    void run() throws Exception;
  }

  private static void refused(Call call) throws Exception {
    try {
      call.run();
    } catch (ExecutionException error) {
      String said = String.valueOf(error.getCause().getMessage());
      if (error.getCause() instanceof RedisException && said.contains(WORDS)) {
        return;
      }
      throw new AssertionError("expected " + WORDS, error);
    }
    throw new AssertionError("not refused");
  }

  private static void equal(Object got, Object expected) {
    if (!Objects.equals(got, expected)) {
      throw new AssertionError("expected " + expected + ", got " + got);
    }
  }
}
