// One time line of several processes: their events behind each other, names that are the same told
// once, times on one clock.

// parts: [{timeline (makeTimeline), label, offset_ns}]; an offset leads from the process's clock to
// that of all. One part alone stays as it is.
function joinTimelines(parts) {
    if (parts.length === 1) return parts[0].timeline;
    const wrapped = (value) => BigInt.asUintN(64, value); // as C counts
    const moment = ({ timeline, offset_ns: offset }) =>
        wrapped(BigInt(timeline.origin) + BigInt(offset));
    const used = parts.filter(({ timeline }) => timeline.count);
    const origin = (used.length ? used : parts)
        .map(moment)
        .reduce((least, value) => (value < least ? value : least));
    const joined = { ...joinColumns(parts), tracks: [], lanes: [], names: [], kinds: [], callers: [] };
    const seen = new Map();
    joined.fan = parts[0].timeline.fan;
    joined.count = joined.begin.length;
    joined.origin = String(origin);
    joined.processes = [];
    joined.span = 0;
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
