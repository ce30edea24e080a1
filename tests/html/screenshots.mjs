// The pictures of docs/html.md, into the folder SCREENSHOTS. With EVERY=1 those of every view, light
// and dark, in three widths: docs/images/views.
import { launch, open, settled } from "./browser.mjs";

const CALM = { reducedMotion: "reduce" };
const WIDE = { width: 1600, height: 1000 };
const MIDDLE = { width: 1000, height: 760 };
const NARROW = { width: 420, height: 860 };

const browser = await launch();

// prepare(page): what is done before.
async function shoot(picture, name, view, viewport, colorScheme = "light", prepare = null) {
    const page = await open(browser, name, { view, viewport, colorScheme, ...CALM });
    await page.waitForTimeout(500);
    if (prepare) await prepare(page);
    await page.waitForTimeout(600);
    await page.screenshot({ path: `${process.env.SCREENSHOTS}/${picture}.png` });
    await page.close();
}

// An iteration of the inference sample, with a kernel that is selected.
async function selectKernel(page) {
    await page.getByLabel("Search events by name").fill("add_join");
    for (let i = 0; i < 12; i++) await page.keyboard.press("Enter");
    await page.evaluate(() => miniprof.line.zoom(0.9));
    await page.evaluate(() => document.activeElement.blur());
    await settled(page);
}

async function showIteration(page) {
    await page.evaluate(() => miniprof.line.zoom(0.006));
    await settled(page);
}

// One iteration measured in the ruler, the pointer on a kernel.
async function measure(page) {
    await page.evaluate(() => {
        const { line } = miniprof;
        line.setView(6.08e6, 6.4e6);
        line.measure({ from: 6.1e6, to: 6.3e6 });
    });
    await settled(page);
    const box = await page.locator("canvas").boundingBox();
    await page.mouse.move(box.x + box.width * 0.3, box.y + 40);
}

// Two iterations, the pointer on the first counter.
async function showCounters(page) {
    await page.evaluate(() => {
        document.querySelector("#subtitle").textContent = "samples/inference"; // no path
        miniprof.line.zoom(0.1);
    });
    await settled(page);
    const y = await page.evaluate(() => {
        const row = miniprof.line.rows.find(({ line }) => line);
        return row.y + row.height / 2 - miniprof.line.frame.scrollTop;
    });
    const box = await page.locator("canvas").boundingBox();
    await page.mouse.move(box.x + box.width * 0.3, box.y + y);
}

const PICTURES = [
    ["html-overview", "eager", "overview", WIDE],
    ["html-overview-1000", "inference", "overview", MIDDLE],
    ["html-timeline", "inference", "timeline", WIDE, "light", selectKernel],
    ["html-timeline-dark", "inference", "timeline", WIDE, "dark", selectKernel],
    ["html-timeline-eager", "eager", "timeline", WIDE, "light", showIteration],
    ["html-timeline-measure", "inference", "timeline", MIDDLE, "dark", measure],
    ["html-timeline-counters", "sampled", "timeline", WIDE, "light", showCounters],
    ["html-timeline-ranks", "ranks", "timeline", WIDE, "dark"],
    ["html-iterations", "eager", "iterations", WIDE],
    ["html-advice", "eager", "advise", WIDE],
    ["html-memory", "memory", "memory", WIDE],
    ["html-stacks", "stacks", "stacks&zoom=2&node=3", MIDDLE],
    ["html-diff", "diff", "comparison", { width: 1600, height: 1180 }],
    ["html-diff-dark", "diff", "kernels", MIDDLE, "dark"],
];

// Every view once, of a trace that has something to show there.
const VIEWS = {
    eager: "overview iterations timeline advise layers kernels overlap summary nvtx deps info",
    memory: "memory",
    stacks: "stacks",
    ranks: "processes",
    diff: "comparison quantities iterations kernels positions",
};

async function shootEvery() {
    for (const [name, views] of Object.entries(VIEWS))
        for (const view of views.split(" "))
            for (const viewport of [WIDE, MIDDLE, NARROW])
                for (const theme of ["light", "dark"])
                    await shoot(
                        `${name}-${view}-${viewport.width}-${theme}`,
                        name,
                        view,
                        viewport,
                        theme,
                    );
}

if (process.env.EVERY) await shootEvery();
else for (const picture of PICTURES) await shoot(...picture);
await browser.close();
