// A charging session and plain commands through Jedis. See ../README.md for the arguments.

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Callable;
import redis.clients.jedis.AbstractPipeline;
import redis.clients.jedis.AbstractTransaction;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.JedisCluster;
import redis.clients.jedis.JedisPooled;
import redis.clients.jedis.Protocol.Command;
import redis.clients.jedis.RedisProtocol;
import redis.clients.jedis.Response;
import redis.clients.jedis.UnifiedJedis;
import redis.clients.jedis.commands.ProtocolCommand;
import redis.clients.jedis.exceptions.JedisException;
import redis.clients.jedis.params.SetParams;
import redis.clients.jedis.util.JedisClusterCRC16;
import redis.clients.jedis.util.KeyValue;

public final class Session {
  private static final List<String> ACCOUNTS = List.of("alice", "bob", "carol", "dave");
  private static final List<String> GROUPS = List.of("north", "south", "east", "west");
  private static final byte[] BYTES = "\0\r\n\u00ff$*".getBytes(StandardCharsets.ISO_8859_1);

  private final HostAndPort address;
  private final DefaultJedisClientConfig config;
  private final UnifiedJedis client;

  private Session(HostAndPort address, DefaultJedisClientConfig config, boolean cluster) {
    this.address = address;
    this.config = config;
    this.client =
        cluster ? new JedisCluster(Set.of(address), config) : new JedisPooled(address, config);
  }

  public static void main(String[] arguments) throws Exception {
    String mode = arguments[1];
    String parts = arguments[4];
    DefaultJedisClientConfig config =
        config(arguments[2], arguments[3].equals("-") ? null : arguments[3]);
    Session session =
        new Session(HostAndPort.from(arguments[0]), config, mode.equals("cluster"));
    for (String part : parts.split(",")) {
      switch (part) {
        case "auth" -> session.authentication(arguments[2]);
        case "charging" -> {
          for (String account : ACCOUNTS) {
            session.charging(account);
          }
        }
        case "chains" -> {
          for (String group : GROUPS) {
            session.chains(group);
          }
        }
        case "plain" -> session.plain();
        case "transactions" -> session.transactions();
        case "expiry" -> session.expiry();
        case "moved" -> session.moved();
        default -> throw new AssertionError("unknown part " + part);
      }
    }
    session.client.close();
    System.out.println("jedis: " + mode + " resp" + arguments[2] + " " + parts + " ok");
    System.exit(0);
  }

  private static DefaultJedisClientConfig config(String protocol, String password) {
    return DefaultJedisClientConfig.builder()
        .protocol(protocol.equals("3") ? RedisProtocol.RESP3 : RedisProtocol.RESP2)
        .password(password)
        .build();
  }

  // ---- What is expected ----

  private static void equal(Object got, Object expected) {
    if (!expected.equals(got)) {
      throw new AssertionError("expected " + expected + ", got " + got);
    }
  }

  private static void check(boolean right, Object what) {
    if (!right) {
      throw new AssertionError(what);
    }
  }

  private static void refused(Callable<?> call, String start) throws Exception {
    Object got;
    try {
      got = call.call();
    } catch (JedisException error) {
      // A pool says first that it has no connection, and below that why.
      for (Throwable cause = error; cause != null; cause = cause.getCause()) {
        if (String.valueOf(cause.getMessage()).startsWith(start)) {
          return;
        }
      }
      throw new AssertionError("expected " + start, error);
    }
    throw new AssertionError("not refused: " + got);
  }

  /** Bytes as text, lists as they are, RESP3's pairs as a map. */
  private static Object readable(Object reply) {
    if (reply instanceof byte[] bytes) {
      return new String(bytes, StandardCharsets.ISO_8859_1);
    }
    if (reply instanceof List<?> list && !list.isEmpty() && list.get(0) instanceof KeyValue) {
      Map<Object, Object> map = new HashMap<>();
      for (Object entry : list) {
        KeyValue<?, ?> pair = (KeyValue<?, ?>) entry;
        map.put(readable(pair.getKey()), readable(pair.getValue()));
      }
      return map;
    }
    if (reply instanceof List<?> list) {
      List<Object> shown = new ArrayList<>();
      list.forEach(element -> shown.add(readable(element)));
      return shown;
    }
    return reply;
  }

  /** RESP2 gives a flat list for a map. */
  private static Map<?, ?> asMap(Object reply) {
    if (reply instanceof Map<?, ?> map) {
      return map;
    }
    Map<Object, Object> map = new HashMap<>();
    List<?> flat = (List<?>) reply;
    for (int at = 0; at < flat.size(); at += 2) {
      map.put(flat.get(at), flat.get(at + 1));
    }
    return map;
  }

  private static List<Object> list(Object... elements) {
    return Arrays.asList(elements);
  }

  private static List<Object> item(long granted, long last) {
    return list(list(1L, "OK", granted, last, 0L));
  }

  private static ProtocolCommand command(String name) {
    return () -> name.getBytes(StandardCharsets.US_ASCII);
  }

  // ---- The parts ----

  private void authentication(String protocol) throws Exception {
    try (UnifiedJedis wrong = new JedisPooled(address, config(protocol, "wrong"))) {
      refused(wrong::ping, "WRONGPASS");
    }
    try (UnifiedJedis without = new JedisPooled(address, config(protocol, null))) {
      refused(without::ping, "NOAUTH");
    }
  }

  private Object run(String name, String account, Object... rest) {
    byte[][] arguments = new byte[rest.length + 1][];
    arguments[0] = account.getBytes(StandardCharsets.US_ASCII);
    for (int at = 0; at < rest.length; at++) {
      arguments[at + 1] = rest[at] instanceof byte[] bytes
          ? bytes : rest[at].toString().getBytes(StandardCharsets.US_ASCII);
    }
    return readable(client.sendCommand(arguments[0], command("SCUR." + name), arguments));
  }

  private void charging(String account) throws Exception {
    equal(run("CREATE", account, "BUCKET", "main", "cent", 1000, "FLOOR", -50,
        "BUCKET", "gift", "cent", 100, "PRIORITY", -1), list("OK", 1L));
    refused(() -> run("CREATE", account), "ACCOUNT_EXISTS 21 ");
    equal(run("TOPUP", account, "t1", "main", 500), list("OK", 0L, 2L, 1500L));
    equal(run("TOPUP", account, "t1", "main", 500), list("OK", 1L, 2L, 1500L));
    refused(() -> run("TOPUP", account, "t1", "main", 501), "REQUEST_MISMATCH 32 ");

    equal(run("RESERVE", account, "s1", 0, "DATA", BYTES, "ITEM", 1, "cent", "REQUESTED", 300),
        list("OK", 0L, 1L, item(300, 0)));
    Object[] update = {"s1", 1, "ITEM", 1, "cent", "USED", 250, "REQUESTED", 5000};
    equal(run("UPDATE", account, update), list("OK", 0L, 2L, item(1400, 1)));
    equal(run("UPDATE", account, update), list("OK", 1L, 2L, item(1400, 1)));
    Map<?, ?> session = asMap(asMap(run("SESSION", account, "s1")).get("session"));
    equal(list(session.get("id"), session.get("version"), session.get("data")),
        list("s1", 2L, readable(BYTES)));
    equal(run("CHECK", account, "cent", 1), list("CREDIT_LIMIT_REACHED", 0L, "balance"));
    equal(run("TERMINATE", account, "s1", 2, "ITEM", 1, "cent", "USED", 350),
        list("OK", 0L, 0L, item(0, 0)));
    refused(() -> run("SESSION", account, "s1"), "UNKNOWN_SESSION 30 ");

    Map<?, ?> shown = asMap(run("GET", account));
    equal(((List<?>) shown.get("buckets")).get(0),
        list("main", "cent", 1000L, 0L, -50L, 0L, 0L, null));
    equal(shown.get("sessions"), list());
    equal(asMap(run("AUDIT", account)).get("ok"), 1L);
    refused(() -> run("GET", "nobody"), "UNKNOWN_ACCOUNT 20 ");
    refused(() -> client.get(account), "WRONGTYPE");
  }

  /** Three accounts of one hash slot; the second has a limit. */
  private void chains(String group) {
    List<String> accounts =
        List.of("{" + group + "}", "{" + group + "}:team", "{" + group + "}:key");
    String team = accounts.get(1);
    for (String account : accounts) {
      equal(run("CREATE", account, "BUCKET", "main", "token", 1000), list("OK", 1L));
    }
    equal(run("LIMIT", team, "l1", "cap", "UNIT", "token", "AMOUNT", 500),
        list("OK", 0L, 2L, 500L));
    for (long replayed = 0; replayed < 2; replayed++) {
      List<Object> link = list("OK", replayed, 1L, list(list("input", "OK", 300L, 0L, 0L)));
      equal(chain(accounts, "RESERVE", "s1", 0, "ITEM", "input", "token", "REQUESTED", 300),
          list("OK", replayed, 0L, list(link, link, link)));
    }
    List<Object> other = denied("CHAIN_DENIED", 0, "chain");
    List<Object> own = denied("CREDIT_LIMIT_REACHED", 1, "limit cap");
    equal(chain(accounts,
            "RESERVE", "s2", 0, "ITEM", "input", "token", "REQUESTED", 300, "MIN", 300),
        list("CREDIT_LIMIT_REACHED", 0L, 2L, list(other, own, other)));
    List<Object> ended = list("OK", 0L, 0L, list(list("input", "OK", 0L, 0L, 0L)));
    equal(chain(accounts, "TERMINATE", "s1", 1, "ITEM", "input", "token", "USED", 250),
        list("OK", 0L, 0L, list(ended, ended, ended)));
    equal(asMap(run("GET", team)).get("limits"),
        list(list("cap", "token", null, 500L, 250L, 0L, 250L, 0L, "none", 0L, null)));
    equal(run("DEBIT", team, "d1", "token", 251),
        list("CREDIT_LIMIT_REACHED", 0L, 6L, 0L, "limit cap"));
  }

  private Object chain(List<String> accounts, Object... command) {
    List<Object> words = new ArrayList<>();
    for (String account : accounts) {
      words.add(account);
      words.add(command.length);
      words.addAll(list(command));
    }
    return run("CHAIN", accounts.get(0), words.subList(1, words.size()).toArray());
  }

  private static List<Object> denied(String code, long last, String cause) {
    return list(code, 0L, 0L, list(list("input", code, 0L, last, 0L, cause)));
  }

  private void plain() {
    byte[] key = "k".getBytes(StandardCharsets.US_ASCII);
    equal(client.set(key, BYTES), "OK");
    equal(readable(client.get(key)), readable(BYTES));
    check(client.get("none") == null, "none is there");
    equal(client.mset("{t}a", "1", "{t}b", "2"), "OK");
    equal(client.mget("{t}a", "{t}none", "{t}b"), list("1", null, "2"));
    equal(client.exists("{t}a", "{t}a", "{t}none"), 2L);
    equal(client.del("{t}a", "{t}b", "{t}none"), 2L);
    equal(client.ping(), "PONG");
    List<Response<String>> replies = new ArrayList<>();
    try (AbstractPipeline pipeline = client.pipelined()) {
      for (int number = 0; number < 500; number++) {
        replies.add(pipeline.set("p" + number, String.valueOf(number)));
        replies.add(pipeline.get("p" + number));
      }
      pipeline.sync();
    }
    for (int number = 0; number < 500; number++) {
      equal(replies.get(2 * number).get(), "OK");
      equal(replies.get(2 * number + 1).get(), String.valueOf(number));
    }
  }

  /** EXEC gives every reply; it does nothing when somebody has changed a watched key. */
  private void transactions() throws Exception {
    client.set("{x}n", "1");
    for (boolean meanwhile : new boolean[] {true, false}) {
      try (AbstractTransaction transaction = client.transaction(false)) {
        transaction.watch("{x}n", "{x}none");
        if (meanwhile) {
          equal(client.incr("{x}n"), 2L);
        }
        transaction.multi();
        transaction.incrBy("{x}n", 2);
        Response<String> number = transaction.get("{x}n");
        List<Object> replies = transaction.exec();
        if (meanwhile) {
          check(replies == null, replies);
        } else {
          equal(number.get(), "4");
        }
      }
    }
  }

  private void expiry() throws Exception {
    equal(client.set("e", "v", SetParams.setParams().ex(100)), "OK");
    check(client.ttl("e") > 0 && client.ttl("e") <= 100, client.ttl("e"));
    equal(client.set("e", "w", SetParams.setParams().keepTtl()), "OK");
    check(client.pttl("e") > 0 && client.pttl("e") <= 100_000, client.pttl("e"));
    equal(client.persist("e"), 1L);
    equal(list(client.ttl("e"), client.ttl("none")), list(-1L, -2L));
    check(client.set("e", "x", SetParams.setParams().nx()) == null, "NX wrote");
    equal(client.setGet("e", "x", SetParams.setParams().xx()), "w");
    equal(list(client.incr("n"), client.incrBy("n", 9), client.decr("n")), list(1L, 10L, 9L));
    refused(() -> client.incr("e"), "ERR value is not an integer or out of range");
    equal(client.getDel("n"), "9");
    equal(client.set("f", "v", SetParams.setParams().px(1)), "OK");
    long deadline = System.nanoTime() + 10_000_000_000L;
    while (client.get("f") != null) {
      check(System.nanoTime() < deadline, "a key did not expire");
    }
  }

  /** Each node owns slots; a wrong one says MOVED, and a misled client follows it. */
  private void moved() throws Exception {
    JedisCluster cluster = (JedisCluster) client;
    String[] owners = owners();
    check(new HashSet<>(List.of(owners)).size() > 1, "one node owns everything");
    int elsewhere = 0;
    try (UnifiedJedis direct = new JedisPooled(HostAndPort.from(owners[0]), config)) {
      for (int number = 0; number < 200; number++) {
        String key = "p" + number;
        int slot = JedisClusterCRC16.getSlot(key);
        String own = owners[slot];
        if (!own.equals(owners[0])) {
          elsewhere++;
          refused(() -> direct.get(key), "MOVED " + slot + " " + own);
        }
        // The sample key says where Jedis asks; the node there does not own the second key.
        String sample = sampleElsewhere(owners, own);
        equal(readable(cluster.sendCommand(sample, Command.SET, key, String.valueOf(-number))),
            "OK");
        equal(readable(cluster.sendCommand(sample, Command.GET, key)), String.valueOf(-number));
        equal(cluster.get(key), String.valueOf(-number));
      }
      refused(() -> direct.mget("p0", "p1"), "CROSSSLOT");
    }
    check(elsewhere > 0, "the first node owns every key");
  }

  /** The node of each slot, as CLUSTER SLOTS has it. */
  private String[] owners() {
    String[] owners = new String[16384];
    Object slots;
    try (UnifiedJedis any = new JedisPooled(address, config)) {
      slots = readable(any.sendCommand(Command.CLUSTER, "SLOTS"));
    }
    for (Object range : (List<?>) slots) {
      List<?> parts = (List<?>) range;
      List<?> node = (List<?>) parts.get(2);
      int start = ((Long) parts.get(0)).intValue();
      int end = ((Long) parts.get(1)).intValue();
      Arrays.fill(owners, start, end + 1, node.get(0) + ":" + node.get(1));
    }
    return owners;
  }

  private static String sampleElsewhere(String[] owners, String own) {
    int number = 0;
    while (owners[JedisClusterCRC16.getSlot("sample" + number)].equals(own)) {
      number++;
    }
    return "sample" + number;
  }
}
