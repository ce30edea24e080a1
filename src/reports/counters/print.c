/* Prints counters over time: the head, tables for each device, and what the numbers rest on. Values
 * have units of their own: in text each is written with it, elsewhere as a number beside the name
 * of the unit.
 */
#include "reports/counters/print.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/text/strings.h"
#include "base/text/units.h"
#include "reports/common/quality.h"
#include "reports/common/sampled.h"

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

const char *counters_by_name(enum counters_by by)
{
    static const char *const names[] = {[COUNTERS_BY_KERNEL] = "kernel",
                                        [COUNTERS_BY_LAYER] = "layer",
                                        [COUNTERS_BY_ITERATION] = "iteration",
                                        [COUNTERS_BY_IDLE] = "idle"};

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

/* What the tables are of. */
struct shown_counters {
    const struct counters_result *result;
    uint64_t device; /* UINT64_MAX: all */
    uint64_t time;   /* ns of all work of the device */
};

static bool concerns(const struct shown_counters *shown, uint64_t device)
{
    return shown->device == UINT64_MAX || shown->device == device;
}

/* A value: in text with its unit, and with its error if it has one; elsewhere a number. */
static struct report_cell value_cell(struct report_table *table, enum metric_unit unit,
                                     double value, double error)
{
    char text[SAMPLED_BYTES];

    if (!isfinite(value))
        return report_absent_cell();
    if (table->format != REPORT_TEXT)
        return report_real_cell(value);
    sampled_text(text, unit, value);
    if (error > 0 && unit == METRIC_UNIT_PERCENT)
        snprintf(text + strlen(text), sizeof text - strlen(text), " ±%.1f", error);
    struct report_cell cell = report_text_cell(report_copy(table, text));
    cell.real = value;
    return cell;
}

#define VALUE(title, key, cell_, index_)                                                           \
    COLUMN(title, key, TEXT, 0, .cell = (cell_), .index = (index_), .ranked = true,                \
           .formats = REPORT_IN_TEXT),                                                             \
        COLUMN(title, key, REAL, 0, .cell = (cell_), .index = (index_), .formats = REPORT_IN_DATA)
#define IN_DATA .formats = REPORT_IN_DATA

/* The statistics of a cell. */
enum { MEAN, P50, P95, MAX, ERROR };

static double statistic_of(const struct counters_cell *cell, unsigned which)
{
    const double values[] = {[MEAN] = cell->mean,
                             [P50] = cell->p50,
                             [P95] = cell->p95,
                             [MAX] = cell->max,
                             [ERROR] = cell->error};

    return values[which];
}

static void print_or_json(const struct report_out *out, struct json_writer *json, const char *key,
                          const struct report_layout *layout, report_each *each)
{
    if (json)
        report_json_print(json, key, layout, each);
    else
        report_print(out, layout, each);
}

/* ---- Devices ---- */

#define OF(member) MEMBER(struct counters_counter, member)

static struct report_cell source_cell(const void *at, struct report_table *table)
{
    (void)table;
    return report_text_cell(counters_source_name(((const struct counters_counter *)at)->by));
}

static struct report_cell unit_cell(const void *at, struct report_table *table)
{
    (void)table;
    return report_text_cell(counters_unit_name(((const struct counters_counter *)at)->unit));
}

static struct report_cell all_cell(const void *at, struct report_table *table)
{
    const struct counters_counter *counter = at;
    double value = statistic_of(&counter->all, table->column->index);

    return value_cell(table, counter->unit, counter->samples ? value : (double)NAN, 0);
}

static const struct report_column device_columns[] = {
    COLUMN("Device", "device", ID, 0, OF(device), IN_DATA),
    COLUMN("Counter", "counter", TEXT, 0, OF(name), .left = true),
    COLUMN("Source", "source", TEXT, 0, .cell = source_cell),
    COLUMN("Unit", "unit", TEXT, 0, .cell = unit_cell, IN_DATA),
    COLUMN("Samples", "samples", COUNT, 0, OF(samples)),
    VALUE("Mean", "mean", all_cell, MEAN),
    VALUE("P50", "p50", all_cell, P50),
    VALUE("P95", "p95", all_cell, P95),
    VALUE("Max", "max", all_cell, MAX),
    COLUMN("Interval", "interval_ns", TIME, 0, OF(interval), IN_DATA),
    COLUMN("Missing", "missing_ns", TIME, 0, OF(missing), IN_DATA),
    COLUMN("Note", "note", TEXT, 0, OF(note), IN_DATA),
    COLUMN("Measured as", "expression", TEXT, 0, OF(expression), .left = true),
};
#undef OF

static void each_counter(struct report_table *table, report_take *take)
{
    const struct shown_counters *shown = table->of;

    for (size_t i = 0; i < shown->result->counter_count; i++) {
        if (concerns(shown, shown->result->counters[i].device))
            take(table, &shown->result->counters[i]);
    }
}

/* One device's counters; UINT64_MAX: of all devices, with a column that says which. */
static void counters_print_devices(const struct report_out *out, struct json_writer *json,
                                   const struct counters_result *result, uint64_t device)
{
    const struct shown_counters shown = {.result = result, .device = device};

    print_or_json(out, json, "counters",
                  &(struct report_layout){REPORT_COLUMNS(device_columns), .of = &shown},
                  each_counter);
}

/* ---- Work, in text ---- */

static const struct telling {
    const char *name, *title;
} telling[] = {{"sm_active", "SMs"},
               {"tensor_active", "Tensor"},
               {"dram_active", "DRAM"},
               {"pcie_rx", "PCIe in"},
               {"pcie_tx", "PCIe out"}};

/* Columns of text: those of counters come between the first and the last ones. */
struct work_columns {
    struct report_column items[MAX_SHOWN + 5];
    size_t count;
    size_t counters; /* of them */
};

#define OF(member) MEMBER(struct counters_group, member)

/* The column's `index` is the counter. */
static struct report_cell counter_cell(const void *at, struct report_table *table)
{
    const struct counters_result *result = ((const struct shown_counters *)table->of)->result;
    const struct counters_counter *counter = &result->counters[table->column->index];
    const struct counters_cell *cell = counters_cell(result, at, counter);

    return value_cell(table, counter->unit, cell->mean, cell->error);
}

static struct report_cell share_cell(const void *at, struct report_table *table)
{
    const struct counters_group *group = at;
    uint64_t all = ((const struct shown_counters *)table->of)->time;

    return report_real_if(!group->idle && all, 100.0 * (double)group->time / (double)all);
}

static struct report_cell calls_cell(const void *at, struct report_table *table)
{
    const struct counters_group *group = at;

    (void)table;
    return report_number_if(!group->idle, group->calls);
}

static const char *group_name(const struct counters_group *group)
{
    if (group->name)
        return group->name;
    return group->idle ? "[idle]" : "[all others]";
}

static struct report_cell group_cell(const void *at, struct report_table *table)
{
    (void)table;
    return report_text_cell(group_name(at));
}

static struct report_cell class_cell(const void *at, struct report_table *table)
{
    (void)table;
    return report_text_cell(counters_class_name(((const struct counters_group *)at)->class));
}

/* Adds a column for a counter that has samples. */
static void show(struct work_columns *columns, const struct counters_result *result, size_t at,
                 const char *title)
{
    const struct counters_counter *counter = &result->counters[at];
    struct report_column column = {.title = title ? title : counter->name,
                                   .kind = REPORT_CELL_TEXT,
                                   .ranked = true,
                                   .cell = counter_cell,
                                   .index = (unsigned)at};

    if (columns->counters == MAX_SHOWN || !counter->samples || !counter->name)
        return;
    for (size_t i = 0; i < columns->count; i++)
        if (columns->items[i].cell == counter_cell && columns->items[i].index == at)
            return;
    columns->items[columns->count++] = column;
    columns->counters++;
}

/* The most telling ones, then others that were asked for. */
static void choose_counters(struct work_columns *columns, const struct counters_result *result,
                            uint64_t device)
{
    for (size_t t = 0; t < sizeof telling / sizeof *telling; t++)
        for (size_t i = 0; i < result->counter_count; i++)
            if (result->counters[i].device == device && result->counters[i].name &&
                mp_text_equal(result->counters[i].name, telling[t].name))
                show(columns, result, i, telling[t].title);
    for (size_t i = 0; i < result->counter_count; i++)
        if (result->counters[i].device == device && result->counters[i].by == SAMPLED_BY_CUPTI)
            show(columns, result, i, NULL);
}

static uint64_t time_of(const struct counters_result *result, uint64_t device)
{
    uint64_t time = 0;

    for (size_t i = 0; i < result->group_count; i++)
        if (result->groups[i].device == device && !result->groups[i].idle)
            time += result->groups[i].time;
    return time;
}

static void each_group(struct report_table *table, report_take *take)
{
    const struct shown_counters *shown = table->of;

    for (size_t i = 0; i < shown->result->group_count; i++) {
        const struct counters_group *group = &shown->result->groups[i];

        if (concerns(shown, group->device) && group->time)
            take(table, group);
    }
}

static void print_work_text(const struct report_out *out, const struct counters_result *result,
                            uint64_t device, enum counters_by by)
{
    static const char *const titles[] = {[COUNTERS_BY_KERNEL] = "Name",
                                         [COUNTERS_BY_LAYER] = "Layer",
                                         [COUNTERS_BY_ITERATION] = "Iteration",
                                         [COUNTERS_BY_IDLE] = "Idle because of"};
    const struct shown_counters shown = {result, device, time_of(result, device)};
    struct work_columns columns = {
        .items = {COLUMN("Time(%)", NULL, PERCENT, 7, .cell = share_cell, .share = true),
                  COLUMN("Time", NULL, TIME, 8, OF(time)),
                  COLUMN("Calls", NULL, COUNT, 5, .cell = calls_cell)},
        .count = 3,
    };

    choose_counters(&columns, result, device);
    columns.items[columns.count++] =
        (struct report_column)COLUMN("Bound by", NULL, TEXT, 0, .cell = class_cell);
    columns.items[columns.count++] = (struct report_column)COLUMN(
        titles[by], NULL, TEXT, 0, .cell = group_cell, .left = true, .name = true);
    report_print(
        out,
        &(struct report_layout){
            .columns = columns.items, .count = columns.count, .of = &shown, .name = "work"},
        each_group);
}
#undef OF

/* ---- Work, for scripts ---- */

/* A counter of a group. */
struct work_line {
    const struct counters_group *group;
    const struct counters_counter *counter;
    const struct counters_cell *cell;
};

#define OF(pointer, member) THROUGH(struct work_line, pointer, member)

static struct report_cell group_name_cell(const void *at, struct report_table *table)
{
    return group_cell(((const struct work_line *)at)->group, table);
}

static struct report_cell group_class_cell(const void *at, struct report_table *table)
{
    return class_cell(((const struct work_line *)at)->group, table);
}

static struct report_cell counter_unit_cell(const void *at, struct report_table *table)
{
    return unit_cell(((const struct work_line *)at)->counter, table);
}

/* Percentiles are those of whole samples. */
static struct report_cell statistic_cell(const void *at, struct report_table *table)
{
    const struct work_line *line = at;
    unsigned which = table->column->index;
    bool known = which == MEAN || which == ERROR || line->cell->whole > 0;
    double value = statistic_of(line->cell, which);

    return report_real_if(known && isfinite(value), value);
}

#define STATISTIC(title, key, which)                                                               \
    COLUMN(title, key, REAL, 0, .cell = statistic_cell, .index = (which))

static const struct report_column work_columns[] = {
    COLUMN("Device", "device", ID, 0, OF(group, device)),
    COLUMN("Name", "name", TEXT, 0, .cell = group_name_cell),
    COLUMN("Bound by", "bound_by", TEXT, 0, .cell = group_class_cell),
    COLUMN("Calls", "calls", COUNT, 0, OF(group, calls)),
    COLUMN("Time", "time_ns", TIME, 0, OF(group, time)),
    COLUMN("Counter", "counter", TEXT, 0, OF(counter, name)),
    COLUMN("Unit", "unit", TEXT, 0, .cell = counter_unit_cell),
    COLUMN("Samples", "samples", REAL, 0, OF(cell, samples)),
    STATISTIC("Mean", "mean", MEAN),
    STATISTIC("Error", "error", ERROR),
    COLUMN("Whole samples", "whole_samples", COUNT, 0, OF(cell, whole)),
    STATISTIC("P50", "p50", P50),
    STATISTIC("P95", "p95", P95),
    STATISTIC("Max", "max", MAX),
};

static void each_work(struct report_table *table, report_take *take)
{
    const struct shown_counters *shown = table->of;
    const struct counters_result *result = shown->result;

    for (size_t i = 0; i < result->group_count; i++) {
        const struct counters_group *group = &result->groups[i];

        for (size_t at = 0; at < result->counter_count && group->time; at++) {
            const struct counters_counter *counter = &result->counters[at];

            if (concerns(shown, group->device) && counter->device == group->device &&
                counter->samples)
                take(table,
                     &(struct work_line){group, counter, counters_cell(result, group, counter)});
        }
    }
}

/* What ran on one device: in text a row for each group with its most telling counters, otherwise a
 * row for each group and counter. */
static void counters_print_work(const struct report_out *out, struct json_writer *json,
                                const struct counters_result *result, uint64_t device,
                                enum counters_by by)
{
    const struct shown_counters shown = {.result = result, .device = device};

    if (out->format == REPORT_TEXT)
        print_work_text(out, result, device, by);
    else
        print_or_json(
            out, json, "work",
            &(struct report_layout){REPORT_COLUMNS(work_columns), .of = &shown, .name = "work"},
            each_work);
}

/* ---- Notes ---- */

static bool said_before(const struct counters_result *result, size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (result->counters[i].note && result->counters[i].device == result->counters[at].device &&
            mp_text_equal(result->counters[i].note, result->counters[at].note))
            return true;
    return false;
}

/* Why counters have no better source, each reason once. */
static void print_sources(const struct report_out *out, const struct mp_trace *trace,
                          const struct counters_result *result)
{
    for (size_t i = 0; i < result->counter_count; i++) {
        const struct counters_counter *counter = &result->counters[i];

        if (!counter->note || said_before(result, i))
            continue;
        print_note(out, trace, "Note: device %" PRIu64 ", %s and others without CUPTI: %s.",
                   counter->device, counter->name ? counter->name : "?", counter->note);
    }
}

static uint64_t shortest_interval(const struct counters_result *result)
{
    uint64_t shortest = 0;

    for (size_t i = 0; i < result->counter_count; i++) {
        uint64_t interval = result->counters[i].samples ? result->counters[i].interval : 0;

        if (interval && (!shortest || interval < shortest))
            shortest = interval;
    }
    return shortest;
}

/* The most that a counter of CUPTI lacks, or of the others. */
static uint64_t missing_time(const struct counters_result *result, bool of_cupti)
{
    uint64_t missing = 0;

    for (size_t i = 0; i < result->counter_count; i++)
        if ((result->counters[i].by == SAMPLED_BY_CUPTI) == of_cupti &&
            result->counters[i].missing > missing)
            missing = result->counters[i].missing;
    return missing;
}

/* Of what CUPTI lacks, only the rate of its samples can be chosen. */
static void print_missing(const struct report_out *out, const struct mp_trace *trace,
                          const struct counters_result *result)
{
    uint64_t of_cupti = missing_time(result, true), of_others = missing_time(result, false);
    uint64_t overflows = result->overflows;
    char time[MP_FORMATTED_BYTES];

    if (of_cupti || overflows)
        print_note(out, trace, "Note: %s%s%s%s%s%s: a lower rate loses none.",
                   of_cupti ? "samples are missing for up to " : "",
                   of_cupti ? mp_format_time(time, sizeof time, of_cupti) : "",
                   of_cupti && overflows ? ", " : "", overflows ? "the GPU's buffer was full " : "",
                   overflows > 1 ? mp_count(overflows).text
                   : overflows   ? "once"
                                 : "",
                   overflows > 1 ? " times" : "");
    if (of_others)
        print_note(out, trace, "Note: samples of NVML are missing for up to %s.",
                   mp_format_time(time, sizeof time, of_others));
}

static void counters_print_notes(const struct report_out *out, const struct mp_trace *trace,
                                 const struct counters_result *result, enum counters_by by)
{
    static const char solved[] = "in which several kernels may have run. Values of work are solved "
                                 "from all samples, +- the 95% confidence; '-': they do not tell "
                                 "it";
    static const char means[] = "and an iteration's value that of its samples. Those at its ends "
                                "count in part, +- the 95% confidence; '-': shorter than a sample, "
                                "or not sampled";
    uint64_t interval = shortest_interval(result);
    char time[MP_FORMATTED_BYTES];

    if (interval && result->group_count)
        print_note(out, trace, "Note: a sample is a mean over %s, %s.",
                   mp_format_time(time, sizeof time, interval),
                   by == COUNTERS_BY_ITERATION ? means : solved);
    if (result->left_out)
        print_note(out, trace, "Note: %s more iterations are left out: --range N takes others.",
                   mp_count(result->left_out).text);
    print_sources(out, trace, result);
    print_missing(out, trace, result);
}

/* ---- Text and CSV ---- */

static bool has_samples(const struct counters_result *result, uint64_t device)
{
    for (size_t i = 0; i < result->counter_count; i++)
        if (result->counters[i].device == device && result->counters[i].samples)
            return true;
    return false;
}

static void counters_print_device(const struct report_out *out, const struct mp_trace *trace,
                                  const struct counters_result *result, uint64_t device,
                                  enum counters_by by)
{
    static const char *const titles[] = {[COUNTERS_BY_KERNEL] = "While kernels and copies ran",
                                         [COUNTERS_BY_LAYER] = "While the work of layers ran",
                                         [COUNTERS_BY_ITERATION] = "In each iteration",
                                         [COUNTERS_BY_IDLE] = "While nothing ran"};
    const char *name = definitions_device(&result->definitions, device);

    print_note(out, trace, "Counters of \"%s (%" PRIu64 ")\":", name ? name : "GPU", device);
    counters_print_devices(out, NULL, result, device);
    if (!has_samples(result, device))
        return;
    fputc('\n', out->file);
    print_note(out, trace, "%s:", titles[by]);
    counters_print_work(out, NULL, result, device, by);
}

static bool is_first(const struct counters_result *result, size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (result->counters[i].device == result->counters[at].device)
            return false;
    return true;
}

static void counters_print_text(const struct report_out *out, const struct mp_trace *trace,
                                const struct counters_result *result,
                                const struct counters_options *options)
{
    print_head(out, trace, &result->quality, options->range, result->range_count);
    if (!result->asked)
        print_note(out, trace, "No counters in the trace: record it with MINIPROF_SAMPLE=default.");
    if (out->format == REPORT_CSV) {
        counters_print_devices(out, NULL, result, UINT64_MAX);
        counters_print_work(out, NULL, result, UINT64_MAX, options->by);
    } else {
        for (size_t i = 0; i < result->counter_count; i++)
            if (is_first(result, i))
                counters_print_device(out, trace, result, result->counters[i].device, options->by);
    }
    if (result->asked)
        counters_print_notes(out, trace, result, options->by);
}

/* ---- JSON ---- */

static void counters_print_json(const struct report_out *out, const struct mp_trace *trace,
                                const struct counters_result *result,
                                const struct counters_options *options)
{
    struct json_writer json;

    json_open_document(&json, out->file, 2);
    json_head(&json, trace, &result->quality, &result->definitions, options->range,
              result->range_count);
    JSON_FACTS(&json, FACT("by", counters_by_name(options->by)), FACT("left_out", result->left_out),
               FACT("overflows", result->overflows));
    counters_print_devices(out, &json, result, UINT64_MAX);
    counters_print_work(out, &json, result, UINT64_MAX, options->by);
    json_close_document(&json);
}

void print_counters(const struct report_out *out, const struct mp_trace *trace,
                    const struct counters_result *result, const struct counters_options *options)
{
    if (out->format == REPORT_JSON)
        counters_print_json(out, trace, result, options);
    else
        counters_print_text(out, trace, result, options);
}
