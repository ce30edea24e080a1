// Layers as a tree, below it all of them as a table; or kernels by position.

const OPEN_DEPTH = 1; // deeper layers are closed at first

function layerSummary(layer, context) {
    const bar = el("span", { class: "bar", "aria-hidden": "true" });
    bar.style.width = `${Math.max(0, Math.min(100, layer.percent)).toFixed(2)}%`;
    const calls = layer.calls === 1 ? "1 call" : `${formatCount(layer.calls)} calls`;
    return el(
        "span",
        { class: "layer" },
        layer.name === null
            ? el("i", null, "outside of all ranges")
            : nameLink(layer.name, context.moment, context),
        el(
            "span",
            { class: "figures" },
            `${formatTime(layer.total_ns)}, ${formatPercent(layer.percent)}, ${calls}` +
                (isNothing(layer.p50_ns) ? "" : `, P50 ${formatTime(layer.p50_ns)}`) +
                (layer.mark ? `, ${layer.mark}` : ""),
        ),
        el("span", { class: "track" }, bar),
    );
}

function layerItem(layer, inside, context) {
    const below = inside.get(layer.id);
    const summary = layerSummary(layer, context);
    if (!below) return el("li", null, summary);
    const list = el(
        "ul",
        { hidden: layer.depth > OPEN_DEPTH },
        below.map((other) => layerItem(other, inside, context)),
    );
    return el("li", null, layerToggle(layer, list), summary, list);
}

function layerToggle(layer, list) {
    const button = el(
        "button",
        {
            type: "button",
            class: "toggle",
            "aria-label": `Layers inside of ${layer.name ?? "none"}`,
            "aria-expanded": String(!list.hidden),
            onclick: () => {
                list.hidden = !list.hidden;
                button.setAttribute("aria-expanded", String(!list.hidden));
                button.textContent = list.hidden ? "▸" : "▾";
            },
        },
        list.hidden ? "▸" : "▾",
    );
    return button;
}

// Rows come by total, so the outer ones are there before those inside, and brothers by total.
function layerTree(layers, context) {
    const inside = new Map();
    for (const layer of layers)
        inside.set(layer.parent, [...(inside.get(layer.parent) || []), layer]);
    return el(
        "ul",
        { class: "tree", "aria-label": "Layers by nesting" },
        (inside.get(null) || []).map((layer) => layerItem(layer, inside, context)),
    );
}

function layersView(value, documents, options) {
    const context = { ...options, moment: usualMoment(documents, options) };
    const notes = leftOutNotes(documents, "layers", "positions", "layer_work");
    if (value.by === "position")
        return [
            el(
                "p",
                { class: "note" },
                value.has_ranges
                    ? "What the NVTX ranges launched is not known"
                    : "No NVTX ranges in the trace",
                ": kernels by their position in the sequence that repeats.",
            ),
            notes,
            renderWhole(value, options),
        ];
    return [
        el("h2", null, "By nesting"),
        layerTree(value.layers, context),
        notes,
        renderWhole(value, options),
    ];
}
