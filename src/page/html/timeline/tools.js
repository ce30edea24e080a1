// Above the time line: search, zoom, the order of rows, measuring; below it: the splitter. And what
// they do.

const KEYS = [
    ["wheel, w s, + -", "zoom"],
    ["drag, a d, ← →", "move"],
    ["↑ ↓", "rows"],
    ["shift + drag", "zoom to a stretch"],
    ["drag in the ruler, m", "measure"],
    ["double click, f", "fit"],
    ["n p", "next, previous event"],
    ["l", "to the launch"],
    ["b", "to what it waited for"],
    ["c", "critical path"],
    ["/", "search"],
    ["Esc", "no selection, no measure"],
    ["in a row's name: p", "pin"],
    ["in a row's name: shift + ↑ ↓", "taller, lower"],
];

Object.assign(TimelineView.prototype, {
    buildTools() {
        const button = (text, action) => el("button", { type: "button", onclick: action }, text);
        const toggle = (text, pressed, action) =>
            el("button", { type: "button", "aria-pressed": pressed, onclick: action }, text);
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
        this.criticalButton = toggle("Critical path", "true", () => this.toggleCritical());
        this.measureButton = toggle("Measure", "false", () => this.toggleMeasure());
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
            this.measureButton,
            this.criticalButton,
            this.orderChoice(),
            this.legend(),
            this.keys(),
        );
    },

    orderChoice() {
        const orders = [
            ["recorded", "as recorded"],
            ["name", "by name"],
            ["time", "by time"],
        ];
        const select = el(
            "select",
            {
                id: "row-order",
                onchange: () => {
                    this.order = select.value;
                    this.arrange();
                    this.draw();
                },
            },
            orders.map(([value, text]) => el("option", { value }, text)),
        );
        return el("span", null, el("label", { for: "row-order" }, "Rows "), select);
    },

    legend() {
        const items = [
            ["busy", "--kernel"],
            ...IDLE_CAUSES.map(([, words, color]) => [`idle: ${words}`, color]),
        ];
        return el(
            "details",
            { class: "menu" },
            el("summary", null, "Colours"),
            el(
                "ul",
                { class: "choices" },
                items.map(([words, color]) => el("li", null, swatch(color), ` ${words}`)),
            ),
        );
    },

    keys() {
        return el(
            "details",
            { class: "menu" },
            el("summary", null, "Keys"),
            el(
                "ul",
                { class: "choices keys" },
                KEYS.map(([key, what]) => el("li", null, el("kbd", null, key), ` ${what}`)),
            ),
        );
    },

    // Moves the border between the picture and what is said below it.
    splitter() {
        const bar = el("div", {
            class: "splitter",
            role: "separator",
            tabindex: "0",
            "aria-orientation": "horizontal",
            "aria-label": "Height of the part below the time line",
            "aria-valuenow": "240",
            "aria-valuemin": "60",
            "aria-valuemax": "600",
        });
        const use = (height) => {
            const used = Math.max(60, Math.min(600, height));
            bar.setAttribute("aria-valuenow", String(Math.round(used)));
            this.element.style.setProperty("--below", `${used}px`);
        };
        bar.addEventListener("pointerdown", (event) => bar.setPointerCapture(event.pointerId));
        bar.addEventListener("pointermove", (event) => {
            if (bar.hasPointerCapture(event.pointerId))
                use(this.element.getBoundingClientRect().bottom - event.clientY);
        });
        bar.addEventListener("keydown", (event) => {
            const by = { ArrowUp: 20, ArrowDown: -20 }[event.key];
            if (!by) return;
            event.preventDefault();
            use(Number(bar.getAttribute("aria-valuenow")) + by);
        });
        return bar;
    },

    toggleCritical() {
        this.painter.showCritical = !this.painter.showCritical;
        this.criticalButton.setAttribute("aria-pressed", String(this.painter.showCritical));
        this.draw();
    },

    toggleMeasure() {
        this.measuring = !this.measuring;
        this.measureButton.setAttribute("aria-pressed", String(this.measuring));
        if (!this.measuring) this.measure(null);
    },

    // stretch: {from, to}, or null for none.
    measure(stretch) {
        this.measured = stretch && {
            from: Math.min(stretch.from, stretch.to),
            to: Math.max(stretch.from, stretch.to),
        };
        this.draw();
        this.describeSoon();
    },

    // ---- Search ----

    newSearch() {
        const text = this.search.value.trim();
        this.matches = text ? matchingKinds(this.timeline, text) : null;
        this.found = text ? countMatches(this.timeline, this.matches) : 0;
        this.status.textContent = text ? `${formatCount(this.found)} found` : "";
        this.draw();
    },

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
    },
});
