// Numbers in words. Which unit a number has is told by the end of its key: _ns, _bytes, percent.

const TIME_UNITS = [
    ["s", 1e9],
    ["ms", 1e6],
    ["us", 1e3],
    ["ns", 1],
];
const SIZE_UNITS = [
    ["GiB", 2 ** 30],
    ["MiB", 2 ** 20],
    ["KiB", 2 ** 10],
    ["B", 1],
];

function formatScaled(value, units) {
    const size = Math.abs(value);
    const [unit, scale] = units.find(([, least]) => size >= least) || units[units.length - 1];
    const scaled = value / scale;
    return (
        (scale === 1 && Number.isInteger(scaled) ? String(scaled) : scaled.toPrecision(5)) +
        " " +
        unit
    );
}

function formatTime(ns) {
    return formatScaled(ns, TIME_UNITS);
}

// On an axis: no more digits than needed.
function formatShort(value, units) {
    const [unit, scale] =
        units.find(([, least]) => Math.abs(value) >= least) || units[units.length - 1];
    return `${Number((value / scale).toPrecision(7))} ${unit}`;
}

function formatTick(ns) {
    return formatShort(ns, TIME_UNITS);
}

function formatByteTick(bytes) {
    return formatShort(bytes, SIZE_UNITS);
}

function formatBytes(bytes) {
    return formatScaled(bytes, SIZE_UNITS);
}

function formatCount(number) {
    if (!Number.isInteger(number)) return String(Number(number.toPrecision(6)));
    return String(number).replace(/\B(?=(\d{3})+$)/g, ",");
}

function formatPercent(percent) {
    return percent.toFixed(2) + " %";
}

function unitOfWord(word) {
    if (/(^|_)ns$/.test(word)) return "time";
    if (/(^|_)bytes$/.test(word)) return "bytes";
    if (/percent(age)?$|(^|_)pct$/.test(word)) return "percent";
    return /(^|_)(count|calls)$/.test(word) ? "count" : "";
}

// "gpu.p99_ns" is a time, and so is "latency_ns.p99".
function unitOf(key) {
    for (const word of key.split(".").reverse()) {
        const unit = unitOfWord(word);
        if (unit) return unit === "count" ? "" : unit;
    }
    return "";
}

// Moments are numbers of the recorder's clock: they are shown from the trace's begin on.
function isMoment(key) {
    return /(^|[._])(begin|end|start|first|last|time|at|until|from|to)_ns$/.test(key);
}

function formatNumber(key, value) {
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
