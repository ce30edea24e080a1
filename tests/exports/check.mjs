// What the tests of exported files share: packages, files of known content, and counting.
import { execFileSync } from "node:child_process";
import { createRequire } from "node:module";

export const load = createRequire(`${process.env.EXPORT_TEST_MODULES}/`);
let passed = 0;
let failed = 0;

export function check(name, is, detail = "") {
    if (is) {
        passed++;
        return;
    }
    failed++;
    console.log(`not ok ${name} ${detail}`);
}

export function end() {
    console.log(`${passed} passed, ${failed} failed`);
    process.exitCode = failed ? 1 : 0;
}

// Writes one of tables.mjs's files; returns its path.
export function write(folder, [kind, rows, groupRows]) {
    const path = `${folder}/${kind}-${rows}-${groupRows}.parquet`;

    execFileSync(`${process.env.BUILD}/tests/tools/write_parquet`,
        [kind, String(rows), String(groupRows), path]);
    return path;
}

// The first row in which a column differs from what it must be; undefined: none.
export function firstDifference(values, column, begin = 0) {
    for (let at = 0; at < values.length; at++) {
        if (!Object.is(values[at], column(begin + at)))
            return `row ${begin + at}: ${values[at]}, not ${column(begin + at)}`.slice(0, 200);
    }
    return undefined;
}
