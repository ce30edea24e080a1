// Charts on a canvas: lines and points over time or number. And bars, which are a table with a
// coloured cell.

import { isNothing, lastAtMost } from "./data.js";
import { bar, cssColor, el, plainTable, replaceContent, section, setStyle } from "./dom.js";

// ---- Axes: which stretch of values they show, and where they have marks ----

const X_MARK_SPACE = 70; // pixels from one mark to the next, at least
const Y_MARK_SPACE = 30;

// Minimum and maximum of all numbers in these lists; null without any.
function extentOf(lists) {
    let low = Infinity;
    let high = -Infinity;
    for (const list of lists) {
        for (const value of list) {
            if (isNothing(value)) continue;
            if (value < low) low = value;
            if (value > high) high = value;
        }
    }
    return low <= high ? { low, high } : null;
}

// The smallest step by which a stretch has no more marks than there is room for: one of `steps`,
// else 1, 2 or 5 times a power of ten.
function markStep(length, max, steps) {
    const min = length / Math.max(max, 1);
    const power = 10 ** Math.floor(Math.log10(min));
    return (steps || [1, 2, 5, 10].map((times) => times * power)).find((step) => step >= min);
}

function marksOf(low, high, step) {
    const first = Math.ceil(low / step - 1e-9);
    const count = Math.floor(high / step + 1e-9) - first + 1;
    return Array.from({ length: count }, (none, i) => (first + i) * step);
}

// From pixel `from` to pixel `to`, the ends of the data at the ends.
function xAxis(values, from, to, marks) {
    const { low, high } = extentOf([values]) || { low: 0, high: 1 };
    const axis = low < high ? { low, high, from, to } : { low: low - 1, high: low + 1, from, to };
    const step = markStep(axis.high - axis.low, (to - from) / X_MARK_SPACE);
    return { ...axis, marks: marks || marksOf(axis.low, axis.high, step) };
}

// The same upwards, with room above and below, from mark to mark. What is near to 0 begins there.
function yAxis(lists, from, to, steps) {
    const { low, high } = extentOf(lists) || { low: 0, high: 1 };
    const room = (high - low || Math.abs(high) || 1) / 10;
    const min = low >= 0 && low < 4 * room ? 0 : low - room;
    const step = markStep(high + room - min, (from - to) / Y_MARK_SPACE, steps);
    const first = Math.floor(min / step) * step;
    const last = Math.ceil((high + room) / step) * step;
    return { low: first, high: last, from, to, marks: marksOf(first, last, step) };
}

function placeOn({ low, high, from, to }, value) {
    return from + ((value - low) / (high - low)) * (to - from);
}

function valueAt({ low, high, from, to }, place) {
    return low + ((place - from) / (to - from)) * (high - low);
}

// ---- Charts ----

const CHART_HEIGHT = 190;
const CHART_EDGES = { left: 76, right: 12, top: 8, bottom: 24 }; // pixels around the plot
const CHART_FONT = "12px system-ui, sans-serif";

export const charts = new Set(); // all that are on the page, for a new theme

// options: title, series [{label, color, points, fill}], data [[x...], [y...], ...], labelX,
// formatX, formatY, stepsY (distances of marks that may be), splitsX (where the axis has marks),
// onclick(index), plain (the title is not shown). x rises; y may be nothing.
class Chart {
    constructor(options) {
        this.options = options;
        this.canvas = el("canvas", {
            class: options.onclick && "link",
            onpointermove: ({ offsetX }) => this.read(this.nearest(offsetX)),
            onpointerleave: () => this.read(null),
            onclick: ({ offsetX }) => {
                const index = this.nearest(offsetX);
                if (index !== null) options.onclick?.(index);
            },
        });
        this.cursor = el("div", { class: "chart-cursor" });
        this.legend = el("p", { class: "chart-legend" });
        this.element = el("div", { class: "chart", role: "img", "aria-label": options.title },
            options.plain ? null : el("p", { class: "chart-title" }, options.title),
            el("div", { class: "chart-plot" }, this.canvas, this.cursor),
            this.legend,
        );
        this.read(null);
        new ResizeObserver(() => this.draw()).observe(this.element);
    }

    // The number of the value whose x is nearest to a place.
    nearest(place) {
        const [xs] = this.options.data;
        if (!xs.length) return null;
        const value = valueAt(this.x, place);
        const before = Math.max(0, lastAtMost(xs, xs.length, value));
        const after = Math.min(before + 1, xs.length - 1);
        return value - xs[before] <= xs[after] - value ? before : after;
    }

    // Says what a value is; null: only the series.
    read(index) {
        const { data, series, labelX, formatX, formatY } = this.options;
        const said = (label, value, format) =>
            isNothing(value) ? label : `${label}: ${format(value)}`;
        const items = series.map(({ label, color }, i) => {
            const key = el("i", { class: "chart-key", style: { background: `var(${color})` } });
            return el("span", null, key, said(label, data[i + 1][index], formatY));
        });
        if (index !== null) items.unshift(el("span", null, said(labelX, data[0][index], formatX)));
        replaceContent(this.legend, items);
        this.cursor.hidden = index === null;
        if (index !== null) this.cursor.style.left = `${placeOn(this.x, data[0][index])}px`;
    }

    draw() {
        const width = this.element.clientWidth;
        if (!width) return;
        const { data, series, splitsX, stepsY } = this.options;
        const { left, right, top, bottom } = CHART_EDGES;
        this.x = xAxis(data[0], left, Math.max(width - right, left + 1), splitsX);
        this.y = yAxis(data.slice(1), CHART_HEIGHT - bottom, top, stepsY);
        const context = this.prepare(width);
        this.drawMarksX(context, width);
        this.drawMarksY(context);
        series.forEach((one, i) => this.drawSeries(context, one, data[i + 1]));
    }

    prepare(width) {
        const { canvas } = this;
        const context = canvas.getContext("2d");
        canvas.width = Math.round(width * devicePixelRatio);
        canvas.height = Math.round(CHART_HEIGHT * devicePixelRatio);
        setStyle(canvas, { width: `${width}px`, height: `${CHART_HEIGHT}px` });
        context.scale(devicePixelRatio, devicePixelRatio);
        context.font = CHART_FONT;
        this.colors = { line: cssColor("--line"), faint: cssColor("--faint") };
        return context;
    }

    // Names that would touch the one before are left out.
    drawMarksX(context, width) {
        const bottom = this.y.from;
        let free = 0;
        context.textBaseline = "top";
        context.textAlign = "center";
        for (const mark of this.x.marks) {
            const text = this.options.formatX(mark);
            const half = context.measureText(text).width / 2;
            const place = placeOn(this.x, mark);
            const middle = Math.min(place, width - half);
            context.fillStyle = this.colors.line;
            context.fillRect(Math.round(place), this.y.to, 1, bottom - this.y.to + 5);
            if (middle - half < free) continue;
            free = middle + half + 8;
            context.fillStyle = this.colors.faint;
            context.fillText(text, middle, bottom + 9);
        }
    }

    drawMarksY(context) {
        const { from, to } = this.x;
        context.textBaseline = "middle";
        context.textAlign = "right";
        for (const mark of this.y.marks) {
            const place = Math.round(placeOn(this.y, mark));
            context.fillStyle = this.colors.line;
            context.fillRect(from - 5, place, to - from + 5, 1);
            context.fillStyle = this.colors.faint;
            context.fillText(this.options.formatY(mark), from - 9, place);
        }
    }

    drawSeries(context, { color, points, fill }, values) {
        context.fillStyle = context.strokeStyle = cssColor(color);
        context.lineWidth = 1.5;
        if (points) return this.drawPoints(context, values);
        for (const run of this.runsOf(values)) this.drawRun(context, run, fill);
    }

    // Values without a gap between them, as places.
    runsOf(values) {
        const runs = [];
        let run = null;
        values.forEach((value, i) => {
            if (isNothing(value)) run = null;
            else {
                if (!run) runs.push((run = []));
                run.push([placeOn(this.x, this.options.data[0][i]), placeOn(this.y, value)]);
            }
        });
        return runs;
    }

    drawRun(context, run, fill) {
        context.beginPath();
        for (const [x, y] of run) context.lineTo(x, y);
        context.stroke();
        if (!fill) return;
        context.lineTo(run[run.length - 1][0], this.y.from);
        context.lineTo(run[0][0], this.y.from);
        context.globalAlpha = 0.2;
        context.fill();
        context.globalAlpha = 1;
    }

    drawPoints(context, values) {
        context.beginPath();
        for (const [x, y] of this.runsOf(values).flat()) {
            context.moveTo(x, y);
            context.arc(x, y, 2.5, 0, 2 * Math.PI);
        }
        context.fill();
    }
}

export function makeChart(options) {
    const chart = new Chart(options);
    charts.add(chart);
    return chart.element;
}

export function redrawCharts() {
    for (const chart of charts) chart.draw();
}

// rows: [{name, value, text}], the largest first.
export function bars(title, rows) {
    const max = Math.max(...rows.map((row) => row.value), 1e-9);
    return section(
        title,
        plainTable(
            { class: "bars", "aria-label": title },
            [],
            rows.map((row) => [
                el("th", { class: "name", scope: "row", title: row.name }, row.short || row.name),
                el("td", { class: "number" }, row.text),
                el("td", { "aria-hidden": "true" }, bar(row.value / max)),
            ]),
        ),
    );
}
