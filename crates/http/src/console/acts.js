"use strict";
// ---- Acts: what changes an account -------------------------------------------------------------
// An act is asked for under an id that was made before, and kept with it while no answer is certain: pressing twice, a lost
// answer and a reload do it once. The id has the user's name, which the door proves. The store remembers an id for an hour;
// well before that the page stops asking again.
const AGAIN_MS = 1_800_000, MADE = "scurry-change";
// Answers that say nothing of a request before them.
const BARRED = new Set(["UNAUTHORIZED", "FORBIDDEN", "NOT_FOUND", "MISDIRECTED_REQUEST", "REQUEST_TIMEOUT", "STORE_REFUSED"]);
let act = null;
try { act = JSON.parse(sessionStorage.getItem(MADE)); if (act) act.state = "open"; } catch { /* none */ }
function keep() {
  try { if (act && act.state !== "new") sessionStorage.setItem(MADE, JSON.stringify(act)); else sessionStorage.removeItem(MADE); } catch { /* kept in the page */ }
}
// randomUUID is there over HTTPS and on loopback only.
const random = () => [...crypto.getRandomValues(new Uint8Array(16))].map(byte => byte.toString(16).padStart(2, "0")).join("");
const isOld = () => Boolean(act.at) && Date.now() - act.at > AGAIN_MS;
const OLD = "The store may have forgotten its id, and asking again could do it twice. Look for the transaction in what has happened to the account.";
const pathOf = (account, ...rest) => ["/v1/accounts", account, ...rest.map(String)].map((part, at) => at ? encodeURIComponent(part) : part).join("/");

// Asks whether to do an act: { account, title, summary, facts, does, method, path, body }. `unit` is that of the answer's
// amount, which `amountIs` names. Returns why it is not asked for; nothing if it is.
function propose(wanted) {
  if (act) return "Another change is not settled: see above.";
  if (!user) return "The door has not said who you are yet: try again in a second.";
  act = { ...wanted, state: "new", user: user.name, id: `console:${user.name}:${random()}` };
  sure();
  return undefined;
}
// Shows the act in its dialog.
function sure() {
  const isNew = act.state === "new", facts = [...act.facts];
  if (!isNew) facts.push(["First asked", moment(act.at)]);
  facts.push(["Transaction", act.id]);
  $("sure-h").textContent = act.title;
  $("sure-facts").replaceChildren(...facts.flatMap(([name, value]) => [element("dt", name), element("dd", value)]));
  $("sure-do").textContent = isNew ? act.does : "Ask again";
  $("sure-close").textContent = "Cancel";
  said(isNew ? "" : "It is not known whether this was done. With the same id it is done once, however often it is asked for.", "warn");
  $("sure").showModal();
}
function said(text, kind, isDone = false) {
  $("sure-said").textContent = text; $("sure-said").className = kind;
  $("sure-do").hidden = isDone; $("sure-do").disabled = act?.state === "sent";
  if (isDone) { $("sure-close").textContent = "Close"; $("sure-close").focus(); }
}
function showOpen() {
  const is = act !== null && act.state !== "new" && !$("sure").open;
  $("open").hidden = !is;
  if (!is) return;
  $("open-what").textContent = `${act.summary}, first asked at ${moment(act.at)}, transaction ${act.id}: it is not known whether this was done. `
    + (isOld() ? OLD : "Ask again: with the same id it is done once.");
  $("open-ask").hidden = isOld();
}
function settled(text, kind) {
  const { account: id, session } = act;
  act = null; keep(); said(text, kind, true); showOpen();
  if (session !== undefined) forgetHold(id, session);
  find(() => account(id));
}
async function carryOut() {
  if (!act || act.state === "sent") return;
  const one = act, before = one.state;
  if (isOld()) return said(OLD, "bad");
  if (user && user.name !== one.user) return said(`It was asked for by ${one.user}: sign in as that user to ask again.`, "bad");
  one.state = "sent"; one.at ??= Date.now();
  keep(); said("Asking…", "note");
  let status = 0, told = {}, reason = "no answer from the server";
  try {
    const headers = { ...(credentials ? { Authorization: credentials } : {}), "Idempotency-Key": one.id };
    if (one.body) headers["Content-Type"] = "application/json";
    const answer = await fetch(one.path, { method: one.method, headers, body: one.body,
      credentials: "omit", cache: "no-store", signal: AbortSignal.timeout(15_000) });
    told = await answer.json(); status = answer.status;
    reason = told.detail || `status ${status}`;
  } catch { /* no whole answer: nothing is known */ }
  // It may have been forgotten meanwhile.
  if (act !== one) return;
  if (status === 200) {
    const amount = one.amountIs ? `: ${units(told.amount, one.unit)} ${one.unit} ${one.amountIs}` : "";
    return settled(`${told.replayed ? "It had been done before, and was not done again" : "Done"}${amount}.`, "good");
  }
  if (told.code && (before === "new" ? status < 500 || told.code === "STORE_REFUSED" : status < 500 && !BARRED.has(told.code))) return settled(`Not done: ${reason}.`, "bad");
  one.state = "open"; keep();
  said(`It is not known whether this was done (${reason}). Ask again: with the same id it is done once, however often it is asked for.`, "warn");
  $("sure-do").textContent = "Ask again";
  showOpen();
}
$("sure-do").addEventListener("click", carryOut);
$("sure-close").addEventListener("click", () => $("sure").close());
$("sure").addEventListener("close", () => { if (act?.state === "new") act = null; showOpen(); });
$("open-ask").addEventListener("click", () => { showOpen(); if (!isOld()) { sure(); showOpen(); } });
$("open-forget").addEventListener("click", () => { act = null; keep(); showOpen(); });

// ---- Forms of acts ------------------------------------------------------------------------------
// A form whose `submit` proposes an act, and returns why it does not. `note` says what may be typed.
function actForm(label, fields, note, submit) {
  const form = element("form", null, { "aria-label": label }), set = element("fieldset"), words = element("p", note, { class: "note", role: "status" });
  const line = element("div", null, { class: "turn" });
  line.append(...fields, element("button", "Continue…"));
  set.append(line); form.append(set, words);
  form.addEventListener("submit", async event => {
    event.preventDefault();
    let wrong;
    try { wrong = await submit(); } catch (error) { wrong = why(error); }
    words.textContent = wrong ?? ""; words.className = wrong ? "bad" : "note";
  });
  return { form, set };
}
// Proposes an act at a button, and says below its table why not.
function proposing(text, ask) {
  const made = button(text, async () => {
    let wrong;
    try { wrong = await ask(); } catch (error) { wrong = why(error); }
    if (!wrong) return;
    $("sure-h").textContent = text.replace("…", ""); $("sure-facts").replaceChildren();
    said(`${wrong[0].toUpperCase()}${wrong.slice(1)}.`, "bad", true);
    if (!$("sure").open) $("sure").showModal();
  });
  made.classList.add("small");
  return made;
}

// Top up or adjust a bucket.
function changing(told) {
  const what = choice(["Top up", "Adjust"]), bucket = choice(told.buckets.map(one => one.id));
  const amount = element("input", null, { required: "", autocomplete: "off", spellcheck: "false" });
  const is = may("provision");
  const note = !is ? `This needs the role provision. You have: ${told.roles.join(", ")}.` : !told.buckets.length ? "It has no bucket."
    : `The amount in ${[...new Set(told.buckets.map(one => one.unit))].map(unitWords).join("; ")}. An adjustment may be negative. You are asked once more.`;
  const { form, set } = actForm("Top up or adjust", [field("What", what), field("Bucket", bucket), field("Amount", amount)], note, async () => {
    const isTopUp = what.value === "Top up", text = amount.value.trim(), { unit } = told.buckets.find(one => one.id === bucket.value);
    const by = minorOf(text, unit);
    if (!by || isTopUp && by < 0n)
      return `${text} is no amount: say ${unitWords(unit)} ${isTopUp ? "above 0" : "other than 0"}, without separators.`;
    const now = (await load(pathOf(told.id))).buckets.find(one => one.bucket === bucket.value);
    if (!now) return `The bucket ${bucket.value} is gone.`;
    const after = BigInt(now.available) + by, shown = units(by, unit);
    if (after > UNITS_MAX || after < -UNITS_MAX) return `${text} is too much: a bucket holds ${units(UNITS_MAX, unit)} at most, 64 bits, and this one has ${units(now.available, unit)}.`;
    const kind = isTopUp ? "Top up" : "Adjust", by_ = signed(by, unit);
    return propose({ account: told.id, title: `${kind} ${told.id}`, summary: `${kind} ${told.id}, bucket ${bucket.value}, by ${by_}`, does: `${kind} by ${by_}`,
      facts: [["Account", told.id], ["Bucket", bucket.value], ["Amount", by_], ["Available now", `${units(now.available, unit)} ${unit}`],
        ["Afterwards", `${units(after, unit)} ${unit}, if nothing else happens meanwhile`]],
      method: "POST", path: pathOf(told.id, isTopUp ? "top-ups" : "adjustments"), body: JSON.stringify({ bucket: bucket.value, amount: String(by) }),
      unit, amountIs: "available afterwards" });
  });
  set.disabled = !is || !told.buckets.length;
  return form;
}
// Suspends an account, or lets it be charged again.
function suspending(told) {
  const to = told.status === "active" ? "suspended" : "active", verb = to === "active" ? "Activate" : "Suspend";
  return proposing(`${verb}…`, () => propose({ account: told.id, title: `${verb} ${told.id}`, summary: `${verb} ${told.id}`, does: verb,
    facts: [["Account", told.id], ["Status now", told.status], ["Afterwards", to === "active" ? "active: it can be charged" : "suspended: every charge is denied until it is activated"],
      ["Open sessions", plain.format(told.sessions_open)]],
    method: "PUT", path: pathOf(told.id, "status"), body: JSON.stringify({ status: to }) }));
}
// Releases what a session holds; the session ends, and nothing is debited.
const releasing = (id, session) => proposing("Release…", async () => {
  const open = await load(pathOf(id, "sessions", session), { UNKNOWN_SESSION: `the session ${session} has ended meanwhile` });
  const held = open.items.map(item => [item.outstanding, item.unit]).filter(([amount]) => BigInt(amount) > 0n);
  return propose({ account: id, session, title: `Release session ${session} of ${id}`, summary: `Release session ${session} of ${id}`, does: "Release",
    facts: [["Account", id], ["Session", session], ["Goes back", held.length ? sums(held) : "nothing: it holds no units"],
      ["Opened", `${moment(open.opened_ms)}, ${age((Date.now() - open.opened_ms) / 1000)} ago`],
      ["Last request", `${moment(open.active_ms)}, ${age((Date.now() - open.active_ms) / 1000)} ago`],
      ["Afterwards", "the session has ended, and nothing is debited; its client is told at its next request"]],
    method: "DELETE", path: pathOf(id, "sessions", session), body: null });
});
// Gives back what a remembered debit took, whole or in part.
function refunding(told) {
  const debit = element("input", null, { id: "refund-debit", required: "", autocomplete: "off", spellcheck: "false" });
  const amount = element("input", null, { autocomplete: "off", spellcheck: "false", placeholder: "all that is left" });
  return actForm("Refund a debit", [field("Transaction of the debit", debit), field("Amount (leave empty for all that is left)", amount)],
    "The store remembers a debit for an hour (transaction_ms). Later adjust the bucket instead.", async () => {
      const of = debit.value.trim(), { parts } = await load(pathOf(told.id, "transactions", of),
        { UNKNOWN_TRANSACTION: `${of} is not remembered, or not any more: adjust the bucket instead` });
      if (!parts.length) return `${of} is no debit.`;
      const { unit } = parts[0], left = new Map();
      for (const part of parts) {
        if (part.unit === null) return "A bucket of this debit was removed: adjust another bucket instead.";
        const name = JSON.stringify([part.item, part.unit]);
        left.set(name, (left.get(name) ?? 0n) + BigInt(part.amount) - BigInt(part.refunded));
      }
      const items = [...left].filter(([, amount]) => amount > 0n).map(([name, amount]) => [...JSON.parse(name), amount]);
      if (!items.length) return "All of this debit was refunded already.";
      const text = amount.value.trim();
      if (text) {
        if (items.length > 1) return "This debit has several items: leave the amount empty to give all of it back.";
        const by = minorOf(text, unit);
        if (by === null || by <= 0n) return `${text} is no amount: say ${unitWords(unit)} above 0, without separators.`;
        if (by > items[0][2]) return `${text} is too much: ${units(items[0][2], unit)} ${unit} of it are left.`;
        items[0][2] = by;
      }
      const shown = sums(items.map(([, unit, amount]) => [amount, unit])), isPlain = items.every(([key]) => key === null);
      const body = isPlain ? { amount: String(items[0][2]) } : { items: items.map(([key, unit, amount]) => ({ key, unit, amount: String(amount) })) };
      return propose({ account: told.id, title: `Refund ${told.id}`, summary: `Refund ${told.id} ${shown} of ${of}`, does: `Refund ${shown}`,
        facts: [["Account", told.id], ["Debit", of], ["Debited", sums(parts.map(part => [part.amount, part.unit]))],
          ["Refunded before", sums(parts.map(part => [part.refunded, part.unit]))], ["Goes back", shown]],
        method: "POST", path: pathOf(told.id, "refunds"), body: JSON.stringify({ debit: of, ...body }), ...(items.length === 1 ? { unit, amountIs: "refunded" } : {}) });
    }).form;
}
// Sets a limit, new or not. Its kind of window stays as it is unless a period is chosen.
function limiting(told) {
  const name = element("input", null, { id: "limit-name", required: "", autocomplete: "off", spellcheck: "false" });
  const unit = element("input", null, { id: "limit-unit", autocomplete: "off", spellcheck: "false", placeholder: "open sessions" });
  const amount = element("input", null, { id: "limit-amount", required: "", autocomplete: "off", spellcheck: "false" });
  const period = choice(["as it is, or none", "hour", "day", "week", "month", "quarter", "year"]);
  return actForm("Set a limit", [field("Limit", name), field("Unit (leave empty to count open sessions)", unit), field("Amount", amount), field("Period", period)],
    "The most that may be used and held in a period.", async () => {
      const of = unit.value.trim(), id = name.value.trim(), text = amount.value.trim(), most = minorOf(text, of);
      if (most === null || most < 0n) return `${text} is no amount: say ${of ? unitWords(of) : "a whole number"}, at least 0, without separators.`;
      const known = told.limits.find(limit => limit.id === id), isKept = period.selectedIndex === 0;
      if (!of && !isKept) return "A limit of open sessions has no period.";
      const body = { amount: String(most), ...(of ? { unit: of } : {}), ...(isKept ? {} : { period: period.value }), ...(known?.item ? { item: known.item } : {}) };
      const shown = of ? `${units(most, of)} ${of}` : `${most} open sessions`;
      return propose({ account: told.id, title: `Set the limit ${id} of ${told.id}`, summary: `Set the limit ${id} of ${told.id} to ${shown}`, does: `Set to ${shown}`,
        facts: [["Account", told.id], ["Limit", id], ["Amount now", known ? units(known.amount, known.unit) : "it is new"], ["Afterwards", shown],
          ["Period", isKept ? known ? known.period : "none" : period.value]],
        method: "PUT", path: pathOf(told.id, "limits", id), body: JSON.stringify(body) });
    }).form;
}
const unlimiting = (told, limit) => proposing("Remove…", () => propose({ account: told.id, title: `Remove the limit ${limit.id} of ${told.id}`,
  summary: `Remove the limit ${limit.id} of ${told.id}`, does: "Remove", facts: [["Account", told.id], ["Limit", limit.id], ["Amount now", units(limit.amount, limit.unit)]],
  method: "DELETE", path: pathOf(told.id, "limits", limit.id), body: null }));
