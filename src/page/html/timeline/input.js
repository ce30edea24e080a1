// Mouse and keyboard of the time line.

const CLICK_PIXELS = 4;

Object.assign(TimelineView.prototype, {
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
    },

    onWheel(event) {
        event.preventDefault();
        const sideways = event.shiftKey ? event.deltaY || event.deltaX : event.deltaX;
        if (Math.abs(sideways) > Math.abs(event.shiftKey ? 0 : event.deltaY))
            return this.pan(sideways / Math.max(1, this.painter.width));
        this.zoom(
            1.0015 ** Math.max(-400, Math.min(400, event.deltaY)),
            this.timeAt(event.clientX),
        );
    },

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
    },

    isInRuler(clientY) {
        return clientY - this.canvas.getBoundingClientRect().top < AXIS_HEIGHT;
    },

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
    },

    onUp(event) {
        const { held, box } = this;
        this.onCancel();
        if (!held) return;
        if (!held.moved) return this.select(this.eventAt(event.clientX, event.clientY));
        if (held.measure && !held.box) return;
        if (box) this.goTo(Math.min(box.from, box.to), Math.max(box.from, box.to));
    },

    onCancel() {
        this.held = null;
        this.box = null;
        this.draw();
    },

    onDouble(event) {
        const found = this.eventAt(event.clientX, event.clientY);
        if (found === NONE) this.fit(true);
        else this.showStretch(this.timeline.begin[found], endOf(this.timeline, found));
    },

    hover(event) {
        const found = this.eventAt(event.clientX, event.clientY);
        if (found !== NONE)
            return showTip(event.clientX, event.clientY, hoverCard(this.timeline, found));
        const row = this.rowAt(event.clientY);
        if (!row?.device) return hideTip();
        const time = this.timeAt(event.clientX);
        const slack = this.slack() / 4;
        showTip(event.clientX, event.clientY, counterCard(row, time, time - slack, time + slack));
    },

    onKey(event) {
        if (event.ctrlKey || event.metaKey || event.altKey) return;
        const action = KEY_ACTIONS[event.key];
        if (!action) return;
        event.preventDefault();
        action(this);
    },
});

const KEY_ACTIONS = (() => {
    const left = (view) => view.pan(-0.2);
    const right = (view) => view.pan(0.2);
    const nearer = (view) => view.zoom(1 / 1.5);
    const farther = (view) => view.zoom(1.5);
    const scroll = (rows) => (view) => {
        view.frame.scrollTop += rows * ROW_HEIGHT;
    };
    const fit = (view) => view.fit(true);
    return {
        ArrowLeft: left,
        a: left,
        ArrowRight: right,
        d: right,
        "+": nearer,
        "=": nearer,
        w: nearer,
        "-": farther,
        s: farther,
        ArrowUp: scroll(-2),
        ArrowDown: scroll(2),
        f: fit,
        0: fit,
        Home: fit,
        n: (view) => view.step(1),
        p: (view) => view.step(-1),
        l: (view) => view.follow(view.timeline.launch),
        b: (view) => view.follow(view.timeline.bound),
        c: (view) => view.toggleCritical(),
        m: (view) => view.toggleMeasure(),
        Escape: (view) => {
            view.select(NONE);
            view.measure(null);
        },
        "/": (view) => view.search.focus(),
        Enter: (view) =>
            view.selected !== NONE &&
            view.showStretch(
                view.timeline.begin[view.selected],
                endOf(view.timeline, view.selected),
            ),
    };
})();

// ---- The tip beside the pointer ----

function showTip(x, y, content) {
    const tip = byId("tip");
    replaceContent(tip, content);
    tip.hidden = false;
    tip.style.left = Math.max(0, Math.min(x + 14, innerWidth - tip.offsetWidth - 8)) + "px";
    const below = y + 16 + tip.offsetHeight < innerHeight;
    tip.style.top = Math.max(0, below ? y + 16 : y - tip.offsetHeight - 12) + "px";
}

function hideTip() {
    byId("tip").hidden = true;
}
