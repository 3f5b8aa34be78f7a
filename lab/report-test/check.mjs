// Opens the laboratory's page in headless Chromium and says what is wrong with it.
//
// usage: node check.mjs LIBRARIES CHROMIUM PAGE [PICTURE]
//   LIBRARIES  the directory whose node_modules has playwright-core
//   PICTURE    where the first screen is kept as PNG
// One line of JSON per view on stdout; the exit code is not 0 when a view has faults.
import { createRequire } from "node:module";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [libraries, chromium, page_path, picture] = process.argv.slice(2);
const { chromium: browserType } = createRequire(join(libraries, "package.json"))("playwright-core");
const profile = mkdtempSync(join(tmpdir(), "scurry-lab-report-"));
const views = [
  { name: "desktop", width: 1200, height: 1600, scheme: "light" },
  { name: "dark", width: 1200, height: 1700, scheme: "dark" },
  { name: "phone", width: 360, height: 740, scheme: "light" },
];
let failed = false;

// Runs in the page: what a reader would stumble over.
function faultsOf(width) {
  const faults = [];
  if (document.documentElement.scrollWidth > width) {
    faults.push(`the page is ${document.documentElement.scrollWidth} wide on a screen of ${width}`);
  }
  const luminance = (colour) => {
    const [red, green, blue] = colour.match(/[\d.]+/g).slice(0, 3).map((part) => {
      const share = Number(part) / 255;
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const paper = luminance(getComputedStyle(document.documentElement).backgroundColor);
  const contrast = (colour) => {
    const ink = luminance(colour);
    return (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05);
  };
  for (const element of document.querySelectorAll("p, li, td, th, dt, dd, h1, h2, h3, svg text")) {
    const style = getComputedStyle(element);
    const colour = element.closest("svg") ? style.fill : style.color;
    if (contrast(colour) < 4.5) {
      faults.push(`too little contrast (${contrast(colour).toFixed(1)}): ${element.textContent}`);
      break;
    }
  }
  for (const line of document.querySelectorAll("svg .line")) {
    if (contrast(getComputedStyle(line).stroke) < 3) {
      faults.push(`a line of class ${line.getAttribute("class")} is hard to see`);
      break;
    }
  }
  for (const bar of document.querySelectorAll(".pairs .bar-ours, .pairs .bar-peer")) {
    const [box, track] = [bar, bar.parentElement].map((one) => one.getBoundingClientRect());
    if (box.width < 2 || box.height < 8 || box.right > track.right + 1) {
      faults.push(`a bar of ${box.width.toFixed(0)} x ${box.height.toFixed(0)} px in ${track.width.toFixed(0)}`);
      break;
    }
    const fill = getComputedStyle(bar).backgroundImage.match(/rgb[^)]*\)/)?.[0]
      ?? getComputedStyle(bar).backgroundColor;
    if (contrast(fill) < 3) {
      faults.push(`a bar of ${fill} is hard to see`);
      break;
    }
  }
  for (const part of document.querySelectorAll(".pairs .figures, .pairs .times, .pairs .promise")) {
    const box = part.getBoundingClientRect();
    if (box.height < 10 || box.right > width || part.scrollWidth > box.width + 2) {
      faults.push(`the picture cuts off ${part.textContent}`);
      break;
    }
  }
  for (const svg of document.querySelectorAll("svg")) {
    const frame = svg.getBoundingClientRect();
    for (const text of svg.querySelectorAll("text")) {
      const box = text.getBoundingClientRect();
      if (box.height < 8) {
        faults.push(`text of ${box.height.toFixed(1)} px: ${text.textContent}`);
        break;
      }
      if (box.left < frame.left - 2 || box.right > frame.right + 2) {
        faults.push(`text leaves its chart: ${text.textContent}`);
        break;
      }
    }
    // A name and a figure share a line above each bar.
    const rows = [...svg.querySelectorAll("text.figure")];
    for (const figure of rows) {
      const name = figure.previousElementSibling.getBoundingClientRect();
      if (name.right > figure.getBoundingClientRect().left) {
        faults.push(`a name runs into its figure: ${figure.previousElementSibling.textContent}`);
        break;
      }
    }
  }
  return faults;
}

// Runs in the page as it opens: people look before they read.
function openingOf(height) {
  const faults = [];
  const rows = [...document.querySelectorAll(".pairs a")];
  const seen = rows.filter((row) => row.getBoundingClientRect().bottom <= height).length;
  if (rows.length > 0 && seen < Math.min(3, rows.length)) {
    faults.push(`${seen} rows of the picture are on the first screen`);
  }
  const open = document.querySelectorAll("details[open]").length;
  if (open > 0) faults.push(`${open} parts that fold are open`);
  for (const row of rows) {
    const section = document.getElementById(row.hash.slice(1));
    const charts = section ? section.querySelectorAll("svg").length : 0;
    if (charts === 0 || !section.querySelector("svg").checkVisibility()) {
      faults.push(`a row of the picture leads to no charts: ${row.textContent}`);
      break;
    }
  }
  return faults;
}

const context = await browserType.launchPersistentContext(profile, {
  executablePath: chromium,
  headless: true,
  args: [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
  ],
});
try {
  for (const view of views) {
    const page = await context.newPage();
    const asked = [];
    const said = [];
    page.on("request", (request) => asked.push(request.url()));
    page.on("console", (message) => said.push(message.text()));
    page.on("pageerror", (error) => said.push(String(error)));
    await page.setViewportSize({ width: view.width, height: view.height });
    await page.emulateMedia({ colorScheme: view.scheme });
    const address = pathToFileURL(page_path).href;
    await page.goto(address);
    const faults = await page.evaluate(openingOf, view.height);
    if (picture && view.name === "desktop") await page.screenshot({ path: picture });
    await page.evaluate(() => {
      for (const part of document.querySelectorAll("details")) part.open = true;
    });
    faults.push(...await page.evaluate(faultsOf, view.width));
    faults.push(...asked.filter((url) => url !== address).map((url) => `it asks for ${url}`));
    faults.push(...said.map((text) => `the browser says ${text}`));
    const counts = await page.evaluate(() => ({
      charts: document.querySelectorAll("svg").length,
      scripts: document.scripts.length,
      tables: document.querySelectorAll("table").length,
      pairs: document.querySelectorAll(".pairs li").length,
    }));
    console.log(JSON.stringify({ view: view.name, ...counts, faults }));
    failed ||= faults.length > 0;
    await page.close();
  }
  // In print nothing may be cut off at the right edge of a landscape A4 page (273 mm inside).
  const page = await context.newPage();
  await page.setViewportSize({ width: 1031, height: 700 });
  await page.emulateMedia({ media: "print", colorScheme: "dark" });
  await page.goto(pathToFileURL(page_path).href);
  const faults = await page.evaluate(faultsOf, 1031);
  // A reader of paper cannot unfold.
  const hidden = await page.evaluate(() => [...document.querySelectorAll("details table")]
    .filter((table) => !table.checkVisibility({ contentVisibilityAuto: true })).length);
  if (hidden > 0) faults.push(`${hidden} tables stay folded in print`);
  const paper = await page.evaluate(
    () => getComputedStyle(document.documentElement).backgroundColor,
  );
  if (paper !== "rgb(255, 255, 255)") faults.push(`it prints on ${paper}`);
  const pdf = await page.pdf({ preferCSSPageSize: true });
  const pages = pdf.toString("latin1").match(/\/Type\s*\/Page[^s]/g)?.length ?? 0;
  console.log(JSON.stringify({ view: "print", pages, faults }));
  failed ||= faults.length > 0 || pages === 0;
} finally {
  await context.close();
  rmSync(profile, { recursive: true, force: true });
}
process.exit(failed ? 1 : 0);
