// Puts the views together: tabs, theme, and what leads from one view to another.

// Documents that views of others show.
const ELSEWHERE = new Set([
    "overview",
    "timeline",
    "iters",
    "iterations",
    "memory_lines",
    "left_out",
]);

// Views of documents that are more than tables.
const VIEWS = { advise: adviseView, layers: layersView, memory: memoryView };

class Page {
    constructor() {
        this.list = readDocuments();
        this.documents = Object.fromEntries(this.list.map((doc) => [doc.id, doc.value]));
        this.timeline = this.readTimeline();
        this.views = [];
        this.charts = charts;
        this.addViews();
        this.head();
        this.open(
            Math.max(
                0,
                this.views.findIndex((view) => `#${view.id}` === location.hash),
            ),
            false,
        );
        this.watchTheme();
    }

    readTimeline() {
        const meta = this.documents.timeline;
        const blob = byId("blob-timeline");
        return meta && blob && meta.tracks
            ? makeTimeline(meta, decodeBase64(blob.textContent))
            : null;
    }

    addViews() {
        const { timeline, documents } = this;
        if (isComparison(documents)) {
            for (const view of comparisonViews(documents)) this.addView(...view);
            return;
        }
        const show = (item) => this.showStretch(item);
        if (timeline) {
            this.addView("overview", "Overview", () => overviewView(documents, timeline, show));
            this.addView("iterations", "Iterations", () =>
                iterationsView(documents, timeline, this.options()),
            );
            this.addView("timeline", "Time line", () => this.lineView().element);
        }
        for (const doc of this.list.filter(({ id }) => !ELSEWHERE.has(id)))
            this.addView(doc.id, doc.title, () => el("div", null, this.render(doc)));
    }

    render({ id, value }) {
        const options = this.options();
        if (VIEWS[id] && !value.note) return VIEWS[id](value, this.documents, options);
        return [leftOutNotes(this.documents, id), renderWhole(value, options)];
    }

    // What views need to lead to the time line; nothing where there is none.
    options() {
        const { timeline } = this;
        if (!timeline) return {};
        const { origin } = timeline;
        const options = { timeline, origin, show: (item) => this.showStretch(item) };
        return { ...options, onrow: (row) => showRow(row, options) };
    }

    lineView() {
        if (!this.line) {
            this.line = new TimelineView(this.timeline);
            this.line.select(NONE);
        }
        return this.line;
    }

    showStretch(item) {
        this.open(
            this.views.findIndex((view) => view.id === "timeline"),
            true,
        );
        if (item.event !== undefined) this.line.select(item.event);
        this.line.showStretch(item.begin, item.end);
    }

    // ---- Tabs ----

    addView(id, title, make) {
        const index = this.views.length;
        const tab = el(
            "button",
            {
                type: "button",
                role: "tab",
                id: `tab-${id}`,
                "aria-controls": `view-${id}`,
                "aria-selected": "false",
                tabindex: "-1",
                onclick: () => this.open(index, false),
            },
            title,
        );
        const panel = el("section", {
            role: "tabpanel",
            id: `view-${id}`,
            "aria-labelledby": `tab-${id}`,
            hidden: true,
        });
        tab.addEventListener("keydown", (event) => this.tabKey(event, index));
        byId("tabs").append(tab);
        byId("views").append(panel);
        this.views.push({ id, tab, panel, make, made: false });
    }

    open(index, focus) {
        this.views.forEach((view, i) => {
            view.tab.setAttribute("aria-selected", String(i === index));
            view.tab.tabIndex = i === index ? 0 : -1;
            view.panel.hidden = i !== index;
        });
        const view = this.views[index];
        if (!view) return;
        if (!view.made) view.panel.append(view.make());
        view.made = true;
        history.replaceState(null, "", `#${view.id}`);
        if (focus && view.id === "timeline") this.line.canvas.focus();
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
        this.open(to, false);
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
