// The time line as something to work with: which stretch of time and which rows are shown, and
// mouse, keyboard and search.

const GUTTER = 190; // pixels, as in page.css
const NEAREST = 20; // ns: no view is shorter

class TimelineView {
    constructor(timeline) {
        this.timeline = timeline;
        this.view = { from: 0, to: Math.max(timeline.span, NEAREST) };
        this.selected = NONE;
        this.arrows = [];
        this.collapsed = new Set();
        this.box = null;
        this.frames = 0;
        this.build();
        this.painter = new Painter(timeline, this.canvas);
        this.layOut();
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
        this.gutter = el("div", { class: "gutter" });
        this.spacer = el("div", { class: "spacer" });
        this.frame = el("div", { class: "timeline" }, this.gutter, this.spacer, this.canvas);
        this.details = el("div", {
            id: "timeline-details",
            role: "region",
            "aria-live": "polite",
            "aria-label": "Selected event",
        });
        this.inView = el("div", { role: "region", "aria-label": "What is in view" });
        this.status = el("span", { role: "status" });
        this.element = el(
            "div",
            null,
            this.buildTools(),
            this.frame,
            this.buildKeys(),
            el(
                "div",
                { class: "below" },
                el("section", null, el("h2", null, "Selection"), this.details),
                el("section", null, el("h2", null, "In view"), this.inView),
            ),
        );
    }

    buildTools() {
        const button = (text, action) => el("button", { type: "button", onclick: action }, text);
        this.search = el("input", {
            type: "search",
            placeholder: "Name of an event",
            "aria-label": "Search events by name",
            oninput: () => this.newSearch(),
            onkeydown: (event) => {
                if (event.key === "Enter") this.jump(event.shiftKey ? -1 : 1);
            },
        });
        this.criticalButton = el(
            "button",
            { type: "button", "aria-pressed": "true", onclick: () => this.toggleCritical() },
            "Critical path",
        );
        return el(
            "div",
            { class: "tools" },
            this.search,
            button("Previous", () => this.jump(-1)),
            button("Next", () => this.jump(1)),
            this.status,
            button("Zoom in", () => this.zoom(0.5)),
            button("Zoom out", () => this.zoom(2)),
            button("Fit", () => this.fit(true)),
            this.criticalButton,
        );
    }

    buildKeys() {
        const keys = [
            ["wheel, w s, + -", "zoom"],
            ["drag, a d, ← →", "move"],
            ["↑ ↓", "rows"],
            ["shift + drag", "zoom to a stretch"],
            ["double click, f", "fit"],
            ["n p", "next, previous event"],
            ["l", "to the launch"],
            ["b", "to what it waited for"],
            ["c", "critical path"],
            ["/", "search"],
            ["Esc", "no selection"],
        ];
        return el(
            "p",
            { class: "keys" },
            keys.map(([key, what]) => [el("kbd", null, key), ` ${what}  `]),
        );
    }

    // ---- Rows ----

    layOut() {
        this.rows = [];
        const labels = [];
        let y = ROW_HEIGHT; // below the axis
        this.timeline.lanes.forEach((lane, index) => {
            const tracks = this.timeline.tracks.filter((track) => track.lane === index);
            if (!tracks.length) return;
            labels.push(this.laneLabel(lane, index, y));
            if (this.collapsed.has(index)) {
                // One row in place of all: what the thread called, or the stream ran.
                this.rows.push({
                    track: tracks.find((track) => track.kind !== "ranges") || tracks[0],
                    y,
                });
                y += ROW_HEIGHT;
                return;
            }
            y += ROW_HEIGHT;
            for (const track of tracks) {
                if (track.depth === 0) labels.push(this.trackLabel(track, y));
                this.rows.push({ track, y });
                y += ROW_HEIGHT;
            }
        });
        this.height = y;
        this.gutter.replaceChildren(...labels);
        this.gutter.style.height = this.spacer.style.height = y + "px";
        this.frame.style.height = `min(58vh, ${Math.max(y + ROW_HEIGHT, 260)}px)`;
    }

    laneLabel(lane, index, y) {
        const open = !this.collapsed.has(index);
        const label = el(
            "button",
            {
                type: "button",
                "aria-expanded": String(open),
                title: laneTitle(lane),
                onclick: () => this.toggleLane(index),
            },
            `${open ? "▾" : "▸"} ${laneTitle(lane)}`,
        );
        label.style.top = y + "px";
        return label;
    }

    trackLabel(track, y) {
        const text =
            track.kind === "ranges"
                ? `NVTX ${track.domain || ""}`
                : track.kind === "calls"
                  ? "API calls"
                  : "work";
        const label = el("span", { title: text }, text);
        label.style.top = y + "px";
        return label;
    }

    toggleLane(index) {
        if (!this.collapsed.delete(index)) this.collapsed.add(index);
        this.layOut();
        this.gutter.children[0].focus();
        this.draw();
    }

    visibleRows() {
        const top = this.frame.scrollTop;
        return this.rows
            .filter((row) => row.y + ROW_HEIGHT > top && row.y < top + this.painter.height)
            .map((row) => ({ track: row.track, y: row.y - top }));
    }

    // ---- Drawing ----

    resize() {
        const width = this.frame.clientWidth - GUTTER;
        if (width <= 0) return;
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
        if (!this.painter.width) return;
        this.painter.paint(this.view, this.visibleRows());
        if (this.selected !== NONE) {
            // Arrows may lead to rows that are scrolled away.
            const top = this.frame.scrollTop;
            const rows = this.rows.map((row) => ({ track: row.track, y: row.y - top }));
            this.painter.paintSelection(rows, this.selected, this.arrows);
        }
        this.painter.paintAxis(this.view);
        if (this.box) this.painter.paintBox(this.box.from, this.box.to);
        this.frames++;
    }

    describe() {
        replaceContent(this.inView, renderInView(this.timeline, this.view));
    }

    // ---- Where ----

    setView(from, to) {
        const whole = Math.max(this.timeline.span, NEAREST);
        const length = Math.min(Math.max(to - from, NEAREST), whole * 1.2);
        const middle = (from + to) / 2;
        const least = -0.1 * whole;
        let begin = middle - length / 2;
        begin = Math.max(least, Math.min(begin, 1.1 * whole - length));
        this.view = { from: begin, to: begin + length };
        this.draw();
        this.describeSoon();
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
        const margin = this.timeline.span * 0.01;
        if (gently) this.goTo(-margin, this.timeline.span + margin);
        else this.setView(-margin, this.timeline.span + margin);
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

    timeAt(clientX) {
        const box = this.canvas.getBoundingClientRect();
        return (
            this.view.from + ((clientX - box.left) / box.width) * (this.view.to - this.view.from)
        );
    }

    // The event at a place on the screen; a pixel or two beside it will do.
    eventAt(clientX, clientY) {
        const y = clientY - this.canvas.getBoundingClientRect().top + this.frame.scrollTop;
        const row = this.rows.find((candidate) => y >= candidate.y && y < candidate.y + ROW_HEIGHT);
        const time = this.timeAt(clientX);
        const slack = ((this.view.to - this.view.from) / Math.max(1, this.painter.width)) * 2;
        if (!row) return NONE;
        const [first, end] = eventsIn(this.timeline, row.track, time - slack, time + slack);
        for (let i = first; i < end; i++) {
            if (this.timeline.begin[i] <= time && endOf(this.timeline, i) >= time) return i;
        }
        return first < end ? first : NONE;
    }

    // ---- Selection ----

    select(event) {
        this.selected = event;
        this.arrows = event === NONE ? [] : arrowsOf(this.timeline, event);
        replaceContent(
            this.details,
            renderDetails(this.timeline, event, (other) => this.show(other)),
        );
        this.draw();
    }

    // Selects an event and brings it into view.
    show(event) {
        const begin = this.timeline.begin[event];
        const end = endOf(this.timeline, event);
        const length = this.view.to - this.view.from;
        const fits = end - begin < length && (end - begin) * 400 > length;
        const wanted = fits ? length : Math.max((end - begin) * 20, NEAREST * 5);
        this.reveal(trackOf(this.timeline, event));
        this.select(event);
        if (!fits || begin < this.view.from || end > this.view.to)
            this.goTo((begin + end - wanted) / 2, (begin + end + wanted) / 2);
    }

    reveal(track) {
        if (this.collapsed.delete(track.lane)) this.layOut();
        const row = this.rows.find((candidate) => candidate.track === track);
        const top = this.frame.scrollTop;
        if (row && (row.y < top + ROW_HEIGHT || row.y + 2 * ROW_HEIGHT > top + this.painter.height))
            this.frame.scrollTop = Math.max(0, row.y - this.painter.height / 2);
    }

    showStretch(begin, end) {
        const margin = Math.max((end - begin) * 0.05, NEAREST);
        this.goTo(begin - margin, end + margin);
    }

    step(direction) {
        if (this.selected === NONE) {
            const track = (this.visibleRows()[0] || this.rows[0] || {}).track;
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

    toggleCritical() {
        this.painter.showCritical = !this.painter.showCritical;
        this.criticalButton.setAttribute("aria-pressed", String(this.painter.showCritical));
        this.draw();
    }

    // ---- Search ----

    newSearch() {
        const text = this.search.value.trim();
        this.matches = text ? matchingKinds(this.timeline, text) : null;
        this.status.textContent = text
            ? `${formatCount(countMatches(this.timeline, this.matches))} found`
            : "";
    }

    jump(direction) {
        if (!this.matches) return this.search.focus();
        const time = this.selected === NONE ? this.view.from : this.timeline.begin[this.selected];
        const found = nextMatch(this.timeline, this.matches, time, this.selected, direction);
        if (found === NONE)
            this.status.textContent = direction > 0 ? "none further on" : "none before";
        else this.show(found);
    }
}
