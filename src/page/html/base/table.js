// A table that can be sorted, searched and scrolled, whatever its length: only rows that are in view
// are elements. The name stands first and stays; what else is shown is chosen in a menu. Its columns:
// keys, words, one unit for all numbers of a column.

import { isNothing, isPlain, isTable, relativeTo } from "./data.js";
import { button, el, link, note, replaceContent, searchBox } from "./dom.js";
import {
    SIZE_UNITS, TIME_UNITS, formatCount, formatExact, formatMoment, formatNumber, grouped, isMoment,
    unitFor, unitOf,
} from "./format.js";
import { CELL_WORDS, chosenColumns, orderedKeys, titleOf } from "./words.js";

// ---- Columns ----

const MAX_DECIMALS = 4;

// Numbers that do not fit are texts of digits, in columns that are numbers by their name.
function isNumeric(key, value) {
    return isNothing(value) || typeof value === "number" || (unitOf(key) && /^-?\d+$/.test(value));
}

// {"a": {"b": 1}} has the column "a.b".
function flatten(row, prefix, into) {
    for (const [key, value] of Object.entries(row)) {
        if (isPlain(value) || Array.isArray(value)) into[prefix + key] = value;
        else flatten(value, `${prefix}${key}.`, into);
    }
    return into;
}

function compareValues(a, b, numeric) {
    if (isNothing(a) || isNothing(b)) return Number(isNothing(a)) - Number(isNothing(b));
    if (typeof a === "string" && typeof b === "string" && numeric)
        return Number(BigInt(a) - BigInt(b)); // long ones differ in digits that a double lacks
    if (numeric) return Number(a) - Number(b);
    return String(a).localeCompare(String(b));
}

// As many as the usual value needs for four digits, at most `max`.
function decimalsFor(sizes, scale, max) {
    if (!sizes.length) return 0;
    const usual = sizes[sizes.length >> 1] / scale;
    return Math.max(0, Math.min(max, 4 - Math.ceil(Math.log10(usual + 1e-12))));
}

// {unit, text(value)}: all numbers of a column in one unit, chosen by the largest.
function numberFormat(kind, numbers) {
    const sizes = numbers
        .map(Math.abs)
        .filter((size) => size > 0)
        .sort((a, b) => a - b);
    const largest = sizes[sizes.length - 1] ?? 0;
    const scales = { time: TIME_UNITS, bytes: SIZE_UNITS }[kind];
    const exact = numbers.every(Number.isInteger);
    if (kind === "percent") return fixedFormat("%", 1, 2);
    if (!scales) return fixedFormat("", 1, exact ? 0 : decimalsFor(sizes, 1, MAX_DECIMALS));
    const [unit, scale, digits] = unitFor(largest, scales);
    const places = exact ? Math.min(digits, MAX_DECIMALS) : MAX_DECIMALS;
    return fixedFormat(unit, scale, decimalsFor(sizes, scale, places));
}

// What rounds to 0 and is not is shown as less than the smallest that can be.
function fixedFormat(unit, scale, decimals) {
    const min = 10 ** -decimals;
    return {
        unit,
        text: (value) => {
            const scaled = value / scale;
            if (!scaled) return "0";
            if (Math.abs(scaled) < min / 2)
                return (scaled < 0 ? "> −" : "< ") + min.toFixed(decimals);
            return grouped(scaled.toFixed(decimals));
        },
    };
}

// Numbers that name something have no separators.
export function isLabel(key) {
    return /(^|[._])(pid|tid|id|thread|device|stream|context|process|correlation|range|iteration|line|rank|number|position|replay)$/.test(
        key,
    );
}

// Two sides that are compared have one unit: time_A_ns and time_B_ns.
function bothSides(key) {
    const sides = ["A", "B"].map((side) => key.replace(/(^|_)[AB](?=_)/, `$1${side}`));
    return [...new Set(sides)];
}

// rows: flattened. options: origin, path (whose unit the numbers may have).
function makeColumn(key, rows, options) {
    const values = rows.map((row) => row[key]);
    const column = {
        key,
        title: titleOf(key),
        unit: "",
        numeric: values.every((v) => isNumeric(key, v)) && values.some((v) => !isNothing(v)),
        tables: values.some(isTable),
        shown: false,
        text: (value) => plainText(key, value),
        exact: (value) => plainText(key, value),
    };
    if (!column.numeric) return column;
    const path = options.path ? `${options.path}.${key}` : key;
    const moment = isMoment(path) && options.origin;
    const number = (value) =>
        moment && Number(value) ? relativeTo(options.origin, value) : Number(value);
    const format = numberFormat(
        unitOf(path),
        bothSides(key)
            .flatMap((side) => rows.map((row) => row[side]))
            .filter((value) => !isNothing(value))
            .map(number),
    );
    column.unit = format.unit;
    column.text = (value) => {
        if (isNothing(value)) return "";
        return isLabel(key) ? String(value) : format.text(number(value));
    };
    column.exact = (value) =>
        isNothing(value) || isLabel(key) ? "" : formatExact(path, number(value));
    return column;
}

function plainText(key, value) {
    if (isNothing(value)) return "";
    if (typeof value === "boolean") return value ? "yes" : "no";
    if (Array.isArray(value))
        return value.every(isPlain)
            ? value.map((item) => textOf(key, item, null)).join(", ") // lengths, not moments
            : `${formatCount(value.length)} rows`;
    return CELL_WORDS[key]?.[value] ?? String(value);
}

// Of CLOCK_REALTIME, as a date.
function dateOf(ns) {
    return new Date(Number(BigInt(ns) / 1000000n)).toISOString().replace("T", " ");
}

// A value on its own, outside of a column.
export function textOf(key, value, origin) {
    if (isNothing(value) || typeof value === "boolean" || Array.isArray(value))
        return plainText(key, value);
    if (key === "properties.start_realtime_ns" && /^\d+$/.test(value)) return dateOf(value);
    if (isMoment(key) && origin && Number(value)) return formatMoment(relativeTo(origin, value));
    if (isLabel(key)) return String(value);
    return isNumeric(key, value) ? formatNumber(key, Number(value)) : value;
}

// All columns of these rows, the name first; which of them are shown at first.
function columnsOf(rows, options) {
    const keys = new Set();
    for (const row of rows) for (const key of Object.keys(row)) keys.add(key);
    const filled = [...keys].filter((key) => rows.some((row) => !isNothing(row[key])));
    const ordered = orderedKeys(filled.length ? filled : [...keys]);
    const shown = new Set(chosenColumns(ordered));
    return ordered.map((key, index) => ({
        ...makeColumn(key, rows, options),
        shown: !index || shown.has(key),
    }));
}

// Three columns of a launch shape are one: 64 × 1 × 1.
function joinShapes(row) {
    const joined = { ...row };
    for (const what of ["grid", "block", "cluster"]) {
        const keys = ["x", "y", "z"].map((axis) => `${what}_${axis}`);
        if (!keys.every((key) => key in row)) continue;
        const sizes = keys.map((key) => row[key]);
        joined[what] = sizes.some(isNothing) ? null : sizes.join(" × ");
        for (const key of keys) delete joined[key];
    }
    return joined;
}

// ---- The table ----

const TABLE_ROW = 26; // pixels, as in views/views.css
const ROWS_AROUND = 12; // beyond what is in view
const MIN_SEARCHED = 8;
const [LONG_NAME, NARROW_NAME] = [36, 18]; // characters; in a narrow window
const NARROW = 760; // pixels, as in the style sheets
const MAX_PRINTED = 200;
const SAMPLE = 200; // rows by which columns get their widths

class DataTable {
    // options: caption, origin, path (whose unit the numbers have), onrow(row, index): the name
    // leads there, rowTitle: what the name is called then
    constructor(rows, options) {
        this.source = rows;
        this.rows = rows.map((row) => joinShapes(flatten(row, "", {})));
        this.options = { caption: "", ...options };
        this.columns = columnsOf(this.rows, this.options);
        this.order = this.rows.map((row, index) => index);
        this.sorted = { key: null, down: false };
        this.printed = false;
        this.build();
        this.useColumns();
        tables.add(this);
    }

    // ---- Elements ----

    build() {
        const { caption } = this.options;
        const label = `Search in ${caption || "this table"}`;
        this.filter = searchBox(label, () => this.search());
        this.count = el("span", { class: "note", role: "status" });
        this.head = el("tr", { "aria-rowindex": "1" });
        this.body = el("tbody");
        this.sizes = el("colgroup");
        this.table = el("table", { class: "data", "aria-rowcount": String(this.rows.length + 1) },
            el("caption", { class: "unseen" }, caption),
            this.sizes,
            el("thead", null, this.head),
            this.body,
        );
        this.box = el(
            "div",
            {
                class: "table-box",
                tabindex: "0",
                role: "group",
                "aria-label": caption || "Table",
                onscroll: () => this.fill(),
            },
            this.table,
        );
        this.inner = el("div", { class: "inner" });
        this.element = el("div", { class: "table" }, this.tools(), this.box, this.inner);
        this.element.dataTable = this;
        new ResizeObserver(() => this.fill()).observe(this.box);
    }

    tools() {
        const long = this.rows.length > MIN_SEARCHED;
        const wide = this.columns.some((column) => !column.shown);
        if (!long && !wide) return null;
        return el("div", { class: "tools" },
            long ? [this.filter, this.count] : null,
            wide ? this.menu() : null,
        );
    }

    menu() {
        this.chosen = el("summary");
        const choice = (column) => {
            const box = el("input", {
                type: "checkbox",
                onchange: () => {
                    column.shown = box.checked;
                    this.useColumns();
                },
            });
            box.checked = column.shown;
            return el("label", null, box, ` ${column.title}`);
        };
        return el("details", { class: "menu" },
            this.chosen,
            el("div", { class: "choices" }, this.columns.slice(1).map(choice)),
        );
    }

    // ---- Columns ----

    useColumns() {
        this.shown = this.columns.filter((column) => column.shown);
        this.heads = this.shown.map((column) => this.headOf(column));
        this.head.replaceChildren(...this.heads);
        this.longName = innerWidth < NARROW ? NARROW_NAME : LONG_NAME;
        const widths = this.shown.map((column) => this.widthOf(column));
        const all = widths.reduce((sum, width) => sum + width, 0);
        const grows = widths[0] >= this.longName; // a long name takes what room there is
        this.sizes.replaceChildren(
            ...widths.map((width, i) =>
                el("col", { style: i || !grows ? { width: `${width}ch` } : {} }),
            ),
        );
        this.table.style.minWidth = `${all}ch`;
        this.table.style.width = grows ? "100%" : `${all}ch`;
        if (this.chosen)
            this.chosen.textContent = `Columns: ${this.shown.length} of ${this.columns.length}`;
        this.mark();
        this.fill(true);
    }

    // In characters, by the heading and the first rows.
    widthOf(column) {
        const texts = this.order.slice(0, SAMPLE).map((row) => this.text(row, column.key).length);
        const head = column.title.length + (column.unit ? column.unit.length + 2 : 0);
        const longest = Math.max(0, ...texts);
        if (column.numeric) return Math.max(Math.min(head, 28), longest, 5) + 4;
        if (column === this.columns[0])
            return Math.max(Math.min(longest, this.longName), head, 8) + 3;
        const bold = Math.ceil(head * 1.15);
        return Math.max(Math.min(bold, 24), Math.min(longest, 28), 5) + 3;
    }

    headOf(column) {
        return el(
            "th",
            {
                scope: "col",
                class: column.numeric ? "number" : null,
                "data-key": column.key,
                "aria-sort": "none",
            },
            el("button", { type: "button", onclick: () => this.sort(column), title: column.title },
                column.title,
                column.unit ? el("span", { class: "unit" }, ` ${column.unit}`) : null,
            ),
        );
    }

    // ---- Order ----

    sort(column) {
        const down = this.sorted.key === column.key ? !this.sorted.down : column.numeric;
        this.sorted = { key: column.key, down };
        this.arrange();
    }

    search() {
        const wanted = this.filter.value.trim().toLowerCase();
        const matches = (index) =>
            this.columns.some(({ key }) => this.text(index, key).toLowerCase().includes(wanted));
        this.order = this.rows
            .map((row, index) => index)
            .filter((index) => !wanted || matches(index));
        this.arrange();
    }

    arrange() {
        const { key, down } = this.sorted;
        const column = this.columns.find((candidate) => candidate.key === key);
        if (column)
            this.order.sort((a, b) => {
                const way = down ? -1 : 1;
                const values = [this.rows[a][key], this.rows[b][key]];
                return compareValues(...values, column.numeric) * way || a - b;
            });
        this.mark();
        this.box.scrollTop = 0;
        this.fill(true);
    }

    mark() {
        const { key, down } = this.sorted;
        for (const head of this.heads)
            head.setAttribute("aria-sort",
                head.dataset.key === key ? (down ? "descending" : "ascending") : "none");
    }

    // ---- Rows ----

    // Those in view, and a few around; rows above and below them are two tall cells.
    fill(anew) {
        const count = this.order.length;
        const room = Math.ceil((this.box.clientHeight || 600) / TABLE_ROW);
        let first = Math.max(0, Math.floor(this.box.scrollTop / TABLE_ROW) - ROWS_AROUND);
        let end = Math.min(count, first + room + 2 * ROWS_AROUND);
        if (this.printed) [first, end] = [0, Math.min(count, MAX_PRINTED)];
        if (!anew && this.window && first === this.window.first && end === this.window.end) return;
        this.window = { first, end };
        const rows = [];
        for (let place = first; place < end; place++) rows.push(this.rowOf(place));
        const rest = this.printed ? 0 : count - end;
        this.body.replaceChildren(this.spaceOf(first), ...rows, this.spaceOf(rest));
        this.count.textContent =
            `${formatCount(count)} of ${formatCount(this.rows.length)} rows` +
            (this.printed && end < count ? `, ${formatCount(end)} printed` : "");
    }

    spaceOf(rows) {
        const style = { height: `${rows * TABLE_ROW}px` };
        return el("tr", { class: "space", "aria-hidden": "true", hidden: !rows, style });
    }

    rowOf(place) {
        const index = this.order[place];
        return el("tr", { "aria-rowindex": String(place + 2) },
            this.shown.map((column, at) => this.cellOf(index, column, !at)),
        );
    }

    text(index, key) {
        return this.columnOf(key).text(this.rows[index][key]);
    }

    columnOf(key) {
        if (!this.byKey) this.byKey = new Map(this.columns.map((column) => [column.key, column]));
        return this.byKey.get(key);
    }

    cellOf(index, column, isName) {
        const value = this.rows[index][column.key];
        const text = column.text(value);
        const kind = column.numeric ? "number" : "text";
        const title = column.numeric ? column.exact(value) : text;
        if (isTable(value))
            return el("td", { class: kind }, this.innerButton(index, column, value, text));
        if (isName)
            return el("th", { scope: "row", class: `${kind} name`, title },
                this.nameOf(index, text || "(no name)"),
            );
        return el("td", { class: kind, title }, text);
    }

    nameOf(index, text) {
        const { onrow, rowTitle } = this.options;
        if (!onrow) return text;
        return link(text, () => onrow(this.source[index], index), {
            "aria-label": rowTitle ? `${rowTitle} ${text}` : `Show ${text} in the time line`,
        });
    }

    // Rows inside a row are shown below the table.
    innerButton(index, column, value, text) {
        const name = this.text(index, this.columns[0].key);
        const caption = `${column.title} of ${name}`;
        const open = () =>
            replaceContent(
                this.inner,
                el("h3", null, caption),
                button("Close", () => this.inner.replaceChildren()),
                dataTable(value, { caption, origin: this.options.origin }),
            );
        return link(text, open);
    }
}

const tables = new Set(); // all that are on the page, for printing

export function dataTable(rows, options) {
    return rows.length ? new DataTable(rows, options).element : note("None.");
}

export function printTables(printed) {
    for (const table of tables) {
        table.printed = printed;
        table.fill(true);
    }
}
