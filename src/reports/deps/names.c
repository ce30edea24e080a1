/* The rows of the table of names, in their order. Parts of the path that belong to no activity
 * (host code, launch latency) are rows too.
 */

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/data/algorithms.h"
#include "base/text/foreign.h"
#include "reports/common/quality.h"
#include "reports/deps/sections.h"
#include "reports/stacks/print.h"

#include "base/poison.h"

/* ---- Lines and keys that several sections print ---- */

void print_deps_title(const struct report_out *out, const struct deps_report *report,
                      const char *format, ...)
{
    va_list arguments;

    if (!report_has_titles(out))
        return;
    print_prefix(out, report->trace);
    va_start(arguments, format);
    foreign_print(out->file, format, arguments);
    va_end(arguments);
    fputc('\n', out->file);
}

void json_deps_window(struct json_writer *json, const struct deps_report *report,
                      const struct deps_window *window)
{
    if (report->iterations)
        JSON_FACTS(json, FACT("iteration", window->id));
    JSON_FACTS(json, FACT_IF("range", window->range, window->range->id));
}

const char *deps_kind_name(unsigned kind)
{
    static const char *const names[DEPS_KINDS] = {
        [DEPS_CALL] = "call", [DEPS_KERNEL] = "kernel",     [DEPS_COPY] = "copy",
        [DEPS_SET] = "set",   [DEPS_GRAPH] = "graph",       [DEPS_HOST_FUNCTION] = "host function",
        [DEPS_WAIT] = "wait", [DEPS_TRANSFER] = "transfer",
    };

    return names[kind];
}

/* ---- Rows ---- */

static const struct {
    const char *name;
    const char *key;
} parts_table[DEPS_PARTS] = {
    [DEPS_HOST_CODE] = {"<host code>", "host_code_ns"},
    [DEPS_COMPUTING] = {"<computing>", "computing_ns"},
    [DEPS_NOT_SCHEDULED] = {"<not scheduled>", "not_scheduled_ns"},
    [DEPS_BLOCKED] = {"<blocked>", "blocked_ns"},
    [DEPS_LAUNCH_LATENCY] = {"<launch latency>", "launch_latency_ns"},
    [DEPS_STREAM_GAP] = {"<stream gap>", "stream_gap_ns"},
    [DEPS_DEPENDENCY_LATENCY] = {"<dependency latency>", "dependency_latency_ns"},
    [DEPS_RETURN] = {"<return from wait>", "return_ns"},
    [DEPS_NO_KNOWN_CAUSE] = {"<unknown>", "unknown_ns"},
    [DEPS_RECORDING] = {"<recording>", "recording_ns"},
};

const char *deps_part_name(int part)
{
    return part < DEPS_PARTS ? parts_table[part].name : "<Other>";
}

const char *deps_part_key(int part)
{
    return parts_table[part].key;
}

uint64_t deps_other(const uint64_t parts[DEPS_PARTS])
{
    uint64_t sum = 0;

    for (int part = 0; part < DEPS_RECORDING; part++)
        sum += parts[part];
    return sum;
}

uint64_t deps_row_waiting(const struct deps_row *row)
{
    return row->waiting + row->device_waiting;
}

double deps_percent(double part, double whole)
{
    return whole > 0 ? 100 * part / whole : 0;
}

MP_COMPARE(compare_table_rows, struct deps_table_row,
           MP_ORDER(b->numbers.critical, a->numbers.critical) ?:
           MP_ORDER(deps_row_waiting(&b->numbers), deps_row_waiting(&a->numbers)) ?:
           strcmp(a->name, b->name));

static bool occurs(const struct deps_row *row)
{
    return row->calls || row->critical || row->waiting || row->device_waiting;
}

static void add_part(struct deps_table_rows *rows, int part, uint64_t ns)
{
    rows->items[rows->count++] = (struct deps_table_row){
        .name = deps_part_name(part), .part = part, .group = DEPS_NONE, .numbers.critical = ns};
}

static void add_parts_from(struct deps_table_rows *rows, const uint64_t ns[DEPS_PARTS], int part)
{
    for (; part < DEPS_PARTS; part++) {
        if (ns[part])
            add_part(rows, part, ns[part]);
    }
}

static uint32_t count_host_groups(const struct deps_result *result)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < result->thread_count; i++) {
        uint64_t sum = 0;

        for (int part = 0; part < DEPS_HOST_PARTS; part++)
            sum += result->host[i][part];
        count += sum != 0;
    }
    return count;
}

/* "<computing> 'loader'", of a job "rank1:<computing>". */
static const char *label_of(const struct deps *deps, uint32_t group, int part,
                            struct deps_table_rows *rows)
{
    char *label = rows->labels[rows->label_count++], name[DEPS_THREAD_BYTES];

    if (deps->ranks) {
        snprintf(label, DEPS_LABEL_BYTES, "rank%" PRIu32 ":%s",
                 deps->ranks[deps->lanes[group].process], deps_part_name(part));
        return label;
    }
    deps_name_thread(deps, group, name);
    snprintf(label, DEPS_LABEL_BYTES, "%s %s", deps_part_name(part), name);
    return label;
}

static void add_host_of_groups(const struct deps *deps, const struct deps_result *result,
                               struct deps_table_rows *rows)
{
    for (uint32_t i = 0; i < result->thread_count; i++) {
        for (int part = 0; part < DEPS_HOST_PARTS; part++) {
            if (!result->host[i][part])
                continue;
            add_part(rows, part, result->host[i][part]);
            rows->items[rows->count - 1].group = i;
            rows->items[rows->count - 1].name = label_of(deps, i, part, rows);
        }
    }
}

enum mp_status deps_rows_build(const struct deps *deps, const struct deps_result *result,
                               bool other, struct deps_table_rows *rows)
{
    uint32_t groups = count_host_groups(result);
    bool by_group = groups > 1 || (groups && deps->ranks);
    size_t labels = (size_t)groups * DEPS_HOST_PARTS;

    *rows = (struct deps_table_rows){
        .items = calloc(result->row_count + DEPS_PARTS + labels, sizeof *rows->items),
        .labels = calloc(labels + 1, sizeof *rows->labels)};
    if (!rows->items || !rows->labels) {
        deps_rows_free(rows);
        return MP_ERR_MEMORY;
    }
    for (uint32_t id = 1; id < result->row_count; id++) {
        if (occurs(&result->rows[id]))
            rows->items[rows->count++] =
                (struct deps_table_row){.name = mp_intern_get(&deps->names, id, NULL),
                                        .id = id,
                                        .numbers = result->rows[id]};
    }
    if (other)
        add_part(rows, DEPS_OTHER, deps_other(result->parts));
    else if (by_group)
        add_host_of_groups(deps, result, rows);
    add_parts_from(rows, result->parts, other ? DEPS_RECORDING : by_group ? DEPS_HOST_PARTS : 0);
    qsort(rows->items, rows->count, sizeof *rows->items, compare_table_rows);
    return MP_OK;
}

void deps_rows_free(struct deps_table_rows *rows)
{
    free(rows->items);
    free(rows->labels);
    *rows = (struct deps_table_rows){0};
}

/* ---- --parts ---- */

void print_deps_host(const struct report_out *out, const struct deps_report *report)
{
    bool mean = report->iterations != NULL;
    const struct host_code host = {
        .trace = report->trace,
        .gaps = report->gaps,
        .title = mean ? "Host code on the path of an iteration" : "Host code on the critical path",
        .iterations = mean ? report->windows->count : 0,
    };

    print_host_code(out, &host);
}

#define STEP_BYTES 512

/* "cuLaunchKernel to kernel", "stream to copy", "node to kernel". */
static struct report_cell step_cell(const void *at, struct report_table *table)
{
    const struct deps_latency *latency = at;
    const struct deps *deps = table->of;
    char step[STEP_BYTES];
    static const char *const places[] = {"stream", "stream to first node:", "node"};
    const char *call = mp_intern_get(&deps->names, latency->call, NULL);

    if (!latency->call)
        snprintf(step, STEP_BYTES, "%s to %s", places[latency->place],
                 deps_kind_name(latency->kind));
    else if (latency->place)
        snprintf(step, STEP_BYTES, "%s to first %s of graph %" PRIu64, call,
                 deps_kind_name(latency->kind), latency->graph);
    else
        snprintf(step, STEP_BYTES, "%s to %s", call,
                 latency->work ? mp_intern_get(&deps->names, latency->work, NULL)
                               : deps_kind_name(latency->kind));
    return report_text_cell(report_copy(table, step));
}

static const struct report_column latency_columns[] = {
    COLUMN("Shortest", "shortest_ns", TIME, 13, MEMBER(struct deps_latency, shortest)),
    COLUMN("P50", "p50_ns", TIME, 13, MEMBER(struct deps_latency, p50)),
    COLUMN("P90", "p90_ns", TIME, 13, MEMBER(struct deps_latency, p90)),
    COLUMN("Examples", "examples", COUNT, 8, MEMBER(struct deps_latency, examples)),
    COLUMN("Step", "step", TEXT, 4, .cell = step_cell),
};

/* Each class of which the trace has an example. */
static void each_latency(struct report_table *table, report_take *take)
{
    const struct deps *deps = table->of;
    uint32_t launches = deps->launch_classes.count;

    for (uint32_t i = 0; i < launches + DEPS_CLASSES; i++) {
        const struct deps_latency *latency =
            i < launches ? &deps->launch_latencies[i] : &deps->latencies[i - launches];

        if (latency->examples)
            take(table, latency);
    }
}

static struct report_layout latency_layout(const struct deps_report *report)
{
    return (struct report_layout){REPORT_COLUMNS(latency_columns), .of = report->deps,
                                  .name = "latencies", .measuring = REPORT_FIT_UNITS};
}

static void print_latencies(const struct report_out *out, const struct deps_report *report)
{
    const struct report_layout layout = latency_layout(report);

    print_deps_title(out, report,
                     "Shortest latency of each kind of step: P10 of at least %d examples, else the "
                     "least.",
                     DEPS_ENOUGH_EXAMPLES);
    report_print(out, &layout, each_latency);
}

void json_deps_latencies(struct json_writer *json, const struct deps_report *report)
{
    const struct report_layout layout = latency_layout(report);

    report_json_print(json, "latencies", &layout, each_latency);
}

/* ---- The table ---- */

static struct report_cell percent_cell(const void *at, struct report_table *table)
{
    const struct deps_table_row *row = at;
    const struct deps_result *result = table->of;

    return report_real_cell(deps_percent((double)row->numbers.critical, (double)result->window));
}

static struct report_cell waiting_cell(const void *at, struct report_table *table)
{
    (void)table;
    return report_number_cell(deps_row_waiting(&((const struct deps_table_row *)at)->numbers));
}

#define ROW(member) MEMBER(struct deps_table_row, member)
#define JSON_ONLY   .formats = REPORT_IN_JSON
#define NOT_JSON    .formats = REPORT_IN_TEXT | REPORT_IN_CSV | REPORT_IN_SHEET

/* nvprof 11's columns and widths. */
static const struct report_column columns[] = {
    COLUMN("Critical path(%)", NULL, PERCENT, 16, .cell = percent_cell, .share = true),
    COLUMN(NULL, "name", TEXT, 0, ROW(name), JSON_ONLY),
    COLUMN("Critical path", "critical_ns", TIME, 13, ROW(numbers.critical), .decimals = true),
    COLUMN("Waiting time", "waiting_ns", TIME, 12, .cell = waiting_cell, .decimals = true,
           .share = true, NOT_JSON),
    COLUMN("Name", NULL, TEXT, 4, ROW(name)),
    COLUMN(NULL, "waiting_ns", TIME, 0, ROW(numbers.waiting), JSON_ONLY),
    COLUMN(NULL, "device_waiting_ns", TIME, 0, ROW(numbers.device_waiting), JSON_ONLY),
    COLUMN(NULL, "calls", COUNT, 0, ROW(numbers.calls), JSON_ONLY),
};

static struct report_layout names_layout(const struct deps_report *report)
{
    return (struct report_layout){REPORT_COLUMNS(columns), .of = report->result,
                                  .measuring = REPORT_FIT_UNITS};
}

static void put_names(const struct report_out *out, const struct deps_report *report,
                      const struct deps_table_rows *rows)
{
    const struct report_layout layout = names_layout(report);
    struct report_table table;

    report_open(&table, out, &layout);
    for (size_t i = 0; i < rows->count && out->format == REPORT_CSV; i++)
        report_survey(&table, &rows->items[i]);
    report_header(&table);
    for (size_t i = 0; i < rows->count; i++)
        report_put(&table, &rows->items[i]);
    report_end(&table);
}

enum mp_status print_deps_names(const struct report_out *out, const struct deps_report *report)
{
    struct deps_table_rows rows;

    if (report->thread)
        print_deps_title(out, report, "Dependency Analysis of thread '%s':", report->thread);
    else
        print_deps_title(out, report, "Dependency Analysis:");
    if (!report->deps->count) {
        print_csv_prefix(out, report->trace);
        fputs("No activities were profiled.\n", out->file);
        if (report_has_titles(out))
            return MP_OK;
    }
    MP_TRY(deps_rows_build(report->deps, report->result, report->section, &rows));
    put_names(out, report, &rows);
    deps_rows_free(&rows);
    if (report->job)
        print_job_ranks(out, report->job);
    if (report->parts) {
        print_deps_host(out, report);
        print_latencies(out, report);
    }
    return MP_OK;
}

/* The parts are an object too, by kind. */
enum mp_status json_deps_names(struct json_writer *json, const struct deps_report *report)
{
    const struct report_layout layout = names_layout(report);
    const bool known = report->deps->recording.before;
    struct deps_table_rows rows;

    MP_TRY(deps_rows_build(report->deps, report->result, false, &rows));
    report_json_array(json, "rows", &layout, rows.items, rows.count, sizeof *rows.items);
    deps_rows_free(&rows);
    json_key_object(json, "parts");
    for (int part = 0; part < DEPS_RECORDING; part++)
        JSON_FACTS(json, FACT(deps_part_key(part), report->result->parts[part]));
    json_close_object(json);
    JSON_FACTS(json,
               FACT_IF(deps_part_key(DEPS_RECORDING), known, report->result->parts[DEPS_RECORDING]),
               FACT_IF("recording_inside_ns", known, report->result->recording_inside),
               FACT("late_launches_ns", report->result->late_launches));
    json_host_code(json, &(struct host_code){.gaps = report->gaps});
    return MP_OK;
}
