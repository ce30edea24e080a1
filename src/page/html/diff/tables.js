// The tables of a comparison: rows of `miniprof diff --json` under names that say what they are.

const CHANGES = [
    "added",
    "removed",
    "replaced",
    "slower",
    "faster",
    "unknown",
    "unchanged",
    "equal",
];

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
    const select = el(
        "select",
        { id, onchange: () => use(select.selectedIndex) },
        choices.map(([change, found]) =>
            el("option", null, `${change} (${formatCount(found.length)})`),
        ),
    );
    if (rows.length) use(0);
    else replaceContent(content, note("None."));
    return el(
        "div",
        null,
        el("div", { class: "tools" }, el("label", { for: id }, "Change:"), select),
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
    return el(
        "div",
        null,
        note("Times and counts are of an iteration, means; differences are B less A."),
        changesTable(
            caption,
            rows.map((row) => changeRow(row, counted, usual)),
        ),
    );
}

function positionsView({ diff, latencies }) {
    const { a, b, kernels } = diff.positions;
    const of = (side, { run, iteration, kernels: count }) =>
        `iteration ${iteration} of run ${run} of ${side}, ${formatCount(count)} kernels`;
    const left = latencies.positions_left_out;
    const replaced = kernels.some((row) => row.change === "replaced");
    return el(
        "div",
        null,
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
    return el(
        "div",
        null,
        note("Means of an iteration; differences are B less A."),
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

function eachRows({ diff, latencies }) {
    return SIDES.flatMap((side) =>
        latencies[side].iterations.map((number, i) => ({
            side: side.toUpperCase(),
            ...placeOfIteration(diff[side], number),
            latency_ns: latencies[side].latencies_ns[i],
        })),
    );
}

function iterationsOfBoth(documents) {
    return el(
        "div",
        null,
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
