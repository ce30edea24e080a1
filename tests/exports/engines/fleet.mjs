// Runs every query of docs/fleet.md in DuckDB and ClickHouse (chdb) over make_fleet's lake. Both must
// give the same rows, and these must be what make_fleet has planted.
import { readFileSync } from "node:fs";
import { check, end, load } from "../check.mjs";

const { DuckDBInstance } = load("@duckdb/node-api");
const { Session } = load("chdb");
const source = process.env.SOURCE;
const read = (path) => readFileSync(`${source}/${path}`, "utf8");

process.chdir(process.argv[2]);

// ---- Engines: both give rows of plain numbers and texts ----

const duckdb = await (await DuckDBInstance.create()).connect();
const clickhouse = new Session();

function statements(path) {
    return read(path).replaceAll(/^--.*\n/gm, "").split(/;\n/).filter((text) => text.trim());
}

function plain(value) {
    return typeof value === "string" && /^-?\d+(\.\d+)?$/.test(value) ? Number(value) : value;
}

async function askDuckdb(sql) {
    return (await duckdb.runAndReadAll(sql)).getRowsJson().map((row) => row.map(plain));
}

// As the document shows an answer: the names of the columns, and the rows.
async function answer(sql, rows) {
    const names = (await duckdb.runAndReadAll(sql)).columnNames();

    return [names, ...rows].map((row) => row.join(" ")).join("\n");
}

function askClickhouse(sql) {
    return clickhouse.query(sql, "JSONCompactEachRow").split("\n").filter(Boolean)
        .map((line) => JSON.parse(line).map(plain));
}

const times = { DuckDB: [], ClickHouse: [], "ClickHouse's copy": [] };

async function timed(engine, ask) {
    const begin = performance.now();
    const rows = await ask();

    times[engine].push(((performance.now() - begin) / 1e3).toFixed(2));
    return rows;
}

async function setUp() {
    for (const sql of statements("samples/fleet/duckdb.sql"))
        await duckdb.run(sql);
    for (const sql of statements("samples/fleet/clickhouse.sql"))
        clickhouse.query(sql);
    const begin = performance.now();
    for (const sql of statements("samples/fleet/clickhouse_copy.sql"))
        clickhouse.query(sql);
    console.log(`ClickHouse's copy: ${((performance.now() - begin) / 1e3).toFixed(2)} s`);
}

// ---- What is planted: make_fleet.c has the numbers ----

const near = (value, wanted, by) => Math.abs(value - wanted) <= by;

// Means over the days 40 (80 / 2) and 42.5; v05 takes 1.3 times as long.
const hosts = [["v05", 80, 53.625, 1.3], ["v00", 80, 41.25, 1], ["v01", 80, 41.25, 1]];

// 8 of vision's 64 ranks are slow; of llm one, on 2 of 5 days before and 3 of 5 after.
const regressions = [
    ["llm", "layer_norm", 12080, 13000, 20.05, 25.094, 25.2],
    ["vision", "layer_norm", 12080, 13000, 20.75, 25.938, 25]];

const stragglers = [...[40, 41, 42, 43, 44, 45, 46, 47].map((rank) =>
    ["vision", "v05", rank, 7, +(1.3 / (1 + 0.3 / 8)).toFixed(3)]),
["llm", "m01", 11, 5, +(1.4 / (1 + 0.4 / 64)).toFixed(3)]];

// Of llm a step's kernels take 24 x 100 us, from the 7th on 24 x 105; 0.4 of that, 12 times on each
// of two days before and three behind. Vision's eight slow ranks come together, so none is the last.
const keeping = [["llm", "m01", 11, "AllReduce", 120, 60,
    +(12 * .4 * 24 * (2 * 100 + 3 * 105) / 1e3).toFixed(3)]];

// 20 + 3 + 1, 8 gemms with 1 between them, 1, a copy of 2, 2 until the host has seen it.
const latency = (spike) => 20 + 3 + 1 + 8 * 150 + (spike ? 450 * 8 : 0) + 7 + 1 + 2 + 2;
const days = [...Array(10).keys()].map((day) =>
    [`2026-11-${String(2 + day).padStart(2, "0")}`, 36 * 12, latency(false), latency(day >= 7)]);

function idleIsPlanted(rows) {
    const [vision, search, ...others] = rows;

    return vision[0] === "vision" && near(vision[6], vision[2], 1) && vision[2] > 60 &&
        search[0] === "search" && near(search[3], search[2], 8) && search[2] > 60 &&
        others.length === 2 && others.every((row) => row[2] < 5) &&
        rows.every(([job, steps]) => steps === 12 * 10 * (/vision|llm/.test(job) ? 64 : 36));
}

// A step is 20 + 60 * 6 and the end; graphs leave 60 * 2 and 60 * 0.35 for the launch.
const graphsArePlanted = (rows) => rows.length === 1 && rows[0][0] === "search" &&
    rows[0][1] === 360 && near(rows[0][3], 60 * 6 - 60 * 2 - 60 * 0.35, 20);

const same = (wanted) => (rows) => JSON.stringify(rows) === JSON.stringify(wanted);
const planted = {
    "Slowest hosts of a job": same(hosts),
    "Kernel regressions between driver versions": same(regressions),
    "Idle by cause over jobs": idleIsPlanted,
    "Stragglers over a week": same(stragglers),
    "Who keeps collectives waiting": same(keeping),
    "What would gain from CUDA graphs": graphsArePlanted,
    "P99 over time": same(days),
};

// ---- The queries, as they stand in the document ----

async function checkQuery(title, sql, shown) {
    const ours = await timed("DuckDB", () => askDuckdb(sql));
    const theirs = await timed("ClickHouse", () => askClickhouse(sql));

    clickhouse.query("USE fleet_copy");
    const copied = await timed("ClickHouse's copy", () => askClickhouse(sql));
    clickhouse.query("USE fleet");
    check(`${title}: both engines say the same`, same(ours)(theirs), JSON.stringify(theirs));
    check(`${title}: and so does the copy`, same(ours)(copied), JSON.stringify(copied));
    check(`${title}: what was planted`, planted[title](ours), JSON.stringify(ours));
    const wanted = await answer(sql, ours);
    check(`${title}: what the document shows`, shown.replaceAll(/ +/g, " ").trim() === wanted,
        `\n${wanted}`);
}

await setUp();
clickhouse.query("USE fleet");
const queries = [...read("docs/fleet.md").matchAll(
    /^### (.*)\n[^]*?^```sql\n([^]*?)^```\n\n```text\n([^]*?)^```$/gm)];
check("all questions", same(Object.keys(planted))(queries.map(([, title]) => title)));
for (const [, title, sql, shown] of queries)
    await checkQuery(title, sql, shown);
for (const [engine, seconds] of Object.entries(times))
    console.log(`${engine}: ${seconds.join(" ")} s`);
end();
