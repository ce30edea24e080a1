// Iterations: those that `iters` found, or the instances of an NVTX range or graph launch, as a plot
// of their lengths and a table; either leads to the time line.

import { makeChart } from "../base/charts.js";
import { isNothing } from "../base/data.js";
import { card, choice, el, facts, note, replaceContent, swatch } from "../base/dom.js";
import { formatCount, formatPercent, formatTick, formatTime } from "../base/format.js";
import { dataTable } from "../base/table.js";
import { titleOf } from "../base/words.js";
import { endOf, nameIndexOf, stretchesOf } from "../timeline/events.js";
import { IDLE_CAUSES } from "../timeline/gpu.js";
import { leftOutNotes, renderWhole } from "./documents.js";
import { showRow } from "./links.js";

// Names of which there are several events, in the rows of `kind` tracks; most time first.
function repeatedNames(timeline, process, kind, categories) {
    const sums = new Map();
    for (const track of stretchesOf(timeline, process).filter((each) => each.kind === kind)) {
        for (let i = track.first; i < track.end; i++) {
            const name = nameIndexOf(timeline, i);
            const sum = sums.get(name) || { name, count: 0, time: 0 };
            sum.count++;
            sum.time += timeline.duration[i];
            sums.set(name, sum);
        }
    }
    return [...sums.values()]
        .filter(({ name, count }) => count > 1 && (!categories || categories(timeline.names[name])))
        .sort((a, b) => b.time - a.time);
}

function instancesOf(timeline, process, kind, name) {
    const events = [];
    for (const track of stretchesOf(timeline, process).filter((each) => each.kind === kind)) {
        for (let i = track.first; i < track.end; i++) {
            if (nameIndexOf(timeline, i) === name) events.push(i);
        }
    }
    return events.sort((a, b) => timeline.begin[a] - timeline.begin[b]);
}

// Columns and rows as objects.
export function iterationRows(found) {
    return (found?.rows || []).map((row) =>
        Object.fromEntries(found.columns.map((key, index) => [key, row[index]])),
    );
}

function iterationSources(documents, timeline, options) {
    const { iters } = documents;
    const { process } = options;
    const sources = [];
    if (iters && !iters.note)
        sources.push({
            title: `Found by ${wayOf(iters)}`,
            render: () => renderFound(documents, options),
        });
    const fromEvents = (kind, title, name) => ({
        title: `${title} ${timeline.names[name][1]}`,
        render: () =>
            renderInstances(
                instancesOf(timeline, process, kind, name).map((event) => ({
                    event,
                    begin: timeline.begin[event],
                    end: endOf(timeline, event),
                })),
                options.show,
            ),
    });
    for (const { name } of repeatedNames(timeline, process, "ranges").slice(0, 50))
        sources.push(fromEvents("ranges", "NVTX", name));
    for (const { name } of repeatedNames(timeline, process, "calls", ([, text]) =>
        /GraphLaunch/.test(text),
    ))
        sources.push(fromEvents("calls", "Calls of", name));
    return sources;
}

// Nearest rank, as everywhere in miniprof.
function percentile(sorted, percent) {
    return sorted[Math.max(0, Math.ceil((sorted.length * percent) / 100) - 1)];
}

function latencyFacts(items) {
    const lengths = items.map(({ begin, end }) => end - begin).sort((a, b) => a - b);
    const mean = lengths.reduce((sum, length) => sum + length, 0) / lengths.length;
    return facts([
        ["Count", formatCount(items.length)],
        ["Mean", formatTime(mean)],
        ["P50", formatTime(percentile(lengths, 50))],
        ["P99", formatTime(percentile(lengths, 99))],
        ["Min", formatTime(lengths[0])],
        ["Max", formatTime(lengths[lengths.length - 1])],
    ]);
}

function lengthChart(data, series, onclick, plain = false) {
    return makeChart({
        plain,
        title: "Duration of each (click to show)",
        labelX: "number",
        data,
        series: series.map(([label, color]) => ({ label, color, points: true })),
        formatX: (value) => formatCount(value),
        formatY: formatTick,
        onclick,
    });
}

function renderInstances(items, show) {
    const lengths = items.map(({ begin, end }) => end - begin);
    const rows = items.map((item, index) => ({
        number: index + 1,
        begin_ns: item.begin,
        latency_ns: item.end - item.begin,
    }));
    return [
        latencyFacts(items),
        lengthChart(
            [items.map((item, index) => index + 1), lengths],
            [["length", "--accent"]],
            (index) => show(items[index]),
        ),
        dataTable(rows, { caption: "Iterations", onrow: (row, index) => show(items[index]) }),
    ];
}

// ---- Those that `iters` found ----

function wayOf({ by, name, graph, kernel_period: period, wait_period: waits }) {
    return {
        nvtx: `NVTX range ${name}`,
        range: "capture range",
        graph: `launches of CUDA graph ${graph}`,
        kernels: `a sequence of ${period} kernel launches that repeats`,
        syncs: `waits of a thread for its work, ${waits} an iteration`,
        requests: "request, from the first work of a thread to its wait for it",
        whole: "nothing: all of it is one iteration",
    }[by];
}

function latencyCards(iters) {
    const { latency_ns: latency } = iters.statistics;
    const times = [
        ["p50", "P50"],
        ["p90", "P90"],
        ["p95", "P95"],
        ["p99", "P99"],
        ["max", "longest"],
        ["mean", "mean"],
    ];
    return el("ul", { class: "cards" },
        card(formatCount(iters.count), "iterations"),
        times.map(([key, title]) => card(formatTime(latency[key]), `latency, ${title}`)),
        isNothing(iters.throughput_per_second)
            ? null
            : card(formatCount(iters.throughput_per_second), "iterations per second"),
        card(formatTime(iters.outlier_limit_ns), "and longer: outliers"),
    );
}

// An outlier leads to the row of its iteration, which says where that ends.
function outlierTable({ outliers }, rows, options) {
    if (!outliers.length) return null;
    const show = ({ iteration }, index) =>
        showRow(rows.find((row) => row.iteration === iteration) || outliers[index], options);
    return [
        el("h2", null, "Outliers"),
        dataTable(
            outliers.map((row) => ({ ...row, grew: row.grew ? titleOf(row.grew) : null })),
            { ...options, caption: "Outliers", onrow: show },
        ),
    ];
}

// Outliers in a colour of their own; a click shows that iteration.
export function iterationsChart(rows, slow, options, plain) {
    const lengths = rows.map((row) => Number(row.latency_ns));
    const isSlow = (index) => slow.has(rows[index].iteration);
    return lengthChart(
        [
            rows.map((row) => row.iteration),
            lengths.map((length, index) => (isSlow(index) ? null : length)),
            lengths.map((length, index) => (isSlow(index) ? length : null)),
        ],
        [
            ["latency", "--accent"],
            ["outlier", "--critical"],
        ],
        (index) => showRow(rows[index], options),
        plain,
    );
}

function renderFound(documents, options) {
    const { outliers, ...others } = documents.iters;
    const rows = iterationRows(documents.iterations);
    const slow = new Set(outliers.map(({ iteration }) => iteration));
    return [
        others.why_whole ? note(`${others.why_whole}.`) : null,
        latencyCards(others),
        iterationsChart(rows, slow, options),
        partsBar(others),
        outlierTable({ outliers }, rows, options),
        leftOutNotes(documents, "iterations", "outliers"),
        el("h2", null, "Each iteration"),
        dataTable(rows, { ...options, caption: "Iterations" }),
        renderWhole(others, options),
    ];
}

// options as main.js has them.
/** @param {Documents} documents
 * @param {Timeline} timeline */
export function iterationsView(documents, timeline, options) {
    const sources = iterationSources(documents, timeline, options);
    const nothing =
        documents.iters?.by === "whole"
            ? note(`No iterations were found: ${documents.iters.why_whole || "nothing repeats"}.`)
            : null;
    if (nothing) sources.push(sources.shift()); // what repeats is more than what is all
    if (!sources.length) return note("The trace has no iterations: nothing repeats.");
    const content = el("div");
    const use = (index) => replaceContent(content, sources[index].render());
    const titles = sources.map(({ title }) => title);
    use(0);
    return el("div", null,
        nothing,
        el("div", { class: "tools" }, choice("iterations-of", "Iterations:", titles, use).parts),
        content,
    );
}

/** @param {Documents} documents */
export function hasIterations({ iters }) {
    return Boolean(iters && !iters.note && iters.by !== "whole" && iters.count);
}

// ---- Parts of an iteration's latency: what the GPU did, and why it was idle ----

const LATENCY_PARTS = [
    ["kernel_ns", "kernels", "--kernel"],
    ["htod_ns", "copies to the GPU", "--copy"],
    ["dtoh_ns", "copies from the GPU", "--copy"],
    ["other_copy_ns", "other copies", "--copy"],
    ["set_ns", "memory sets", "--set"],
    ["others_ns", "others' work on the GPU", "--others"],
    ...IDLE_CAUSES.map(([key, name, color]) => [`${key}_ns`, `idle: ${name}`, color]),
    ["idle_recording_ns", "idle: recording", "--idle-recording"],
];

function latencyParts({ statistics }) {
    return LATENCY_PARTS.map(([key, name, color]) => ({
        key,
        name,
        color,
        value: Number(statistics[key]?.mean || 0),
    })).filter(({ value }) => value > 0);
}

// One bar of all parts in their order, and a list of them, the largest first.
export function partsBar(iters) {
    const parts = latencyParts(iters);
    const whole = parts.reduce((sum, { value }) => sum + value, 0);
    if (!whole) return null;
    const percent = (value) => (value / whole) * 100;
    const boxes = parts.map(({ name, color, value }) => {
        const style = { width: `${percent(value).toFixed(3)}%`, background: `var(${color})` };
        return el("div", { title: `${name}: ${formatTime(value)}`, style });
    });
    const rows = [...parts].sort((a, b) => b.value - a.value);
    return el("section", { class: "parts" },
        el("h2", null, "Where an iteration goes"),
        el("div", { class: "stack", "aria-hidden": "true" }, boxes),
        el("ul", { class: "legend" },
            rows.map(({ name, color, value }) =>
                el("li", null,
                    swatch(color),
                    el("span", null, name),
                    el("b", null, formatTime(value)),
                    el("span", { class: "percent" }, formatPercent(percent(value))),
                ),
            ),
        ),
    );
}
