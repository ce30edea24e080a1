// Which rows the time line has. Rows stand in blocks: a process, a GPU, a stream, a thread. A block
// can be closed, pinned to the top, and made taller; blocks can be sorted.
//
//     process    only if there are several: how busy its GPUs were
//     GPU        busy time and idle time by cause, copies, memory, NVTX ranges projected onto it
//     stream     the work of a stream
//     counters   what was sampled of a GPU, a row for each counter
//     thread     API calls, those inside of them, NVTX ranges by domain and nesting

const ROW_HEIGHT = 18;
const STACK_HEIGHT = 34;
const COUNTER_HEIGHT = 26;
const [MIN_HEIGHT, MAX_HEIGHT] = [10, 160];
const MAX_GROWN = 2.4; // times their usual height, where there is room

// What rows are painted as.
const [EVENTS, SPANS, STACK, COUNTER, SUMMARY, TITLE] = [0, 1, 2, 3, 4, 5];

function laneTitle(lane) {
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
function devicesOf(timeline, { memoryLines, counters }) {
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
            title: `copies, to ${formatCount(device.copies.most)} GB/s`,
            device,
        });
    if (device.memory)
        rows.push({
            paint: COUNTER,
            height: COUNTER_HEIGHT,
            title: `memory, to ${formatShort(device.memory.most, SIZE_UNITS)}`,
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
        (a, b) => (a.kind === "ranges") - (b.kind === "ranges") || a.index - b.index,
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
function blocksOf(timeline, devices, order) {
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
function openBlocks(blocks, closed) {
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
function placeRows(blocks, { closed, scales, grown, y, pinned }) {
    const rows = [];
    for (const block of blocks) {
        const scale = (scales.get(block.key) || 1) * grown;
        const inside = closed.has(block.key) ? [] : block.rows;
        for (const row of [block.head, ...inside]) {
            const height = Math.max(
                MIN_HEIGHT,
                Math.min(MAX_HEIGHT, Math.round(row.height * scale)),
            );
            rows.push({ ...row, block, y, height, pinned, isHead: row === block.head });
            y += height;
        }
    }
    return { rows, end: y };
}
