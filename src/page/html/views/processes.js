// Several processes: a row for each, and what each of their GPUs did. If they are ranks of a job: its
// findings, and what each rank does on the critical path of all.

import { documentsOf, isNothing, meanOf } from "../base/data.js";
import { el, note } from "../base/dom.js";
import { formatCount, formatTime } from "../base/format.js";
import { dataTable } from "../base/table.js";
import { finding } from "./advise.js";
import { hasIterations } from "./iterations.js";

function processRow(row, list, number) {
    const documents = documentsOf(list);
    const { iters, overview, info, advise } = documents;
    const latency = hasIterations(documents) ? iters.statistics.latency_ns : {};
    const times = (overview?.devices || [])
        .map(({ busy_ns: busy }) => busy)
        .filter((busy) => !isNothing(busy)); // null: kernels have no times
    const busyPercent = (busy) => (Number(busy) / overview.span_ns) * 100;
    return {
        process: row.process,
        host: row.host,
        gpus: (overview?.devices || []).map(({ device }) => device).join(", "),
        busy_percent: times.length && overview.span_ns ? meanOf(times, busyPercent) : null,
        iterations: hasIterations(documents) ? iters.count : null,
        p50_ns: latency.p50 ?? null,
        p99_ns: latency.p99 ?? null,
        first_finding: advise?.findings?.[0]?.title ?? null,
        records: info?.records ?? row.records,
        whole: row.whole,
        file: row.file,
        number,
    };
}

// What one should know of a job at first, in the words of report; nothing without iterations.
function jobAnswer(job) {
    const answer = job?.advice?.job?.answer || [];
    return answer.length
        ? el("section", { class: "job-answer", "aria-label": "The job" },
              answer.map((text) => el("p", null, text)),
          )
        : null;
}

export function processesView(page) {
    const { summary, processes, job } = page.parts;
    const rows = summary.processes.map((row, i) => processRow(row, processes[i] || [], i));
    const left = summary.left_out || 0;
    return el("div", null,
        jobAnswer(job),
        note(summary.clocks),
        left
            ? el("p", { class: "note left-out" },
                  `Of ${formatCount(left + rows.length)} processes this page has ` +
                      `${formatCount(rows.length)}: the first ones.`,
              )
            : null,
        dataTable(
            rows.map(({ number, ...row }) => row),
            {
                caption: "Processes",
                rowTitle: "Overview of",
                onrow: (row, index) => {
                    page.changeProcess(index);
                    page.visit("overview");
                },
            },
        ),
        note("A name leads to the overview of that process. The time line has all of them."),
    );
}

// ---- A job of several ranks ----

// The iterations are those of the first rank.
function jobFindings(advice) {
    if (!advice || advice.note)
        return note(advice ? `No findings: ${advice.note}` : "No findings.");
    const { findings, iterations, step_mean_ns: step } = advice;
    return [
        note(
            findings.length
                ? "Each gain is of its change alone: gains do not add up. "
                : "No findings: no rank keeps the others waiting. ",
            `Judged: ${formatCount(iterations)} iterations, ${formatTime(step)} from one to the next.`,
        ),
        el("ol", { class: "findings" },
            findings.map((item, index) =>
                finding(item, index, { basis_p50_ns: step }, { iterations: [] }, "job-finding"),
            ),
        ),
    ];
}

function rowsOfPath({ rows }) {
    return rows
        .filter(({ critical_ns, device_waiting_ns }) => critical_ns || device_waiting_ns)
        .map(({ name, critical_ns, device_waiting_ns, calls }) => ({
            name,
            critical_ns,
            device_waiting_ns: device_waiting_ns ?? null,
            calls: calls || null,
        }))
        .sort((a, b) => b.critical_ns - a.critical_ns);
}

export function jobView(job) {
    const { deps, advice } = job;
    if (deps.note) return note(deps.note);
    const { by_rank: ranks, path_changes: changes, window_ns: window } = deps;
    return el("div", null,
        jobAnswer(job),
        el("h2", null, "What to change"),
        jobFindings(advice),
        el("h2", null, "Who waits for whom"),
        dataTable(
            ranks.map((row) => ({
                rank: row.rank,
                critical_percent: (Number(row.critical_ns) / Number(window)) * 100,
                ...row,
            })),
            { caption: "Ranks" },
        ),
        note(
            `The critical path of ${formatTime(window)} goes from one rank to another ` +
                `${formatCount(changes)} times. The time line shows it. While a kernel of NCCL ` +
                "waits for peers, it is no work: the path leads through the rank that came last.",
        ),
        el("h2", null, "The critical path by name"),
        dataTable(rowsOfPath(deps), { caption: "Critical path of the job" }),
    );
}
