// The flame graph of the view Stacks, against what known_stacks.h says by construction and `miniprof
// stacks --json` prints; and who called, in the time line.
import { readFileSync } from "node:fs";
import { assert, open, runTests, settled, test } from "./browser.mjs";

const CALM = { reducedMotion: "reduce" };

// Of known_stacks.h, in ns of 92000: the name, where its box begins, its width, its depth.
const GPU_TIME = [
    ["all", 0, 92, 0],
    ["<module> (/app/main.py:10)", 0, 87, 1],
    ["<no stack>", 87, 5, 1],
    ["train (/app/main.py:20)", 0, 83, 2],
    ["train (/app/main.py:21)", 83, 4, 2],
    ["forward (/app/model.py:7)", 0, 70, 3],
    ["backward (/app/model.py:9)", 70, 11, 3],
    ["forward (/app/model.py:7)", 0, 10, 4],
];

// What is drawn: name, begin and width in pixels of the picture, depth.
function boxes(page) {
    return page.locator(".flame .boxes").evaluate((element) => {
        const whole = element.getBoundingClientRect();
        return [...element.children].map((box) => {
            const { left, width, top, height } = box.getBoundingClientRect();
            const name = box.ariaLabel.replace(/: [^:]*$/, "");
            const depth = Math.round((top - whole.top) / (height + 1));
            return [name, (left - whole.left) / whole.width, width / whole.width, depth];
        });
    });
}

async function expectBoxes(page, wanted, of) {
    const drawn = await boxes(page);
    const names = (rows) => rows.map(([name, , , depth]) => `${depth} ${name}`).sort();
    assert.deepEqual(names(drawn), names(wanted));
    for (const [name, from, width, depth] of wanted)
        assert.ok(
            drawn.some(
                (box) =>
                    box[0] === name &&
                    box[3] === depth &&
                    Math.abs(box[1] - from / of) < 0.002 &&
                    Math.abs(box[2] - width / of) < 0.002,
            ),
            `${name} from ${from} with ${width} of ${of} in ${JSON.stringify(drawn)}`,
        );
}

function box(page, name, nth = 0) {
    return page.getByRole("treeitem", { name: new RegExp(`^${name}`) }).nth(nth);
}

function hash(page) {
    return page.evaluate(() => {
        miniprof.remember(false);
        return location.hash;
    });
}

test("boxes are as wide as their time on the GPU", async (browser) => {
    const page = await open(browser, "stacks", { view: "stacks", ...CALM });
    await expectBoxes(page, GPU_TIME, 92);
    assert.equal(
        await box(page, "forward").getAttribute("aria-label"),
        "forward (/app/model.py:7): 70.00 us, 76.09 %",
    );
    assert.equal(await box(page, "backward").innerText(), "backward");
    assert.equal(await page.locator(".flame .left-out").count(), 0);
    assert.deepEqual(page.complaints, []);
});

for (const [words, key, trace] of [
    ["launches", "launches", "stacks"],
    ["calls", "calls", "stacks"],
    ["waiting time", "waiting_ns", "stacks"],
    ["critical path, calls and work", "critical_ns", "stacks"],
    ["critical path, host code", "host_ns", "stacks"],
    ["sampled CPU time", "sampled_ns", "stacks-sampled"],
]) {
    test(`by ${words} boxes are as wide as stacks says`, async (browser) => {
        const { tree, all } = JSON.parse(
            readFileSync(`${process.env.PAGES}/${trace}.stacks.json`, "utf-8"),
        );
        const page = await open(browser, trace, { view: "stacks", ...CALM });
        await page.getByLabel("Width").selectOption(words);
        const drawn = await boxes(page);
        const wanted = tree.filter((row) => row[key]);
        assert.equal(drawn.length, wanted.length + 1);
        for (const row of wanted)
            assert.ok(
                drawn.some(
                    ([name, , width, depth]) =>
                        name === row.frame &&
                        depth === (row.depth ?? 1) &&
                        Math.abs(width - row[key] / all[key]) < 0.002,
                ),
                `${row.frame} in ${JSON.stringify(drawn)}`,
            );
    });
}

test("samples have a width and a column where there are some", async (browser) => {
    for (const [trace, has] of [
        ["stacks", false],
        ["stacks-sampled", true],
    ]) {
        const page = await open(browser, trace, { view: "stacks", ...CALM });
        const widths = await page.getByLabel("Width").locator("option").allInnerTexts();
        assert.equal(widths.includes("sampled CPU time"), has, `${widths}`);
        const heads = await page.locator("#view-stacks table.data th").allInnerTexts();
        assert.equal(
            heads.some((text) => /^Sampled/.test(text)),
            has,
            `${heads}`,
        );
        const text = await page.locator("#view-stacks").innerText();
        assert.match(text, has ? /GIL held\s+15\.00 us/ : /Zero or no: .*GIL held/);
        assert.deepEqual(page.complaints, []);
    }
});

test("a click zooms, and the address leads back", async (browser) => {
    const page = await open(browser, "stacks", { view: "stacks", ...CALM });
    await box(page, "train .*:20").click();
    const zoomed = [
        ["all", 0, 83, 0],
        ["<module> (/app/main.py:10)", 0, 83, 1],
        ["train (/app/main.py:20)", 0, 83, 2],
        ["forward (/app/model.py:7)", 0, 70, 3],
        ["backward (/app/model.py:9)", 70, 11, 3],
        ["forward (/app/model.py:7)", 0, 10, 4],
    ];
    await expectBoxes(page, zoomed, 83);
    await page.getByLabel("Width").selectOption("calls");
    await page.keyboard.press("Tab");
    const address = await hash(page);
    assert.equal(address, "#stacks&weight=2&zoom=2&node=2");
    await page.reload();
    assert.equal(await page.getByLabel("Width").inputValue(), "calls");
    await page.getByLabel("Width").selectOption("GPU time");
    await expectBoxes(page, zoomed, 83);
    await box(page, "all").click();
    await expectBoxes(page, GPU_TIME, 92);
    assert.equal(await hash(page), "#stacks");
    assert.deepEqual(page.complaints, []);
});

for (const place of ["weight=99&zoom=99&node=99", "zoom=-1&node=x", "weight=1.5&node=0.5"]) {
    test(`an address of nothing shows everything: ${place}`, async (browser) => {
        const page = await open(browser, "stacks", { view: `stacks&${place}`, ...CALM });
        await expectBoxes(page, GPU_TIME, 92);
        assert.deepEqual(page.complaints, []);
    });
}

test("the keyboard goes up, down, aside, in and out", async (browser) => {
    const page = await open(browser, "stacks", { view: "stacks", ...CALM });
    const focused = () => page.evaluate(() => document.activeElement.ariaLabel);
    await box(page, "all").focus();
    for (const [key, name] of [
        ["ArrowDown", "<module>"],
        ["ArrowRight", "<no stack>"],
        ["ArrowRight", "<no stack>"],
        ["ArrowLeft", "<module>"],
        ["ArrowDown", "train (/app/main.py:20)"],
        ["ArrowRight", "train (/app/main.py:21)"],
        ["ArrowDown", "train (/app/main.py:21)"],
        ["ArrowUp", "<module>"],
        ["Home", "all"],
    ]) {
        await page.keyboard.press(key);
        assert.ok((await focused()).startsWith(name), `${key}: ${await focused()}`);
    }
    for (let i = 0; i < 2; i++) await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    assert.equal((await boxes(page)).length, 6);
    await page.keyboard.press("Escape");
    await expectBoxes(page, GPU_TIME, 92);
    assert.ok((await focused()).startsWith("all"));
});

// Both calls of forward are below the first, and count once: 70 of 92.
test("a search says how many it finds and what they weigh", async (browser) => {
    const page = await open(browser, "stacks", { view: "stacks", ...CALM });
    await page.getByLabel("Search functions and files").fill("FORWARD");
    const status = page.locator(".flame [role=status]");
    await status.getByText("2 found, 76.09 %").waitFor();
    assert.equal(await page.locator(".flame .box.found").count(), 2);
    await page.getByLabel("Search functions and files").fill("main.py:2");
    await status.getByText("2 found, 94.57 %").waitFor();
    await page.getByLabel("Search functions and files").fill("");
    await page.waitForTimeout(300);
    assert.equal(await status.innerText(), "");
    assert.equal(await page.locator(".flame .box.other").count(), 0);
});

test("details have the place, the figures and the callers", async (browser) => {
    const page = await open(browser, "stacks", { view: "stacks", ...CALM });
    await box(page, "forward").click();
    const details = page.locator(".flame .details");
    const text = (await details.innerText()).replace(/\s+/g, " ");
    for (const part of [
        "Where /app/model.py:7",
        "GPU time 70.00 us, 76.09 % 60.00 us",
        "launches 3, 37.50 % 2",
        "critical path, host code 0 ns, 0.00 % 0 ns",
    ])
        assert.ok(text.includes(part), `${part} in ${text}`);
    const callers = await details.getByRole("listitem").allInnerTexts();
    assert.deepEqual(callers, ["train (/app/main.py:20)", "<module> (/app/main.py:10)", "all"]);
    await details.getByRole("button", { name: "all" }).click();
    await expectBoxes(page, GPU_TIME, 92);
    await box(page, "backward").hover();
    assert.match(await page.locator("#tip").innerText(), /backward.*\s+11\.00 us, 11\.96 %/);
});

test("without stacks there is no such view", async (browser) => {
    const page = await open(browser, "plain", { view: "stacks", ...CALM });
    assert.equal(await page.locator("#tab-stacks").count(), 0);
    assert.deepEqual(page.complaints, []);
});

test("of several processes those without stacks say so", async (browser) => {
    const page = await open(browser, "some-stacks", { view: "stacks", ...CALM });
    const having = await page.evaluate(() =>
        miniprof.parts.processes.map(
            (list) => list.find(({ id }) => id === "stacks").value.stacks,
        ),
    );
    assert.deepEqual([...having].sort(), [false, true]);
    for (const [process, has] of having.entries()) {
        await page.locator("#process").selectOption({ index: process });
        await page.locator("#tab-stacks").click();
        assert.equal(await page.locator("#view-stacks .flame").count(), has ? 1 : 0);
        if (!has) assert.match(await page.locator("#view-stacks").innerText(), /has no such data/);
    }
    assert.deepEqual(page.complaints, []);
});

test("the time line says who called, of work who called its launch", async (browser) => {
    for (const name of ["stacks", "some-stacks"]) {
        const page = await open(browser, name, { view: "timeline", ...CALM });
        await settled(page);
        const said = await page.evaluate(() => {
            const { line } = miniprof;
            const { timeline } = line;
            const texts = {};
            for (let i = 0; i < timeline.count; i++) {
                const track = timeline.tracks.find(({ first, end }) => first <= i && i < end);
                const { label, origin } = timeline.processes[timeline.lanes[track.lane].process];
                if (label && !timeline.callers.length) continue;
                line.select(i);
                const [, who] =
                    /Called from\s+(.*)/.exec(document.querySelector("#view-timeline").innerText) ||
                    [];
                const at = Math.round(timeline.begin[i] + Number(origin)) - 5000000;
                if (track.kind !== "ranges") texts[`${track.kind} ${at}`] = who || "";
            }
            return texts;
        });
        for (const [event, caller] of [
            ["calls 0", "forward (model.py:7)"],
            ["calls 4000", "backward (model.py:9)"],
            ["calls 8000", ""],
            ["calls 365000", "train (main.py:21)"],
            ["work 100000", "forward (model.py:7)"],
            ["work 250000", "train (main.py:20)"],
            ["work 260000", ""],
            ["work 270000", "backward (model.py:9)"],
        ])
            assert.equal(said[event], caller, `${name}: ${event}`);
    }
});

test("the critical path has its host code by line", async (browser) => {
    const page = await open(browser, "stacks", { view: "deps", ...CALM });
    const table = page.getByRole("group", { name: "Host code", exact: true });
    await table.getByText("train (main.py:20)").waitFor();
    assert.equal(await table.locator("tbody tr:not(.space)").count(), 1);
});

test("markup in names of functions and files stays text", async (browser) => {
    const page = await open(browser, "stacks-marked", { view: "stacks", ...CALM });
    await box(page, "<img .*forward").click();
    const text = await page.locator("#view-stacks").innerText();
    assert.ok(text.includes("<img src=x onerror=window.bad=1>forward"), text);
    assert.equal(await page.locator("img").count(), 0);
    assert.equal(await page.evaluate(() => window.bad), undefined);
    assert.deepEqual(page.complaints, []);
});

await runTests();
