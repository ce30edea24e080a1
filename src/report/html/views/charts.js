// Charts over time, by uPlot, and bars, which are a table with a coloured cell.

const CHART_HEIGHT = 190;

const charts = new Set(); // all that are on the page, for a new theme or width

// options: title, series [{label, color, points, fill}], data [[x...], [y...], ...], formatX,
// formatY, stepsY (distances of grid lines that may be), splitsX (where the axis has marks),
// onclick(index), plain (the title is not shown)
function makeChart(options) {
    const element = el("div", { class: "chart", role: "img", "aria-label": options.title });
    const chart = { element, options, plot: null };
    const observer = new ResizeObserver(() => {
        const width = element.clientWidth;
        if (!width) return;
        if (!chart.plot) drawChart(chart);
        else if (chart.plot.width !== width) chart.plot.setSize({ width, height: CHART_HEIGHT });
    });
    observer.observe(element);
    charts.add(chart);
    return element;
}

function drawChart(chart) {
    const { options, element } = chart;
    const axis = {
        stroke: cssColor("--faint"),
        grid: { stroke: cssColor("--line"), width: 1 },
        ticks: { stroke: cssColor("--line"), width: 1 },
    };
    const words = (format) => (plot, values) =>
        values.map((value) => (value === null ? "" : format(value)));
    if (chart.plot) chart.plot.destroy();
    chart.plot = new uPlot(
        {
            title: options.plain ? undefined : options.title,
            width: element.clientWidth,
            height: CHART_HEIGHT,
            scales: { x: { time: false } },
            axes: [
                {
                    ...axis,
                    values: words(options.formatX),
                    ...(options.splitsX ? { splits: () => options.splitsX } : {}),
                },
                { ...axis, size: 76, incrs: options.stepsY, values: words(options.formatY) },
            ],
            series: [
                {
                    label: options.labelX,
                    value: (plot, value) => (isNothing(value) ? "" : options.formatX(value)),
                },
                ...options.series.map((series) => ({
                    label: series.label,
                    stroke: cssColor(series.color),
                    width: series.points ? 0 : 1.5,
                    fill: series.fill ? cssColor(series.color) + "33" : undefined,
                    paths: series.points ? () => null : undefined,
                    points: { show: Boolean(series.points), size: 5, fill: cssColor(series.color) },
                    value: (plot, value) => (isNothing(value) ? "" : options.formatY(value)),
                })),
            ],
            cursor: { drag: { x: false, y: false } },
            hooks: {
                ready: [
                    (plot) =>
                        plot.over.addEventListener("click", () => {
                            if (options.onclick && !isNothing(plot.cursor.idx))
                                options.onclick(plot.cursor.idx);
                        }),
                ],
            },
        },
        options.data,
        element,
    );
}

function redrawCharts() {
    for (const chart of charts) if (chart.plot) drawChart(chart);
}

// rows: [{name, value, text}], the greatest first.
function bars(title, rows) {
    const most = Math.max(...rows.map((row) => row.value), 1e-9);
    const barOf = (row) => {
        const bar = el("div", { class: "bar" });
        bar.style.width = ((row.value / most) * 100).toFixed(2) + "%";
        return bar;
    };
    return el(
        "section",
        null,
        el("h2", null, title),
        plainTable(
            { class: "bars", "aria-label": title },
            [],
            rows.map((row) => [
                el("th", { class: "name", scope: "row", title: row.name }, row.short || row.name),
                el("td", { class: "number" }, row.text),
                el("td", { "aria-hidden": "true" }, barOf(row)),
            ]),
        ),
    );
}
