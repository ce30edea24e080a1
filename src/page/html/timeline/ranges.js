// NVTX ranges and the work that was launched inside of them: which layer a kernel belongs to, and
// ranges as stretches of a GPU's time, from the first to the last work that they launched.

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

function layerWords(timeline, event) {
    return layersOf(timeline, event)
        .map((range) => nameOf(timeline, range))
        .join(" › ");
}

// Rows of stretches {begin, end, event (the range)} of a GPU for the ranges of one track.
function projectTrack(timeline, ranges, work) {
    const spans = new Map();
    let at = ranges.first; // launches mostly come in order of time
    for (const track of work) {
        for (let i = track.first; i < track.end; i++) {
            const launch = timeline.launch[i];
            if (launch === NONE || launch < work.callsFrom || launch >= work.callsEnd) continue;
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
        const mine = [...work];
        mine.callsFrom = Math.min(...calls.map(({ first }) => first));
        mine.callsEnd = Math.max(...calls.map(({ end }) => end));
        for (const ranges of rangeTracks(timeline, index))
            for (const spans of projectTrack(timeline, ranges, mine))
                rows.push({ title: `Ranges of ${ranges.domain || "NVTX"}`, spans });
    });
    return rows;
}
