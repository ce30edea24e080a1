// Whether everybody gets at it: axe-core over all views, narrow windows, print, and addresses that
// lead back to what was shown.
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import { assert, open, runTests, selectedName, settled, test, view } from "./browser.mjs";

const require = createRequire(process.env.HTML_TEST_MODULES + "/");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf-8");
const CALM = { reducedMotion: "reduce" };

// ---- axe-core ----

// The page's policy lets no other script run, so axe comes in by the browser's own door.
async function faultsOf(page) {
    return page.evaluate(async () => {
        const { violations } = await window.axe.run(document, {
            runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"],
        });
        return violations.flatMap(({ id, nodes }) =>
            nodes.map(({ target, failureSummary }) => `${id}: ${target} ${failureSummary}`),
        );
    });
}

for (const [name, colorScheme] of [
    ["eager", "light"],
    ["memory", "dark"],
    ["diff", "light"],
    ["ranks", "dark"],
    ["stacks", "light"],
    ["stacks", "dark"],
]) {
    test(`${name}, ${colorScheme}: axe-core finds no fault in any view`, async (browser) => {
        const page = await open(browser, name, { colorScheme, ...CALM });
        await page.evaluate(axe);
        for (const tab of await page.getByRole("tab").all()) {
            await tab.click();
            await page.waitForTimeout(450);
            assert.deepEqual(await faultsOf(page), [], await tab.innerText());
        }
    });
}

// ---- Narrow, and on paper ----

for (const width of [1000, 420]) {
    test(`at ${width} pixels no view is wider than the window`, async (browser) => {
        const viewport = { width, height: 800 };
        const stacks = await open(browser, "stacks", { viewport, view: "stacks", ...CALM });
        assert.ok((await stacks.evaluate(() => document.documentElement.scrollWidth)) <= width);
        const page = await open(browser, "eager", { viewport, ...CALM });
        for (const tab of await page.getByRole("tab").all()) {
            await tab.click();
            await page.waitForTimeout(100);
            const wide = await page.evaluate(() => document.documentElement.scrollWidth);
            assert.ok(wide <= width, `${await tab.innerText()}: ${wide}`);
        }
        assert.deepEqual(page.complaints, []);
    });
}

test("on paper tables have their rows and tools are gone", async (browser) => {
    const page = await open(browser, "eager", { view: "kernels" });
    await page.locator(".table-box").first().waitFor();
    const rows = page.locator("#view-kernels tbody tr:not(.space)");
    assert.ok((await rows.count()) < 60);
    await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
    await page.emulateMedia({ media: "print" });
    assert.equal(await rows.count(), 63);
    assert.ok(!(await page.locator("#tabs").isVisible()));
    assert.ok(!(await page.locator("#view-kernels .tools").isVisible()));
    await page.emulateMedia({ media: "screen" });
    await page.evaluate(() => dispatchEvent(new Event("afterprint")));
    assert.ok((await rows.count()) < 60);
});

// ---- Addresses ----

test("the address holds selection and zoom, through a reload and in another window", async (browser) => {
    const page = await open(browser, "inference", { view: "timeline", ...CALM });
    await page.getByLabel("Search events by name").fill("relu_layer");
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "Zoom in" }).click();
    await settled(page);
    await page.waitForTimeout(400);
    const [shown, selected] = [await view(page), await page.evaluate(() => miniprof.line.selected)];
    const hash = await page.evaluate(() => location.hash);
    assert.match(hash, /^#timeline&from=-?\d+&to=\d+&event=\d+$/);
    await page.reload();
    await settled(page);
    const check = async (other) => {
        assert.equal(await selectedName(other), "relu_layer");
        assert.equal(await other.evaluate(() => miniprof.line.selected), selected);
        const { from, to } = await view(other);
        assert.ok(Math.abs(from - shown.from) <= 2 && Math.abs(to - shown.to) <= 2);
    };
    await check(page);
    const another = await open(browser, "inference", { view: hash.slice(1), ...CALM });
    await settled(another);
    await check(another);
});

test("back and forward go through what was open", async (browser) => {
    const page = await open(browser, "inference", CALM);
    await page.locator("#tab-iterations").click();
    await page.locator("#view-iterations tbody button").nth(4).click();
    await settled(page);
    await page.waitForTimeout(400);
    const shown = await view(page);
    const open_ = () => page.locator('[role="tab"][aria-selected="true"]').getAttribute("id");
    assert.equal(await open_(), "tab-timeline");
    await page.goBack();
    assert.equal(await open_(), "tab-iterations");
    await page.goBack();
    assert.equal(await open_(), "tab-overview");
    await page.goForward();
    await page.goForward();
    assert.equal(await open_(), "tab-timeline");
    const { from, to } = await view(page);
    assert.ok(Math.abs(from - shown.from) <= 2 && Math.abs(to - shown.to) <= 2);
    assert.deepEqual(page.complaints, []);
});

for (const hash of [
    "nothing",
    "timeline&from=x&event=-5",
    "timeline&from=9&to=3&event=99999999",
    "&&=&",
]) {
    test(`an address that leads nowhere does no harm: ${hash}`, async (browser) => {
        const page = await open(browser, "inference", { view: hash, ...CALM });
        assert.equal(await page.locator('[role="tab"][aria-selected="true"]').count(), 1);
        assert.deepEqual(page.complaints, []);
    });
}

await runTests();
