// The page of `miniprof diff --html` against what `miniprof diff --json` says of the same traces.
import { readFileSync } from "node:fs";
import { assert, assertNear, open, rowsOf as rowsIn, runTests, test } from "./browser.mjs";

const PAGES = ["", "-slower", "-replaced", "-sets", "-layers", "-hostile", "-empty", "-cut"];

const KERNEL_EFFECTS = 'table.effects[aria-label^="Kernels"] tbody tr';

// As a page shows it: a `?` in the place of each control character (docs/fields.md, Names).
function said(name) {
    const text = readFileSync(`${process.env.PAGES}/${name}.json`, "utf-8");
    return JSON.parse(text, (key, value) =>
        typeof value === "string" ? value.replace(/\p{Cc}/gu, "?") : value,
    );
}

// "-1.2345 ms", "+3 ns" and "12.3 %" as numbers; "" as null.
function valueOf(text) {
    const [number, unit] = text.replace(/,/g, "").split(" ");
    if (number === "") return null;
    return Number(number) * ({ ns: 1, us: 1e3, ms: 1e6, s: 1e9 }[unit] ?? 1);
}

// The page shows four digits.
function near(shown, exact, what) {
    if (exact === null) return assert.equal(shown, null, what);
    const error = Math.abs(shown - exact);
    assert.ok(error <= Math.abs(exact) * 5.1e-4 + 0.005, `${what}: ${shown} for ${exact}`);
}

// All rows of the first table in an element, with all columns, each {key: text with its unit}.
async function rowsOf(page, selector) {
    const box = page.locator(`${selector} .table-box`).first();
    await box.waitFor();
    const units = await box.evaluate((element) => {
        const { dataTable } = element.closest(".table");
        for (const column of dataTable.columns) column.shown = true;
        dataTable.useColumns();
        return Object.fromEntries(dataTable.columns.map(({ key, unit }) => [key, unit]));
    });
    return (await rowsIn(box)).map((row) =>
        Object.fromEntries(
            Object.entries(row).map(([key, text]) => [
                key,
                text && units[key] ? `${text} ${units[key]}` : text,
            ]),
        ),
    );
}

function nearText(text = "", exact, what) {
    const [, number, unit = ""] = text.match(/^(.*?)(?: ([a-zA-Z%]+))?$/);
    assertNear(number, exact, unit, what);
}

for (const end of PAGES) {
    test(`diff${end}: every view opens without a complaint or a request`, async (browser) => {
        const page = await open(browser, `diff${end}`);
        const tabs = await page.getByRole("tab").all();
        assert.equal(tabs.length, said(`diff${end}`).layers ? 6 : 5);
        assert.equal(await tabs[0].innerText(), "Comparison");
        assert.equal(await tabs[0].getAttribute("aria-selected"), "true");
        for (const tab of tabs) {
            await tab.click();
            const text = await page.getByRole("tabpanel").innerText();
            assert.ok(text.length > 0);
            assert.ok(!/\b(NaN|undefined|Infinity|null|\[object)/.test(text), text);
        }
        assert.deepEqual(page.complaints, []);
    });

    // But for kernels by position, of which a page has the equal ones, too.
    test(`diff${end}: the document is that of --json`, async (browser) => {
        const page = await open(browser, `diff${end}`);
        const plain = (value) =>
            JSON.parse(
                JSON.stringify(value, (key, item) =>
                    typeof item === "number" || /^\d{16,}$/.test(item) ? Number(item) : item,
                ),
            );
        const inPage = plain(await page.evaluate(() => miniprof.documents.diff));
        const json = plain(said(`diff${end}`));
        const changed = inPage.positions.kernels.filter((row) => row.change !== "equal");
        assert.equal(inPage.positions.kernels.length, changed.length + inPage.positions.equal);
        inPage.positions.kernels = changed;
        assert.deepEqual(inPage, json);
    });
}

// ---- Latency ----

test("the head, the verdict and the cards say what --json says", async (browser) => {
    const page = await open(browser, "diff");
    const { iterations } = said("diff");
    assert.match(await page.title(), /resnet50_eager\.mpt against .*resnet50_graph\.mpt/);
    const verdict = await page.locator(".verdict").innerText();
    const [, shift, percent, interval] = verdict.match(
        /^B is faster: latency of B minus that of A (\S+ \S+), (\S+) % of A's P50; 95 % (.*)\.$/,
    );
    const [, low, high, lowPercent] = interval.match(
        /^interval (\S+ \S+) to (\S+ \S+), (\S+) % to \S+ %$/,
    );
    near(valueOf(shift), iterations.shift_ns, "shift");
    near(valueOf(percent), iterations.percent, "percent");
    near(valueOf(low), iterations.low_ns, "low");
    near(valueOf(high), iterations.high_ns, "high");
    near(valueOf(lowPercent), (iterations.low_ns / iterations.a.p50_ns) * 100, "low in percent");
    const cards = await page.locator(".card").allInnerTexts();
    ["p50_ns", "mean_ns", "p99_ns"].forEach((key, i) => {
        const [, a, b, change] = cards[i].match(/^A (.*)\s+B (.*)\s+latency, \w+: (\S+) %$/);
        const [before, after] = [iterations.a[key], iterations.b[key]];
        near(valueOf(a), before, key);
        near(valueOf(b), after, key);
        near(valueOf(change), (after / before - 1) * 100, key);
    });
});

test("a threshold and that it was passed over are said", async (browser) => {
    const page = await open(browser, "diff-slower");
    assert.match(
        await page.locator(".verdict.failed").innerText(),
        /^B is slower: [^]*Failed: B is slower by more than 3 %\.$/,
    );
    const few = await open(browser, "diff-hostile");
    assert.match(await few.locator(".verdict").innerText(), /^There are too few iterations/);
});

test("percentiles and the latencies of each iteration agree with --json", async (browser) => {
    for (const name of ["diff", "diff-sets"]) {
        const page = await open(browser, name);
        const { latencies } = await page.evaluate(() => miniprof.documents);
        const { iterations, a, b } = said(name);
        for (const [side, runs] of [
            ["a", a.runs],
            ["b", b.runs],
        ]) {
            const own = latencies[side];
            const sorted = [...own.latencies_ns].sort((x, y) => x - y);
            assert.equal(own.count, iterations[side].count);
            assert.deepEqual(
                own.iterations,
                own.latencies_ns.map((value, i) => i + 1),
            );
            assert.equal(sorted.length, own.count);
            latencies.percents.forEach((percent, i) => {
                const rank = Math.max(
                    1,
                    Math.ceil((sorted.length * Math.round(percent * 1e3)) / 1e5),
                );
                assert.equal(own.percentiles_ns[i], sorted[rank - 1], `P${percent}`);
            });
            for (const percent of [50, 90, 95, 99])
                assert.equal(
                    own.percentiles_ns[latencies.percents.indexOf(percent)],
                    iterations[side][`p${percent}_ns`],
                );
            const mean = sorted.reduce((sum, value) => sum + value, 0) / sorted.length;
            near(mean, iterations[side].mean_ns, "mean");
            let first = 0;
            for (const run of runs) {
                const part = own.latencies_ns.slice(first, first + run.iterations);
                part.sort((x, y) => x - y);
                assert.equal(part[Math.ceil(part.length / 2) - 1], run.p50_ns);
                first += run.iterations;
            }
        }
    }
});

test("the charts hold both sides, in time and by rank", async (browser) => {
    const page = await open(browser, "diff-replaced");
    const shown = () =>
        page.locator(".chart:visible").evaluateAll((all) => all.map((e) => e.ariaLabel));
    await page.locator(".chart canvas").first().waitFor();
    assert.deepEqual(await shown(), ["Latency: each iteration", "Latency: by rank"]);
    await page.getByLabel("Latency as").selectOption({ index: 1 });
    await page.waitForFunction(() => document.querySelectorAll(".chart canvas").length === 4);
    assert.deepEqual(await shown(), [
        "Latency in percent of the side's P50: each iteration",
        "Latency in percent of the side's P50: by rank",
    ]);
    // 50 and 30 iterations: numbers that B lacks are empty.
    const { joined, legend } = await page.evaluate(() => ({
        joined: miniprof.documents.latencies.b.iterations.length,
        legend: [...document.querySelectorAll(".chart-legend span")].map((e) => e.textContent),
    }));
    assert.equal(joined, 30);
    assert.ok(legend.includes("A") && legend.includes("B"));
    assert.deepEqual(page.complaints, []);
});

// ---- Effects ----

test("effects: the greatest first, slower to the right, faster to the left", async (browser) => {
    const page = await open(browser, "diff");
    const rows = await page.locator(KERNEL_EFFECTS).evaluateAll((all) =>
        all.map((row) => {
            const place = (selector) => row.querySelector(selector).getBoundingClientRect();
            const box = place(".effect");
            const bar = place(".effect-bar");
            const range = place(".effect-range");
            return {
                name: row.querySelector("th").title,
                words: row.querySelector("td").textContent,
                left: bar.left - box.left,
                right: bar.right - box.left,
                middle: box.width / 2,
                over: range.left <= bar.right && range.right >= bar.left,
            };
        }),
    );
    const known = Object.fromEntries(said("diff").kernels.map((row) => [row.name, row]));
    assert.equal(rows.length, 15);
    let before = Infinity;
    for (const { name, words, left, right, middle, over } of rows) {
        const { change, shift_ns, low_ns, high_ns } = known[name];
        const [value, low, high] = words.split(/ (?=[+-])| to /).map(valueOf);
        assert.ok(change === "slower" ? left >= middle - 2 : right <= middle + 2, name);
        assert.ok(over, name);
        near(value, shift_ns, name);
        near(low, low_ns, name);
        near(high, high_ns, name);
        assert.ok(Math.abs(shift_ns) <= before);
        before = Math.abs(shift_ns);
    }
});

test("all bars of the comparison have one scale", async (browser) => {
    const page = await open(browser, "diff-replaced");
    const rows = await page.locator("table.effects tbody tr").evaluateAll((all) =>
        all.map((row) => {
            const [bar, box] = [".effect-bar", ".effect"].map((selector) =>
                row.querySelector(selector).getBoundingClientRect(),
            );
            return { words: row.querySelector("td").textContent, share: bar.width / box.width };
        }),
    );
    const scales = rows
        .map(({ words, share }) => [
            Math.abs(valueOf(words.split(/ (?=[+-]|\d+\.\d+ %)/)[0])),
            share,
        ])
        .filter(([, share]) => share > 0.01)
        .map(([value, share]) => value / share);
    assert.ok(scales.length >= 3, String(scales.length));
    for (const scale of scales) assert.ok(Math.abs(scale / scales[0] - 1) < 0.15, scales.join());
});

test("the parts of the latency add up to its difference", async (browser) => {
    for (const name of ["diff", "diff-slower", "diff-sets", "diff-hostile"]) {
        const page = await open(browser, name);
        const cells = page.locator('table.effects[aria-label^="Where"] tbody td:nth-child(2)');
        const { quantities } = said(name);
        let sum = 0;
        for (const text of await cells.allInnerTexts()) sum += valueOf(text.replace(/ \S+ %$/, ""));
        const latency = quantities.find(({ quantity }) => quantity === "latency_ns");
        const largest = Math.max(...quantities.map(({ difference }) => Math.abs(difference)));
        assert.ok(Math.abs(sum - latency.difference) <= largest * 1e-3 + 0.01, `${name}: ${sum}`);
    }
    const page = await open(browser, "diff");
    const first = page.locator('table.effects[aria-label^="Where"] tbody tr').first();
    assert.match(await first.innerText(), /waiting for the host\s+-3\.\d+ ms -\d\d\.\d\d %/);
});

test("what was added or removed has no interval", async (browser) => {
    const page = await open(browser, "diff-replaced");
    const rows = page.locator(KERNEL_EFFECTS);
    assert.match(await rows.first().innerText(), /alpha_layer\s+\+1\.\d+ ms added/);
    assert.match(await rows.last().innerText(), /\[CUDA memcpy DtoH\]\s+-2\.\d+ us removed/);
    assert.equal(await page.locator(".effect-range").count(), 0);
});

// ---- Tables ----

const ROWS = [
    ["diff", "kernels", "calls"],
    ["diff-replaced", "kernels", "calls"],
    ["diff-sets", "kernels", "calls"],
    ["diff-layers", "layers", "work"],
];

for (const [name, member, counted] of ROWS) {
    test(`${name}: rows of ${member} are those of --json`, async (browser) => {
        const page = await open(browser, name, { view: member });
        const json = said(name);
        const rows = await rowsOf(page, `#view-${member}`);
        assert.ok(rows.length >= 3);
        assert.deepEqual(
            rows.map((row) => [row.name, row.change]),
            json[member].map((row) => [row.name, row.change]),
        );
        json[member].forEach((row, i) => {
            const shown = rows[i];
            nearText(shown.difference_ns, row.difference_ns, "difference");
            nearText(shown[`A_${counted}`], row[`a_${counted}`], "calls of A");
            nearText(shown[`B_${counted}`], row[`b_${counted}`], "calls of B");
            nearText(shown.time_A_ns, row.a_ns, "time of A");
            nearText(shown.time_B_ns, row.b_ns, "time of B");
            nearText(shown.interval_low_ns, row.low_ns, "low");
            nearText(shown.interval_high_ns, row.high_ns, "high");
            if (row.a_ns > 0)
                nearText(shown.difference_percent, (row.difference_ns / row.a_ns) * 100, "percent");
        });
    });
}

test("kernels by position are in order and say what replaced what", async (browser) => {
    const page = await open(browser, "diff-replaced", { view: "positions" });
    const { positions } = said("diff-replaced");
    const rows = await rowsOf(page, "#view-positions");
    assert.equal(rows.length, positions.kernels.length + positions.equal);
    assert.deepEqual(
        rows.filter(({ change }) => change !== "equal").map((row) => row.name),
        positions.kernels.map((row) => row.a_name ?? row.b_name),
    );
    const replaced = rows.find(({ change }) => change === "replaced");
    assert.notEqual(replaced.became_name, "");
    const equal = await open(browser, "diff", { view: "positions" });
    assert.equal((await rowsOf(equal, "#view-positions")).length, 218);
});

test("times and counts of an iteration have their units", async (browser) => {
    const page = await open(browser, "diff", { view: "quantities" });
    const [times, counts] = await Promise.all(
        [0, 1].map((i) => rowsIn(page.locator("#view-quantities .table-box").nth(i))),
    );
    const unit = (key) =>
        page.locator(`#view-quantities th[data-key="${key}"] .unit`).first().innerText();
    assert.equal(await unit("A_ns"), await unit("B_ns"), "sides are compared in one unit");
    const { quantities } = said("diff");
    const latency = quantities.find(({ quantity }) => quantity === "latency_ns");
    const [first] = times;
    assert.equal(`${first.quantity} ${first.change}`, "latency less");
    nearText(`${first.A_ns} ${(await unit("A_ns")).trim()}`, latency.a, "A");
    nearText(`${first.B_ns} ${(await unit("B_ns")).trim()}`, latency.b, "B");
    const launches = counts.find(({ quantity }) => quantity === "number of launches");
    assert.equal(`${launches.A} ${launches.B} ${launches.difference}`, "229 3 -226");
});

test("rows can be sorted, searched and chosen by what became of them", async (browser) => {
    const page = await open(browser, "diff", { view: "kernels" });
    const json = said("diff").kernels;
    const head = page.locator('#view-kernels th[data-key="difference_ns"] button');
    await head.press("Enter");
    await head.press("Enter");
    let rows = await rowsOf(page, "#view-kernels");
    const expected = [...json].sort((x, y) => x.difference_ns - y.difference_ns);
    rows.forEach((row, i) => nearText(row.difference_ns, expected[i].difference_ns, row.name));

    await page.locator("#view-kernels input[type=search]").fill("CUTLASS");
    await page.waitForTimeout(300);
    rows = await rowsOf(page, "#view-kernels");
    assert.equal(rows.length, json.filter(({ name }) => /cutlass/i.test(name)).length);

    const slower = json.filter(({ change }) => change === "slower");
    const choice = page.getByLabel("Change:");
    await choice.selectOption(`slower (${slower.length})`);
    rows = await rowsOf(page, "#view-kernels");
    assert.deepEqual(
        rows.map(({ name }) => name),
        slower.map(({ name }) => name),
    );
});

// ---- What was compared ----

test("sides, what differs, and the runs of sets", async (browser) => {
    const page = await open(browser, "diff-replaced");
    const row = page.locator("table.sides tr", { hasText: "Program" });
    assert.match(await row.innerText(), /inference\s+\S*whatif\s+differs/);
    assert.equal(await page.locator("table.sides td", { hasText: "differs" }).count(), 1);
    const sets = await open(browser, "diff-sets");
    assert.match(await sets.locator("#subtitle").innerText(), /1\.mpt and 3 more against/);
    const runs = await rowsOf(sets, "#view-comparison");
    const { a, b } = said("diff-sets");
    assert.deepEqual(
        runs.map(({ file }) => file),
        [...a.runs, ...b.runs].map(({ file }) => file),
    );
    await sets.locator("#tab-iterations").click();
    await sets.locator("#view-iterations input[type=search]").last().fill("B");
    const numbered = await sets.evaluate(() => miniprof.documents.diff.b.runs[0].iterations);
    assert.equal(numbered, 30);
    await sets.waitForTimeout(300);
    const rows = await rowsIn(sets.locator("#view-iterations .table-box").last());
    assert.match(Object.values(rows[30]).join(" "), /^1 B 2 /);
});

test("a trace that is not whole is warned of", async (browser) => {
    const page = await open(browser, "diff-cut");
    assert.match(await page.locator("#warning").innerText(), /^B: \S*cut\.mpt: \w+/);
    const whole = await open(browser, "diff");
    assert.ok(!(await whole.locator("#warning").isVisible()));
});

// ---- Names, theme, keyboard ----

test("a kernel named as markup stays text", async (browser) => {
    const page = await open(browser, "diff-hostile");
    const name = "<img src=x onerror=window.bad=1>";
    assert.ok(await page.locator("table.sides", { hasText: "<script>window.bad=1" }).isVisible());
    for (const tab of await page.getByRole("tab").all()) await tab.click();
    await page.locator("#tab-kernels").click();
    assert.ok(await page.locator("#view-kernels tbody th", { hasText: name }).first().isVisible());
    await page.locator("#tab-comparison").click();
    assert.ok(await page.locator("table.effects th", { hasText: name }).first().isVisible());
    assert.equal(await page.locator("img, svg, iframe, object").count(), 0);
    assert.equal(await page.evaluate(() => window.bad), undefined);
    assert.deepEqual(page.complaints, []);
});

test("the system's theme is taken, and the button changes it", async (browser) => {
    const page = await open(browser, "diff", { colorScheme: "dark" });
    const colors = () =>
        page.evaluate(() => [
            getComputedStyle(document.body).backgroundColor,
            getComputedStyle(document.querySelector(".effect-bar.slower")).backgroundColor,
        ]);
    const dark = await colors();
    await page.locator("#theme").click();
    const light = await colors();
    assert.equal(light[0], "rgb(255, 255, 255)");
    assert.notDeepEqual(light, dark);
    assert.deepEqual(page.complaints, []);
});

test("the views can be had by keyboard", async (browser) => {
    const page = await open(browser, "diff");
    await page.locator("#tab-comparison").focus();
    await page.keyboard.press("End");
    assert.equal(await page.locator("#tab-positions").getAttribute("aria-selected"), "true");
    const again = await open(browser, "diff", { view: "kernels" });
    assert.equal(await again.locator("#tab-kernels").getAttribute("aria-selected"), "true");
});

await runTests();
