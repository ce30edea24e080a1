// Puts the views together: tabs, theme, processes, and what leads from one view to another.

import { charts, redrawCharts } from "./base/charts.js";
import { documentsOf, isNothing, readParts, relativeTo } from "./base/data.js";
import { append, button, byId, choice, debounced, el, hideTip, note } from "./base/dom.js";
import { formatCount } from "./base/format.js";
import { printTables } from "./base/table.js";
import { NONE, joinTimelines, timelineOf, trackOf } from "./timeline/events.js";
import { counterLines } from "./timeline/gpu.js";
import { TimelineView } from "./timeline/view.js";
import { adviseView } from "./views/advise.js";
import { comparisonName, comparisonViews, comparisonWarning, isComparison } from "./views/diff.js";
import { leftOutNotes, renderWhole } from "./views/documents.js";
import { iterationsView } from "./views/iterations.js";
import { showRow } from "./views/links.js";
import { overviewView } from "./views/overview.js";
import { jobView, processesView } from "./views/processes.js";
import { flameView, layersView } from "./views/trees.js";
import { memoryView } from "./views/usage.js";

// ---- The address ----
//
// The page's address holds which view is open, of which process, and in the time line the selection
// and the stretch that is shown: #timeline&from=1200&to=3400&event=17. Of stacks it holds the
// weight and two boxes: #stacks&weight=2&zoom=3&node=5. Going back, reloading and sending the
// address all lead to the same place.

/** @returns {Address} */
function readAddress() {
    const [view, ...parts] = location.hash.replace(/^#/, "").split("&");
    const params = {};
    for (const part of parts) {
        const [key, value] = part.split("=");
        if (
            /^(from|to|event|process|weight|zoom|node)$/.test(key) &&
            Number.isFinite(Number(value))
        )
            params[key] = Number(value);
    }
    return { view: view.replace(/\W/g, ""), ...params };
}

function writeAddress({ view, ...params }, isNew) {
    const parts = Object.entries(params)
        .filter(([, value]) => !isNothing(value))
        .map(([key, value]) => `${key}=${value}`);
    const hash = `#${[view, ...parts].join("&")}`;
    if (hash === location.hash) return;
    if (isNew) history.pushState(null, "", hash);
    else history.replaceState(null, "", hash);
}

// Documents that views of others show.
const ELSEWHERE = new Set(["overview", "timeline", "iters", "iterations", "memory_lines",
    "counter_lines", "left_out", "peers"]);

// Views of documents that are more than tables.
const VIEWS = { advise: adviseView, layers: layersView, memory: memoryView, stacks: flameView };

class Page {
    constructor() {
        this.parts = readParts();
        this.process = 0;
        this.timeline = this.readTimeline();
        this.views = [];
        this.charts = charts;
        this.rememberSoon = debounced(() => this.remember(false), 200);
        this.useProcess(readAddress().process ?? 0);
        this.buildProcesses();
        this.addViews();
        this.head();
        this.watchTheme();
        this.goToAddress();
        this.remember(false);
        addEventListener("popstate", () => this.goToAddress());
        addEventListener("beforeprint", () => printTables(true));
        addEventListener("afterprint", () => printTables(false));
        new ResizeObserver(() => this.measureHead()).observe(document.body);
    }

    // ---- What it is of ----

    useProcess(number) {
        this.process = this.parts.processes[number] ? number : 0;
        this.list = this.parts.processes[this.process] || [];
        this.documents = documentsOf(this.list);
    }

    readTimeline() {
        const parts = this.parts.processes
            .map((list, process) => timelineOf(list, process, this.parts))
            .filter(Boolean);
        return parts.length ? joinTimelines(parts) : null;
    }

    // A choice of process, where the page has several.
    buildProcesses() {
        const { summary } = this.parts;
        if (!summary) return;
        const names = summary.processes.map(({ process }) => process);
        const { select, parts } = choice("process", "Process ", names, (index) => {
            this.changeProcess(index);
            this.remember(true);
        });
        select.selectedIndex = this.process;
        this.processChoice = select;
        byId("theme").before(el("span", null, parts));
    }

    changeProcess(number) {
        this.useProcess(number);
        this.processChoice.selectedIndex = this.process;
        for (const view of this.views) {
            if (view.shared) continue;
            view.panel.replaceChildren();
            view.made = false;
        }
        this.head();
        this.openView(this.shown);
    }

    addViews() {
        const { timeline, documents } = this;
        if (isComparison(documents)) {
            for (const view of comparisonViews(documents)) this.addView(...view);
            return;
        }
        if (this.parts.summary)
            this.addView("processes", "Processes", () => processesView(this), true);
        if (this.parts.job) this.addView("job", "Job", () => jobView(this.parts.job), true);
        if (timeline) {
            this.addView("overview", "Overview", () =>
                overviewView(this.documents, this.timeline, this.options()),
            );
            this.addView("iterations", "Iterations", () =>
                iterationsView(this.documents, this.timeline, this.options()),
            );
            this.addView("timeline", "Time line", () => this.lineView().element, true);
        }
        for (const { id, title } of this.list.filter(({ id }) => this.hasView(id)))
            this.addView(id, title, () => el("div", null, this.render(id)));
    }

    // A view of stacks stands only where a process has some.
    hasView(id) {
        const some = (list) => list.some((doc) => doc.id === id && doc.value.stacks !== false);
        return !ELSEWHERE.has(id) && this.parts.processes.some(some);
    }

    render(id) {
        const value = this.documents[id];
        const options = this.options();
        if (!value || value.stacks === false) return note("This process has no such data.");
        if (VIEWS[id] && !value.note) return VIEWS[id](value, this.documents, options);
        return [leftOutNotes(this.documents, id), renderWhole(value, options)];
    }

    // What views need to lead to the time line; nothing where there is none.
    options() {
        const { timeline } = this;
        if (!timeline) return {};
        const options = {
            timeline,
            process: this.process,
            origin: timeline.processes[this.process].origin,
            show: (item) => this.showStretch(item),
            openView: (id) => this.visit(id),
            onmove: () => this.rememberSoon(),
        };
        return { ...options, onrow: (row) => showRow(row, options) };
    }

    lineView() {
        if (!this.line) {
            const first = this.parts.processes[0].find(({ id }) => id === "info")?.value;
            this.line = new TimelineView(this.timeline, {
                memoryLines: this.parts.processes.map(
                    (list) => list.find(({ id }) => id === "memory_lines")?.value,
                ),
                counters: this.parts.processes.map((list, process) =>
                    counterLines(list, process, this.parts, this.timeline),
                ),
                traceEnd: first?.last_ns
                    ? relativeTo(this.timeline.processes[0].origin, first.last_ns)
                    : 0,
                onmove: () => this.rememberSoon(),
            });
            this.line.select(NONE);
        }
        return this.line;
    }

    showStretch(item) {
        this.visit("timeline");
        if (item.event !== undefined) this.line.select(item.event);
        this.line.showStretch(item.begin, item.end);
        this.line.canvas.focus({ preventScroll: true });
    }

    flame() {
        return byId("view-stacks")?.querySelector(".flame")?.flame;
    }

    // ---- Address ----

    // Opens a view as somebody does who can go back.
    visit(id) {
        this.remember(false);
        this.openView(id);
        this.remember(true);
    }

    remember(isNew) {
        const { line } = this;
        const several = this.parts.processes.length > 1;
        const address = { view: this.shown, process: several ? this.process : null };
        if (this.shown === "timeline" && line) {
            address.from = Math.round(line.view.from);
            address.to = Math.round(line.view.to);
            address.event = line.selected === NONE ? null : line.selected;
        }
        if (this.shown === "stacks") Object.assign(address, this.flame()?.address());
        writeAddress(address, isNew);
    }

    goToAddress() {
        const { view, from, to, event, process, ...place } = readAddress();
        if (process !== undefined && process !== this.process && this.processChoice)
            this.changeProcess(process);
        this.openView(view);
        if (this.shown === "stacks") this.flame()?.goTo(place);
        if (this.shown !== "timeline" || !this.line) return;
        if (event !== undefined && event >= 0 && event < this.timeline.count) {
            this.line.select(event);
            this.line.reveal(trackOf(this.timeline, event));
        } else if (this.line.selected !== NONE) this.line.select(NONE);
        if (from !== undefined && to > from) {
            this.line.motion = (this.line.motion || 0) + 1;
            this.line.setView(from, to);
        }
    }

    // ---- Tabs ----

    // shared: whether the view is of all processes.
    addView(id, title, make, shared = false) {
        const index = this.views.length;
        const tab = button(title, () => this.visit(id), {
            role: "tab",
            id: `tab-${id}`,
            "aria-controls": `view-${id}`,
            "aria-selected": "false",
            tabindex: "-1",
        });
        const panel = el("section", {
            role: "tabpanel",
            id: `view-${id}`,
            "aria-labelledby": `tab-${id}`,
            hidden: true,
        });
        tab.addEventListener("keydown", (event) => this.tabKey(event, index));
        byId("tabs").append(tab);
        byId("views").append(panel);
        this.views.push({ id, tab, panel, make, shared, made: false });
    }

    // The first view if there is none of that name.
    openView(id) {
        const shown = this.views.find((view) => view.id === id) || this.views[0];
        if (!shown) return;
        this.shown = shown.id;
        hideTip();
        for (const view of this.views) {
            view.tab.setAttribute("aria-selected", String(view === shown));
            view.tab.tabIndex = view === shown ? 0 : -1;
            view.panel.hidden = view !== shown;
        }
        shown.tab.scrollIntoView({ block: "nearest", inline: "nearest" });
        if (!shown.made) append(shown.panel, [shown.make()]);
        shown.made = true;
    }

    tabKey(event, index) {
        const count = this.views.length;
        const to = {
            ArrowRight: (index + 1) % count,
            ArrowLeft: (index + count - 1) % count,
            Home: 0,
            End: count - 1,
        }[event.key];
        if (to === undefined) return;
        event.preventDefault();
        this.visit(this.views[to].id);
        this.views[to].tab.focus();
    }

    // ---- Head and theme ----

    head() {
        if (isComparison(this.documents)) {
            this.setHead(comparisonName(this.documents), comparisonWarning(this.documents));
            return;
        }
        const { summary, info } = this.documents;
        const command = summary?.command || info?.properties?.executable || "a trace";
        const warning = info?.quality?.warning;
        const left =
            (this.documents.timeline?.left_out_late || 0) +
            (this.documents.timeline?.left_out_deep || 0);
        const place =
            (summary?.pid ? `, process ${summary.pid}` : "") +
            (info?.properties?.hostname ? ` on ${info.properties.hostname}` : "");
        const lines = [
            warning,
            left ? `The time line leaves out ${formatCount(left)} events.` : "",
        ];
        this.setHead(command, lines.filter(Boolean).join(" "), place);
    }

    setHead(name, warning, place = "") {
        document.title = `${name} - miniprof`;
        byId("subtitle").textContent = name + place;
        byId("warning").textContent = warning;
        byId("warning").hidden = !warning;
    }

    // The time line fills what the head leaves of the window.
    measureHead() {
        const top = byId("views").getBoundingClientRect().top + scrollY;
        document.documentElement.style.setProperty("--head", `${Math.ceil(top)}px`);
    }

    watchTheme() {
        const dark = matchMedia("(prefers-color-scheme: dark)");
        dark.addEventListener("change", () => this.setTheme(dark.matches));
        byId("theme").addEventListener("click", () =>
            this.setTheme(document.documentElement.dataset.theme !== "dark"),
        );
        this.setTheme(dark.matches);
    }

    setTheme(dark) {
        document.documentElement.dataset.theme = dark ? "dark" : "light";
        byId("theme").setAttribute("aria-pressed", String(dark));
        redrawCharts();
        if (!this.line) return;
        this.line.painter.useTheme();
        this.line.draw();
    }
}

// For the browser's console, and the tests.
window.miniprof = new Page();
