// Numbers in words. The end of a number's key says which unit it has: _ns, _bytes, percent.

/** Unit, how many of the smallest one it has, and how many decimals a whole number has in it.
 * @typedef {[unit: string, scale: number, decimals?: number]} Unit */

/** @type {Unit[]} */
export const TIME_UNITS = [
    ["s", 1e9, 9],
    ["ms", 1e6, 6],
    ["us", 1e3, 3],
    ["ns", 1, 0],
];
/** @type {Unit[]} */
export const SIZE_UNITS = [
    ["GiB", 2 ** 30, 3],
    ["MiB", 2 ** 20, 3],
    ["KiB", 2 ** 10, 3],
    ["B", 1, 0],
];

/** The unit in which a number has at least one digit before the point, else the smallest one.
 * @param {number} value
 * @param {Unit[]} units */
export function unitFor(value, units) {
    return units.find(([, scale]) => Math.abs(value) >= scale) || units[units.length - 1];
}

// "1234567.5" is "1,234,567.5".
export function grouped(text) {
    const [whole, part] = text.split(".");
    const spaced = whole.replace(/\B(?=(\d{3})+$)/g, ",");
    return part === undefined ? spaced : `${spaced}.${part}`;
}

// Four digits, or all of a whole number from 1,000 on, as in reports.
function fourDigits(value) {
    if (Math.abs(value) >= 999.95) return grouped(value.toFixed(0));
    return value.toPrecision(4);
}

function formatScaled(value, units) {
    const [unit, scale] = unitFor(value, units);
    const scaled = value / scale;
    return (
        (scale === 1 && Number.isInteger(scaled) ? String(scaled) : fourDigits(scaled)) + " " + unit
    );
}

export function formatTime(ns) {
    return formatScaled(ns, TIME_UNITS);
}

// Decimals of what is known within `error`: to the second digit of that, 3 at most.
export function placesWithin(error) {
    return Math.max(0, Math.min(3, 1 - Math.floor(Math.log10(Math.max(error, 1e-9)))));
}

// A time that is known within `error` ns has no digits that mean nothing.
export function formatWithin(ns, error) {
    const step = 10 ** Math.max(0, Math.floor(Math.log10(Math.max(error, 1))) - 1);
    const rounded = Math.round(ns / step) * step;
    const [unit, scale] = unitFor(rounded, TIME_UNITS);
    const whole = Math.floor(Math.log10(Math.abs(rounded / scale) || 1)) + 1;
    const places = Math.max(0, Math.min(4 - whole, placesWithin((10 * step) / scale)));
    return `${grouped((rounded / scale).toFixed(places))} ${unit}`;
}

// A point in time: to the nanosecond.
export function formatMoment(ns) {
    return formatShort(ns, TIME_UNITS, 15);
}

// On an axis: no more digits than needed.
export function formatShort(value, units, digits = 7) {
    const [unit, scale] = unitFor(value, units);
    return `${Number((value / scale).toPrecision(digits))} ${unit}`;
}

export function formatTick(ns) {
    return formatShort(ns, TIME_UNITS);
}

export function formatByteTick(bytes) {
    return formatShort(bytes, SIZE_UNITS);
}

export function formatBytes(bytes) {
    return formatScaled(bytes, SIZE_UNITS);
}

export function formatCount(number) {
    if (!Number.isInteger(number) && Math.abs(number) < 999.95)
        return String(Number(number.toPrecision(4)));
    return grouped(number.toFixed(0));
}

export function formatPercent(percent) {
    return percent.toFixed(Math.abs(percent) < 99.995 ? 2 : 1) + " %";
}

function unitOfWord(word) {
    if (/(^|_)ns$/.test(word)) return "time";
    if (/(^|_)bytes$/.test(word)) return "bytes";
    if (/percent(age)?$|(^|_)pct$/.test(word)) return "percent";
    return /(^|_)(count|calls)$/.test(word) ? "count" : "";
}

// "gpu.p99_ns" is a time, and so is "latency_ns.p99".
export function unitOf(key) {
    for (const word of key.split(".").reverse()) {
        const unit = unitOfWord(word);
        if (unit) return unit === "count" ? "" : unit;
    }
    return "";
}

// Moments are numbers of the recorder's clock: they are shown from the trace's begin on.
export function isMoment(key) {
    return /(^|[._])(begin|end|start|first|last|time|at|until|from|to)_ns$/.test(key);
}

// As formatNumber, but a time has all of its digits.
export function formatExact(key, value) {
    return unitOf(key) === "time" ? formatMoment(value) : formatNumber(key, value);
}

export function formatNumber(key, value) {
    switch (unitOf(key)) {
        case "time":
            return formatTime(value);
        case "bytes":
            return formatBytes(value);
        case "percent":
            return formatPercent(value);
        default:
            return formatCount(value);
    }
}

const LINE_UNITS = {
    percent: [["%", 1]],
    bytes: SIZE_UNITS,
    bytes_per_second: [
        ["GB/s", 1e9],
        ["MB/s", 1e6],
        ["B/s", 1],
    ],
    hertz: [["MHz", 1e6]],
    watts: [["W", 1]],
    celsius: [["°C", 1]],
    ns: TIME_UNITS,
    per_second: [["/s", 1]],
};

export function formatSampled(unit, value) {
    const units = LINE_UNITS[unit];
    if (!units) return formatCount(value);
    const [name, scale] = unitFor(value, units);
    return `${formatCount(value / scale)} ${name}`;
}

export function signedTime(ns) {
    return (ns > 0 ? "+" : "") + formatTime(ns);
}

export function signedPercent(percent) {
    return (percent > 0 ? "+" : "") + formatPercent(percent);
}
