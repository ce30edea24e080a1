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

#define TEXT_BYTES 96

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
    uint32_t to = deps_bound_to(deps, entry->last);
    uint32_t target = to == DEPS_NONE ? index : first_of_call(deps, to);

    return (struct trace_row){
        .activity = &deps->activities[index],
        .lane = &deps->lanes[deps->activities[index].lane],
        .window = &report->windows->items[entry->window],
        .entry = entry,
        .slack = report->slack ? report->slack[entry->last] : 0,
        .bound = (enum deps_reason)deps->activities[entry->last].bound,
        .bound_to = target == index ? 0 : table->entries[target].number,
    };
}

/* ---- Text and CSV ---- */

static const struct report_column columns[] = {
    {.title = "#", .key = "number", .kind = REPORT_CELL_ID},
    {.title = "Start", .key = "offset_ns", .kind = REPORT_CELL_TIME, .moment = true, .exact = true},
    {.title = "Duration", .kind = REPORT_CELL_TIME, .exact = true},
    {.title = "Critical path", .key = "critical_ns", .kind = REPORT_CELL_TIME, .exact = true},
    {.title = "Waiting time",
     .key = "waiting_ns",
     .kind = REPORT_CELL_TIME,
     .exact = true,
     .drop = 3},
    {.title = "Slack", .kind = REPORT_CELL_TIME, .exact = true, .drop = 4},
    {.title = "Bound by", .kind = REPORT_CELL_TEXT, .drop = 2},
    {.title = "To", .key = "bound_to", .kind = REPORT_CELL_TEXT, .drop = 2},
    {.title = "Where", .kind = REPORT_CELL_TEXT, .drop = 1},
    {.title = "Name", .kind = REPORT_CELL_TEXT, .left = true},
};

#define COLUMN_COUNT (sizeof columns / sizeof *columns)

/* Those of nvprof's --print-dependency-analysis-trace. */
enum { COLUMN_START = 1, COLUMN_WAITING = 4, COLUMN_NAME = 9 };

static const struct report_column nvprof_columns[] = {
    {.title = "Start", .kind = REPORT_CELL_TIME, .width = 12, .decimals = true},
    {.title = "Duration", .kind = REPORT_CELL_TIME, .width = 12, .decimals = true},
    {.title = "Critical path", .kind = REPORT_CELL_TIME, .width = 13, .decimals = true},
    {.title = "Waiting time", .kind = REPORT_CELL_TIME, .width = 12, .decimals = true, .drop = 3},
    {.title = "Name", .kind = REPORT_CELL_TEXT, .left = true},
};

#define NVPROF_COLUMN_COUNT (sizeof nvprof_columns / sizeof *nvprof_columns)

/* Starts count from the first activity. nvprof counted them from 1970, so that only two digits
 * differed between rows. */
static void take_nvprof_row(struct report_table *out, const struct trace_table *table,
                            const struct report_cell cells[COLUMN_COUNT], uint32_t index,
                            void (*take)(struct report_table *, const struct report_cell *))
{
    const struct deps_activity *activities = table->report->deps->activities;
    struct report_cell chosen[NVPROF_COLUMN_COUNT];
    size_t count = 0;

    for (int i = COLUMN_START; i <= COLUMN_WAITING; i++)
        chosen[count++] = cells[i];
    chosen[count] = cells[COLUMN_NAME];
    chosen[0] = report_number_cell(activities[index].begin - activities[table->order[0]].begin);
    take(out, chosen);
}

/* Prints the stream, with as much of its context and device as tells it from others. */
static void print_where(const struct trace_table *table, const struct deps_lane *lane,
                        char text[TEXT_BYTES])
{
    const struct deps *deps = table->report->deps;
    char rank[TEXT_BYTES / 4] = "";
    char device[TEXT_BYTES / 4] = "";
    char context[TEXT_BYTES / 4] = "";

    if (deps->ranks)
        snprintf(rank, sizeof rank, "rank %" PRIu32 " ", deps->ranks[lane->process]);
    if (lane->is_thread) {
        snprintf(text, TEXT_BYTES, "%sthread %" PRIu64, rank, lane->tid);
        return;
    }
    if (table->several_devices)
        snprintf(device, sizeof device, "device %" PRIu64 " ", lane->device);
    if (table->several_contexts)
        snprintf(context, sizeof context, "context %" PRIu64 " ", lane->context);
    snprintf(text, TEXT_BYTES, "%s%s%sstream %" PRIu64, rank, device, context, lane->id);
}

static void trace_take_row(struct report_table *out, const struct trace_table *table,
                           uint32_t index,
                           void (*take)(struct report_table *, const struct report_cell *))
{
    struct trace_row row = row_of(table, index);
    uint64_t from = row.window->begin;
    uint64_t begin = row.activity->begin;
    char where[TEXT_BYTES];
    char to[TEXT_BYTES];

    print_where(table, row.lane, where);
    snprintf(to, sizeof to, "%s%" PRIu32, out->sheet ? "" : "#", row.bound_to);
    struct report_cell cells[COLUMN_COUNT] = {
        report_number_cell(row.entry->number),
        report_number_cell(begin > from ? begin - from : 0),
        report_number_cell(row.entry->own),
        report_number_cell(row.entry->critical),
        report_number_cell(row.entry->waiting),
        report_number_cell(row.slack),
        report_text_cell(reason_names[row.bound]),
        report_text_cell(row.bound_to ? to : NULL),
        report_text_cell(where),
        report_text_cell(deps_name(table->report->deps, row.activity))};
    if (table->report->section)
        take_nvprof_row(out, table, cells, index, take);
    else
        take(out, cells);
}

enum mp_status print_deps_trace(const struct report_out *out, const struct deps_report *report)
{
    struct trace_table table;
    struct report_table printer;

    MP_TRY(table_build(&table, report));
    print_deps_title(out, report, "Dependency Analysis, each activity:");
    if (report->section)
        report_begin(&printer, out, nvprof_columns, NVPROF_COLUMN_COUNT);
    else
        report_begin(&printer, out, columns, COLUMN_COUNT);
    for (uint32_t i = 0; i < table.count; i++)
        trace_take_row(&printer, &table, table.order[i], report_measure);
    if (table.count || !report_has_titles(out))
        report_header(&printer);
    if (!table.count) {
        print_csv_prefix(out, report->trace);
        fputs("No activities were profiled.\n", out->file);
    }
    for (uint32_t i = 0; i < table.count; i++)
        trace_take_row(&printer, &table, table.order[i], report_row);
    report_end(&printer);
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
    JSON_FACTS(json, FACT("kind", deps_kind_name(row.activity->kind)),
               FACT("name", deps_name(table->report->deps, row.activity)));
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
