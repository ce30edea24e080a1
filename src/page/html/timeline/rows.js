// Which rows the time line has. Rows stand in blocks: a process, a GPU, a stream, a thread. A block
// can be closed, pinned to the top, and made taller; blocks can be sorted.
//
//     process    only if there are several: how busy its GPUs were
//     GPU        busy time and idle time by cause, copies, memory, NVTX ranges projected onto it
//     stream     the work of a stream
//     counters   what was sampled of a GPU, a row for each counter
//     thread     API calls, those inside of them, NVTX ranges by domain and nesting

import { SIZE_UNITS, formatCount, formatSampled, formatShort } from "../base/format.js";
import { NONE, endOf, firstFrom, nameOf, trackOf } from "./events.js";
import { Gaps, busyOf, copiesOf, memorySteps } from "./gpu.js";

export const ROW_HEIGHT = 18;
const STACK_HEIGHT = 34;
const COUNTER_HEIGHT = 26;
const [MIN_HEIGHT, MAX_HEIGHT] = [10, 160];
export const MAX_GROWN = 2.4; // times their usual height, where there is room

// What rows are painted as.
export const [EVENTS, SPANS, STACK, COUNTER, SUMMARY, TITLE] = [0, 1, 2, 3, 4, 5];

export function laneTitle(lane) {
    if (lane.kind === "thread") return `Thread ${lane.id}` + (lane.name ? ` (${lane.name})` : "");
    return (
        `GPU ${lane.device} stream ${lane.id}` +
        (lane.context > 1 ? ` (context ${lane.context})` : "")
    );
}

function tracksByLane(timeline) {
    const lists = timeline.lanes.map(() => []);
    for (const track of timeline.tracks) lists[track.lane].push(track);
    return lists;
}

// What a GPU of a process did; memory and counters: the lines of that process.
/** @param {Timeline} timeline
 * @returns {Device} */
function makeDevice(timeline, lanes, tracks, { memory, counters }) {
    const work = lanes.flatMap((lane) => tracks[lane]).filter(({ kind }) => kind === "work");
    const first = timeline.lanes[lanes[0]];
    const busy = busyOf(timeline, work);
    return {
        number: first.device,
        name: first.name || "",
        process: first.process,
        lanes,
        busy,
        gaps: new Gaps(timeline, busy),
        copies: copiesOf(timeline, work),
        memory: memory.find(({ name }) => name.includes(`(${first.device})`)) || null,
        counters: counters.filter(({ device }) => device === first.device),
        ranges: projectedRanges(timeline, work),
    };
}

// memoryLines, counters: by process.
/** @param {Timeline} timeline
 * @returns {Device[]} */
export function devicesOf(timeline, { memoryLines, counters }) {
    const tracks = tracksByLane(timeline);
    const groups = new Map();
    timeline.lanes.forEach((lane, index) => {
        if (lane.kind === "thread" || !tracks[index].length) return;
        const key = `${lane.process}/${lane.device}`;
        if (!groups.has(key)) groups.set(key, []);
        groups.get(key).push(index);
    });
    return [...groups.values()].map((lanes) => {
        const { process } = timeline.lanes[lanes[0]];
        const { origin } = timeline.processes[process];
        return makeDevice(timeline, lanes, tracks, {
            memory: memorySteps(memoryLines[process], origin),
            counters: counters[process],
        });
    });
}

// ---- Blocks ----

function deviceBlock(device) {
    const key = `p${device.process}g${device.number}`;
    const rows = [];
    if (device.copies)
        rows.push({
            paint: COUNTER,
            height: COUNTER_HEIGHT,
            title: `copies, to ${formatCount(device.copies.max)} GB/s`,
            device,
        });
    if (device.memory)
        rows.push({
            paint: COUNTER,
            height: COUNTER_HEIGHT,
            title: `memory, to ${formatShort(device.memory.max, SIZE_UNITS)}`,
            device,
            memory: true,
        });
    for (const { title, spans } of device.ranges)
        rows.push({ paint: SPANS, height: ROW_HEIGHT, title, spans });
    return {
        key,
        level: 1,
        title: `GPU ${device.number}` + (device.name ? `: ${device.name}` : ""),
        head: { paint: STACK, height: STACK_HEIGHT, device },
        rows,
        busy: device.busy,
    };
}

function laneBlock(timeline, index, tracks) {
    const lane = timeline.lanes[index];
    const isThread = lane.kind === "thread";
    const [main, ...others] = [...tracks].sort(
        (a, b) => Number(a.kind === "ranges") - Number(b.kind === "ranges") || a.index - b.index,
    );
    const titleOfTrack = (track) => {
        if (track.depth) return "";
        return track.kind === "ranges" ? `NVTX ${track.domain || ""}` : "";
    };
    return {
        key: `l${index}`,
        level: isThread ? 1 : 2,
        title: laneTitle(lane),
        head: { paint: EVENTS, height: ROW_HEIGHT, track: main },
        rows: others.map((track) => ({
            paint: EVENTS,
            height: ROW_HEIGHT,
            track,
            title: titleOfTrack(track),
        })),
        time: tracks.reduce((sum, track) => sum + trackTime(timeline, track), 0),
    };
}

function trackTime(timeline, track) {
    const top = track.levels[track.levels.length - 1];
    const last = track.end - 1;
    if (!top.idle) return track.count ? timeline.duration[last] : 0;
    return endOf(timeline, last) - timeline.begin[track.first] - top.idle[0];
}

const ROW_ORDERS = {
    recorded: () => 0,
    name: (a, b) => a.title.localeCompare(b.title, undefined, { numeric: true }),
    time: (a, b) => b.time - a.time,
};

// All blocks in the order in which they stand; children of a block follow it.
/** @param {Timeline} timeline
 * @param {Device[]} devices
 * @param {string} order
 * @returns {Block[]} */
export function blocksOf(timeline, devices, order) {
    const tracks = tracksByLane(timeline);
    const several = timeline.processes.length > 1;
    const compare = ROW_ORDERS[order] || ROW_ORDERS.recorded;
    const lanesOf = (lanes) =>
        lanes
            .filter((lane) => tracks[lane].length)
            .map((lane) => laneBlock(timeline, lane, tracks[lane]))
            .sort(compare);
    return timeline.processes.flatMap((process, number) => {
        const mine = devices.filter((device) => device.process === number);
        const threads = [...timeline.lanes.keys()].filter(
            (lane) =>
                timeline.lanes[lane].process === number && timeline.lanes[lane].kind === "thread",
        );
        const head = {
            key: `p${number}`,
            level: 0,
            title: process.label,
            head: { paint: SUMMARY, height: COUNTER_HEIGHT, devices: mine },
            rows: [],
        };
        return [
            ...(several ? [head] : []),
            ...mine.flatMap((device) => [
                deviceBlock(device),
                ...lanesOf(device.lanes),
                ...counterBlocks(device),
            ]),
            ...lanesOf(threads),
        ];
    });
}

// Without those inside of closed ones.
/** @param {Block[]} blocks
 * @param {Set<string>} closed
 * @returns {Block[]} */
export function openBlocks(blocks, closed) {
    const shown = [];
    let hiddenFrom = Infinity; // the level of a closed block
    for (const block of blocks) {
        if (block.level > hiddenFrom) continue;
        hiddenFrom = closed.has(block.key) ? block.level : Infinity;
        shown.push(block);
    }
    return shown;
}

// Rows of blocks from `y` on, each with its place; returns them and where they end.
/** @param {Block[]} blocks
 * @returns {{rows: Row[], end: number}} */
export function placeRows(blocks, { closed, scales, grown, y, pinned }) {
    const rows = [];
    for (const block of blocks) {
        const scale = (scales.get(block.key) || 1) * grown;
        const inside = closed.has(block.key) ? [] : block.rows;
        for (const row of [block.head, ...inside]) {
            const height = Math.max(MIN_HEIGHT,
                Math.min(MAX_HEIGHT, Math.round(row.height * scale)));
            rows.push({ ...row, block, y, height, pinned, isHead: row === block.head });
            y += height;
        }
    }
    return { rows, end: y };
}

function lineRow(device, line) {
    return {
        paint: COUNTER,
        height: ROW_HEIGHT,
        title:
            line.name + (line.most ? `, to ${formatSampled(line.unit, line.scale)}` : ", always 0"),
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

// ---- NVTX ranges and the work that they launched ----
//
// Which layer a kernel belongs to, and ranges as stretches of a GPU's time, from the first to the
// last work that they launched.

const MAX_SPAN_ROWS = 4;

// The event of a track that contains a moment; NONE.
function eventOver(timeline, track, time) {
    let at = firstFrom(timeline, track, time);
    if (at === track.end || timeline.begin[at] > time) at--;
    return at >= track.first && endOf(timeline, at) >= time ? at : NONE;
}

function rangeTracks(timeline, lane) {
    return timeline.tracks.filter((track) => track.lane === lane && track.kind === "ranges");
}

// The ranges around an event or around its launch, outer ones first.
function layersOf(timeline, event) {
    const cause = timeline.launch[event] === NONE ? event : timeline.launch[event];
    const track = trackOf(timeline, cause);
    if (track.kind === "ranges" || track.kind === "work") return [];
    const time = timeline.begin[cause];
    return rangeTracks(timeline, track.lane)
        .map((ranges) => eventOver(timeline, ranges, time))
        .filter((range) => range !== NONE)
        .sort((a, b) => timeline.duration[b] - timeline.duration[a]);
}

/** @param {Timeline} timeline */
export function layerWords(timeline, event) {
    return layersOf(timeline, event)
        .map((range) => nameOf(timeline, range))
        .join(" › ");
}

// Rows of stretches {begin, end, event (the range)} of a GPU for the ranges of one track; `calls`
// are the events {first, end} of its thread.
function projectTrack(timeline, ranges, work, calls) {
    const spans = new Map();
    let at = ranges.first; // launches mostly come in order of time
    for (const track of work) {
        for (let i = track.first; i < track.end; i++) {
            const launch = timeline.launch[i];
            if (launch === NONE || launch < calls.first || launch >= calls.end) continue;
            const time = timeline.begin[launch];
            at = rangeAround(timeline, ranges, at, time);
            if (at === NONE) {
                at = ranges.first;
                continue;
            }
            const span = spans.get(at);
            if (!span) spans.set(at, [timeline.begin[i], endOf(timeline, i)]);
            else {
                span[0] = Math.min(span[0], timeline.begin[i]);
                span[1] = Math.max(span[1], endOf(timeline, i));
            }
        }
    }
    return packSpans(spans);
}

function rangeAround(timeline, ranges, at, time) {
    if (timeline.begin[at] <= time && time <= endOf(timeline, at)) return at;
    return eventOver(timeline, ranges, time);
}

// Stretches that overlap stand in rows below each other; what finds no row is cut to fit.
function packSpans(spans) {
    const sorted = [...spans].sort((a, b) => a[1][0] - b[1][0] || b[1][1] - a[1][1]);
    const rows = [];
    for (const [event, [begin, end]] of sorted) {
        const fits = rows.findIndex((row) => row[row.length - 1].end <= begin);
        if (fits >= 0) rows[fits].push({ event, begin, end });
        else if (rows.length < MAX_SPAN_ROWS) rows.push([{ event, begin, end }]);
        else {
            const last = rows[MAX_SPAN_ROWS - 1];
            last[last.length - 1].end = Math.min(last[last.length - 1].end, begin);
            last.push({ event, begin, end });
        }
    }
    return rows.map((row) => ({
        begin: Float64Array.from(row, ({ begin }) => begin),
        end: Float64Array.from(row, ({ end }) => end),
        event: Uint32Array.from(row, ({ event }) => event),
        count: row.length,
    }));
}

// All rows of a GPU: [{title, spans}], outer ranges first.
function projectedRanges(timeline, work) {
    const rows = [];
    timeline.lanes.forEach((lane, index) => {
        const calls = timeline.tracks.filter((t) => t.lane === index && t.kind === "calls");
        if (lane.kind !== "thread" || !calls.length) return;
        const all = {
            first: Math.min(...calls.map(({ first }) => first)),
            end: Math.max(...calls.map(({ end }) => end)),
        };
        for (const ranges of rangeTracks(timeline, index))
            for (const spans of projectTrack(timeline, ranges, work, all))
                rows.push({ title: `Ranges of ${ranges.domain || "NVTX"}`, spans });
    });
    return rows;
}
