// What changes over time on a GPU: when it was busy, how much was copied, how much is allocated,
// counters that were sampled, and why nothing ran. Each answers for any stretch of time by binary
// search, whatever the number of events.

import { Numbers, decodeBase64, isNothing, lastAtMost, relativeTo } from "../base/data.js";
import { byId } from "../base/dom.js";
import { NONE, endOf, eventsIn, nameIndexOf, trackOf, workOf } from "./events.js";

// Events of several tracks in order of their begin.
function eventsByBegin(timeline, tracks) {
    let lists = tracks.map((track) => {
        const list = new Uint32Array(track.end - track.first);
        for (let i = 0; i < list.length; i++) list[i] = track.first + i;
        return list;
    });
    while (lists.length > 1) {
        const next = [];
        for (let i = 0; i < lists.length; i += 2)
            next.push(
                i + 1 < lists.length ? mergeByBegin(timeline, lists[i], lists[i + 1]) : lists[i],
            );
        lists = next;
    }
    return lists[0] || new Uint32Array(0);
}

function mergeByBegin({ begin }, a, b) {
    const merged = new Uint32Array(a.length + b.length);
    for (let i = 0, j = 0, out = 0; out < merged.length; out++)
        merged[out] =
            j >= b.length || (i < a.length && begin[a[i]] <= begin[b[j]]) ? a[i++] : b[j++];
    return merged;
}

// The same in order of when they begin to work.
function eventsByWork(timeline, tracks) {
    const events = eventsByBegin(timeline, tracks);
    if (!events.some((event) => timeline.peer[event])) return events;
    return events.sort((a, b) => workOf(timeline, a) - workOf(timeline, b) || a - b);
}

// When a GPU was busy: stretches without a gap. `next` is the event that begins a stretch, `last`
// the one that ends it.
/** @param {Timeline} timeline
 * @param {Track[]} tracks
 * @returns {Busy} */
export function busyOf(timeline, tracks) {
    const events = eventsByWork(timeline, tracks);
    const busy = {
        begin: new Float64Array(events.length),
        end: new Float64Array(events.length),
        before: new Float64Array(events.length), // busy time before the stretch
        next: new Uint32Array(events.length),
        last: new Uint32Array(events.length),
        count: 0,
    };
    for (const event of events) {
        const from = workOf(timeline, event);
        const to = endOf(timeline, event);
        const at = busy.count - 1;
        if (at >= 0 && from <= busy.end[at]) {
            if (to <= busy.end[at]) continue;
            busy.end[at] = to;
            busy.last[at] = event;
            continue;
        }
        const added = busy.count++;
        busy.begin[added] = from;
        busy.end[added] = to;
        busy.next[added] = busy.last[added] = event;
        if (added) busy.before[added] = busy.before[at] + busy.end[at] - busy.begin[at];
    }
    return busy;
}

export function busyUntil(busy, time) {
    const at = lastAtMost(busy.begin, busy.count, time);
    if (at < 0) return 0;
    return busy.before[at] + Math.min(time, busy.end[at]) - busy.begin[at];
}

export function busyShare(busy, from, to) {
    return to > from ? (busyUntil(busy, to) - busyUntil(busy, from)) / (to - from) : 0;
}

// ---- Rates ----

const SIZE_SCALES = { B: 1, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30, TiB: 2 ** 40 };

// "588.0KiB, pinned to device memory"; 0: it does not say.
function bytesOfDetail(detail) {
    const found = /^([\d.,]+)((?:[KMGT]i)?B),/.exec(detail || "");
    return found ? Number(found[1].replaceAll(",", "")) * SIZE_SCALES[found[2]] : 0;
}

// Bytes copied over time; null without copies. While copies run at the same time their rates add up.
/** @param {Timeline} timeline
 * @param {Track[]} tracks
 * @returns {Sums | null} */
export function copiesOf(timeline, tracks) {
    const sizes = timeline.kinds.map(([name, detail]) =>
        timeline.names[name][0] === "copy" ? bytesOfDetail(detail) : 0,
    );
    const edges = [];
    for (const track of tracks) {
        for (let i = track.first; i < track.end; i++) {
            const bytes = sizes[timeline.kind[i]];
            if (!bytes) continue;
            const length = Math.max(1, timeline.duration[i]);
            edges.push([timeline.begin[i], bytes / length]);
            edges.push([timeline.begin[i] + length, -bytes / length]);
        }
    }
    return edges.length ? sumEdges(edges.sort((a, b) => a[0] - b[0])) : null;
}

function sumEdges(edges) {
    const sums = {
        time: new Float64Array(edges.length),
        rate: new Float64Array(edges.length), // from then on
        before: new Float64Array(edges.length),
        count: edges.length,
        max: 0,
    };
    let [rate, sum, last] = [0, 0, edges[0][0]];
    edges.forEach(([time, change], i) => {
        sum += rate * (time - last);
        rate = Math.max(0, rate + change);
        sums.time[i] = last = time;
        sums.rate[i] = rate;
        sums.before[i] = sum;
        sums.max = Math.max(sums.max, rate);
    });
    return sums;
}

function sumUntil(sums, time) {
    const at = lastAtMost(sums.time, sums.count, time);
    return at < 0 ? 0 : sums.before[at] + sums.rate[at] * (time - sums.time[at]);
}

// Bytes a ns are GB/s.
export function meanRate(sums, from, to) {
    return to > from ? (sumUntil(sums, to) - sumUntil(sums, from)) / (to - from) : 0;
}

// ---- Memory ----

// The document `memory_lines` of a process as steps: {"GPU": {time, bytes, max}} by device name,
// pools left out, since the devices' lines hold them.
/** @param {MemoryLinesDocument} lines
 * @param {Long} origin
 * @returns {Steps[]} */
export function memorySteps(lines, origin) {
    if (!lines?.lines) return [];
    const first = relativeTo(origin, lines.start_ns);
    const time = Float64Array.from(lines.time_ns, (offset) => first + Number(offset));
    return lines.lines
        .filter((line) => isNothing(line.pool))
        .map((line) => {
            const bytes = Float64Array.from(line.max_bytes, Number);
            return { name: line.device_name, time, bytes, max: Math.max(...bytes, 1) };
        });
}

// The maximum in a stretch of time, as the document has it; null where it says nothing.
export function memoryIn(steps, from, to) {
    const { time, bytes } = steps;
    const last = lastAtMost(time, time.length, to);
    if (last < 0) return null;
    let max = 0;
    for (let i = Math.max(0, lastAtMost(time, time.length, from)); i <= last; i++)
        max = Math.max(max, bytes[i]);
    return max;
}

// ---- Counters: read from the columns of src/page/documents.h ----

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
    const [mean, min, max] = [0, 1, 2].map(() => new Float64Array(count).fill(NaN));
    let last = 0;
    for (let i = 0; i < count; i++) {
        const number = numbers.next();
        if (!number) continue;
        last += number % 2 ? (number - 1) / 2 : -number / 2; // 1 + zigzag
        packed[i] = last;
        mean[i] = unpackSample(last, counter.step);
    }
    const readFrom = (values, sign) => {
        for (let i = 0; i < count; i++)
            if (packed[i] !== NONE)
                values[i] = unpackSample(packed[i] + sign * numbers.next(), counter.step);
    };
    readFrom(max, 1);
    readFrom(min, -1);
    const scale = counter.unit === "percent" ? Math.max(counter.most, 100) : counter.most || 1;
    return { ...counter, ...bins, device, mean, min, max, scale };
}

// The lines of a process; none if nothing was sampled.
/** @param {PageDocument[]} list
 * @param {number} process
 * @param {Parts} parts
 * @param {Timeline} timeline
 * @returns {CounterLine[]} */
export function counterLines(list, process, { summary }, timeline) {
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

// What a line was in a stretch of time: {mean, min, max}; null without samples there.
/** @param {CounterLine} line
 * @param {number} from
 * @param {number} to */
export function sampledIn(line, from, to) {
    const { begin, end, mean, min, max, count } = line;
    const found = { mean: 0, min: Infinity, max: 0 };
    let time = 0;
    for (let i = Math.max(0, lastAtMost(begin, count, from)); i < count && begin[i] < to; i++) {
        const length = Math.min(end[i], to) - Math.max(begin[i], from);
        if (length <= 0 || Number.isNaN(mean[i])) continue;
        time += length;
        found.mean += mean[i] * length;
        found.min = Math.min(found.min, min[i]);
        found.max = Math.max(found.max, max[i]);
    }
    found.mean /= time;
    return time ? found : null;
}

// ---- Idle gaps ----
//
// Each gap piece by piece, by what the thread did that launched the work at its end. The rule is
// that of `miniprof iters` (src/reports/iterations/measure.c).

export const IDLE_CAUSES = [
    ["idle_launch", "work is being launched", "--idle-launch"],
    ["idle_queued", "between queued work", "--idle-queued"],
    ["idle_copy", "a copy call waits", "--idle-copy"],
    ["idle_host", "the host is outside of CUDA", "--idle-host"],
    ["idle_sync", "a synchronisation has not returned", "--idle-sync"],
    ["idle_unknown", "no calls in the trace", "--idle-unknown"],
    ["idle_peer", "NCCL waits for peers", "--idle-peer"],
];
const [LAUNCHING, QUEUED, COPYING, HOST, SYNCHRONISING, UNKNOWN, PEER] = IDLE_CAUSES.keys();
const PIECES = 16; // between sums that are kept

function isWaitingCopy(name) {
    return /^(cuda|cu)Memcpy/.test(name) && !/Async/.test(name);
}

// By name: the cause while a thread is in that call.
function callCauses(timeline) {
    return timeline.names.map(([category, name]) => {
        if (category !== "call") return HOST; // a wait outside of CUDA is time of the host
        if (/Synchronize|StreamQuery|EventQuery/.test(name)) return SYNCHRONISING;
        return isWaitingCopy(name) ? COPYING : LAUNCHING;
    });
}

export class Gaps {
    /** @param {Timeline} timeline
     * @param {Busy} busy */
    constructor(timeline, busy) {
        this.timeline = timeline;
        this.causes = callCauses(timeline);
        this.calls = outerCalls(timeline);
        this.pieces = []; // while they are found
        for (let i = 0; i + 1 < busy.count; i++) this.split(busy, i);
        this.pack();
    }

    split(busy, at) {
        const from = busy.end[at];
        const until = busy.begin[at + 1];
        const began = Math.max(from, this.timeline.begin[busy.next[at + 1]]);
        this.splitByLaunch(busy, at, from, began);
        this.add(began, until, PEER); // of NCCL's kernel that begins the stretch
    }

    splitByLaunch(busy, at, from, to) {
        const { timeline } = this;
        const launch = timeline.launch[busy.next[at + 1]];
        if (launch === NONE) return this.add(from, to, UNKNOWN);
        const launched = Math.max(from, Math.min(to, timeline.begin[launch]));
        if (from < launched) this.splitByCalls(trackOf(timeline, launch).lane, from, launched);
        if (launched < to) this.add(launched, to, this.causeOfStart(busy.last[at], launch, from));
    }

    // Why work that was already called for does not run yet.
    causeOfStart(last, launch, from) {
        const { timeline } = this;
        if (endOf(timeline, launch) <= from || timeline.launch[last] === launch) return QUEUED;
        return this.causes[nameIndexOf(timeline, launch)] === COPYING ? COPYING : LAUNCHING;
    }

    splitByCalls(lane, from, to) {
        const { timeline } = this;
        const track = this.calls.get(lane);
        const [first, end] = track ? eventsIn(timeline, track, from, to) : [0, 0];
        let at = from;
        for (let i = first; i < end; i++) {
            const begin = Math.max(timeline.begin[i], at);
            const stop = Math.min(endOf(timeline, i), to);
            if (stop <= begin) continue;
            this.add(at, begin, HOST);
            this.add(begin, stop, this.causes[nameIndexOf(timeline, i)]);
            at = stop;
        }
        this.add(at, to, HOST);
    }

    add(from, to, cause) {
        if (to <= from) return;
        this.pieces.push({ from, length: to - from, cause });
    }

    pack() {
        this.count = this.pieces.length;
        this.time = Float64Array.from(this.pieces, ({ from }) => from);
        this.length = Float64Array.from(this.pieces, ({ length }) => length);
        this.cause = Uint8Array.from(this.pieces, ({ cause }) => cause);
        this.pieces = [];
        const sums = new Float64Array(IDLE_CAUSES.length);
        this.sums = new Float64Array((Math.floor(this.count / PIECES) + 1) * sums.length);
        for (let i = 0; i < this.count; i++) {
            if (i % PIECES === 0) this.sums.set(sums, (i / PIECES) * sums.length);
            sums[this.cause[i]] += this.length[i];
        }
        if (this.count % PIECES === 0) this.sums.set(sums, (this.count / PIECES) * sums.length);
    }

    // Adds `sign` times the idle time before a moment, by cause, from a place of `into` on.
    addUntil(time, sign, into, place = 0) {
        const end = lastAtMost(this.time, this.count, time);
        if (end < 0) return;
        const block = Math.floor(end / PIECES);
        const causes = IDLE_CAUSES.length;
        for (let cause = 0; cause < causes; cause++)
            into[place + cause] += sign * this.sums[block * causes + cause];
        for (let i = block * PIECES; i <= end; i++)
            into[place + this.cause[i]] += sign * Math.min(this.length[i], time - this.time[i]);
    }

    // Idle ns by cause in a stretch of time.
    between(from, to, into = new Float64Array(IDLE_CAUSES.length)) {
        into.fill(0);
        this.addUntil(to, 1, into);
        this.addUntil(from, -1, into);
        return into;
    }

    // The cause at a moment; -1: none.
    causeAt(time) {
        const at = lastAtMost(this.time, this.count, time);
        return at >= 0 && time < this.time[at] + this.length[at] ? this.cause[at] : -1;
    }
}

// The calls of a thread that are in no other call, by lane.
function outerCalls(timeline) {
    return new Map(
        timeline.tracks
            .filter(({ kind, depth }) => kind === "calls" && depth === 0)
            .map((track) => [track.lane, track]),
    );
}
