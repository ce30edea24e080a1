// The time line as something to work with: its elements, what is drawn, and which stretch of time
// is shown.

const NEAREST = 20; // ns: no view is shorter

class TimelineView {
    // context: {memoryLines, counters (both by process), traceEnd (ns of the page), onmove(view)}
    constructor(timeline, context) {
        this.timeline = timeline;
        this.context = context;
        this.devices = devicesOf(timeline, context);
        this.view = { from: 0, to: Math.max(timeline.span, NEAREST) };
        this.selected = NONE;
        this.arrows = [];
        this.closed = new Set();
        this.pins = new Set();
        this.scales = new Map();
        this.order = "recorded";
        this.box = null;
        this.measured = null;
        this.frames = 0;
        this.build();
        this.painter = new Painter(timeline, this.canvas);
        this.describeSoon = debounced(() => this.describe(), 300);
        this.arrange();
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
        this.pinned = el("div", { class: "pins" });
        this.gutter = el("div", { class: "gutter" });
        this.spacer = el("div", { class: "spacer" });
        this.frame = el(
            "div",
            { class: "timeline" },
            this.pinned,
            this.gutter,
            this.spacer,
            this.canvas,
        );
        this.details = el("div", {
            id: "timeline-details",
            role: "region",
            tabindex: "0",
            "aria-live": "polite",
            "aria-label": "Selected event",
        });
        this.inView = el("div", { role: "region", "aria-label": "What is in view" });
        this.below = el(
            "div",
            { class: "below" },
            el(
                "section",
                { tabindex: "0", "aria-label": "Selection" },
                el("h2", null, "Selection"),
                this.details,
            ),
            el(
                "section",
                { tabindex: "0", "aria-label": "In view" },
                this.viewTitle(),
                this.inView,
            ),
        );
        this.element = el(
            "div",
            { class: "line-view" },
            this.buildTools(),
            this.leftOutNote(),
            this.frame,
            this.splitter(),
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
        return el(
            "p",
            { class: "note left-out" },
            `The page has the first ${formatCount(this.timeline.count)} events, up to ` +
                `${formatMoment(until)}. From there on ${formatCount(left)} events are left out: ` +
                "make a page with --range N or --events N to see them.",
        );
    }

    // ---- Drawing ----

    get gutterWidth() {
        return this.gutter.offsetWidth;
    }

    resize() {
        const width = this.frame.clientWidth - this.gutterWidth;
        if (width <= 0) return;
        if (this.painter.height !== this.frame.clientHeight) this.layOut();
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
            rows: places.filter(({ pinned, y, height }) => !pinned && y + height > this.pinnedEnd),
            pinned: places.filter(({ pinned }) => pinned),
            pinnedEnd: this.pinnedEnd,
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

    // The whole: with what was recorded behind the events that the page has.
    get whole() {
        const cut = this.timeline.processes.some(({ leftOut }) => leftOut);
        return cut ? Math.max(this.timeline.span, this.context.traceEnd) : this.timeline.span;
    }

    setView(from, to) {
        const whole = Math.max(this.whole, NEAREST);
        const length = Math.min(Math.max(to - from, NEAREST), whole * 1.2);
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
            this.setView(
                start.from + (from - start.from) * part,
                start.to + (to - start.to) * part,
            );
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
        const margin = Math.max((end - begin) * 0.05, NEAREST);
        this.goTo(begin - margin, end + margin);
    }
}
