// The pictures of docs/html.md, into the folder SCREENSHOTS.
import { launch, open, settled } from "./browser.mjs";

const VIEWPORT = { width: 1200, height: 760 };

async function shoot(page, name) {
    await page.waitForTimeout(600);
    await page.screenshot({ path: `${process.env.SCREENSHOTS}/${name}.png` });
}

const browser = await launch();

const overview = await open(browser, "eager", { viewport: VIEWPORT });
await shoot(overview, "html-overview");

const line = await open(browser, "inference", {
    viewport: VIEWPORT,
    view: "timeline",
    reducedMotion: "reduce",
});
await line.getByLabel("Search events by name").fill("add_join");
for (let i = 0; i < 12; i++) await line.keyboard.press("Enter");
await line.evaluate(() => miniprof.line.zoom(1.6));
await line.evaluate(() => document.activeElement.blur());
await settled(line);
await shoot(line, "html-timeline");

const dark = await open(browser, "eager", {
    viewport: VIEWPORT,
    view: "timeline",
    colorScheme: "dark",
    reducedMotion: "reduce",
});
await dark.evaluate(() => miniprof.line.zoom(0.006));
await settled(dark);
await shoot(dark, "html-timeline-dark");

const iterations = await open(browser, "eager", { viewport: VIEWPORT, view: "iterations" });
await shoot(iterations, "html-iterations");

const advice = await open(browser, "inference", { viewport: VIEWPORT, view: "advise" });
await shoot(advice, "html-advice");

const memory = await open(browser, "memory", { viewport: VIEWPORT, view: "memory" });
await shoot(memory, "html-memory");

const comparison = await open(browser, "diff", { viewport: { width: 1200, height: 1180 } });
await shoot(comparison, "html-diff");

await browser.close();
