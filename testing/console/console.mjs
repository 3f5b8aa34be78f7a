// Drives the console in a headless Chromium and says what it finds: one line of JSON. It is started
// by crates/cli/tests/http/console.rs with the address of a door, a fresh directory for the
// browser, and what to do there.
//
// usage: node console.mjs BASE PROFILE figures '{"account": ..., "sessions": ..., ...}'
//        node console.mjs BASE PROFILE signin TOKEN
//        node console.mjs BASE PROFILE nodes READY [AWAY]
//        node console.mjs BASE PROFILE lookup ACCOUNT
//        node console.mjs BASE PROFILE group '{"state": ..., "lose": ..., "nodes": {"ADDRESS": [...]}}'
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import path from "node:path";

const [base, profile, task, told, more] = process.argv.slice(2);
// Where pictures of the page go, when somebody wants to look at them.
const shots = process.env.CONSOLE_SHOTS;
// The library lies where scripts/install-tools.sh has put it.
const { chromium } = createRequire(path.join(process.env.CONSOLE_LIBRARIES, "x"))("playwright-core");
const PATIENCE = 20_000;

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
  for (const chart of ["rate", "latency", "holds", "expired"]) {
    await until(`a line in ${chart}`, () => page.locator(`#${chart} path.line1`).count(), count => count === 1);
    assert.ok(await page.locator(`#${chart}`).getAttribute("aria-labelledby"));
  }
  // Which server this is, and who asks it what over HTTP.
  const about = await page.locator("#about").innerText();
  for (const part of want.about) assert.ok(about.includes(part), `${part} is not in ${about}`);
  assert.match(about, /run [0-9a-f]{16}, /);
  assert.ok((await page.title()).startsWith(`${want.about[0]} on `));
  const scraped = row("http", "GET /metrics").locator("td");
  await until("requests by status", () => scraped.last().innerText(), text => /^200: [1-9]/.test(text));
  // What was seen is there after a reload.
  await until("points", () => page.evaluate(() => points.length), length => length >= 2);
  const [first, length] = await page.evaluate(() => [points[0].at, points.length]);
  await page.reload();
  await until("points after a reload", () => page.evaluate(() => points.length ? points[0].at : null), at => at === first);
  assert.ok(await page.evaluate(() => points.length) >= length, "no point is lost");
  const bound = await page.evaluate(() => {
    const now = Date.now();
    points = Array.from({ length: 1000 }, (_, at) => ({ ...points[0], at: now - (1000 - at) * 10_000 }));
    remember(points[0], whose);
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
  for (const part of ["- banner", "- main", "- contentinfo", "- search", 'heading "Totals per unit"', 'textbox "Account id"',
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
  await page.setViewportSize({ width: 1200, height: 1500 });
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

// WCAG 2.2, relative luminance and contrast ratio.
function contrast(one, other) {
  const luminance = colour => {
    const [r, g, b] = colour.match(/[\d.]+/g).map(Number).map(part => part / 255)
      .map(part => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
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
  await found.getByRole("heading", { name: "Last events" }).waitFor();
  return { found: await found.innerText() };
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

try {
  const found = await { figures: () => figures(JSON.parse(told)), signin: () => signin(told), nodes: () => nodes(told, more), lookup: () => lookup(told), group: () => group(JSON.parse(told)) }[task]();
  assert.deepEqual(faults, []);
  console.log(JSON.stringify(found));
} finally {
  await browser.close();
}
