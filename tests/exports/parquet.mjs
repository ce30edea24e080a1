// Reads Parquet files of known content by hyparquet, whose code shares nothing with ours.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { check, end, firstDifference, load, write } from "./check.mjs";
import { GROUP_ROWS, TYPES, compare, kinds, small, valuesOf } from "./tables.mjs";

const { parquetMetadata, parquetQuery, parquetRead } =
    await import(pathToFileURL(load.resolve("hyparquet")));
const { decompress } = load("fzstd");
const compressors = { ZSTD: (bytes) => decompress(bytes) };
const parsers = { timestampFromNanoseconds: (nanoseconds) => nanoseconds };
const folder = process.argv[2];
const LARGE = ["types", GROUP_ROWS + 1, 0];

// hyparquet has numbers for INT32.
function plain(name, value) {
    if (value === undefined || value === null)
        return null;
    return TYPES[name] === "INT32" ? BigInt(value) : value;
}

async function readColumns(file, names) {
    const columns = Object.fromEntries(names.map((name) => [name, []]));

    await parquetRead({ file, compressors, parsers,
        onChunk({ columnName, columnData, rowStart }) {
            for (let i = 0; i < columnData.length; i++)
                columns[columnName][rowStart + i] = plain(columnName, columnData[i]);
        } });
    return columns;
}

// ---- What the footer says ----

function checkSchema(what, metadata, kind) {
    const [root, ...elements] = metadata.schema;

    check(`${what}: root`, root.name === kind && root.num_children === elements.length);
    check(`${what}: names`, elements.map((one) => one.name).join() ===
        Object.keys(kinds[kind]).join());
    for (const one of elements) {
        check(`${what}: type of ${one.name}`, one.type === TYPES[one.name]);
        check(`${what}: repetition of ${one.name}`, one.repetition_type ===
            (/^(some|no_|stretches)/.test(one.name) ? "OPTIONAL" : "REQUIRED"));
        if (one.type === "BYTE_ARRAY")
            check(`${what}: ${one.name} is UTF-8`, one.converted_type === "UTF8" &&
                one.logical_type.type === "STRING");
    }
    const time = elements.find((one) => one.name === "start_ns")?.logical_type;
    check(`${what}: a time`, !time || (time.type === "TIMESTAMP" && time.unit === "NANOS" &&
        time.isAdjustedToUTC === false));
    check(`${what}: created by`, /^miniprof version \S+$/.test(metadata.created_by));
    check(`${what}: notes`, JSON.stringify(metadata.key_value_metadata) ===
        JSON.stringify([{ key: "trace", value: "a <b> \ufffd" }, { key: "rank", value: "3" }]));
}

function boundsOf(values) {
    return [values.reduce((a, b) => (compare(b, a) < 0 ? b : a)),
        values.reduce((a, b) => (compare(b, a) > 0 ? b : a))];
}

// Bounds are the least and the greatest value; of longer texts they may lie beyond.
function checkBounds(what, name, statistics, values) {
    const { min_value, max_value, is_min_value_exact, is_max_value_exact } = statistics;

    if (!values.length || values.some(Number.isNaN)) {
        check(`${what}: no bounds`, min_value === undefined && max_value === undefined);
        return;
    }
    const [least, greatest] = boundsOf(values);
    const [low, high] = [plain(name, min_value), plain(name, max_value)];
    if (is_min_value_exact && is_max_value_exact) {
        check(`${what}: bounds`, low == least && high == greatest, `${low} to ${high}`);
        return;
    }
    check(`${what}: bounds around`, compare(low, least) <= 0 && compare(high, greatest) >= 0);
    check(`${what}: cut`, low.length <= 64 && high.length <= 64);
}

function checkGroup(what, group, begin, kind, bytes) {
    for (const { meta_data: column } of group.columns) {
        const name = column.path_in_schema[0];
        const here = `${what}: ${name}`;
        const end = begin + Number(group.num_rows);
        const values = valuesOf(kinds[kind][name], begin, end);
        const first = Number(column.dictionary_page_offset ?? column.data_page_offset);

        check(`${here}: codec`, column.codec === "ZSTD");
        check(`${here}: values`, Number(column.num_values) === end - begin);
        check(`${here}: place`, first >= 4 &&
            first + Number(column.total_compressed_size) <= bytes);
        check(`${here}: NULLs`, Number(column.statistics.null_count) ===
            end - begin - values.length);
        checkBounds(here, name, column.statistics, values);
    }
    check(`${what}: bytes`, group.columns.reduce((sum, column) =>
        sum + column.meta_data.total_uncompressed_size, 0n) === group.total_byte_size);
}

async function checkFile(parts) {
    const [kind, rows, groupRows] = parts;
    const what = parts.join(" ");
    const bytes = readFileSync(write(folder, parts));
    const file = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);
    const metadata = parquetMetadata(file, { parsers });
    const most = groupRows || GROUP_ROWS;
    let begin = 0;

    check(`${what}: rows`, Number(metadata.num_rows) === rows);
    check(`${what}: groups`, metadata.row_groups.length === Math.ceil(rows / most));
    checkSchema(what, metadata, kind);
    for (const group of metadata.row_groups) {
        check(`${what}: rows of a group`, Number(group.num_rows) === Math.min(most, rows - begin));
        checkGroup(`${what}, from ${begin}`, group, begin, kind, bytes.length);
        begin += Number(group.num_rows);
    }
    const names = Object.keys(kinds[kind]);
    const columns = await readColumns(file, names);
    for (const name of names) {
        const difference = firstDifference(columns[name], kinds[kind][name]);

        check(`${what}: ${name}`, columns[name].length === rows && !difference, difference);
    }
}

// ---- How they are encoded ----

async function checkEncodings() {
    const bytes = readFileSync(write(folder, LARGE));
    const metadata = parquetMetadata(bytes.buffer.slice(bytes.byteOffset,
        bytes.byteOffset + bytes.length));
    const expected = { start_ns: "DELTA_BINARY_PACKED", down: "DELTA_BINARY_PACKED",
        small: "RLE_DICTIONARY", name: "RLE_DICTIONARY", distinct: "DELTA_LENGTH_BYTE_ARRAY",
        flag: "PLAIN", ratio: "PLAIN", no_text: "PLAIN" };

    for (const { meta_data: column } of metadata.row_groups[0].columns) {
        const name = column.path_in_schema[0];

        check(`encoding of ${name}`, !expected[name] || column.encodings[0] === expected[name],
            column.encodings.join());
    }
}

// ---- Filters skip groups: their pages may hold anything ----

async function checkFilters() {
    const bytes = Uint8Array.from(readFileSync(write(folder, ["types", 3000, 1000])));
    const metadata = parquetMetadata(bytes.buffer, { parsers });
    const from = Number(metadata.row_groups[1].file_offset ??
        metadata.row_groups[1].columns[0].meta_data.dictionary_page_offset ??
        metadata.row_groups[1].columns[0].meta_data.data_page_offset);
    const count = async (filter) => (await parquetQuery({ file: bytes.buffer, compressors, parsers,
        filter })).length;
    const start = kinds.types.start_ns;
    const all = { $gte: start(1000), $lte: start(1999) };

    check("filter: all of a group", await count({ start_ns: all }) === 1000);
    bytes.fill(0xa5, from, from + Number(metadata.row_groups[1].total_compressed_size ?? 2000));
    check("filter: before", await count({ start_ns: { $lt: start(1000) } }) === 1000);
    check("filter: behind", await count({ start_ns: { $gt: start(1999) } }) === 1000);
    check("filter: by NULLs and a number", await count({ some: { $lte: 998n } }) === 749);
    check("filter: a group that is not skipped is read",
        await count({ start_ns: { $lte: start(1000) } }).then(() => false, () => true));
}

for (const parts of [...small, LARGE])
    await checkFile(parts);
await checkEncodings();
await checkFilters();
end();
