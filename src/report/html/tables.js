// Any JSON document as headings, facts and tables: an array of objects is a table that can be
// sorted and searched. What a number is, is told by its key (format.js).

const ROWS_SHOWN = 100;
const DEEPEST = 6;
const MOST_PARTS = 8;

function isPlain(value) {
    return value === null || typeof value !== "object";
}

function isTable(value) {
    return (
        Array.isArray(value) &&
        value.length > 0 &&
        value.every((row) => row && !isPlain(row) && !Array.isArray(row))
    );
}

// {"a": {"b": 1}} has the column "a.b".
function flatten(row, prefix, into) {
    for (const [key, value] of Object.entries(row)) {
        if (isPlain(value) || Array.isArray(value)) into[prefix + key] = value;
        else flatten(value, `${prefix}${key}.`, into);
    }
    return into;
}

function columnsOf(rows) {
    const keys = new Set();
    for (const row of rows) for (const key of Object.keys(row)) keys.add(key);
    return [...keys].map((key) => ({
        key,
        numeric:
            rows.every((row) => isNumeric(key, row[key])) &&
            rows.some((row) => !isNothing(row[key])),
    }));
}

function isNothing(value) {
    return value === null || value === undefined;
}

// Numbers that do not fit are texts of digits, in columns that are numbers by their name.
function isNumeric(key, value) {
    return isNothing(value) || typeof value === "number" || (unitOf(key) && /^-?\d+$/.test(value));
}

function compareValues(a, b, numeric) {
    if (isNothing(a) || isNothing(b)) return isNothing(a) - isNothing(b);
    if (typeof a === "string" && typeof b === "string" && numeric)
        return Number(BigInt(a) - BigInt(b)); // long ones differ in digits that a double lacks
    if (numeric) return Number(a) - Number(b);
    return String(a).localeCompare(String(b));
}

function textOf(key, value, origin) {
    if (isNothing(value)) return "";
    if (typeof value === "boolean") return value ? "yes" : "no";
    if (Array.isArray(value))
        return value.every(isPlain)
            ? value.map((item) => textOf(key, item, null)).join(", ") // lengths, not moments
            : `${value.length} rows`;
    if (isMoment(key) && origin && Number(value)) return formatTime(relativeTo(origin, value));
    if (typeof value === "number") return formatNumber(key, value);
    if (isNumeric(key, value)) return formatNumber(key, Number(value));
    return value;
}

class DataTable {
    // options: caption, shown, origin, paths (a key of each row), onrow(row, index): for "Show"
    constructor(rows, options) {
        this.source = rows;
        this.rows = rows.map((row) => flatten(row, "", {}));
        this.options = { caption: "", shown: ROWS_SHOWN, ...options };
        this.columns = columnsOf(this.rows);
        this.order = this.rows.map((row, index) => index);
        this.shown = this.options.shown;
        this.sorted = { key: null, down: false };
        this.build();
        this.fill();
    }

    build() {
        this.filter = el("input", {
            type: "search",
            placeholder: "Search",
            "aria-label": `Search in ${this.options.caption || "this table"}`,
            oninput: debounced(() => this.search(), 120),
        });
        this.count = el("span", { class: "note", role: "status" });
        this.body = el("tbody");
        this.heads = this.columns.map((column) => this.headOf(column));
        this.more = el("button", { type: "button", onclick: () => this.showMore() }, "Show more");
        this.element = el(
            "div",
            null,
            this.rows.length > 8 ? el("div", { class: "tools" }, this.filter, this.count) : null,
            el(
                "div",
                {
                    class: "table-box",
                    tabindex: "0",
                    role: "group",
                    "aria-label": this.options.caption,
                },
                el(
                    "table",
                    { class: "data" },
                    el("caption", { hidden: true }, this.options.caption),
                    el(
                        "thead",
                        null,
                        el("tr", null, this.options.onrow ? el("th", null, "") : null, this.heads),
                    ),
                    this.body,
                ),
            ),
            this.more,
        );
    }

    headOf(column) {
        const button = el(
            "button",
            { type: "button", onclick: () => this.sort(column) },
            titleOf(column.key),
        );
        return el(
            "th",
            {
                scope: "col",
                class: column.numeric ? "number" : null,
                "data-key": column.key,
                "aria-sort": "none",
            },
            button,
        );
    }

    sort(column) {
        const down = this.sorted.key === column.key ? !this.sorted.down : column.numeric;
        const value = (index) => this.rows[index][column.key];
        this.sorted = { key: column.key, down };
        this.order.sort(
            (a, b) => compareValues(value(a), value(b), column.numeric) * (down ? -1 : 1) || a - b,
        );
        for (const head of this.heads) {
            const mine = head.dataset.key === column.key;
            head.setAttribute("aria-sort", mine ? (down ? "descending" : "ascending") : "none");
        }
        this.fill();
    }

    search() {
        const wanted = this.filter.value.trim().toLowerCase();
        const matches = (index) =>
            this.columns.some(({ key }) => this.text(index, key).toLowerCase().includes(wanted));
        const kept = this.rows
            .map((row, index) => index)
            .filter((index) => !wanted || matches(index));
        const { key, down } = this.sorted;
        this.order = kept;
        this.shown = this.options.shown;
        if (!key) return this.fill();
        this.sorted = { key, down: !down }; // sort() turns it round
        this.sort(this.columns.find((column) => column.key === key));
    }

    showMore() {
        this.shown += Math.max(this.options.shown, 500);
        this.fill();
    }

    fill() {
        this.body.replaceChildren(
            ...this.order.slice(0, this.shown).map((index) => this.rowOf(index)),
        );
        this.more.hidden = this.order.length <= this.shown;
        this.count.textContent =
            `${formatCount(this.order.length)} of ${formatCount(this.rows.length)} rows` +
            (this.more.hidden ? "" : `, ${formatCount(this.shown)} shown`);
    }

    rowOf(index) {
        const row = this.rows[index];
        const { onrow } = this.options;
        const show = onrow
            ? el(
                  "td",
                  null,
                  el(
                      "button",
                      {
                          type: "button",
                          class: "link",
                          onclick: () => onrow(this.source[index], index),
                      },
                      "Show",
                  ),
              )
            : null;
        return el(
            "tr",
            null,
            show,
            this.columns.map(({ key, numeric }) =>
                this.cellOf(key, row[key], numeric, this.text(index, key)),
            ),
        );
    }

    // What a cell says; a row may have a key of its own, which can say its unit.
    text(index, key) {
        const { origin, paths } = this.options;
        return textOf(paths ? `${paths[index]}.${key}` : key, this.rows[index][key], origin);
    }

    cellOf(key, value, numeric, text) {
        const kind = numeric ? "number" : /name$/.test(key) ? "text name" : "text";
        if (!isTable(value)) return el("td", { class: kind }, text);
        const details = el("details", null, el("summary", null, text));
        details.addEventListener(
            "toggle",
            () =>
                details.append(
                    dataTable(value, { caption: titleOf(key), origin: this.options.origin }),
                ),
            { once: true },
        );
        return el("td", { class: "text" }, details);
    }
}

function dataTable(rows, options) {
    return new DataTable(rows, options).element;
}

// ---- Documents ----

// What every document says of the trace stands at its end.
const COMMON = new Set(["pid", "command", "ranges", "range", "quality", "flight"]);

function renderWhole(value, options) {
    const entries = Object.entries(value);
    const common = Object.fromEntries(entries.filter(([key]) => COMMON.has(key)));
    const own = Object.fromEntries(entries.filter(([key]) => !COMMON.has(key)));
    if (value.note || !Object.keys(common).includes("pid")) return renderDocument(value, options);
    return [
        ...renderDocument(own, options),
        el(
            "details",
            null,
            el("summary", null, "What it rests on"),
            renderDocument(common, options, 1),
        ),
    ];
}

// options: origin; onrow(row) if rows with begin_ns and end_ns can be shown in the time line.
function renderDocument(value, options, depth = 0) {
    if (value && value.note) return [el("p", { class: "note" }, value.note)];
    if (isListOfParts(value))
        return value.flatMap((part, index) => renderPart(part, index, options, depth));
    if (isTable(value))
        return [
            dataTable(value, { ...options, onrow: isStretch(value[0]) ? options.onrow : null }),
        ];
    if (isPlain(value) || Array.isArray(value)) return [el("p", null, textOf("", value))];
    if (isKeyed(value)) return [keyedTable(value, options)];
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

function keyedTable(object, options) {
    const rows = Object.entries(object).map(([key, row]) => ({ name: titleOf(key), ...row }));
    return dataTable(rows, { ...options, onrow: null, paths: Object.keys(object) });
}

// A few objects that are tables themselves, such as the groups of a summary.
function isListOfParts(value) {
    return (
        isTable(value) &&
        value.length <= MOST_PARTS &&
        value.every((part) => Object.values(part).some(isTable))
    );
}

function renderPart(part, index, options, depth) {
    const { name, ...rest } = part;
    const text = String(name ?? part.title ?? part.device_name ?? index + 1);
    const title = /^[a-z_]+$/.test(text) ? titleOf(text) : text; // a key, or a name
    const [rows, ...others] = Object.values(rest).filter((value) => !isPlain(value));
    // With one table and nothing else that needs a heading, the part's own is enough.
    const body =
        isTable(rows) && !others.length
            ? [
                  facts(
                      Object.entries(rest)
                          .filter(([, value]) => isPlain(value))
                          .map(([key, value]) => [
                              titleOf(key),
                              textOf(key, value, options.origin),
                          ]),
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

function renderMembers(object, options, depth) {
    const plain = [];
    const others = [];
    for (const [key, value] of Object.entries(object)) {
        if (isPlain(value) || (Array.isArray(value) && !isTable(value) && value.every(isPlain)))
            plain.push([titleOf(key), textOf(pathOf(options, key), value, options.origin)]);
        else if (!Array.isArray(value) || value.length) others.push([key, value]);
    }
    return [
        facts(plain),
        ...others.flatMap(([key, value]) =>
            depth >= DEEPEST
                ? []
                : [
                      el(depth ? "h3" : "h2", null, titleOf(key)),
                      ...renderDocument(
                          value,
                          { ...options, caption: titleOf(key), path: pathOf(options, key) },
                          depth + 1,
                      ),
                  ],
        ),
    ];
}
