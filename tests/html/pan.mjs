// How smooth the time line of PAGES/long.html is: pans at several zooms, 3 seconds each, and prints
// frames a second, and how long a frame took to paint. Also how long the page took to load.
import { launch, length, open, settled, view } from "./browser.mjs";

const SECONDS = 3;
const ZOOMS = [1, 0.1, 0.01, 0.001, 0.0001];

function median(values) {
    return values.slice().sort((a, b) => a - b)[Math.floor(values.length / 2)];
}

// Runs in the page: moves 1 % of the view a frame, back and forth.
async function pan([zoom, seconds]) {
    const { line } = miniprof;
    const frames = [];
    const paints = [];
    let boxes = 0;
    line.fit(false);
    line.zoom(zoom);
    line.paintNow = () => {
        const painting = performance.now();
        Object.getPrototypeOf(line).paintNow.call(line);
        paints.push(performance.now() - painting);
        boxes = Math.max(boxes, line.painter.boxes);
    };
    const begun = performance.now();
    let last = await new Promise(requestAnimationFrame);
    for (let i = 0; performance.now() - begun < seconds * 1000; i++) {
        line.pan(i % 100 < 50 ? 0.01 : -0.01);
        const now = await new Promise(requestAnimationFrame);
        frames.push(now - last);
        last = now;
    }
    return { frames, paints, boxes };
}

const browser = await launch();
const begun = performance.now();
const page = await open(browser, "long", {
    view: "timeline",
    viewport: { width: 1440, height: 900 },
});
await settled(page);
const loaded = await page.evaluate(() => {
    const { domInteractive, domContentLoadedEventEnd } =
        performance.getEntriesByType("navigation")[0];
    return { parsed: domInteractive, ready: domContentLoadedEventEnd };
});
const events = await page.evaluate(() => miniprof.timeline.count);
console.log(
    `${events} events: loaded and drawn in ${(loaded.ready / 1000).toFixed(2)} s ` +
        `(${((performance.now() - begun) / 1000).toFixed(2)} s with the browser's tab)`,
);
console.log("view               frames/s   slowest 5 %, ms   painting, ms   boxes");
for (const zoom of ZOOMS) {
    const { frames, paints, boxes } = await page.evaluate(pan, [zoom, SECONDS]);
    const sorted = frames.slice().sort((a, b) => a - b);
    const rate = frames.length / (frames.reduce((sum, ms) => sum + ms, 0) / 1000);
    const shown = (length(await view(page)) / 1e6).toPrecision(4) + " ms";
    console.log(
        shown.padEnd(16) +
            rate.toFixed(1).padStart(11) +
            sorted[Math.floor(sorted.length * 0.95)].toFixed(1).padStart(18) +
            median(paints).toFixed(2).padStart(15) +
            String(boxes).padStart(8),
    );
}
await browser.close();
