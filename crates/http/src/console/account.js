"use strict";
// ---- One account ---------------------------------------------------------------------------------
// Puts what is found in its place, unless something else was asked for meanwhile.
async function find(make) {
  const one = ++looked;
  let parts;
  try { parts = await make(); } catch (error) { parts = [element("p", why(error), { class: "bad" })]; }
  if (one !== looked) return;
  $("found").replaceChildren(...parts);
  tellAll();
}
async function account(id) {
  // Roles may have changed since the page was opened.
  await meet();
  return showAccount(await load("/v1/console/account?id=" + encodeURIComponent(id)));
}
async function owners(kind, value) {
  const { accounts, more } = await load(`/v1/identities/${encodeURIComponent(kind)}/${encodeURIComponent(value)}`);
  if (accounts.length === 1) return account(accounts[0]);
  if (!accounts.length) return [element("p", `no account has the ${kind} ${value}`, { class: "bad" })];
  const list = element("ul", null, { class: "owners" });
  for (const id of accounts) {
    const line = element("li");
    line.append(button(id, () => find(() => account(id)))); list.append(line);
  }
  return [element("h3", `${more ? "More than " : ""}${accounts.length} accounts have the ${kind} ${value}`), list];
}
$("lookup").addEventListener("submit", event => {
  event.preventDefault();
  const kind = $("kind").value.trim(), value = $("account").value;
  find(() => kind ? owners(kind, value) : account(value));
});
function showAccount(told) {
  const provisions = may("provision"), since = ms => age((Date.now() - Number(ms)) / 1000);
  const head = element("p", null, { class: "turn" });
  if (provisions && told.status !== "closed") head.append(suspending(told));
  const parts = [element("h3", `${told.id}: ${told.status}, version ${told.version}`)];
  if (head.children.length) parts.push(head);
  const audit = new Map((told.audit.buckets || []).map(bucket => [bucket.id, bucket]));
  parts.push(element("p", told.audit.ok === "1" ? "Its invariants hold." : "Its invariants are broken.",
    { class: told.audit.ok === "1" ? "good" : "bad" }));
  if (told.identities.length) parts.push(element("p", "Identities: " + told.identities.map(one => `${one.kind} ${one.value}`).join(", ")));
  if (told.former_identities.length) parts.push(element("p", "Former identities: " + told.former_identities.map(one => `${one.kind} ${one.value}`).join(", ")));
  parts.push(element("h3", "Buckets"), scrolls("Buckets",
    ["Bucket", "Unit", "#Available", "#Held", "#Floor", "#Priority", "Valid to", "Refilled", "#Credited", "#Consumed", "#Expired"],
    told.buckets.map(bucket => { const sums = audit.get(bucket.id) || {}, [period, , amount, next] = bucket.allowance || [], of = text => units(text, bucket.unit);
      return [bucket.id, bucket.unit, of(bucket.available), of(bucket.held), of(bucket.floor), bucket.priority,
        bucket.valid_to === null ? "no end" : moment(bucket.valid_to),
        period ? `to ${of(amount)} each ${period}${next === null ? ", not again" : ", next " + moment(next)}` : "never",
        of(sums.credited ?? "0"), of(sums.consumed ?? "0"), of(sums.expired ?? "0")]; })));
  if (told.limits.length) parts.push(element("h3", "Limits"), scrolls("Limits",
    ["Limit", "Of", "#Amount", "#Used", "#Held", "#Left", "#Over", "Period", "Resets at", ...(provisions ? ["Act"] : [])],
    told.limits.map(limit => [limit.id, limit.unit === null ? "open sessions" : limit.item === null ? limit.unit : `${limit.unit}, rating group ${limit.item}`,
      ...["amount", "used", "held", "left", "overrun"].map(name => units(limit[name], limit.unit)), limit.period, limit.resets_at === null ? "never" : moment(limit.resets_at),
      ...(provisions ? [unlimiting(told, limit)] : [])])));
  parts.push(element("h3", "Top up or adjust"), changing(told));
  if (provisions) parts.push(element("h3", "Set a limit"), limiting(told));
  if (may("charge")) parts.push(element("h3", "Refund a debit"), refunding(told));
  parts.push(element("h3", `Open sessions: ${told.sessions_open}`));
  if (told.sessions.length) parts.push(scrolls("Open sessions",
    ["Session", "Rating group", "Unit", "#Outstanding", "#Granted", "#Used", "#Last request", "Age", "Idle", "Expires", ...(provisions ? ["Act"] : [])],
    told.sessions.flatMap(session => (session.items.length ? session.items : [{ key: "–", unit: "–", outstanding: "–", granted: "–", used: "–" }]).map((item, at) => [session.id, item.key, item.unit,
      units(item.outstanding, item.unit), units(item.granted, item.unit), units(item.used, item.unit), session.last_request ?? "–", since(session.opened), since(session.active), moment(session.deadline),
      ...(provisions ? [at ? "" : releasing(told.id, session.id)] : [])]))));
  if (told.sessions_open > told.sessions.length) {
    const more = element("p", `${told.sessions.length} of them are shown. `, { class: "turn note" });
    more.append(button("Find all its holds", () => holdsOf(told.id)));
    parts.push(more);
  }
  if (told.counters.length) parts.push(element("h3", "Counters"), scrolls("Counters", ["Counter", "Unit", "#Value", "Period"],
    told.counters.map(counter => [counter.id, counter.unit, units(counter.value, counter.unit), counter.period])));
  parts.push(element("h3", "Statement as CSV"), exporting(told.id));
  parts.push(element("h3", "What has happened"), happened(told));
  return parts;
}
// The user whose act an entry tells of: the door has proved the name in such an id.
const byUser = ({ transaction }) => /^console:(.+):[0-9a-f]{32}$/.exec(transaction ?? "")?.[1];
const isRefundable = ({ event, transaction, session }) => event === "debited" && transaction !== undefined && session === undefined;
// Fills in which debit to refund.
function refill(debit) {
  $("refund-debit").value = debit;
  $("refund-debit").form.elements[2].focus();
}
// Fields of entries that are amounts of their unit.
const AMOUNTS = new Set(["floor", "requested", "uncollected", "used", "value"]);

// What has happened to an account, the newest first. Each answer goes through a part of the log, from its end on; how far
// is said. Without enough entries the page looks so far by itself, and on when it is asked to.
const PAGE = narrow.matches ? 20 : 50, LOOKED_MAX = 50_000;
const SHOWN = new Set(["position", "time_ms", "event", "account", "bucket", "unit", "bucket_no", "amount", "change", "held_change", "available", "held", "transaction", "session", "request", "item_no", "version"]);
function happened({ id, limits }) {
  const unitOfLimit = new Map(limits.map(limit => [limit.id, limit.unit]));
  const box = element("div", null, { id: "happened" }), shown = element("div"), turns = element("p", null, { class: "turn note" });
  const how = element("p", "Reading the log…", { class: "note", role: "status" });
  // Where pages begin: behind what was looked through before.
  const begins = [{ cursor: null, looked: 0 }];
  let reading = 0;
  box.append(how, shown, turns);
  // Looks for what a page has yet to show.
  async function read(page) {
    const one = ++reading, until = page.looked + LOOKED_MAX;
    const say = isReading => { if (page.told) progress(page, isReading); };
    try {
      do {
        const asked = new URLSearchParams({ newest_first: true, limit: PAGE - page.entries.length });
        if (page.cursor) asked.set("cursor", page.cursor);
        const told = page.told = await load(`/v1/accounts/${encodeURIComponent(id)}/statement?${asked}`);
        if (one !== reading || !box.isConnected) return;
        page.entries.push(...told.entries); page.looked += told.looked; page.cursor = told.cursor;
        page.back = told.reached_ms ?? page.back;
        say(true);
      } while (page.cursor && page.entries.length < PAGE && page.looked < until && page.entries.at(-1)?.event !== "created");
    } catch (error) {
      if (one !== reading) return;
      say(false);
      how.textContent = `No statement: ${why(error)}`; how.className = "note bad";
      return;
    }
    say(false);
  }
  function turn(number) {
    const { cursor, looked } = begins[number];
    read({ number, cursor, looked, before: number * PAGE, entries: [] });
  }
  function progress(page, isReading) {
    const { number, before, entries, told, cursor, looked, back } = page, { length } = entries;
    how.className = "note";
    how.textContent = `${length ? `${before + 1} to ${before + length}, the newest first` : before ? "No more" : "Nothing has happened to it"}. ${isReading ? "Looking" : "Looked"} through the last ${plain.format(looked)} entries of the log`
      + `${back ? `, back to ${moment(back)}` : ""}${isReading ? "…" : "."}${cursor || told.complete ? "" : ` Older entries are not kept any more${told.kept_from_ms === null ? "" : ": the log goes back to " + moment(told.kept_from_ms)}.`}`;
    turns.replaceChildren();
    if (isReading) turns.append(button("Stop", () => { reading++; progress(page, false); }));
    else {
      if (number) turns.append(button("Newer", () => turn(number - 1)));
      if (cursor) turns.append(button("Older", () => {
        if (length < PAGE) return read(page);
        begins[number + 1] = { cursor, looked };
        turn(number + 1);
      }));
    }
    shown.replaceChildren(...(length ? [scrolls("What has happened", ["Time", "What", "Bucket", "#Amount", "#Change", "#Available", "#Held", "Cause", ...(may("charge") ? ["Act"] : [])], entries.map(line))] : []));
    tellAll();
  }
  const line = entry => {
    const { amount, change, available, held, unit = unitOfLimit.get(entry.limit) ?? "" } = entry, or = value => value === undefined ? "–" : units(value, unit);
    const causes = [["transaction", entry.transaction], ["user", byUser(entry)], ["session", entry.session], ["request", entry.request],
      ...Object.entries(entry).filter(([name]) => !SHOWN.has(name))].filter(([, value]) => value !== undefined && value !== null);
    return [moment(entry.time_ms), entry.event.replaceAll("-", " "), entry.bucket ?? "–", amount === undefined ? "–" : `${units(amount, unit)} ${unit}`,
      or(change), or(available), or(held), causes.map(([name, value]) => `${name.replace(/_ms$/, "").replaceAll("_", " ")} ${name.endsWith("_ms") ? moment(value) : AMOUNTS.has(name) ? units(value, unit) : value}`).join(", "),
      ...(may("charge") ? [isRefundable(entry) ? button("Refund…", () => refill(entry.transaction)) : ""] : [])];
  };
  // The balances are shown first.
  setTimeout(() => turn(0));
  return box;
}
