// Iterations: those of a document that has them, or the instances of an NVTX range or graph launch,
// as a plot of their lengths and a table; either leads to the time line.

// Arrays of stretches anywhere in a document, by where they stand.
function stretchesIn(value, path, found, depth = 0) {
    if (isPlain(value) || depth > DEEPEST) return found;
    if (isTable(value) && isStretch(value[0]) && value.length > 1)
        found.push({ path, rows: value });
    else if (!Array.isArray(value)) {
        for (const [key, member] of Object.entries(value))
            stretchesIn(member, path ? `${path}.${key}` : key, found, depth + 1);
    }
    return found;
}

function stretchOf(row, origin) {
    const begin = relativeTo(origin, row.begin_ns);
    const length = row.latency_ns ?? row.duration_ns;
    return {
        begin,
        end: isNothing(row.end_ns) ? begin + Number(length) : relativeTo(origin, row.end_ns),
    };
}

// Names of which there are several events, in the rows of `kind` tracks; most time first.
function repeatedNames(timeline, kind, categories) {
    const sums = new Map();
    for (const track of timeline.tracks.filter((candidate) => candidate.kind === kind)) {
        for (let i = track.first; i < track.end; i++) {
            const name = nameIndexOf(timeline, i);
            const sum = sums.get(name) || { name, count: 0, time: 0 };
            sum.count++;
            sum.time += timeline.duration[i];
            sums.set(name, sum);
        }
    }
    return [...sums.values()]
        .filter(({ name, count }) => count > 1 && (!categories || categories(timeline.names[name])))
        .sort((a, b) => b.time - a.time);
}

function instancesOf(timeline, kind, name) {
    const events = [];
    for (const track of timeline.tracks.filter((candidate) => candidate.kind === kind)) {
        for (let i = track.first; i < track.end; i++) {
            if (nameIndexOf(timeline, i) === name) events.push(i);
        }
    }
    return events.sort((a, b) => timeline.begin[a] - timeline.begin[b]);
}

function iterationSources(documents, timeline) {
    const sources = documents
        .filter((doc) => doc.id === "iters")
        .flatMap((doc) =>
            stretchesIn(doc.value, "", []).map(({ path, rows }) => ({
                title: `${doc.title}: ${titleOf(path)}`,
                load: () => rows.map((row) => ({ ...stretchOf(row, timeline.origin), row })),
            })),
        );
    const fromEvents = (kind, title, name) => ({
        title: `${title} ${timeline.names[name][1]}`,
        load: () =>
            instancesOf(timeline, kind, name).map((event) => ({
                event,
                begin: timeline.begin[event],
                end: endOf(timeline, event),
            })),
    });
    for (const { name } of repeatedNames(timeline, "ranges").slice(0, 50))
        sources.push(fromEvents("ranges", "NVTX", name));
    for (const { name } of repeatedNames(timeline, "calls", ([, text]) => /GraphLaunch/.test(text)))
        sources.push(fromEvents("calls", "Calls of", name));
    return sources;
}

// Nearest rank, as everywhere in miniprof.
function percentile(sorted, percent) {
    return sorted[Math.max(0, Math.ceil((sorted.length * percent) / 100) - 1)];
}

function latencyFacts(items) {
    const lengths = items.map(({ begin, end }) => end - begin).sort((a, b) => a - b);
    const mean = lengths.reduce((sum, length) => sum + length, 0) / lengths.length;
    return facts([
        ["Count", formatCount(items.length)],
        ["Mean", formatTime(mean)],
        ["P50", formatTime(percentile(lengths, 50))],
        ["P99", formatTime(percentile(lengths, 99))],
        ["Least", formatTime(lengths[0])],
        ["Greatest", formatTime(lengths[lengths.length - 1])],
    ]);
}

function renderIterations(items, show) {
    const lengths = items.map(({ begin, end }) => end - begin);
    const rows = items.map((item, index) => ({
        number: index + 1,
        begin_ns: item.begin,
        latency_ns: item.end - item.begin,
        ...(item.row ? flatten(item.row, "", {}) : {}),
        ...(item.row ? { begin_ns: item.begin, end_ns: item.end } : {}),
    }));
    return [
        latencyFacts(items),
        makeChart({
            title: "Length of each; click on one to see it",
            labelX: "number",
            data: [items.map((item, index) => index + 1), lengths],
            series: [{ label: "length", color: "--accent", points: true }],
            formatX: (value) => formatCount(value),
            formatY: formatTick,
            onclick: (index) => show(items[index]),
        }),
        dataTable(rows, { caption: "Iterations", onrow: (row, index) => show(items[index]) }),
    ];
}

// show(item): to the time line.
function iterationsView(documents, timeline, show) {
    const sources = iterationSources(documents, timeline);
    if (!sources.length)
        return el(
            "p",
            { class: "note" },
            "Nothing repeats: no NVTX range and no graph launch that the trace has twice.",
        );
    const content = el("div");
    const use = (index) => replaceContent(content, renderIterations(sources[index].load(), show));
    const select = el(
        "select",
        { id: "iterations-of", onchange: () => use(select.selectedIndex) },
        sources.map((source) => el("option", null, source.title)),
    );
    use(0);
    return el(
        "div",
        null,
        el("div", { class: "tools" }, el("label", { for: "iterations-of" }, "Iterations:"), select),
        content,
    );
}
