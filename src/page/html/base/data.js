// The documents and columns that stand in the page (src/page/page.h, page/timeline.h), and what is
// asked of values and sorted columns everywhere.

export function isNothing(value) {
    return value === null || value === undefined;
}

export function isPlain(value) {
    return value === null || typeof value !== "object";
}

export function isTable(value) {
    return (
        Array.isArray(value) &&
        value.length > 0 &&
        value.every((row) => row && !isPlain(row) && !Array.isArray(row))
    );
}

// The last place of a sorted column whose value is at most `value`; -1: none.
export function lastAtMost(column, count, value) {
    let low = 0;
    let high = count;
    while (low < high) {
        const middle = (low + high) >>> 1;
        if (column[middle] <= value) low = middle + 1;
        else high = middle;
    }
    return low - 1;
}

export function meanOf(items, of) {
    return items.length ? items.reduce((sum, item) => sum + of(item), 0) / items.length : 0;
}

export function hashOf(text) {
    let hash = 2166136261;
    for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 16777619);
    return (hash >>> 0) / 2 ** 32;
}

// ---- Documents ----

function readDocuments() {
    return [...document.querySelectorAll('script[type="application/json"]')].map((script) => ({
        id: script.id.replace(/^doc-/, ""),
        title: script.getAttribute("data-title"),
        value: JSON.parse(script.textContent),
    }));
}

/** @returns {Documents} */
export function documentsOf(list) {
    return Object.fromEntries(list.map(({ id, value }) => [id, value]));
}

// The documents by process: {summary, processes: [documents of the first, ...]}. A page of one
// process has no summary, and its documents have plain names; else they are called p1_overview,
// p2_overview and so on. If the processes are ranks of one job, {job: {deps, advice}}.
/** @returns {Parts} */
export function readParts() {
    const all = readDocuments();
    const summary = all.find(({ id }) => id === "processes")?.value || null;
    if (!summary) return { summary, processes: [all] };
    const processes = summary.processes.map((row, i) =>
        all
            .filter(({ id }) => id.startsWith(`p${i + 1}_`))
            .map((doc) => ({ ...doc, id: doc.id.replace(/^p\d+_/, "") })),
    );
    const own = documentsOf(all);
    const job = own.job ? { deps: own.job, advice: own.job_advise } : null;
    return { summary, processes, job };
}

// Longer numbers than a double holds are strings of digits.
export function relativeTo(origin, value) {
    return Number(BigInt.asIntN(64, BigInt(value) - BigInt(origin)));
}

const BASE64 = (() => {
    const values = new Uint8Array(128);
    const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (let i = 0; i < digits.length; i++) values[digits.charCodeAt(i)] = i;
    return values;
})();

// Several times as fast as atob, which makes a string of it first.
export function decodeBase64(text) {
    const padding = text.endsWith("==") ? 2 : text.endsWith("=") ? 1 : 0;
    const bytes = new Uint8Array((text.length / 4) * 3 - padding);
    for (let at = 0, out = 0; at < text.length; at += 4) {
        const bits =
            (BASE64[text.charCodeAt(at)] << 18) |
            (BASE64[text.charCodeAt(at + 1)] << 12) |
            (BASE64[text.charCodeAt(at + 2) & 127] << 6) |
            BASE64[text.charCodeAt(at + 3) & 127];
        bytes[out++] = bits >> 16;
        bytes[out++] = bits >> 8; // past the end for padding: ignored
        bytes[out++] = bits;
    }
    return bytes;
}

// Reads LEB128 numbers one after the other.
export class Numbers {
    constructor(bytes) {
        this.bytes = bytes;
        this.at = 0;
    }

    next() {
        const bytes = this.bytes;
        let byte = bytes[this.at++];
        if (byte < 128) return byte;
        let value = byte & 127;
        let scale = 128;
        do {
            byte = bytes[this.at++];
            value += (byte & 127) * scale; // not <<, which ends at 32 bits
            scale *= 128;
        } while (byte >= 128);
        return value;
    }

    nextSigned() {
        const value = this.next();
        return value % 2 ? -(value + 1) / 2 : value / 2;
    }

    nextByte() {
        return this.bytes[this.at++];
    }
}
