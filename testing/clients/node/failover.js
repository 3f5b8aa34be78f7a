// Debits through ioredis while the leader of a group dies. See ../README.md for the arguments.
"use strict";

const assert = require("node:assert/strict");
const { setTimeout: sleep } = require("node:timers/promises");
const Redis = require("ioredis");
const { version } = require("ioredis/package.json");

// Of each part: before the leader dies, and after it.
const DEBITS = 200;
// Between two attempts of the application, and how long it tries one debit.
const PAUSE = 20;
const PATIENCE = 120_000;

// Between two attempts to connect; never given up.
const again = (times) => Math.min(times * 20, 200);
// A debit that has no answer when the connection ends is sent again with the next one, for so many of them.
const retries = { retryStrategy: again, maxRetriesPerRequest: 50 };
// A new connection is wanted after these: READONLY has another one made, and the command sent again by it.
const reconnectOnError = (error) => (/^(READONLY|CLUSTERDOWN)/.test(error.message) ? 2 : false);

function connect(mode, addresses) {
  const places = addresses.map((address) => {
    const at = address.lastIndexOf(":");
    return { host: address.slice(0, at), port: Number(address.slice(at + 1)) };
  });
  switch (mode) {
    case "cluster":
      return new Redis.Cluster(places, {
        clusterRetryStrategy: again,
        // Together these last longer than an election.
        maxRedirections: 50,
        retryDelayOnFailover: 100,
        retryDelayOnClusterDown: 100,
        slotsRefreshInterval: 1000,
      });
    case "sentinel":
      return new Redis({
        sentinels: places, name: "scurry", sentinelRetryStrategy: again, reconnectOnError, ...retries,
      });
    default:
      return new Redis({ ...places[0], reconnectOnError, ...retries });
  }
}

async function main() {
  const [mode, addresses] = process.argv.slice(2);
  const client = connect(mode, addresses.split(","));
  // Also said where the client goes on by itself.
  client.on("error", () => {});
  let killed = false;
  process.stdin.once("data", () => { killed = true; });
  const kinds = new Map();
  let [failed, gap, number, last, answered] = [0, 0, 0, DEBITS, performance.now()];
  while (number < last) {
    try {
      const [code, , , amount] =
        await client.call("SCUR.DEBIT", `purse-${mode}`, `txn-${number}`, "cent", 1);
      assert.deepEqual([code, amount], ["OK", 1]);
    } catch (error) {
      // Whether it was done is not known: the same id again.
      if (error instanceof assert.AssertionError || performance.now() - answered > PATIENCE) throw error;
      const kind = error.name === "ReplyError" ? error.message.split(" ")[0] : error.name;
      kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
      failed += 1;
      await sleep(PAUSE);
      continue;
    }
    gap = Math.max(gap, performance.now() - answered);
    answered = performance.now();
    number += 1;
    if (number === DEBITS) console.log("half");
    if (!killed) last = number + DEBITS;
  }
  client.disconnect();
  process.stdin.destroy();
  const saw = [...kinds].map(([kind, count]) => `${kind}:${count}`).join(",") || "none";
  console.log(`debits=${number} errors=${failed} kinds=${saw} gap_ms=${gap.toFixed(0)} ioredis ${version} ${mode}`);
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
