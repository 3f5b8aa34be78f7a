// Spring's cache, and SCUR commands through its connection to Lettuce. See ../README.md for the arguments.

import io.lettuce.core.codec.ByteArrayCodec;
import io.lettuce.core.output.ObjectOutput;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Collectors;
import org.springframework.cache.Cache;
import org.springframework.data.redis.cache.BatchStrategies;
import org.springframework.data.redis.cache.RedisCacheConfiguration;
import org.springframework.data.redis.cache.RedisCacheManager;
import org.springframework.data.redis.cache.RedisCacheWriter;
import org.springframework.data.redis.connection.lettuce.LettuceConnection;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.data.redis.core.RedisCallback;
import org.springframework.data.redis.core.StringRedisTemplate;
import org.springframework.data.redis.core.script.DefaultRedisScript;

public final class Spring {
  private static final int ENTRIES = 500;

  private Spring() {}

  public static void main(String[] arguments) {
    String[] address = arguments[0].split(":");
    LettuceConnectionFactory factory =
        new LettuceConnectionFactory(address[0], Integer.parseInt(address[1]));
    factory.afterPropertiesSet();
    factory.start();
    StringRedisTemplate template = new StringRedisTemplate(factory);
    charging(factory, template);
    cache(template, RedisCacheWriter.nonLockingRedisCacheWriter(factory));
    cache(template, RedisCacheWriter.nonLockingRedisCacheWriter(factory, BatchStrategies.scan(50)));
    refused(() -> template.execute(new DefaultRedisScript<>("return 1", Long.class), List.of()), "runs no scripts");
    factory.destroy();
    System.out.println("uses: Spring Data Redis with Lettuce: right");
  }

  /** The output makes any reply of it, also a nested one; without it the connection expects one string. */
  private static void charging(LettuceConnectionFactory factory, StringRedisTemplate template) {
    equal(run(factory, "SCUR.CREATE", "spring", "BUCKET", "main", "cent", "100"), List.of("OK", 1L));
    equal(
        run(factory, "SCUR.RESERVE", "spring", "s1", "0", "ITEM", "1", "cent", "REQUESTED", "30"),
        List.of("OK", 0L, 1L, List.of(List.of(1L, "OK", 30L, 0L, 0L))));
    Map<?, ?> shown = (Map<?, ?>) run(factory, "SCUR.GET", "spring");
    equal(((List<?>) ((List<?>) shown.get("buckets")).get(0)).subList(0, 4), List.of("main", "cent", 70L, 30L));
    refused(
        () -> template.execute(
            (RedisCallback<Object>) connection -> connection.execute("SCUR.GET", bytes("spring"))),
        "does not support");
    refused(() -> run(factory, "SCUR.GET", "nobody"), "UNKNOWN_ACCOUNT 20 ");
  }

  private static Object run(LettuceConnectionFactory factory, String name, String... words) {
    byte[][] sent = Arrays.stream(words).map(Spring::bytes).toArray(byte[][]::new);
    try (LettuceConnection connection = (LettuceConnection) factory.getConnection()) {
      return text(connection.execute(name, new ObjectOutput<>(ByteArrayCodec.INSTANCE), sent));
    }
  }

  private static void cache(StringRedisTemplate template, RedisCacheWriter writer) {
    RedisCacheManager manager = RedisCacheManager.builder(writer)
        .cacheDefaults(RedisCacheConfiguration.defaultCacheConfig().entryTtl(Duration.ofMinutes(10)))
        .build();
    manager.afterPropertiesSet();
    Cache books = Objects.requireNonNull(manager.getCache("books"));
    Cache films = Objects.requireNonNull(manager.getCache("films"));
    for (int entry = 0; entry < ENTRIES; entry++) {
      books.put(entry, "book " + entry);
    }
    films.put("one", "film");
    equal(books.get(7, String.class), "book 7");
    equal(books.putIfAbsent(7, "another").get(), "book 7");
    books.evict(7);
    equal(books.get(7), null);
    equal(books.get(7, () -> "loaded"), "loaded");
    equal(template.getExpire("books::7") > 0, true);
    books.clear();
    for (int entry = 0; entry < ENTRIES; entry++) {
      equal(books.get(entry), null);
    }
    equal(films.get("one", String.class), "film");
  }

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  /** Bytes as text, all the way down. */
  private static Object text(Object reply) {
    if (reply instanceof byte[] bytes) {
      return new String(bytes, StandardCharsets.UTF_8);
    }
    if (reply instanceof List<?> list) {
      return list.stream().map(Spring::text).collect(Collectors.toList());
    }
    if (reply instanceof Map<?, ?> map) {
      Map<Object, Object> shown = new HashMap<>();
      map.forEach((key, value) -> shown.put(text(key), text(value)));
      return shown;
    }
    return reply;
  }

  private static void equal(Object got, Object expected) {
    if (!Objects.equals(got, expected)) {
      throw new AssertionError("expected " + expected + ", got " + got);
    }
  }

  private static void refused(Runnable call, String word) {
    try {
      call.run();
    } catch (RuntimeException error) {
      for (Throwable cause = error; cause != null; cause = cause.getCause()) {
        if (String.valueOf(cause.getMessage()).contains(word)) {
          return;
        }
      }
      throw new AssertionError("expected " + word, error);
    }
    throw new AssertionError("not refused");
  }
}
