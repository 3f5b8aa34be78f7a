"use strict";
// An hour of points: what the server has kept, and what this tab has seen since. Prometheus keeps what must be kept longer.
const EVERY_MS = 2000, POINT_MS = 10_000, POINTS_MAX = 360, WINDOW_MIN_MS = 300_000, SVG = "http://www.w3.org/2000/svg";
const $ = id => document.getElementById(id), narrow = matchMedia("(max-width: 40rem)");
const ROUTES_MAX = narrow.matches ? 8 : 24;
let points = [], whose = "", before = null, answered = null, paused = false, credentials = null, lastState = "", looked = 0;
try { credentials = sessionStorage.getItem("scurry-authorization"); } catch { /* no storage: kept in the page */ }

// ---- Prometheus text --------------------------------------------------------------------------
function parse(text) {
  const metrics = new Map();
  for (const line of text.split("\n")) {
    if (!line || line[0] === "#") continue;
    const match = /^([a-z_]+)(?:\{(.*)\})? (\S+)$/.exec(line);
    if (!match) continue;
    const labels = {};
    for (const [, name, value] of (match[2] || "").matchAll(/([a-z_]+)="((?:[^"\\]|\\.)*)"/g))
      labels[name] = value.replace(/\\(.)/g, (_, c) => c === "n" ? "\n" : c);
    if (!metrics.has(match[1])) metrics.set(match[1], []);
    metrics.get(match[1]).push({ labels, raw: match[3], value: Number(match[3]) });
  }
  return metrics;
}
const rows = (page, name) => page.get(name) || [];
const sum = (page, name, want = {}) => rows(page, name)
  .filter(row => Object.entries(want).every(([k, v]) => row.labels[k] === v)).reduce((all, row) => all + row.value, 0);
// A counter that has shrunk began at 0 again.
const grown = (now, then) => now >= then ? now - then : now;
function rate(name, want, now, then = before) {
  if (!then) return null;
  return grown(sum(now.page, name, want), sum(then.page, name, want)) / ((now.at - then.at) / 1000);
}
// The quantile of what was observed between two pages, within the bucket by proportion.
function quantile(name, q, now, want = {}, then = before) {
  if (!then) return null;
  const counts = new Map();
  const add = (page, sign) => { for (const row of rows(page, name + "_bucket")) {
    if (!Object.entries(want).every(([k, v]) => row.labels[k] === v)) continue;
    const bound = row.labels.le === "+Inf" ? Infinity : Number(row.labels.le);
    counts.set(bound, (counts.get(bound) || 0) + sign * row.value);
  } };
  add(now.page, 1); add(then.page, -1);
  const bounds = [...counts].sort((a, b) => a[0] - b[0]);
  const all = bounds.length ? bounds[bounds.length - 1][1] : 0;
  if (all <= 0) return null;
  let low = 0, under = 0;
  for (const [bound, count] of bounds) {
    if (count >= q * all) return bound === Infinity ? low : low + (bound - low) * ((q * all - under) / Math.max(count - under, 1e-9));
    low = bound; under = count;
  }
  return low;
}

// ---- Numbers for people -----------------------------------------------------------------------
const short = new Intl.NumberFormat("en", { maximumSignificantDigits: 3, notation: "compact" });
const count = n => n === null || Number.isNaN(n) ? "–" : Math.abs(n) < 10000 ? plain.format(n) : short.format(n);
const perSecond = n => n === null ? "–" : n < 10 && n > 0 ? String(Number(n.toPrecision(2))) : count(n);
function time(s) {
  if (s === null || s === undefined) return "–";
  const three = n => String(Number(n.toPrecision(3)));
  if (s === 0) return "0";
  return s < 1e-3 ? three(s * 1e6) + " µs" : s < 1 ? three(s * 1e3) + " ms" : three(s) + " s";
}
function bytes(n) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"]; let at = 0;
  while (n >= 1024 && at < units.length - 1) { n /= 1024; at++; }
  return (at ? n.toFixed(n < 10 ? 1 : 0) : n) + " " + units[at];
}
function age(s) {
  if (s < 120) return Math.round(s) + " s"; if (s < 7200) return Math.round(s / 60) + " min";
  if (s < 172800) return Math.round(s / 3600) + " h"; return Math.round(s / 86400) + " days";
}
const moment = ms => { const d = new Date(Number(ms)); return isNaN(d) ? ms : d.toISOString().replace("T", " ").replace("Z", " UTC"); };

// ---- Elements: text only, so that no id and no name is ever markup ----------------------------
function element(name, text, attributes = {}) {
  const made = document.createElement(name);
  if (text !== undefined && text !== null) made.textContent = text;
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}
function button(text, act) {
  const made = element("button", text, { type: "button", class: "quiet" });
  made.addEventListener("click", act);
  return made;
}
function field(text, control) {
  const made = element("label", text);
  made.append(control);
  return made;
}
function choice(names) {
  const made = element("select");
  for (const name of names) made.append(element("option", name));
  return made;
}
// Columns whose head begins with # have numbers, and stand to the right.
function table(target, heads, lines, caption) {
  const head = element("thead"), body = element("tbody"), row = element("tr");
  const isNumber = heads.map(text => text.startsWith("#"));
  heads.forEach((text, at) => row.append(element("th", isNumber[at] ? text.slice(1) : text, { scope: "col", class: isNumber[at] ? "number" : "" })));
  head.append(row);
  for (const cells of lines) {
    const line = element("tr");
    cells.forEach((cell, at) => {
      const td = at === 0 ? element("th", null, { scope: "row" }) : element("td", null, { class: isNumber[at] ? "number" : "" });
      if (cell instanceof Node) td.append(cell); else td.textContent = cell;
      line.append(td);
    });
    body.append(line);
  }
  target.replaceChildren(...(caption ? [element("caption", caption)] : []), head, body);
}
function scrolls(label, heads, lines) {
  const made = element("table");
  table(made, heads, lines);
  const box = element("div", null, { class: "wide", tabindex: "0", role: "region", "aria-label": label });
  box.append(made);
  return box;
}

// ---- Charts -----------------------------------------------------------------------------------
function draw(id, members, show) {
  const svg = $(id), box = svg.getBoundingClientRect();
  // Folded, it is drawn when it is shown.
  if (!box.width) return;
  const width = Math.max(box.width, 200), height = Math.max(box.height, 120);
  const left = 56, right = 6, top = 8, bottom = 20;
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  const parts = [];
  const add = (name, attributes, text) => {
    const made = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (text !== undefined) made.textContent = text;
    parts.push(made);
  };
  const known = points.flatMap(point => members.map(member => point[member] ?? 0));
  // Half of the end of the axis is a round number as well: what is counted has no halves.
  const peak = Math.max(...known, 0), step = 10 ** Math.floor(Math.log10(peak || 1));
  const most = [2, 4, 6, 8, 10].map(n => n * step).find(n => n >= peak) || 10 * step;
  const end = points.length ? points[points.length - 1].at : 0;
  const begin = Math.min(points.length ? points[0].at : 0, end - WINDOW_MIN_MS);
  const x = at => left + (width - left - right) * (at - begin) / (end - begin);
  const y = value => top + (height - top - bottom) * (1 - value / most);
  for (const part of [0, .5, 1]) {
    add("line", { class: "grid", x1: left, x2: width - right, y1: y(most * part), y2: y(most * part) });
    add("text", { x: left - 6, y: y(most * part) + 4, "text-anchor": "end" }, show(most * part));
  }
  add("text", { x: left, y: height - 4 }, age((end - begin) / 1000) + " ago");
  add("text", { x: width - right, y: height - 4, "text-anchor": "end" }, "now");
  members.forEach((member, number) => {
    let path = "", last = null, first = null;
    for (const point of points) {
      if (point[member] == null) { last = null; continue; }
      // What was not looked at is a gap.
      const goesOn = last !== null && point.at - last.at <= 3 * POINT_MS;
      path += `${goesOn ? "L" : "M"}${x(point.at).toFixed(1)} ${y(point[member]).toFixed(1)}${goesOn ? "" : "h.1"}`;
      first ??= point; last = point;
    }
    if (!path) return;
    if (number === 0 && last && !path.slice(1).includes("M"))
      add("path", { class: "fill1", d: `${path}L${x(last.at)} ${y(0)}L${x(first.at)} ${y(0)}Z` });
    add("path", { class: `line${number + 1}`, d: path });
  });
  svg.replaceChildren(...parts);
}
// What charts show of the time between two pages.
function figures(now, then, engine) {
  const operations = engine ? "scurry_commands_total" : "scurry_http_requests_total";
  const durations = engine ? "scurry_request_duration_seconds" : "scurry_http_request_duration_seconds";
  return {
    rate: rate(operations, {}, now, then), p50: quantile(durations, .5, now, {}, then), p99: quantile(durations, .99, now, {}, then),
    sessions: sum(now.page, "scurry_sessions_open"), expired: rate("scurry_expiries_total", { kind: "session" }, now, then),
    ...Object.fromEntries(Object.keys(CAUSES).map(cause => [cause, rate("scurry_denials_total", { cause }, now, then)])),
  };
}
// Takes in what the server has kept of the last hour, where this tab has seen nothing.
async function recall(engine) {
  const { names, samples } = await load("/v1/console/past"), recalled = new Map();
  let then = null;
  for (const [at, ...values] of samples) {
    const now = { page: parse(names.map((name, number) => `${name} ${values[number]}`).join("\n")), at };
    if (then) recalled.set(Math.floor((at - POINT_MS / 2) / POINT_MS) * POINT_MS, figures(now, then, engine));
    then = now;
  }
  for (const { at } of points) recalled.delete(at);
  points = [...points, ...[...recalled].map(([at, point]) => ({ at, ...point, count: 1 }))].sort((a, b) => a.at - b.at);
  return [...recalled.values()].at(-1);
}
// Adds what was seen now to the point of its ten seconds.
function remember(seen) {
  const at = Math.floor(Date.now() / POINT_MS) * POINT_MS, last = points[points.length - 1];
  if (last && last.at === at) {
    const mean = (old, value) => old === null ? value : value === null ? old : old + (value - old) / (last.count + 1);
    const most = (old, value) => old === null ? value : value === null ? old : Math.max(old, value);
    for (const [name, value] of Object.entries(seen)) last[name] = name === "sessions" ? value : (name === "p99" ? most : mean)(last[name] ?? null, value);
    last.count++;
  } else points.push({ at, ...seen, count: 1 });
  points = points.filter(point => point.at > at - POINTS_MAX * POINT_MS && point.at <= at);
}
// Causes as metrics name them, each with a line of its own.
const CAUSES = { balance: "too little in its buckets", no_bucket: "no bucket of the unit", limit: "a limit", status: "suspended or closed", chain: "another of its chain" };
function showDenials(point) {
  const seen = Object.keys(CAUSES).map(cause => points.some(one => one[cause] > 0) ? cause : null);
  draw("denied", seen, perSecond);
  if (seen.some(Boolean)) legend("denied-c", seen.flatMap((cause, at) => cause ? [[CAUSES[cause], perSecond(point[cause]), at]] : []));
  else $("denied-c").textContent = "none in this time";
}
function legend(id, entries) {
  const parts = [];
  entries.forEach(([name, value, at], number) => {
    if (entries.length > 1) {
      const key = document.createElementNS(SVG, "svg"), line = document.createElementNS(SVG, "path");
      key.setAttribute("class", "key"); key.setAttribute("aria-hidden", "true");
      line.setAttribute("class", `line${(at ?? number) + 1}`); line.setAttribute("d", "M0 2h28");
      key.append(line); parts.push(key);
    }
    parts.push(`${name} ${value}${number < entries.length - 1 ? " " : ""}`);
  });
  $(id).replaceChildren(...parts);
}

// ---- The page ---------------------------------------------------------------------------------
function state(text, kind) {
  $("state").textContent = text; $("state").className = "state " + kind;
  // Said aloud when it changes, and not with every figure.
  if (text !== lastState && lastState !== "") $("alerts").textContent = kind === "good" ? "" : text;
  lastState = text;
}
function tiles(entries) {
  $("tiles").replaceChildren(...entries.map(([name, value, small, kind]) => {
    const tile = element("div", null, { class: "tile" }), dd = element("dd", value);
    if (kind) dd.className = kind;
    dd.append(element("small", small || ""));
    tile.append(element("dt", name), dd);
    return tile;
  }));
}
let drawn = () => {};
async function show(now) {
  const { page } = now;
  const engine = page.has("scurry_info"), info = rows(page, engine ? "scurry_info" : "scurry_http_info")[0]?.labels || {};
  document.querySelectorAll(".engine").forEach(part => part.hidden = !engine);
  document.querySelectorAll(".group").forEach(part => part.hidden = !page.has("scurry_group_member_connected"));
  document.querySelectorAll(".diameter").forEach(part => part.hidden = !now.peers);
  document.querySelectorAll(".nchf").forEach(part => part.hidden = !rows(page, "scurry_nchf_requests_total").length && !rows(page, "scurry_nchf_nrf_state").length);
  document.querySelectorAll(".nodes").forEach(part => part.hidden = engine || !rows(page, "scurry_http_node_state").length);
  const door = rows(page, "scurry_http_info")[0]?.labels || {}, listen = info.listen || door.listen;
  const serves = door.serves || "";
  document.querySelectorAll(".accounts").forEach(part => part.hidden = !serves.includes("charging"));
  $("about").textContent = `version ${info.version}, ${listen} on ${door.machine}, ` + (engine
    ? `run ${info.run_id.slice(-16)}, durability ${info.durability}, up ${age(sum(page, "scurry_uptime_seconds"))}`
    : `HTTP door to ${serves}`);
  document.title = `${listen} on ${door.machine} - Scurry console`;
  const who = `${listen} on ${door.machine}`;
  if (who !== whose) { whose = who; points = []; }
  // Until two pages are there, the last of what the server has kept is shown.
  const kept = before ? null : await recall(engine), point = before || !kept ? figures(now, before, engine) : { ...kept, sessions: sum(page, "scurry_sessions_open") };
  if (before) remember(point);
  drawn = () => charts(engine, point);
  drawn();
  showRequests(page, now);
  if (now.peers) showPeers(now);
  showConsumers(page, now);
  if (engine) showEngine(page, now, point); else showNodes(page, now, point);
  tellAll();
}
function charts(engine, point) {
  draw("rate", ["rate"], perSecond);
  legend("rate-c", [["now", perSecond(point.rate) + " per second"]]);
  draw("latency", ["p50", "p99"], time);
  legend("latency-c", [["p50", time(point.p50)], ["p99", time(point.p99)]]);
  if (!engine) return;
  draw("holds", ["sessions"], count);
  legend("holds-c", [["now", count(point.sessions)]]);
  draw("expired", ["expired"], perSecond);
  legend("expired-c", [["now", perSecond(point.expired) + " per second"]]);
  showDenials(point);
}
// By route and status, the most frequent first.
function showRequests(page, now) {
  const requests = new Map();
  for (const { labels, value } of rows(page, "scurry_http_requests_total")) {
    const name = `${labels.method} ${labels.route}`;
    if (!requests.has(name)) requests.set(name, { labels, all: 0, statuses: [] });
    const one = requests.get(name);
    one.all += value; one.statuses.push([labels.status, value]);
  }
  const most = [...requests].sort((a, b) => b[1].all - a[1].all);
  table($("http"), ["Request", "#Per second", "#p99 of the route", "Statuses"], most.slice(0, ROUTES_MAX).map(([name, { labels, statuses }]) => {
    const { route, method } = labels, told = element("span");
    statuses.forEach(([status, value], at) => told.append(at ? ", " : "",
      element("span", `${status}: ${count(value)}`, status >= "500" ? { class: "bad" } : {})));
    return [name, perSecond(rate("scurry_http_requests_total", { route, method }, now)),
      time(quantile("scurry_http_request_duration_seconds", .99, now, { route })), told];
  }), most.length > ROUTES_MAX ? `The ${ROUTES_MAX} most frequent of ${most.length}.` : undefined);
}
// The peers of the Diameter door: those that are connected first.
const PEER_STATES = { open: "good", suspect: "bad", closing: "warn", absent: "warn" };
const PEERS_MAX = 64;
function showPeers(now) {
  const all = counts => Object.values(counts).reduce((sum, one) => sum + one, 0);
  const then = new Map((before?.peers || []).map(peer => [peer.host, peer]));
  const perSecondOf = peer => {
    const old = then.get(peer.host);
    return old ? grown(all(peer.requests), all(old.requests)) / ((now.at - before.at) / 1000) : null;
  };
  const named = counts => Object.entries(counts).map(([name, value]) => `${name.replaceAll("_", " ")}: ${count(value)}`).join(", ") || "none";
  const first = [...now.peers].sort((a, b) => (a.state === "absent") - (b.state === "absent"));
  table($("diameter"), ["Peer", "State", "Since", "#Requests/s", "Last error", "#Requests", "Answers by code", "#Dropped", "To the peer", "Errors", "Realm", "Address"],
    first.slice(0, PEERS_MAX).map(peer => [peer.host, element("span", peer.state, { class: PEER_STATES[peer.state] || "warn" }),
      moment(peer.since_ms), perSecond(perSecondOf(peer)), peer.last_error ?? "–", count(all(peer.requests)), named(peer.answers),
      count(peer.dropped_answers), named(peer.own_requests), named(peer.errors), peer.realm || "–",
      peer.address === null ? "–" : peer.address + (peer.tls ? " with TLS" : "")]),
    first.length > PEERS_MAX ? `${PEERS_MAX} of ${first.length}, those that are connected first.` : first.length ? undefined : "No peer has connected yet.");
}
// The consumers of Nchf, the most frequent first, and what became of notifications to them.
const OPERATIONS = ["create", "update", "release", "event"];
function showConsumers(page, now) {
  const name = "scurry_nchf_requests_total", consumers = new Map();
  for (const { labels: { consumer, version } } of rows(page, name)) consumers.set(`${consumer} ${version}`, { consumer, version });
  const lines = [...consumers.values()].map(want => [want, sum(page, name, want)]).sort((a, b) => b[1] - a[1]);
  table($("nchf"), ["Consumer", "Version", "#Requests/s", "#Creates", "#Updates", "#Releases", "#Events"],
    lines.map(([want]) => [want.consumer, want.version, perSecond(rate(name, want, now)), ...OPERATIONS.map(operation => count(sum(page, name, { ...want, operation })))]),
    lines.length ? undefined : "No consumer has asked yet.");
  const notices = outcome => count(sum(page, "scurry_nchf_notices_total", { outcome }));
  const nrf = rows(page, "scurry_nchf_nrf_state").find(row => row.value === 1);
  $("nchf-notices").textContent = `Notifications: ${notices("delivered")} delivered, ${notices("given_up")} given up.` + (nrf ? ` NRF: ${nrf.labels.state.replaceAll("_", " ")}.` : "");
  const failed = rows(page, "scurry_nchf_notice_failures_total").sort((a, b) => b.value - a.value);
  document.querySelector(".nchf-failed").hidden = !failed.length;
  table($("nchf-failed"), ["Consumer's address", "Why it was not notified", "#Attempts"], failed.map(({ labels, value }) => [labels.authority, labels.why, count(value)]));
}
function showEngine(page, now, point) {
  const cores = rows(page, "scurry_core_up").map(row => row.labels.core);
  table($("cores"), ["Core", "Busy", "#Operations/s", "#Connections", "#Keys", "#Timers"], cores.map(core => {
    const want = { core }, cpu = rate("scurry_core_cpu_seconds_total", want, now);
    const percent = cpu === null ? null : Math.min(100, Math.round(cpu * 100));
    const busy = element("span"), bar = element("span", null, { class: "bar", "aria-hidden": "true" }), fill = element("i");
    fill.style.width = (percent || 0) + "%"; bar.append(fill); busy.append(bar, percent === null ? "–" : percent + " %");
    const up = sum(page, "scurry_core_up", want) === 1;
    return [up ? core : core + " does not answer", busy, perSecond(rate("scurry_commands_total", want, now)),
      count(sum(page, "scurry_connections", want)), count(sum(page, "scurry_keys", want)), count(sum(page, "scurry_timers", want))];
  }));
  const names = rows(page, "scurry_holds_units").map(row => row.labels.unit);
  const of = (name, unit) => rows(page, name).find(row => row.labels.unit === unit)?.raw || "0";
  const parts = ["available", "holds", "credited", "refunded", "consumed", "expired", "voided", "overdrawn", "uncollected"];
  const broken = names.filter(unit => of("scurry_conservation_error_units", unit) !== "0");
  table($("units"), ["Unit", "Conservation", "#Available", "#Held", "#Credited", "#Refunded", "#Consumed", "#Expired", "#Voided", "#Overdrawn", "#Uncollected"],
    names.map(unit => {
      const error = of("scurry_conservation_error_units", unit);
      return [unit, element("span", error === "0" ? "holds" : "off by " + units(error, unit), { class: error === "0" ? "good" : "bad" }),
        ...parts.map(part => units(of(`scurry_${part}_units`, unit), unit))];
    }), names.length ? undefined : "There are no accounts with buckets yet.");
  const words = ["writes", page.has("scurry_group_info") ? "no room, or stands still" : "no room", "failed"];
  table($("log"), ["Core", "Log", "#Sequence", "#Not durable", "#Bytes/s", "#Write p99", "#Snapshots", "#Failed", "Age"], cores.map(core => {
    const want = { core }, trouble = sum(page, "scurry_log_trouble", want);
    const log = rows(page, "scurry_info")[0].labels.durability === "none" ? "none"
      : element("span", words[trouble], { class: trouble ? "bad" : "good" });
    const sequence = sum(page, "scurry_log_sequence", want), durable = sum(page, "scurry_log_durable_sequence", want);
    const aged = rows(page, "scurry_snapshot_age_seconds").find(row => row.labels.core === core);
    const written = sum(page, "scurry_snapshots_total", want), failed = sum(page, "scurry_snapshots_failed_total", want);
    const running = sum(page, "scurry_snapshot_running", want);
    const bytesRate = rate("scurry_log_bytes_total", want, now);
    return [core, log, count(sequence), count(sequence - durable), bytesRate === null ? "–" : bytes(Math.round(bytesRate)),
      time(quantile("scurry_log_write_duration_seconds", .99, now)),
      count(written), failed ? element("span", count(failed), { class: "bad" }) : "0", running ? "being written" : aged ? age(aged.value) : "–"];
  }));
  const kinds = [...new Set(rows(page, "scurry_memory_bytes").map(row => row.labels.kind))];
  const max = sum(page, "scurry_memory_max_bytes");
  table($("memory"), ["Kind", "#Bytes"], [...kinds.map(kind => [kind, bytes(sum(page, "scurry_memory_bytes", { kind }))]),
    ["resident", bytes(sum(page, "process_resident_memory_bytes"))]], max ? `At most ${bytes(max)} (--max-memory).` : "Unlimited (--max-memory).");
  const denials = rate("scurry_denials_total", {}, now), duplicates = rate("scurry_duplicates_total", {}, now);
  const connections = sum(page, "scurry_connections");
  const held = names.filter(unit => of("scurry_holds_units", unit) !== "0").map(unit => `${count(Number(of("scurry_holds_units", unit)) / 10 ** decimalsOf(unit))} ${unit}`);
  tiles([
    ["Operations/s", perSecond(point.rate), `${count(connections)} connection${connections === 1 ? "" : "s"}`],
    ["Latency p99", time(point.p99), `p50 ${time(point.p50)}`],
    ["Accounts", count(sum(page, "scurry_accounts")), ""],
    ["Open sessions", count(point.sessions), held.length ? "held: " + held.slice(0, 2).join(", ") + (held.length > 2 ? ", …" : "") : ""],
    ["Expired/s", perSecond(point.expired), `${count(sum(page, "scurry_expiries_total", { kind: "session" }))} sessions in all`],
    ["Denied/s", perSecond(denials), `duplicates/s ${perSecond(duplicates)}`],
    ["Conservation", broken.length ? "broken" : "holds", broken.length ? broken.join(", ") : `in ${names.length} unit${names.length === 1 ? "" : "s"}`, broken.length ? "bad" : "good"],
  ]);
  const grouped = page.has("scurry_group_info") ? showGroup(page, cores) : null;
  const silent = cores.filter(core => sum(page, "scurry_core_up", { core }) !== 1);
  const troubled = rows(page, "scurry_log_trouble").filter(row => row.value > 0);
  if (silent.length) state(`core ${silent.join(", ")} does not answer`, "bad");
  else if (broken.length) state("units were lost or made: " + broken.join(", "), "bad");
  else if (troubled.length) state("the log of core " + troubled.map(row => row.labels.core).join(", ") + " is in trouble", "bad");
  else if (grouped) state(...grouped);
  else state("serving", "good");
}
// The nodes of a group as this one sees them; what is wrong with it, if anything is.
function showGroup(page, cores) {
  const own = rows(page, "scurry_group_info")[0].labels.node, leaders = rows(page, "scurry_group_leader");
  const why = rows(page, "scurry_group_cannot_lose_a_node")[0]?.labels.why;
  $("lose").textContent = why ? `Can lose a node: no, ${why}.` : "Can lose a node: yes.";
  $("lose").className = why ? "warn" : "good";
  const word = (is, kind) => element("span", is ? "yes" : "no", is || !kind ? {} : { class: kind });
  table($("group"), ["Node", "Address", "Leads", "Connected", "Vote", "#Lag"], rows(page, "scurry_group_member_connected").map(({ labels, value }) => {
    const { node, address } = labels, led = leaders.filter(row => row.labels.node === node).length;
    const lag = rows(page, "scurry_group_member_lag_entries").find(row => row.labels.node === node);
    return [node === own ? `${node} (this one)` : node, address,
      led === 0 ? "no" : led === cores.length ? "yes" : `${led} of ${cores.length} threads`, word(value === 1, "bad"),
      word(sum(page, "scurry_group_member_votes", { node }) === 1, "warn"), lag ? count(lag.value) : "–"];
  }), `As node ${own} sees it. The lag is in entries, and known to the node that leads.`);
  const alone = cores.filter(core => !leaders.some(row => row.labels.core === core));
  if (alone.length) return [`no node leads core ${alone.join(", ")}`, "bad"];
  if (cores.some(core => sum(page, "scurry_group_serves", { core }) !== 1))
    return leaders.every(row => row.labels.node === own) ? ["this node is about to serve", "warn"] : ["another node leads", "warn"];
  return why ? ["serving, and no node may be lost", "warn"] : null;
}
function showNodes(page, now, point) {
  const nodes = [...new Set(rows(page, "scurry_http_node_state").map(row => row.labels.node))];
  const is = node => rows(page, "scurry_http_node_state").find(row => row.labels.node === node && row.value === 1)?.labels.state || "unknown";
  const status = new Map((now.status?.nodes || []).map(node => [node.address, node]));
  table($("nodes"), ["Node", "State", "Since", "Why"], nodes.map(node => {
    const word = is(node), told = status.get(node);
    return [node, element("span", word.replace("_", " "), { class: word === "ready" ? "good" : "bad" }),
      told ? moment(told.since_ms) : "–", told?.why || ""];
  }));
  const ready = nodes.filter(node => is(node) === "ready").length, errors = rows(page, "scurry_http_requests_total")
    .filter(row => row.labels.status >= "500").reduce((all, row) => all + row.value, 0);
  tiles([
    ["Requests/s", perSecond(point.rate), `${count(sum(page, "scurry_http_connections"))} connections`],
    ["Latency p99", time(point.p99), `p50 ${time(point.p50)}`],
    ...(nodes.length ? [["Nodes ready", `${ready} of ${nodes.length}`, "", ready === nodes.length ? "good" : "warn"]] : []),
    ["Answers 5xx", count(errors), "since the start"],
  ]);
  if (sum(page, "scurry_http_ready") === 1) state("serving", ready === nodes.length ? "good" : "warn");
  else state(nodes.length && ready < nodes.length ? `${ready} of ${nodes.length} nodes are ready` : "the store does not answer", "bad");
}

// ---- Asking -----------------------------------------------------------------------------------
async function ask(path) {
  const headers = credentials ? { Authorization: credentials } : {};
  // Without omit the browser would ask for a password by itself.
  const answer = await fetch(path, { headers, credentials: "omit", cache: "no-store", signal: AbortSignal.timeout(8000) })
    .catch(() => { throw new Error("no answer from the server"); });
  if (answer.status === 401 || answer.status === 403) {
    const problem = await answer.json().catch(() => ({}));
    if ($("signin").hidden) { $("signin").hidden = false; (credentials ? $("secret") : $("name")).focus(); }
    if (credentials || answer.status === 403) $("signin-why").textContent = problem.detail || "That was not right.";
    state("sign in to see the figures", "warn");
    throw new DOMException("sign in", "NotAllowedError");
  }
  $("signin").hidden = true;
  return answer;
}
// Without an answer the last figures stay, and what they are is said.
function old(why) {
  const is = why !== null && answered !== null;
  document.body.classList.toggle("old", is);
  $("gone").hidden = !is;
  if (is) $("gone").textContent = `${why[0].toUpperCase()}${why.slice(1)}. No figures since ${moment(answered)}, ${age((Date.now() - answered) / 1000)} ago: those below are of then.`;
  if (why !== null) state(is ? `no answer since ${moment(answered)}` : why, "bad");
}
async function look() {
  try {
    const answer = await ask("/metrics");
    if (!answer.ok) throw new Error((await answer.json().catch(() => ({}))).detail || `status ${answer.status}`);
    const text = await answer.text().catch(() => { throw new Error("no answer from the server"); });
    const now = { page: parse(text), at: performance.now() };
    if (!user && (rows(now.page, "scurry_http_info")[0]?.labels.serves || "").includes("charging")) await meet();
    if (now.page.has("scurry_http_node_state")) {
      const told = await ask("/v0/status");
      now.status = told.ok ? await told.json() : null;
    }
    if (now.page.has("scurry_diameter_peers")) {
      const told = await ask("/v1/console/diameter");
      now.peers = told.ok ? (await told.json()).peers : [];
    }
    await show(now);
    before = now; answered = Date.now();
    old(null);
  } catch (error) {
    before = null;
    if (error.name === "Error") old(error.message);
    else if (error.name !== "NotAllowedError") reportError(error);
  }
}
async function loop() {
  if (!paused && !document.hidden) await look();
  setTimeout(loop, EVERY_MS);
}
$("pause").addEventListener("click", () => {
  paused = !paused;
  $("pause").setAttribute("aria-pressed", String(paused));
  $("pause").textContent = paused ? "Continue" : "Pause";
  if (paused) state("paused", "warn"); else before = null;
});
$("signin-form").addEventListener("submit", event => {
  event.preventDefault();
  const name = $("name").value.trim(), secret = $("secret").value;
  const utf8 = text => String.fromCharCode(...new TextEncoder().encode(text));
  credentials = name ? "Basic " + btoa(utf8(`${name}:${secret}`)) : "Bearer " + secret.trim();
  try { sessionStorage.setItem("scurry-authorization", credentials); } catch { /* kept in the page */ }
  $("secret").value = "";
  user = null;
  look();
});
// What a path answers; a problem is an error with its words. `known` has other words for some codes.
async function load(path, known = {}) {
  const answer = await ask(path), told = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Error(known[told.code] ?? told.detail ?? `status ${answer.status}`);
  return told;
}
// Asks the door who the user is, with which roles, and how many decimals units have.
async function meet() {
  const told = await load("/v1/console/user");
  user = { name: told.user, roles: told.roles, decimals: new Map(Object.entries(told.unit_decimals)) };
}
function why(error) {
  if (error.name === "NotAllowedError") return "sign in first";
  if (error.name !== "Error") throw error;
  return error.message;
}
// A table that is wider than the screen says so.
function tell(box) {
  const hidden = box.scrollWidth - box.clientWidth;
  box.classList.toggle("more", hidden > 1 && box.scrollLeft < hidden - 1);
  let hint = box.previousElementSibling;
  if (!hint?.classList.contains("swipe")) {
    hint = element("p", "More columns: scroll sideways \u2192", { class: "swipe" });
    box.before(hint);
  }
  hint.hidden = hidden <= 1;
}
function tellAll() { document.querySelectorAll(".wide").forEach(tell); }
document.addEventListener("scroll", event => { if (event.target.classList?.contains("wide")) tell(event.target); }, true);
new ResizeObserver(() => { drawn(); tellAll(); }).observe($("main"));
