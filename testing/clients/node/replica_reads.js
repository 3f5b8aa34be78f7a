// Reads through ioredis from the followers of a group. See ../README.md for the arguments.
"use strict";

const assert = require("node:assert/strict");
const Redis = require("ioredis");
const { version } = require("ioredis/package.json");

const KEYS = 60;
const TRIES_MAX = 1000;

// Reads until a value is there: a follower may show what was before, and nothing else.
async function until(client, key, wanted) {
  for (let tries = 0; tries < TRIES_MAX; tries += 1) {
    const found = await client.get(key);
    if (found === wanted) return;
    assert.equal(found, null, key);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  assert.fail(`${key} was never shown`);
}

async function main() {
  const address = process.argv[2];
  const at = address.lastIndexOf(":");
  const place = { host: address.slice(0, at), port: Number(address.slice(at + 1)) };
  for (const scaleReads of ["slave", "all"]) {
    const client = new Redis.Cluster([place], { scaleReads });
    for (let number = 0; number < KEYS; number += 1) {
      const key = `${scaleReads}-${number}`;
      assert.equal(await client.set(key, number), "OK");
      await until(client, key, String(number));
    }
    assert.ok(client.nodes("slave").length >= 2);
    client.disconnect();
  }
  console.log(`ioredis ${version}: slave, all`);
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
