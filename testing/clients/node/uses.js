// What node-redis, its client-side cache and a store of web sessions need. See ../README.md for the arguments.
"use strict";

const assert = require("node:assert/strict");
const { BasicClientSideCache, createClient } = require("redis");
const { version } = require("redis/package.json");
const { RedisStore } = require("connect-redis");

const equal = assert.deepEqual;
const [host, port] = process.argv[2].split(":");

async function connected(options) {
  const client = createClient({ socket: { host, port: Number(port) }, ...options });
  client.on("error", (error) => console.error(error.message));
  await client.connect();
  return client;
}

function refused(promise, word) {
  return assert.rejects(promise, (error) => {
    assert(error.message.includes(word), `expected ${word}, got ${error.message}`);
    return true;
  });
}

async function values(RESP) {
  const client = await connected({ RESP });
  const account = `node-redis-${RESP}`;
  equal(await client.sendCommand(["SCUR.CREATE", account, "BUCKET", "main", "cent", "100"]), ["OK", 1]);
  equal(
    await client.sendCommand(
      ["SCUR.RESERVE", account, "s1", "0", "ITEM", "1", "cent", "REQUESTED", "30"]),
    ["OK", 0, 1, [[1, "OK", 30, 0, 0]]]);
  equal(await client.set("one", "1", { EX: 60 }), "OK");
  equal(await client.set("one", "2", { NX: true }), null);
  equal(await client.mGet(["one", "none"]), ["1", null]);
  equal(await client.multi().incr("one").expire("one", 60).exec(), [2, 1]);
  const numbers = [...Array(30).keys()];
  await Promise.all(numbers.map((number) => client.set(`many-${number}`, "x")));
  const found = new Set();
  for await (const keys of client.scanIterator({ MATCH: "many-*" })) keys.forEach((key) => found.add(key));
  equal(found.size, 30);
  await refused(client.eval("return 1"), "runs no scripts");
  await client.close();
}

// The cache answers what it has, and hears what another client writes.
async function clientSideCache() {
  const cache = new BasicClientSideCache({ ttl: 0, maxEntries: 100 });
  const cached = await connected({ RESP: 3, clientSideCache: cache });
  const writer = await connected({});
  for (let round = 0; round < 5; round++) {
    await writer.set("watched", `value ${round}`);
    const patience = Date.now() + 60_000;
    while ((await cached.get("watched")) !== `value ${round}`) {
      assert(Date.now() < patience, "the cache does not hear of a change");
      await new Promise(setImmediate);
    }
    const hits = cache.stats().hitCount;
    equal(await cached.get("watched"), `value ${round}`);
    equal(cache.stats().hitCount, hits + 1);
  }
  await writer.close();
  await cached.close();
}

async function webSessions() {
  const client = await connected({});
  const store = new RedisStore({ client, prefix: "web:" });
  const call = (name, ...words) => new Promise((done, failed) =>
    store[name](...words, (error, reply) => (error ? failed(error) : done(reply))));
  await call("set", "first", { cookie: {}, user: "alice" });
  await call("set", "second", { cookie: {}, user: "bob" });
  equal((await call("get", "first")).user, "alice");
  await call("touch", "first", { cookie: {} });
  equal((await call("ids")).sort(), ["first", "second"]);
  await call("destroy", "first");
  equal(await call("length"), 1);
  await call("clear");
  equal(await call("length"), 0);
  await client.close();
}

(async () => {
  for (const protocol of [2, 3]) await values(protocol);
  await clientSideCache();
  await webSessions();
  console.log(`uses: node-redis ${version}: right`);
})().catch((error) => {
  console.error(error);
  process.exit(1);
});
