// The RESP door under k6, by k6/experimental/redis: charging sessions (SCUR.*), and SET, GET and DEL,
// each answer checked. `SCUR.TOTALS` shows afterwards that nothing is held.
//
//   k6 run --no-usage-report -e STORE=redis://127.0.0.1:6379 lab/k6/resp.js
//
// STORE  the store [redis://127.0.0.1:6379]; CHARGING=no leaves the charging out (any Redis or Valkey)
// VUS, DURATION  virtual users [10], time [10s]
import redis from "k6/experimental/redis";
import { check } from "k6";
import exec from "k6/execution";
import { Trend } from "k6/metrics";

const client = new redis.Client(__ENV.STORE || "redis://127.0.0.1:6379");
const charging = (__ENV.CHARGING || "yes") === "yes";
const took = new Trend("operation_ms", true);

export const options = {
  vus: Number(__ENV.VUS || 10),
  duration: __ENV.DURATION || "10s",
  summaryTrendStats: ["avg", "min", "med", "max", "p(90)", "p(95)", "p(99)"],
  thresholds: { checks: ["rate==1"] },
};

async function timed(operation, promise) {
  const begin = Date.now();
  const answer = await promise;
  took.add(Date.now() - begin, { operation });
  return answer;
}

const ask = (...words) => timed(words[0], client.sendCommand(...words));

// Sessions of one account: it remembers 256 of them for some minutes.
const SESSIONS = 100;

export function setup() {
  // Another run against the same store has other accounts.
  return { run: Date.now().toString(36) };
}

export default async function (data) {
  const user = exec.vu.idInTest;
  const turn = exec.vu.iterationInScenario;
  const key = `k6:key:${user}`;
  const value = `${turn}`;
  await timed("SET", client.set(key, value, 0));
  check(await timed("GET", client.get(key)), { "GET is what was set": (found) => found === value });
  check(await timed("DEL", client.del(key)), { "DEL deletes one": (count) => count === 1 });
  if (!charging) return;
  const account = `k6:${data.run}:${user}:${Math.floor(turn / SESSIONS)}`;
  if (turn % SESSIONS === 0) {
    await ask("SCUR.CREATE", account, "BUCKET", "main", "octets", "1000000000");
  }
  const item = ["ITEM", "1", "octets"];
  const isGranted = (granted) => (answer) => answer[0] === "OK" && answer[3][0][2] === granted;
  check(await ask("SCUR.RESERVE", account, `s${turn}`, "0", ...item, "REQUESTED", "1000"), {
    "RESERVE grants all": isGranted(1000),
  });
  check(await ask("SCUR.UPDATE", account, `s${turn}`, "1", ...item, "USED", "900", "REQUESTED", "1000"), {
    "UPDATE grants all": isGranted(1000),
  });
  check(await ask("SCUR.TERMINATE", account, `s${turn}`, "2", ...item, "USED", "700"), {
    "TERMINATE is OK": (answer) => answer[0] === "OK",
  });
}
