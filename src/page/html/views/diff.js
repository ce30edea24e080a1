// The page of `miniprof diff --html` (src/page/diff.h): what `miniprof diff --json` says, with the
// latencies of both sides beside it. Its views replace those of a trace.

import { makeChart } from "../base/charts.js";
import { isNothing } from "../base/data.js";
import { choice, el, note, plainTable, replaceContent, section } from "../base/dom.js";
import {
    formatCount, formatTick, formatTime, formatWithin, placesWithin, signedPercent, signedTime,
    unitOf,
} from "../base/format.js";
import { dataTable } from "../base/table.js";
import { namesApart } from "../base/words.js";

const SIDES = ["a", "b"];
const SIDE_COLORS = { a: "--accent", b: "--wait" };
const EFFECT_ROWS = 15;

function share(part, whole) {
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
function scalesOf({ a, b }) {
    const usual = { a: Number(a.p50_ns), b: Number(b.p50_ns) };
    return [
        { of: () => Number, format: formatTick, title: "Latency" },
        {
            of: (side) => (ns) => share(Number(ns), usual[side]),
            format: (percent) => `${Number(percent.toFixed(2))} %`,
            title: "Latency in percent of the side's P50",
        },
    ];
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
function latencyCharts(latencies, iterations) {
    const pairs = scalesOf(iterations).map((scale, index) =>
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
            rank: percent === 0 ? "shortest" : percentName(percent),
            A_ns: a[i],
            B_ns: b[i],
            difference_ns: b[i] - a[i],
            difference_percent: share(b[i] - a[i], a[i]),
        }))
        .filter((row, i) => PERCENTS_IN_TABLE.has(latencies.percents[i]));
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

function rowEffects(rows) {
    return largest(
        rows.filter(({ change }) => change !== "unchanged" && change !== "unknown").map(effectOf),
    );
}

// The parts that add up to the latency (docs/iterations.md): their differences to its difference.
function partEffects({ quantities, iterations }) {
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
function scaleOf(...lists) {
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
        const left = `${Math.min(from, to).toFixed(2)}%`;
        return el("div", {
            class: kind,
            style: { left, width: `${Math.abs(to - from).toFixed(2)}%` },
        });
    };
    return el("div", { class: "effect" },
        box(value > 0 ? "effect-bar slower" : "effect-bar faster", 50, place(value)),
        low === null ? null : box("effect-range", place(low), place(high)),
    );
}

// `words`: what follows the difference; `max`: scaleOf.
function effectBars(title, words, effects, max) {
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
function changesTable(caption, rows) {
    const counts = CHANGES.map((change) => [
        change,
        rows.filter((row) => row.change === change),
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

function rowsView(caption, rows, counted, diff) {
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
function positionsView({ diff, latencies }) {
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
function quantitiesView({ diff }) {
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
function iterationsOfBoth(documents) {
    return el("div", null,
        el("h2", null, "By rank"),
        dataTable(percentileRows(documents.latencies), { caption: "Percentiles" }),
        el("h2", null, "Each"),
        dataTable(eachRows(documents), { caption: "Iterations" }),
    );
}

function runRows(diff) {
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

// ---- The comparison ----

const FACTS = [
    ["gpu", "GPU"],
    ["host", "Host"],
    ["driver_version", "Driver"],
    ["cupti_version", "CUPTI"],
    ["miniprof", "miniprof"],
    ["command", "Program"],
    ["settings", "Settings"],
];

const VERDICTS = {
    slower: "B is slower",
    faster: "B is faster",
    unchanged: "No more than noise",
    unknown: "There are too few iterations to tell from noise",
};

const WAYS = {
    nvtx: "by NVTX range",
    range: "by capture range",
    graph: "by launch of a CUDA graph",
    kernels: "by a sequence of kernels that repeats",
    syncs: "by waits of a thread for its work",
    requests: "by requests, from the first work of a thread to its wait for it",
    whole: "one a trace, the whole of it",
};

/** @param {Documents} documents */
export function isComparison(documents) {
    return Boolean(documents.diff && documents.latencies);
}

// ---- What was compared ----

function sideName(side) {
    const { runs } = side;
    return runs.length === 1 ? runs[0].file : `${runs[0].file} and ${runs.length - 1} more`;
}

/** @param {Documents} documents */
export function comparisonName({ diff }) {
    return `${sideName(diff.a)} against ${sideName(diff.b)}`;
}

/** @param {Documents} documents */
export function comparisonWarning({ diff }) {
    return SIDES.flatMap((side) =>
        diff[side].runs
            .filter((run) => !run.whole)
            .map((run) => `${side.toUpperCase()}: ${run.file}: ${run.missing || "not whole"}.`),
    ).join(" ");
}

function sidesTable(diff) {
    const { iterations } = diff;
    const rows = [
        ["File", ...SIDES.map((side) => diff[side].runs.map((run) => run.file).join(", "))],
        ["Runs", ...SIDES.map((side) => formatCount(iterations[side].runs))],
        ["Iterations", ...SIDES.map((side) => formatCount(iterations[side].count))],
        ...FACTS.map(([key, title]) => [title, ...SIDES.map((side) => diff[side][key])]),
    ];
    const differs = (row) => FACTS.some((fact) => fact[1] === row[0]) && row[1] !== row[2];
    return plainTable(
        { class: "sides", "aria-label": "What was compared" },
        ["What", "A, before", "B, after", "Differs"].map((title) =>
            el("th", { scope: "col" }, title),
        ),
        rows.map((row) => [
            el("th", { scope: "row" }, row[0]),
            row.slice(1).map((text) => el("td", null, text ?? "not known")),
            el("td", { class: "differs" }, differs(row) ? "differs" : ""),
        ]),
    );
}

// ---- Verdict ----

function latencyWords(iterations) {
    const { shift_ns, low_ns, high_ns, percent } = iterations;
    const usual = Number(iterations.a.p50_ns);
    const ends = [low_ns, high_ns].map(Number);
    const error = isNothing(low_ns) ? 0 : (ends[1] - ends[0]) / 2;
    const places = isNothing(low_ns) || !(usual > 0) ? 2 : placesWithin((100 * error) / usual);
    const time = (ns) => (ns > 0 ? "+" : "") + formatWithin(ns, error);
    const share = (part) => `${part > 0 ? "+" : ""}${part.toFixed(places)} %`;
    const words = [time(Number(shift_ns))];
    if (usual > 0) words.push(`${share(percent)} of A's P50`);
    if (isNothing(low_ns)) return words.join(", ");
    let interval = `95 % interval ${ends.map(time).join(" to ")}`;
    if (usual > 0) interval += `, ${ends.map((end) => share((end / usual) * 100)).join(" to ")}`;
    return `${words.join(", ")}; ${interval}`;
}

function allowedWords({ allowed_percent, failed, low_ns }) {
    if (isNothing(allowed_percent)) return null;
    if (failed) return `Failed: B is slower by more than ${allowed_percent} %.`;
    return isNothing(low_ns)
        ? `Not known whether B is slower by more than ${allowed_percent} %: too few iterations.`
        : `Passed: B is not shown to be slower by more than ${allowed_percent} %.`;
}

function samplesWords({ samples, low_ns, a, b }) {
    if (isNothing(low_ns)) return null;
    if (samples === "runs") return "The interval is over the runs' medians.";
    return (
        "The interval is over all iterations, which are not independent within a run" +
        (a.runs > 1 || b.runs > 1
            ? `; ${a.runs} and ${b.runs} runs are too few for one over their medians.`
            : "; with 4 runs a side it is over their medians.")
    );
}

function verdictOf(diff) {
    const { iterations } = diff;
    const allowed = allowedWords(iterations);
    return el("div", { class: `verdict ${iterations.failed ? "failed" : ""}` },
        el("p", null,
            el("strong", null, VERDICTS[iterations.change]),
            `: latency of B minus that of A ${latencyWords(iterations)}.`,
        ),
        allowed ? el("p", null, allowed) : null,
    );
}

function sideCards({ a, b }) {
    return el("ul", { class: "cards" },
        [
            ["p50_ns", "P50"],
            ["mean_ns", "mean"],
            ["p99_ns", "P99"],
        ].map(([key, title]) => {
            const [before, after] = [Number(a[key]), Number(b[key])];
            const percent = share(after - before, before);
            return el("li", { class: "card" },
                el("b", null, `A ${formatTime(before)}`),
                el("b", null, `B ${formatTime(after)}`),
                el("span", null,
                    `latency, ${title}${percent === null ? "" : `: ${signedPercent(percent)}`}`,
                ),
            );
        }),
    );
}

function comparisonNotes({ diff, latencies }) {
    const { iterations } = diff;
    const name = iterations.name ? ` "${iterations.name}"` : "";
    const noLayers = isNothing(diff.layers)
        ? "No layers: they need NVTX ranges inside the iterations of both sides."
        : null;
    const noCalls = SIDES.filter((side) => diff[side].runs.some((run) => run.no_calls)).map(
        (side) =>
            `${side.toUpperCase()}: no API calls in a trace: ` +
            "work belongs to the iteration in which it began.",
    );
    const outside = SIDES.map((side) => [
        side.toUpperCase(),
        diff[side].runs.reduce((sum, run) => sum + Number(run.outside), 0),
    ]).filter(([, count]) => count);
    const thinned = SIDES.some((side) => latencies[side].count > latencies[side].iterations.length);
    return [
        `Iterations: ${WAYS[iterations.by] || iterations.by}${name}` +
            (iterations.asked_for ? ", as asked for." : "."),
        iterations.differing_ways
            ? `${iterations.differing_ways}: the first way that both sides have is taken.`
            : null,
        samplesWords(iterations),
        ...noCalls,
        ...outside.map(
            ([side, count]) =>
                `${side}: ${formatCount(count)} device activities belong to no iteration.`,
        ),
        noLayers,
        thinned
            ? "Of many iterations the shortest and the longest of each stretch are shown; " +
              "ranks are of all."
            : null,
    ].filter(Boolean);
}

function effectsOf(diff) {
    const certainty = formatCount(diff.confidence_of_rows * 100);
    const [parts, kernels, layers] = [
        partEffects(diff),
        rowEffects(diff.kernels || []),
        rowEffects(diff.layers || []),
    ];
    const max = scaleOf(parts, kernels, layers);
    if (!diff.kernels)
        return [
            effectBars("Where the time of an iteration went", "of A's mean", parts, max),
            note("Too many kernels have no times: see the warning."),
        ];
    const titles = ["Kernels, copies and sets", "Layers"];
    const tables = [kernels, layers]
        .map((rows, i) =>
            effectBars(`${titles[i]} with the greatest effect`, "interval", rows, max),
        )
        .filter(Boolean);
    const meaning =
        "All bars have one scale, slower to the right. They are shifts of the time in an " +
        "iteration, the lines across them their " +
        `${certainty} % intervals; what was added or removed counts with all of its time.`;
    return [
        effectBars("Where the time of an iteration went", "of A's mean", parts, max),
        tables.length
            ? [tables, note(meaning)]
            : note("No kernel, copy or set is shown to be slower or faster, added or removed."),
    ];
}

function comparisonView(documents) {
    const { diff, latencies } = documents;
    return el("div", null,
        verdictOf(diff),
        sideCards(diff.iterations),
        el("div", { class: "notes" },
            comparisonNotes(documents).map((text) => note(text)),
        ),
        latencyCharts(latencies, diff.iterations),
        effectsOf(diff),
        el("h2", null, "What was compared"),
        sidesTable(diff),
        diff.a.runs.length + diff.b.runs.length > 2
            ? [el("h2", null, "Runs"), dataTable(runRows(diff), { caption: "Runs" })]
            : null,
    );
}

// ---- Views ----

// [id, title, how it is made] of each view.
/** @param {Documents} documents */
export function comparisonViews(documents) {
    const { diff } = documents;
    const views = [
        ["comparison", "Comparison", () => comparisonView(documents)],
        ["quantities", "Time of an iteration", () => quantitiesView(documents)],
        ["iterations", "Iterations", () => iterationsOfBoth(documents)],
    ];
    // Both are null where too many kernels have no times.
    if (diff.kernels)
        views.push(["kernels", "Kernels", () => rowsView("Kernels", diff.kernels, "calls", diff)]);
    if (diff.positions) views.push(["positions", "By position", () => positionsView(documents)]);
    if (diff.layers)
        views.push(["layers", "Layers", () => rowsView("Layers", diff.layers, "work", diff)]);
    return views;
}
