// Counters that were sampled over time, in the time line: of the trace that
// tests/tools/known_counters.h states, and of one with many more samples than bins.
import { assert, open, picture, runTests, settled, test, view } from "./browser.mjs";

const CALM = { reducedMotion: "reduce" };

async function openLine(browser, name = "counters", options = {}) {
    const page = await open(browser, name, { view: "timeline", ...CALM, ...options });
    await settled(page);
    return page;
}

// Runs `action(line of that counter, from)` in the page; `from` is the recorder's time 0.
function ofLine(page, name, action) {
    return page.evaluate(
        `(${action})(miniprof.line.devices[0].counters.find(({ name }) => name === "${name}"),
            -Number(miniprof.timeline.origin))`,
    );
}

async function rowOf(page, title) {
    const box = await page.locator("canvas").boundingBox();
    return page.evaluate(
        ([wanted, top]) => {
            const { line } = miniprof;
            const row = line.rows.find((one) => one.title?.startsWith(wanted));
            line.frame.scrollTop = 0;
            const y = row.y + row.height / 2;
            const bottom = line.frame.clientHeight - 40;
            line.frame.scrollTop = Math.max(0, y - bottom);
            return top + y - line.frame.scrollTop;
        },
        [title, box.y],
    );
}

async function cardAt(page, title, time) {
    const y = await rowOf(page, title);
    await settled(page);
    const box = await page.locator("canvas").boundingBox();
    const { from, to } = await view(page);
    await page.mouse.move(box.x + ((time - from) / (to - from)) * box.width, y);
    return page.getByRole("tooltip").innerText();
}

test("a row a counter, in a block of the GPU", async (browser) => {
    const page = await openLine(browser);
    const titles = await page.evaluate(() =>
        miniprof.line.rows.filter(({ line }) => line).map(({ title, block }) => [block.title, title]),
    );
    assert.deepEqual(titles, [
        ["GPU 0 counters", "sm_active, to 100 %"],
        ["GPU 0 counters", "dram_active, to 100 %"],
        ["GPU 0 counters", "power, to 45 W"],
    ]);
    const names = await page.locator(".timeline .gutter").innerText();
    for (const name of ["GPU 0 counters", "dram_active, to 100 %"]) assert.ok(names.includes(name));
    assert.deepEqual(page.complaints, []);
});

test("values are those of the trace, at their times", async (browser) => {
    const page = await openLine(browser);
    const values = await ofLine(page, "dram_active", (line, zero) =>
        [...line.mean].map((mean, i) => [
            line.begin[i] - zero,
            line.end[i] - zero,
            mean,
            line.min[i],
            line.max[i],
        ]),
    );
    assert.equal(values.length, 60);
    values.forEach(([begin, end, ...all], i) => {
        assert.deepEqual([begin, end], [1e6 + i * 2e4, 1e6 + (i + 1) * 2e4]);
        const expected = i < 51 ? i + 1 : (i + 1) * 2 - 51.2;
        for (const value of all) assert.ok(Math.abs(value - expected) < 1e-9, `${value} ${i}`);
    });
    const power = await ofLine(page, "power", (line, zero) => [
        line.begin[0] - zero,
        line.end[0] - zero,
        line.mean[0],
        line.source,
    ]);
    assert.deepEqual(power, [1.1e6, 2e6, 45, "NVML"]);
});

test("the card beside the pointer has the mean and its spread", async (browser) => {
    const page = await openLine(browser);
    const time = await ofLine(page, "dram_active", (line) => line.begin[29] + 1e4);
    await page.evaluate((at) => miniprof.line.setView(at - 2e5, at + 2e5), time);
    await settled(page);
    assert.match(await cardAt(page, "dram_active", time), /dram_active (29\.\d+|30|30\.\d+) %/);
    assert.match(await cardAt(page, "dram_active", time), /by CUPTI; mean over/);
    assert.match(await cardAt(page, "sm_active", time), /sm_active 50 %\s+50 % to 50 %/);
    assert.match(await cardAt(page, "power", time), /power 45 W/);
    const before = await ofLine(page, "dram_active", (line) => line.begin[0] - 5e4);
    await page.evaluate((at) => miniprof.line.setView(at - 2e4, at + 2e4), before);
    await settled(page);
    assert.match(await cardAt(page, "dram_active", before), /no samples here/);
});

test("means of what is in view are in words below", async (browser) => {
    const page = await openLine(browser);
    const begin = await ofLine(page, "dram_active", (line) => line.begin[9]);
    await page.evaluate((from) => miniprof.line.measure({ from, to: from + 6e4 }), begin);
    await page.waitForFunction(() =>
        document.querySelector(".below").innerText.includes("Measured"),
    );
    assert.match(
        await page.locator(".below").innerText(),
        /GPU 0 counters\s+sm_active 50 %, dram_active 11 %/,
    );
});

test("rows are painted as high as their values", async (browser) => {
    const page = await openLine(browser);
    const y = await rowOf(page, "sm_active");
    await settled(page);
    const [begin, end] = await ofLine(page, "sm_active", (line) => [
        line.begin[0],
        line.end[line.count - 1],
    ]);
    await page.evaluate(([from, to]) => miniprof.line.setView(from, to), [begin, end]);
    await settled(page);
    const filled = await page.evaluate((top) => {
        const { canvas, painter, rows, frame } = miniprof.line;
        const row = rows.find(({ title }) => title?.startsWith("sm_active"));
        const ratio = painter.ratio;
        const x = Math.round((painter.width / 2 + 3) * ratio);
        const from = Math.round((row.y - frame.scrollTop) * ratio);
        const context = canvas.getContext("2d");
        const { data } = context.getImageData(x, from, 1, Math.round(row.height * ratio));
        const colors = [];
        for (let i = 0; i < data.length; i += 4) colors.push(data.slice(i, i + 3).join());
        const ink = colors[colors.length - 3];
        return colors.filter((color) => color === ink).length / colors.length;
    }, y);
    assert.ok(filled > 0.3 && filled < 0.6, String(filled));
    assert.ok((await picture(page)).length > 0);
});

// 300,000 samples: a sawtooth from 0 to 51.1 in steps of 0.1.
test("many samples are joined, and none is lost", async (browser) => {
    const page = await openLine(browser, "many-samples");
    const found = await ofLine(page, "sm_active", (line) => {
        let sum = 0;
        let time = 0;
        let ordered = true;
        for (let i = 0; i < line.count; i++) {
            sum += line.mean[i] * (line.end[i] - line.begin[i]);
            time += line.end[i] - line.begin[i];
            ordered &&= line.min[i] <= line.mean[i] && line.mean[i] <= line.max[i];
        }
        return { count: line.count, mean: sum / time, ordered, least: Math.min(...line.min) };
    });
    assert.ok(found.count > 50000 && found.count <= 100000, String(found.count));
    assert.ok(found.ordered);
    assert.ok(Math.abs(found.mean - 25.55) < 0.1, String(found.mean));
    assert.equal(found.least, 0);
    assert.deepEqual(page.complaints, []);
});

test("without samples there is no block", async (browser) => {
    const page = await openLine(browser, "inference");
    assert.equal(
        await page.evaluate(() => miniprof.line.rows.filter(({ line }) => line).length),
        0,
    );
    assert.equal(await page.locator("text=counters").count(), 0);
});

test("several processes: each has its lines, on one clock", async (browser) => {
    const page = await openLine(browser, "counted-ranks");
    const lines = await page.evaluate(() =>
        miniprof.line.devices.map(({ process, counters }) => [
            process,
            counters.map(({ name }) => name).join(),
            counters[0].begin[0] + Number(miniprof.timeline.processes[process].origin),
        ]),
    );
    assert.deepEqual(lines, [
        [0, "sm_active,dram_active,power", 1e6],
        [1, "sm_active,dram_active,power", 1e6],
    ]);
});

runTests();
