// What the tools and keys of the time line are, and what they do.

import { el, swatch } from "../base/dom.js";
import { NONE, endOf } from "./events.js";
import { IDLE_CAUSES } from "./gpu.js";
import { ROW_HEIGHT } from "./rows.js";

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
    ["Esc", "clear selection and measurement"],
    ["in a row's name: p", "pin"],
    ["in a row's name: shift + ↑ ↓", "taller, shorter"],
];

export const KEY_ACTIONS = (() => {
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
            view.showStretch(view.timeline.begin[view.selected],
                endOf(view.timeline, view.selected)),
    };
})();

export function legend() {
    const items = [
        ["busy", "--kernel"],
        ...IDLE_CAUSES.map(([, words, color]) => [`idle: ${words}`, color]),
    ];
    return el("details", { class: "menu" },
        el("summary", null, "Colours"),
        el("ul", { class: "choices" },
            items.map(([words, color]) => el("li", null, swatch(color), ` ${words}`)),
        ),
    );
}

export function keysMenu() {
    return el("details", { class: "menu" },
        el("summary", null, "Keys"),
        el("ul", { class: "choices keys" },
            KEYS.map(([key, what]) => el("li", null, el("kbd", null, key), ` ${what}`)),
        ),
    );
}

// Moves the border between the picture and what is said below it; parent() is around both.
export function splitter(parent) {
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
        parent().style.setProperty("--below", `${used}px`);
    };
    bar.addEventListener("pointerdown", (event) => bar.setPointerCapture(event.pointerId));
    bar.addEventListener("pointermove", (event) => {
        if (bar.hasPointerCapture(event.pointerId))
            use(parent().getBoundingClientRect().bottom - event.clientY);
    });
    bar.addEventListener("keydown", (event) => {
        const by = { ArrowUp: 20, ArrowDown: -20 }[event.key];
        if (!by) return;
        event.preventDefault();
        use(Number(bar.getAttribute("aria-valuenow")) + by);
    });
    return bar;
}
