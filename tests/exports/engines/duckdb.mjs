// Reads Parquet files of known content by DuckDB.
import { readFileSync, writeFileSync } from "node:fs";
import { check, end, firstDifference, load, write } from "../check.mjs";
import { TYPES, compare, kinds, large, small, valuesOf } from "../tables.mjs";

const { DuckDBInstance } = load("@duckdb/node-api");
const database = await (await DuckDBInstance.create(":memory:", { threads: "2" })).connect();
const folder = process.argv[2];

async function ask(sql) {
    return (await database.runAndReadAll(sql)).getColumnsJS();
}

// The one value of the one row of the answer.
async function one(sql) {
    return (await ask(sql))[0][0];
}

function plain(name, value) {
    return TYPES[name] === "INT32" && value !== null ? BigInt(value) : value;
}

// ---- All values ----

async function checkValues(what, path, kind, rows) {
    const names = Object.keys(kinds[kind]);
    const list = names.map((name) => (name === "start_ns" ? `epoch_ns("${name}")` : `"${name}"`));
    const columns = await ask(`SELECT ${list.join()} FROM '${path}'`);

    names.forEach((name, at) => {
        const values = (columns[at] ?? []).map((value) => plain(name, value));
        const difference = firstDifference(values, kinds[kind][name]);

        check(`${what}: ${name}`, values.length === rows && !difference, difference);
    });
}

async function checkTypes(what, path, kind) {
    const [names, types] = await ask(`DESCRIBE SELECT * FROM '${path}'`);
    const theirs = { BOOLEAN: "BOOLEAN", INT32: "INTEGER", INT64: "BIGINT", DOUBLE: "DOUBLE",
        BYTE_ARRAY: "VARCHAR" };

    names.forEach((name, at) => check(`${what}: type of ${name}`, types[at] ===
        (name === "start_ns" ? "TIMESTAMP_NS" : theirs[TYPES[name]]), types[at]));
    check(`${what}: all columns`, names.join() === Object.keys(kinds[kind]).join());
}

// ---- Conditions ----

// A value in SQL; texts as bytes, so that any may stand there.
function literal(name, value) {
    if (name === "start_ns")
        return `make_timestamp_ns(${value})`;
    if (typeof value === "string")
        return `decode('${[...Buffer.from(value)].map((byte) =>
            `\\x${byte.toString(16).padStart(2, "0")}`).join("")}'::BLOB)`;
    if (typeof value === "number")
        return Number.isFinite(value) ? `${value.toExponential()}::DOUBLE` : `'${value}'::DOUBLE`;
    return String(value);
}

const OPERATORS = { "=": (order) => order === 0, "<": (order) => order < 0,
    "<=": (order) => order <= 0, ">": (order) => order > 0, ">=": (order) => order >= 0 };

// DuckDB has NaN above all numbers.
function order(a, b) {
    if (Number.isNaN(a) || Number.isNaN(b))
        return Number.isNaN(a) - Number.isNaN(b);
    return compare(a, b);
}

// The least and the greatest value of each group, and what lies around.
function boundsOf(column, rows, most) {
    const bounds = new Set();

    for (let begin = 0; begin < rows; begin += most) {
        const values = valuesOf(column, begin, Math.min(rows, begin + most)).sort(order);

        for (const value of values.length ? [values[0], values.at(-1)] : []) {
            bounds.add(value);
            if (typeof value === "bigint" && value > -(2n ** 63n) && value < 2n ** 63n - 1n)
                bounds.add(value - 1n).add(value + 1n);
        }
    }
    return [...bounds];
}

async function checkConditions([kind, rows, groupRows]) {
    const path = write(folder, [kind, rows, groupRows]);

    for (const [name, column] of Object.entries(kinds[kind])) {
        const values = valuesOf(column, 0, rows);
        const tests = boundsOf(column, rows, groupRows).flatMap((bound) =>
            Object.entries(OPERATORS).map(([sign, holds]) =>
                [sign, bound, values.filter((value) => holds(order(value, bound))).length]));
        if (!tests.length)
            continue;
        const counts = await ask(tests.map(([sign, bound]) =>
            `SELECT count(*) FROM '${path}' WHERE "${name}" ${sign} ${literal(name, bound)}`)
            .join(" UNION ALL ").replace(/^/, "SELECT * FROM (").concat(")"));
        tests.forEach(([sign, bound, expected], at) =>
            check(`${kind} ${rows}: ${name} ${sign} ${String(bound).slice(0, 40)}`,
                Number(counts[0][at]) === expected, `${counts[0][at]}, not ${expected}`));
        check(`${kind} ${rows}: ${name} is NULL`, Number(await one(
            `SELECT count(*) FROM '${path}' WHERE "${name}" IS NULL`)) === rows - values.length);
    }
}

// ---- Groups that a condition rules out are not read: their pages may hold anything ----

async function checkSkipping() {
    const path = write(folder, ["types", 30000, 10000]);
    const damaged = path.replace(/types/, "damaged");
    const [begin, bytes] = await ask(`SELECT min(least(data_page_offset,
        coalesce(dictionary_page_offset, data_page_offset))), sum(total_compressed_size)
        FROM parquet_metadata('${path}') WHERE row_group_id = 1`);
    const time = (row) => literal("start_ns", kinds.types.start_ns(row));
    const file = readFileSync(path);
    const sum = (condition) => one(`SELECT count(*) FROM '${damaged}' WHERE ${condition}
        AND length(name) + abs(ratio) >= 0`);

    file.fill(0xa5, Number(begin[0]), Number(begin[0]) + Number(bytes[0]));
    writeFileSync(damaged, file);
    check("skips by time", Number(await sum(`start_ns < ${time(10000)}`)) === 10000);
    check("skips by number", Number(await sum(`down < -400000000`)) === 9999);
    check("reads what may match", await sum(`start_ns <= ${time(10000)}`).then(() => false,
        () => true));
}

for (const parts of [...small, ...large]) {
    const path = write(folder, parts);

    await checkTypes(parts.join(" "), path, parts[0]);
    await checkValues(parts.join(" "), path, parts[0], parts[1]);
}
await checkConditions(["types", 5000, 2048]);
await checkConditions(["doubles", 16, 4]);
await checkConditions(["long", 40, 16]);
await checkSkipping();
end();
