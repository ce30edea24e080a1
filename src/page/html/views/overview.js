// The first view answers what is wrong: how long an iteration takes, where it goes, what would make
// it shorter, which kernels are hot, and whether the recording can be trusted.

import { bars } from "../base/charts.js";
import { isNothing } from "../base/data.js";
import { bar, card, el, link, note, section } from "../base/dom.js";
import {
    formatBytes, formatCount, formatPercent, formatTime, formatWithin,
} from "../base/format.js";
import { namesApart } from "../base/words.js";
import { stretchesOf } from "../timeline/events.js";
import { leftOutNotes } from "./documents.js";
import { hasIterations, iterationRows, iterationsChart, partsBar } from "./iterations.js";
import { busyChart } from "./usage.js";

const TOP_FINDINGS = 5;
const TOP_KERNELS = 12;

function groupOf(summary, name) {
    return (
        (summary?.groups || []).find((group) => group.name === name) || { rows: [], total_ns: 0 }
    );
}

function tableRows(info, table) {
    return info?.tables?.find((row) => row.table === table)?.rows || 0;
}

// ---- What is wrong ----

// Where work is missing no rule is tried.
function gapWords(advise) {
    return advise?.quality?.gap ? `No rule was tried: ${advise.quality.warning}.` : "";
}

/** @param {Documents} documents */
function headline({ advise, iters }, openView) {
    const [first] = advise?.findings || [];
    if (!first)
        return el("p", { class: "headline fine" },
            advise?.note || gapWords(advise) || "No rule found anything that costs time.",
        );
    const gain = isNothing(first.gain_percent) ? "" : ` (${formatPercent(first.gain_percent)})`;
    const bound = first.certainty === "bound" ? "at most " : "";
    const what = iters?.by === "whole" ? "the recording" : "an iteration";
    return el("p", { class: "headline" },
        el("span", null, "What is wrong: "),
        link(first.title, () => openView("advise")),
        `. Fixing it makes ${what} ${bound}${formatTime(first.gain_ns)} shorter${gain}.`,
    );
}

// The words for a step's time without the cost of recording, by its source.
const MEASURED_BY = {
    measured_beside: ["without recording", "measured in other runs"],
    measured_in_run: ["without recording", "measured before recording began"],
    not_recorded: ["while it is not recorded", "measured"],
};

// What recording costs, where that is known, as the line of the reports has it: measured, even if
// nothing was found, or estimated; each with its interval.
/** @param {Documents} documents */
function costWords({ iters }) {
    const cost = iters.recording_cost;
    const measured = MEASURED_BY[cost?.source];
    if (measured) {
        const time = (ns) => formatWithin(ns, (cost.high_ns - cost.low_ns) / 2);
        const interval = `${time(cost.low_ns)} to ${time(cost.high_ns)}`;
        const [where, how] = measured;
        return `; a step takes ${time(cost.without_ns)} ${where} (${interval}), ${how}`;
    }
    if (!cost?.cost_ns) return "";
    const percent = (ns) => Math.round((Math.max(0, cost.of_ns - ns) / cost.of_ns) * 100);
    return (
        `; recording costs about ${formatWithin(cost.cost_ns, cost.cost_ns)} of it ` +
        `(${percent(cost.high_ns)} to ${percent(cost.low_ns)} %), estimated`
    );
}

// As the reports begin: a period where work is queued ahead, and ranges or modes that differ.
/** @param {Documents} documents */
function headlineCards(documents) {
    const { headline, statistics } = documents.iters;
    const queued = headline.of !== "latency";
    const what = queued ? "from the end of an iteration to the next" : "latency of an iteration";
    if (headline.kinds.length)
        return headline.kinds.map((kind, i) =>
            card(
                formatTime(kind.p50_ns),
                `${what}${kind.range ? ` in range ${kind.range}` : ""}, ` +
                    `P50 of ${formatCount(kind.count)}`,
                i ? "" : "first",
            ),
        );
    return [
        card(formatTime(headline.p50_ns), `${what}, P50${costWords(documents)}`, "first"),
        queued
            ? card(formatTime(statistics.latency_ns.p50), "latency, P50: it waits in the queue")
            : null,
    ];
}

/** @param {Documents} documents */
function iterationCards(documents) {
    const { iters } = documents;
    if (!hasIterations(documents)) return null;
    const { p50, p99 } = iters.statistics.latency_ns;
    const { headline } = iters;
    const plain = headline.of === "latency" && !headline.kinds.length;
    const times = p50 > 0 ? `, ${(p99 / p50).toFixed(2)} times P50` : "";
    return [
        headlineCards(documents),
        plain ? card(formatTime(p99), `P99${times}`) : null,
        isNothing(iters.throughput_per_second)
            ? null
            : card(formatCount(iters.throughput_per_second), "iterations per second"),
        card(formatCount(iters.count), "iterations"),
    ];
}

/** @param {Documents} documents */
function cards(documents, timeline) {
    const { overview, info } = documents;
    const span = overview?.span_ns || timeline.span;
    const busy = (overview?.devices || []).map((device) =>
        card(
            isNothing(device.busy_ns)
                ? "not known"
                : formatPercent(span ? (device.busy_ns / span) * 100 : 0),
            `GPU ${device.device} busy` + (device.name ? `, ${device.name}` : ""),
        ),
    );
    return el("ul", { class: "cards" },
        iterationCards(documents),
        busy,
        card(formatCount(tableRows(info, "kernel")), "kernels"),
        card(formatTime(Number(span)), "from first to last event"),
    );
}

// ---- Findings ----

function findingRow(item, max, openView) {
    return el("li", null,
        link(item.title, () => openView("advise")),
        el("span", { class: "gain" },
            `${item.certainty === "bound" ? "at most " : ""}−${formatTime(item.gain_ns)}, ` +
                formatPercent(item.gain_percent),
        ),
        el("span", { class: "track", "aria-hidden": "true" }, bar(item.gain_ns / max)),
    );
}

/** @param {Documents} documents */
function findingsPart({ advise }, openView) {
    const findings = (advise?.findings || []).slice(0, TOP_FINDINGS);
    if (!findings.length) return null;
    const max = Math.max(...findings.map(({ gain_ns: gain }) => Number(gain)), 1);
    const more = advise.findings.length - findings.length;
    return section(
        "What would make it faster",
        el("ol", { class: "gains" },
            findings.map((item) => findingRow(item, max, openView)),
        ),
        more > 0 ? note(`${more} more in the view Advice.`) : null,
    );
}

// ---- Latency of each ----

function latencyPart(documents, timeline, options) {
    if (!hasIterations(documents)) return null;
    const rows = iterationRows(documents.iterations);
    const slow = new Set(documents.iters.outliers.map(({ iteration }) => iteration));
    return section(
        "Latency of each iteration (click to show)",
        iterationsChart(rows, slow, options, true),
        leftOutNotes(documents, "iterations"),
    );
}

// ---- Hot kernels ----

/** @param {Documents} documents */
function hotKernels({ summary }) {
    const group = groupOf(summary, "gpu_activities");
    const kernels = group.rows.filter(({ name }) => !/^\[/.test(name));
    if (!kernels.length) return null;
    const names = namesApart(kernels.map(({ name }) => name));
    const rows = kernels.map((row, i) => ({ ...row, short: names[i] }));
    return bars(
        "Hot kernels",
        rows
            .slice(0, TOP_KERNELS)
            .map((row) => ({
                name: row.name,
                short: row.short,
                value: Number(row.total_ns),
                text: `${formatTime(Number(row.total_ns))}, ${formatPercent(Number(row.percent))}`,
            })),
    );
}

// ---- Quality ----

// Lines on what may be missing; each with whether it is as it should be.
/** @param {Documents} documents */
function qualityLines({ info, iters, deps, timeline }) {
    /** @type {Partial<InfoDocument["quality"]>} */
    const quality = info?.quality || {};
    const damage = Object.values(quality.damage || {}).some(Boolean);
    const late = timeline?.left_out_late || 0;
    const doubtful = Number(deps?.doubtful_percent || 0);
    return [
        [
            Boolean(quality.whole),
            quality.whole ? "The trace is whole" : quality.warning || "The trace is not whole",
        ],
        [!quality.dropped, `${formatCount(quality.dropped || 0)} records dropped`],
        [!damage, damage ? "The file is damaged" : "The file is not damaged"],
        isNothing(iters?.coverage_percent)
            ? null
            : [
                  iters.coverage_percent >= 80,
                  `Iterations cover ${formatPercent(Number(iters.coverage_percent))} of the GPU work`,
              ],
        deps && !deps.note
            ? [doubtful <= 2, `${formatPercent(doubtful)} of the dependencies are doubtful`]
            : null,
        late ? [false, `The time line leaves out the last ${formatCount(late)} events`] : null,
    ].filter(Boolean);
}

function qualityPart(documents) {
    const { info } = documents;
    return section(
        "Quality of the recording",
        el("ul", { class: "quality" },
            qualityLines(documents).map(([fine, text]) =>
                el("li", { class: fine ? "fine" : "doubt" }, fine ? "✓ " : "! ", text),
            ),
        ),
        note(`${formatCount(info?.records || 0)} records in ${formatBytes(info?.bytes || 0)}.`),
    );
}

// ---- The view ----

// options as main.js has them.
/** @param {Documents} documents
 * @param {Timeline} timeline */
export function overviewView(documents, timeline, options) {
    const { openView } = options;
    return el("div", { class: "overview" },
        headline(documents, openView),
        cards(documents, timeline),
        leftOutNotes(documents, "overview"),
        hasIterations(documents)
            ? partsBar(documents.iters)
            : note(
                  documents.iters?.note
                      ? `Iterations are not known: ${documents.iters.note}.`
                      : `No iterations were found: ${documents.iters?.why_whole || "nothing repeats"}.`,
              ),
        el("div", { class: "columns" },
            findingsPart(documents, openView),
            latencyPart(documents, timeline, options),
        ),
        stretchesOf(timeline, options.process).some(({ kind }) => kind === "work")
            ? section(
                  "Concurrent kernels and copies (click to zoom)",
                  busyChart(timeline, options.process, options.show),
              )
            : note("The trace has no GPU work."),
        el("div", { class: "columns hot" }, hotKernels(documents), qualityPart(documents)),
    );
}
