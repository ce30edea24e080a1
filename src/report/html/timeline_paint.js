// Draws the time line on a canvas.
//
// A track is a tree: groups of events, groups of groups, up to one that holds all. Drawing descends
// from the top and stops where a group is a few pixels wide, so a frame costs as many boxes as
// there are pixels to fill, whatever the number of events. How few pixels follows from a budget.

const ROW_HEIGHT = 18;
const BOX_BUDGET = 6000;
const FINEST = 1.5; // pixels: no box is narrower, and what ends inside the one before is not drawn
const LABEL_LEAST = 30; // pixels
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

class Painter {
    constructor(timeline, canvas) {
        this.timeline = timeline;
        this.canvas = canvas;
        this.context = canvas.getContext("2d", { alpha: false });
        this.boxes = 0;
        this.showCritical = true;
        this.labels = [];
        this.names = timeline.names.map(([, name]) => shortName(name));
        this.useTheme();
    }

    useTheme() {
        const dark = document.documentElement.dataset.theme === "dark";
        this.colors = colorsOf(this.timeline, dark);
        this.theme = {};
        for (const name of ["back", "panel", "line", "text", "faint", "critical", "launch", "wait"])
            this.theme[name] = cssColor("--" + name);
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

    // rows: [{track, y}], y from the top of the canvas; view: {from, to} in ns.
    paint(view, rows) {
        const context = this.context;
        this.from = view.from;
        this.scale = this.width / (view.to - view.from);
        this.finest = Math.max(FINEST, (rows.length * this.width) / BOX_BUDGET);
        this.boxes = 0;
        context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
        context.fillStyle = this.theme.back;
        context.fillRect(0, 0, this.width, this.height);
        this.paintGrid(view);
        for (const row of rows) this.paintRow(row);
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

    paintGrid(view) {
        this.context.fillStyle = this.theme.panel;
        this.eachTick(view, (time, x) => this.context.fillRect(x, 0, 1, this.height));
    }

    paintAxis(view) {
        const context = this.context;
        context.fillStyle = this.theme.panel;
        context.fillRect(0, 0, this.width, ROW_HEIGHT);
        context.fillStyle = this.theme.faint;
        context.font = FONT;
        context.textBaseline = "middle";
        this.eachTick(view, (time, x) => context.fillText(formatTick(time), x + 3, ROW_HEIGHT / 2));
    }

    // ---- Boxes ----

    paintRow(row) {
        const { track } = row;
        if (row.y + ROW_HEIGHT < 0 || row.y > this.height) return;
        this.filledTo = -1;
        this.labels.length = 0;
        this.paintNode(track, track.levels.length - 1, 0, row.y + 1, ROW_HEIGHT - 2);
        this.paintLabels(row.y);
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
        context.fillStyle = this.colors[name];
        context.fillRect(left, y, width > 3 ? width - 0.5 : width, height);
        if (critical) this.paintCritical(left, width, y + height, 3);
        if (width >= LABEL_LEAST) this.labels.push(Math.max(x, 0), width, name);
        this.filledTo = left + width;
    }

    paintGroup(level, index, x, end, y, height) {
        if (end <= this.filledTo) return;
        const span = (end - x) / this.scale;
        const busy = span > 0 ? Math.max(0.15, 1 - level.idle[index] / span) : 1;
        const width = Math.max(FINEST, end - x);
        const tall = Math.max(3, height * busy);
        this.boxes++;
        this.context.fillStyle = this.colors[level.name[index]];
        this.context.fillRect(x, y + height - tall, width, tall);
        if (this.showCritical && level.critical[index] > 0)
            this.paintCritical(x, width, y + height, 2);
        this.filledTo = x + width;
    }

    paintCritical(x, width, bottom, height) {
        this.context.fillStyle = this.theme.critical;
        this.context.fillRect(x, bottom - height, width, height);
    }

    paintLabels(y) {
        const context = this.context;
        context.font = FONT;
        context.textBaseline = "middle";
        context.fillStyle = this.theme.text;
        if (!this.letter) this.letter = context.measureText("m").width;
        for (let i = 0; i < this.labels.length; i += 3) {
            const text = this.names[this.labels[i + 2]];
            const room = Math.floor((this.labels[i + 1] - 5) / this.letter);
            const shown = text.length <= room ? text : text.slice(0, room - 1) + "…";
            context.fillText(shown, this.labels[i] + 3, y + ROW_HEIGHT / 2);
        }
    }

    // ---- What is selected, and its arrows ----

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
        this.context.strokeRect(
            place.x,
            place.y - ROW_HEIGHT / 2 + 1,
            Math.max(2, place.end - place.x),
            ROW_HEIGHT - 2,
        );
    }

    placeOf(rows, event) {
        const { timeline } = this;
        const track = trackOf(timeline, event);
        const row = rows.find((candidate) => candidate.track === track);
        if (!row) return null;
        return {
            x: this.x(timeline.begin[event]),
            end: this.x(endOf(timeline, event)),
            y: row.y + ROW_HEIGHT / 2,
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
        this.context.strokeRect(x, ROW_HEIGHT, this.x(Math.max(from, to)) - x, this.height);
    }
}
