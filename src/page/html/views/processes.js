// Several processes: a row for each, and what each of their GPUs did.

// The time line of a process, for joinTimelines; null where the page has none.
function timelineOf(list, process, { summary }) {
    const meta = list.find(({ id }) => id === "timeline")?.value;
    const blob = byId(summary ? `blob-p${process + 1}_timeline` : "blob-timeline");
    if (!meta?.tracks || !blob) return null;
    const peers = list.find(({ id }) => id === "peers")?.value;
    const row = summary?.processes[process];
    return {
        timeline: makeTimeline(meta, decodeBase64(blob.textContent), peers),
        label: row?.process || "",
        offset_ns: row?.offset_ns || 0,
    };
}

function processRow(row, list, number) {
    const documents = Object.fromEntries(list.map((doc) => [doc.id, doc.value]));
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

function processesView(page) {
    const { summary, processes } = page.parts;
    const rows = summary.processes.map((row, i) => processRow(row, processes[i] || [], i));
    const left = summary.left_out || 0;
    return el(
        "div",
        null,
        el("p", { class: "note" }, summary.clocks),
        left
            ? el(
                  "p",
                  { class: "note left-out" },
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
        el(
            "p",
            { class: "note" },
            "A name leads to the overview of that process. The time line has all of them.",
        ),
    );
}
