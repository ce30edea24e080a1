// The page of `miniprof diff --html`: what `miniprof diff --json` says, with the latencies of both
// sides beside it. Its views take the place of those of a trace.

import { isNothing } from "../base/data.js";
import { el, note, plainTable } from "../base/dom.js";
import {
    formatCount, formatTime, formatWithin, placesWithin, signedPercent,
} from "../base/format.js";
import { dataTable } from "../base/table.js";
import {
    SIDES, effectBars, iterationsOfBoth, latencyCharts, partEffects, positionsView, quantitiesView,
    rowEffects, rowsView, runRows, scaleOf, share,
} from "./diff_rows.js";

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
