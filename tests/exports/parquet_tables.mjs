// Prints tables of a folder of Parquet files as JSON: {TABLE: {COLUMN: [values]}}, by hyparquet.
// parquet_tables.mjs FOLDER [TABLE:COLUMN,...]...
import { readFileSync, readdirSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const load = createRequire(`${process.env.EXPORT_TEST_MODULES}/`);
const { parquetMetadata, parquetRead } =
    await import(pathToFileURL(load.resolve("hyparquet")));
const { decompress } = load("fzstd");
const compressors = { ZSTD: (bytes) => decompress(bytes) };
const [folder, ...wanted] = process.argv.slice(2);
const tables = {};

for (const name of readdirSync(folder).filter((one) => one.endsWith(".parquet"))) {
    const table = name.slice(0, -".parquet".length);
    const one = wanted.find((text) => text.split(":")[0] === table);
    if (wanted.length && !one)
        continue;
    const bytes = readFileSync(`${folder}/${name}`);
    const file = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);
    const columns = one?.split(":")[1]?.split(",");
    const schema = parquetMetadata(file).schema.slice(1);

    tables[table] = Object.fromEntries((columns ?? schema.map((column) => column.name))
        .map((column) => [column, []]));
    tables[table][""] = schema.map((column) => [column.name, column.type,
        column.repetition_type]);
    await parquetRead({ file, compressors, columns,
        onChunk({ columnName, columnData, rowStart }) {
            for (let i = 0; i < columnData.length; i++)
                tables[table][columnName][rowStart + i] = columnData[i] ?? null;
        } });
}
process.stdout.write(JSON.stringify(tables, (key, value) =>
    (typeof value === "bigint" ? value.toString() : value)));
