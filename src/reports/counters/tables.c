/* The tables of the counters report. Values have units of their own: in text each is written with
 * it, elsewhere as a number beside the name of the unit.
 */
#include "reports/counters/tables.h"

#include <math.h>
#include <string.h>

#include "base/text/strings.h"
#include "reports/common/sampled.h"
#include "trace/codec/schema.h"

#include "base/poison.h"

#define MAX_SHOWN 5u /* counters of work, in text */

const char *counters_source_name(enum sampled_by by)
{
    static const char *const names[] = {[SAMPLED_BY_NOBODY] = "nobody",
                                        [SAMPLED_BY_CUPTI] = "CUPTI",
                                        [SAMPLED_BY_GPM] = "NVML GPM",
                                        [SAMPLED_BY_NVML] = "NVML"};

    return names[by];
}

const char *counters_unit_name(enum metric_unit unit)
{
    static const char *const names[] = {
        [METRIC_UNIT_NONE] = "",           [METRIC_UNIT_COUNT] = "count",
        [METRIC_UNIT_PERCENT] = "percent", [METRIC_UNIT_RATIO] = "ratio",
        [METRIC_UNIT_BYTES] = "bytes",     [METRIC_UNIT_BYTES_PER_SECOND] = "bytes_per_second",
        [METRIC_UNIT_NANOSECONDS] = "ns",  [METRIC_UNIT_PER_SECOND] = "per_second",
        [METRIC_UNIT_HERTZ] = "hertz",     [METRIC_UNIT_WATTS] = "watts",
        [METRIC_UNIT_CELSIUS] = "celsius",
    };

    return names[unit];
}

const char *counters_device_name(const struct counters_result *result, uint64_t device)
{
    const struct definition_device *found = dense_at(&result->definitions.devices, device);

    return found && found->defined ? definitions_text(&result->definitions, found->name) : NULL;
}

/* A table that grows its columns, and whose rows are walked twice. */
struct walk {
    struct report_table table;
    struct report_column columns[REPORT_MAX_COLUMNS];
    size_t count;
    struct report_cell cells[REPORT_MAX_COLUMNS];
    char texts[REPORT_MAX_COLUMNS][SAMPLED_BYTES];
    size_t filled;
    bool plain; /* values are numbers */
    void (*take)(struct report_table *, const struct report_cell *);
    const struct counters_result *result;
    uint64_t device; /* UINT64_MAX: all */
    size_t shown[MAX_SHOWN];
    size_t shown_count;
};

static void add(struct walk *walk, const char *title, const char *key, enum report_kind kind,
                uint8_t width)
{
    walk->columns[walk->count++] =
        (struct report_column){.title = title, .key = key, .kind = kind, .width = width};
}

static void add_value(struct walk *walk, const char *title, const char *key)
{
    add(walk, title, key, walk->plain ? REPORT_CELL_REAL : REPORT_CELL_TEXT, 0);
    walk->columns[walk->count - 1].ranked = !walk->plain;
}

static void put(struct walk *walk, struct report_cell cell)
{
    walk->cells[walk->filled++] = cell;
}

/* A value, in text with its error if it has one. */
static void put_value(struct walk *walk, enum metric_unit unit, double value, double error)
{
    char *text = walk->texts[walk->filled];
    struct report_cell cell;

    if (!isfinite(value)) {
        put(walk, report_absent_cell());
        return;
    }
    if (walk->plain) {
        put(walk, report_real_cell(value));
        return;
    }
    sampled_text(text, unit, value);
    if (error > 0 && unit == METRIC_UNIT_PERCENT)
        snprintf(text + strlen(text), SAMPLED_BYTES - strlen(text), " ±%.1f", error);
    cell = report_text_cell(text);
    cell.real = value;
    put(walk, cell);
}

static void print_walk(struct walk *walk, const struct report_out *out, struct json_writer *json,
                       const char *name, void (*rows)(struct walk *))
{
    if (json)
        report_begin_json(&walk->table, json, walk->columns, walk->count);
    else
        report_begin(&walk->table, out, walk->columns, walk->count);
    walk->table.name = name;
    if (!json) {
        walk->take = out->format == REPORT_TEXT ? report_measure : report_measure_units;
        rows(walk);
        report_header(&walk->table);
    }
    walk->take = report_row;
    rows(walk);
    report_end(&walk->table);
}

static struct walk begin_walk(const struct report_out *out, const struct counters_result *result,
                              uint64_t device)
{
    return (struct walk){.plain = out->format != REPORT_TEXT, .result = result, .device = device};
}

static bool concerns(const struct walk *walk, uint64_t device)
{
    return walk->device == UINT64_MAX || walk->device == device;
}

/* ---- Devices ---- */

static void device_rows(struct walk *walk)
{
    for (size_t i = 0; i < walk->result->counter_count; i++) {
        const struct counters_counter *counter = &walk->result->counters[i];
        bool any = counter->samples > 0;

        if (!concerns(walk, counter->device))
            continue;
        walk->filled = 0;
        if (walk->plain)
            put(walk, report_number_cell(counter->device));
        put(walk, report_text_cell(counter->name));
        put(walk, report_text_cell(counters_source_name(counter->by)));
        if (walk->plain)
            put(walk, report_text_cell(counters_unit_name(counter->unit)));
        put(walk, report_number_cell(counter->samples));
        put_value(walk, counter->unit, any ? counter->all.mean : (double)NAN, 0);
        put_value(walk, counter->unit, any ? counter->all.p50 : (double)NAN, 0);
        put_value(walk, counter->unit, any ? counter->all.p95 : (double)NAN, 0);
        put_value(walk, counter->unit, any ? counter->all.max : (double)NAN, 0);
        if (walk->plain) {
            put(walk, report_number_cell(counter->interval));
            put(walk, report_number_cell(counter->missing));
            put(walk, report_text_cell(counter->note));
        }
        put(walk, report_text_cell(counter->expression));
        walk->take(&walk->table, walk->cells);
    }
}

void counters_print_devices(const struct report_out *out, struct json_writer *json,
                            const struct counters_result *result, uint64_t device)
{
    struct walk walk = begin_walk(out, result, device);

    if (walk.plain)
        add(&walk, "Device", "device", REPORT_CELL_ID, 0);
    add(&walk, "Counter", "counter", REPORT_CELL_TEXT, 0);
    walk.columns[walk.count - 1].left = true;
    add(&walk, "Source", "source", REPORT_CELL_TEXT, 0);
    if (walk.plain)
        add(&walk, "Unit", "unit", REPORT_CELL_TEXT, 0);
    add(&walk, "Samples", "samples", REPORT_CELL_COUNT, 0);
    add_value(&walk, "Mean", "mean");
    add_value(&walk, "P50", "p50");
    add_value(&walk, "P95", "p95");
    add_value(&walk, "Max", "max");
    if (walk.plain) {
        add(&walk, "Interval", "interval_ns", REPORT_CELL_TIME, 0);
        add(&walk, "Missing", "missing_ns", REPORT_CELL_TIME, 0);
        add(&walk, "Note", "note", REPORT_CELL_TEXT, 0);
    }
    add(&walk, "Measured as", "expression", REPORT_CELL_TEXT, 0);
    walk.columns[walk.count - 1].left = true;
    print_walk(&walk, out, json, NULL, device_rows);
}

/* ---- Work, in text ---- */

static const struct shown {
    const char *name, *title;
} telling[] = {{"sm_active", "SMs"},
               {"tensor_active", "Tensor"},
               {"dram_active", "DRAM"},
               {"pcie_rx", "PCIe in"},
               {"pcie_tx", "PCIe out"}};

/* Adds a column for a counter that has samples. */
static void show(struct walk *walk, size_t at, const char *title)
{
    const struct counters_counter *counter = &walk->result->counters[at];

    if (walk->shown_count == MAX_SHOWN || !counter->samples || !counter->name)
        return;
    for (size_t i = 0; i < walk->shown_count; i++)
        if (walk->shown[i] == at)
            return;
    walk->shown[walk->shown_count++] = at;
    add_value(walk, title ? title : counter->name, NULL);
}

/* The most telling ones, then others that were asked for. */
static void choose_shown(struct walk *walk)
{
    const struct counters_result *result = walk->result;

    for (size_t t = 0; t < sizeof telling / sizeof *telling; t++)
        for (size_t i = 0; i < result->counter_count; i++)
            if (result->counters[i].device == walk->device && result->counters[i].name &&
                mp_text_equal(result->counters[i].name, telling[t].name))
                show(walk, i, telling[t].title);
    for (size_t i = 0; i < result->counter_count; i++)
        if (result->counters[i].device == walk->device &&
            result->counters[i].by == SAMPLED_BY_CUPTI)
            show(walk, i, NULL);
}

static uint64_t time_of(const struct counters_result *result, uint64_t device)
{
    uint64_t time = 0;

    for (size_t i = 0; i < result->group_count; i++)
        if (result->groups[i].device == device && !result->groups[i].idle)
            time += result->groups[i].time;
    return time;
}

static const char *group_name(const struct counters_group *group)
{
    if (group->name)
        return group->name;
    return group->idle ? "[idle]" : "[all others]";
}

static void work_text_rows(struct walk *walk)
{
    uint64_t all = time_of(walk->result, walk->device);

    for (size_t i = 0; i < walk->result->group_count; i++) {
        const struct counters_group *group = &walk->result->groups[i];

        if (!concerns(walk, group->device) || !group->time)
            continue;
        walk->filled = 0;
        put(walk, group->idle || !all
                      ? report_absent_cell()
                      : report_real_cell(100.0 * (double)group->time / (double)all));
        put(walk, report_number_cell(group->time));
        put(walk, group->idle ? report_absent_cell() : report_number_cell(group->calls));
        for (size_t s = 0; s < walk->shown_count; s++) {
            const struct counters_counter *counter = &walk->result->counters[walk->shown[s]];
            const struct counters_cell *cell = counters_cell(walk->result, group, counter);

            put_value(walk, counter->unit, cell->mean, cell->error);
        }
        put(walk, report_text_cell(counters_class_name(group->class)));
        put(walk, report_text_cell(group_name(group)));
        walk->take(&walk->table, walk->cells);
    }
}

static void print_work_text(const struct report_out *out, const struct counters_result *result,
                            uint64_t device, enum counters_by by)
{
    static const char *const titles[] = {[COUNTERS_BY_KERNEL] = "Name",
                                         [COUNTERS_BY_LAYER] = "Layer",
                                         [COUNTERS_BY_ITERATION] = "Iteration",
                                         [COUNTERS_BY_IDLE] = "Idle because of"};
    struct walk walk = begin_walk(out, result, device);

    add(&walk, "Time(%)", NULL, REPORT_CELL_PERCENT, 7);
    walk.columns[0].share = true;
    add(&walk, "Time", NULL, REPORT_CELL_TIME, 8);
    add(&walk, "Calls", NULL, REPORT_CELL_COUNT, 5);
    choose_shown(&walk);
    add(&walk, "Bound by", NULL, REPORT_CELL_TEXT, 0);
    add(&walk, titles[by], NULL, REPORT_CELL_TEXT, 0);
    walk.columns[walk.count - 1].left = walk.columns[walk.count - 1].name = true;
    print_walk(&walk, out, NULL, "work", work_text_rows);
}

/* ---- Work, for scripts ---- */

static void put_cell_row(struct walk *walk, const struct counters_group *group, size_t at)
{
    const struct counters_counter *counter = &walk->result->counters[at];
    const struct counters_cell *cell = counters_cell(walk->result, group, counter);
    bool whole = cell->whole > 0;

    walk->filled = 0;
    put(walk, report_number_cell(group->device));
    put(walk, report_text_cell(group_name(group)));
    put(walk, report_text_cell(counters_class_name(group->class)));
    put(walk, report_number_cell(group->calls));
    put(walk, report_number_cell(group->time));
    put(walk, report_text_cell(counter->name));
    put(walk, report_text_cell(counters_unit_name(counter->unit)));
    put(walk, report_real_cell(cell->samples));
    put_value(walk, counter->unit, cell->mean, 0);
    put_value(walk, counter->unit, cell->error, 0);
    put(walk, report_number_cell(cell->whole));
    put_value(walk, counter->unit, whole ? cell->p50 : (double)NAN, 0);
    put_value(walk, counter->unit, whole ? cell->p95 : (double)NAN, 0);
    put_value(walk, counter->unit, whole ? cell->max : (double)NAN, 0);
    walk->take(&walk->table, walk->cells);
}

static void work_rows(struct walk *walk)
{
    for (size_t i = 0; i < walk->result->group_count; i++) {
        const struct counters_group *group = &walk->result->groups[i];

        for (size_t at = 0; at < walk->result->counter_count && group->time; at++)
            if (concerns(walk, group->device) &&
                walk->result->counters[at].device == group->device &&
                walk->result->counters[at].samples)
                put_cell_row(walk, group, at);
    }
}

void counters_print_work(const struct report_out *out, struct json_writer *json,
                         const struct counters_result *result, uint64_t device, enum counters_by by)
{
    struct walk walk = begin_walk(out, result, device);

    if (out->format == REPORT_TEXT) {
        print_work_text(out, result, device, by);
        return;
    }
    add(&walk, "Device", "device", REPORT_CELL_ID, 0);
    add(&walk, "Name", "name", REPORT_CELL_TEXT, 0);
    add(&walk, "Bound by", "bound_by", REPORT_CELL_TEXT, 0);
    add(&walk, "Calls", "calls", REPORT_CELL_COUNT, 0);
    add(&walk, "Time", "time_ns", REPORT_CELL_TIME, 0);
    add(&walk, "Counter", "counter", REPORT_CELL_TEXT, 0);
    add(&walk, "Unit", "unit", REPORT_CELL_TEXT, 0);
    add(&walk, "Samples", "samples", REPORT_CELL_REAL, 0);
    add_value(&walk, "Mean", "mean");
    add_value(&walk, "Error", "error");
    add(&walk, "Whole samples", "whole_samples", REPORT_CELL_COUNT, 0);
    add_value(&walk, "P50", "p50");
    add_value(&walk, "P95", "p95");
    add_value(&walk, "Max", "max");
    print_walk(&walk, out, json, "work", work_rows);
}
