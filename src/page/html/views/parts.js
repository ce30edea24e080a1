// Parts of an iteration's latency with their colours: what the GPU did, and why it was idle. The
// time line colours idle gaps with the same ones.

const LATENCY_PARTS = [
    ["kernel_ns", "kernels", "--kernel"],
    ["htod_ns", "copies to the GPU", "--copy"],
    ["dtoh_ns", "copies from the GPU", "--copy"],
    ["other_copy_ns", "other copies", "--copy"],
    ["set_ns", "memory sets", "--set"],
    ["others_ns", "others' work on the GPU", "--others"],
    ["idle_launch_ns", "idle: work is being launched", "--idle-launch"],
    ["idle_queued_ns", "idle: between queued work", "--idle-queued"],
    ["idle_copy_ns", "idle: a copy call waits", "--idle-copy"],
    ["idle_host_ns", "idle: the host is outside of CUDA", "--idle-host"],
    ["idle_sync_ns", "idle: a synchronisation has not returned", "--idle-sync"],
    ["idle_unknown_ns", "idle: no calls in the trace", "--idle-unknown"],
];

function latencyParts({ statistics }) {
    return LATENCY_PARTS.map(([key, name, color]) => ({
        key,
        name,
        color,
        value: Number(statistics[key]?.mean || 0),
    })).filter(({ value }) => value > 0);
}

function swatch(color) {
    const mark = el("span", { class: "swatch", "aria-hidden": "true" });
    mark.style.background = `var(${color})`;
    return mark;
}

// One bar of all parts in their order, and a list of them, the greatest first.
function partsBar(iters) {
    const parts = latencyParts(iters);
    const whole = parts.reduce((sum, { value }) => sum + value, 0);
    if (!whole) return null;
    const percent = (value) => (value / whole) * 100;
    const boxes = parts.map(({ name, color, value }) => {
        const box = el("div", { title: `${name}: ${formatTime(value)}` });
        box.style.width = `${percent(value).toFixed(3)}%`;
        box.style.background = `var(${color})`;
        return box;
    });
    const rows = [...parts].sort((a, b) => b.value - a.value);
    return el(
        "section",
        { class: "parts" },
        el("h2", null, "Where an iteration goes"),
        el("div", { class: "stack", "aria-hidden": "true" }, boxes),
        el(
            "ul",
            { class: "legend" },
            rows.map(({ name, color, value }) =>
                el(
                    "li",
                    null,
                    swatch(color),
                    el("span", null, name),
                    el("b", null, formatTime(value)),
                    el("span", { class: "percent" }, formatPercent(percent(value))),
                ),
            ),
        ),
    );
}
