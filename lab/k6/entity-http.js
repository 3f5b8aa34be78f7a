// Entities over HTTP (docs/http.md) under k6: PUT, GET and DELETE by shares, each answer checked, and
// at the end of each turn what was written read again.
//
//   k6 run --no-usage-report -e DOOR=http://127.0.0.1:8080 -e REPLICAS=2/3 lab/k6/entity-http.js
//
// DOOR      the door [http://127.0.0.1:8080]
// REPLICAS  ack/from of every request [a majority of the nodes]
// VUS, DURATION, KEYS, VALUE_SIZE  virtual users [10], time [10s], entities [1000], bytes [100]
import http from "k6/http";
import { check } from "k6";
import exec from "k6/execution";

const door = __ENV.DOOR || "http://127.0.0.1:8080";
const replicas = __ENV.REPLICAS ? `&replicas=${__ENV.REPLICAS}` : "";
const keys = Number(__ENV.KEYS || 1000);
const padding = "x".repeat(Math.max(0, Number(__ENV.VALUE_SIZE || 100) - 20));

export const options = {
  vus: Number(__ENV.VUS || 10),
  duration: __ENV.DURATION || "10s",
  summaryTrendStats: ["avg", "min", "med", "max", "p(90)", "p(95)", "p(99)"],
  // k6 ends with an error when one answer is wrong.
  thresholds: { checks: ["rate==1"] },
};

// 404 is an answer and no failure.
http.setResponseCallback(http.expectedStatuses(200, 201, 202, 404));

export default function () {
  // Each virtual user has entities of its own, so that it knows what it must read.
  const user = exec.vu.idInTest;
  const id = `k6:${user}:${Math.floor(Math.random() * keys)}`;
  const url = `${door}/v0/entity?id=${encodeURIComponent(id)}${replicas}`;
  const value = `${user}-${exec.vu.iterationInScenario}-${padding}`;
  const named = (name) => ({ tags: { name } });
  check(http.put(url, value, named("PUT")), { "PUT is 201": (r) => r.status === 201 });
  check(http.get(url, named("GET")), {
    "GET is what was put": (r) => r.status === 200 && r.body === value,
  });
  if (Math.random() < 0.1) {
    check(http.del(url, null, named("DELETE")), { "DELETE is 202": (r) => r.status === 202 });
    check(http.get(url, named("GET")), { "GET is 404 then": (r) => r.status === 404 });
  }
}
