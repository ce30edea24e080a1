// The page as a whole: it loads and complains of nothing, its tabs, tables, theme, and that names
// stay text.
import { assert, assertNear, column, open, rowsOf, runTests, test, unitOf } from "./browser.mjs";

const PAGES = [
    "inference",
    "eager",
    "graph",
    "two_streams",
    "plain",
    "hostile",
    "empty",
    "calls",
    "no-gpu",
    "no-api",
    "doubtful",
    "cut",
    "streams",
    "layers",
    "memory",
    "managed",
    "split",
    "gap",
    "advice",
    "marked",
];

for (const name of PAGES) {
    test(`${name}: every view opens without a complaint or a request`, async (browser) => {
        const page = await open(browser, name);
        const tabs = await page.getByRole("tab").all();
        assert.equal(tabs.length, 12);
        for (const tab of tabs) {
            await tab.click();
            assert.equal(await tab.getAttribute("aria-selected"), "true");
            assert.ok((await page.getByRole("tabpanel").innerText()).length > 0);
        }
        assert.deepEqual(page.complaints, []);
    });
}

test("the head says which program", async (browser) => {
    const page = await open(browser, "inference");
    assert.match(await page.title(), /inference - miniprof/);
    assert.match(await page.locator("#subtitle").innerText(), /samples\/inference, process 405/);
});

test("a trace that is not whole is warned of", async (browser) => {
    const page = await open(browser, "cut");
    assert.ok(await page.locator("#warning").isVisible());
    const whole = await open(browser, "plain");
    assert.ok(!(await whole.locator("#warning").isVisible()));
});

test("the summary's groups stand one below the other", async (browser) => {
    const page = await open(browser, "inference", { view: "summary" });
    assert.deepEqual(await page.locator("#view-summary table.data caption").allTextContents(), [
        "GPU activities",
        "API calls",
    ]);
    assert.ok(await page.locator("#view-summary tbody th", { hasText: "conv_layer" }).isVisible());
});

// ---- Documents of any kind ----

test("a page without a time line shows its documents", async (browser) => {
    const page = await open(browser, "other");
    assert.deepEqual(await page.getByRole("tab").allInnerTexts(), ["Differences"]);
    const text = (await page.getByRole("tabpanel").innerText()).replace(/\s+/g, " ");
    assert.match(text, /Allowed 3\.00 % Failed yes/);
    assert.match(text, /Name Mean us P99 ms Latency 1\.500 2\.500 GPU busy 0\.002 < 0\.001/);
    assert.match(text, /<b>gemm<\/b> 12\.50 1\.500/); // of the column's unit
    assert.match(text, /relu -100\.00 -0\.002/);
    await page.getByText("2 rows").click();
    await page.locator(".inner table").waitFor();
    assert.equal(await page.locator(".inner table tbody tr:not(.space)").count(), 2);
    assert.deepEqual(page.complaints, []);
});

// ---- Tabs ----

test("tabs work by keyboard", async (browser) => {
    const page = await open(browser, "inference");
    await page.locator("#tab-overview").focus();
    await page.keyboard.press("ArrowRight");
    assert.equal(await page.locator("#tab-iterations").getAttribute("aria-selected"), "true");
    await page.keyboard.press("End");
    assert.equal(await page.locator("#tab-info").getAttribute("aria-selected"), "true");
    await page.keyboard.press("ArrowRight");
    assert.equal(await page.evaluate(() => document.activeElement.id), "tab-overview");
    assert.equal(await page.locator('[role="tab"][tabindex="0"]').count(), 1);
});

test("the address leads back to a view", async (browser) => {
    const page = await open(browser, "inference", { view: "nvtx" });
    assert.equal(await page.locator("#tab-nvtx").getAttribute("aria-selected"), "true");
});

// ---- Tables ----

const firstTable = (page) => page.locator("#view-nvtx .table-box").first();

test("a click on a head sorts, by number and by text", async (browser) => {
    const page = await open(browser, "inference", { view: "nvtx" });
    const head = (key) => firstTable(page).locator(`th[data-key="${key}"]`);
    const sorted = (values, order) => values.every((v, i) => !i || order(values[i - 1], v));
    const times = async () =>
        (await column(firstTable(page), "max_ns")).map((text) => Number(text.replace(/,/g, "")));

    await head("max_ns").getByRole("button").click();
    assert.equal(await head("max_ns").getAttribute("aria-sort"), "descending");
    const down = await times();
    assert.ok(down.length > 10 && sorted(down, (a, b) => a >= b), down.join());
    await head("max_ns").getByRole("button").press("Enter");
    assert.equal(await head("max_ns").getAttribute("aria-sort"), "ascending");
    assert.ok(sorted(await times(), (a, b) => a <= b));
    await head("name").getByRole("button").click();
    assert.equal(await head("max_ns").getAttribute("aria-sort"), "none");
    const names = await column(firstTable(page), "name");
    assert.ok(sorted(names, (a, b) => a.localeCompare(b) <= 0));
});

test("a search leaves the rows that hold it", async (browser) => {
    const page = await open(browser, "inference", { view: "nvtx" });
    const all = (await column(firstTable(page), "name")).length;
    await page.locator("#view-nvtx input[type=search]").first().fill("RELU");
    await page.waitForTimeout(300);
    const names = await column(firstTable(page), "name");
    assert.ok(names.length > 0 && names.length < all);
    assert.ok(
        names.every((name) => /relu/.test(name)),
        names.join(),
    );
    assert.match(
        await page.locator("#view-nvtx .tools .note").first().innerText(),
        new RegExp(`^${names.length} of ${all} rows`),
    );
});

test("of a long table only what is in view are elements, and all can be scrolled to", async (browser) => {
    const page = await open(browser, "eager", { view: "iterations" });
    const box = page.getByRole("group", { name: "Iterations", exact: true });
    assert.ok((await box.locator("tbody tr:not(.space)").count()) < 80);
    const numbers = await column(box, "iteration");
    assert.deepEqual(
        numbers,
        numbers.map((text, i) => String(i + 1)),
    );
    assert.equal(numbers.length, 200);
    assert.equal(await box.locator("table").getAttribute("aria-rowcount"), "201");
});

test("the name comes first and stays, rows are one line, headings are words", async (browser) => {
    const page = await open(browser, "eager", {
        view: "kernels",
        viewport: { width: 1000, height: 800 },
    });
    const box = page.getByRole("group", { name: "Kernels", exact: true });
    await box.waitFor();
    const heads = box.locator("thead th");
    assert.equal(await heads.first().getAttribute("data-key"), "name");
    assert.equal(await heads.count(), 11);
    for (const text of await heads.allInnerTexts()) assert.match(text, /^[A-Z][^_]*$/);
    const heights = await box
        .locator("tbody tr:not(.space)")
        .evaluateAll((rows) => rows.map((row) => row.getBoundingClientRect().height));
    assert.ok(heights.length > 10 && heights.every((height) => Math.abs(height - 26) < 1));
    const name = box.locator("tbody th").first();
    const left = (await name.boundingBox()).x;
    await box.evaluate((element) => element.scrollTo(300, 0));
    assert.equal((await name.boundingBox()).x, left);
    assert.match(await name.getAttribute("title"), /^sm80_xmma_fprop/);
});

test("columns are chosen in the menu", async (browser) => {
    const page = await open(browser, "eager", { view: "kernels" });
    const panel = page.locator("#view-kernels");
    const menu = panel.getByText(/^Columns: \d+ of \d+$/);
    const [shown] = (await menu.textContent()).match(/\d+/);
    await menu.click();
    await panel.getByLabel("Registers", { exact: true }).check();
    await panel.getByText(`Columns: ${Number(shown) + 1} of`).waitFor();
    const box = page.getByRole("group", { name: "Kernels", exact: true });
    const { kernels } = await page.evaluate(() => miniprof.documents.kernels);
    assert.deepEqual(
        await column(box, "registers"),
        kernels.map((row) => String(row.registers)),
    );
    await panel.getByLabel("Waves", { exact: true }).uncheck();
    assert.ok(!("waves" in (await rowsOf(box))[0]));
});

test("a column has one unit, which its heading names", async (browser) => {
    const page = await open(browser, "eager", { view: "summary" });
    const [work] = await page.evaluate(() => miniprof.documents.summary.groups);
    const box = page.locator("#view-summary .table-box").first();
    for (const key of ["total_ns", "mean_ns", "percent", "calls"]) {
        const unit = await unitOf(box, key);
        const texts = await column(box, key);
        texts.forEach((text, i) => assertNear(text, work.rows[i][key], unit, `${key} ${i}`));
    }
});

// ---- Theme ----

test("the system's dark theme is taken, and the button changes it", async (browser) => {
    const page = await open(browser, "inference", { colorScheme: "dark" });
    const back = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const dark = await back();
    assert.equal(await page.locator("#theme").getAttribute("aria-pressed"), "true");
    await page.locator("#theme").click();
    assert.equal(await page.locator("#theme").getAttribute("aria-pressed"), "false");
    const light = await back();
    assert.equal(light, "rgb(255, 255, 255)");
    assert.notEqual(light, dark);
    await page.emulateMedia({ colorScheme: "light" });
    await page.waitForTimeout(100);
    await page.emulateMedia({ colorScheme: "dark" });
    await page.waitForFunction(
        (color) => getComputedStyle(document.body).backgroundColor === color,
        dark,
    );
    assert.deepEqual(page.complaints, []);
});

// Text against what is behind it: 4.5 to 1 (WCAG 2.1, AA).
for (const colorScheme of ["light", "dark"]) {
    test(`text can be read in the ${colorScheme} theme`, async (browser) => {
        const page = await open(browser, "inference", { colorScheme });
        const ratios = await page.evaluate(() => {
            const light = (color) => {
                const [r, g, b] = color
                    .match(/\w\w/g)
                    .map((hex) => parseInt(hex, 16) / 255)
                    .map((c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
                return 0.2126 * r + 0.7152 * g + 0.0722 * b;
            };
            const style = getComputedStyle(document.documentElement);
            const of = (name) => light(style.getPropertyValue(name).trim());
            return ["--text", "--faint", "--accent", "--wait"].flatMap((text) =>
                ["--back", "--panel"].map((back) => {
                    const [low, high] = [of(text), of(back)].sort((a, b) => a - b);
                    return { text, back, ratio: (high + 0.05) / (low + 0.05) };
                }),
            );
        });
        for (const { text, back, ratio } of ratios)
            assert.ok(ratio >= 4.5, `${text} on ${back}: ${ratio}`);
    });
}

// ---- Names that are markup ----

test("a kernel named as markup stays text", async (browser) => {
    const page = await open(browser, "hostile");
    for (const tab of await page.getByRole("tab").all()) await tab.click();
    await page.locator("#tab-summary").click();
    const kernel = page.locator("#view-summary tbody th", {
        hasText: "<img src=x onerror=window.bad=1>",
    });
    assert.ok(await kernel.first().isVisible());
    await page.locator("#tab-timeline").click();
    await page.getByLabel("Search events by name").fill("<img");
    await page.keyboard.press("Enter");
    assert.match(
        await page.locator("#timeline-details").innerText(),
        /<img src=x onerror=window\.bad=1>/,
    );
    assert.match(await page.locator("#subtitle").innerText(), /<script>window\.bad=1<\/script>/);
    assert.match(await page.locator(".gutter").innerText(), /<\/script><script>window\.bad=1/);
    assert.equal(await page.locator("img, svg, iframe, object").count(), 0);
    assert.equal(await page.evaluate(() => window.bad), undefined);
    assert.deepEqual(page.complaints, []);
});

// What the policy is there for, should a name get through after all.
test("the policy lets no other script run, and nothing be loaded", async (browser) => {
    const page = await open(browser, "plain");
    const answers = await page.evaluate(async () => {
        const script = document.createElement("script");
        script.textContent = "window.bad = 1";
        document.body.append(script);
        document.body.insertAdjacentHTML("beforeend", "<img src=x onerror='window.bad = 2'>");
        const fetched = await fetch("https://example.org/").then(
            () => "fetched",
            () => "refused",
        );
        return { bad: window.bad, fetched };
    });
    await page.waitForTimeout(100);
    assert.deepEqual(answers, { bad: undefined, fetched: "refused" });
    assert.equal(await page.evaluate(() => window.bad), undefined);
    assert.ok(page.complaints.some((text) => /Content Security Policy/.test(text)));
});

// ---- Numbers ----

// The columns of the time line, read by the page, against the document that `summary` prints.
for (const name of ["inference", "eager", "graph", "plain"]) {
    test(`${name}: times by name in the time line are those of the summary`, async (browser) => {
        const page = await open(browser, name);
        const { inLine, inSummary } = await page.evaluate(() => {
            const { timeline, documents } = miniprof;
            const sums = {};
            for (let i = 0; i < timeline.count; i++) {
                const [category, text] = timeline.names[timeline.kinds[timeline.kind[i]][0]];
                const kind = category === "range" || category === "call" ? category : "work";
                const key = `${kind} ${text}`;
                sums[key] = (sums[key] || 0) + timeline.duration[i];
            }
            const [work, calls] = documents.summary.groups;
            const rows = [
                ...work.rows.map((row) => ["work " + row.name, row.total_ns]),
                ...calls.rows.map((row) => ["call " + row.name, row.total_ns]),
            ];
            const ranges = Object.keys(sums).filter((key) => /^range/.test(key));
            for (const key of ranges) delete sums[key];
            return { inLine: sums, inSummary: Object.fromEntries(rows) };
        });
        assert.ok(Object.keys(inSummary).length >= 6);
        assert.deepEqual(inLine, inSummary);
    });
}

await runTests();
