// The first view against what the commands say: latency, where an iteration goes, findings, hot
// kernels, quality; and what it leads to.
import { assert, open, runTests, settled, test, view } from "./browser.mjs";

const CALM = { reducedMotion: "reduce" };

// As the page writes times, worked out in another way.
function time(ns) {
    const [unit, scale] = ns >= 1e9 ? ["s", 1e9] : ns >= 1e6 ? ["ms", 1e6] : ["us", 1e3];
    if (ns < 1e3) return Number.isInteger(ns) ? `${ns} ns` : `${ns.toPrecision(4)} ns`;
    return `${(ns / scale).toPrecision(4)} ${unit}`;
}

async function cardsOf(page) {
    const texts = await page.locator("#view-overview .card").allInnerTexts();
    return texts.map((text) => text.replace(/\s+/g, " "));
}

for (const name of ["inference", "eager", "memory"]) {
    test(`${name}: latency, throughput and the first finding are those of the commands`, async (browser) => {
        const page = await open(browser, name);
        const { iters, advise } = await page.evaluate(() => miniprof.documents);
        const { p50, p99 } = iters.statistics.latency_ns;
        const cards = await cardsOf(page);
        assert.ok(cards[0].startsWith(`${time(p50)} latency of an iteration, P50`), cards[0]);
        assert.ok(cards[1].startsWith(`${time(p99)} P99`), cards[1]);
        const rate = Number(cards[2].replace(/,/g, "").split(" ")[0]);
        assert.ok(Math.abs(rate / iters.throughput_per_second - 1) < 1e-3, cards[2]);
        const headline = await page.locator(".headline").innerText();
        const [first] = advise.findings;
        assert.ok(headline.startsWith(`What is wrong: ${first.title}.`), headline);
        assert.ok(headline.includes(time(first.gain_ns)), headline);
        const gains = await page.locator(".gains li").allInnerTexts();
        assert.equal(gains.length, Math.min(5, advise.findings.length));
        gains.forEach((text, i) => assert.ok(text.includes(time(advise.findings[i].gain_ns))));
    });

    test(`${name}: the bar of an iteration has the parts that iters says`, async (browser) => {
        const page = await open(browser, name);
        const { statistics } = await page.evaluate(() => miniprof.documents.iters);
        const section = page.locator("#view-overview .parts");
        const widths = await section
            .locator(".stack > div")
            .evaluateAll((boxes) => boxes.map((box) => [box.title, box.style.width]));
        const latency = statistics.latency_ns.mean;
        const kernels = widths.find(([title]) => /^kernels:/.test(title));
        const share = (statistics.kernel_ns.mean / latency) * 100;
        assert.ok(Math.abs(parseFloat(kernels[1]) - share) < 0.5, `${kernels} ${share}`);
        const sum = widths.reduce((all, [, width]) => all + parseFloat(width), 0);
        assert.ok(Math.abs(sum - 100) < 0.1, String(sum));
        const host = await section.locator("li", { hasText: "the host is outside" }).innerText();
        assert.ok(host.includes(time(statistics.idle_host_ns.mean)), host);
    });
}

test("ranges whose times differ have a card each", async (browser) => {
    const page = await open(browser, "split");
    const { kinds } = await page.evaluate(() => miniprof.documents.iters.headline);
    const cards = await cardsOf(page);
    assert.equal(kinds.length, 2);
    kinds.forEach(({ range, count, p50_ns: p50 }, i) => {
        const words = `latency of an iteration in range ${range}, P50 of ${count}`;
        assert.equal(cards[i], `${time(p50)} ${words}`);
    });
    assert.ok(!cards.some((text) => /P99/.test(text)), cards.join());
});

test("where work is missing iterations are there, and no rule was tried", async (browser) => {
    const page = await open(browser, "gap");
    const { iters } = await page.evaluate(() => miniprof.documents);
    const [latency] = await cardsOf(page);
    assert.ok(latency.startsWith(`${time(iters.statistics.latency_ns.p50)} latency of`), latency);
    assert.match(
        await page.locator(".headline").innerText(),
        /^No rule was tried: .*kernels that launch kernels/,
    );
});

test("what recording costs is said where it is known", async (browser) => {
    const [estimated] = await cardsOf(await open(browser, "estimated"));
    assert.match(estimated, /P50; recording costs about 25 us of it \(1 to 22 %\), estimated$/);
    for (const name of ["measured", "no_cost"]) {
        const [measured] = await cardsOf(await open(browser, name));
        assert.match(
            measured,
            /P50; a step takes 201\.5 us without recording \(199\.4 us to 203\.6 us\), measured in other runs$/,
        );
    }
});

test("an iteration of the chart leads to the time line", async (browser) => {
    const page = await open(browser, "inference", CALM);
    const plot = page.locator("#view-overview .chart canvas").first();
    await plot.waitFor();
    const box = await plot.boundingBox();
    await page.mouse.move(box.x + box.width - 3, box.y + box.height / 2);
    await page.mouse.click(box.x + box.width - 2, box.y + box.height / 2);
    await settled(page);
    assert.equal(await page.locator("#tab-timeline").getAttribute("aria-selected"), "true");
    const { from, to } = await view(page);
    const [begin, latency] = await page.evaluate(() => {
        const { columns, rows } = miniprof.documents.iterations;
        const last = rows[rows.length - 1];
        const origin = BigInt(miniprof.timeline.origin);
        return [
            Number(BigInt(last[columns.indexOf("begin_ns")]) - origin),
            last[columns.indexOf("latency_ns")],
        ];
    });
    assert.ok(from <= begin && to >= begin + latency && to - from < latency * 1.3);
    await page.goBack();
    assert.equal(await page.locator("#tab-overview").getAttribute("aria-selected"), "true");
});

test("the chart says what is beside the pointer, and no more without it", async (browser) => {
    const page = await open(browser, "inference", CALM);
    const plot = page.locator("#view-overview .chart").first();
    const legend = plot.locator(".chart-legend");
    await plot.locator("canvas").waitFor();
    const labels = await legend.innerText();
    assert.ok(!labels.includes(":"), labels);
    const first = await page.evaluate(() => {
        const { columns, rows } = miniprof.documents.iterations;
        return rows[0][columns.indexOf("latency_ns")];
    });
    const box = await plot.locator("canvas").boundingBox();
    await page.mouse.move(box.x + 77, box.y + 60);
    const said = await legend.innerText();
    assert.match(said, /^number: 1\s/);
    assert.ok(said.includes(`${first / 1e3} us`), said);
    assert.ok(await plot.locator(".chart-cursor").isVisible());
    await page.mouse.move(box.x + 77, box.y - 60);
    assert.equal(await legend.innerText(), labels);
    assert.ok(await plot.locator(".chart-cursor").isHidden());
    assert.deepEqual(page.complaints, []);
});

test("charts are drawn again in the other theme", async (browser) => {
    const page = await open(browser, "inference", CALM);
    const canvas = page.locator("#view-overview .chart canvas").first();
    await canvas.waitFor();
    const pixels = () => canvas.evaluate((element) => element.toDataURL());
    const light = await pixels();
    await page.locator("#theme").click();
    assert.notEqual(await pixels(), light);
    await page.locator("#theme").click();
    assert.equal(await pixels(), light);
});

test("a finding leads to the advice", async (browser) => {
    const page = await open(browser, "eager");
    await page.locator(".headline button").click();
    assert.equal(await page.locator("#tab-advise").getAttribute("aria-selected"), "true");
});

test("hot kernels have names that tell them apart", async (browser) => {
    const page = await open(browser, "eager");
    const rows = await page
        .locator("#view-overview table.bars th")
        .evaluateAll((heads) => heads.map((head) => [head.textContent, head.title]));
    assert.equal(rows.length, 12);
    assert.equal(new Set(rows.map(([short]) => short)).size, 12);
    const cutlass = rows.filter(([, name]) => /cutlass::Kernel2/.test(name));
    assert.ok(cutlass.length > 1);
    for (const [short, name] of cutlass) {
        const words = short.match(/<… (.*) …>$/)[1];
        assert.ok(
            words.split(", ").every((word) => name.includes(word)),
            short,
        );
    }
});

test("quality says what is whole and what is not", async (browser) => {
    const whole = await open(browser, "inference");
    const fine = await whole.locator(".quality li").allInnerTexts();
    assert.ok(fine.includes("✓ The trace is whole") && fine.includes("✓ 0 records dropped"));
    assert.ok(
        fine.every((text) => text.startsWith("✓")),
        fine.join(),
    );
    const cut = await open(browser, "cut");
    assert.ok((await cut.locator(".quality .doubt").count()) >= 1);
});

test("without iterations the overview says so", async (browser) => {
    const page = await open(browser, "empty");
    const text = await page.locator("#view-overview").innerText();
    assert.match(text, /No iterations were found/);
    assert.match(text, /No rule found anything that costs time/);
});

await runTests();
