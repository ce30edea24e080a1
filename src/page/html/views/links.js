// What leads from a view into the time line.

import { isNothing, relativeTo } from "../base/data.js";
import { el, link } from "../base/dom.js";
import { NONE, endOf, firstFrom, nameIndexOf, stretchesOf } from "../timeline/events.js";

function stretchOf(row, origin) {
    const begin = relativeTo(origin, row.begin_ns);
    const length = row.latency_ns ?? row.duration_ns;
    return {
        begin,
        end: isNothing(row.end_ns) ? begin + Number(length) : relativeTo(origin, row.end_ns),
    };
}

// The first event of that name from a moment on, else the first of all; NONE: there is none.
function eventCalled(timeline, name, from, process) {
    let best = NONE;
    const isLate = (event) => timeline.begin[event] >= from;
    for (const track of stretchesOf(timeline, process)) {
        for (let i = track.first; i < track.end; i++) {
            if (timeline.names[nameIndexOf(timeline, i)][1] !== name) continue;
            const nearer = best !== NONE && timeline.begin[i] < timeline.begin[best];
            if (best === NONE || isLate(i) > isLate(best) || (isLate(i) === isLate(best) && nearer))
                best = i;
        }
    }
    return best;
}

// The longest event that begins at a moment, such as the range or call that is an iteration.
function eventFrom(timeline, begin, process) {
    let longest = NONE;
    for (const track of stretchesOf(timeline, process)) {
        for (let i = firstFrom(timeline, track, begin); i < track.end; i++) {
            if (timeline.begin[i] !== begin) break;
            if (longest === NONE || timeline.duration[i] > timeline.duration[longest]) longest = i;
        }
    }
    return longest;
}

// Shows a row that is a stretch of time, and selects what it is of.
/** @param {any} row
 * @param {ViewOptions} options */
export function showRow(row, { timeline, origin, process, show }) {
    const stretch = stretchOf(row, origin);
    const event = eventFrom(timeline, stretch.begin, process);
    show(event === NONE ? stretch : { ...stretch, event });
}

// A name as a link to its first event from a moment on; text where the time line has none.
/** @param {string} name
 * @param {number} from
 * @param {ViewOptions} options */
export function nameLink(name, from, { timeline, process, show }) {
    if (!timeline || !timeline.names.some(([, text]) => text === name))
        return el("code", null, name);
    const go = () => {
        const event = eventCalled(timeline, name, from, process);
        if (event === NONE) return;
        show({ event, begin: timeline.begin[event], end: endOf(timeline, event) });
    };
    return link(name, go, { class: "link code", title: "Show in the time line" });
}

// The begin of the median iteration, in the page's time; 0 if the page does not have it.
/** @param {Documents} documents
 * @param {ViewOptions} options */
export function usualMoment({ iters, iterations }, { origin }) {
    const row = iterations?.rows?.[iters?.median - 1];
    return row ? relativeTo(origin, row[iterations.columns.indexOf("begin_ns")]) : 0;
}
