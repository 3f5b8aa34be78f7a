// Opens a made site in headless Chromium from where it lies, as a reader would: pages show, the search finds a word
// and leads to it, and nothing is asked of anybody else.
//
// usage: node site.mjs LIBRARIES CHROMIUM SITE
//   LIBRARIES  the directory whose node_modules has playwright-core
import { createRequire } from "node:module";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [libraries, chromium, site] = process.argv.slice(2);
const { chromium: browserType } = createRequire(join(libraries, "package.json"))("playwright-core");
const patience = 120_000;
const profile = mkdtempSync(join(tmpdir(), "scurry-site-"));
const faults = [];
const root = pathToFileURL(`${site}/`).href;
const context = await browserType.launchPersistentContext(profile, {
  executablePath: chromium,
  args: ["--no-sandbox"],
  viewport: { width: 1200, height: 900 },
});
try {
  const page = await context.newPage();
  page.setDefaultTimeout(patience);
  page.on("pageerror", (error) => faults.push(`an error in ${page.url()}: ${error.message}`));
  page.on("requestfailed", (request) => faults.push(`not there: ${request.url()}`));
  page.on("request", (request) => {
    if (!request.url().startsWith(root) && !request.url().startsWith("data:")) {
      faults.push(`asked of another: ${request.url()}`);
    }
  });
  for (const path of ["index.html", "docs/commands.html", "docs/operations.html", "docs/adr/index.html"]) {
    await page.goto(new URL(path, root).href);
    await page.locator("main h1").first().waitFor();
    const broken = await page.evaluate(
      () => [...document.images].filter((image) => image.complete && !image.naturalWidth).map((image) => image.src),
    );
    faults.push(...broken.map((image) => `no picture in ${path}: ${image}`));
    await page.locator("#mdbook-sidebar a, .sidebar a").first().waitFor();
  }
  await page.goto(new URL("index.html", root).href);
  // Its key may come before its index has been read.
  const bar = page.locator("input[type=search]");
  for (const end = Date.now() + patience; !(await bar.isVisible()); ) {
    if (Date.now() > end) throw new Error("the search does not open");
    await page.keyboard.press("s");
    await page.waitForTimeout(100);
  }
  // It listens to keys.
  await bar.fill("");
  await bar.pressSequentially("can_lose_a_node");
  const found = page.locator("#mdbook-searchresults a, #searchresults a").first();
  await found.waitFor();
  await found.click();
  await page.waitForURL((url) => url.search.includes("highlight=can_lose_a_node"));
  await page.locator("main mark").first().waitFor({ state: "attached" });
} catch (error) {
  faults.push(error.message);
} finally {
  await context.close();
  rmSync(profile, { recursive: true, force: true });
}
faults.forEach((fault) => console.log(fault));
process.exit(faults.length === 0 ? 0 : 1);
