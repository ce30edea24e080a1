// The time line in typed arrays, one number an event and column, and what is asked of it. Times are
// ns from the trace's first event. The columns are those of src/page/timeline.h.

import { Numbers, decodeBase64, relativeTo } from "../base/data.js";
import { byId } from "../base/dom.js";

export const REASON = 0x0f;
const CRITICAL_WHOLE = 0x10;
const CRITICAL_PART = 0x20;
const BOUND = 0x40;
const WAITS = 0x80;
export const NONE = -1;

export const REASONS = [
    "not known",
    "the program's order",
    "its launch",
    "the work before it in its stream",
    "an event that its stream waited for",
    "the default stream",
    "synchronisation",
    "an edge of the graph",
    "a call that waits in effect",
    "another thread, which woke it",
];

/** @returns {Columns} */
function emptyColumns(count) {
    return {
        begin: new Float64Array(count),
        duration: new Float64Array(count),
        kind: new Uint32Array(count),
        flags: new Uint8Array(count),
        launch: new Int32Array(count).fill(NONE),
        bound: new Int32Array(count).fill(NONE),
        critical: new Float64Array(count),
        waiting: new Float64Array(count),
        peer: new Float64Array(count), // from its begin on it waited for peers, ns
        caller: new Uint32Array(count), // number in `callers`, from 1; 0: none, or its launch's
    };
}

function readTimes(numbers, columns, first, end) {
    let time = 0;
    for (let i = first; i < end; i++) columns.begin[i] = time += numbers.next();
    for (let i = first; i < end; i++) columns.duration[i] = numbers.next();
    for (let i = first; i < end; i++) columns.kind[i] = numbers.next();
}

function readLaunches(numbers, columns, first, end) {
    let before = 0;
    for (let i = first; i < end; i++) {
        const number = numbers.next();
        if (!number) continue;
        const delta = number - 1;
        before += delta % 2 ? -(delta + 1) / 2 : delta / 2;
        columns.launch[i] = before;
    }
}

function readBounds(numbers, columns, first, end) {
    for (let i = first; i < end; i++) {
        const reason = columns.flags[i] & REASON;
        if (columns.flags[i] & BOUND) columns.bound[i] = i + numbers.nextSigned();
        else if (reason === 2) columns.bound[i] = columns.launch[i];
        else if (reason && i > first) columns.bound[i] = i - 1;
    }
}

function readFacts(numbers, columns, track, hasCallers) {
    const { first, end } = track;
    for (let i = first; i < end; i++) columns.flags[i] = numbers.nextByte();
    if (track.kind === "work") readLaunches(numbers, columns, first, end);
    readBounds(numbers, columns, first, end);
    for (let i = first; i < end; i++) {
        if (columns.flags[i] & CRITICAL_PART) columns.critical[i] = numbers.next();
        else if (columns.flags[i] & CRITICAL_WHOLE) columns.critical[i] = columns.duration[i];
    }
    for (let i = first; i < end; i++) {
        if (columns.flags[i] & WAITS) columns.waiting[i] = numbers.next();
    }
    if (hasCallers) for (let i = first; i < end; i++) columns.caller[i] = numbers.next();
}

// Level 0 are the events themselves.
function readLevels(numbers, columns, track, fan) {
    const levels = [{ count: track.end - track.first, span: 1 }];
    while (levels[levels.length - 1].count > 1) {
        const below = levels[levels.length - 1];
        const count = Math.ceil(below.count / fan);
        const level = {
            count,
            span: below.span * fan,
            idle: new Float64Array(count),
            name: new Uint32Array(count),
            critical: new Float64Array(count),
        };
        for (let i = 0; i < count; i++) level.idle[i] = numbers.next();
        for (let i = 0; i < count; i++) level.name[i] = numbers.next();
        sumCritical(columns, track, level, below, fan);
        levels.push(level);
    }
    return levels;
}

function sumCritical(columns, track, level, below, fan) {
    for (let i = 0; i < below.count; i++) {
        level.critical[Math.floor(i / fan)] += below.critical
            ? below.critical[i]
            : columns.critical[track.first + i];
    }
}

// Numbers of the events of one process become those of all.
function shiftBy(column, shift) {
    if (shift) for (let i = 0; i < column.length; i++) if (column[i] !== NONE) column[i] += shift;
}

function readTracks(meta, columns, numbers) {
    let first = 0;
    return meta.tracks.map((from) => {
        const track = { ...from, first, end: first + from.count };
        readTimes(numbers, columns, first, track.end);
        if (track.kind !== "ranges") readFacts(numbers, columns, track, Boolean(meta.callers));
        track.levels = readLevels(numbers, columns, track, meta.fan);
        first = track.end;
        return track;
    });
}

/** @param {TimelineDocument} meta
 * @returns {Timeline} */
function makeTimeline(meta, bytes, peers) {
    const columns = emptyColumns(meta.events);
    peers?.events.forEach((event, i) => (columns.peer[event] = peers.waiting_ns[i]));
    const tracks = readTracks(meta, columns, new Numbers(bytes));
    tracks.forEach((track, index) => (track.index = index));
    const span = relativeTo(meta.origin_ns, meta.end_ns);
    return {
        ...columns,
        tracks,
        lanes: meta.lanes.map((lane) => ({ ...lane, process: 0 })),
        names: meta.names,
        kinds: meta.kinds,
        callers: meta.callers || [],
        fan: meta.fan,
        count: meta.events,
        origin: meta.origin_ns,
        span,
        processes: [
            {
                label: "",
                origin: meta.origin_ns,
                leftOut: meta.left_out_late || 0,
                until: meta.left_out_late ? relativeTo(meta.origin_ns, meta.until_ns) : Infinity,
            },
        ],
    };
}

// ---- Questions ----

// When an event begins to work: a kernel of NCCL spins until its peers have come.
/** @param {Timeline} timeline */
export function workOf(timeline, event) {
    return timeline.begin[event] + Math.min(timeline.peer[event], timeline.duration[event]);
}

/** @param {Timeline} timeline */
export function nameIndexOf(timeline, event) {
    return timeline.kinds[timeline.kind[event]][0];
}

/** @param {Timeline} timeline */
export function nameOf(timeline, event) {
    return timeline.names[nameIndexOf(timeline, event)][1];
}

/** @param {Timeline} timeline */
export function categoryOf(timeline, event) {
    return timeline.names[nameIndexOf(timeline, event)][0];
}

/** @param {Timeline} timeline */
export function detailOf(timeline, event) {
    return timeline.kinds[timeline.kind[event]][1] || "";
}

// The line of the program that called, or whose call launched it; "": not known.
/** @param {Timeline} timeline */
export function callerOf(timeline, event) {
    const launch = timeline.launch[event];
    const number = timeline.caller[event] || (launch === NONE ? 0 : timeline.caller[launch]);
    return timeline.callers[number - 1] || "";
}

/** @param {Timeline} timeline */
export function endOf(timeline, event) {
    return timeline.begin[event] + timeline.duration[event];
}

/** @param {Timeline} timeline
 * @returns {Track} */
export function trackOf(timeline, event) {
    let low = 0;
    let high = timeline.tracks.length;
    while (high - low > 1) {
        const middle = (low + high) >> 1;
        if (timeline.tracks[middle].first <= event) low = middle;
        else high = middle;
    }
    return timeline.tracks[low];
}

// The first event of a track that begins at `time` or later; track.end if there is none.
/** @param {Timeline} timeline */
export function firstFrom(timeline, track, time) {
    let low = track.first;
    let high = track.end;
    while (low < high) {
        const middle = (low + high) >>> 1;
        if (timeline.begin[middle] < time) low = middle + 1;
        else high = middle;
    }
    return low;
}

// The events of a track that touch a stretch of time: [first, end).
/** @param {Timeline} timeline */
export function eventsIn(timeline, track, from, to) {
    let first = firstFrom(timeline, track, from);
    if (first > track.first && endOf(timeline, first - 1) > from) first--;
    return [first, firstFrom(timeline, track, to)];
}

// Count and time by name of what lies in a stretch of time, most time first. Events are counted
// whole if they begin in it; of time there is what lies inside.
/** @param {Timeline} timeline */
export function inView(timeline, from, to) {
    const count = new Float64Array(timeline.names.length);
    const time = new Float64Array(timeline.names.length);
    for (const track of timeline.tracks) {
        const [first, end] = eventsIn(timeline, track, from, to);
        for (let i = first; i < end; i++) {
            const name = timeline.kinds[timeline.kind[i]][0];
            const begin = timeline.begin[i];
            count[name]++;
            time[name] += Math.min(begin + timeline.duration[i], to) - Math.max(begin, from);
        }
    }
    return timeline.names
        .map(([kind, name], i) => ({ name, kind, count: count[i], time_ns: time[i] }))
        .filter((row) => row.count)
        .sort((a, b) => b.time_ns - a.time_ns);
}

// Names that hold the text, in lower case: by kind whether it matches.
/** @param {Timeline} timeline */
export function matchingKinds(timeline, text) {
    const wanted = text.toLowerCase();
    const names = timeline.names.map(([, name]) => name.toLowerCase().includes(wanted));
    return timeline.kinds.map(([name]) => names[name]);
}

/** @param {Timeline} timeline */
export function countMatches(timeline, kinds) {
    let sum = 0;
    for (let i = 0; i < timeline.count; i++) sum += kinds[timeline.kind[i]] ? 1 : 0;
    return sum;
}

// The how manieth match an event is, in order of (begin, index).
/** @param {Timeline} timeline */
export function rankOf(timeline, kinds, event) {
    const begin = timeline.begin[event];
    let rank = 0;
    for (let i = 0; i < timeline.count; i++) {
        if (!kinds[timeline.kind[i]]) continue;
        if (timeline.begin[i] < begin || (timeline.begin[i] === begin && i <= event)) rank++;
    }
    return rank;
}

// The matching event whose (begin, index) comes next after (direction 1) or before (-1) the given
// one; NONE.
/** @param {Timeline} timeline */
export function nextMatch(timeline, kinds, time, event, direction) {
    let best = NONE;
    const isAfter = (a, b, index) => (timeline.begin[a] !== b ? timeline.begin[a] > b : a > index);
    for (const track of timeline.tracks) {
        const start = firstFrom(timeline, track, time);
        if (direction > 0) {
            for (let i = start; i < track.end; i++) {
                if (best !== NONE && timeline.begin[i] > timeline.begin[best]) break;
                if (!kinds[timeline.kind[i]] || !isAfter(i, time, event)) continue;
                if (best === NONE || !isAfter(i, timeline.begin[best], best)) best = i;
                break;
            }
        } else {
            let i = start;
            while (i < track.end && timeline.begin[i] === time) i++;
            for (i--; i >= track.first; i--) {
                if (best !== NONE && timeline.begin[i] < timeline.begin[best]) break;
                if (!kinds[timeline.kind[i]] || i === event || isAfter(i, time, event)) continue;
                if (best === NONE || isAfter(i, timeline.begin[best], best)) best = i;
                break;
            }
        }
    }
    return best;
}

// Events that a column refers to `event` from, at most `max`.
/** @param {Timeline} timeline */
export function referringTo(timeline, column, event, max) {
    const found = [];
    for (
        let i = column.indexOf(event);
        i !== NONE && found.length < max;
        i = column.indexOf(event, i + 1)
    )
        found.push(i);
    return found;
}

// The time line of a process, for joinTimelines; null where the page has none.
/** @param {PageDocument[]} list
 * @param {number} process
 * @param {Parts} parts */
export function timelineOf(list, process, { summary }) {
    const meta = list.find(({ id }) => id === "timeline")?.value;
    const blob = byId(summary ? `blob-p${process + 1}_timeline` : "blob-timeline");
    if (!meta?.tracks || !blob) return null;
    const peers = list.find(({ id }) => id === "peers")?.value;
    const row = summary?.processes[process];
    return {
        timeline: makeTimeline(meta, decodeBase64(blob.textContent), peers),
        label: row?.process || "",
        offset_ns: row?.offset_ns || 0,
    };
}

// ---- Several processes: their events one process after the other, times on one clock ----

// parts: [{timeline (makeTimeline), label, offset_ns}]; an offset leads from the process's clock to
// that of all. One part alone stays as it is.
/** @returns {Timeline} */
export function joinTimelines(parts) {
    if (parts.length === 1) return parts[0].timeline;
    const wrapped = (value) => BigInt.asUintN(64, value); // as C counts
    const moment = ({ timeline, offset_ns: offset }) =>
        wrapped(BigInt(timeline.origin) + BigInt(offset));
    const used = parts.filter(({ timeline }) => timeline.count);
    const origin = (used.length ? used : parts)
        .map(moment)
        .reduce((min, value) => (value < min ? value : min));
    const columns = joinColumns(parts);
    const joined = {
        ...columns,
        origin: String(origin),
        count: columns.begin.length,
        fan: parts[0].timeline.fan,
        span: 0,
        ...{ tracks: [], lanes: [], names: [], kinds: [], callers: [], processes: [] },
    };
    const seen = new Map();
    let first = 0;
    parts.forEach((part, process) => {
        const shift = part.timeline.count ? Number(moment(part) - origin) : 0;
        addPart(joined, part, { process, shift, first, seen });
        joined.processes.push({
            ...part.timeline.processes[0],
            label: part.label,
            origin: String(wrapped(origin - BigInt(part.offset_ns))),
            until: part.timeline.processes[0].until + shift,
        });
        joined.span = Math.max(joined.span, part.timeline.span + shift);
        first += part.timeline.count;
    });
    return joined;
}

function joinColumns(parts) {
    const count = parts.reduce((sum, { timeline }) => sum + timeline.count, 0);
    const columns = emptyColumns(count);
    let first = 0;
    for (const { timeline } of parts) {
        for (const key of Object.keys(columns)) columns[key].set(timeline[key], first);
        first += timeline.count;
    }
    return columns;
}

function addPart(joined, { timeline }, { process, shift, first, seen }) {
    const end = first + timeline.count;
    const names = timeline.names.map(([category, text]) => {
        const key = `${category} ${text}`;
        if (!seen.has(key)) seen.set(key, joined.names.push([category, text]) - 1);
        return seen.get(key);
    });
    const kinds = joined.kinds.length;
    const callers = joined.callers.length;
    joined.callers.push(...timeline.callers);
    for (const [name, ...details] of timeline.kinds) joined.kinds.push([names[name], ...details]);
    for (let i = first; i < end; i++) {
        joined.begin[i] += shift;
        joined.kind[i] += kinds;
        if (joined.caller[i]) joined.caller[i] += callers;
    }
    shiftBy(joined.launch.subarray(first, end), first);
    shiftBy(joined.bound.subarray(first, end), first);
    for (const track of timeline.tracks)
        joined.tracks.push({
            ...track,
            index: joined.tracks.length,
            lane: track.lane + joined.lanes.length,
            first: track.first + first,
            end: track.end + first,
            levels: track.levels.map((level) =>
                level.name ? { ...level, name: level.name.map((name) => names[name]) } : level,
            ),
        });
    joined.lanes.push(...timeline.lanes.map((lane) => ({ ...lane, process })));
}

// Events of one process: [first, end) of each of its rows.
/** @param {Timeline} timeline */
export function stretchesOf(timeline, process) {
    return timeline.tracks.filter(({ lane }) => timeline.lanes[lane].process === process);
}
