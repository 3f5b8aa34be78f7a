// A charging session and plain commands through ioredis. See ../README.md for the arguments.
"use strict";

const assert = require("node:assert/strict");
const Redis = require("ioredis");
const { version } = require("ioredis/package.json");

const ACCOUNTS = ["alice", "bob", "carol", "dave"];
const GROUPS = ["north", "south", "east", "west"];
const BYTES = Buffer.from("\x00\r\n\xff$*", "latin1");

const equal = assert.deepEqual;

function refused(promise, start) {
  return assert.rejects(promise, (error) => {
    assert(error.message.startsWith(start), `expected ${start}, got ${error.message}`);
    return true;
  });
}

// RESP3 gives a map or an object, RESP2 a flat list.
function asMap(reply) {
  if (!Array.isArray(reply)) return reply instanceof Map ? Object.fromEntries(reply) : { ...reply };
  const shown = {};
  for (let at = 0; at < reply.length; at += 2) shown[reply[at]] = reply[at + 1];
  return shown;
}

async function authentication(options) {
  for (const [password, start] of [["wrong", "WRONGPASS"], [undefined, "NOAUTH"]]) {
    const client = new Redis({ ...options, password, lazyConnect: true, retryStrategy: null });
    // Where ioredis says it depends on the protocol: an event, the connection, or the command.
    const errors = [];
    const record = (error) => errors.push(error?.message ?? "not refused");
    client.on("error", record);
    await client.connect().catch(record);
    await client.ping().then(record, record);
    assert(!errors.includes("not refused") && !errors.includes("PONG"), String(errors));
    assert(errors.some((message) => message.startsWith(start)), String(errors));
    client.disconnect();
  }
}

async function charging(client, account) {
  const run = (name, ...rest) => client.call(`SCUR.${name}`, account, ...rest);
  const item = (granted, final) => [[1, "OK", granted, final, 0]];
  equal(await run("CREATE", "BUCKET", "main", "cent", 1000, "FLOOR", -50,
    "BUCKET", "gift", "cent", 100, "PRIORITY", -1), ["OK", 1]);
  await refused(run("CREATE"), "ACCOUNT_EXISTS 21 ");
  equal(await run("TOPUP", "t1", "main", 500), ["OK", 0, 2, 1500]);
  equal(await run("TOPUP", "t1", "main", 500), ["OK", 1, 2, 1500]);
  await refused(run("TOPUP", "t1", "main", 501), "REQUEST_MISMATCH 32 ");

  equal(await run("RESERVE", "s1", 0, "DATA", BYTES, "ITEM", 1, "cent", "REQUESTED", 300),
    ["OK", 0, 1, item(300, 0)]);
  const update = ["UPDATE", "s1", 1, "ITEM", 1, "cent", "USED", 250, "REQUESTED", 5000];
  equal(await run(...update), ["OK", 0, 2, item(1400, 1)]);
  equal(await run(...update), ["OK", 1, 2, item(1400, 1)]);
  const session = asMap(asMap(await run("SESSION", "s1")).session);
  equal([session.id, session.version], ["s1", 2]);
  equal(await run("CHECK", "cent", 1), ["CREDIT_LIMIT_REACHED", 0, "balance"]);
  equal(await run("TERMINATE", "s1", 2, "ITEM", 1, "cent", "USED", 350),
    ["OK", 0, 0, item(0, 0)]);
  await refused(run("SESSION", "s1"), "UNKNOWN_SESSION 30 ");

  const shown = asMap(await run("GET"));
  equal(shown.buckets[0], ["main", "cent", 1000, 0, -50, 0, 0, null]);
  equal(shown.sessions, []);
  equal(asMap(await run("AUDIT")).ok, 1);
  await refused(client.call("SCUR.GET", "nobody"), "UNKNOWN_ACCOUNT 20 ");
  await refused(client.get(account), "WRONGTYPE");
}

// Three accounts of one hash slot; the second has a limit.
async function chains(client, group) {
  const accounts = [`{${group}}`, `{${group}}:team`, `{${group}}:key`];
  const team = accounts[1];
  const chain = (...command) => client.call("SCUR.CHAIN",
    ...accounts.flatMap((account) => [account, command.length, ...command]));
  for (const account of accounts) {
    equal(await client.call("SCUR.CREATE", account, "BUCKET", "main", "token", 1000), ["OK", 1]);
  }
  equal(await client.call("SCUR.LIMIT", team, "l1", "cap", "UNIT", "token", "AMOUNT", 500),
    ["OK", 0, 2, 500]);
  for (const replayed of [0, 1]) {
    const link = ["OK", replayed, 1, [["input", "OK", 300, 0, 0]]];
    equal(await chain("RESERVE", "s1", 0, "ITEM", "input", "token", "REQUESTED", 300),
      ["OK", replayed, 0, [link, link, link]]);
  }
  const other = ["CHAIN_DENIED", 0, 0, [["input", "CHAIN_DENIED", 0, 0, 0, "chain"]]];
  const denied = ["CREDIT_LIMIT_REACHED", 0, 0,
    [["input", "CREDIT_LIMIT_REACHED", 0, 1, 0, "limit cap"]]];
  equal(await chain("RESERVE", "s2", 0, "ITEM", "input", "token", "REQUESTED", 300, "MIN", 300),
    ["CREDIT_LIMIT_REACHED", 0, 2, [other, denied, other]]);
  const ended = ["OK", 0, 0, [["input", "OK", 0, 0, 0]]];
  equal(await chain("TERMINATE", "s1", 1, "ITEM", "input", "token", "USED", 250),
    ["OK", 0, 0, [ended, ended, ended]]);
  const { limits } = asMap(await client.call("SCUR.GET", team));
  equal(limits, [["cap", "token", null, 500, 250, 0, 250, 0, "none", 0, null]]);
  equal(await client.call("SCUR.DEBIT", team, "d1", "token", 251),
    ["CREDIT_LIMIT_REACHED", 0, 6, 0, "limit cap"]);
}

async function plain(client, mode) {
  equal(await client.set("k", BYTES), "OK");
  equal(await client.getBuffer("k"), BYTES);
  equal(await client.get("none"), null);
  equal(await client.mset("{t}a", 1, "{t}b", 2), "OK");
  equal(await client.mget("{t}a", "{t}none", "{t}b"), ["1", null, "2"]);
  equal(await client.exists("{t}a", "{t}a", "{t}none"), 2);
  equal(await client.del("{t}a", "{t}b", "{t}none"), 2);
  equal(await client.ping(), "PONG");
  const keys = Array.from({ length: 500 }, (_, number) => `p${number}`);
  if (mode === "cluster") {
    // ioredis pipelines one node at a time; this goes to all at once.
    const replies = await Promise.all(
      keys.flatMap((key, number) => [client.set(key, number), client.get(key)]));
    equal(replies, keys.flatMap((_, number) => ["OK", String(number)]));
    return;
  }
  const pipeline = client.pipeline();
  keys.forEach((key, number) => pipeline.set(key, number).get(key));
  equal(await pipeline.exec(), keys.flatMap((_, number) => [[null, "OK"], [null, String(number)]]));
}

// EXEC gives every reply; it does nothing when somebody has changed a watched key.
async function transactions(client) {
  const change = () => client.multi().incrby("{x}n", 2).get("{x}n").exec();
  await client.set("{x}n", 1);
  equal(await change(), [[null, 3], [null, "3"]]);
  const other = client.duplicate();
  await client.watch("{x}n", "{x}none");
  equal(await other.incr("{x}n"), 4);
  equal(await change(), null);
  await client.watch("{x}n", "{x}none");
  equal(await change(), [[null, 6], [null, "6"]]);
  await refused(client.multi().set("{x}n", 1).call("NOSUCH").exec(), "EXECABORT");
  equal(await client.get("{x}n"), "6");
  other.disconnect();
}

async function expiry(client) {
  equal(await client.set("e", "v", "EX", 100), "OK");
  let left = await client.ttl("e");
  assert(left > 0 && left <= 100, left);
  equal(await client.set("e", "w", "KEEPTTL"), "OK");
  left = await client.pttl("e");
  assert(left > 0 && left <= 100_000, left);
  equal(await client.persist("e"), 1);
  equal([await client.ttl("e"), await client.ttl("none")], [-1, -2]);
  equal(await client.set("e", "x", "NX"), null);
  equal(await client.set("e", "x", "XX", "GET"), "w");
  equal([await client.incr("n"), await client.incrby("n", 9), await client.decr("n")], [1, 10, 9]);
  await refused(client.incr("e"), "ERR value is not an integer or out of range");
  equal(await client.getdel("n"), "9");
  equal(await client.set("f", "v", "PX", 1), "OK");
  const deadline = Date.now() + 10_000;
  while ((await client.get("f")) !== null) assert(Date.now() < deadline, "a key did not expire");
}

// Each node owns slots; a wrong one says MOVED, and a client with a wrong map follows it.
async function moved(client, options) {
  const slots = await client.call("CLUSTER", "SLOTS");
  assert(slots.length > 1, String(slots));
  const name = (node) => `${node[0]}:${node[1]}`;
  const owner = (slot) => slots.find(([start, end]) => start <= slot && slot <= end)[2];
  const first = slots[0][2];
  const direct = new Redis({ ...options, host: first[0], port: first[1] });
  let elsewhere = 0;
  for (let number = 0; number < 200; number++) {
    const key = `p${number}`;
    const slot = await client.call("CLUSTER", "KEYSLOT", key);
    const own = name(owner(slot));
    const wrong = slots.map((owned) => name(owned[2])).find((node) => node !== own);
    if (own !== name(first)) {
      elsewhere++;
      await refused(direct.get(key), `MOVED ${slot} ${own}`);
    }
    // Lead it astray; afterwards its map must be right again.
    client.slots[slot] = [wrong];
    equal(await client.set(key, number), "OK");
    equal(await client.get(key), String(number));
    equal(client.slots[slot][0], own);
  }
  assert(elsewhere > 0, "one node owns everything");
  await refused(direct.mget("p0", "p1"), "CROSSSLOT");
  direct.disconnect();
}

async function main() {
  const [address, mode, protocol, secret, parts] = process.argv.slice(2);
  const at = address.lastIndexOf(":");
  const place = { host: address.slice(0, at), port: Number(address.slice(at + 1)) };
  const options = { password: secret === "-" ? undefined : secret, protocol: Number(protocol) };
  const client = mode === "cluster"
    ? new Redis.Cluster([place], { redisOptions: options })
    : new Redis({ ...place, ...options });
  const todo = {
    auth: () => authentication({ ...place, ...options }),
    charging: async () => {
      for (const account of ACCOUNTS) await charging(client, account);
    },
    chains: async () => {
      for (const group of GROUPS) await chains(client, group);
    },
    plain: () => plain(client, mode),
    transactions: () => transactions(client),
    expiry: () => expiry(client),
    moved: () => moved(client, options),
  };
  for (const part of parts.split(",")) {
    assert(part in todo, `unknown part ${part}`);
    await todo[part]();
  }
  client.disconnect();
  console.log(`ioredis ${version}: ${mode} resp${protocol} ${parts} ok`);
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
