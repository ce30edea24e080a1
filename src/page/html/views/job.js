// A job of several ranks: its findings, and what each rank does on the critical path of all.

// The iterations are those of the first rank.
function jobFindings(advice) {
    if (!advice || advice.note)
        return el("p", { class: "note" }, advice ? `No findings: ${advice.note}` : "No findings.");
    const { findings, iterations, step_mean_ns: step } = advice;
    return [
        el(
            "p",
            { class: "note" },
            findings.length
                ? "Each gain is of its change alone: gains do not add up. "
                : "No findings: no rank keeps the others waiting. ",
            `Judged: ${formatCount(iterations)} iterations, ${formatTime(step)} from one to the next.`,
        ),
        el(
            "ol",
            { class: "findings" },
            findings.map((item, index) =>
                finding(item, index, { step_p50_ns: step }, { iterations: [] }, "job-finding"),
            ),
        ),
    ];
}

// Time of the path that is no activity's has a row as well, under the name of its part.
function rowsOfPath({ rows, parts }) {
    const times = Object.entries(parts).map(([key, critical_ns]) => ({
        name: titleOf(key),
        critical_ns,
    }));
    return [...rows.filter(({ name }) => name !== "<Other>"), ...times]
        .filter(({ critical_ns, device_waiting_ns }) => critical_ns || device_waiting_ns)
        .map(({ name, critical_ns, device_waiting_ns, calls }) => ({
            name,
            critical_ns,
            device_waiting_ns: device_waiting_ns ?? null,
            calls: calls ?? null,
        }))
        .sort((a, b) => b.critical_ns - a.critical_ns);
}

function jobView({ deps, advice }) {
    if (deps.note) return el("p", { class: "note" }, deps.note);
    const { by_rank: ranks, path_changes: changes, window_ns: window } = deps;
    return el(
        "div",
        null,
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
        el(
            "p",
            { class: "note" },
            `The critical path of ${formatTime(window)} goes from one rank to another ` +
                `${formatCount(changes)} times. The time line shows it. While a kernel of NCCL ` +
                "waits for peers, it is no work: the path leads through the rank that came last.",
        ),
        el("h2", null, "The critical path by name"),
        dataTable(rowsOfPath(deps), { caption: "Critical path of the job" }),
    );
}
