// What changes over time on a GPU: when it was busy, how much was copied, how much is allocated.
// Counters that were sampled are in counters.js.
// Each answers for any stretch of time by binary search, whatever the number of events.

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

// The last place of a sorted column whose value is at most `value`; -1: none.
function lastAtMost(column, count, value) {
    let low = 0;
    let high = count;
    while (low < high) {
        const middle = (low + high) >>> 1;
        if (column[middle] <= value) low = middle + 1;
        else high = middle;
    }
    return low - 1;
}

// The same in order of when they begin to work.
function eventsByWork(timeline, tracks) {
    const events = eventsByBegin(timeline, tracks);
    if (!events.some((event) => timeline.peer[event])) return events;
    return events.sort((a, b) => workOf(timeline, a) - workOf(timeline, b) || a - b);
}

// When a GPU was busy: stretches without a gap. `next` is the event that begins a stretch, `last`
// the one that ends it.
function busyOf(timeline, tracks) {
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

function busyUntil(busy, time) {
    const at = lastAtMost(busy.begin, busy.count, time);
    if (at < 0) return 0;
    return busy.before[at] + Math.min(time, busy.end[at]) - busy.begin[at];
}

function busyShare(busy, from, to) {
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
function copiesOf(timeline, tracks) {
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
        most: 0,
    };
    let [rate, sum, last] = [0, 0, edges[0][0]];
    edges.forEach(([time, change], i) => {
        sum += rate * (time - last);
        rate = Math.max(0, rate + change);
        sums.time[i] = last = time;
        sums.rate[i] = rate;
        sums.before[i] = sum;
        sums.most = Math.max(sums.most, rate);
    });
    return sums;
}

function sumUntil(sums, time) {
    const at = lastAtMost(sums.time, sums.count, time);
    return at < 0 ? 0 : sums.before[at] + sums.rate[at] * (time - sums.time[at]);
}

// Bytes a ns are GB/s.
function meanRate(sums, from, to) {
    return to > from ? (sumUntil(sums, to) - sumUntil(sums, from)) / (to - from) : 0;
}

// ---- Memory ----

// The document `memory_lines` of a process as steps: {"GPU": {time, bytes, most}} by device name,
// pools left out, since the devices' lines hold them.
function memorySteps(lines, origin) {
    if (!lines?.lines) return [];
    const first = relativeTo(origin, lines.start_ns);
    const time = Float64Array.from(lines.time_ns, (offset) => first + Number(offset));
    return lines.lines
        .filter((line) => isNothing(line.pool))
        .map((line) => {
            const bytes = Float64Array.from(line.max_bytes, Number);
            return { name: line.device_name, time, bytes, most: Math.max(...bytes, 1) };
        });
}

// The greatest in a stretch of time, as the document has it; null where it says nothing.
function memoryIn(steps, from, to) {
    const { time, bytes } = steps;
    const last = lastAtMost(time, time.length, to);
    if (last < 0) return null;
    let most = 0;
    for (let i = Math.max(0, lastAtMost(time, time.length, from)); i <= last; i++)
        most = Math.max(most, bytes[i]);
    return most;
}
