// Draws the time line on a canvas.
//
// A track is a tree: groups of events, groups of groups, up to one that holds all. Drawing descends
// from the top and stops where a group is a few pixels wide, so a frame costs as many boxes as
// there are pixels to fill, whatever the number of events. How few pixels follows from a budget.

const AXIS_HEIGHT = 20;
const BOX_BUDGET = 6000;
const FINEST = 1.5; // pixels: no box is narrower, and what ends inside the one before is not drawn
const LABEL_MIN = 30; // pixels
const FONT = '11px ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace';

function hashOf(text) {
    let hash = 2166136261;
    for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 16777619);
    return (hash >>> 0) / 2 ** 32;
}

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

class Painter {
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
        this.canvas.style.width = width + "px";
        this.canvas.style.height = height + "px";
    }

    // rows: of rows.js, y from the top of the canvas; pinned: those that stay at the top, down to
    // pinnedEnd; view: {from, to} in ns; match: by kind whether a search found it.
    paint(view, { rows, pinned, pinnedEnd, match }) {
        this.from = view.from;
        this.to = view.to;
        this.match = match;
        this.scale = this.width / (view.to - view.from);
        const count = rows.length + pinned.length;
        this.finest = Math.max(FINEST, (count * this.width) / BOX_BUDGET);
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
        const width = Math.max(FINEST, Math.min(end, this.width + 4) - left);
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
        const width = Math.max(FINEST, end - x);
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
}
