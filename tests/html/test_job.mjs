// The page of a job of several ranks: what deps and advise say of the folder, and one critical path
// in the time line of all.
import { readFileSync } from "node:fs";
import { assert, assertNear, open, rowsOf, runTests, showColumns, test, unitOf } from "./browser.mjs";

const answer = (command) =>
    JSON.parse(readFileSync(`${process.env.PAGES}/job.${command}.json`, "utf-8"));

test("each rank has a row with what deps says of it", async (browser) => {
    const page = await open(browser, "job", { view: "job" });
    const box = page.getByRole("group", { name: "Ranks", exact: true });
    const keys = ["critical_ns", "host_code_ns", "transfer_ns", "peer_ns", "peer_idle_ns"];
    await showColumns(box, ...keys);
    const rows = await rowsOf(box);
    const { by_rank: ranks, window_ns: window } = answer("deps");
    assert.equal(rows.length, ranks.length);
    for (const key of keys) {
        const unit = await unitOf(box, key);
        rows.forEach((row, i) => assertNear(row[key], ranks[i][key], unit, key));
    }
    rows.forEach((row, i) =>
        assertNear(row.critical_percent, (ranks[i].critical_ns / window) * 100, "", "percent"),
    );
    assert.deepEqual(page.complaints, []);
});

test("the job's answer stands first, in the words of report", async (browser) => {
    const [{ job }] = answer("advise");
    assert.ok(job.answer.length >= 3);
    for (const view of ["job", "processes"]) {
        const page = await open(browser, "job", { view });
        const shown = page.locator(`#view-${view} .job-answer p`);
        assert.deepEqual(await shown.allInnerTexts(), job.answer);
        assert.deepEqual(page.complaints, []);
    }
});

test("the findings are those of advise on all ranks together", async (browser) => {
    const page = await open(browser, "job", { view: "job" });
    const [{ findings }] = answer("advise");
    const shown = page.locator("#view-job .finding");
    assert.ok(findings.length);
    assert.equal(await shown.count(), findings.length);
    for (const [i, item] of findings.entries()) {
        const text = await shown.nth(i).innerText();
        assert.ok(text.includes(item.title) && text.includes(item.evidence), text);
    }
    assert.deepEqual(page.complaints, []);
});

test("the time line has the critical path of the job, rank by rank", async (browser) => {
    const page = await open(browser, "job", { view: "timeline" });
    const sums = await page.evaluate(() => {
        const { timeline } = miniprof;
        const found = timeline.processes.map(() => 0);
        for (const track of timeline.tracks)
            for (let i = track.first; i < track.end; i++)
                found[timeline.lanes[track.lane].process] += timeline.critical[i];
        return found;
    });
    const expected = sums.map(() => 0);
    for (const { name, critical_ns: time } of answer("deps").rows) {
        const rank = /^rank(\d+):(?!<[a-z ]+>$)/.exec(name); // no host code
        if (rank) expected[rank[1]] += time;
    }
    assert.deepEqual(sums, expected);
    assert.ok(expected.every((time) => time > 0));
});

test("waiting for peers is idle time of its own cause", async (browser) => {
    const page = await open(browser, "job", { view: "timeline" });
    const sums = await page.evaluate(() => {
        const { timeline } = miniprof;
        const found = timeline.processes.map(() => 0);
        for (const track of timeline.tracks)
            for (let i = track.first; i < track.end; i++)
                found[timeline.lanes[track.lane].process] += timeline.peer[i];
        return found;
    });
    assert.deepEqual(
        sums,
        answer("deps").by_rank.map((row) => row.peer_ns),
    );
    await page.getByText("rank 0, GPU 0 busy").waitFor(); // what is in view is told a little later
    const text = await page.locator("#view-timeline").innerText();
    assert.match(text, /rank 0, GPU 0 busy\s+[\d.]+ %; idle: .*NCCL waits for peers [\d.]+ /);
    assert.deepEqual(page.complaints, []);
});

test("processes without a job in common have no such view", async (browser) => {
    const page = await open(browser, "ranks");
    assert.equal(await page.locator("#tab-processes").count(), 1);
    assert.equal(await page.locator("#tab-job").count(), 0);
});

await runTests();
