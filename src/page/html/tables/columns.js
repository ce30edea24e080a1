// The columns of a table: keys, words, one unit for all numbers of a column.

const TIMES = [
    ["s", 1e9, 9],
    ["ms", 1e6, 6],
    ["us", 1e3, 3],
    ["ns", 1, 0],
];
const SIZES = [
    ["GiB", 2 ** 30, 3],
    ["MiB", 2 ** 20, 3],
    ["KiB", 2 ** 10, 3],
    ["B", 1, 0],
];
const MAX_DECIMALS = 4;

function isNothing(value) {
    return value === null || value === undefined;
}

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
    if (isNothing(a) || isNothing(b)) return isNothing(a) - isNothing(b);
    if (typeof a === "string" && typeof b === "string" && numeric)
        return Number(BigInt(a) - BigInt(b)); // long ones differ in digits that a double lacks
    if (numeric) return Number(a) - Number(b);
    return String(a).localeCompare(String(b));
}

// As many as the usual value needs for four digits, at most `most`.
function decimalsFor(sizes, scale, most) {
    if (!sizes.length) return 0;
    const usual = sizes[sizes.length >> 1] / scale;
    return Math.max(0, Math.min(most, 4 - Math.ceil(Math.log10(usual + 1e-12))));
}

// {unit, text(value)}: all numbers of a column in one unit, chosen by the greatest.
function numberFormat(kind, numbers) {
    const sizes = numbers
        .map(Math.abs)
        .filter((size) => size > 0)
        .sort((a, b) => a - b);
    const greatest = sizes[sizes.length - 1] ?? 0;
    const scales = { time: TIMES, bytes: SIZES }[kind];
    const exact = numbers.every(Number.isInteger);
    if (kind === "percent") return fixedFormat("%", 1, 2);
    if (!scales) return fixedFormat("", 1, exact ? 0 : decimalsFor(sizes, 1, MAX_DECIMALS));
    const [unit, scale, digits] =
        scales.find(([, least]) => greatest >= least) || scales[scales.length - 1];
    const most = exact ? Math.min(digits, MAX_DECIMALS) : MAX_DECIMALS;
    return fixedFormat(unit, scale, decimalsFor(sizes, scale, most));
}

// What rounds to 0 and is not is shown as less than the least that can be.
function fixedFormat(unit, scale, decimals) {
    const least = 10 ** -decimals;
    return {
        unit,
        text: (value) => {
            const scaled = value / scale;
            if (!scaled) return "0";
            if (Math.abs(scaled) < least / 2)
                return (scaled < 0 ? "> −" : "< ") + least.toFixed(decimals);
            return grouped(scaled.toFixed(decimals));
        },
    };
}

// Numbers that name something have no separators.
function isLabel(key) {
    return /(^|[._])(pid|tid|id|thread|device|stream|context|process|correlation|range|iteration|line|rank|number|position|replay)$/.test(key);
}

// Two sides that are compared have one unit: time_A_ns and time_B_ns.
function bothSides(key) {
    const sides = ["A", "B"].map((side) => key.replace(/(^|_)[AB](?=_)/, `$1${side}`));
    return [...new Set(sides)];
}

// rows: flattened. options: origin, path (whose unit the numbers may have).
function makeColumn(key, rows, options) {
    const values = rows.map((row) => row[key]);
    const column = { key, title: titleOf(key), unit: "", numeric: false, tables: false };
    column.numeric =
        values.every((value) => isNumeric(key, value)) && values.some((v) => !isNothing(v));
    column.tables = values.some(isTable);
    column.text = (value) => plainText(key, value);
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
function textOf(key, value, origin) {
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
