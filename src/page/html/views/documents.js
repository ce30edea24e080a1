// Any JSON document as headings, facts and tables. The key of a number says what it is (format.js).
// And what a view says of rows that the page lacks.

import { isNothing, isPlain, isTable } from "../base/data.js";
import { el, facts, note } from "../base/dom.js";
import { formatCount, unitOf } from "../base/format.js";
import { dataTable, isLabel, textOf } from "../base/table.js";
import { titleOf } from "../base/words.js";

const MAX_DEPTH = 6;
const MAX_PARTS = 8;

// What every document says of the trace stands at its end.
const COMMON = new Set(["pid", "command", "ranges", "range", "quality", "flight"]);

export function renderWhole(value, options) {
    const entries = Object.entries(value);
    const common = Object.fromEntries(entries.filter(([key]) => COMMON.has(key)));
    const own = Object.fromEntries(entries.filter(([key]) => !COMMON.has(key)));
    if (value.note || !Object.keys(common).includes("pid")) return renderDocument(value, options);
    return [
        ...renderDocument(own, options),
        el("details", null, el("summary", null, "Based on"), renderDocument(common, options, 1)),
    ];
}

// options: origin; onrow(row) if rows with begin_ns and end_ns can be shown in the time line.
function renderDocument(value, options, depth = 0) {
    if (value && value.note) return [note(value.note)];
    if (isListOfParts(value))
        return value.flatMap((part, index) => renderPart(part, index, options, depth));
    if (isTable(value))
        return [
            dataTable(value, {
                ...options,
                path: null,
                onrow: isStretch(value[0]) ? options.onrow : null,
            }),
        ];
    if (isPlain(value) || Array.isArray(value)) return [el("p", null, textOf("", value))];
    if (isKeyed(value)) return keyedTable(value, options);
    return renderMembers(value, options, depth);
}

// {"latency_ns": {"mean": 1, ...}, "host_ns": {"mean": 2, ...}}: a table, its rows by key.
function isKeyed(object) {
    const members = Object.values(object);
    return (
        members.length > 1 &&
        members.every((row) => !isPlain(row) && !Array.isArray(row)) &&
        members.every((row) => Object.values(row).every(isPlain)) &&
        Object.keys(members[0]).every((key) => key in members[1])
    );
}

// Numbers of a column have one unit, so rows of different units are different tables.
function keyedTable(object, options) {
    const units = new Map();
    for (const entry of Object.entries(object)) {
        const unit = unitOf(pathOf(options, entry[0]));
        units.set(unit, [...(units.get(unit) || []), entry]);
    }
    return [...units].map(([unit, entries]) =>
        dataTable(
            entries.map(([key, row]) => ({ name: titleOf(key), ...row })),
            {
                ...options,
                onrow: null,
                path: { time: "_ns", bytes: "_bytes", percent: "percent" }[unit],
                caption: UNIT_CAPTIONS[unit] || options.caption,
            },
        ),
    );
}

const UNIT_CAPTIONS = { time: "Times", bytes: "Bytes", percent: "Shares", "": "Counts" };

// A few objects that are tables themselves, such as the groups of a summary.
function isListOfParts(value) {
    return (
        isTable(value) &&
        value.length <= MAX_PARTS &&
        value.every((part) => Object.values(part).some(isTable))
    );
}

function renderPart(part, index, options, depth) {
    const { name, ...rest } = part;
    const text = String(name ?? part.title ?? part.device_name ?? index + 1);
    const title = /^[a-z]+(_[a-z]+)+$/.test(text) ? titleOf(text) : text; // a key, or a name
    const [rows, ...others] = Object.values(rest).filter((value) => !isPlain(value));
    // With one table and nothing else that needs a heading, the part's own is enough.
    const body =
        isTable(rows) && !others.length
            ? [
                  factsOf(
                      Object.entries(rest).filter(([, value]) => isPlain(value)),
                      options,
                  ),
                  ...renderDocument(rows, { ...options, caption: title }, depth + 1),
              ]
            : renderMembers(rest, options, depth + 1);
    return [el("h3", null, title), ...body];
}

function isStretch(row) {
    return (
        !isNothing(row.begin_ns) &&
        (!isNothing(row.end_ns) || !isNothing(row.latency_ns) || !isNothing(row.duration_ns))
    );
}

// Where a value stands: its unit may be that of what is around it.
function pathOf(options, key) {
    return options.path ? `${options.path}.${key}` : key;
}

// What there is none of is one line, not many.
function factsOf(entries, options) {
    const isNone = ([key, value]) => (value === 0 && !isLabel(key)) || value === false;
    const none = entries.filter(isNone).map(([key]) => titleOf(key));
    return [
        facts(
            entries
                .filter((entry) => !isNone(entry))
                .map(([key, value]) => [
                    titleOf(key),
                    textOf(pathOf(options, key), value, options.origin),
                ]),
            "many",
        ),
        none.length ? el("p", { class: "note none" }, `Zero or no: ${none.join("; ")}.`) : null,
    ];
}

// Keys of lists that say nothing of what is in them.
const LISTS = { groups: "By name", rows: "By name" };

// Lists whose elements have a meaning each, by the end of their path: a fact for each.
const ELEMENTS = {
    "kernels_at_once.time_ns": [1, 2, 3, "more"].map((many) => `time_with_${many}_ns`),
};

function elementsOf([key, value], options) {
    const path = pathOf(options, key);
    const named = Object.entries(ELEMENTS).find(([end]) => path.endsWith(end));
    return named ? named[1].map((name, i) => [name, value[i]]) : [[key, value]];
}

function renderMembers(object, options, depth) {
    const entries = Object.entries(object).filter(
        ([, value]) => !Array.isArray(value) || value.length,
    );
    const isFact = ([, value]) =>
        isPlain(value) || (Array.isArray(value) && !isTable(value) && value.every(isPlain));
    const others = depth >= MAX_DEPTH ? [] : entries.filter((entry) => !isFact(entry));
    others.sort(([, a], [, b]) => Number(isTable(b)) - Number(isTable(a))); // what a view is for comes first
    return [
        factsOf(
            entries.filter(isFact).flatMap((entry) => elementsOf(entry, options)),
            options,
        ),
        ...others.flatMap(([key, value]) => [
            el(depth ? "h3" : "h2", null, LISTS[key] ?? titleOf(key)),
            ...renderDocument(value,
                { ...options, caption: titleOf(key), path: pathOf(options, key) }, depth + 1),
        ]),
    ];
}

// Keys of the document `left_out` in words.
const LEFT_OUT = {
    overview: ["devices", "the first ones"],
    iterations: ["iterations", "the first ones"],
    outliers: ["outliers", "the longest"],
    layers: ["layers", "those that cost most"],
    positions: ["positions", "those that cost most"],
    layer_work: ["names of kernels and copies that a layer has", "those with most time"],
    stacks: ["frames of the tree", "those with the greatest share of anything"],
    lines: ["lines of the program", "those with most time"],
    deps: ["lines of host code", "those with most time"],
    kernels: ["kernels and launch shapes", "those with most time"],
    memory: ["rows of the longest list", "the largest"],
    memory_lines: ["devices and pools", "the first ones"],
};

/** @param {Documents} documents */
export function leftOutNotes(documents, ...keys) {
    return keys
        .map((key) => [LEFT_OUT[key], documents.left_out?.[key]])
        .filter(([, rows]) => rows)
        .map(([[what, which], { shown, all }]) =>
            el("p", { class: "note left-out" },
                `Of ${formatCount(all)} ${what} this page has ${formatCount(shown)}: ${which}.`,
            ),
        );
}
