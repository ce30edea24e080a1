// The views of the analyses, against what the commands say with --json: numbers, plots, sorting,
// searching, what leads to the time line, what is said where there is nothing, and that names stay
// text.
import { readFileSync } from "node:fs";
import {
    assert,
    assertColumn,
    column,
    open,
    runTests,
    selectedName,
    settled,
    showColumns,
    test,
    view,
} from "./browser.mjs";

function said(page, command) {
    const text = readFileSync(`${process.env.PAGES}/${page}.${command}.json`, "utf-8");
    // Long numbers as the page has them.
    return JSON.parse(text.replace(/([:[,] ?)(\d{16,})/g, '$1"$2"'));
}

// As the page writes times, worked out in another way.
function time(ns) {
    const [unit, scale] = ns >= 1e9 ? ["s", 1e9] : ns >= 1e6 ? ["ms", 1e6] : ["us", 1e3];
    if (ns < 1e3) return Number.isInteger(ns) ? `${ns} ns` : `${ns.toPrecision(4)} ns`;
    return `${(ns / scale).toPrecision(4)} ${unit}`;
}

function table(page, name) {
    return page.getByRole("group", { name, exact: true }).first();
}

// The data of the n-th chart of the view that is open, and where a point of it is on the screen.
async function chart(page, index = 0) {
    await page.locator('[role="tabpanel"]:not([hidden]) .chart canvas').first().waitFor();
    return page.evaluate((wanted) => {
        const shown = [...miniprof.charts].filter(({ element }) => element.offsetParent);
        window.shownChart = shown[wanted];
        return shown[wanted].options.data;
    }, index);
}

async function clickPoint(page, index, series = 1) {
    const at = await page.evaluate(
        ([point, line]) => {
            const { canvas, options, x, y } = window.shownChart;
            const on = ({ low, high, from, to }, value) =>
                from + ((value - low) / (high - low)) * (to - from);
            canvas.scrollIntoView({ block: "center" });
            const box = canvas.getBoundingClientRect();
            return {
                x: box.left + on(x, options.data[0][point]),
                y: box.top + on(y, options.data[line][point] ?? 0),
            };
        },
        [index, series],
    );
    await page.mouse.move(at.x - 3, at.y);
    await page.mouse.move(at.x, at.y);
    await page.mouse.click(at.x, at.y);
}

// Whether the time line shows this stretch of the recorder's clock, and little more.
async function isShown(page, begin, end) {
    await settled(page);
    assert.equal(await page.locator("#tab-timeline").getAttribute("aria-selected"), "true");
    const origin = await page.evaluate(() => miniprof.timeline.origin);
    const { from, to } = await view(page);
    const first = Number(BigInt(begin) - BigInt(origin));
    const last = Number(BigInt(end) - BigInt(origin));
    const margin = (last - first) * 0.06 + 2;
    assert.ok(from <= first && from >= first - margin, `from ${from}, ${first}`);
    assert.ok(to >= last && to <= last + margin, `to ${to}, ${last}`);
}

const CALM = { reducedMotion: "reduce" };

// ---- Iterations ----

for (const name of ["inference", "eager", "memory"]) {
    test(`${name}: the plot shows the latencies of iters`, async (browser) => {
        const { iterations, outliers } = said(name, "iters");
        const page = await open(browser, name, { view: "iterations" });
        const [numbers, usual, slow] = await chart(page);
        const late = new Set(outliers.map(({ iteration }) => iteration));
        assert.ok(iterations.length > 2);
        assert.deepEqual(
            numbers,
            iterations.map(({ iteration }) => iteration),
        );
        iterations.forEach(({ iteration, latency_ns: latency }, index) => {
            const here = late.has(iteration) ? slow : usual;
            const there = late.has(iteration) ? usual : slow;
            assert.deepEqual([here[index], there[index]], [latency, null]);
        });
    });

    test(`${name}: cards and table say what iters says`, async (browser) => {
        const { statistics, iterations, count } = said(name, "iters");
        const page = await open(browser, name, { view: "iterations" });
        const cards = (await page.locator("#view-iterations .card").allInnerTexts()).map((text) =>
            text.replace(/\s+/g, " "),
        );
        assert.ok(cards.includes(`${count} iterations`), cards.join("|"));
        for (const key of ["p50", "p90", "p95", "p99"])
            assert.ok(
                cards.includes(`${time(statistics.latency_ns[key])} latency, ${key.toUpperCase()}`),
                cards.join("|"),
            );
        const box = table(page, "Iterations");
        await showColumns(box, "idle_queued_ns");
        for (const key of ["latency_ns", "kernel_ns", "htod_ns", "idle_queued_ns", "idle_host_ns"])
            await assertColumn(
                box,
                key,
                iterations.map((row) => row[key]),
            );
    });
}

test("a click on the plot shows that iteration in the time line", async (browser) => {
    const { iterations, outliers } = said("eager", "iters");
    const page = await open(browser, "eager", { view: "iterations", ...CALM });
    await chart(page);
    await clickPoint(page, 42);
    await isShown(page, iterations[42].begin_ns, iterations[42].end_ns);
    await page.locator("#tab-iterations").click();
    const late = outliers[0].iteration - 1;
    await clickPoint(page, late, 2);
    await isShown(page, iterations[late].begin_ns, iterations[late].end_ns);
});

test("so do the rows of the table and of the outliers", async (browser) => {
    const { iterations, outliers } = said("eager", "iters");
    const page = await open(browser, "eager", { view: "iterations", ...CALM });
    await table(page, "Iterations")
        .getByRole("button", { name: "Show 8 in the time line" })
        .press("Enter");
    await isShown(page, iterations[7].begin_ns, iterations[7].end_ns);
    await page.locator("#tab-iterations").click();
    await table(page, "Outliers").locator("tbody button").first().click();
    const { end_ns: end } = iterations[outliers[0].iteration - 1];
    await isShown(page, outliers[0].begin_ns, end);
});

test("NVTX ranges can be looked at instead", async (browser) => {
    const page = await open(browser, "inference", { view: "iterations" });
    const select = page.locator("#iterations-of");
    assert.match(await select.locator("option").first().innerText(), /^Found by NVTX range itera/);
    await select.selectOption("NVTX conv1");
    assert.match(await page.locator("#view-iterations dl").innerText(), /Count\s+50\s+Mean/);
});

// ---- Layers, kernels, overlap ----

test("layers stand in their tree, by total", async (browser) => {
    const { layers } = said("inference", "layers");
    const page = await open(browser, "inference", { view: "layers" });
    const tree = page.locator("#view-layers .tree");
    assert.equal(await tree.locator("li").count(), layers.length);
    const names = await tree.locator(":scope > li > ul > li .layer button").allInnerTexts();
    assert.deepEqual(
        names,
        layers.filter(({ parent }) => parent === 0).map((layer) => layer.name),
    );
    const first = tree.locator("li").first();
    const figures = (await first.locator(".figures").first().innerText()).split(", ");
    assert.equal(figures[0], time(layers[0].total_ns));
    assert.ok(await tree.getByText("conv1", { exact: true }).isVisible());
    await first.locator(".toggle").first().focus();
    await page.keyboard.press("Enter");
    assert.ok(!(await tree.getByText("conv1", { exact: true }).isVisible()));
});

test("a layer leads to its range in the time line", async (browser) => {
    const page = await open(browser, "inference", { view: "layers", ...CALM });
    await page.locator(".tree").getByText("res2b_relu", { exact: true }).click();
    await settled(page);
    assert.equal(await selectedName(page), "res2b_relu");
});

test("without NVTX ranges kernels stand by position", async (browser) => {
    const page = await open(browser, "plain", { view: "layers" });
    assert.match(await page.locator("#view-layers .note").first().innerText(), /by their position/);
});

// Sorts by a key downwards, and compares with the rows of the command.
async function checkSort(page, box, rows, key) {
    await box.locator(`th[data-key="${key}"]`).getByRole("button").click();
    assert.equal(
        await box.locator(`th[data-key="${key}"]`).getAttribute("aria-sort"),
        "descending",
    );
    await assertColumn(
        box,
        key,
        rows.map((row) => row[key]).sort((a, b) => b - a),
    );
}

async function checkSearch(page, panel, box, rows, text) {
    await panel.locator("input[type=search]").first().fill(text.toUpperCase());
    await page.waitForTimeout(300);
    const names = await column(box, "name");
    const wanted = rows.filter((row) => JSON.stringify(row).toLowerCase().includes(text));
    assert.ok(names.length > 0 && names.length < rows.length);
    assert.deepEqual(names.sort(), wanted.map(({ name }) => name).sort());
}

for (const [name, id, key, text] of [
    ["eager", "layers", "total_ns", "layer3.1"],
    ["eager", "kernels", "mean_ns", "cutlass"],
]) {
    test(`${id}: the table sorts, searches, and holds what the command says`, async (browser) => {
        const rows = said(name, id)[id];
        const page = await open(browser, name, { view: id });
        const panel = page.locator(`#view-${id}`);
        const box = table(panel, id === "layers" ? "Layers" : "Kernels");
        assert.match(
            await panel.locator(".tools .note").first().innerText(),
            new RegExp(`of ${rows.length} rows`),
        );
        await checkSort(page, box, rows, key);
        const shown = rows.map(({ work, ...row }) => row); // nested rows are not searched
        await checkSearch(page, panel, box, shown, text);
        assert.deepEqual(page.complaints, []);
    });
}

test("overlap says how busy the device was, and no length is a moment", async (browser) => {
    const [device] = said("inference", "overlap").devices;
    const page = await open(browser, "inference", { view: "overlap" });
    const text = (await page.locator("#view-overlap").innerText()).replace(/\s+/g, " ");
    const [busy, idle] = [device.busy_ns, device.idle_ns].map(time);
    assert.ok(text.includes(`GPU busy ${busy} GPU idle ${idle}`), text);
    const [one, two, ...none] = device.kernels_at_once.time_ns;
    assert.ok(text.includes(`Time with 1 ${time(one)} Time with 2 ${time(two)}`), text);
    assert.deepEqual(none, [0, 0]);
    await table(page, "Activities").locator('th[data-key="busy_ns"] button').click();
    await assertColumn(
        table(page, "Activities"),
        "busy_ns",
        device.activities.map((row) => row.busy_ns).sort((a, b) => b - a),
    );
});

// ---- Memory ----

test("memory over time reaches the peaks that the command says", async (browser) => {
    const all = said("memory", "memory").memory.filter(({ kind }) => kind === "all");
    const page = await open(browser, "memory", { view: "memory" });
    assert.equal(await page.locator("#view-memory .chart").count(), all.length);
    for (const [index, device] of all.entries()) {
        const [times, live] = await chart(page, index);
        const title = await page
            .locator("#view-memory .chart")
            .nth(index)
            .getAttribute("aria-label");
        assert.ok(title.startsWith(device.device_name), title);
        assert.equal(Math.max(...live), device.peak_bytes);
        assert.equal(times.length, 400);
        assert.ok(times[0] >= 0 && times.every((at, i) => !i || at >= times[i - 1]));
    }
    assert.deepEqual(page.complaints, []);
});

test("moments of memory are the page's, and a click leads to the time line", async (browser) => {
    const answer = said("memory", "memory");
    const page = await open(browser, "memory", { view: "memory", ...CALM });
    const origin = await page.evaluate(() => miniprof.timeline.origin);
    const shift = Number(BigInt(answer.start_ns) - BigInt(origin));
    await assertColumn(
        table(page, "SimGPU (0)"),
        "time_ns",
        answer.peaks[0].alive.map(({ time_ns: at }) => at + shift),
    );
    const [times] = await chart(page);
    await clickPoint(page, 200);
    await settled(page);
    const { from, to } = await view(page);
    assert.ok(
        from <= times[200] && times[201] <= to && to - from < 1.2 * (times[201] - times[200]),
    );
});

// ---- Advice ----

for (const name of ["inference", "eager", "memory"]) {
    test(`${name}: all that advise finds is there, in its order`, async (browser) => {
        const { findings } = said(name, "advise");
        const page = await open(browser, name, { view: "advise" });
        const cards = await page.locator(".finding").all();
        assert.equal(cards.length, findings.length);
        for (const [index, finding] of findings.entries()) {
            const text = await cards[index].innerText();
            assert.equal(
                await cards[index].getByRole("heading").innerText(),
                `${index + 1}. ${finding.title}`,
            );
            for (const part of [
                finding.evidence,
                finding.to_do,
                finding.assumes,
                `${finding.certainty === "bound" ? "at most " : ""}−${time(finding.gain_ns)}`,
                finding.certainty === "bound" ? "a bound, " : "an estimate, ",
                ...finding.lines.flatMap((line) => [line.text, line.name || ""]),
            ])
                assert.ok(text.includes(part), `${part} in ${text}`);
        }
    });
}

test("a finding leads to what it names", async (browser) => {
    const { iterations, median } = said("inference", "iters");
    const page = await open(browser, "advice", { view: "advise", ...CALM });
    await page.getByRole("button", { name: "relu_layer" }).click();
    await settled(page);
    assert.equal(await selectedName(page), "relu_layer");
    const at = await page.evaluate(
        () => miniprof.timeline.begin[miniprof.line.selected] + Number(miniprof.timeline.origin),
    );
    const usual = iterations[median - 1];
    assert.ok(at >= usual.begin_ns && at < usual.end_ns, `${at}`);
    await page.locator("#tab-advise").click();
    await page.getByRole("button", { name: /^iteration 7:/ }).click();
    await isShown(page, iterations[6].begin_ns, iterations[6].end_ns);
    await page.locator("#tab-advise").click();
    await page.getByRole("button", { name: "Show the median iteration" }).click();
    await isShown(page, usual.begin_ns, usual.end_ns);
});

test("rules that were not tried say why", async (browser) => {
    const page = await open(browser, "advice", { view: "advise" });
    assert.match(
        await table(page, "Rules that were not tried").innerText(),
        /Tail\s+fewer than 10 iterations/,
    );
});

// ---- Nothing, and not all ----

for (const [name, notes] of [
    ["empty", { iterations: /No iterations were found/, advise: /No findings/ }],
    ["empty", { layers: /No kernels/, kernels: /No kernels/, overlap: /No work of a GPU/ }],
    ["inference", { memory: /No allocations/ }],
    ["managed", { iterations: /no NVTX ranges; one capture range/ }],
    ["no-gpu", { kernels: /MINIPROF_GPU=off/, overlap: /MINIPROF_GPU=off/ }],
]) {
    test(`${name}: a note stands where there is no ${Object.keys(notes)}`, async (browser) => {
        const page = await open(browser, name);
        for (const [id, text] of Object.entries(notes)) {
            await page.locator(`#tab-${id}`).click();
            assert.match(await page.locator(`#view-${id} .note`).first().innerText(), text);
        }
    });
}

test("what the page leaves out is said where it lacks", async (browser) => {
    const page = await open(browser, "advice");
    for (const [id, text] of [
        ["iterations", "Of 12,345 iterations this page has 2: the first ones."],
        ["layers", "Of 12,345 layers this page has 2: those that cost most."],
        ["kernels", "Of 12,345 kernels and launch shapes this page has 2"],
    ]) {
        await page.locator(`#tab-${id}`).click();
        const notes = (await page.locator(`#view-${id} .left-out`).allInnerTexts()).join(" ");
        assert.ok(notes.includes(text), notes);
    }
    const eager = await open(browser, "eager", { view: "layers" });
    assert.match(
        await eager.locator("#view-layers .left-out").innerText(),
        /^Of 23 names of kernels and copies that a layer has this page has 10: those with most time/,
    );
});

// ---- Names that are markup ----

test("markup in any name of the analyses stays text", async (browser) => {
    const page = await open(browser, "marked");
    const mark = "<img src=x onerror=window.bad=1>";
    for (const id of ["iterations", "advise", "layers", "kernels", "overlap", "memory"]) {
        await page.locator(`#tab-${id}`).click();
        const panel = page.locator(`#view-${id}`);
        await panel.evaluate((element) => {
            for (const details of element.querySelectorAll("details")) details.open = true;
        });
        await page.waitForTimeout(100);
        assert.ok((await panel.innerText()).includes(mark), id);
    }
    assert.equal(await page.locator("img, svg, iframe, object").count(), 0);
    assert.equal(await page.evaluate(() => window.bad), undefined);
    assert.deepEqual(page.complaints, []);
});

await runTests();
