// Queries of DuckDB over the fleet layout of make_trace's ranks 0 to 2; rank 1 is 540 us slower.
import { check, end, load } from "../check.mjs";

const { DuckDBInstance } = load("@duckdb/node-api");
const connection = await (await DuckDBInstance.create()).connect();

async function ask(name, sql, wanted) {
    const reader = await connection.runAndReadAll(sql.replaceAll(/FILES\((\w+)\)/g,
        (_, table) => `read_parquet('${process.argv[2]}/runs/*/*/*/*/${table}.parquet')`));
    const rows = JSON.stringify(reader.getRowsJson());

    check(name, rows === JSON.stringify(wanted), rows);
}

await ask("runs", "SELECT job, host, rank, CAST(date AS VARCHAR), whole FROM FILES(run) " +
    "ORDER BY rank", [["train", "node-a", "0", "2023-11-14", true],
    ["train", "node-a", "1", "2023-11-14", true], ["train", "node-b", "2", "2023-11-14", true]]);
await ask("kernels by rank, joined", "SELECT r.rank, SUM(k.calls), SUM(k.total_ns) " +
    "FROM FILES(kernel_summary) k JOIN FILES(run) r ON r.run_id = k.run_id " +
    "GROUP BY r.rank ORDER BY r.rank", [["0", "4", "1294567"], ["1", "5", "1834567"]]);
await ask("the slow kernel", "SELECT rank, MAX(max_ns) FROM FILES(kernel_summary) " +
    "WHERE name LIKE 'vecAdd(%' GROUP BY rank ORDER BY 2 DESC",
    [["1", "540000"], ["0", "30000"]]);
await ask("rows by the path's rank", "SELECT rank, COUNT(*), SUM(dur_ns) FROM FILES(kernel) " +
    "GROUP BY rank ORDER BY rank", [["0", "4", "1294567"], ["1", "5", "1834567"]]);
await ask("summary and rows agree", "SELECT COUNT(*) FROM (SELECT run_id, name, SUM(dur_ns) a " +
    "FROM FILES(api) GROUP BY ALL) JOIN (SELECT run_id, name, SUM(total_ns) b " +
    "FROM FILES(api_summary) GROUP BY ALL) USING (run_id, name) WHERE a <> b", [["0"]]);
end();
