// How many kernels and copies ran at once, over the whole recording.

const BUSY_BINS = 400;

// Adds the time of an event to the bins it touches.
function addToBins(bins, begin, end, binLength) {
    const last = Math.min(bins.length - 1, Math.floor(end / binLength));
    for (let bin = Math.max(0, Math.floor(begin / binLength)); bin <= last; bin++)
        bins[bin] += Math.max(
            0,
            Math.min(end, (bin + 1) * binLength) - Math.max(begin, bin * binLength),
        );
}

// On average over each bin.
function busyChart(timeline, process, show) {
    const binLength = Math.max(1, timeline.span / BUSY_BINS);
    const kernels = new Float64Array(BUSY_BINS);
    const copies = new Float64Array(BUSY_BINS);
    for (const track of stretchesOf(timeline, process).filter(({ kind }) => kind === "work")) {
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
        plain: true,
        title: "Kernels and copies at once; click to see when",
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
