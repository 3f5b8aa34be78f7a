"use strict";
// ---- Lists: accounts, and open holds of the whole store -----------------------------------------
// Stops a walk that a later one has replaced, or that the user has stopped.
const walks = { accounts: 0, holds: 0 };
const counted = (number, name) => `${plain.format(number)} ${name}${number === 1 ? "" : "s"}`;
const opening = id => button(id, () => { $("lookup").scrollIntoView(); $("found").focus(); find(() => account(id)); });

// A page of accounts. Without a match the page asks on by itself, step by step.
const BACK_MAX = 10_000;
function listAccounts(prefix, status) {
  const begins = [{ cursor: "", keys: 0 }];
  async function turn(number) {
    const one = ++walks.accounts, say = (text, kind = "note") => { $("list-how").textContent = text; $("list-how").className = kind; };
    let { cursor, keys } = begins[number];
    $("list-turns").replaceChildren(button("Stop", () => { walks.accounts++; say(`Stopped after about ${plain.format(keys)} keys.`); $("list-turns").replaceChildren(); }));
    say("Looking…");
    try {
      await meet();
      for (;;) {
        const told = await load(`/v1/console/accounts?${new URLSearchParams({ prefix, status, cursor })}`);
        if (one !== walks.accounts) return;
        keys += told.keys; cursor = told.cursor;
        if (!told.accounts.length && cursor) { say(`Looked through about ${plain.format(keys)} keys, and found no account yet…`); continue; }
        showAccounts(told.accounts);
        say(told.accounts.length ? `Page ${number + 1}: ${counted(told.accounts.length, "account")}, in no order.` : number ? "No more accounts." : "No account matches.");
        break;
      }
    } catch (error) { if (one !== walks.accounts) return; say(`No list: ${why(error)}`, "note bad"); }
    const turns = [];
    if (number) turns.push(button("Back", () => turn(number - 1)));
    if (cursor && number < BACK_MAX) turns.push(button("Next", () => { begins[number + 1] = { cursor, keys }; turn(number + 1); }));
    $("list-turns").replaceChildren(...turns);
    tellAll();
  }
  turn(0);
}
function showAccounts(accounts) {
  const balance = ({ id, unit, available, held }) => `${id}: ${units(available, unit)} ${unit}${held === "0" ? "" : ` and ${units(held, unit)} held`}`;
  $("list").replaceChildren(...(accounts.length ? [scrolls("List of accounts", ["Account", "Status", "Balances", "#Open sessions"], accounts.map(one => [opening(one.id),
    element("span", one.status, { class: one.status === "active" ? "good" : "warn" }),
    one.buckets.map(balance).join(", ") + (one.buckets_more ? `, and ${one.buckets_more} more` : "") || "–", plain.format(one.sessions_open)]))] : []));
}
$("list-form").addEventListener("submit", event => {
  event.preventDefault();
  listAccounts($("list-prefix").value.trim(), $("list-status").value);
});

// The oldest open holds of the store, or of one account. There is no index of them: the page walks through all accounts,
// and keeps the oldest.
const HOLDS_KEPT = 1_000, HOLDS_SHOWN = 200, DRAWN_MS = 500;
let shownHolds = null;
async function findHolds(wanted) {
  const one = ++walks.holds, begun = Date.now();
  const walk = { looked: 0, sessions: new Map(), left: 0, count: 0, totals: new Map(), isStopped: false, isDone: false, now: begun };
  shownHolds = walk;
  const ask = async parameters => {
    const told = await load(`/v1/console/holds?${new URLSearchParams({ ...wanted.filters, ...parameters })}`);
    if (one !== walks.holds) return null;
    walk.looked += told.accounts; walk.now = Number(told.now);
    told.holds.forEach(hold => take(walk, hold));
    return told;
  };
  // The rest of accounts with many sessions.
  const rest = async more => {
    for (let { account: id, after } of more) while (after !== undefined) {
      const told = await ask({ account: id, after });
      if (!told) return false;
      walk.looked -= told.accounts; after = told.more[0]?.after;
      drawSometimes();
    }
    return true;
  };
  let drawnAt = 0;
  const drawSometimes = () => { if (Date.now() - drawnAt >= DRAWN_MS) { drawnAt = Date.now(); showHolds(walk); } };
  walk.stop = () => { walks.holds++; walk.isStopped = true; showHolds(walk); };
  showHolds(walk);
  try {
    await meet();
    let cursor = "";
    do {
      const told = await ask(wanted.account === undefined ? { cursor } : { account: wanted.account });
      if (!told || !await rest(told.more)) return;
      cursor = told.cursor;
      drawSometimes();
    } while (cursor);
    walk.isDone = true;
    showHolds(walk);
  } catch (error) {
    if (one !== walks.holds) return;
    walk.isStopped = true;
    showHolds(walk);
    $("holds-how").textContent += ` It went no further: ${why(error)}.`; $("holds-how").className = "note bad";
  }
}
const holdName = (id, session) => JSON.stringify([id, session]);
// Takes a hold in. Holds of one session are one line; beyond the bound the youngest sessions are left out.
function take(walk, hold) {
  walk.count++;
  walk.totals.set(hold.unit, (walk.totals.get(hold.unit) ?? 0n) + BigInt(hold.amount));
  const name = holdName(hold.account, hold.session), known = walk.sessions.get(name);
  if (known) return void known.amounts.push([hold.amount, hold.unit]);
  walk.sessions.set(name, { id: hold.account, session: hold.session, opened: Number(hold.opened), active: Number(hold.active), deadline: hold.deadline, amounts: [[hold.amount, hold.unit]] });
  if (walk.sessions.size < 2 * HOLDS_KEPT) return;
  const oldest = [...walk.sessions].sort((a, b) => a[1].opened - b[1].opened);
  walk.left += oldest.length - HOLDS_KEPT;
  walk.sessions = new Map(oldest.slice(0, HOLDS_KEPT));
}
function showHolds(walk) {
  const all = [...walk.sessions.values()].sort((a, b) => a.opened - b.opened), shown = all.slice(0, HOLDS_SHOWN), sessions = all.length + walk.left;
  const since = ms => age((walk.now - ms) / 1000), provisions = may("provision");
  const totals = [...walk.totals].map(([unit, total]) => `${units(total, unit)} ${unit}`).join(", ");
  $("holds-how").className = "note";
  $("holds-how").textContent = `${walk.isDone ? "Looked at all" : walk.isStopped ? "Stopped after" : "Looking at"} ${counted(walk.looked, "account")}: ${walk.count
    ? `${counted(sessions, "session")} ${sessions === 1 ? "holds" : "hold"} ${totals}.${sessions > shown.length ? ` The ${shown.length} oldest are shown.` : ""}` : walk.isDone ? "no hold matches." : "no hold matches yet."}`;
  $("holds-turns").replaceChildren(...(walk.isDone || walk.isStopped ? [] : [button("Stop", walk.stop)]));
  $("holds-list").replaceChildren(...(shown.length ? [scrolls("Open holds", ["Account", "Session", "Held", "Age", "Idle", "Opened", "Expires", ...(provisions ? ["Act"] : [])],
    shown.map(one => [opening(one.id), one.session, sums(one.amounts), since(one.opened), since(one.active), moment(one.opened), moment(one.deadline),
      ...(provisions ? [releasing(one.id, one.session)] : [])]))] : []));
  tellAll();
}
// Takes a session out of the list: it has ended.
function forgetHold(id, session) {
  const known = shownHolds?.sessions.get(holdName(id, session));
  if (!known) return;
  shownHolds.sessions.delete(holdName(id, session));
  for (const [amount, unit] of known.amounts) {
    shownHolds.count--;
    const left = shownHolds.totals.get(unit) - BigInt(amount);
    if (left) shownHolds.totals.set(unit, left); else shownHolds.totals.delete(unit);
  }
  showHolds(shownHolds);
}
function holdsOf(id) {
  $("holds-form").scrollIntoView();
  document.querySelector("#holds-part").open = true;
  findHolds({ account: id, filters: {} });
}
const SPANS = { minutes: 60_000, hours: 3_600_000, days: 86_400_000 };
$("holds-form").addEventListener("submit", event => {
  event.preventDefault();
  const number = $("holds-age").value.trim() || "0";
  if (!/^\d{1,6}$/.test(number)) { $("holds-how").textContent = `${number} is no age: say a whole number.`; $("holds-how").className = "note bad"; return; }
  const unit = $("holds-unit").value.trim();
  findHolds({ filters: { older_ms: Number(number) * SPANS[$("holds-span").value], ...(unit ? { unit } : {}) } });
});

// ---- A statement as CSV -------------------------------------------------------------------------
// docs/console.md describes the columns.
const COLUMNS = ["time", "event", "bucket", "unit", "amount", "change", "held_change", "available", "held", "transaction", "user", "session", "request", "details"];
const IN_COLUMNS = new Set(["position", "time_ms", "account", "bucket_no", "item_no", "version", ...COLUMNS]);
const ENTRIES_MAX = 100_000;
// A cell of text. A spreadsheet would compute what begins like a formula: an apostrophe before it makes it text.
function cell(value) {
  const text = String(value ?? ""), safe = /^[=+\-@\t\r]/.test(text) && !/^-\d+(\.\d+)?$/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
function csvLine(entry, isUtc) {
  const { unit } = entry, amount = name => entry[name] === undefined ? "" : digits(entry[name], unit);
  const details = Object.entries(entry).filter(([name, value]) => !IN_COLUMNS.has(name) && value !== null && value !== undefined)
    .map(([name, value]) => `${name.replace(/_ms$/, "")}=${name.endsWith("_ms") ? stamp(value, isUtc) : AMOUNTS.has(name) ? digits(value, unit) : value}`).join("; ");
  return [stamp(entry.time_ms, isUtc), entry.event, entry.bucket, unit, ...["amount", "change", "held_change", "available", "held"].map(amount),
    entry.transaction, byUser(entry), entry.session, entry.request, details].map(cell).join(",");
}
// A time by ISO 8601: of UTC, or with the offset that the browser's zone has then.
function stamp(ms, isUtc) {
  const at = new Date(Number(ms)), ahead = isUtc ? 0 : -at.getTimezoneOffset();
  const local = new Date(at.getTime() + ahead * 60_000).toISOString().slice(0, -1);
  if (isUtc) return `${local}Z`;
  const two = number => String(Math.trunc(number)).padStart(2, "0");
  return `${local}${ahead < 0 ? "-" : "+"}${two(Math.abs(ahead) / 60)}:${two(Math.abs(ahead) % 60)}`;
}
// The first moment of a day, or of the day after it.
function dayBegin(text, isUtc, after = 0) {
  const [year, month, day] = text.split("-").map(Number);
  return isUtc ? Date.UTC(year, month - 1, day + after) : new Date(year, month - 1, day + after).getTime();
}
function exporting(id) {
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const from = element("input", null, { type: "date", id: "csv-from" }), to = element("input", null, { type: "date", id: "csv-to" });
  const zones = choice(["UTC", ...(zone === "UTC" ? [] : [zone])]), form = element("form", null, { "aria-label": "Statement as CSV" });
  const how = element("p", "Both days are included. Leave them empty for all that the log keeps.", { class: "note", role: "status" }), turns = element("p", null, { class: "turn" });
  let reading = 0;
  form.append(field("From", from), field("To", to), field("Time zone", zones), element("button", "Download CSV"));
  form.addEventListener("submit", async event => {
    event.preventDefault();
    const one = ++reading, isUtc = zones.selectedIndex === 0, period = {};
    const say = (text, kind = "note") => { how.textContent = text; how.className = kind; };
    const end = (text, kind) => { turns.replaceChildren(); say(text, kind); };
    if (from.value) period.from_ms = Math.max(dayBegin(from.value, isUtc), 1);
    if (to.value) period.to_ms = dayBegin(to.value, isUtc, 1);
    if (period.to_ms <= (period.from_ms ?? 0)) return say("The last day is before the first one.", "note bad");
    turns.replaceChildren(button("Stop", () => { reading++; end("Stopped: nothing was written."); }));
    const lines = [COLUMNS.join(",")];
    let cursor = null, looked = 0, first = null, lacks = false, keptFrom = null;
    try {
      do {
        say(`${plain.format(lines.length - 1)} entries so far, after ${plain.format(looked)} entries of the log…`);
        const told = await load(`${pathOf(id, "statement")}?${new URLSearchParams({ ...period, limit: 1000, ...(cursor ? { cursor } : {}) })}`);
        if (one !== reading) return;
        for (const entry of told.entries) lines.push(csvLine(entry, isUtc));
        cursor = told.cursor; looked += told.looked;
        first ??= told.entries[0];
        if (!told.complete) { lacks = true; keptFrom = told.kept_from_ms; }
      } while (cursor && lines.length <= ENTRIES_MAX);
    } catch (error) { if (one === reading) end(`No file: ${why(error)}`, "note bad"); return; }
    // An account that begins within the period lacks nothing before.
    const isComplete = !lacks || first?.event === "created";
    const name = `${id.replace(/[^A-Za-z0-9._-]/g, "_").slice(0, 64)}${from.value ? "-from-" + from.value : ""}${to.value ? "-to-" + to.value : ""}.csv`;
    const link = element("a", null, { href: URL.createObjectURL(new Blob([lines.join("\r\n") + "\r\n"], { type: "text/csv" })), download: name });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
    end(`${name}: ${plain.format(lines.length - 1)} entries.`
      + (cursor ? " There are more: ask for a shorter period." : "")
      + (isComplete ? "" : ` Older entries are not kept any more${keptFrom === null ? "" : ": the log goes back to " + moment(keptFrom)}.`), cursor || !isComplete ? "note warn" : "note");
  });
  const box = element("div");
  box.append(form, how, turns);
  return box;
}

if (narrow.matches) for (const part of document.querySelectorAll("details")) part.open = false;
showOpen();
loop();
