// What tests/tools/write_parquet.c writes, computed once more: each column as a function of the row's
// number. Whole numbers are BigInt, what is NULL is null, a time is its nanoseconds.

const INT32 = [-(2n ** 31n), 2n ** 31n - 1n];
const INT64 = [-(2n ** 63n), 2n ** 63n - 1n];
const LONG_TEXT = 65536;

function anyNumber(row, [least, greatest], drop) {
    if (row % 5 < 2)
        return row % 5 ? greatest : least;
    const value = BigInt(row) * 6364136223846793005n + 1442695040888963407n;
    return BigInt.asIntN(64 - drop, BigInt.asUintN(64, value) >> BigInt(drop));
}

const ODD = ["", "\ufffd", "a\ufffd", "\ufffd\ufffd\ufffd", "😀 €", "'\"<b>&amp;\\", "nul\0nul",
    "line\n\ttab"];

const types = {
    flag: (row) => row % 3 === 0,
    small: (row) => BigInt((row * 7) % 100) - 50n,
    wide: (row) => anyNumber(row, INT32, 32),
    start_ns: (row) => 1700000000000000000n + BigInt(row) * 1000n + BigInt(row % 7),
    down: (row) => -BigInt(row * row),
    extreme: (row) => anyNumber(row, INT64, 0),
    ratio: (row) => (row - 1000) / 8,
    name: (row) => `kernel ${row % 70}`,
    distinct: (row) => `row ${row}`,
    odd: (row) => ODD[row % ODD.length],
    constant: () => 7n,
    some: (row) => (row % 4 === 1 ? null : BigInt(row)),
    stretches: (row) => ((row >> 10) & 1 ? null : BigInt(row % 3)),
    some_text: (row) => (row % 5 === 2 ? null : row % 5 === 3 ? "" : `text ${row % 1000}`),
    some_flag: (row) => (row % 2 ? null : row % 4 === 0),
    some_ratio: (row) => (row % 3 ? -row : null),
    no_number: () => null,
    no_text: () => null,
};

const long = {
    row: (row) => BigInt(row),
    text: (row) => `${String(row).padStart(8, "0")}-`.padEnd(LONG_TEXT,
        String.fromCharCode(97 + (row % 26))),
    same: () => "~".repeat(LONG_TEXT),
};

const DOUBLES = [1.5, NaN, -Infinity, 2, 0, -0, 0, -0, -1e308, 1e308, 5e-324, -2.5, Infinity, 1, 2,
    3];

const doubles = { value: (row) => DOUBLES[row % DOUBLES.length] };

export const kinds = { types, long, doubles };

// Files to write: kind, rows, rows of a group (0: 122,880).
export const small = [
    ["types", 0, 0], ["types", 1, 0], ["types", 2, 0], ["types", 7, 0], ["types", 8, 0],
    ["types", 9, 0], ["types", 129, 0], ["types", 999, 1000], ["types", 1000, 1000],
    ["types", 1001, 1000], ["types", 5000, 4096], ["long", 1, 0], ["doubles", 16, 4],
];
export const large = [
    ["types", 122879, 0], ["types", 122880, 0], ["types", 122881, 0], ["long", 600, 0],
];

export const GROUP_ROWS = 122880;
export const TYPES = {
    flag: "BOOLEAN", small: "INT32", wide: "INT32", start_ns: "INT64", down: "INT64",
    extreme: "INT64", ratio: "DOUBLE", name: "BYTE_ARRAY", distinct: "BYTE_ARRAY",
    odd: "BYTE_ARRAY", constant: "INT32", some: "INT64", stretches: "INT32",
    some_text: "BYTE_ARRAY", some_flag: "BOOLEAN", some_ratio: "DOUBLE", no_number: "INT32",
    no_text: "BYTE_ARRAY", row: "INT64", text: "BYTE_ARRAY", same: "BYTE_ARRAY", value: "DOUBLE",
};

// Of all values of a column from row `begin` to `end`: those that are not NULL.
export function valuesOf(column, begin, end) {
    const values = [];
    for (let row = begin; row < end; row++)
        values.push(column(row));
    return values.filter((value) => value !== null);
}

// Orders as Parquet has them: texts by bytes.
export function compare(a, b) {
    if (typeof a === "string")
        return Buffer.compare(Buffer.from(a), Buffer.from(b));
    return a < b ? -1 : a > b ? 1 : 0;
}
