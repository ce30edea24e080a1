// What is known of the selected event, in words, and the table of what is in view: all that the
// canvas shows can be read here.

import { el, facts, link, note } from "../base/dom.js";
import {
    formatBytes, formatCount, formatMoment, formatPercent, formatSampled, formatTime,
} from "../base/format.js";
import { dataTable } from "../base/table.js";
import { shortName } from "../base/words.js";
import {
    NONE, REASON, REASONS, callerOf, categoryOf, detailOf, inView, nameOf, referringTo, trackOf,
} from "./events.js";
import { IDLE_CAUSES, busyShare, meanRate, memoryIn, sampledIn } from "./gpu.js";
import { STACK, laneTitle, layerWords } from "./rows.js";

export const MAX_LISTED = 20;

function eventLink(timeline, event, select) {
    return link(
        `${shortName(nameOf(timeline, event))} at ${formatMoment(timeline.begin[event])}`,
        () => select(event),
    );
}

function linkList(timeline, title, events, select) {
    if (!events.length) return [];
    const more = events.length >= MAX_LISTED ? `the first ${MAX_LISTED}` : String(events.length);
    return [
        el("h3", null, `${title} (${more})`),
        el("ul", null,
            events.map((event) => el("li", null, eventLink(timeline, event, select))),
        ),
    ];
}

function placeWords(timeline, event) {
    const lane = timeline.lanes[trackOf(timeline, event).lane];
    const { label } = timeline.processes[lane.process];
    return (label ? `${label}, ` : "") + laneTitle(lane);
}

// A time, and what is said of it; nothing for 0.
function timeWords(ns, more = "") {
    return ns ? formatTime(ns) + more : "";
}

function causeFacts(timeline, event, select) {
    const launch = timeline.launch[event];
    const bound = timeline.bound[event];
    const reason = timeline.flags[event] & REASON;
    const linkTo = (other) => (other === NONE ? null : eventLink(timeline, other, select));
    const delay = launch === NONE ? null : timeline.begin[event] - timeline.begin[launch];
    const isRange = categoryOf(timeline, event) === "range";
    return [
        ["Launched by", linkTo(launch)],
        ["Delay from that call", delay === null ? null : formatTime(delay)],
        ["Waited last for", reason ? REASONS[reason] : null],
        ["That is", bound === launch ? null : linkTo(bound)],
        ["Waiting time", timeWords(timeline.waiting[event])],
        ["Waited for peers", timeWords(timeline.peer[event])],
        [
            "On the critical path",
            timeWords(timeline.critical[event], " of it") || (isRange ? "" : "no"),
        ],
    ];
}

/** @param {Timeline} timeline */
export function renderDetails(timeline, event, select) {
    if (event === NONE) return [note("Nothing is selected. Click on a box, or search for a name.")];
    const launched = referringTo(timeline, timeline.launch, event, MAX_LISTED);
    const waiting = referringTo(timeline, timeline.bound, event, MAX_LISTED).filter(
        (other) => timeline.launch[other] !== event,
    );
    return [
        facts([
            ["Name", nameOf(timeline, event)],
            ["Kind", categoryOf(timeline, event)],
            ["Where", placeWords(timeline, event)],
            ["Begin", formatMoment(timeline.begin[event])],
            ["Duration", formatTime(timeline.duration[event])],
            ["Shape", detailOf(timeline, event)],
            ["Layer", layerWords(timeline, event)],
            ["Called from", callerOf(timeline, event)],
            ...causeFacts(timeline, event, select),
        ]),
        ...linkList(timeline, "Work it launched", launched, select),
        ...linkList(timeline, "What waited for it", waiting, select),
    ];
}

// The arrows of a selected event: who launched it, whom it waited for, what it launched.
/** @param {Timeline} timeline */
export function arrowsOf(timeline, event) {
    const arrows = referringTo(timeline, timeline.launch, event, MAX_LISTED).map((launched) => ({
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

// How much of a stretch a GPU was busy and why it was idle, in words.
function gpuFacts(timeline, devices, from, to) {
    return devices.flatMap((device) => {
        const idle = [...device.gaps.between(from, to)]
            .map((time, cause) => [time, IDLE_CAUSES[cause][1]])
            .filter(([time]) => time > (to - from) / 1000)
            .sort((a, b) => b[0] - a[0])
            .map(([time, words]) => `${words} ${formatTime(time)}`);
        const busy = formatPercent(busyShare(device.busy, from, to) * 100);
        const { label } = timeline.processes[device.process];
        const gpu = `${label ? `${label}, ` : ""}GPU ${device.number}`;
        return [
            [`${gpu} busy`, busy + (idle.length ? `; idle: ${idle.slice(0, 3).join(", ")}` : "")],
            [`${gpu} counters`, lineWords(device.counters, from, to)],
        ];
    });
}

// stretch: {from, to}; what: "in view" or "measured".
/** @param {Timeline} timeline */
export function renderInView(timeline, stretch, what, devices) {
    const rows = inView(timeline, stretch.from, stretch.to);
    const events = rows.reduce((sum, row) => sum + row.count, 0);
    return [
        note(
            `${formatCount(events)} events ${what} from ${formatMoment(stretch.from)} to ` +
                `${formatMoment(stretch.to)}, which is ${formatTime(stretch.to - stretch.from)}; ` +
                "times are summed over all rows.",
        ),
        devices.length <= 8 ? facts(gpuFacts(timeline, devices, stretch.from, stretch.to)) : null,
        dataTable(rows, { caption: "What is in view, by name" }),
    ];
}

// ---- The card beside the pointer ----

/** @param {Timeline} timeline */
export function hoverCard(timeline, event) {
    const launch = timeline.launch[event];
    const delay = launch === NONE ? 0 : timeline.begin[event] - timeline.begin[launch];
    const reason = timeline.flags[event] & REASON;
    return [
        el("b", { class: "code" }, nameOf(timeline, event)),
        el("p", null,
            `${formatTime(timeline.duration[event])} from ${formatMoment(timeline.begin[event])}`,
        ),
        facts([
            ["Shape", detailOf(timeline, event)],
            ["Layer", layerWords(timeline, event)],
            ["Called from", callerOf(timeline, event)],
            ["Launched", launch === NONE ? "" : `${formatTime(delay)} before it began`],
            ["Waited", timeWords(timeline.waiting[event], ` for ${REASONS[reason]}`)],
            ["Critical path", timeWords(timeline.critical[event], " of it")],
        ]),
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

// What a row of a GPU says at a moment: busy, or idle and why; GB/s; bytes; a counter.
/** @param {Row} row
 * @param {number} time
 * @param {number} from
 * @param {number} to */
export function counterCard(row, time, from, to) {
    const { device } = row;
    if (row.paint === STACK) {
        const cause = device.gaps.causeAt(time);
        const share = formatPercent(busyShare(device.busy, from, to) * 100);
        return [
            el("b", null, cause < 0 ? "GPU busy" : `GPU idle: ${IDLE_CAUSES[cause][1]}`),
            el("p", null, `busy ${share} of ${formatTime(to - from)} here`),
        ];
    }
    if (row.line) return lineCard(row.line, from, to);
    if (row.memory) {
        const bytes = memoryIn(device.memory, from, to);
        return [el("b", null, bytes === null ? "not known" : `${formatBytes(bytes)} allocated`)];
    }
    return [el("b", null, `${formatCount(meanRate(device.copies, from, to))} GB/s copied`)];
}

// The card of a line beside the pointer.
function lineCard(line, from, to) {
    const found = sampledIn(line, from, to);
    if (!found) return [el("b", null, `${line.name}: no samples here`)];
    const words = (value) => formatSampled(line.unit, value);
    return [
        el("b", null, `${line.name} ${words(found.mean)}`),
        el("p", null,
            `${words(found.min)} to ${words(found.max)}, by ${line.source}; ` +
                `mean over ${formatTime(to - from)}`,
        ),
    ];
}
