// Findings as cards: what it is, what it rests on, what it would gain, what to do.

import { el, facts, link, note } from "../base/dom.js";
import { formatCount, formatNumber, formatPercent, formatTime } from "../base/format.js";
import { dataTable } from "../base/table.js";
import { titleOf } from "../base/words.js";
import { iterationRows } from "./iterations.js";
import { nameLink, showRow, usualMoment } from "./links.js";

const METHODS = {
    replay: "by replay",
    replay_bounded: "by replay, bounded",
    times: "by recorded times",
};

const CERTAINTIES = { estimate: "an estimate", bound: "a bound" };

const BASES = { without_recording: "without recording", as_recorded: "as recorded" };

const REASONS_NOT_TRIED = {
    no_calls: "no API calls in the trace",
    no_gpu_work: "no GPU work in the trace",
    no_loop: "there is only one iteration",
    few_iterations: "fewer than 10 iterations",
    no_layers: "no NVTX ranges in the iterations",
    no_occupancy: "no launch shapes with limits of their device",
    profiled: "kernels were replayed for metrics",
};

function iterationLink(number, text, context) {
    const row = context.iterations[number - 1];
    if (!row) return text;
    return link(text, () => showRow(row, context));
}

function adviceLine(line, context) {
    const text = line.iteration ? iterationLink(line.iteration, line.text, context) : line.text;
    return el("li", null,
        text,
        line.name ? [" ", nameLink(line.name, context.moment, context)] : null,
    );
}

/* A line of the program; or of a package that it calls, which has no `part`. */
const PARTS = { call: "called from", host_code: "host code in" };

function adviceCaller(caller) {
    const file = caller.file ? caller.file.replace(/.*\//, "") : "";
    const place = caller.line ? `${file}:${caller.line}` : file;
    const part = PARTS[caller.part] || "in";
    return el("li", { title: caller.file || "" },
        `${formatPercent(caller.percent)} ${part} ${caller.function || ""} (${place})`,
    );
}

export function finding(item, index, advice, context, id = "finding") {
    const title = `${id}-${index + 1}`;
    return el("li", { class: "finding", "aria-labelledby": title },
        el("h2", { id: title }, `${index + 1}. ${item.title}`),
        el("p", { class: "gain" },
            item.certainty === "bound" ? "at most " : null,
            el("b", null, `−${formatTime(item.gain_ns)}`),
            ` of ${formatTime(advice.basis_p50_ns)}, ${formatPercent(item.gain_percent)}`,
        ),
        el("p", null, item.evidence),
        item.lines.length
            ? el("ul", null,
                  item.lines.map((line) => adviceLine(line, context)),
              )
            : null,
        item.callers?.length
            ? el("ul", null, [...item.callers, ...(item.packages || [])].map(adviceCaller))
            : null,
        facts([
            ["What to do", item.to_do],
            ["Gain", `${CERTAINTIES[item.certainty]}, ${METHODS[item.method] || item.method}`],
            ["Assumption", item.assumes],
        ]),
        el("details", null,
            el("summary", null, "Numbers per iteration"),
            facts(
                Object.entries(item.numbers).map(([key, value]) => [
                    titleOf(key),
                    formatNumber(key, value),
                ]),
            ),
        ),
    );
}

function notTried(rules) {
    if (!rules.length) return null;
    return [
        el("h2", null, "Not tried"),
        dataTable(
            rules.map(({ rule, reason }) => ({
                rule: titleOf(rule),
                reason: REASONS_NOT_TRIED[reason] || reason,
            })),
            { caption: "Rules that were not tried" },
        ),
    ];
}

/** @param {Documents} documents */
export function adviseView(advice, documents, options) {
    const moment = usualMoment(documents, options);
    const context = { ...options, moment, iterations: iterationRows(documents.iterations) };
    const { findings, judged, iterations } = advice;
    const median = documents.iters?.median;
    return [
        note(
            findings.length
                ? `Estimates stand before bounds. Each gain (${BASES[advice.basis]}) is of its ` +
                      "change alone: gains do not add up. "
                : "No findings: no rule found anything that costs time. ",
            `Judged: ${formatCount(judged)} of ${formatCount(iterations)} iterations, latency P50 ` +
                `${formatTime(advice.latency_p50_ns)}, from end to end ` +
                `${formatTime(advice.step_p50_ns)}. `,
            advice.framework ? `Framework, by the names of kernels: ${advice.framework}. ` : null,
            median ? iterationLink(median, "Show the median iteration", context) : null,
        ),
        el("ol", { class: "findings" },
            findings.map((item, index) => finding(item, index, advice, context)),
        ),
        notTried(advice.not_tried),
    ];
}
