/* Prints what reports/memory finds. Times count from the first row of the trace or of the capture
 * range.
 */
#include "reports/memory/print.h"

#include <inttypes.h>

#include "base/text/units.h"
#include "profile/identity.h"
#include "reports/common/quality.h"

#include "base/poison.h"

/* ---- Text and CSV ---- */

static void print_section(const struct report_out *out, const struct mp_trace *trace,
                          const char *title, const struct memory_table *table)
{
    if (!table->rows)
        return;
    print_note(out, trace, "%s:", title);
    memory_table_print(out, table, NULL);
    fputc('\n', out->file);
}

static void print_alive(const struct report_out *out, const struct mp_trace *trace,
                        const struct memory *memory)
{
    for (size_t i = 0; i < memory->device_count; i++) {
        const struct memory_device *device = &memory->devices[i];
        struct memory_table table = memory_alive_table(memory, i);
        char number[32] = "";

        if (!table.rows)
            continue;
        if (device->device != MEMORY_HOST)
            snprintf(number, sizeof number, " (%" PRIu64 ")", device->device);
        print_note(out, trace, "Alive at the peak of %s%s, %s of %s allocation%s:",
                   device->device == MEMORY_HOST ? "the host"
                   : device->name                ? device->name
                                                 : "GPU",
                   number, mp_count(device->alive_shown).text, mp_count(device->alive_count).text,
                   device->alive_count == 1 ? "" : "s");
        memory_table_print(out, &table, NULL);
        fputc('\n', out->file);
    }
}

static void print_kept(const struct report_out *out, const struct mp_trace *trace,
                       const struct memory *memory)
{
    struct memory_table table = memory_kept_table(memory);

    if (memory->kept_count) {
        print_note(out, trace,
                   "Not freed, %s allocation%s, %s bytes:", mp_count(memory->kept_count).text,
                   memory->kept_count == 1 ? "" : "s", mp_count(memory->kept_bytes).text);
        memory_table_print(out, &table, NULL);
    } else {
        print_note(out, trace, "Everything that was allocated has been freed.");
    }
    fputc('\n', out->file);
}

static void print_churn(const struct report_out *out, const struct mp_trace *trace,
                        const struct memory *memory)
{
    const struct memory_iterations *iterations = &memory->iterations;
    struct memory_table sources = memory_churn_table(memory);
    struct memory_table statistics = memory_iterations_table(memory);

    if (memory->iteration) {
        print_note(out, trace, "In each iteration, %s \"%s\", %s of %s with allocations or frees:",
                   memory->by_way ? "by" : "of the NVTX range", memory->iteration,
                   mp_count(iterations->busy).text, mp_count(iterations->count).text);
        memory_table_print(out, &statistics, NULL);
        fputc('\n', out->file);
    }
    if (memory->churn.allocations || memory->churn.frees)
        print_section(out, trace,
                      memory->iteration ? "Allocated and freed in all iterations"
                                        : "Allocated and freed",
                      &sources);
}

/* What the numbers do not cover. */
static void memory_print_notes(const struct report_out *out, const struct mp_trace *trace,
                               const struct memory *memory)
{
    const size_t unfinished = memory->iterations.unfinished;

    if (memory->events.no_calls)
        print_note(out, trace, "No API calls in the trace: who allocated is not known.");
    if (memory->kept_count && !memory->events.reached_end)
        print_note(out, trace,
                   "The recording ended before the program did: what is not freed then may be "
                   "freed later.");
    if (unfinished)
        print_note(out, trace, "%s of the iterations ha%s no begin or no end and %s left out.",
                   mp_count(unfinished).text, unfinished == 1 ? "s" : "ve",
                   unfinished == 1 ? "is" : "are");
}

const char *memory_why_nothing(const struct mp_trace *trace, const struct memory *memory)
{
    if (memory->events.count || memory->pool_count)
        return NULL;
    if (property_is(trace, "MINIPROF_MEMORY", "off"))
        return "Allocations were not recorded: MINIPROF_MEMORY=off.";
    return "No allocations in the trace: none was made while it was recorded.";
}

static bool print_nothing(const struct report_out *out, const struct mp_trace *trace,
                          const struct memory *memory)
{
    const char *reason = memory_why_nothing(trace, memory);

    if (reason)
        print_note(out, trace, "%s", reason);
    return reason;
}

/* ---- CSV: the same tables, each whole, whether it has rows or not ---- */

static void print_csv(const struct report_out *out, const struct memory *memory)
{
    const struct memory_table totals = memory_totals_table(memory);
    const struct memory_table pools = memory_pools_table(memory);
    const struct memory_table peaks = memory_peaks_table(memory);
    const struct memory_table kept = memory_kept_table(memory);
    const struct memory_table churn = memory_churn_table(memory);
    const struct memory_table iterations = memory_iterations_table(memory);

    memory_table_print(out, &totals, NULL);
    memory_table_print(out, &peaks, "peaks");
    memory_table_print(out, &pools, "pools");
    memory_table_print(out, &kept, "not_freed");
    memory_table_print(out, &churn, "churn");
    if (memory->iteration)
        memory_table_print(out, &iterations, "iterations");
}

/* ---- JSON ---- */

static void json_kept(struct json_writer *json, const struct memory *memory)
{
    struct memory_table table = memory_kept_table(memory);

    json_key_object(json, "not_freed");
    JSON_FACTS(json, FACT("allocations", memory->kept_count), FACT("bytes", memory->kept_bytes),
               FACT("groups", memory->kept_groups));
    memory_table_json(json, "rows", &table);
    json_close_object(json);
}

static void json_alive(struct json_writer *json, const struct memory *memory)
{
    json_key_array(json, "peaks");
    for (size_t i = 0; i < memory->device_count; i++) {
        const struct memory_device *device = &memory->devices[i];
        struct memory_table table = memory_alive_table(memory, i);

        json_open_object(json);
        memory_json_device(json, memory, device->device);
        JSON_FACTS(json, FACT("allocations", device->alive_count));
        memory_table_json(json, "alive", &table);
        json_close_object(json);
    }
    json_close_array(json);
}

static void json_statistics(struct json_writer *json, const struct memory *memory)
{
    struct memory_table table = memory_iterations_table(memory);

    if (!memory->iteration) {
        JSON_FACTS(json, json_fact_null("iterations"));
        return;
    }
    json_key_object(json, "iterations");
    JSON_FACTS(json, FACT("name", memory->iteration), FACT("count", memory->iterations.count),
               FACT("with_allocations_or_frees", memory->iterations.busy),
               FACT("unfinished", memory->iterations.unfinished));
    memory_table_json(json, "statistics", &table);
    json_close_object(json);
}

static void memory_print_json(FILE *out, const struct mp_trace *trace, const struct memory *memory,
                              uint64_t range)
{
    struct memory_table totals = memory_totals_table(memory);
    struct memory_table pools = memory_pools_table(memory);
    struct memory_table churn = memory_churn_table(memory);
    struct json_writer json;

    json_open_document(&json, out, 4);
    json_head(&json, trace, &memory->quality, &memory->definitions, range, memory->capture_ranges);
    JSON_FACTS(&json, FACT("start_ns", memory->events.first_time),
               FACT("no_calls", memory->events.no_calls),
               FACT("until_the_end", memory->events.reached_end));
    memory_table_json(&json, "memory", &totals);
    json_alive(&json, memory);
    memory_table_json(&json, "pools", &pools);
    json_kept(&json, memory);
    json_statistics(&json, memory);
    memory_table_json(&json, "churn", &churn);
    json_close_document(&json);
}

/* ---- The command's report ---- */

void print_memory(const struct report_out *out, const struct mp_trace *trace,
                  const struct memory *memory, uint64_t range)
{
    struct memory_table totals = memory_totals_table(memory);
    struct memory_table pools = memory_pools_table(memory);

    if (out->format == REPORT_JSON) {
        memory_print_json(out->file, trace, memory, range);
        return;
    }
    print_head(out, trace, &memory->quality, range, memory->capture_ranges);
    if (print_nothing(out, trace, memory) && report_has_titles(out))
        return;
    if (!report_has_titles(out)) {
        print_csv(out, memory);
        return;
    }
    print_section(out, trace, "Memory result", &totals);
    print_alive(out, trace, memory);
    print_section(out, trace, "Memory pools", &pools);
    if (memory->events.count) {
        print_kept(out, trace, memory);
        print_churn(out, trace, memory);
    }
    memory_print_notes(out, trace, memory);
}

/* ---- The time line ---- */

struct timeline {
    struct report_table table;
    const struct memory *memory;
    report_take *take;
    bool head; /* is printed */
};

static void take_point(void *context, const struct memory_point *point)
{
    struct timeline *line = context;

    if (line->take == report_put && !line->head) {
        report_header(&line->table);
        line->head = true;
    }
    line->take(&line->table, point);
}

static enum mp_status each_point(struct timeline *line, uint64_t steps, report_take *take)
{
    line->take = take;
    return steps ? memory_each_step(line->memory, steps, take_point, line)
                 : memory_each_change(line->memory, take_point, line);
}

/* In text the widths are found first. */
static enum mp_status all_points(struct timeline *line, const struct report_out *out,
                                 const struct mp_trace *trace, uint64_t steps)
{
    if (out->format == REPORT_JSON)
        return each_point(line, steps, report_put);
    if (!report_has_titles(out)) {
        report_header(&line->table);
        line->head = true;
        return each_point(line, steps, report_put);
    }
    if (print_nothing(out, trace, line->memory))
        return MP_OK;
    print_note(out, trace, "Memory over time:");
    MP_TRY(each_point(line, steps, report_survey));
    return each_point(line, steps, report_put);
}

enum mp_status print_memory_timeline(const struct report_out *out, const struct mp_trace *trace,
                                     const struct memory *memory, uint64_t range, uint64_t steps)
{
    struct memory_table points = memory_points_table(memory, steps != 0);
    struct timeline line = {.memory = memory};
    struct json_writer json;

    points.layout.of = &points;
    if (out->format == REPORT_JSON) {
        json_begin(&json, out->file, 0);
        report_open_json(&line.table, &json, &points.layout);
    } else {
        print_head(out, trace, &memory->quality, range, memory->capture_ranges);
        report_open(&line.table, out, &points.layout);
    }
    enum mp_status status = all_points(&line, out, trace, steps);
    report_end(&line.table);
    return status;
}
