// The first view: cards, where the time goes, how busy the GPUs were over time.

const BUSY_BINS = 400;
const TOP_ROWS = 12;

function card(text, title) {
    return el("li", { class: "card" }, el("b", null, text), el("span", null, title));
}

function groupOf(summary, name) {
    return (
        (summary?.groups || []).find((group) => group.name === name) || { rows: [], total_ns: 0 }
    );
}

function tableRows(info, table) {
    return info?.tables?.find((row) => row.table === table)?.rows || 0;
}

function cards(documents, timeline) {
    const { overview, info } = documents;
    const span = overview?.span_ns || timeline.span;
    const busy = (overview?.devices || []).map((device) =>
        card(
            formatPercent(span ? (device.busy_ns / span) * 100 : 0),
            `GPU ${device.device} busy` + (device.name ? `, ${device.name}` : ""),
        ),
    );
    return el(
        "ul",
        { class: "cards" },
        card(formatTime(timeline.span), "from first to last event"),
        busy,
        card(formatCount(tableRows(info, "kernel")), "kernels"),
        card(formatCount(tableRows(info, "copy")), "copies"),
        card(formatCount(tableRows(info, "call")), "API calls"),
        card(formatCount(info?.records || 0), "records"),
        card(formatCount(info?.quality?.dropped || 0), "records dropped"),
    );
}

// Adds the time of an event to the bins it touches.
function addToBins(bins, begin, end, binLength) {
    const last = Math.min(bins.length - 1, Math.floor(end / binLength));
    for (let bin = Math.max(0, Math.floor(begin / binLength)); bin <= last; bin++)
        bins[bin] += Math.max(
            0,
            Math.min(end, (bin + 1) * binLength) - Math.max(begin, bin * binLength),
        );
}

// How many kernels, and copies, ran at a time, on average over each bin.
function busyChart(timeline, show) {
    const binLength = Math.max(1, timeline.span / BUSY_BINS);
    const kernels = new Float64Array(BUSY_BINS);
    const copies = new Float64Array(BUSY_BINS);
    for (const track of timeline.tracks.filter((candidate) => candidate.kind === "work")) {
        for (let i = track.first; i < track.end; i++) {
            const category = categoryOf(timeline, i);
            addToBins(
                category === "kernel" || category === "graph" ? kernels : copies,
                timeline.begin[i],
                endOf(timeline, i),
                binLength,
            );
        }
    }
    const share = (bins) => [...bins].map((time) => time / binLength);
    return makeChart({
        title: "Work that ran at a time; click to see it",
        labelX: "time",
        data: [
            share(kernels).map((value, bin) => (bin + 0.5) * binLength),
            share(kernels),
            share(copies),
        ],
        series: [
            { label: "kernels", color: "--accent", fill: true },
            { label: "copies and sets", color: "--wait" },
        ],
        formatX: formatTick,
        formatY: (value) => value.toFixed(2),
        onclick: (bin) => show({ begin: bin * binLength, end: (bin + 1) * binLength }),
    });
}

function topBars(title, group, isWanted) {
    const rows = group.rows.filter((row) => isWanted(row.name)).slice(0, TOP_ROWS);
    if (!rows.length) return null;
    return bars(
        title,
        rows.map((row) => ({
            name: row.name,
            short: shortName(row.name),
            value: row.total_ns,
            text: `${formatTime(row.total_ns)}`,
        })),
    );
}

function kindBars(overview) {
    const rows = (overview?.devices || [])
        .flatMap((device) =>
            [
                ["kernels", device.kernel_busy_ns],
                ["copies", device.copy_busy_ns],
                ["sets", device.set_busy_ns],
            ].map(([kind, value]) => ({
                name: `GPU ${device.device} ${kind}`,
                value,
                text: formatTime(value),
            })),
        )
        .filter((row) => row.value);
    return rows.length ? bars("Time by kind of work", rows) : null;
}

function overviewView(documents, timeline, show) {
    const { summary } = documents;
    const isWork = (name) => /^\[/.test(name);
    return el(
        "div",
        null,
        cards(documents, timeline),
        leftOutNotes(documents, "overview"),
        timeline.tracks.some((track) => track.kind === "work")
            ? busyChart(timeline, show)
            : el("p", { class: "note" }, "The trace has no work of a GPU."),
        el(
            "div",
            { class: "columns" },
            topBars("Kernels by time", groupOf(summary, "gpu_activities"), (name) => !isWork(name)),
            kindBars(documents.overview),
            topBars("Copies and sets by time", groupOf(summary, "gpu_activities"), isWork),
            topBars("API calls by time", groupOf(summary, "api_calls"), () => true),
        ),
    );
}
