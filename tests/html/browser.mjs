// A browser, pages in it, and tests that count as tests/run.sh wants it.
//
// environment: CHROMIUM (program), HTML_TEST_MODULES (where npm put playwright-core), PAGES (folder
// of the pages to look at), ONLY (a regular expression: no other tests)
import { createRequire } from "node:module";
import { strict as assert } from "node:assert";

const require = createRequire(process.env.HTML_TEST_MODULES + "/");
const { chromium } = require("playwright-core");

export { assert };

// As root Chromium starts without its sandbox only; it sees no page but ours.
export function launch() {
    return chromium.launch({
        executablePath: process.env.CHROMIUM,
        args: process.getuid() === 0 ? ["--no-sandbox"] : [],
    });
}

// Opens PAGES/name.html; page.complaints gets what a browser complains of, and every request for
// something that is not the page itself.
export async function open(browser, name, options = {}) {
    const { view, ...context } = options;
    const page = await browser.newPage({ viewport: { width: 1280, height: 900 }, ...context });
    page.setDefaultTimeout(15000);
    page.complaints = [];
    page.on("console", (message) => {
        if (message.type() === "error" || message.type() === "warning")
            page.complaints.push(message.text());
    });
    page.on("pageerror", (error) => page.complaints.push(error.stack));
    page.on("request", (request) => {
        if (!request.isNavigationRequest()) page.complaints.push("request: " + request.url());
    });
    await page.goto(`file://${process.env.PAGES}/${name}.html${view ? "#" + view : ""}`);
    return page;
}

const tests = [];

export function test(name, action) {
    tests.push({ name, action });
}

// Runs all tests in one browser; each gets it and closes its pages itself.
export async function runTests() {
    const browser = await launch();
    let failed = 0;
    const only = new RegExp(process.env.ONLY || "");
    const chosen = tests.filter(({ name }) => only.test(name));
    for (const { name, action } of chosen) {
        try {
            await action(browser);
            console.log(`ok ${name}`);
        } catch (error) {
            failed++;
            console.log(
                `not ok ${name}\n    ${String(error.stack || error).replace(/\n/g, "\n    ")}`,
            );
        }
        for (const context of browser.contexts()) await context.close();
    }
    await browser.close();
    console.log(`${chosen.length - failed} passed, ${failed} failed`);
    process.exit(failed ? 1 : 0);
}

// ---- What tests ask of tables ----

const SCALES = {
    ns: 1,
    us: 1e3,
    ms: 1e6,
    s: 1e9,
    B: 1,
    KiB: 2 ** 10,
    MiB: 2 ** 20,
    GiB: 2 ** 30,
    "%": 1,
    "": 1,
};

// Rows that are scrolled away are no elements: scrolls through all of them. Of each row the texts
// by key.
export async function rowsOf(box) {
    await box.waitFor();
    return box.evaluate(async (element) => {
        const rows = new Map();
        const frame = () => new Promise(requestAnimationFrame);
        const count = Number(element.querySelector("table").ariaRowCount) - 1;
        const keys = [...element.querySelectorAll("thead th")].map((head) => head.dataset.key);
        element.scrollTop = 0;
        await frame();
        for (let before = -1; rows.size < count && element.scrollTop !== before;) {
            for (const row of element.querySelectorAll("tbody tr:not(.space)")) {
                const texts = [...row.children].map((cell, i) => [keys[i], cell.textContent]);
                rows.set(Number(row.ariaRowIndex), Object.fromEntries(texts));
            }
            before = element.scrollTop;
            element.scrollTop += Math.max(100, element.clientHeight - 60);
            await frame();
            await frame();
        }
        element.scrollTop = 0;
        return [...rows].sort(([a], [b]) => a - b).map(([, texts]) => texts);
    });
}

export async function column(box, key) {
    return (await rowsOf(box)).map((row) => row[key]);
}

// Shows columns that the menu has and the table not yet.
export async function showColumns(box, ...keys) {
    await box.evaluate((element, wanted) => {
        const { dataTable } = element.closest(".table");
        for (const each of dataTable.columns) each.shown ||= wanted.includes(each.key);
        dataTable.useColumns();
    }, keys);
}

export async function unitOf(box, key) {
    return (await box.locator(`thead th[data-key="${key}"] .unit`).allTextContents())
        .join("")
        .trim();
}

// A text of a column against the number that it stands for: as near as its last digit.
export function assertNear(text, exact, unit, what) {
    if (exact === null || exact === undefined) return assert.equal(text, "", what);
    const digits = text.replace(/,/g, "").replace(/^> −/, "-").replace(/^< /, "");
    const last = 10 ** -(digits.split(".")[1] || "").length;
    const shown = Number(digits);
    const value = exact / SCALES[unit];
    const slack = /[<>]/.test(text) ? last : last / 2 + Math.abs(value) * 1e-9;
    assert.ok(Math.abs(shown - value) <= slack * 1.001, `${what}: ${text} ${unit} for ${exact}`);
}

export async function assertColumn(box, key, values) {
    const [unit, texts] = [await unitOf(box, key), await column(box, key)];
    assert.equal(texts.length, values.length, key);
    texts.forEach((text, i) => assertNear(text, values[i], unit, `${key} of row ${i}`));
}

// ---- What tests ask of the time line ----

export function view(page) {
    return page.evaluate(() => ({ ...miniprof.line.view }));
}

export function length({ from, to }) {
    return to - from;
}

export function selectedName(page) {
    return page.evaluate(() => {
        const { selected, timeline } = miniprof.line;
        return selected < 0 ? null : timeline.names[timeline.kinds[timeline.kind[selected]][0]][1];
    });
}

// Until no frame is pending and no movement goes on.
export async function settled(page) {
    await page.evaluate(async () => {
        let before;
        do {
            before = JSON.stringify(miniprof.line.view);
            await new Promise((resolve) => setTimeout(resolve, 60));
        } while (before !== JSON.stringify(miniprof.line.view) || miniprof.line.pending);
    });
}

// Where the middle of the first event of that name is on the screen, when it is shown large.
export async function placeOf(page, name) {
    await page.evaluate((wanted) => {
        const { line } = miniprof;
        const { timeline } = line;
        for (let i = 0; i < timeline.count; i++) {
            if (timeline.names[timeline.kinds[timeline.kind[i]][0]][1] !== wanted) continue;
            line.show(i);
            line.select(-1);
            line.motion++;
            line.setView(
                timeline.begin[i] - timeline.duration[i],
                timeline.begin[i] + 2 * timeline.duration[i],
            );
            window.placed = i;
            return;
        }
    }, name);
    await settled(page);
    return page.evaluate(() => {
        const { line } = miniprof;
        const box = line.canvas.getBoundingClientRect();
        const row = line.rows.find(
            ({ track }) => track && track.first <= placed && placed < track.end,
        );
        return {
            x: box.left + box.width / 2,
            y: box.top + row.y - line.frame.scrollTop + row.height / 2,
        };
    });
}

// What is painted, as a text to compare.
export function picture(page) {
    return page.evaluate(async () => {
        await new Promise(requestAnimationFrame);
        await new Promise(requestAnimationFrame);
        return miniprof.line.canvas.toDataURL();
    });
}
