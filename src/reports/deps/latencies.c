/* --parts: how long each kind of step takes at least. The binding of every activity rests on these
 * latencies (docs/dependency-analysis.md, section 3).
 */
#include <inttypes.h>

#include "reports/deps/sections.h"

#include "base/poison.h"

#define STEP_BYTES 512

static const struct report_column columns[] = {
    {.title = "Shortest", .key = "shortest_ns", .kind = REPORT_CELL_TIME, .width = 13},
    {.title = "P50", .key = "p50_ns", .kind = REPORT_CELL_TIME, .width = 13},
    {.title = "P90", .key = "p90_ns", .kind = REPORT_CELL_TIME, .width = 13},
    {.title = "Examples", .key = "examples", .kind = REPORT_CELL_COUNT, .width = 8},
    {.title = "Step", .key = "step", .kind = REPORT_CELL_TEXT, .width = 4},
};

#define COLUMN_COUNT (sizeof columns / sizeof *columns)

/* "cuLaunchKernel to kernel", "stream to copy", "node to kernel". */
static const char *step_of(const struct deps *deps, const struct deps_latency *latency,
                           char buffer[STEP_BYTES])
{
    static const char *const places[] = {"stream", "stream to first node:", "node"};
    const char *call = mp_intern_get(&deps->names, latency->call, NULL);

    if (!latency->call)
        snprintf(buffer, STEP_BYTES, "%s to %s", places[latency->place],
                 deps_kind_name(latency->kind));
    else if (latency->place)
        snprintf(buffer, STEP_BYTES, "%s to first %s of graph %" PRIu64, call,
                 deps_kind_name(latency->kind), latency->graph);
    else
        snprintf(buffer, STEP_BYTES, "%s to %s", call,
                 latency->work ? mp_intern_get(&deps->names, latency->work, NULL)
                               : deps_kind_name(latency->kind));
    return buffer;
}

/* Passes each class of which the trace has an example to report_row or report_measure. */
static void each_latency(struct report_table *table, const struct deps *deps,
                         void (*take)(struct report_table *, const struct report_cell *))
{
    for (uint32_t i = 0; i < deps->launch_classes.count + DEPS_CLASSES; i++) {
        const struct deps_latency *latency = i < deps->launch_classes.count
                                                 ? &deps->launch_latencies[i]
                                                 : &deps->latencies[i - deps->launch_classes.count];
        char step[STEP_BYTES];

        if (latency->examples) {
            struct report_cell cells[COLUMN_COUNT] = {
                report_number_cell(latency->shortest), report_number_cell(latency->p50),
                report_number_cell(latency->p90), report_number_cell(latency->examples),
                report_text_cell(step_of(deps, latency, step))};

            take(table, cells);
        }
    }
}

void print_deps_latencies(const struct report_out *out, const struct deps_report *report)
{
    struct report_table table;

    print_deps_title(out, report,
                     "Shortest latency of each kind of step: P10 of at least %d examples, else the "
                     "least.",
                     DEPS_ENOUGH_EXAMPLES);
    report_begin(&table, out, columns, COLUMN_COUNT);
    table.name = "latencies";
    if (out->format == REPORT_CSV)
        each_latency(&table, report->deps, report_measure);
    report_header(&table);
    each_latency(&table, report->deps, report_row);
    report_end(&table);
}

void json_deps_latencies(struct json_writer *json, const struct deps_report *report)
{
    struct report_table table;

    json_open_array(json);
    report_begin_json(&table, json, columns, COLUMN_COUNT);
    each_latency(&table, report->deps, report_row);
    report_end(&table);
    json_close_array(json);
}
