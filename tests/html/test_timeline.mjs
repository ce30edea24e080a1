// The time line: mouse, keyboard, search, what is said of the selection, iterations, and how many
// boxes a frame takes.
import {
    assert,
    length,
    open,
    picture,
    placeOf,
    runTests,
    selectedName,
    settled,
    test,
    view,
} from "./browser.mjs";

async function openLine(browser, name = "inference", options = {}) {
    const page = await open(browser, name, { view: "timeline", ...options });
    await settled(page);
    return page;
}

async function canvasBox(page) {
    return page.locator("canvas").boundingBox();
}

// ---- Mouse ----

test("the wheel zooms around the pointer", async (browser) => {
    const page = await openLine(browser);
    const before = await view(page);
    const box = await canvasBox(page);
    await page.mouse.move(box.x + box.width / 4, box.y + 100);
    await page.mouse.wheel(0, -400);
    await settled(page);
    const after = await view(page);
    assert.ok(length(after) < length(before) * 0.7);
    const under = ({ from, to }) => from + (to - from) / 4;
    assert.ok(Math.abs(under(after) - under(before)) < length(before) / 500);
    await page.mouse.wheel(0, 400);
    await settled(page);
    assert.ok(Math.abs(length(await view(page)) / length(before) - 1) < 0.01);
});

test("dragging moves by as much as the pointer", async (browser) => {
    const page = await openLine(browser);
    for (let i = 0; i < 5; i++) await page.getByRole("button", { name: "Zoom in" }).click();
    await settled(page);
    const before = await view(page);
    const box = await canvasBox(page);
    await page.mouse.move(box.x + 400, box.y + 60);
    await page.mouse.down();
    await page.mouse.move(box.x + 300, box.y + 60, { steps: 5 });
    await page.mouse.up();
    await settled(page);
    const after = await view(page);
    assert.ok(
        Math.abs((after.from - before.from) / ((length(before) * 100) / box.width) - 1) < 0.05,
    );
    assert.ok(Math.abs(length(after) / length(before) - 1) < 1e-6);
});

test("shift and dragging zooms to it, a double click on nothing shows all", async (browser) => {
    const page = await openLine(browser, "inference", { reducedMotion: "reduce" });
    const before = await view(page);
    const box = await canvasBox(page);
    await page.keyboard.down("Shift");
    await page.mouse.move(box.x + box.width * 0.25, box.y + 60);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.5, box.y + 60, { steps: 5 });
    await page.mouse.up();
    await page.keyboard.up("Shift");
    await settled(page);
    const after = await view(page);
    assert.ok(Math.abs(length(after) / (length(before) / 4) - 1) < 0.02);
    assert.ok(Math.abs(after.from - (before.from + length(before) / 4)) < length(before) / 100);
    await page.mouse.dblclick(box.x + 200, box.y + box.height - 6);
    await settled(page);
    assert.ok(Math.abs(length(await view(page)) / length(before) - 1) < 0.01);
});

test("a click selects, and says what is known", async (browser) => {
    const page = await openLine(browser);
    const place = await placeOf(page, "conv_layer");
    const plain = await picture(page);
    await page.mouse.click(place.x, place.y);
    assert.equal(await selectedName(page), "conv_layer");
    const text = await page.locator("#timeline-details").innerText();
    for (const words of [
        /conv_layer/,
        /Kind\s+kernel/,
        /GPU 0 stream 13/,
        /grid 64 1 1, block 256 1 1/,
        /Launched by\s+cuLaunchKernel at/,
        /Waited last for/,
        /On the critical path/,
    ])
        assert.match(text, words);
    assert.notEqual(await picture(page), plain); // a frame around it, and arrows
    await page.locator("#timeline-details button").first().click();
    assert.equal(await selectedName(page), "cuLaunchKernel");
    assert.match(
        await page.locator("#timeline-details").innerText(),
        /Work it launched \(1\)\s+conv_layer at/,
    );
    assert.deepEqual(page.complaints, []);
});

test("the pointer over an event shows its name and time", async (browser) => {
    const page = await openLine(browser);
    const place = await placeOf(page, "gemm_layer");
    await page.mouse.move(place.x, place.y);
    assert.match(await page.getByRole("tooltip").innerText(), /gemm_layer\s+1\d\.\d+ us from/);
    assert.match(await page.getByRole("tooltip").innerText(), /Layer\s+iteration › /);
    const box = await canvasBox(page);
    await page.mouse.move(place.x, box.y + box.height - 3);
    assert.ok(!(await page.locator("#tip").isVisible()));
});

test("a double click on an event fills the view with it", async (browser) => {
    const page = await openLine(browser, "inference", { reducedMotion: "reduce" });
    const place = await placeOf(page, "conv_layer");
    await page.mouse.dblclick(place.x, place.y);
    await settled(page);
    const shown = await view(page);
    const [begin, duration] = await page.evaluate(() => {
        const { timeline, selected } = miniprof.line;
        return [timeline.begin[selected], timeline.duration[selected]];
    });
    assert.ok(shown.from < begin && shown.to > begin + duration);
    assert.ok(length(shown) < duration * 1.2);
});

// ---- Keyboard ----

test("everything works by keyboard", async (browser) => {
    const page = await openLine(browser, "inference", { reducedMotion: "reduce" });
    await page.locator("canvas").focus();
    const press = async (...keys) => {
        for (const key of keys) await page.keyboard.press(key);
        await settled(page);
        return view(page);
    };
    const whole = await view(page);
    const nearer = await press("+", "+", "w");
    assert.ok(length(nearer) < length(whole) / 3);
    const right = await press("ArrowRight", "d");
    assert.ok(right.from > nearer.from);
    const left = await press("ArrowLeft", "a");
    assert.ok(Math.abs(left.from - nearer.from) < length(nearer) / 100);
    assert.ok(length(await press("-", "s")) > length(left));
    assert.ok(Math.abs(length(await press("f")) / length(whole) - 1) < 0.01);
    await press("n");
    const first = await page.evaluate(() => miniprof.line.selected);
    assert.ok(first >= 0);
    await press("n");
    assert.equal(await page.evaluate(() => miniprof.line.selected), first + 1);
    await press("p");
    assert.equal(await page.evaluate(() => miniprof.line.selected), first);
    await press("Escape");
    assert.equal(await selectedName(page), null);
    await press("/");
    assert.equal(await page.evaluate(() => document.activeElement.type), "search");
});

test("from work to its launch and to what it waited for by keyboard", async (browser) => {
    const page = await openLine(browser, "inference", { reducedMotion: "reduce" });
    await page.getByLabel("Search events by name").fill("relu_layer");
    await page.keyboard.press("Enter");
    assert.equal(await selectedName(page), "relu_layer");
    await page.locator("canvas").focus();
    await page.keyboard.press("b");
    const cause = await selectedName(page);
    assert.ok(
        ["cuLaunchKernel", "conv_layer", "gemm_layer", "add_join", "relu_layer"].includes(cause),
    );
    await page.getByLabel("Search events by name").focus();
    await page.keyboard.press("Enter");
    await page.locator("canvas").focus();
    await page.keyboard.press("l");
    assert.equal(await selectedName(page), "cuLaunchKernel");
});

test("lanes are closed and opened by keyboard", async (browser) => {
    const page = await openLine(browser);
    const lane = page.locator(".head button", { hasText: "Thread 405" });
    const rows = () => page.evaluate(() => miniprof.line.rows.length);
    const open_ = await rows();
    await lane.focus();
    await page.keyboard.press("Enter");
    assert.equal(await lane.getAttribute("aria-expanded"), "false");
    assert.ok((await rows()) < open_);
    await lane.press("Enter");
    assert.equal(await lane.getAttribute("aria-expanded"), "true");
    assert.equal(await rows(), open_);
});

// ---- Search, critical path ----

test("a search counts, and goes from one event to the next and back", async (browser) => {
    const page = await openLine(browser, "inference", { reducedMotion: "reduce" });
    const begin = () => page.evaluate(() => miniprof.timeline.begin[miniprof.line.selected]);
    await page.getByLabel("Search events by name").fill("RELU_LAYER");
    const status = page.getByRole("tabpanel").getByRole("status").first();
    assert.match(await status.innerText(), /^250 found/);
    const begins = [];
    for (let i = 0; i < 5; i++) {
        await page.keyboard.press("Enter");
        assert.equal(await selectedName(page), "relu_layer");
        assert.equal(await status.innerText(), `${i + 1} of 250`);
        begins.push(await begin());
    }
    const expected = await page.evaluate(() => {
        const { timeline } = miniprof;
        const all = [];
        for (let i = 0; i < timeline.count; i++)
            if (timeline.names[timeline.kinds[timeline.kind[i]][0]][1] === "relu_layer")
                all.push(timeline.begin[i]);
        return all.sort((a, b) => a - b).slice(0, 5);
    });
    assert.deepEqual(begins, expected);
    await page.getByRole("button", { name: "Previous" }).click();
    assert.equal(await begin(), expected[3]);
    const shown = await view(page);
    assert.ok(shown.from <= expected[3] && expected[3] <= shown.to);
});

test("the critical path can be switched off", async (browser) => {
    const page = await openLine(browser);
    const button = page.getByRole("button", { name: "Critical path" });
    const on = await picture(page);
    await button.click();
    assert.equal(await button.getAttribute("aria-pressed"), "false");
    assert.notEqual(await picture(page), on);
    await page.locator("canvas").press("c");
    assert.equal(await picture(page), on);
});

// What is on the path as the page shows it, against `miniprof deps` on the same trace.
for (const name of ["inference", "eager", "graph", "two_streams"]) {
    test(`${name}: critical times by name are those of deps`, async (browser) => {
        const page = await open(browser, name);
        const { line, deps } = await page.evaluate(() => {
            const { timeline, documents } = miniprof;
            const sums = {};
            for (let i = 0; i < timeline.count; i++) {
                if (!timeline.critical[i]) continue;
                const key = timeline.names[timeline.kinds[timeline.kind[i]][0]][1];
                sums[key] = (sums[key] || 0) + timeline.critical[i];
            }
            const rows = documents.deps.rows.filter(
                (row) => row.critical_ns && !row.name.startsWith("<"),
            );
            return {
                line: sums,
                deps: Object.fromEntries(rows.map((row) => [row.name, row.critical_ns])),
            };
        });
        assert.ok(Object.keys(deps).length > 0);
        assert.deepEqual(line, deps);
    });
}

// ---- In words ----

test("what is in view is there as a table", async (browser) => {
    const page = await openLine(browser, "inference", { reducedMotion: "reduce" });
    await page.waitForTimeout(500);
    const region = page.getByRole("region", { name: "What is in view" });
    assert.match(await region.innerText(), /^4,300 events in view from/);
    const row = region.locator("tr", { hasText: "conv_layer" });
    assert.match((await row.innerText()).replace(/\s+/g, " "), /conv_layer kernel 250 2\.7599/);
    assert.match(await region.locator("thead").innerText(), /Time\s+ms/);
    await placeOf(page, "conv_layer");
    await page.waitForTimeout(500);
    assert.match(await region.locator("tr", { hasText: "conv_layer" }).innerText(), /\b1\b/);
    assert.equal(await page.locator("canvas").getAttribute("aria-describedby"), "timeline-details");
    assert.equal(await page.locator("#timeline-details").getAttribute("aria-live"), "polite");
});

// ---- Iterations ----

test("a click on an iteration shows it in the time line", async (browser) => {
    const page = await open(browser, "inference", { view: "iterations", reducedMotion: "reduce" });
    const plot = page.locator("#view-iterations .chart canvas");
    const box = await plot.boundingBox();
    await page.mouse.move(box.x + box.width - 2, box.y + box.height / 2);
    await page.mouse.click(box.x + box.width - 2, box.y + box.height / 2); // the last of 50
    await settled(page);
    assert.equal(await page.locator("#tab-timeline").getAttribute("aria-selected"), "true");
    assert.equal(await selectedName(page), "iteration");
    const [begins, begin] = await page.evaluate(() => {
        const { timeline } = miniprof;
        const all = [];
        for (let i = 0; i < timeline.count; i++)
            if (timeline.names[timeline.kinds[timeline.kind[i]][0]][1] === "iteration")
                all.push(timeline.begin[i]);
        return [all, timeline.begin[miniprof.line.selected]];
    });
    assert.equal(begins.length, 50);
    assert.equal(begin, begins[49]);
    const shown = await view(page);
    assert.ok(shown.from < begin && begin < shown.to && length(shown) < 500e3);
});

test("a row of the table does so too, and another range can be chosen", async (browser) => {
    const page = await open(browser, "inference", { view: "iterations", reducedMotion: "reduce" });
    await page.getByLabel("Iterations:").selectOption("NVTX conv1");
    assert.match(await page.locator("#view-iterations dl").innerText(), /Count\s+50/);
    await page.locator("#view-iterations table.data tbody tr").nth(2).getByRole("button").click();
    await settled(page);
    assert.equal(await selectedName(page), "conv1");
});

// ---- Level of detail ----

test("no zoom takes more than a few thousand boxes", async (browser) => {
    const page = await openLine(browser, "eager");
    const frames = await page.evaluate(async () => {
        const { line } = miniprof;
        const found = [];
        for (let zoom = 1; zoom > 1e-7; zoom /= 3) {
            line.fit(false);
            line.zoom(zoom);
            line.paintNow();
            const { from, to } = line.view;
            found.push({ length: to - from, boxes: line.painter.boxes });
        }
        return found;
    });
    assert.ok(
        frames.every(({ boxes }) => boxes < 12000),
        JSON.stringify(frames),
    );
    assert.ok(frames[0].boxes > 500);
});

test("two thousand streams are scrolled through and searched", async (browser) => {
    const page = await openLine(browser, "streams", { reducedMotion: "reduce" });
    assert.equal(await page.locator(".gutter .level2").count(), 2001);
    await page.getByLabel("Search events by name").fill("vecAdd");
    for (let i = 0; i < 60; i++) await page.keyboard.press("Enter");
    await settled(page);
    const [top, boxes] = await page.evaluate(() => [
        miniprof.line.frame.scrollTop,
        miniprof.line.painter.boxes,
    ]);
    assert.ok(top > 200 && boxes < 12000, `${top} ${boxes}`);
    assert.match(await page.locator("#timeline-details").innerText(), /GPU 0 stream \d+/);
    assert.deepEqual(page.complaints, []);
});

// Groups end where their last event ends and hold no more than that: the column of `idle` must fit.
test("groups of the pyramid agree with their events", async (browser) => {
    const page = await open(browser, "eager");
    const wrong = await page.evaluate(() => {
        const { timeline } = miniprof;
        const found = [];
        for (const track of timeline.tracks) {
            for (const level of track.levels.slice(1)) {
                for (let group = 0; group < level.count; group++) {
                    const first = track.first + group * level.span;
                    const last = Math.min(first + level.span, track.end);
                    let busy = 0;
                    for (let i = first; i < last; i++) busy += timeline.duration[i];
                    const end = timeline.begin[last - 1] + timeline.duration[last - 1];
                    if (end - timeline.begin[first] - level.idle[group] !== busy)
                        found.push([track.index, group]);
                }
            }
        }
        return found;
    });
    assert.deepEqual(wrong, []);
});

test("without reduced motion the view moves in steps, with it at once", async (browser) => {
    for (const reducedMotion of ["reduce", "no-preference"]) {
        const page = await openLine(browser, "inference", { reducedMotion });
        const [soon, wanted] = await page.evaluate(() => {
            miniprof.line.goTo(1e6, 2e6);
            return [miniprof.line.view.from, 1e6];
        });
        assert.equal(soon === wanted, reducedMotion === "reduce");
        await settled(page);
        assert.equal((await view(page)).from, wanted);
    }
});

await runTests();
