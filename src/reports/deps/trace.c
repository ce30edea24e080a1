/* --trace: one row for each activity, in order of time, window by window. A call with calls inside
 * it has several pieces in the graph (DEPS_CONTINUED) but one row here. The row has the sums of its
 * pieces, and the slack and the reason of the last piece. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/data/algorithms.h"
#include "reports/common/quality.h"
#include "reports/deps/sections.h"

#include "base/poison.h"

/* By activity. Of a call only the entry of its first piece is valid, except for `window`. */
struct trace_entry {
    uint64_t own; /* ns, as the next two */
    uint64_t critical;
    uint64_t waiting;
    uint32_t window; /* index; DEPS_NONE: outside all */
    uint32_t number; /* of the printed row, from 1; 0: none */
    uint32_t last;   /* piece */
};

struct trace_table {
    const struct deps_report *report;
    struct trace_entry *entries; /* owned */
    uint32_t *order;             /* activities as they are printed; owned */
    uint32_t count;
    bool several_devices;
    bool several_contexts;
};

/* What a row shows, ready for any format. */
struct trace_row {
    const struct deps_activity *activity; /* the first piece */
    const struct deps_lane *lane;
    const struct deps_window *window;
    const struct trace_entry *entry;
    const char *name;
    uint64_t offset; /* ns after the begin of its window; with nvprof's columns, of the first row */
    uint64_t slack;
    enum deps_reason bound;
    uint32_t bound_to; /* number of a row; 0: none */
};

static const char *const reason_names[DEPS_REASONS] = {
    [DEPS_PROGRAM_ORDER] = "D1 program order",
    [DEPS_LAUNCH] = "D2 launch",
    [DEPS_STREAM_ORDER] = "D3 stream order",
    [DEPS_EVENT] = "D4 event",
    [DEPS_DEFAULT_STREAM] = "D5 default stream",
    [DEPS_SYNCHRONISATION] = "D6 synchronisation",
    [DEPS_GRAPH_EDGE] = "D7 graph edge",
    [DEPS_IN_EFFECT] = "D8 in effect",
    [DEPS_WOKEN] = "D9 woken",
    [DEPS_PEER] = "D10 peer",
    [DEPS_BY_TIME] = "D11 by time",
};

/* ---- Which activities, in which order ---- */

/* `near` is the window of the activity before this one in its lane: nearly always it is the right
 * one or next to it. */
static uint32_t find_window(const struct deps *deps, const struct deps_windows *windows,
                            const struct deps_activity *activity, uint32_t near)
{
    for (size_t i = near; i < windows->count && i < (size_t)near + 2; i++) {
        if (deps_in_window(deps, &windows->items[i], activity))
            return (uint32_t)i;
    }
    for (size_t i = 0; i < windows->count; i++) {
        if (deps_in_window(deps, &windows->items[i], activity))
            return (uint32_t)i;
    }
    return DEPS_NONE;
}

static uint32_t first_of_call(const struct deps *deps, uint32_t index)
{
    return index < deps->host_count ? deps->activities[index].first_of_call : index;
}

/* Adds a piece to the entry of its activity. */
static void add_piece(struct trace_table *table, uint32_t index)
{
    const struct deps *deps = table->report->deps;
    const struct deps_activity *piece = &deps->activities[index];
    struct trace_entry *entry = &table->entries[first_of_call(deps, index)];

    entry->own += piece->end - piece->begin;
    entry->critical += table->report->critical[index];
    entry->waiting += deps_waiting(deps, piece);
    entry->last = index;
}

static void fill_entries(struct trace_table *table)
{
    const struct deps *deps = table->report->deps;
    uint32_t near = 0;

    for (uint32_t i = 0; i < deps->count; i++) {
        struct trace_entry *entry = &table->entries[i];

        entry->window = find_window(deps, table->report->windows, &deps->activities[i], near);
        if (entry->window != DEPS_NONE)
            near = entry->window;
        add_piece(table, i);
        if (entry->window != DEPS_NONE && first_of_call(deps, i) == i)
            table->order[table->count++] = i;
    }
}

/* Activities stand lane by lane; if all else is equal, their index decides. */
static int compare_places(const void *left, const void *right, void *context)
{
    const struct trace_table *table = context;
    uint32_t a = *(const uint32_t *)left;
    uint32_t b = *(const uint32_t *)right;
    uint32_t windows[] = {table->entries[a].window, table->entries[b].window};
    const struct deps_activity *activities = table->report->deps->activities;

    return MP_ORDER(windows[0], windows[1]) ?:
           MP_ORDER(activities[a].begin, activities[b].begin) ?: MP_ORDER(a, b);
}

static void look_at_lanes(struct trace_table *table)
{
    const struct deps *deps = table->report->deps;
    const struct deps_lane *first = NULL;

    for (uint32_t i = 0; i < deps->lane_count; i++) {
        const struct deps_lane *lane = &deps->lanes[i];

        if (lane->is_thread)
            continue;
        first = first ? first : lane;
        table->several_devices |= lane->device != first->device;
        table->several_contexts |= lane->context != first->context;
    }
}

static void table_free(struct trace_table *table)
{
    free(table->entries);
    free(table->order);
}

static enum mp_status table_build(struct trace_table *table, const struct deps_report *report)
{
    size_t count = (size_t)report->deps->count + 1;

    *table = (struct trace_table){.report = report,
                                  .entries = calloc(count, sizeof *table->entries),
                                  .order = calloc(count, sizeof *table->order)};
    if (!table->entries || !table->order) {
        table_free(table);
        return MP_ERR_MEMORY;
    }
    fill_entries(table);
    qsort_r(table->order, table->count, sizeof *table->order, compare_places, table);
    for (uint32_t i = 0; i < table->count; i++)
        table->entries[table->order[i]].number = i + 1;
    look_at_lanes(table);
    return MP_OK;
}

static struct trace_row row_of(const struct trace_table *table, uint32_t index)
{
    const struct deps_report *report = table->report;
    const struct deps *deps = report->deps;
    const struct trace_entry *entry = &table->entries[index];
    const struct deps_activity *activity = &deps->activities[index];
    const struct deps_window *window = &report->windows->items[entry->window];
    uint32_t to = deps_bound_to(deps, entry->last);
    uint32_t target = to == DEPS_NONE ? index : first_of_call(deps, to);
    uint64_t from = report->section ? deps->activities[table->order[0]].begin : window->begin;

    return (struct trace_row){
        .activity = activity,
        .lane = &deps->lanes[activity->lane],
        .window = window,
        .entry = entry,
        .name = deps_name(deps, activity),
        .offset = activity->begin > from ? activity->begin - from : 0,
        .slack = report->slack ? report->slack[entry->last] : 0,
        .bound = (enum deps_reason)deps->activities[entry->last].bound,
        .bound_to = target == index ? 0 : table->entries[target].number,
    };
}

/* ---- Text and CSV ---- */

static struct report_cell reason_cell(const void *at, struct report_table *table)
{
    (void)table;
    return report_text_cell(reason_names[((const struct trace_row *)at)->bound]);
}

static struct report_cell bound_to_cell(const void *at, struct report_table *table)
{
    const struct trace_row *row = at;

    if (!row->bound_to)
        return report_absent_cell();
    return report_text_cell(
        report_say(table, "%s%" PRIu32, table->sheet ? "" : "#", row->bound_to));
}

/* The stream, with as much of its context and device as tells it from others. */
static struct report_cell where_cell(const void *at, struct report_table *table)
{
    const struct trace_table *activities = table->of;
    const struct deps *deps = activities->report->deps;
    const struct deps_lane *lane = ((const struct trace_row *)at)->lane;
    const char *rank = "";
    const char *device = "";
    const char *context = "";

    if (deps->ranks)
        rank = report_say(table, "rank %" PRIu32 " ", deps->ranks[lane->process]);
    if (lane->is_thread)
        return report_text_cell(report_say(table, "%sthread %" PRIu64, rank, lane->tid));
    if (activities->several_devices)
        device = report_say(table, "device %" PRIu64 " ", lane->device);
    if (activities->several_contexts)
        context = report_say(table, "context %" PRIu64 " ", lane->context);
    return report_text_cell(
        report_say(table, "%s%s%sstream %" PRIu64, rank, device, context, lane->id));
}

#define ROW(member)   MEMBER(struct trace_row, member)
#define ENTRY(member) THROUGH(struct trace_row, entry, member)

static const struct report_column columns[] = {
    COLUMN("#", "number", ID, 0, ENTRY(number)),
    COLUMN("Start", "offset_ns", TIME, 0, ROW(offset), .moment = true, .exact = true),
    COLUMN("Duration", NULL, TIME, 0, ENTRY(own), .exact = true),
    COLUMN("Critical path", "critical_ns", TIME, 0, ENTRY(critical), .exact = true),
    COLUMN("Waiting time", "waiting_ns", TIME, 0, ENTRY(waiting), .exact = true, .drop = 3),
    COLUMN("Slack", NULL, TIME, 0, ROW(slack), .exact = true, .drop = 4),
    COLUMN("Bound by", NULL, TEXT, 0, .cell = reason_cell, .drop = 2),
    COLUMN("To", "bound_to", TEXT, 0, .cell = bound_to_cell, .drop = 2),
    COLUMN("Where", NULL, TEXT, 0, .cell = where_cell, .drop = 1),
    COLUMN("Name", NULL, TEXT, 0, ROW(name), .left = true),
};

/* Those of nvprof's --print-dependency-analysis-trace. Starts count from the first activity. nvprof
 * counted them from 1970, so that only two digits differed between rows. */
static const struct report_column nvprof_columns[] = {
    COLUMN("Start", NULL, TIME, 12, ROW(offset), .decimals = true),
    COLUMN("Duration", NULL, TIME, 12, ENTRY(own), .decimals = true),
    COLUMN("Critical path", NULL, TIME, 13, ENTRY(critical), .decimals = true),
    COLUMN("Waiting time", NULL, TIME, 12, ENTRY(waiting), .decimals = true, .drop = 3),
    COLUMN("Name", NULL, TEXT, 0, ROW(name), .left = true),
};

static void each_activity(struct report_table *table, report_take *take)
{
    const struct trace_table *activities = table->of;

    for (uint32_t i = 0; i < activities->count; i++) {
        const struct trace_row row = row_of(activities, activities->order[i]);

        take(table, &row);
    }
}

enum mp_status print_deps_trace(const struct report_out *out, const struct deps_report *report)
{
    struct trace_table table;
    const struct report_layout own = {REPORT_COLUMNS(columns), .of = &table};
    const struct report_layout nvprofs = {REPORT_COLUMNS(nvprof_columns), .of = &table};

    MP_TRY(table_build(&table, report));
    print_deps_title(out, report, "Dependency Analysis, each activity:");
    if (table.count || !report_has_titles(out))
        report_print(out, report->section ? &nvprofs : &own, each_activity);
    if (!table.count) {
        print_csv_prefix(out, report->trace);
        fputs("No activities were profiled.\n", out->file);
    }
    table_free(&table);
    return MP_OK;
}

/* ---- JSON ---- */

static void json_activity(struct json_writer *json, const struct trace_table *table, uint32_t index)
{
    struct trace_row row = row_of(table, index);
    const struct deps_lane *lane = row.lane;
    const char *reason = reason_names[row.bound];
    char rule[4] = ""; /* "D3" of "D3 stream order" */

    if (reason)
        snprintf(rule, sizeof rule, "%.*s", (int)strcspn(reason, " "), reason);
    json_open_object(json);
    JSON_FACTS(json, FACT("number", row.entry->number));
    json_deps_window(json, table->report, row.window);
    JSON_FACTS(json, FACT("kind", deps_kind_name(row.activity->kind)), FACT("name", row.name));
    if (table->report->deps->ranks)
        JSON_FACTS(json, FACT("rank", table->report->deps->ranks[lane->process]));
    JSON_FACTS(json, FACT_IF("thread", lane->is_thread, lane->tid),
               FACT_IF("device", !lane->is_thread, lane->device),
               FACT_IF("context", !lane->is_thread, lane->context),
               FACT_IF("stream", !lane->is_thread, lane->id),
               FACT_IF("correlation", row.activity->correlation, row.activity->correlation),
               FACT("start_ns", row.activity->begin), FACT("duration_ns", row.entry->own),
               FACT("critical_ns", row.entry->critical), FACT("waiting_ns", row.entry->waiting),
               FACT("slack_ns", row.slack), FACT_IF("bound_by", reason, (const char *)rule),
               FACT_IF("bound_to", row.bound_to, row.bound_to));
    json_close_object(json);
}

enum mp_status json_deps_trace(struct json_writer *json, const struct deps_report *report)
{
    struct trace_table table;

    MP_TRY(table_build(&table, report));
    json_open_array(json);
    for (uint32_t i = 0; i < table.count; i++)
        json_activity(json, &table, table.order[i]);
    json_close_array(json);
    table_free(&table);
    return MP_OK;
}
