// What a process used over the recording: kernels and copies at once, and memory by device and pool.

import { makeChart } from "../base/charts.js";
import { isNothing, isPlain, relativeTo } from "../base/data.js";
import { el, note } from "../base/dom.js";
import { formatByteTick, formatTick } from "../base/format.js";
import { categoryOf, endOf, stretchesOf } from "../timeline/events.js";
import { leftOutNotes, renderWhole } from "./documents.js";

const BUSY_BINS = 400;

// Adds the time of an event to the bins it touches.
function addToBins(bins, begin, end, binLength) {
    const last = Math.min(bins.length - 1, Math.floor(end / binLength));
    for (let bin = Math.max(0, Math.floor(begin / binLength)); bin <= last; bin++)
        bins[bin] += Math.max(0,
            Math.min(end, (bin + 1) * binLength) - Math.max(begin, bin * binLength));
}

// On average over each bin.
/** @param {Timeline} timeline */
export function busyChart(timeline, process, show) {
    const binLength = Math.max(1, timeline.span / BUSY_BINS);
    const kernels = new Float64Array(BUSY_BINS);
    const copies = new Float64Array(BUSY_BINS);
    for (const track of stretchesOf(timeline, process).filter(({ kind }) => kind === "work")) {
        for (let i = track.first; i < track.end; i++) {
            const category = categoryOf(timeline, i);
            addToBins(category === "kernel" || category === "graph" ? kernels : copies,
                timeline.begin[i], endOf(timeline, i), binLength);
        }
    }
    const share = (bins) => [...bins].map((time) => time / binLength);
    return makeChart({
        plain: true,
        title: "Concurrent kernels and copies (click to zoom)",
        labelX: "time",
        data: [
            share(kernels).map((value, bin) => (bin + 0.5) * binLength),
            share(kernels),
            share(copies),
        ],
        series: [
            { label: "kernels", color: "--accent", fill: true },
            { label: "copies and sets", color: "--wait" },
        ],
        formatX: formatTick,
        formatY: (value) => value.toFixed(2),
        onclick: (bin) => show({ begin: bin * binLength, end: (bin + 1) * binLength }),
    });
}

// ---- Memory ----

const LINE_COLORS = ["--accent", "--wait", "--critical", "--faint", "--text"];

// Moments stand as ns from the document's start on.
const MEMORY_MOMENTS = {
    peak_ns: "peak_time_ns",
    time_ns: "time_ns",
    created_ns: "created_at_ns",
    destroyed_ns: "destroyed_at_ns",
};

// Grid lines at powers of two, which are short in bytes.
const BYTE_STEPS = Array.from({ length: 50 }, (none, exponent) => 2 ** exponent);

function withMoments(value, start) {
    if (isPlain(value)) return value;
    if (Array.isArray(value)) return value.map((item) => withMoments(item, start));
    return Object.fromEntries(
        Object.entries(value).map(([key, member]) =>
            MEMORY_MOMENTS[key] && !isNothing(member)
                ? [MEMORY_MOMENTS[key], String(BigInt(start) + BigInt(member))]
                : [MEMORY_MOMENTS[key] || key, withMoments(member, start)],
        ),
    );
}

function memoryChart(device, lines, times, show) {
    return makeChart({
        title: `${device}: bytes allocated (click to show)`,
        labelX: "time",
        data: [times, ...lines.map((line) => line.max_bytes.map(Number))],
        series: lines.map((line, index) => ({
            label: isNothing(line.pool) ? "all" : `pool ${line.pool}`,
            color: LINE_COLORS[index % LINE_COLORS.length],
            fill: isNothing(line.pool),
        })),
        formatX: formatTick,
        formatY: formatByteTick,
        stepsY: BYTE_STEPS,
        onclick: (index) =>
            show({
                begin: times[index],
                end: times[index + 1] ?? 2 * times[index] - times[index - 1],
            }),
    });
}

function memoryCharts({ start_ns: start, time_ns: offsets, lines }, { origin, show }) {
    const first = relativeTo(origin, start);
    const times = offsets.map((offset) => first + Number(offset));
    const devices = [...new Set(lines.map((line) => line.device_name))];
    return devices.map((device) =>
        memoryChart(
            device,
            lines.filter((line) => line.device_name === device),
            times,
            show,
        ),
    );
}

/** @param {Documents} documents */
export function memoryView(memory, documents, options) {
    const lines = documents.memory_lines;
    const { start_ns: start, ...tables } = memory;
    return [
        el("h2", null, "Over time"),
        lines?.lines && options.show
            ? memoryCharts(lines, options)
            : note(lines?.note || "There is no time line."),
        leftOutNotes(documents, "memory_lines", "memory"),
        renderWhole(withMoments(tables, start), options),
    ];
}
