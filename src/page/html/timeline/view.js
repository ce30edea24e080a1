// The time line as something to work with: its elements, what is drawn, and which stretch of time
// is shown.

import { lastAtMost } from "../base/data.js";
import {
    button, choice, debounced, el, hideTip, replaceContent, showTip, wantsNoMotion,
} from "../base/dom.js";
import { formatCount, formatMoment } from "../base/format.js";
import { KEY_ACTIONS, keysMenu, legend, splitter } from "./controls.js";
import { arrowsOf, counterCard, hoverCard, renderDetails, renderInView } from "./details.js";
import {
    NONE, countMatches, endOf, eventsIn, firstFrom, matchingKinds, nextMatch, rankOf, trackOf,
} from "./events.js";
import { Gutter } from "./gutter.js";
import { AXIS_HEIGHT, Painter } from "./paint.js";
import { devicesOf } from "./rows.js";

const MIN_VIEW = 20; // ns: no view is shorter
const CLICK_PIXELS = 4; // a pointer that moves less clicks

export class TimelineView {
    // context: {memoryLines, counters (both by process), traceEnd (ns of the page), onmove(view)}
    /** @param {Timeline} timeline */
    constructor(timeline, context) {
        this.timeline = timeline;
        this.context = context;
        this.devices = devicesOf(timeline, context);
        this.view = { from: 0, to: Math.max(timeline.span, MIN_VIEW) };
        this.selected = NONE;
        this.arrows = [];
        this.box = null;
        this.measured = null;
        this.frames = 0;
        this.build();
        this.painter = new Painter(timeline, this.canvas);
        this.describeSoon = debounced(() => this.describe(), 300);
        this.listen();
        this.fit(false);
    }

    // ---- Elements ----

    build() {
        this.canvas = el("canvas", {
            tabindex: "0",
            role: "application",
            "aria-label":
                "Time line. Arrow keys move, plus and minus zoom, n and p select the next and " +
                "previous event; the selection and a table of what is in view stand below.",
            "aria-describedby": "timeline-details",
        });
        this.gutter = new Gutter(this.timeline, this.devices, this.canvas, () => this.draw());
        this.frame = this.gutter.frame;
        this.details = el("div", {
            id: "timeline-details",
            role: "region",
            tabindex: "0",
            "aria-live": "polite",
            "aria-label": "Selected event",
        });
        this.inView = el("div", { role: "region", "aria-label": "What is in view" });
        this.below = el("div", { class: "below" },
            el("section", { tabindex: "0", "aria-label": "Selection" },
                el("h2", null, "Selection"),
                this.details,
            ),
            el("section", { tabindex: "0", "aria-label": "In view" },
                this.viewTitle(),
                this.inView,
            ),
        );
        this.element = el("div", { class: "line-view" },
            this.buildTools(),
            this.leftOutNote(),
            this.frame,
            splitter(() => this.element),
            this.below,
        );
    }

    viewTitle() {
        this.inViewTitle = el("h2", null, "In view");
        return this.inViewTitle;
    }

    // What was left out is said where one looks, besides being hatched in the picture.
    leftOutNote() {
        const left = this.timeline.processes.reduce((sum, { leftOut }) => sum + leftOut, 0);
        if (!left) return null;
        const until = Math.min(...this.timeline.processes.map((process) => process.until));
        return el("p", { class: "note left-out" },
            `The page has the first ${formatCount(this.timeline.count)} events, up to ` +
                `${formatMoment(until)}. From there on ${formatCount(left)} events are left out: ` +
                "make a page with --range N or --events N to see them.",
        );
    }

    // ---- Drawing ----

    get rows() {
        return this.gutter.rows;
    }

    get blocks() {
        return this.gutter.blocks;
    }

    resize() {
        const width = this.frame.clientWidth - this.gutter.names.offsetWidth;
        if (width <= 0) return;
        if (this.painter.height !== this.frame.clientHeight) this.gutter.layOut();
        this.painter.resize(width, this.frame.clientHeight);
        this.draw();
    }

    draw() {
        if (this.pending) return;
        this.pending = true;
        requestAnimationFrame(() => {
            this.pending = false;
            this.paintNow();
        });
    }

    paintNow() {
        const { painter } = this;
        if (!painter.width) return;
        const places = this.rowsOnScreen();
        painter.paint(this.view, {
            rows: places.filter(
                ({ pinned, y, height }) => !pinned && y + height > this.gutter.pinnedEnd,
            ),
            pinned: places.filter(({ pinned }) => pinned),
            pinnedEnd: this.gutter.pinnedEnd,
            match: this.matches,
        });
        this.paintLeftOut();
        if (this.selected !== NONE) {
            const all = this.rows.filter(({ track }) => track).map((row) => this.onScreen(row));
            painter.paintSelection(all, this.selected, this.arrows);
        }
        painter.paintAxis(this.view);
        if (this.measured) painter.paintMeasure(this.measured);
        if (this.box) painter.paintBox(this.box.from, this.box.to);
        this.frames++;
    }

    paintLeftOut() {
        const left = this.timeline.processes.filter(({ leftOut }) => leftOut);
        if (!left.length) return;
        const until = Math.min(...left.map((process) => process.until));
        const count = left.reduce((sum, { leftOut }) => sum + leftOut, 0);
        this.painter.paintLeftOut(until, `${formatCount(count)} events are left out here`);
    }

    onScreen(row) {
        return row.pinned ? row : { ...row, y: row.y - this.frame.scrollTop };
    }

    // Rows in view, with their places on the canvas.
    rowsOnScreen() {
        const bottom = this.painter.height;
        return this.rows
            .map((row) => this.onScreen(row))
            .filter((row) => row.y + row.height > 0 && row.y < bottom);
    }

    visibleRows() {
        return this.rowsOnScreen().filter(({ track }) => track);
    }

    describe() {
        const stretch = this.measured || this.view;
        const what = this.measured ? "measured" : "in view";
        this.inViewTitle.textContent = this.measured ? "Measured" : "In view";
        replaceContent(this.inView, renderInView(this.timeline, stretch, what, this.devices));
    }

    // ---- Where ----

    // The whole: with what was recorded after the events that the page has.
    get whole() {
        const cut = this.timeline.processes.some(({ leftOut }) => leftOut);
        return cut ? Math.max(this.timeline.span, this.context.traceEnd) : this.timeline.span;
    }

    setView(from, to) {
        const whole = Math.max(this.whole, MIN_VIEW);
        const length = Math.min(Math.max(to - from, MIN_VIEW), whole * 1.2);
        const middle = (from + to) / 2;
        const begin = Math.max(-0.1 * whole, Math.min(middle - length / 2, 1.1 * whole - length));
        this.view = { from: begin, to: begin + length };
        this.draw();
        this.describeSoon();
        this.context.onmove();
    }

    // In a few steps, so that the eye can follow, unless motion is not wanted.
    goTo(from, to) {
        const start = { ...this.view };
        const begun = performance.now();
        this.motion = (this.motion || 0) + 1;
        const { motion } = this;
        if (wantsNoMotion()) return this.setView(from, to);
        const step = (now) => {
            const part = Math.min(1, Math.max(0, (now - begun) / 160));
            if (motion !== this.motion) return;
            this.setView(start.from + (from - start.from) * part,
                start.to + (to - start.to) * part);
            if (part < 1) requestAnimationFrame(step);
        };
        requestAnimationFrame(step);
    }

    fit(gently) {
        const margin = this.whole * 0.01;
        if (gently) this.goTo(-margin, this.whole + margin);
        else this.setView(-margin, this.whole + margin);
    }

    zoom(factor, at) {
        const { from, to } = this.view;
        const middle = at === undefined ? (from + to) / 2 : at;
        this.motion = (this.motion || 0) + 1;
        this.setView(middle - (middle - from) * factor, middle + (to - middle) * factor);
    }

    pan(part) {
        const by = (this.view.to - this.view.from) * part;
        this.motion = (this.motion || 0) + 1;
        this.setView(this.view.from + by, this.view.to + by);
    }

    showStretch(begin, end) {
        const margin = Math.max((end - begin) * 0.05, MIN_VIEW);
        this.goTo(begin - margin, end + margin);
    }

    // ---- Selection ----

    timeAt(clientX) {
        const box = this.canvas.getBoundingClientRect();
        return (
            this.view.from + ((clientX - box.left) / box.width) * (this.view.to - this.view.from)
        );
    }

    // The row at a place on the screen, pinned ones first.
    rowAt(clientY) {
        const y = clientY - this.canvas.getBoundingClientRect().top;
        const contains = (row) => y >= row.y && y < row.y + row.height;
        return this.rowsOnScreen().find(
            (row) => contains(row) && (row.pinned || y >= this.gutter.pinnedEnd),
        );
    }

    // ns that a pixel or two are.
    slack() {
        return ((this.view.to - this.view.from) / Math.max(1, this.painter.width)) * 2;
    }

    // The event at a place on the screen; a pixel or two beside it will do.
    eventAt(clientX, clientY) {
        const row = this.rowAt(clientY);
        const time = this.timeAt(clientX);
        if (row?.spans) return this.spanAt(row.spans, time);
        if (!row?.track) return NONE;
        const slack = this.slack();
        const [first, end] = eventsIn(this.timeline, row.track, time - slack, time + slack);
        for (let i = first; i < end; i++) {
            if (this.timeline.begin[i] <= time && endOf(this.timeline, i) >= time) return i;
        }
        return first < end ? first : NONE;
    }

    spanAt({ begin, end, event, count }, time) {
        const at = lastAtMost(begin, count, time + this.slack());
        return at >= 0 && end[at] >= time - this.slack() ? event[at] : NONE;
    }

    select(event) {
        this.selected = event;
        this.arrows = event === NONE ? [] : arrowsOf(this.timeline, event);
        replaceContent(
            this.details,
            renderDetails(this.timeline, event, (other) => this.show(other)),
        );
        this.draw();
        this.context.onmove();
    }

    // Selects an event and brings it into view.
    show(event) {
        const begin = this.timeline.begin[event];
        const end = endOf(this.timeline, event);
        const length = this.view.to - this.view.from;
        const fits = end - begin < length && (end - begin) * 400 > length;
        const wanted = fits ? length : Math.max((end - begin) * 20, MIN_VIEW * 5);
        this.reveal(trackOf(this.timeline, event));
        this.select(event);
        if (!fits || begin < this.view.from || end > this.view.to)
            this.goTo((begin + end - wanted) / 2, (begin + end + wanted) / 2);
    }

    reveal(track) {
        this.gutter.openTrack(track);
        const row = this.rows.find((candidate) => candidate.track === track);
        if (!row || row.pinned) return;
        const top = this.frame.scrollTop;
        if (
            row.y < top + this.gutter.pinnedEnd ||
            row.y + 2 * row.height > top + this.painter.height
        )
            this.frame.scrollTop = Math.max(0, row.y - this.painter.height / 2);
    }

    step(direction) {
        if (this.selected === NONE) {
            const { track } = this.visibleRows()[0] || this.rows.find((row) => row.track) || {};
            if (track)
                this.show(Math.min(firstFrom(this.timeline, track, this.view.from), track.end - 1));
            return;
        }
        const track = trackOf(this.timeline, this.selected);
        const next = this.selected + direction;
        if (next >= track.first && next < track.end) this.show(next);
    }

    follow(column) {
        if (this.selected !== NONE && column[this.selected] !== NONE)
            this.show(column[this.selected]);
    }

    // ---- Mouse and keyboard ----

    listen() {
        const { canvas } = this;
        new ResizeObserver(() => this.resize()).observe(this.frame);
        this.frame.addEventListener("scroll", () => {
            hideTip();
            this.draw();
        });
        canvas.addEventListener("wheel", (event) => this.onWheel(event), { passive: false });
        canvas.addEventListener("pointerdown", (event) => this.onDown(event));
        canvas.addEventListener("pointermove", (event) => this.onMove(event));
        canvas.addEventListener("pointerup", (event) => this.onUp(event));
        canvas.addEventListener("pointercancel", () => this.onCancel());
        canvas.addEventListener("pointerleave", () => hideTip());
        canvas.addEventListener("dblclick", (event) => this.onDouble(event));
        canvas.addEventListener("keydown", (event) => this.onKey(event));
    }

    onWheel(event) {
        event.preventDefault();
        const sideways = event.shiftKey ? event.deltaY || event.deltaX : event.deltaX;
        if (Math.abs(sideways) > Math.abs(event.shiftKey ? 0 : event.deltaY))
            return this.pan(sideways / Math.max(1, this.painter.width));
        this.zoom(1.0015 ** Math.max(-400, Math.min(400, event.deltaY)),
            this.timeAt(event.clientX));
    }

    onDown(event) {
        if (event.button !== 0) return;
        this.canvas.setPointerCapture(event.pointerId);
        this.held = {
            x: event.clientX,
            y: event.clientY,
            view: { ...this.view },
            top: this.frame.scrollTop,
            box: event.shiftKey,
            measure: this.measuring || this.isInRuler(event.clientY),
            moved: false,
        };
        hideTip();
    }

    isInRuler(clientY) {
        return clientY - this.canvas.getBoundingClientRect().top < AXIS_HEIGHT;
    }

    onMove(event) {
        const { held } = this;
        if (!held) return this.hover(event);
        const dx = event.clientX - held.x;
        const dy = event.clientY - held.y;
        held.moved = held.moved || Math.hypot(dx, dy) > CLICK_PIXELS;
        if (!held.moved) return;
        if (held.box) {
            this.box = { from: this.timeAt(held.x), to: this.timeAt(event.clientX) };
            return this.draw();
        }
        if (held.measure)
            return this.measure({ from: this.timeAt(held.x), to: this.timeAt(event.clientX) });
        const by = (dx / this.painter.width) * (held.view.to - held.view.from);
        this.frame.scrollTop = held.top - dy;
        this.motion = (this.motion || 0) + 1;
        this.setView(held.view.from - by, held.view.to - by);
    }

    onUp(event) {
        const { held, box } = this;
        this.onCancel();
        if (!held) return;
        if (!held.moved) return this.select(this.eventAt(event.clientX, event.clientY));
        if (held.measure && !held.box) return;
        if (box) this.goTo(Math.min(box.from, box.to), Math.max(box.from, box.to));
    }

    onCancel() {
        this.held = null;
        this.box = null;
        this.draw();
    }

    onDouble(event) {
        const found = this.eventAt(event.clientX, event.clientY);
        if (found === NONE) this.fit(true);
        else this.showStretch(this.timeline.begin[found], endOf(this.timeline, found));
    }

    hover(event) {
        const found = this.eventAt(event.clientX, event.clientY);
        if (found !== NONE)
            return showTip(event.clientX, event.clientY, hoverCard(this.timeline, found));
        const row = this.rowAt(event.clientY);
        if (!row?.device) return hideTip();
        const time = this.timeAt(event.clientX);
        const slack = this.slack() / 4;
        showTip(event.clientX, event.clientY, counterCard(row, time, time - slack, time + slack));
    }

    onKey(event) {
        if (event.ctrlKey || event.metaKey || event.altKey) return;
        const action = KEY_ACTIONS[event.key];
        if (!action) return;
        event.preventDefault();
        action(this);
    }

    // ---- Tools ----

    buildTools() {
        this.status = el("span", { role: "status" });
        this.search = el("input", {
            type: "search",
            placeholder: "Name of an event",
            "aria-label": "Search events by name",
            oninput: () => this.newSearch(),
            onkeydown: (event) => {
                if (event.key === "Enter") this.jump(event.shiftKey ? -1 : 1);
            },
        });
        this.criticalButton = button("Critical path", () => this.toggleCritical(), {
            "aria-pressed": "true",
        });
        this.measureButton = button("Measure", () => this.toggleMeasure(), {
            "aria-pressed": "false",
        });
        return el("div", { class: "tools" },
            this.search,
            button("Previous", () => this.jump(-1)),
            button("Next", () => this.jump(1)),
            this.status,
            button("Zoom in", () => this.zoom(0.5)),
            button("Zoom out", () => this.zoom(2)),
            button("Fit", () => this.fit(true)),
            this.measureButton,
            this.criticalButton,
            this.orderChoice(),
            legend(),
            keysMenu(),
        );
    }

    orderChoice() {
        const orders = { recorded: "as recorded", name: "by name", time: "by time" };
        const use = (index) => this.gutter.arrange(Object.keys(orders)[index]);
        return el("span", null, choice("row-order", "Rows ", Object.values(orders), use).parts);
    }

    toggleCritical() {
        this.painter.showCritical = !this.painter.showCritical;
        this.criticalButton.setAttribute("aria-pressed", String(this.painter.showCritical));
        this.draw();
    }

    toggleMeasure() {
        this.measuring = !this.measuring;
        this.measureButton.setAttribute("aria-pressed", String(this.measuring));
        if (!this.measuring) this.measure(null);
    }

    // stretch: {from, to}, or null for none.
    measure(stretch) {
        this.measured = stretch && {
            from: Math.min(stretch.from, stretch.to),
            to: Math.max(stretch.from, stretch.to),
        };
        this.draw();
        this.describeSoon();
    }

    // ---- Search ----

    newSearch() {
        const text = this.search.value.trim();
        this.matches = text ? matchingKinds(this.timeline, text) : null;
        this.found = text ? countMatches(this.timeline, this.matches) : 0;
        this.status.textContent = text ? `${formatCount(this.found)} found` : "";
        this.draw();
    }

    jump(direction) {
        if (!this.matches) return this.search.focus();
        const time = this.selected === NONE ? this.view.from : this.timeline.begin[this.selected];
        const found = nextMatch(this.timeline, this.matches, time, this.selected, direction);
        if (found === NONE) {
            this.status.textContent =
                `${direction > 0 ? "none further on" : "none before"}, ` +
                `${formatCount(this.found)} found`;
            return;
        }
        const rank = rankOf(this.timeline, this.matches, found);
        this.status.textContent = `${formatCount(rank)} of ${formatCount(this.found)}`;
        this.show(found);
    }
}
