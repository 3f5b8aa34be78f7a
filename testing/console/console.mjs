// Drives the console in a headless Chromium and says what it finds: one line of JSON. It is started
// by crates/cli/tests/http/console.rs with the address of a door, a fresh directory for the
// browser, and what to do there.
//
// usage: node console.mjs BASE PROFILE figures '{"account": ..., "sessions": ..., ...}'
//        node console.mjs BASE PROFILE signin TOKEN
//        node console.mjs BASE PROFILE nodes READY [AWAY]
//        node console.mjs BASE PROFILE lookup ACCOUNT
//        node console.mjs BASE PROFILE identities '{"ACCOUNT": {"kind": ..., "value": ..., "others": [...], "shows": {"REGION": [...]}}}'
//        node console.mjs BASE PROFILE statement '{"account": ..., "newest": [...], "entries": ..., "oldest": [...], "log": ...}'
//        node console.mjs BASE PROFILE no-statement '{"account": ..., "why": ...}'
//        node console.mjs BASE PROFILE change '{"clerk": TOKEN, "reader": TOKEN, "account": ..., "odd": ...}'
//        node console.mjs BASE PROFILE clerk '{"clerk": TOKEN, "reader": TOKEN, "listed": [...], "odd": ..., "holds": [...], "csv": ...}'
//        node console.mjs BASE PROFILE group '{"state": ..., "lose": ..., "nodes": {"ADDRESS": [...]}}'
//        node console.mjs BASE PROFILE diameter '{"HOST": [...]}'
//        node console.mjs BASE PROFILE nchf '{"consumers": [...], "failed": [...], "notices": "..."}'
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import path from "node:path";

const [base, profile, task, told, more] = process.argv.slice(2);
// Where pictures of the page go, when somebody wants to look at them.
const shots = process.env.CONSOLE_SHOTS;
// The library lies where scripts/install-tools.sh has put it.
const { chromium } = createRequire(path.join(process.env.CONSOLE_LIBRARIES, "x"))("playwright-core");
// A machine that does other things too may be slow: nothing here is a measurement.
const PATIENCE = Number(process.env.CONSOLE_PATIENCE ?? 120_000);

const browser = await chromium.launchPersistentContext(profile, {
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  headless: true,
  viewport: { width: 1200, height: 1500 },
  args: ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync"],
});
const faults = [];
const page = browser.pages()[0] ?? await browser.newPage();
page.setDefaultTimeout(PATIENCE);
page.on("pageerror", error => faults.push(String(error)));
page.on("console", message => {
  // The browser itself reports a status of 401 or 404 as an error; the page deals with those.
  if (message.type() === "error" && !/Failed to load resource/.test(message.text())) faults.push(message.text());
});
// Nothing but the door is asked for anything.
page.on("request", request => { if (!request.url().startsWith(base) && !request.url().startsWith("data:")) faults.push(request.url()); });

const tile = name => page.locator(".tile", { has: page.getByText(name, { exact: true }) }).locator("dd");
const row = (table, name) => page.locator(`#${table} tbody tr`, { has: page.getByRole("rowheader", { name, exact: true }) });
const until = async (what, ask, good) => {
  const end = Date.now() + PATIENCE;
  let last;
  while (Date.now() < end) {
    last = await ask();
    if (good(last)) return last;
    await page.waitForTimeout(100);
  }
  assert.fail(`${what}: ${JSON.stringify(last)}`);
};
const whole = async name => { if (shots) await page.screenshot({ path: path.join(shots, `${name}.png`), fullPage: true }); };
const shot = async name => { if (shots) await page.screenshot({ path: path.join(shots, `${name}.png`) }); };

async function figures(want) {
  await page.goto(base);
  await until("serving", () => page.locator("#state").textContent(), text => text === "serving");
  const rate = await until("operations per second", () => tile("Operations/s").innerText(), text => /^[1-9]/.test(text));
  await until("accounts", () => tile("Accounts").innerText(), text => text.startsWith(want.accounts));
  await until("sessions", () => tile("Open sessions").innerText(), text => text.startsWith(want.sessions));
  assert.match(await tile("Conservation").innerText(), /^holds/);
  await until("a latency", () => tile("Latency p99").innerText(), text => /^[0-9.]+ (µs|ms|s)/.test(text));
  // Totals of the unit, as the store itself says them.
  for (const [column, amount] of Object.entries(want.unit))
    await until(column, async () => {
      const heads = await page.locator("#units thead th").allInnerTexts();
      return (await row("units", "cent").locator("th, td").allInnerTexts())[heads.indexOf(column)];
    }, text => text === amount);
  const cores = await page.locator("#cores tbody tr").count();
  assert.equal(cores, want.cores);
  assert.equal(await page.locator(".diameter").isVisible(), false, "without a Diameter door");
  assert.equal(await page.locator(".nchf").isVisible(), false, "without consumers of Nchf");
  for (const chart of ["rate", "latency", "holds", "expired"]) {
    await until(`a line in ${chart}`, () => page.locator(`#${chart} path.line1`).count(), count => count === 1);
    assert.ok(await page.locator(`#${chart}`).getAttribute("aria-labelledby"));
  }
  // Why requests are denied, as far as any are.
  for (const [number, cause] of Object.entries(want.denied)) {
    await until(cause, () => page.locator("#denied-c").innerText(), text => text.includes(`${cause} `));
    await until(`a line of ${cause}`, () => page.locator(`#denied path.line${number}`).count(), count => count === 1);
  }
  assert.equal(await page.locator("#denied path:not(.fill1)").count(), Object.keys(want.denied).length);
  // Which server this is, and who asks it what over HTTP.
  const about = await page.locator("#about").innerText();
  for (const part of want.about) assert.ok(about.includes(part), `${part} is not in ${about}`);
  assert.match(about, /run [0-9a-f]{16}, /);
  assert.ok((await page.title()).startsWith(`${want.about[0]} on `));
  const scraped = row("http", "GET /metrics").locator("td");
  await until("requests by status", () => scraped.last().innerText(), text => /^200: [1-9]/.test(text));
  // What was before the page was opened is there at once: the server has kept it.
  await until("samples", () => page.evaluate(() => load("/v1/console/past").then(past => past.samples.length)), length => length >= 3);
  await page.reload();
  await until("serving", () => page.locator("#state").textContent(), text => text === "serving");
  assert.ok(await page.evaluate(() => points.length) >= 2, "the first minute is not empty");
  assert.match(await tile("Operations/s").innerText(), /^[1-9]/, "nor the first figure");
  for (const cause of Object.values(want.denied)) assert.ok((await page.locator("#denied-c").innerText()).includes(cause), `${cause} is gone after a reload`);
  // Axes have different numbers at equal distances.
  for (const chart of ["rate", "latency", "holds", "expired", "denied"]) {
    const labels = await page.locator(`#${chart} text`).evaluateAll(all => all.slice(0, 3).map(label => label.textContent));
    const [none, half, most] = labels.map(label => size(label));
    assert.ok(none === 0 && half > 0 && Math.abs(most - 2 * half) < 1e-9, `${chart}: ${labels}`);
  }
  for (const peak of [1, 3, 5, 7, 30, 99_999]) {
    const labels = await page.evaluate(peak => {
      const kept = points;
      points = [{ at: Date.now(), sessions: peak }];
      draw("holds", ["sessions"], count);
      points = kept;
      return [...document.querySelectorAll("#holds text")].slice(0, 3).map(label => label.textContent);
    }, peak);
    const [none, half, most] = labels.map(size);
    assert.ok(none === 0 && half > 0 && most === 2 * half && most >= peak, `${peak}: ${labels}`);
  }
  assert.deepEqual(await page.evaluate(misaligned), []);
  assert.deepEqual(await page.evaluate(empty), []);
  // What is said aloud takes no room, whatever it is.
  await page.evaluate(() => { document.getElementById("alerts").textContent = "x ".repeat(300); });
  const aloud = await page.locator("#alerts").boundingBox();
  assert.ok(aloud.width <= 1 && aloud.height <= 1, JSON.stringify(aloud));
  const source = await page.evaluate(() => document.documentElement.outerHTML);
  for (const words of ["half take", "of 100 up to", "Go on", "no bound", "not in yet", "Begins anew"]) assert.ok(!source.includes(words), words);
  const bound = await page.evaluate(() => {
    const now = Date.now();
    points = Array.from({ length: 1000 }, (_, at) => ({ ...points[0], at: now - (1000 - at) * 10_000 }));
    remember(points[0]);
    return [points.length, now - points[0].at];
  });
  assert.ok(bound[0] <= 361 && bound[1] <= 3_610_000, `an hour at most: ${bound}`);
  await shot("console");
  // Look an account up, with the keyboard alone.
  await page.keyboard.press("Tab");
  assert.equal(await page.evaluate(() => document.activeElement.className), "skip", "the first stop skips the head");
  const stops = [];
  for (let at = 0; at < 40; at++) {
    const id = await page.evaluate(() => document.activeElement.id || document.activeElement.getAttribute("aria-labelledby") || document.activeElement.textContent);
    stops.push(id);
    const seen = await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle);
    assert.notEqual(seen, "none", `the focus shows on ${id}`);
    if (id === "units-h") break;
    await page.keyboard.press("Tab");
  }
  assert.deepEqual(stops.slice(1, 3), ["pause", "account"], `at the top, and reached by keyboard: ${stops}`);
  assert.equal(stops.at(-1), "units-h", `reached by keyboard: ${stops}`);
  await page.locator("#account").focus();
  await page.keyboard.type(want.account);
  await page.keyboard.press("Enter");
  const found = page.locator("#found");
  await found.getByRole("heading", { name: `${want.account}: active` }).waitFor();
  for (const [name, cells] of Object.entries(want.lookup)) {
    const text = await found.getByRole("region", { name, exact: true }).innerText();
    for (const cell of cells) assert.ok(text.includes(cell), `${name} lacks ${cell}: ${text}`);
  }
  await shot("light");
  // What a screen reader is told: landmarks, headings, names.
  const tree = await page.locator("body").ariaSnapshot();
  for (const part of ["- banner", "- main", "- contentinfo", "- search", 'heading "Totals per unit"', 'textbox "Account id, or the value of an identity"',
    'button "Pause"', 'columnheader "Conservation"', 'rowheader "cent"', 'img "Operations per second', "- status"])
    assert.ok(tree.includes(part), `${part} is not in the tree:\n${tree}`);
  await page.locator("#account").fill("nobody");
  await page.keyboard.press("Enter");
  await found.getByText("no account has this id").waitFor();
  // An id is never markup.
  await page.locator("#account").fill("<img src=x onerror=alert(1)>");
  await page.keyboard.press("Enter");
  await until("an answer", () => found.innerText(), text => text.length > 0);
  assert.equal(await found.locator("img").count(), 0);
  // Dark.
  const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const light = await ground();
  await page.emulateMedia({ colorScheme: "dark" });
  assert.notEqual(await ground(), light);
  for (const [text, behind] of await page.evaluate(colours)) assert.ok(contrast(text, behind) >= 4.5, `${text} on ${behind} in the dark`);
  await page.locator("#account").fill(want.account);
  await page.keyboard.press("Enter");
  await found.getByRole("heading", { name: `${want.account}: active` }).waitFor();
  await page.evaluate(() => scrollTo(0, 0));
  // What hides the rest of a wide table is a shadow, and no light.
  await page.setViewportSize({ width: 360, height: 1500 });
  const shadow = await page.locator('[aria-labelledby="units-h"].wide.more').evaluate(box => [getComputedStyle(box).boxShadow.match(/rgba?\([^)]*\)/)[0], getComputedStyle(box.closest("section")).backgroundColor]);
  assert.ok(luminance(shadow[0]) < luminance(shadow[1]), `${shadow} in the dark`);
  await page.setViewportSize({ width: 1200, height: 1500 });
  await shot("dark");
  await page.emulateMedia({ colorScheme: "light" });
  for (const [text, behind] of await page.evaluate(colours)) assert.ok(contrast(text, behind) >= 4.5, `${text} on ${behind} in the light`);
  // A phone: nothing is wider than the screen, and all of it can be reached by scrolling down.
  await page.setViewportSize({ width: 360, height: 740 });
  const widths = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
  assert.ok(widths[0] <= widths[1], `${widths[0]} wide on a screen of ${widths[1]}`);
  await until("the chart fits", () => page.locator("#rate").getAttribute("viewBox"), box => Number(box.split(" ")[2]) <= 360);
  // What a table hides is said, until it is seen; what fits says nothing.
  const units = page.locator('[aria-labelledby="units-h"].wide');
  const hint = page.locator('p.swipe:has(+ [aria-labelledby="units-h"].wide)');
  await hint.waitFor({ state: "visible" });
  assert.ok(await units.evaluate(box => box.classList.contains("more")));
  await shot("phone");
  await units.evaluate(box => { box.scrollLeft = box.scrollWidth; });
  await until("seen to the end", () => units.evaluate(box => box.classList.contains("more")), more => !more);
  await page.setViewportSize({ width: 1200, height: 1500 });
  await hint.waitFor({ state: "hidden" });
  // Opened on a phone it is short, and what is folded can be opened.
  await page.setViewportSize({ width: 390, height: 844 });
  await page.reload();
  await until("serving", () => page.locator("#state").textContent(), text => text === "serving");
  await until("figures", () => tile("Operations/s").innerText(), text => /^[1-9]/.test(text));
  const length = () => page.evaluate(() => document.documentElement.scrollHeight);
  assert.ok(await length() <= 3 * 844, `${await length()} pixels on a phone`);
  await whole("phone-folded");
  assert.equal(await row("units", "cent").isVisible(), false);
  await page.getByRole("heading", { name: "Totals per unit" }).click();
  await row("units", "cent").waitFor({ state: "visible" });
  await page.getByRole("heading", { name: "Open sessions" }).click();
  await until("a chart that was folded", () => page.locator("#holds path.line1").count(), count => count === 1);
  await lookUp(want.account);
  await found.getByRole("region", { name: "What has happened", exact: true }).waitFor();
  assert.ok(await length() <= 6 * 844, `${await length()} pixels on a phone, with an account`);
  await whole("phone-account");
  await page.setViewportSize({ width: 1200, height: 1500 });
  await page.reload();
  await until("serving", () => page.locator("#state").textContent(), text => text === "serving");
  await until("figures", () => tile("Operations/s").innerText(), text => /^[1-9]/.test(text));
  // A server that is gone: the last figures stay, and since when is said.
  const figure = () => Promise.all([tile("Accounts").innerText(), row("units", "cent").innerText(), page.locator("#rate path.line1").count()]);
  const last = await figure();
  await browser.setOffline(true);
  await page.getByText(/^no answer since 20[0-9-]+ [0-9:.]+ UTC$/).first().waitFor();
  await page.locator("#gone").getByText("those below are of then").waitFor();
  assert.deepEqual(await figure(), last);
  for (const [text, behind] of await page.evaluate(colours)) assert.ok(contrast(text, behind) >= 4.5, `${text} on ${behind}`);
  await whole("gone");
  await browser.setOffline(false);
  await until("serving again", () => page.locator("#state").textContent(), text => text === "serving");
  assert.equal(await page.locator("#gone").isVisible(), false);
  // Paused, it asks for nothing more.
  await page.locator("#pause").click();
  assert.equal(await page.locator("#pause").getAttribute("aria-pressed"), "true");
  await page.waitForLoadState("networkidle");
  let asked = 0;
  page.on("request", () => { asked++; });
  await page.waitForTimeout(4_500);
  assert.equal(asked, 0);
  return { rate, cores };
}

// Pairs of a text's colour and what is behind it, for the kinds of text that the page has.
function colours() {
  const behind = element => {
    for (let at = element; at; at = at.parentElement) {
      const colour = getComputedStyle(at).backgroundColor;
      if (colour !== "rgba(0, 0, 0, 0)") return colour;
    }
    return "rgb(255, 255, 255)";
  };
  return [...document.querySelectorAll("h1, h2, #state, #about, dt, dd, small, figcaption, td, th, button, label, .note, .good, .bad, .warn, footer")]
    .filter(element => element.textContent.trim() && element.offsetParent !== null)
    .map(element => [getComputedStyle(element).color, behind(element)]);
}

// Cells that stand on the wrong side: words belong to the left, numbers to the right, and heads to their column.
function misaligned() {
  const side = cell => getComputedStyle(cell).textAlign === "right" ? "right" : "left";
  return [...document.querySelectorAll("table")].flatMap(table => [...table.querySelectorAll("tbody tr")].flatMap(line => [...line.cells].slice(1).flatMap((cell, at) => {
    const text = cell.textContent.trim(), head = table.tHead.rows[0].cells[at + 1];
    // Names of rating groups are mostly numbers, and amounts of nothing.
    const isNumber = head.textContent !== "Rating group" && /^[-+−]?[0-9][0-9,.]*[KMBT]?$/.test(text);
    const wanted = isNumber ? "right" : /^[A-Za-z]/.test(text) ? "left" : side(head);
    return side(cell) === wanted && side(head) === wanted ? [] : [`${head.textContent}: ${text}`];
  })));
}

// What is seen although nothing is in it.
function empty() {
  return [...document.querySelectorAll("p, section, ul, h2, h3, table, figcaption")]
    .filter(part => part.checkVisibility() && !part.textContent.trim() && !part.querySelector("svg, input") && part.getBoundingClientRect().height > 1)
    .map(part => part.outerHTML);
}

// A label of an axis as a number.
function size(label) {
  const [, number, unit] = label.match(/^([0-9.,]+) ?([KMBT]|µs|ms|s)?$/) ?? assert.fail(label);
  return Number(number.replaceAll(",", "")) * ({ K: 1e3, M: 1e6, B: 1e9, T: 1e12, µs: 1e-6, ms: 1e-3 }[unit] ?? 1);
}

// WCAG 2.2, relative luminance and contrast ratio.
function luminance(colour) {
  const [r, g, b] = colour.match(/[\d.]+/g).map(Number).map(part => part / 255)
    .map(part => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}
function contrast(one, other) {
  const [dark, light] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (light + 0.05) / (dark + 0.05);
}

async function signin(token) {
  await page.goto(base);
  await page.locator("#signin-form").waitFor({ state: "visible" });
  assert.equal(await tile("Accounts").count(), 0, "nothing is shown before");
  await page.locator("#secret").fill("wrong");
  await page.locator("#signin-form button").click();
  await page.getByText("no user has this token").waitFor();
  await page.locator("#secret").fill(token);
  await page.keyboard.press("Enter");
  await until("serving", () => page.locator("#state").textContent(), text => text === "serving");
  await page.locator("#signin-form").waitFor({ state: "hidden" });
  return { signedIn: true };
}

async function nodes(ready, away) {
  await page.goto(base);
  await until("the nodes", () => tile("Nodes ready").innerText(), text => text.startsWith(ready));
  assert.equal(await page.locator("#lookup").isVisible(), false);
  await until("requests", () => tile("Requests/s").innerText(), text => /^[0-9]/.test(text));
  assert.match(await page.locator("#about").innerText(), /HTTP door to entities$/);
  if (away) {
    const cells = await row("nodes", away).locator("td").allInnerTexts();
    assert.equal(cells[0], "away");
    assert.match(cells[1], /^20[0-9]{2}-.* UTC$/, "since when");
    assert.match(cells[2], /refused|closed|ended|reset|pipe/i, "why");
  }
  await shot("nodes");
  return { ready };
}

async function lookup(account) {
  await page.goto(base);
  await page.locator("#lookup").waitFor({ state: "visible" });
  assert.match(await page.locator("#about").innerText(), /HTTP door to charging$/);
  await page.locator("#account").fill(account);
  await page.keyboard.press("Enter");
  const found = page.locator("#found");
  await found.getByRole("heading", { name: `${account}: active` }).waitFor();
  await found.getByRole("region", { name: "What has happened", exact: true }).waitFor();
  const text = await found.innerText();
  assert.doesNotMatch(text, /undefined|NaN/);
  return { found: text };
}

// Accounts that have an identity: the only one at once, of several the one that is chosen.
async function identities(want) {
  await page.goto(base);
  await page.locator("#lookup").waitFor({ state: "visible" });
  const found = page.locator("#found");
  const ask = async (kind, value) => {
    await page.locator("#kind").fill(kind);
    await page.locator("#account").fill(value);
    await page.keyboard.press("Enter");
  };
  for (const [account, { kind, value, others, shows }] of Object.entries(want)) {
    await ask(kind, value);
    if (others.length) {
      await found.getByRole("heading", { name: `${others.length + 1} accounts have the ${kind} ${value}`, exact: true }).waitFor();
      assert.deepEqual((await found.getByRole("button").allInnerTexts()).sort(), [account, ...others].sort());
      await found.getByRole("button", { name: account, exact: true }).click();
    }
    await found.getByRole("heading", { name: `${account}: active`, exact: false }).waitFor();
    assert.ok((await found.innerText()).includes(`${kind} ${value}`));
    assert.equal(await found.locator("img").count(), 0, "what the store says is never markup");
    for (const [name, cells] of Object.entries(shows)) {
      const text = await found.getByRole("region", { name, exact: true }).innerText();
      for (const cell of cells) assert.ok(text.includes(cell), `${name} lacks ${cell}: ${text}`);
    }
  }
  await ask("msisdn", "<img/src=x/onerror=alert(1)>");
  await found.getByText("no account has the msisdn <img/src=x/onerror=alert(1)>").waitFor();
  assert.equal(await found.locator("img").count(), 0);
  await ask("not a kind", "1");
  await found.getByText("kind:").waitFor();
  return { found: Object.keys(want).length };
}

async function lookUp(account) {
  await page.locator("#lookup").waitFor({ state: "visible" });
  await page.locator("#kind").fill("");
  await page.locator("#account").fill(account);
  await page.keyboard.press("Enter");
  await page.locator("#found").getByRole("heading", { name: `${account}: active` }).waitFor();
  return page.locator("#found");
}

// What has happened, from the newest entry to the oldest, page by page; it is read by itself, behind the balances.
async function statement(want) {
  // The balances do not wait for the log.
  let reading = null;
  const held = new Promise(go => { reading = go; });
  await page.route("**/statement?**", async route => { await held; await route.continue(); }, { times: 1 });
  await page.goto(base);
  const found = await lookUp(want.account);
  assert.ok((await found.getByRole("region", { name: "Buckets", exact: true }).innerText()).includes("main"), "balances first");
  await found.getByText("Reading the log…").waitFor();
  reading();
  const table = found.getByRole("region", { name: "What has happened", exact: true });
  const lines = () => table.locator("tbody tr").evaluateAll(all => all.map(line => [...line.cells].slice(1, 8).map(cell => cell.textContent)));
  const how = page.locator("#happened > [role=status]");
  const newer = found.getByRole("button", { name: "Newer", exact: true }), older = found.getByRole("button", { name: "Older", exact: true });
  await table.waitFor();
  const seen = [];
  for (let first = 0; seen.length < want.entries; first += 50) {
    const says = `${first + 1} to ${Math.min(first + 50, want.entries)}, the newest first. Looked through the last `;
    await until(says, () => how.textContent(), text => text.startsWith(says));
    assert.match(await how.textContent(), /entries of the log, back to 20[0-9-]+ [0-9:.]+ UTC/);
    seen.push(...await lines());
    if (seen.length < want.entries) await older.click();
  }
  assert.equal(seen.length, want.entries);
  assert.deepEqual(seen.slice(0, want.newest.length), want.newest);
  assert.deepEqual(seen.slice(-want.oldest.length), want.oldest);
  const names = seen.map(line => line.at(-1)).filter(cause => /^transaction t[0-9]+$/.test(cause)).map(cause => Number(cause.slice("transaction t".length)));
  assert.deepEqual(names, names.map((_, at) => names.length - at), "each once, the newest first");
  // Behind the account's own beginning is what others did before it was there, and nothing of it.
  while (await older.count()) await older.click();
  const all = await how.textContent();
  assert.deepEqual([Number(all.match(/the last ([0-9,]+) entries/)[1].replaceAll(",", "")), /not kept/.test(all)], [want.log, false]);
  await newer.click();
  await until("newer", () => how.textContent(), text => text.startsWith(`${want.entries - want.entries % 50 - 49} to `));
  assert.equal(await page.locator("#found img").count(), 0, "what the store says is never markup");
  for (const [text, behind] of await page.evaluate(colours)) assert.ok(contrast(text, behind) >= 4.5, `${text} on ${behind}`);
  assert.deepEqual(await page.evaluate(misaligned), []);
  await shot("statement");
  return { entries: seen.length };
}

async function noStatement({ account, why }) {
  await page.goto(base);
  const found = await lookUp(account);
  await found.getByText(`No statement: ${why}`).waitFor();
  return { account };
}

// Top-ups and adjustments of a user who may, whose answers are lost until the door is asked for /healthz, and again
// from when it is asked for /readyz; then one who may not.
async function change(want) {
  const sign = async token => {
    await page.locator("#signin-form").waitFor({ state: "visible" });
    await page.locator("#secret").fill(token);
    await page.keyboard.press("Enter");
    await page.locator("#signin-form").waitFor({ state: "hidden" });
  };
  const found = page.locator("#found"), dialog = page.getByRole("dialog"), open = page.locator("#open");
  const form = found.getByRole("form", { name: "Top up or adjust", exact: true });
  const goOn = async (what, bucket, amount) => {
    await form.getByRole("combobox", { name: "What", exact: true }).selectOption(what);
    await form.getByRole("combobox", { name: "Bucket", exact: true }).selectOption(bucket);
    await form.getByRole("textbox", { name: "Amount", exact: true }).fill(amount);
    await form.getByRole("button", { name: "Continue…" }).click();
  };
  const available = async bucket => {
    const cells = await found.getByRole("region", { name: "Buckets", exact: true }).locator("tr", { has: page.getByRole("rowheader", { name: bucket, exact: true }) }).locator("td").allInnerTexts();
    return cells[1];
  };
  const now = (bucket, amount) => until(`${amount} in ${bucket}`, () => available(bucket), text => text === amount);
  const fact = async name => dialog.locator("dt", { hasText: new RegExp(`^${name}$`) }).locator("xpath=following-sibling::dd[1]").innerText();
  const said = text => dialog.getByRole("status").filter({ hasText: text }).waitFor();
  const button = name => dialog.getByRole("button", { name, exact: true });
  // As fast as a hand never is: in one turn of the page.
  const twice = name => button(name).evaluate(pressed => { pressed.click(); pressed.click(); });
  const asked = [];
  page.on("request", request => { if (request.method() === "POST") asked.push(request.headers()["idempotency-key"]); });
  const lose = () => page.evaluate(() => fetch("/readyz")), hear = () => page.evaluate(() => fetch("/healthz"));
  const close = async () => { await button("Close").click(); await dialog.waitFor({ state: "hidden" }); };

  await page.goto(base);
  await sign(want.clerk);
  await lookUp(want.account);
  // What is no amount is said, and asks for nothing.
  for (const amount of ["1.5", "1e3", "-5", "0", "9223372036854775808", "1,000"]) {
    await goOn("Top up", "main", amount);
    await found.getByText(`${amount} is no amount`).waitFor();
  }
  // What a bucket cannot hold is said before it is asked for.
  await goOn("Top up", "big", "9223372036854775807");
  await found.getByText("9223372036854775807 is too much").waitFor();
  assert.equal(await dialog.count(), 0);
  // Cancelled, nothing is asked for and nothing is left.
  await goOn("Top up", "main", "250");
  await button("Cancel").waitFor();
  assert.deepEqual([await fact("Account"), await fact("Bucket"), await fact("Amount"), await fact("Available now"), await fact("Afterwards")],
    [want.account, "main", "+250 cent", "1,000 cent", "1,250 cent, if nothing else happens meanwhile"]);
  assert.equal(await page.evaluate(() => document.activeElement.id), "sure-close", "a key that is held down does nothing");
  for (const [text, behind] of await page.evaluate(colours)) assert.ok(contrast(text, behind) >= 4.5, `${text} on ${behind}`);
  await shot("change");
  await button("Cancel").click();
  await dialog.waitFor({ state: "hidden" });
  assert.deepEqual([asked, await open.isVisible()], [[], false]);
  // Pressed twice, done once.
  await goOn("Top up", "main", "250");
  const first = await fact("Transaction");
  assert.match(first, /^console:clerk:[0-9a-f]{32}$/);
  await twice("Top up by +250 cent");
  await said("Done: 1,250 cent available afterwards.");
  assert.deepEqual(asked.splice(0), [first]);
  await close();
  await now("main", "1,250");
  // The answer is lost: asked again from the same dialog, once more from the page after a reload, and done once.
  await lose();
  await goOn("Top up", "main", "50");
  const second = await fact("Transaction");
  assert.notEqual(second, first);
  await twice("Top up by +50 cent");
  await said("It is not known whether this was done (no answer from the server).");
  await twice("Ask again");
  await said("It is not known whether this was done (no answer from the server).");
  await button("Cancel").click();
  await open.getByText(`Top up ${want.account}, bucket main, by +50 cent`).waitFor();
  await open.getByText(second).waitFor();
  // Nothing else is begun meanwhile.
  await goOn("Top up", "main", "7");
  await found.getByText("Another change is not settled").waitFor();
  await page.reload();
  await open.getByText(second).waitFor();
  await hear();
  await open.getByRole("button", { name: "Ask again…" }).click();
  await twice("Ask again");
  await said("It had been done before, and was not done again: 1,300 cent available afterwards.");
  assert.ok(asked.length >= 3 && asked.every(id => id === second), `${asked}`);
  asked.length = 0;
  await close();
  assert.equal(await open.isVisible(), false);
  await now("main", "1,300");
  await page.reload();
  await lookUp(want.account);
  assert.equal(await open.isVisible(), false);
  // Nobody is reached: it was not done, which the page cannot know, and then it is done once.
  await goOn("Adjust", "main", "-1301");
  await browser.setOffline(true);
  await button("Adjust by -1,301 cent").click();
  await said("It is not known whether this was done");
  await browser.setOffline(false);
  await button("Ask again").click();
  // Its floor denies it, in the store's words; and a denial is an end.
  await said("Not done: ");
  await close();
  await now("main", "1,300");
  await goOn("Adjust", "main", "-300");
  assert.equal(await fact("Afterwards"), "1,000 cent, if nothing else happens meanwhile");
  await button("Adjust by -300 cent").click();
  await said("Done: 1,000 cent available afterwards.");
  await close();
  // 64 bits, digit for digit.
  await goOn("Top up", "big", "9007199254740993");
  assert.equal(await fact("Afterwards"), "9,007,199,254,740,995 octet, if nothing else happens meanwhile");
  await button("Top up by +9,007,199,254,740,993 octet").click();
  await said("Done: 9,007,199,254,740,995 octet available afterwards.");
  await close();
  await now("big", "9,007,199,254,740,995");
  // What is too old to be remembered is not asked for again.
  await lose();
  await goOn("Top up", "main", "5");
  await button("Top up by +5 cent").click();
  await said("It is not known whether this was done");
  await page.evaluate(() => {
    const kept = JSON.parse(sessionStorage.getItem("scurry-change"));
    sessionStorage.setItem("scurry-change", JSON.stringify({ ...kept, at: kept.at - 1_800_001 }));
  });
  await page.reload();
  await open.getByText("Look for the transaction in what has happened to the account.").waitFor();
  assert.equal(await open.getByRole("button", { name: "Ask again…" }).isVisible(), false);
  await open.getByRole("button", { name: "Forget it" }).click();
  await open.waitFor({ state: "hidden" });
  await hear();
  // It was done, and the statement says so.
  await lookUp(want.account);
  await now("main", "1,005");
  const statement = await found.getByRole("region", { name: "What has happened", exact: true }).innerText();
  assert.deepEqual([statement.split(first).length, statement.split(second).length], [2, 2], "each once");
  // Names are never markup.
  await lookUp(want.odd);
  await goOn("Top up", "main", "1");
  await button("Top up by +1 <i>").click();
  await said("Done: 2 <i> available afterwards.");
  await close();
  assert.equal(await page.locator("img, #found i, dialog i").count(), 0);
  // Who only reads sees why not, and the server refuses in any case.
  await page.evaluate(() => sessionStorage.clear());
  await page.reload();
  await sign(want.reader);
  await lookUp(want.account);
  await found.getByText("This needs the role provision. You have: read.").waitFor();
  assert.equal(await found.getByRole("button", { name: "Continue…" }).isEnabled(), false);
  assert.equal(await found.getByRole("textbox", { name: "Amount", exact: true }).isEnabled(), false);
  const forced = await page.evaluate(async account => {
    const headers = { Authorization: credentials, "Content-Type": "application/json", "Idempotency-Key": "forced" };
    const answer = await fetch(`/v1/accounts/${account}/top-ups`, { method: "POST", headers, body: JSON.stringify({ bucket: "main", amount: "1" }) });
    return [answer.status, (await answer.json()).detail];
  }, want.account);
  assert.deepEqual(forced, [403, "the user reader has not the role provision"]);
  // A form that was made before the role was lost.
  await found.locator("fieldset").evaluate(set => { set.disabled = false; });
  await goOn("Top up", "main", "1");
  await button("Top up by +1 cent").click();
  await said("Not done: the user reader has not the role provision.");
  await close();
  await now("main", "1,005");
  return { available: await available("main") };
}

// A clerk looks after accounts: lists, holds, and each act; then a reader sees what it may.
async function clerk(want) {
  const sign = async token => {
    await page.locator("#signin-form").waitFor({ state: "visible" });
    await page.locator("#secret").fill(token);
    await page.keyboard.press("Enter");
    await page.locator("#signin-form").waitFor({ state: "hidden" });
    await page.locator("#lookup").waitFor({ state: "visible" });
  };
  const found = page.locator("#found"), dialog = page.getByRole("dialog");
  const fact = name => dialog.locator("dt", { hasText: new RegExp(`^${name}$`) }).locator("xpath=following-sibling::dd[1]").innerText();
  const said = text => dialog.getByRole("status").filter({ hasText: text }).waitFor();
  const button = name => dialog.getByRole("button", { name, exact: true });
  const twice = name => button(name).evaluate(pressed => { pressed.click(); pressed.click(); });
  const close = async () => { await button("Close").click(); await dialog.waitFor({ state: "hidden" }); };
  const cells = region => page.getByRole("region", { name: region, exact: true }).locator("tbody tr").evaluateAll(all => all.map(line => [...line.cells].map(cell => cell.textContent)));
  const bucket = async () => (await cells("Buckets"))[0].slice(2, 4);
  const now = (...amounts) => until(`${amounts}`, bucket, shown => JSON.stringify(shown) === JSON.stringify(amounts));
  const form = name => found.getByRole("form", { name, exact: true });
  const asked = [];
  page.on("request", request => { if (request.method() !== "GET") asked.push([request.method(), new URL(request.url()).pathname, request.headers()["idempotency-key"]]); });
  const ids = [];
  // What was asked for since the last look: once, under the user's name.
  const once = (method, path) => {
    const [[how, where, id], ...more] = asked.splice(0);
    assert.deepEqual([how, where, more], [method, path, []]);
    assert.match(id, /^console:clerk:[0-9a-f]{32}$/);
    ids.push(id);
  };
  const noMarkup = async () => assert.equal(await page.locator("main script, main b, main img, dialog b").count(), 0, "what the store says is never markup");

  await page.goto(base);
  await sign(want.clerk);
  // Pages of a list, by the begin of ids, forth and back.
  const how = page.locator("#list-how");
  await page.locator("#list-prefix").fill("list-");
  await page.keyboard.press("Enter");
  const seen = [];
  for (let number = 1; ; number++) {
    await until(`page ${number}`, () => how.textContent(), text => text.startsWith(`Page ${number}: `) || text === "No more accounts.");
    const lines = /^Page/.test(await how.textContent()) ? await cells("List of accounts") : [];
    seen.push(...lines.map(line => line[0]));
    for (const line of lines) assert.deepEqual(line.slice(1), ["active", "main: 0.07 USD", "0"]);
    const next = page.locator("#list-turns").getByRole("button", { name: "Next" });
    if (!await next.count()) break;
    await next.click();
  }
  assert.deepEqual(seen.sort(), want.listed);
  await page.locator("#list-turns").getByRole("button", { name: "Back" }).click();
  await until("a page before", () => how.textContent(), text => text.startsWith("Page "));
  await page.locator("#list-prefix").fill("none-has-this");
  await page.keyboard.press("Enter");
  await until("none", () => how.textContent(), text => text === "No account matches.");
  await page.locator("#list-prefix").fill(want.odd.slice(0, 3));
  await page.locator("#list-form button").click();
  await until("the odd account", () => how.textContent(), text => text.startsWith("Page 1: 1 account,"));
  await page.getByRole("region", { name: "List of accounts" }).getByRole("button", { name: want.odd, exact: true }).click();
  await found.getByRole("heading", { name: `${want.odd}: active` }).waitFor();
  await noMarkup();
  await shot("accounts");

  // Open holds by unit and by age, the oldest first; one is released. Cancelled, nothing is asked for.
  const holdsHow = page.locator("#holds-how");
  const holds = async (unit, age, says) => {
    await page.locator("#holds-unit").fill(unit);
    await page.locator("#holds-age").fill(age);
    await page.locator("#holds-form button").click();
    await until(says, () => holdsHow.textContent(), text => text.includes("Looked at all") && text.includes(says));
  };
  await holds("", "", "3 sessions hold 700.00 USD, 3 cent.");
  assert.deepEqual((await cells("Open holds")).map(line => line.slice(0, 3)), want.holds);
  await noMarkup();
  await shot("holds");
  await holds("cent", "0", "1 session holds 3 cent.");
  await holds("", "1", "no hold matches.");
  await holds("USD", "", "2 sessions hold 700.00 USD.");
  const stuck = page.getByRole("region", { name: "Open holds", exact: true }).locator("tr", { has: page.getByRole("rowheader", { name: "alice", exact: true }) });
  await stuck.getByRole("button", { name: "Release…" }).click();
  await button("Cancel").waitFor();
  assert.equal(await dialog.getByRole("heading").innerText(), "Release session s-1 of alice");
  assert.deepEqual([await fact("Goes back"), await page.evaluate(() => document.activeElement.id)], ["500.00 USD", "sure-close"]);
  await shot("release");
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "hidden" });
  assert.deepEqual(asked, []);
  await stuck.getByRole("button", { name: "Release…" }).press("Enter");
  await button("Release").waitFor();
  await twice("Release");
  await said("Done.");
  once("DELETE", "/v1/accounts/alice/sessions/s-1");
  await close();
  await until("it is gone", () => holdsHow.textContent(), text => text.includes("1 session holds 200.00 USD."));
  await found.getByRole("heading", { name: "alice: active" }).waitFor();
  await now("998.00", "0.00");
  // A session that has ended meanwhile.
  await page.evaluate(([path, id]) => fetch(path, { method: "DELETE", headers: { Authorization: credentials, "Idempotency-Key": id } }), [`/v1/accounts/${encodeURIComponent(want.odd)}/sessions/${encodeURIComponent(want.oddSession)}`, "another"]);
  asked.length = 0;
  await page.getByRole("region", { name: "Open holds", exact: true }).getByRole("button", { name: "Release…" }).click();
  await until("it has ended", () => page.locator("#sure-said").innerText(), text => text === `The session ${want.oddSession} has ended meanwhile.`);
  await close();

  // Suspend and activate.
  await found.getByRole("button", { name: "Suspend…" }).click();
  await twice("Suspend");
  await said("Done.");
  once("PUT", "/v1/accounts/alice/status");
  await close();
  await found.getByRole("heading", { name: "alice: suspended" }).waitFor();
  await found.getByRole("button", { name: "Activate…" }).click();
  await button("Activate").click();
  await said("Done.");
  once("PUT", "/v1/accounts/alice/status");
  await close();
  await found.getByRole("heading", { name: "alice: active" }).waitFor();

  // A part of a debit goes back, then the rest of it.
  const refund = async (amount, says) => {
    await found.getByRole("region", { name: "What has happened", exact: true }).getByRole("button", { name: "Refund…" }).last().click();
    await form("Refund a debit").getByRole("textbox").last().fill(amount);
    await form("Refund a debit").getByRole("button").click();
    if (says) await form("Refund a debit").getByRole("status").filter({ hasText: says }).waitFor();
  };
  await refund("0.505", "0.505 is no amount: say USD with at most 2 decimals above 0");
  await refund("2.01", "2.01 is too much: 2.00 USD of it are left.");
  await refund("0.50");
  assert.deepEqual([await fact("Debit"), await fact("Debited"), await fact("Goes back")], ["order-1", "2.00 USD", "0.50 USD"]);
  await twice("Refund 0.50 USD");
  await said("Done: 0.50 USD refunded.");
  once("POST", "/v1/accounts/alice/refunds");
  await close();
  await now("998.50", "0.00");
  await refund("");
  await twice("Refund 1.50 USD");
  await said("Done: 1.50 USD refunded.");
  once("POST", "/v1/accounts/alice/refunds");
  await close();
  await now("1,000.00", "0.00");
  await refund("", "All of this debit was refunded already.");

  // A limit is set, changed and removed.
  const limit = async (unit, amount, period) => {
    await form("Set a limit").getByRole("textbox", { name: "Limit", exact: true }).fill("a-day");
    await form("Set a limit").getByRole("textbox", { name: /^Unit/ }).fill(unit);
    await form("Set a limit").getByRole("textbox", { name: "Amount", exact: true }).fill(amount);
    await form("Set a limit").getByRole("combobox").selectOption(period);
    await form("Set a limit").getByRole("button").click();
  };
  await limit("USD", "20.5", "day");
  await twice("Set to 20.50 USD");
  await said("Done");
  once("PUT", "/v1/accounts/alice/limits/a-day");
  await close();
  await until("the limit", () => cells("Limits"), lines => JSON.stringify(lines[0]?.slice(0, 3)) === '["a-day","USD","20.50"]' && lines[0][7] === "day");
  await limit("USD", "30", "as it is, or none");
  assert.deepEqual([await fact("Amount now"), await fact("Period")], ["20.50", "day"]);
  await button("Set to 30.00 USD").click();
  await said("Done");
  once("PUT", "/v1/accounts/alice/limits/a-day");
  await close();
  await until("the limit", () => cells("Limits"), lines => lines[0]?.[2] === "30.00" && lines[0][7] === "day");
  await found.getByRole("region", { name: "Limits", exact: true }).getByRole("button", { name: "Remove…" }).click();
  await twice("Remove");
  await said("Done");
  once("DELETE", "/v1/accounts/alice/limits/a-day");
  await close();
  await until("no limit", () => found.getByRole("region", { name: "Limits", exact: true }).count(), count => count === 0);

  // Decimals: exactly, above 53 bits and below 0.
  const change = async (what, amount) => {
    await form("Top up or adjust").getByRole("combobox", { name: "What", exact: true }).selectOption(what);
    await form("Top up or adjust").getByRole("textbox", { name: "Amount", exact: true }).fill(amount);
    await form("Top up or adjust").getByRole("button").click();
  };
  for (const amount of ["0.001", "1,5", "1e2", "92233720368547758.08", "."]) {
    await change("Top up", amount);
    await form("Top up or adjust").getByText(`${amount} is no amount`).waitFor();
  }
  await change("Adjust", "-1000.05");
  assert.deepEqual([await fact("Amount"), await fact("Afterwards")], ["-1,000.05 USD", "-0.05 USD, if nothing else happens meanwhile"]);
  await button("Adjust by -1,000.05 USD").click();
  await said("Done: -0.05 USD available afterwards.");
  once("POST", "/v1/accounts/alice/adjustments");
  await close();
  await now("-0.05", "0.00");
  await change("Top up", "90071992547409.98");
  await button("Top up by +90,071,992,547,409.98 USD").click();
  await said("Done: 90,071,992,547,409.93 USD available afterwards.");
  once("POST", "/v1/accounts/alice/top-ups");
  await close();
  await now("90,071,992,547,409.93", "0.00");
  const happened = await found.getByRole("region", { name: "What has happened", exact: true }).innerText();
  for (const id of ids) assert.ok(happened.includes(`${id}, user clerk`), `${id} in ${happened}`);
  for (const [text, behind] of await page.evaluate(colours)) assert.ok(contrast(text, behind) >= 4.5, `${text} on ${behind}`);
  assert.deepEqual(await page.evaluate(misaligned), []);
  await whole("account");

  // The statement as a file, with what a spreadsheet would compute.
  const csv = async account => {
    await lookUp(account);
    const file = page.waitForEvent("download");
    await form("Statement as CSV").getByRole("button").click();
    const download = await file;
    await form("Statement as CSV").locator("xpath=..").getByText(`${download.suggestedFilename()}: `).waitFor();
    return [download.suggestedFilename(), await readFile(await download.path(), "utf8")];
  };
  const [name, statement] = await csv("formulas");
  assert.equal(name, "formulas.csv");
  assert.deepEqual(statement.replaceAll(/^20[0-9-]+T[0-9:.]+Z/gm, "TIME"), want.csv);
  await form("Statement as CSV").locator("input[type=date]").last().fill("2001-01-01");
  await form("Statement as CSV").locator("input[type=date]").first().fill("2001-01-02");
  await form("Statement as CSV").getByRole("button").click();
  await found.getByText("The last day is before the first one.").waitFor();
  const own = await csv("alice");
  assert.ok(own[1].includes(`,session-released,,,,,,,,${ids[0]},clerk,s-1,,`), own[1]);
  assert.ok(own[1].includes("refunded,main,USD,0.50,0.50,0.00,998.50,0.00,console:clerk:"), own[1]);
  assert.ok(own[1].includes("voided,main,USD,1000.05,-1000.05,0.00,-0.05,0.00,console:clerk:"), own[1]);
  // Lines are the same as by the other functions of a calendar, in each zone.
  for (const [text, isUtc, after, time] of [["2026-03-29", true, 0, Date.UTC(2026, 2, 29)], ["2026-12-31", true, 1, Date.UTC(2027, 0, 1)]])
    assert.equal(await page.evaluate(([text, isUtc, after]) => dayBegin(text, isUtc, after), [text, isUtc, after]), time);

  // A reader sees no act, and the server refuses in any case.
  await page.evaluate(() => sessionStorage.clear());
  await page.reload();
  await sign(want.reader);
  await lookUp("bob");
  await page.locator("#holds-form button").click();
  await page.getByRole("region", { name: "Open holds", exact: true }).waitFor();
  assert.deepEqual(await page.getByRole("button", { name: /^(Release|Suspend|Activate|Refund|Remove)/ }).allInnerTexts(), []);
  assert.equal(await form("Set a limit").count() + await form("Refund a debit").count(), 0);
  const refused = await page.evaluate(async () => {
    const ask = async (method, path, body, id) => {
      const headers = { Authorization: credentials, "Idempotency-Key": id, ...(body ? { "Content-Type": "application/json" } : {}) };
      return (await fetch(path, { method, headers, body })).status;
    };
    const id = `console:reader:${random()}`;
    return [await ask("DELETE", "/v1/accounts/bob/sessions/call", null, id), await ask("PUT", "/v1/accounts/bob/status", '{"status":"suspended"}', id),
      await ask("POST", "/v1/accounts/bob/refunds", '{"debit":"x"}', id), await ask("DELETE", "/v1/accounts/bob/limits/x", null, id)];
  });
  assert.deepEqual(refused, [403, 403, 403, 403]);
  return { ids };
}

// A group as one of its nodes shows it: what may be lost and why, and a line for each node.
async function group(want) {
  await page.goto(base);
  await until("whether a node may be lost", () => page.locator("#lose").innerText(), text => text.startsWith(want.lose));
  await until("the state", () => page.locator("#state").textContent(), text => text === want.state);
  const lines = () => page.locator("#group tbody tr").evaluateAll(all => all.map(line => [...line.cells].map(cell => cell.textContent)));
  for (const [address, cells] of Object.entries(want.nodes))
    await until(`the node at ${address}`, async () => (await lines()).find(line => line[1] === address)?.slice(2), line => JSON.stringify(line) === JSON.stringify(cells));
  const all = await lines();
  assert.equal(all.length, Object.keys(want.nodes).length);
  assert.deepEqual(all.filter(line => line[0].endsWith(" (this one)")).map(line => line[1]), [want.own]);
  const tree = await page.locator("body").ariaSnapshot();
  for (const part of ['heading "Group"', 'columnheader "Leads"']) assert.ok(tree.includes(part), `${part} is not in the tree:\n${tree}`);
  for (const [text, behind] of await page.evaluate(colours)) assert.ok(contrast(text, behind) >= 4.5, `${text} on ${behind}`);
  await shot("group");
  return { nodes: all.length };
}

// The peers of a Diameter door: a line for each, those that are connected first; the one that sends requests has a rate.
async function diameter(want) {
  await page.goto(base);
  await until("serving", () => page.locator("#state").textContent(), text => text === "serving");
  const heads = await until("the peers", () => page.locator("#diameter thead th").allInnerTexts(), heads => heads.length > 0);
  const lines = () => page.locator("#diameter tbody tr").evaluateAll(all => all.map(line => [...line.cells].map(cell => cell.textContent)));
  const shown = ["Realm", "State", "Answers by code", "Dropped", "To the peer", "Errors", "Last error"].map(name => heads.indexOf(name));
  for (const [host, cells] of Object.entries(want))
    await until(`the peer ${host}`, async () => (await lines()).find(line => line[0] === host), line => line !== undefined && JSON.stringify(shown.map(at => line[at])) === JSON.stringify(cells));
  const all = await lines();
  assert.deepEqual(all.map(line => line[heads.indexOf("State")]), ["open", "absent"]);
  for (const line of all) {
    assert.match(line[heads.indexOf("Since")], /^20[0-9-]+ [0-9:.]+ UTC$/);
    assert.match(line[heads.indexOf("Address")], /^127\.0\.0\.1:[0-9]+$/);
  }
  await until("a rate", async () => (await lines())[0][heads.indexOf("Requests/s")], text => /^[1-9]/.test(text));
  await until("no rate", async () => (await lines())[1][heads.indexOf("Requests/s")], text => text === "0");
  const tree = await page.locator("body").ariaSnapshot();
  for (const part of ['heading "Diameter peers"', 'columnheader "Last error"', 'region "Diameter peers"']) assert.ok(tree.includes(part), `${part} is not in the tree:\n${tree}`);
  for (const [text, behind] of await page.evaluate(colours)) assert.ok(contrast(text, behind) >= 4.5, `${text} on ${behind}`);
  assert.deepEqual(await page.evaluate(misaligned), []);
  assert.deepEqual(await page.evaluate(empty), []);
  await shot("diameter");
  return { peers: all.length };
}

// The consumers of Nchf: a line for each, and those that could not be notified.
async function nchf(want) {
  await page.goto(base);
  const cells = id => page.locator(`#${id} tbody tr`).evaluateAll(all => all.map(line => [...line.cells].map(cell => cell.textContent)));
  await until("the failed notifications", () => cells("nchf-failed"), lines => JSON.stringify(lines) === JSON.stringify(want.failed));
  const heads = await page.locator("#nchf thead th").allInnerTexts(), at = heads.indexOf("Requests/s");
  for (const expected of want.consumers)
    await until(`the consumer ${expected}`, async () => (await cells("nchf")).find(line => line[0] === expected[0])?.filter((_, column) => column !== at), line => JSON.stringify(line) === JSON.stringify(expected));
  assert.equal((await cells("nchf")).length, want.consumers.length);
  await until("a rate", async () => (await cells("nchf"))[0][at], text => /^[0-9]/.test(text));
  await until("what became of notifications", () => page.locator("#nchf-notices").textContent(), text => text === want.notices);
  const tree = await page.locator("body").ariaSnapshot();
  for (const part of ['heading "5G consumers"', 'columnheader "Creates"', 'region "Notifications that failed"']) assert.ok(tree.includes(part), `${part} is not in the tree:\n${tree}`);
  for (const [text, behind] of await page.evaluate(colours)) assert.ok(contrast(text, behind) >= 4.5, `${text} on ${behind}`);
  assert.deepEqual(await page.evaluate(misaligned), []);
  assert.deepEqual(await page.evaluate(empty), []);
  await shot("nchf");
  return { consumers: want.consumers.length };
}

try {
  const found = await { figures: () => figures(JSON.parse(told)), signin: () => signin(told), nodes: () => nodes(told, more), lookup: () => lookup(told), identities: () => identities(JSON.parse(told)), change: () => change(JSON.parse(told)), clerk: () => clerk(JSON.parse(told)), statement: () => statement(JSON.parse(told)), "no-statement": () => noStatement(JSON.parse(told)), group: () => group(JSON.parse(told)), diameter: () => diameter(JSON.parse(told)), nchf: () => nchf(JSON.parse(told)) }[task]();
  assert.deepEqual(faults, []);
  console.log(JSON.stringify(found));
} finally {
  await browser.close();
}
