// The rows of the time line: those of a GPU against what the commands say, pinning, resizing and
// sorting, measuring, hover cards, what is left out.
import { assert, open, picture, runTests, settled, test, view } from "./browser.mjs";

const CALM = { reducedMotion: "reduce" };

async function openLine(browser, name = "inference", options = {}) {
    const page = await open(browser, name, { view: "timeline", ...CALM, ...options });
    await settled(page);
    return page;
}

// ---- What a GPU did ----

for (const name of ["inference", "eager", "graph", "two_streams"]) {
    test(`${name}: the busy time of each GPU is that of the overview`, async (browser) => {
        const page = await openLine(browser, name);
        const [shown, said] = await page.evaluate(() => [
            miniprof.line.devices.map(({ number, busy }) => {
                const last = busy.count - 1;
                return [number, busy.before[last] + busy.end[last] - busy.begin[last]];
            }),
            miniprof.documents.overview.devices.map((row) => [row.device, row.busy_ns]),
        ]);
        assert.ok(said.length > 0);
        assert.deepEqual(shown, said);
    });
}

// `iters` works out causes from the event graph, the page from what it shows. It shows gaps as
// recorded, of which `iters` has what recording costs in a row by itself.
for (const name of ["inference", "eager", "graph"]) {
    test(`${name}: idle time by cause is that of iters`, async (browser) => {
        const page = await openLine(browser, name);
        const { shown, said } = await page.evaluate(() => {
            const { timeline, documents, line } = miniprof;
            const { columns, rows } = documents.iterations;
            const at = (key) => columns.indexOf(key);
            const causes = ["launch", "queued", "copy", "host", "sync", "unknown", "recording"];
            const relative = (ns) => Number(BigInt(ns) - BigInt(timeline.origin));
            const inside = rows.slice(1, -1); // gaps at the ends have one side
            const of = (values) => causes.map((cause) => values[at(`idle_${cause}_ns`)]);
            const sum = (lists) =>
                lists.reduce((all, list) => all.map((value, i) => value + list[i]));
            const between = (row) => [
                ...line.devices[0].gaps.between(
                    relative(row[at("begin_ns")]),
                    relative(row[at("begin_ns")]) + row[at("latency_ns")],
                ),
            ];
            return { said: sum(inside.map(of)), shown: sum(inside.map(between)) };
        });
        const whole = said.reduce((sum, value) => sum + value);
        const less = said.pop();
        assert.ok(whole > less && less > 0);
        said.forEach((value, i) => {
            const what = `${i}: ${shown} for ${said}`;
            assert.ok(shown[i] >= value - whole * 0.01, what);
            assert.ok(shown[i] <= value + less + whole * 0.01, what);
        });
        const all = shown.reduce((sum, value) => sum + value);
        assert.ok(Math.abs(all - whole) <= whole * 0.01, `${all} of ${whole}`);
    });
}

test("copies add up to the bytes that iters counts", async (browser) => {
    const page = await openLine(browser);
    const [sum, rates] = await page.evaluate(() => {
        const { copies } = miniprof.line.devices[0];
        return [copies.before[copies.count - 1], copies.max];
    });
    assert.ok(Math.abs(sum / (50 * 131072) - 1) < 1e-3, String(sum));
    assert.ok(rates > 1 && rates < 100);
});

// By hand: of each range the first begin and last end of the work whose launch lies in it.
test("ranges are projected onto the GPU from their first to their last work", async (browser) => {
    const page = await openLine(browser);
    const { shown, expected } = await page.evaluate(() => {
        const { timeline, line } = miniprof;
        const track = timeline.tracks.find(({ kind, domain }) => kind === "ranges" && !domain);
        const of = [];
        for (let range = track.first; range < track.end; range++) {
            const end = timeline.begin[range] + timeline.duration[range];
            let [first, last] = [Infinity, -Infinity];
            for (const work of timeline.tracks.filter(({ kind }) => kind === "work"))
                for (let i = work.first; i < work.end; i++) {
                    const launched = timeline.begin[timeline.launch[i]];
                    if (launched < timeline.begin[range] || launched > end) continue;
                    first = Math.min(first, timeline.begin[i]);
                    last = Math.max(last, timeline.begin[i] + timeline.duration[i]);
                }
            of.push([range, first, last]);
        }
        const { spans } = line.devices[0].ranges[0];
        return {
            shown: [...spans.event].map((e, i) => [e, spans.begin[i], spans.end[i]]),
            expected: of,
        };
    });
    assert.equal(expected.length, 50);
    assert.deepEqual(shown, expected);
});

test("memory is a row where the trace has it", async (browser) => {
    const page = await openLine(browser, "memory");
    assert.ok(await page.locator(".gutter span", { hasText: "memory, to" }).isVisible());
    const [most, peak] = await page.evaluate(() => [
        miniprof.line.devices[0].memory.max,
        miniprof.documents.memory.memory.find(({ kind }) => kind === "all").peak_bytes,
    ]);
    assert.equal(most, peak);
});

// ---- Rows ----

const rowOf = (page, key) =>
    page.evaluate((wanted) => {
        const { rows } = miniprof.line;
        const { y, height, pinned } = rows.find(({ block }) => block.key === wanted);
        return { y, height, pinned };
    }, key);

test("a row is pinned to the top and stays there, by mouse and by keyboard", async (browser) => {
    const page = await openLine(browser, "streams");
    const last = await page.evaluate(() => miniprof.line.blocks[1900].key);
    await page.evaluate((key) => {
        miniprof.line.frame.scrollTop = miniprof.line.rows.find(({ block }) => block.key === key).y;
    }, last);
    await page.locator(`button[data-key="${last}"]`).focus();
    await page.keyboard.press("p");
    const { y, pinned } = await rowOf(page, last);
    assert.ok(pinned && y < 40);
    const label = page.locator(`.pins button[data-key="${last}"]`);
    const before = await label.boundingBox();
    await page.evaluate(() => (miniprof.line.frame.scrollTop = 0));
    assert.deepEqual(await label.boundingBox(), before);
    await page.locator(".pins .pin").click();
    assert.ok(!(await rowOf(page, last)).pinned);
    assert.deepEqual(page.complaints, []);
});

test("a row is made taller by keyboard and by dragging its border", async (browser) => {
    const page = await openLine(browser);
    const key = "l0";
    const before = await rowOf(page, key);
    await page.locator(`button[data-key="${key}"]`).focus();
    await page.keyboard.press("Shift+ArrowUp");
    const taller = await rowOf(page, key);
    assert.ok(taller.height > before.height);
    await page.keyboard.press("Shift+ArrowDown");
    assert.equal((await rowOf(page, key)).height, before.height);
    const handle = page.locator(`.head:has(button[data-key="${key}"]) .handle`);
    const box = await handle.boundingBox();
    await page.mouse.move(box.x + 40, box.y + 2);
    await page.mouse.down();
    await page.mouse.move(box.x + 40, box.y + 42, { steps: 4 });
    await page.mouse.up();
    assert.ok((await rowOf(page, key)).height >= before.height + 30);
});

test("rows are sorted by name and by time", async (browser) => {
    const page = await openLine(browser, "streams");
    const streams = () =>
        page.evaluate(() =>
            miniprof.line.blocks
                .filter(({ level }) => level === 2)
                .map(({ title, time }) => ({
                    number: Number(title.match(/stream (\d+)/)[1]),
                    time,
                })),
        );
    await page.getByLabel("Rows").selectOption("by name");
    const byName = (await streams()).map(({ number }) => number);
    assert.deepEqual(
        byName,
        [...byName].sort((a, b) => a - b),
    );
    await page.getByLabel("Rows").selectOption("by time");
    const times = (await streams()).map(({ time }) => time);
    assert.ok(times.every((time, i) => !i || times[i - 1] >= time));
});

test("a GPU that is closed keeps one row, and going to its work opens it", async (browser) => {
    const page = await openLine(browser);
    await page.locator('button[data-key="p0g0"]').click();
    assert.equal(await page.locator(".gutter .level2").count(), 0);
    await page.getByLabel("Search events by name").fill("relu_layer");
    await page.keyboard.press("Enter");
    assert.ok((await page.locator(".gutter .level2").count()) > 0);
});

test("the picture fills the window, and the border below it moves", async (browser) => {
    for (const height of [700, 1000, 1400]) {
        const page = await openLine(browser, "inference", { viewport: { width: 1400, height } });
        const bottom = await page.locator(".below").boundingBox();
        assert.ok(Math.abs(bottom.y + bottom.height - height) < 20, `${height}`);
        const canvas = await page.locator("canvas").boundingBox();
        assert.ok(canvas.height > height - 430, `${canvas.height} of ${height}`);
    }
    const page = await openLine(browser);
    const before = await page.locator("canvas").boundingBox();
    await page.getByRole("separator").focus();
    await page.keyboard.press("ArrowDown");
    await page.waitForTimeout(100);
    assert.ok((await page.locator("canvas").boundingBox()).height > before.height + 10);
});

// ---- Measuring, cards, search ----

test("dragging in the ruler measures, and says what lies in it", async (browser) => {
    const page = await openLine(browser);
    const shown = await view(page);
    const box = await page.locator("canvas").boundingBox();
    await page.mouse.move(box.x + box.width * 0.25, box.y + 8);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.75, box.y + 8, { steps: 4 });
    await page.mouse.up();
    await page.waitForTimeout(500);
    assert.deepEqual(await view(page), shown);
    const { from, to } = await page.evaluate(() => miniprof.line.measured);
    assert.ok(Math.abs((to - from) / ((shown.to - shown.from) / 2) - 1) < 0.01);
    const region = page.getByRole("region", { name: "What is in view" });
    assert.match(await region.innerText(), /events measured from .*, which is 6\.4\d+ ms/);
    assert.match(await region.innerText(), /GPU 0 busy\s+\d+\.\d+ %; idle: /);
    await page.locator("canvas").focus();
    await page.keyboard.press("Escape");
    assert.equal(await page.evaluate(() => miniprof.line.measured), null);
});

test("with Measure on, dragging anywhere measures", async (browser) => {
    const page = await openLine(browser);
    await page.getByRole("button", { name: "Measure" }).click();
    const shown = await view(page);
    const box = await page.locator("canvas").boundingBox();
    await page.mouse.move(box.x + 300, box.y + 200);
    await page.mouse.down();
    await page.mouse.move(box.x + 200, box.y + 200, { steps: 4 });
    await page.mouse.up();
    assert.deepEqual(await view(page), shown);
    const { from, to } = await page.evaluate(() => miniprof.line.measured);
    assert.ok(from < to);
});

test("a card says why the GPU is idle at the pointer", async (browser) => {
    const page = await openLine(browser);
    const place = await page.evaluate(() => {
        const { line } = miniprof;
        const { gaps } = line.devices[0];
        const at = gaps.cause.indexOf(3); // the host
        line.motion++;
        line.setView(gaps.time[at] - 1000, gaps.time[at] + gaps.length[at] + 1000);
        const row = line.rows.find(({ block, isHead }) => isHead && block.key === "p0g0");
        const box = line.canvas.getBoundingClientRect();
        return { x: box.left + box.width / 2, y: box.top + row.y + row.height / 2 };
    });
    await settled(page);
    await page.mouse.move(place.x, place.y);
    assert.match(
        await page.getByRole("tooltip").innerText(),
        /GPU idle: the host is outside of CUDA\s+busy 0\.00 %/,
    );
});

test("what a search found is framed in the picture", async (browser) => {
    const page = await openLine(browser);
    const search = page.getByLabel("Search events by name");
    const status = page.getByRole("tabpanel").getByRole("status").first();
    await search.fill("no such name");
    assert.equal(await status.innerText(), "0 found");
    await search.press("Enter");
    assert.equal(await status.innerText(), "none further on, 0 found");
    await page.evaluate(() => miniprof.line.setView(0, 3e5));
    const plain = await picture(page);
    await search.fill("gemm_layer");
    assert.notEqual(await picture(page), plain);
});

// ---- What is left out ----

test("what is left out is said in the view and hatched in the picture", async (browser) => {
    const page = await openLine(browser, "part");
    const [count, all] = await page.evaluate(() => [
        miniprof.timeline.count,
        miniprof.timeline.processes[0],
    ]);
    assert.ok(count <= 1000 && all.leftOut > 3000);
    assert.match(
        await page.locator(".line-view .left-out").innerText(),
        /^The page has the first [\d,]+ events, up to [\d.]+ ms\. From there on [\d,]+ events/,
    );
    const { from, to } = await view(page);
    const end = await page.evaluate(() =>
        Number(BigInt(miniprof.documents.info.last_ns) - BigInt(miniprof.timeline.origin)),
    );
    assert.ok(from < 0 && to > end, `${to} ${end}`);
    assert.ok(all.until < end / 2);
    await page.locator("#tab-overview").click();
    assert.match(await page.locator(".quality").innerText(), /leaves out the last [\d,]+ events/);
    assert.deepEqual(page.complaints, []);
});

await runTests();
