// The pictures and tables of a comparison (src/page/diff.h): latencies of both sides one by one and
// by rank, what has the largest effect, and rows of `miniprof diff --json` by what became of them.

import { makeChart } from "../base/charts.js";
import { isNothing } from "../base/data.js";
import { choice, el, note, plainTable, replaceContent, section } from "../base/dom.js";
import { formatCount, formatTick, signedPercent, signedTime, unitOf } from "../base/format.js";
import { dataTable } from "../base/table.js";
import { namesApart } from "../base/words.js";

export const SIDES = ["a", "b"];
const SIDE_COLORS = { a: "--accent", b: "--wait" };
const EFFECT_ROWS = 15;

export function share(part, whole) {
    return whole > 0 ? (part / whole) * 100 : null;
}

// ---- Iterations ----

// Which run of a side iteration `number` is of, and its number there; both from 1.
function placeOfIteration(side, number) {
    let run = 0;
    let left = number;
    while (run + 1 < side.runs.length && left > side.runs[run].iterations)
        left -= side.runs[run++].iterations;
    return { run: run + 1, iteration: left };
}

// How latencies are shown: as times, or each side's against its own P50, so that tails compare.
function timeScale() {
    return { of: () => Number, format: formatTick, title: "Latency" };
}

function relativeScale({ a, b }) {
    const usual = { a: Number(a.p50_ns), b: Number(b.p50_ns) };
    return {
        of: (side) => (ns) => share(Number(ns), usual[side]),
        format: (percent) => `${Number(percent.toFixed(2))} %`,
        title: "Latency in percent of the side's P50",
    };
}

// One row of x for both sides; a side has null where it has no iteration of that number.
function joinedIterations(latencies, scale) {
    const of = SIDES.map((side) => {
        const { iterations, latencies_ns } = latencies[side];
        const shown = latencies_ns.map(scale.of(side));
        return new Map(iterations.map((number, i) => [number, shown[i]]));
    });
    const numbers = [...new Set(of.flatMap((map) => [...map.keys()]))].sort((a, b) => a - b);
    return [numbers, ...of.map((map) => numbers.map((number) => map.get(number) ?? null))];
}

function sideSeries(options) {
    return SIDES.map((side) => ({
        label: side.toUpperCase(),
        color: SIDE_COLORS[side],
        ...options,
    }));
}

function eachChart(latencies, scale) {
    return makeChart({
        title: `${scale.title}: each iteration`,
        labelX: "iteration",
        data: joinedIterations(latencies, scale),
        series: sideSeries({ points: true }),
        formatX: formatCount,
        formatY: scale.format,
    });
}

// ---- By rank ----

// Each step to the right leaves a tenth as many iterations above: P0, P90, P99, P99.9, ... The
// longest one, P100, is as far to the right of the last as that is above its half.
function tailScale(percents) {
    const scale = percents.slice(0, -1).map((percent) => -Math.log10(1 - percent / 100));
    return [...scale, scale[scale.length - 1] + Math.log10(2)];
}

function percentName(percent) {
    return percent === 100 ? "longest" : `P${Number(percent.toFixed(3))}`;
}

function rankChart(latencies, scale) {
    const { percents } = latencies;
    const ranks = tailScale(percents);
    const names = new Map(ranks.map((x, i) => [x, percentName(percents[i])]));
    const marked = [50, 90, 99, 99.9, 99.99, 99.999, 100];
    return makeChart({
        title: `${scale.title}: by rank`,
        labelX: "rank",
        data: [ranks, ...SIDES.map((side) => latencies[side].percentiles_ns.map(scale.of(side)))],
        series: sideSeries({}),
        splitsX: ranks.filter((x, i) => marked.includes(percents[i])),
        formatX: (x) => names.get(x) ?? "",
        formatY: scale.format,
    });
}

// Both charts, and a choice of their scale.
export function latencyCharts(latencies, iterations) {
    const pairs = [timeScale(), relativeScale(iterations)].map((scale, index) =>
        el("div", { class: "columns", hidden: index > 0 },
            eachChart(latencies, scale),
            rankChart(latencies, scale),
        ),
    );
    const units = ["time", "percent of the side's P50"];
    const { parts } = choice("latency-scale", "Latency as", units, (index) =>
        pairs.forEach((pair, i) => (pair.hidden = i !== index)),
    );
    return el("div", null, el("div", { class: "tools" }, parts), pairs);
}

const PERCENTS_IN_TABLE = new Set([0, 10, 25, 50, 75, 90, 95, 99, 99.9, 99.99, 100]);

function percentileRows(latencies) {
    const [a, b] = SIDES.map((side) => latencies[side].percentiles_ns.map(Number));
    return latencies.percents
        .map((percent, i) => ({
            percent,
            row: {
                rank: percent === 0 ? "shortest" : percentName(percent),
                A_ns: a[i],
                B_ns: b[i],
                difference_ns: b[i] - a[i],
                difference_percent: share(b[i] - a[i], a[i]),
            },
        }))
        .filter(({ percent }) => PERCENTS_IN_TABLE.has(percent))
        .map(({ row }) => row);
}

// ---- Effects ----

// What a row does to an iteration: the shift that its interval is of, or all of its time.
function effectOf({ name, change, difference_ns, shift_ns, low_ns, high_ns }) {
    const value = Number(difference_ns);
    if (change === "added" || change === "removed")
        return { name, value, low: null, high: null, words: change };
    const [low, high] = [Number(low_ns), Number(high_ns)];
    const words = `${signedTime(low)} to ${signedTime(high)}`;
    return { name, value: Number(shift_ns), low, high, words };
}

function largest(effects) {
    return effects.sort((x, y) => Math.abs(y.value) - Math.abs(x.value)).slice(0, EFFECT_ROWS);
}

export function rowEffects(rows) {
    return largest(
        rows.filter(({ change }) => change !== "unchanged" && change !== "unknown").map(effectOf),
    );
}

// The parts that add up to the latency (docs/iterations.md): their differences to its difference.
export function partEffects({ quantities, iterations }) {
    const usual = Number(iterations.a.mean_ns);
    const isPart = ({ quantity }) => /^(busy|others|idle_.+)_ns$/.test(quantity);
    const effectOfPart = ({ name, difference }) => {
        const value = Number(difference);
        const percent = share(value, usual);
        const words = percent === null ? "" : signedPercent(percent);
        return { name, value, low: null, high: null, words };
    };
    return largest(
        quantities
            .filter(isPart)
            .map(effectOfPart)
            .filter(({ value }) => value),
    );
}

// The largest of all effects that a view shows: its bars share one scale.
export function scaleOf(...lists) {
    return Math.max(
        ...lists
            .flat()
            .flatMap(({ value, low, high }) => [value, low ?? 0, high ?? 0].map(Math.abs)),
        1e-9,
    );
}

// Slower goes to the right from the middle, faster to the left.
function effectBar({ value, low, high }, max) {
    const place = (ns) => 50 + (ns / max) * 50;
    const box = (kind, from, to) => {
        const element = el("div", { class: kind });
        element.style.left = `${Math.min(from, to).toFixed(2)}%`;
        element.style.width = `${Math.abs(to - from).toFixed(2)}%`;
        return element;
    };
    return el("div", { class: "effect" },
        box(value > 0 ? "effect-bar slower" : "effect-bar faster", 50, place(value)),
        low === null ? null : box("effect-range", place(low), place(high)),
    );
}

// `words`: what follows the difference; `max`: scaleOf.
export function effectBars(title, words, effects, max) {
    if (!effects.length) return null;
    const shorts = namesApart(effects.map(({ name }) => name));
    const rowOf = (effect, index) => [
        el("th", { class: "name", scope: "row", title: effect.name }, shorts[index]),
        el("td", { class: "number" },
            signedTime(effect.value),
            el("span", { class: "interval" }, ` ${effect.words}`),
        ),
        el("td", { "aria-hidden": "true" }, effectBar(effect, max)),
    ];
    const heads = [
        el("th", { scope: "col", class: "name" }, "Name"),
        el("th", { scope: "col", class: "number" }, `B minus A, ${words}`),
        el("th", { "aria-hidden": "true", class: "ways" }, "faster ← | → slower"),
    ];
    return section(
        title,
        plainTable({ class: "bars effects", "aria-label": title }, heads, effects.map(rowOf)),
    );
}

// ---- Tables ----

const CHANGES = ["added", "removed", "replaced", "slower", "faster", "unknown", "unchanged",
    "equal"];

// Rows by what became of them, and a choice among these.
function changesTable(caption, rows, isChange = (row) => row.change) {
    const counts = CHANGES.map((change) => [
        change,
        rows.filter((row) => isChange(row) === change),
    ]).filter(([, found]) => found.length);
    const choices = [["all", rows], ...counts];
    const content = el("div", { class: "changes" });
    const id = `changes-of-${caption.toLowerCase().replace(/\W+/g, "-")}`;
    const use = (index) => replaceContent(content, dataTable(choices[index][1], { caption }));
    const names = choices.map(([change, found]) => `${change} (${formatCount(found.length)})`);
    if (rows.length) use(0);
    else replaceContent(content, note("None."));
    return el("div", null,
        el("div", { class: "tools" }, choice(id, "Change:", names, use).parts),
        content,
    );
}

function changeRow(row, counted, usual) {
    return {
        change: row.change,
        name: row.name,
        difference_ns: row.difference_ns,
        difference_percent: share(row.difference_ns, row.a_ns),
        iteration_percent: share(row.difference_ns, usual),
        [`A_${counted}`]: row[`a_${counted}`],
        [`B_${counted}`]: row[`b_${counted}`],
        time_A_ns: row.a_ns,
        time_B_ns: row.b_ns,
        shift_ns: row.change === "added" || row.change === "removed" ? null : row.shift_ns,
        interval_low_ns: row.low_ns,
        interval_high_ns: row.high_ns,
    };
}

export function rowsView(caption, rows, counted, diff) {
    const usual = Number(diff.iterations.a.mean_ns);
    return el("div", null,
        note("Times and counts are means per iteration; differences are B minus A."),
        changesTable(
            caption,
            rows.map((row) => changeRow(row, counted, usual)),
        ),
    );
}

/** @param {Documents} documents */
export function positionsView({ diff, latencies }) {
    const { a, b, kernels } = diff.positions;
    const of = (side, { run, iteration, kernels: count }) =>
        `iteration ${iteration} of run ${run} of ${side}, ${formatCount(count)} kernels`;
    const left = latencies.positions_left_out;
    const replaced = kernels.some((row) => row.change === "replaced");
    return el("div", null,
        note(`Kernels in the order of their launches: ${of("A", a)}, and ${of("B", b)}.`),
        left ? note(`${formatCount(left)} kernels that changed are left out.`) : null,
        changesTable(
            "By position",
            kernels.map((row) => ({
                change: row.change,
                A_position: row.a,
                B_position: row.b,
                time_A_ns: row.a_ns,
                time_B_ns: row.b_ns,
                difference_ns:
                    isNothing(row.a_ns) || isNothing(row.b_ns)
                        ? null
                        : Number(row.b_ns) - Number(row.a_ns),
                name: row.a_name ?? row.b_name,
                ...(replaced ? { became_name: row.change === "replaced" ? row.b_name : "" } : {}),
            })),
        ),
    );
}

// Times and counts have different units, so they are two tables.
/** @param {Documents} documents */
export function quantitiesView({ diff }) {
    const rowOf = (row, unit) => ({
        quantity: row.name,
        change: row.change,
        [`A${unit}`]: row.a,
        [`B${unit}`]: row.b,
        [`difference${unit}`]: row.difference,
        difference_percent: share(row.difference, row.a),
        [`shift${unit}`]: row.shift,
    });
    const isTime = (row) => unitOf(row.quantity) === "time";
    return el("div", null,
        note("Means per iteration; differences are B minus A."),
        ["Times", "Counts"].map((title, i) => [
            el("h2", null, title),
            dataTable(
                diff.quantities
                    .filter((row) => isTime(row) === !i)
                    .map((row) => rowOf(row, i ? "" : "_ns")),
                { caption: title },
            ),
        ]),
    );
}

/** @param {Documents} documents */
function eachRows({ diff, latencies }) {
    return SIDES.flatMap((side) =>
        latencies[side].iterations.map((number, i) => ({
            side: side.toUpperCase(),
            ...placeOfIteration(diff[side], number),
            latency_ns: latencies[side].latencies_ns[i],
        })),
    );
}

/** @param {Documents} documents */
export function iterationsOfBoth(documents) {
    return el("div", null,
        el("h2", null, "By rank"),
        dataTable(percentileRows(documents.latencies), { caption: "Percentiles" }),
        el("h2", null, "Each"),
        dataTable(eachRows(documents), { caption: "Iterations" }),
    );
}

export function runRows(diff) {
    return SIDES.flatMap((side) =>
        diff[side].runs.map((run, index) => ({
            side: side.toUpperCase(),
            run: index + 1,
            file: run.file,
            iterations: run.iterations,
            p50_ns: run.p50_ns,
            work_outside: run.outside,
            whole: run.whole,
            missing: run.missing,
        })),
    );
}
