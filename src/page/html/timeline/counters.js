// Counters that were sampled over time: a line for each device and counter, read from the columns of
// src/page/analyses.h, and what a line says of a stretch of time.

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

function formatSampled(unit, value) {
    const units = LINE_UNITS[unit];
    if (!units) return formatCount(value);
    const [name, scale] = units.find(([, least]) => value >= least) || units[units.length - 1];
    return `${formatCount(value / scale)} ${name}`;
}

// The value of what is stored (sampled_unpack in src/base/metrics/sampled.c).
function unpackSample(packed, step) {
    if (packed < 512) return packed * step;
    return ((packed % 256) + 256) * 2 ** (Math.floor(packed / 256) - 1) * step;
}

function readBins(numbers, count, first) {
    const begin = new Float64Array(count);
    const end = new Float64Array(count);
    let before = first;
    for (let i = 0; i < count; i++) begin[i] = numbers.nextSigned();
    for (let i = 0; i < count; i++) {
        begin[i] += before;
        end[i] = before = begin[i] + numbers.next();
    }
    return { begin, end, count };
}

function readLine(numbers, bins, counter, device) {
    const { count } = bins;
    const packed = new Int32Array(count).fill(NONE);
    const [mean, least, greatest] = [0, 1, 2].map(() => new Float64Array(count).fill(NaN));
    let last = 0;
    for (let i = 0; i < count; i++) {
        const number = numbers.next();
        if (!number) continue;
        last += number % 2 ? (number - 1) / 2 : -number / 2; // 1 + zigzag
        packed[i] = last;
        mean[i] = unpackSample(last, counter.step);
    }
    for (const [values, sign] of [
        [greatest, 1],
        [least, -1],
    ])
        for (let i = 0; i < count; i++)
            if (packed[i] !== NONE)
                values[i] = unpackSample(packed[i] + sign * numbers.next(), counter.step);
    const scale = counter.unit === "percent" ? Math.max(counter.most, 100) : counter.most || 1;
    return { ...counter, ...bins, device, mean, least, greatest, scale };
}

// The lines of a process; none if nothing was sampled.
function counterLines(list, process, { summary }, timeline) {
    const find = (id) => list.find((doc) => doc.id === id)?.value;
    const blob = byId(`blob-${summary ? `p${process + 1}_` : ""}counter_lines`);
    const sets = find("counter_lines")?.sets;
    if (!sets || !blob) return [];
    const { origin } = timeline.processes[process];
    const first = relativeTo(origin, find("timeline").origin_ns);
    const numbers = new Numbers(decodeBase64(blob.textContent));
    return sets.flatMap(({ device, bins: count, counters }) => {
        const bins = readBins(numbers, count, first);
        return counters.map((counter) => readLine(numbers, bins, counter, device));
    });
}

// What a line was in a stretch of time: {mean, least, greatest}; null without samples there.
function sampledIn(line, from, to) {
    const { begin, end, mean, least, greatest, count } = line;
    const found = { mean: 0, least: Infinity, greatest: 0 };
    let time = 0;
    for (let i = Math.max(0, lastAtMost(begin, count, from)); i < count && begin[i] < to; i++) {
        const length = Math.min(end[i], to) - Math.max(begin[i], from);
        if (length <= 0 || Number.isNaN(mean[i])) continue;
        time += length;
        found.mean += mean[i] * length;
        found.least = Math.min(found.least, least[i]);
        found.greatest = Math.max(found.greatest, greatest[i]);
    }
    found.mean /= time;
    return time ? found : null;
}

function lineRow(device, line) {
    return {
        paint: COUNTER,
        height: ROW_HEIGHT,
        title: line.name + (line.most ? `, to ${formatSampled(line.unit, line.scale)}` : ", always 0"),
        device,
        line,
    };
}

// The block of a GPU's lines; none without them.
function counterBlocks(device) {
    if (!device.counters.length) return [];
    return [
        {
            key: `p${device.process}g${device.number}c`,
            level: 2,
            title: `GPU ${device.number} counters`,
            head: { paint: TITLE, height: ROW_HEIGHT },
            rows: device.counters.map((line) => lineRow(device, line)),
        },
    ];
}

// The card of a line beside the pointer.
function lineCard(line, from, to) {
    const found = sampledIn(line, from, to);
    if (!found) return [el("b", null, `${line.name}: no samples here`)];
    const words = (value) => formatSampled(line.unit, value);
    return [
        el("b", null, `${line.name} ${words(found.mean)}`),
        el(
            "p",
            null,
            `${words(found.least)} to ${words(found.greatest)}, by ${line.source}; ` +
                `mean over ${formatTime(to - from)}`,
        ),
    ];
}

// "sm_active 50 %, power 45 W": means of a stretch of time; empty without samples.
function lineWords(lines, from, to) {
    return lines
        .map((line) => [line, sampledIn(line, from, to)])
        .filter(([, found]) => found)
        .map(([line, { mean }]) => `${line.name} ${formatSampled(line.unit, mean)}`)
        .join(", ");
}
