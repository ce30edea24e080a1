// Draws the time line on a canvas.
//
// A track is a tree: groups of events, groups of groups, up to one that holds all. Drawing descends
// from the top and stops where a group is a few pixels wide, so a frame costs as many boxes as
// there are pixels to fill, whatever the number of events. How few pixels follows from a budget.

import { hashOf, lastAtMost, meanOf } from "../base/data.js";
import { cssColor, setStyle } from "../base/dom.js";
import { formatTick, formatTime } from "../base/format.js";
import { namesApart } from "../base/words.js";
import { endOf, nameIndexOf, trackOf } from "./events.js";
import { IDLE_CAUSES, busyShare, busyUntil, meanRate, memoryIn, sampledIn } from "./gpu.js";
import { EVENTS, SPANS, STACK, SUMMARY, TITLE } from "./rows.js";

export const AXIS_HEIGHT = 20;
const BOX_BUDGET = 6000;
const MIN_BOX = 1.5; // pixels: no box is narrower, and what ends inside the one before is not drawn
const LABEL_MIN = 30; // pixels
const FONT = '11px ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace';

// Hue and saturation of a name, so that a kernel has the same colour in every trace.
function tintOf(category, name) {
    const hash = hashOf(name);
    switch (category) {
        case "kernel":
            return [150 + hash * 150, 55];
        case "copy":
            return [/HtoD/.test(name) ? 32 : /DtoH/.test(name) ? 16 : 42, 80];
        case "set":
            return [215, 8];
        case "graph":
            return [170, 70];
        case "wait":
            return [48, 45];
        case "host_function":
            return [285, 45];
        case "call":
            return /Synchronize|Query/.test(name) ? [48, 85] : [200 + hash * 30, 18];
        default:
            return [hash * 360, 42];
    }
}

function colorsOf(timeline, dark) {
    return timeline.names.map(([category, name]) => {
        const [hue, saturation] = tintOf(category, name);
        const base = category === "range" ? (dark ? 30 : 80) : dark ? 40 : 68;
        return `hsl(${hue.toFixed(0)} ${saturation}% ${base}%)`;
    });
}

const THEME = ["back", "panel", "line", "text", "faint", "critical", "launch", "wait", "kernel"];

export class Painter {
    /** @param {Timeline} timeline
     * @param {HTMLCanvasElement} canvas */
    constructor(timeline, canvas) {
        this.timeline = timeline;
        this.canvas = canvas;
        this.context = canvas.getContext("2d", { alpha: false });
        this.boxes = 0;
        this.showCritical = true;
        this.labels = [];
        this.reds = [];
        this.color = null;
        this.names = namesApart(timeline.names.map(([, name]) => name));
        this.useTheme();
    }

    useTheme() {
        const dark = document.documentElement.dataset.theme === "dark";
        this.colors = colorsOf(this.timeline, dark);
        this.theme = {};
        for (const name of [...THEME, "copy"]) this.theme[name] = cssColor("--" + name);
        this.idle = IDLE_CAUSES.map(([, , color]) => cssColor(color));
    }

    resize(width, height) {
        const ratio = devicePixelRatio || 1;
        this.width = width;
        this.height = height;
        this.ratio = ratio;
        this.canvas.width = Math.max(1, Math.round(width * ratio));
        this.canvas.height = Math.max(1, Math.round(height * ratio));
        setStyle(this.canvas, { width: `${width}px`, height: `${height}px` });
    }

    // rows: of rows.js, y from the top of the canvas; pinned: those that stay at the top, down to
    // pinnedEnd; view: {from, to} in ns; match: by kind whether a search found it.
    paint(view, { rows, pinned, pinnedEnd, match }) {
        this.from = view.from;
        this.to = view.to;
        this.match = match;
        this.scale = this.width / (view.to - view.from);
        const count = rows.length + pinned.length;
        this.finest = Math.max(MIN_BOX, (count * this.width) / BOX_BUDGET);
        this.boxes = 0;
        this.context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
        this.paintGround(view, 0, this.height);
        for (const row of rows) this.paintRow(row);
        if (!pinned.length) return;
        this.paintGround(view, 0, pinnedEnd);
        for (const row of pinned) this.paintRow(row);
        this.context.fillStyle = this.theme.faint;
        this.context.fillRect(0, pinnedEnd - 1, this.width, 1);
    }

    paintGround(view, top, bottom) {
        this.context.fillStyle = this.theme.back;
        this.context.fillRect(0, top, this.width, bottom - top);
        this.context.fillStyle = this.theme.panel;
        this.eachTick(view, (time, x) => this.context.fillRect(x, top, 1, bottom - top));
    }

    x(time) {
        return (time - this.from) * this.scale;
    }

    // ---- Axis ----

    tickStep(view) {
        const wanted = (view.to - view.from) / Math.max(2, this.width / 110);
        const power = 10 ** Math.floor(Math.log10(Math.max(wanted, 1)));
        return (
            [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= wanted) || power
        );
    }

    eachTick(view, action) {
        const step = this.tickStep(view);
        for (let time = Math.ceil(view.from / step) * step; time <= view.to; time += step)
            action(time, Math.round(this.x(time)));
    }

    paintAxis(view) {
        const context = this.context;
        context.fillStyle = this.theme.panel;
        context.fillRect(0, 0, this.width, AXIS_HEIGHT);
        context.fillStyle = this.theme.faint;
        context.font = FONT;
        context.textBaseline = "middle";
        this.eachTick(view, (time, x) =>
            context.fillText(formatTick(time), x + 3, AXIS_HEIGHT / 2),
        );
    }

    // ---- Boxes ----

    paintRow(row) {
        if (row.y + row.height < 0 || row.y > this.height) return;
        if (row.isHead && row.block.level < 2) {
            this.context.fillStyle = this.theme.line;
            this.context.fillRect(0, row.y, this.width, 1);
        }
        if (row.paint === EVENTS) this.paintEvents(row);
        else if (row.paint === SPANS) this.paintSpans(row);
        else if (row.paint !== TITLE) this.paintCounter(row);
    }

    paintEvents(row) {
        const { track } = row;
        this.filledTo = -1;
        this.labels.length = 0;
        this.color = null;
        this.paintNode(track, track.levels.length - 1, 0, row.y + 1, row.height - 2);
        this.paintReds();
        this.paintLabels(row);
    }

    paintNode(track, level, index, y, height) {
        const { timeline } = this;
        const { span } = track.levels[level];
        const first = track.first + index * span;
        const last = Math.min(first + span, track.end) - 1;
        const x = this.x(timeline.begin[first]);
        const end = this.x(timeline.begin[last] + timeline.duration[last]);
        if (end < 0 || x > this.width) return;
        if (level === 0) return this.paintEvent(first, x, end, y, height);
        if (end - x <= this.finest)
            return this.paintGroup(track.levels[level], index, x, end, y, height);
        const children = Math.min((index + 1) * timeline.fan, track.levels[level - 1].count);
        for (let child = index * timeline.fan; child < children; child++)
            this.paintNode(track, level - 1, child, y, height);
    }

    paintEvent(event, x, end, y, height) {
        const { timeline, context } = this;
        if (end <= this.filledTo) return;
        const name = timeline.kinds[timeline.kind[event]][0];
        const left = Math.max(x, -4);
        const width = Math.max(MIN_BOX, Math.min(end, this.width + 4) - left);
        const critical = this.showCritical && timeline.critical[event] > 0;
        this.boxes++;
        this.useColor(this.colors[name]);
        context.fillRect(left, y, width > 3 ? width - 0.5 : width, height);
        if (critical) this.paintCritical(left, width, y + height, 3);
        if (this.match?.[timeline.kind[event]]) this.paintMatch(left, width, y, height);
        if (width >= LABEL_MIN) this.labels.push(Math.max(x, 0), width, name);
        this.filledTo = left + width;
    }

    paintGroup(level, index, x, end, y, height) {
        if (end <= this.filledTo) return;
        const span = (end - x) / this.scale;
        const busy = span > 0 ? Math.max(0.15, 1 - level.idle[index] / span) : 1;
        const width = Math.max(MIN_BOX, end - x);
        const tall = Math.max(3, height * busy);
        this.boxes++;
        this.useColor(this.colors[level.name[index]]);
        this.context.fillRect(x, y + height - tall, width, tall);
        if (this.showCritical && level.critical[index] > 0)
            this.paintCritical(x, width, y + height, 2);
        this.filledTo = x + width;
    }

    // Red lines are drawn when the row is done: changing the colour for each costs most of a frame.
    paintCritical(x, width, bottom, height) {
        this.reds.push(x, bottom - height, width, height);
    }

    paintReds() {
        const { context, reds } = this;
        context.fillStyle = this.color = this.theme.critical;
        for (let i = 0; i < reds.length; i += 4)
            context.fillRect(reds[i], reds[i + 1], reds[i + 2], reds[i + 3]);
        reds.length = 0;
    }

    useColor(color) {
        if (this.color !== color) this.context.fillStyle = this.color = color;
    }

    paintMatch(x, width, y, height) {
        this.context.strokeStyle = this.theme.wait;
        this.context.lineWidth = 1.5;
        this.context.strokeRect(x + 0.5, y + 0.5, Math.max(1, width - 1), height - 1);
    }

    paintLabels({ y, height }) {
        const context = this.context;
        context.font = FONT;
        context.textBaseline = "middle";
        context.fillStyle = this.theme.text;
        if (!this.letter) this.letter = context.measureText("m").width;
        for (let i = 0; i < this.labels.length; i += 3) {
            const text = this.names[this.labels[i + 2]];
            const room = Math.floor((this.labels[i + 1] - 5) / this.letter);
            const shown = text.length <= room ? text : text.slice(0, room - 1) + "…";
            context.fillText(shown, this.labels[i] + 3, y + height / 2);
        }
    }

    // ---- Counters ----

    // Calls action(x, from, to) for each pixel column of the view.
    eachColumn(action) {
        const step = 1 / this.scale;
        for (let x = 0; x < this.width; x++)
            action(x, this.from + x * step, this.from + (x + 1) * step);
    }

    paintCounter(row) {
        if (row.paint === STACK) return this.paintStack(row);
        const top = row.y + 3;
        const height = row.height - 4;
        const { device } = row;
        if (row.paint === SUMMARY)
            return this.paintArea(top, height, this.theme.kernel, (from, to) =>
                meanOf(row.devices, ({ busy }) => busyShare(busy, from, to)),
            );
        if (row.line) return this.paintLine(top, height, row.line);
        if (row.memory)
            return this.paintArea(
                top,
                height,
                this.theme.launch,
                (from, to) => (memoryIn(device.memory, from, to) || 0) / device.memory.max,
            );
        return this.paintArea(
            top,
            height,
            this.theme.copy,
            (from, to) => meanRate(device.copies, from, to) / device.copies.max,
        );
    }

    // share(from, to): 0 to 1.
    paintArea(top, height, color, share) {
        const shares = new Float32Array(Math.ceil(this.width));
        this.eachColumn((x, from, to) => (shares[x] = share(from, to)));
        this.paintSteps(top, height, color, shares);
    }

    // The mean, and the maximum as a pale shadow.
    paintLine(top, height, line) {
        const [means, max] = [0, 1].map(() => new Float32Array(Math.ceil(this.width)));
        this.eachColumn((x, from, to) => {
            const found = sampledIn(line, from, to);
            if (!found) return;
            means[x] = found.mean / line.scale;
            max[x] = found.max / line.scale;
        });
        this.context.globalAlpha = 0.35;
        this.paintSteps(top, height, this.theme.kernel, max);
        this.context.globalAlpha = 1;
        this.paintSteps(top, height, this.theme.kernel, means);
    }

    // Busy time from below, then idle time by cause: together they fill the time of the device.
    // Sums up to a column's end are those up to the begin of the next one.
    paintStack({ device, y, height }) {
        const layers = [this.theme.kernel, ...this.idle];
        const shares = layers.map(() => new Float32Array(Math.ceil(this.width)));
        let before = new Float64Array(layers.length);
        let after = new Float64Array(layers.length);
        sumsUntil(device, this.from, before);
        this.eachColumn((x, from, to) => {
            sumsUntil(device, to, after);
            let sum = 0;
            for (let layer = 0; layer < layers.length; layer++)
                shares[layer][x] = sum += (after[layer] - before[layer]) * this.scale;
            [before, after] = [after, before];
        });
        for (let layer = layers.length - 1; layer >= 0; layer--)
            this.paintSteps(y + 3, height - 4, layers[layer], shares[layer]);
    }

    // Columns that are as high as the one before need no point of their own.
    paintSteps(top, height, color, shares) {
        const { context } = this;
        const bottom = top + height;
        let last = bottom;
        context.fillStyle = color;
        context.beginPath();
        context.moveTo(0, bottom);
        for (let x = 0; x < shares.length; x++) {
            const y = bottom - Math.max(0, Math.min(1, shares[x])) * height;
            if (Math.abs(y - last) < 0.05) continue;
            context.lineTo(x, last);
            context.lineTo(x, y);
            last = y;
        }
        context.lineTo(this.width, last);
        context.lineTo(this.width, bottom);
        context.fill();
    }

    // ---- Projected ranges ----

    // From one box that can be seen to the next, by binary search.
    paintSpans(row) {
        const { timeline, context } = this;
        const { begin, end, event, count } = row.spans;
        let at = Math.max(0, lastAtMost(begin, count, this.from));
        this.color = null;
        this.labels.length = 0;
        while (at < count && begin[at] <= this.to) {
            const x = Math.max(-4, this.x(begin[at]));
            const width = Math.max(this.finest, Math.min(this.x(end[at]), this.width + 4) - x);
            const name = nameIndexOf(timeline, event[at]);
            this.boxes++;
            this.useColor(this.colors[name]);
            context.fillRect(x, row.y + 1, width > 3 ? width - 1 : width, row.height - 2);
            if (width >= LABEL_MIN) this.labels.push(Math.max(x, 0), width, name);
            const next = this.from + (x + width) / this.scale;
            at = Math.max(at + 1, lastAtMost(begin, count, next));
        }
        this.paintLabels(row);
    }

    // ---- What the reader does ----

    paintSelection(rows, selected, arrows) {
        const place = this.placeOf(rows, selected);
        for (const { event, from, color } of arrows) {
            const a = this.placeOf(rows, from);
            const b = this.placeOf(rows, event);
            if (a && b)
                this.paintArrow(color === "launch" ? a.x : a.end, a.y, b.x, b.y, this.theme[color]);
        }
        if (!place) return;
        this.context.strokeStyle = this.theme.text;
        this.context.lineWidth = 2;
        this.context.strokeRect(place.x, place.y - place.height / 2 + 1,
            Math.max(2, place.end - place.x), place.height - 2);
    }

    placeOf(rows, event) {
        const { timeline } = this;
        const track = trackOf(timeline, event);
        const row = rows.find((candidate) => candidate.track === track);
        if (!row) return null;
        return {
            x: this.x(timeline.begin[event]),
            end: this.x(endOf(timeline, event)),
            y: row.y + row.height / 2,
            height: row.height,
        };
    }

    paintArrow(x, y, toX, toY, color) {
        const context = this.context;
        const bend = Math.min(60, Math.abs(toX - x) / 2 + 12);
        const clamp = (value) => Math.max(-1e4, Math.min(1e4, value));
        context.strokeStyle = context.fillStyle = color;
        context.lineWidth = 1.5;
        context.beginPath();
        context.moveTo(clamp(x), y);
        context.bezierCurveTo(clamp(x + bend), y, clamp(toX - bend), toY, clamp(toX), toY);
        context.stroke();
        context.beginPath();
        context.moveTo(clamp(toX), toY);
        context.lineTo(clamp(toX) - 7, toY - 4);
        context.lineTo(clamp(toX) - 7, toY + 4);
        context.fill();
    }

    paintBox(from, to) {
        const x = this.x(Math.min(from, to));
        this.context.strokeStyle = this.theme.launch;
        this.context.lineWidth = 1;
        this.context.strokeRect(x, AXIS_HEIGHT, this.x(Math.max(from, to)) - x, this.height);
    }

    // A stretch with its length written into it.
    paintMeasure({ from, to }) {
        const { context } = this;
        const x = this.x(from);
        const width = Math.max(1, this.x(to) - x);
        context.globalAlpha = 0.14;
        context.fillStyle = this.theme.launch;
        context.fillRect(x, AXIS_HEIGHT, width, this.height);
        context.globalAlpha = 1;
        context.fillRect(x, 0, 1, this.height);
        context.fillRect(x + width, 0, 1, this.height);
        const text = formatTime(to - from);
        const room = context.measureText(text).width + 10;
        const left = Math.max(2, Math.min(this.width - room, x + width / 2 - room / 2));
        context.fillRect(left, 1, room, AXIS_HEIGHT - 2);
        context.fillStyle = this.theme.back;
        context.fillText(text, left + 5, AXIS_HEIGHT / 2);
    }

    // Where events were left out: hatched from there on, with how many.
    paintLeftOut(until, words) {
        const x = Math.max(0, this.x(until));
        if (x > this.width) return;
        const { context } = this;
        context.save();
        context.beginPath();
        context.rect(x, AXIS_HEIGHT, this.width - x, this.height);
        context.clip();
        context.strokeStyle = this.theme.line;
        context.lineWidth = 1;
        context.beginPath();
        for (let at = x - this.height; at < this.width; at += 12) {
            context.moveTo(at, this.height);
            context.lineTo(at + this.height, 0);
        }
        context.stroke();
        const room = context.measureText(words).width + 12;
        context.fillStyle = this.theme.wait;
        context.fillRect(x, AXIS_HEIGHT, 2, this.height);
        if (this.width - x > 60) {
            context.fillStyle = this.theme.back;
            context.fillRect(x + 6, this.height - 26, room, 20);
            context.fillStyle = this.theme.wait;
            context.fillText(words, x + 12, this.height - 16);
        }
        context.restore();
    }
}

// Of a GPU, the time before a moment that it was busy, and idle by cause.
function sumsUntil({ busy, gaps }, time, into) {
    into.fill(0);
    gaps.addUntil(time, 1, into, 1);
    into[0] = busyUntil(busy, time);
}
