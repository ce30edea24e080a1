// What is known of the selected event, in words, and the table of what is in view: all that the
// canvas shows can be read here.

const MOST_LISTED = 20;

function laneTitle(lane) {
    if (lane.kind === "thread") return `Thread ${lane.id}` + (lane.name ? ` (${lane.name})` : "");
    return (
        `GPU ${lane.device} stream ${lane.id}` +
        (lane.context > 1 ? ` (context ${lane.context})` : "")
    );
}

function eventLink(timeline, event, select) {
    return el(
        "button",
        { type: "button", class: "link", onclick: () => select(event) },
        `${shortName(nameOf(timeline, event))} at ${formatTime(timeline.begin[event])}`,
    );
}

function linkList(timeline, title, events, select) {
    if (!events.length) return [];
    const more = events.length >= MOST_LISTED ? `the first ${MOST_LISTED}` : String(events.length);
    return [
        el("h3", null, `${title} (${more})`),
        el(
            "ul",
            null,
            events.map((event) => el("li", null, eventLink(timeline, event, select))),
        ),
    ];
}

function causeFacts(timeline, event, select) {
    const launch = timeline.launch[event];
    const bound = timeline.bound[event];
    const reason = timeline.flags[event] & REASON;
    const pairs = [];
    if (launch !== NONE) {
        pairs.push(["Launched by", eventLink(timeline, launch, select)]);
        pairs.push([
            "From that call's begin",
            formatTime(timeline.begin[event] - timeline.begin[launch]),
        ]);
    }
    if (reason) pairs.push(["Waited last for", REASONS[reason]]);
    if (bound !== NONE && bound !== launch)
        pairs.push(["That is", eventLink(timeline, bound, select)]);
    pairs.push([
        "Waiting time",
        timeline.waiting[event] ? formatTime(timeline.waiting[event]) : "",
    ]);
    pairs.push([
        "On the critical path",
        timeline.critical[event]
            ? `${formatTime(timeline.critical[event])} of it`
            : categoryOf(timeline, event) === "range"
              ? ""
              : "no",
    ]);
    return pairs;
}

function renderDetails(timeline, event, select) {
    if (event === NONE)
        return [
            el(
                "p",
                { class: "note" },
                "Nothing is selected. Click on a box, or search for a name.",
            ),
        ];
    const launched = referringTo(timeline, timeline.launch, event, MOST_LISTED);
    const waiting = referringTo(timeline, timeline.bound, event, MOST_LISTED).filter(
        (other) => timeline.launch[other] !== event,
    );
    return [
        facts([
            ["Name", nameOf(timeline, event)],
            ["Kind", categoryOf(timeline, event)],
            ["Where", laneTitle(timeline.lanes[trackOf(timeline, event).lane])],
            ["Begin", formatTime(timeline.begin[event])],
            ["Duration", formatTime(timeline.duration[event])],
            ["Shape", detailOf(timeline, event)],
            ...causeFacts(timeline, event, select),
        ]),
        ...linkList(timeline, "Work it launched", launched, select),
        ...linkList(timeline, "What waited for it", waiting, select),
    ];
}

// The arrows of a selected event: who launched it, whom it waited for, what it launched.
function arrowsOf(timeline, event) {
    const arrows = referringTo(timeline, timeline.launch, event, MOST_LISTED).map((launched) => ({
        event: launched,
        from: event,
        color: "launch",
    }));
    if (timeline.launch[event] !== NONE)
        arrows.push({ event, from: timeline.launch[event], color: "launch" });
    if (timeline.bound[event] !== NONE && timeline.bound[event] !== timeline.launch[event])
        arrows.push({ event, from: timeline.bound[event], color: "wait" });
    return arrows;
}

function renderInView(timeline, view) {
    const rows = inView(timeline, view.from, view.to);
    const events = rows.reduce((sum, row) => sum + row.count, 0);
    return [
        el(
            "p",
            { class: "note" },
            `${formatCount(events)} events from ${formatTime(view.from)} to ` +
                `${formatTime(view.to)}; times are summed over all rows.`,
        ),
        dataTable(rows, { caption: "What is in view, by name", shown: 15 }),
    ];
}
