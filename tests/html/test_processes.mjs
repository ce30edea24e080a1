// The page of a folder: a row for each process, all of them in one time line, and views of the one
// that is chosen.
import { readFileSync } from "node:fs";
import { assert, open, rowsOf, runTests, settled, test } from "./browser.mjs";

const CALM = { reducedMotion: "reduce" };

test("there is a row for each process, and it leads to the overview of that one", async (browser) => {
    const page = await open(browser, "ranks", CALM);
    const box = page.getByRole("group", { name: "Processes", exact: true });
    const rows = await rowsOf(box);
    assert.equal(rows.length, 4);
    const { processes } = await page.evaluate(() => miniprof.parts.summary);
    assert.deepEqual(
        rows.map((row) => row.process),
        processes.map(({ process }) => process),
    );
    assert.ok(rows.every((row) => row.iterations === "50" && row.busy_percent === "70.91"));
    await box.locator("tbody button").nth(2).click();
    assert.equal(await page.locator("#tab-overview").getAttribute("aria-selected"), "true");
    assert.equal(await page.locator("#process").inputValue(), processes[2].process);
    assert.match(
        await page.locator("#subtitle").innerText(),
        new RegExp(`process ${processes[2].pid}`),
    );
    await page.goBack();
    assert.equal(await page.locator("#tab-processes").getAttribute("aria-selected"), "true");
    assert.deepEqual(page.complaints, []);
});

// The same recording four times: each must be in the joined time line as it is alone.
test("the time line has all processes, each as it is in its own page", async (browser) => {
    const read = (page) =>
        page.evaluate(() => {
            const { timeline } = miniprof;
            return timeline.processes.map((process, number) => {
                const sums = {};
                for (const track of timeline.tracks) {
                    if (timeline.lanes[track.lane].process !== number) continue;
                    for (let i = track.first; i < track.end; i++) {
                        const [kind, ...detail] = timeline.kinds[timeline.kind[i]];
                        const [category, name] = timeline.names[kind];
                        const key = `${category} ${name} ${detail} ${timeline.flags[i]}`;
                        const launch = timeline.launch[i];
                        const delay = launch < 0 ? 0 : timeline.begin[i] - timeline.begin[launch];
                        sums[key] = (sums[key] || 0) + timeline.duration[i] + delay;
                    }
                }
                return sums;
            });
        });
    const all = await open(browser, "ranks", { view: "timeline", ...CALM });
    const alone = await open(browser, "inference");
    const [expected] = await read(alone);
    const joined = await read(all);
    assert.equal(joined.length, 4);
    for (const sums of joined) assert.deepEqual(sums, expected);
    assert.equal(await all.evaluate(() => miniprof.timeline.count), 4 * 4300);
    const wrong = await all.evaluate(() => {
        const { timeline } = miniprof;
        return timeline.tracks.filter((track) => {
            const { process } = timeline.lanes[track.lane];
            for (let i = track.first; i < track.end; i++) {
                const launch = timeline.launch[i];
                if (launch < 0) continue;
                const lane = timeline.tracks.find((t) => t.first <= launch && launch < t.end).lane;
                if (timeline.lanes[lane].process !== process) return true;
            }
            return false;
        }).length;
    });
    assert.equal(wrong, 0);
});

test("each process and GPU has a row that sums it up, also when closed", async (browser) => {
    const page = await open(browser, "ranks", { view: "timeline", ...CALM });
    await settled(page);
    assert.equal(await page.locator(".gutter .level0").count(), 4);
    for (const key of ["p0", "p1", "p2", "p3"])
        await page.locator(`button[data-key="${key}"]`).click();
    assert.equal(await page.locator(".gutter .level1").count(), 0);
    assert.equal(await page.evaluate(() => miniprof.line.rows.length), 4);
    await page.locator('button[data-key="p2"]').click();
    assert.equal(await page.locator(".gutter .level1").count(), 2);
    assert.deepEqual(page.complaints, []);
});

test("an iteration of another process is shown where it is on the clock of all", async (browser) => {
    const page = await open(browser, "ranks", { view: "iterations&process=3", ...CALM });
    assert.match(await page.locator("#subtitle").innerText(), /process 408/);
    await page.locator("#view-iterations tbody button").nth(4).click();
    await settled(page);
    const { selected, lane } = await page.evaluate(() => {
        const { timeline, line } = miniprof;
        const track = timeline.tracks.find(
            ({ first, end }) => first <= line.selected && line.selected < end,
        );
        return { selected: line.selected, lane: timeline.lanes[track.lane] };
    });
    assert.ok(selected >= 0);
    assert.equal(lane.process, 3);
    assert.match(await page.locator("#timeline-details").innerText(), /Where\s+pid 408, Thread/);
});

test("a folder of one trace makes the page of that trace", async (browser) => {
    const text = (name) => readFileSync(`${process.env.PAGES}/${name}.html`, "utf-8");
    const page = await open(browser, "one");
    assert.equal(await page.locator("#process").count(), 0);
    assert.equal(text("one"), text("inference"));
});

await runTests();
