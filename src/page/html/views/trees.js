// What nests: the tree of `miniprof stacks` as a flame graph, and layers as lists that open.

import { hashOf, isNothing } from "../base/data.js";
import {
    bar, button, choice, el, facts, hideTip, link, note, plainTable, replaceContent, searchBox,
    showTip,
} from "../base/dom.js";
import { formatCount, formatNumber, formatPercent, formatTime } from "../base/format.js";
import { dataTable } from "../base/table.js";
import { MAX_LISTED } from "../timeline/details.js";
import { leftOutNotes, renderWhole } from "./documents.js";
import { nameLink, usualMoment } from "./links.js";

// ---- Stacks ----
//
// A box for each frame below its caller, as wide as what it weighs. Boxes that would be narrower than
// a pixel are left out until one zooms in.

// Key of the document, and in words.
const FLAME_WEIGHTS = [
    ["device_ns", "GPU time"],
    ["launches", "launches"],
    ["calls", "calls"],
    ["waiting_ns", "waiting time"],
    ["critical_ns", "critical path, calls and work"],
    ["host_ns", "critical path, host code"],
    ["sampled_ns", "sampled CPU time"],
];
const FLAME_MIN = 0.0007; // of the picture's width
const FLAME_LABEL = 0.02;

// The nodes in the document's order, the root of all before them.
function flameNodes({ tree, all }) {
    const self = Object.fromEntries(FLAME_WEIGHTS.map(([key]) => [`self_${key}`, 0]));
    const root = { row: { ...all, ...self, frame: "all" }, index: 0, depth: 0, inside: [] };
    const nodes = [root];
    const open = [root];
    for (const row of tree) {
        const depth = row.depth || 1; // what has no stack has none
        const caller = open[depth - 1];
        const node = { row, index: nodes.length, depth, caller, inside: [] };
        open.length = depth;
        open.push(node);
        nodes.push(node);
        caller.inside.push(node);
    }
    return nodes;
}

function frameName({ row }) {
    return row.function ?? row.frame;
}

function framePlace({ row }) {
    if (!row.file) return "";
    return row.file + (isNothing(row.line) ? "" : `:${row.line}`);
}

class FlameGraph {
    // options.onmove(): something else is shown
    constructor(document, options) {
        this.options = options;
        this.nodes = flameNodes(document);
        this.weights = FLAME_WEIGHTS.filter(([key]) => Number(this.nodes[0].row[key] || 0) > 0);
        if (!this.weights.length) this.weights = [FLAME_WEIGHTS[0]];
        this.weight = this.weights[0][0];
        this.zoomed = this.selected = this.nodes[0];
        this.found = null; // nodes that the search has found; null: nothing is searched
        this.build();
        this.draw();
    }

    build() {
        const words = this.weights.map(([, text]) => text);
        const { select, parts } = choice("flame-weight", "Width ", words, (i) => this.weigh(i));
        this.choice = select;
        this.filter = searchBox("Search functions and files", () => this.search());
        this.count = el("span", { class: "note", role: "status" });
        this.boxes = el("div", {
            class: "boxes",
            role: "tree",
            "aria-label": "Who called whom; arrows move, Enter zooms, Escape shows all",
            onclick: (event) => this.take(event, (node) => this.zoom(node)),
            onkeydown: (event) => this.key(event),
            onpointermove: (event) => this.hover(event),
            onpointerleave: () => hideTip(),
        });
        this.details = el("div", { class: "details" });
        this.element = el("section", { class: "flame" },
            el("div", { class: "tools" }, parts, this.filter, this.count),
            this.boxes,
            this.details,
        );
        this.element.flame = this;
    }

    // ---- What it shows ----

    value(node, key = this.weight) {
        return Number(node.row[key] || 0);
    }

    words(node, key = this.weight) {
        const all = this.value(this.nodes[0], key);
        const value = this.value(node, key);
        return `${formatNumber(key, value)}, ${formatPercent(all ? (value / all) * 100 : 0)}`;
    }

    weigh(index) {
        this.choice.selectedIndex = index;
        this.weight = this.weights[index][0];
        this.draw();
        this.options.onmove?.();
    }

    zoom(node) {
        this.zoomed = node;
        this.select(node);
    }

    select(node) {
        this.selected = node;
        if (!this.places.has(node)) this.zoomed = node.caller || node;
        this.draw();
        this.places.get(node)?.scrollIntoView({ block: "nearest" });
        this.options.onmove?.();
    }

    search() {
        const wanted = this.filter.value.trim().toLowerCase();
        const matches = (node) => `${node.row.frame}`.toLowerCase().includes(wanted);
        this.found = wanted ? new Set(this.nodes.slice(1).filter(matches)) : null;
        this.draw();
    }

    // What was found weighs once for each stack: without what is inside of another one.
    foundWords() {
        if (!this.found) return "";
        let sum = 0;
        for (const node of this.found) {
            let at = node.caller;
            while (at && !this.found.has(at)) at = at.caller;
            if (!at) sum += this.value(node);
        }
        const all = this.value(this.nodes[0]);
        return `${formatCount(this.found.size)} found, ${formatPercent(all ? (sum / all) * 100 : 0)}`;
    }

    // The callers of what is zoomed are as wide as the picture.
    draw() {
        const focused = this.boxes.contains(document.activeElement);
        this.places = new Map();
        this.rows = [];
        for (let node = this.zoomed.caller; node; node = node.caller)
            this.put(node, 0, 1, "around");
        this.putAll(this.zoomed, 0, 1);
        if (!this.places.has(this.selected)) this.selected = this.zoomed;
        this.places.get(this.selected).tabIndex = 0;
        this.boxes.style.height = `calc(${this.rows.length} * var(--flame-row))`;
        replaceContent(this.boxes, this.rows.flat());
        if (focused) this.places.get(this.selected).focus({ preventScroll: true });
        this.count.textContent = this.foundWords();
        replaceContent(this.details, this.detailsOf(this.selected));
    }

    putAll(node, from, width) {
        this.put(node, from, width, "");
        const whole = this.value(node);
        let at = from;
        const inside = [...node.inside].sort((a, b) => this.value(b) - this.value(a));
        for (const other of inside) {
            const share = whole ? (this.value(other) / whole) * width : 0;
            if (share >= FLAME_MIN) this.putAll(other, at, Math.min(share, from + width - at));
            at += share;
        }
    }

    put(node, from, width, kind) {
        const found = this.found && (this.found.has(node) ? " found" : " other");
        const attributes = {
            class: `box ${kind}${found || ""}`,
            role: "treeitem",
            tabindex: "-1",
            "aria-level": String(node.depth + 1),
            "aria-selected": String(node === this.selected),
            "aria-label": `${node.row.frame}: ${this.words(node)}`,
            style: {
                left: `${from * 100}%`,
                width: `${width * 100}%`,
                top: `calc(${node.depth} * var(--flame-row))`,
                "--hue": Math.floor(hashOf(framePlace(node)) * 360),
            },
        };
        const box = el("div", attributes, width < FLAME_LABEL ? "" : frameName(node));
        box.node = node;
        this.places.set(node, box);
        (this.rows[node.depth] ||= []).push(box);
    }

    detailsOf(node) {
        const callers = [];
        for (let at = node.caller; at; at = at.caller) callers.push(at);
        const callerLink = (other) =>
            link(other.row.frame, () => this.zoom(other), { class: "link code" });
        const heads = ["Weight", "With all it called", "Itself"];
        return [
            el("h2", null, frameName(node)),
            facts([["Where", framePlace(node)]]),
            plainTable(
                { class: "figures", "aria-label": "Weights of the frame" },
                heads.map((text) => el("th", { scope: "col" }, text)),
                this.weights.map(([key, words]) => [
                    el("th", { scope: "row" }, words),
                    el("td", { class: "number" }, this.words(node, key)),
                    el("td", { class: "number" },
                        formatNumber(key, this.value(node, `self_${key}`)),
                    ),
                ]),
            ),
            callers.length ? el("h3", null, "Called from") : null,
            el("ul", null,
                callers.slice(0, MAX_LISTED).map((at) => el("li", null, callerLink(at))),
            ),
        ];
    }

    // ---- Pointer and keys ----

    take(event, action) {
        const { node } = event.target.closest(".box") || {};
        if (node) action(node);
    }

    hover(event) {
        hideTip();
        this.take(event, (node) =>
            showTip(event.clientX, event.clientY, [
                el("b", { class: "code" }, node.row.frame),
                el("p", null, this.words(node)),
            ]),
        );
    }

    beside(step) {
        const row = this.rows[this.selected.depth].map((box) => box.node);
        return row[row.indexOf(this.selected) + step];
    }

    key(event) {
        const { selected, nodes } = this;
        const inside = [...selected.inside].sort((a, b) => this.value(b) - this.value(a));
        const action = {
            ArrowUp: () => selected.caller && this.select(selected.caller),
            ArrowDown: () => inside.length && this.select(inside[0]),
            ArrowLeft: () => this.beside(-1) && this.select(this.beside(-1)),
            ArrowRight: () => this.beside(1) && this.select(this.beside(1)),
            Home: () => this.select(nodes[0]),
            Enter: () => this.zoom(selected),
            Escape: () => this.zoom(nodes[0]),
        }[event.key];
        if (!action || event.ctrlKey || event.metaKey || event.altKey) return;
        event.preventDefault();
        action();
    }

    // ---- Address ----

    address() {
        const weight = this.weights.findIndex(([key]) => key === this.weight);
        return {
            weight: weight || null,
            zoom: this.zoomed.index || null,
            node: this.selected.index || null,
        };
    }

    goTo({ weight, zoom, node }) {
        this.weight = (this.weights[weight] || this.weights[0])[0];
        this.choice.selectedIndex = this.weights[weight] ? weight : 0;
        this.zoomed = this.nodes[zoom] || this.nodes[0];
        this.selected = this.nodes[node] || this.zoomed;
        this.draw();
    }
}

// Columns of samples are there only if the trace has some.
function rowsOfLines({ rows, samples }) {
    return samples ? rows : rows.map(({ sampled_ns, self_sampled_ns, ...row }) => row);
}

/** @param {Documents} documents */
export function flameView(value, documents, options) {
    if (!value.tree) return renderWhole(value, options);
    const { tree, rows, stacks, ...others } = value;
    return [
        leftOutNotes(documents, "stacks"),
        new FlameGraph(value, options).element,
        el("h2", null, "By line"),
        leftOutNotes(documents, "lines"),
        dataTable(rowsOfLines(value), { caption: "By line" }),
        renderWhole(others, options),
    ];
}

// ---- Layers, below them all of them as a table; or kernels by position ----

const OPEN_DEPTH = 1; // deeper layers are closed at first

function layerSummary(layer, context) {
    const part = Math.max(0, Math.min(100, layer.percent)) / 100;
    const calls = layer.calls === 1 ? "1 call" : `${formatCount(layer.calls)} calls`;
    return el("span", { class: "layer" },
        layer.name === null
            ? el("i", null, "outside of all ranges")
            : nameLink(layer.name, context.moment, context),
        el("span", { class: "figures" },
            `${formatTime(layer.total_ns)}, ${formatPercent(layer.percent)}, ${calls}` +
                (isNothing(layer.p50_ns) ? "" : `, P50 ${formatTime(layer.p50_ns)}`) +
                (layer.mark ? `, ${layer.mark}` : ""),
        ),
        el("span", { class: "track", "aria-hidden": "true" }, bar(part, "span")),
    );
}

function layerItem(layer, inside, context) {
    const below = inside.get(layer.id);
    const summary = layerSummary(layer, context);
    if (!below) return el("li", null, summary);
    const list = el("ul", { hidden: layer.depth > OPEN_DEPTH },
        below.map((other) => layerItem(other, inside, context)),
    );
    return el("li", null, layerToggle(layer, list), summary, list);
}

function layerToggle(layer, list) {
    const toggle = button("", () => use(!list.hidden), {
        class: "toggle",
        "aria-label": `Layers inside of ${layer.name ?? "none"}`,
    });
    const use = (hidden) => {
        list.hidden = hidden;
        toggle.setAttribute("aria-expanded", String(!hidden));
        toggle.textContent = hidden ? "▸" : "▾";
    };
    use(list.hidden);
    return toggle;
}

// Rows come by total, so the outer ones are there before those inside, and brothers by total.
function layerTree(layers, context) {
    const inside = new Map();
    for (const layer of layers)
        inside.set(layer.parent, [...(inside.get(layer.parent) || []), layer]);
    return el("ul", { class: "tree", "aria-label": "Layers by nesting" },
        (inside.get(null) || []).map((layer) => layerItem(layer, inside, context)),
    );
}

/** @param {Documents} documents */
export function layersView(value, documents, options) {
    const context = { ...options, moment: usualMoment(documents, options) };
    const notes = leftOutNotes(documents, "layers", "positions", "layer_work");
    if (value.by === "position")
        return [
            note(
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
