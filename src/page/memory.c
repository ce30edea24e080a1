/* The two documents of a page about memory: the tables, and the bytes over time line by line. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/text/json_write.h"
#include "page/analyses.h"
#include "reports/memory/memory.h"
#include "reports/memory/print.h"

#include "base/poison.h"

/* Of all lists the longest. */
static size_t longest_list(const struct memory *memory)
{
    size_t longest = memory->kept_groups;

    if (memory->source_count > longest)
        longest = memory->source_count;
    for (size_t i = 0; i < memory->device_count; i++) {
        if (memory->devices[i].alive_count > longest)
            longest = (size_t)memory->devices[i].alive_count;
    }
    return longest;
}

enum mp_status html_print_memory(FILE *out, struct html_material *material, struct mp_error *error)
{
    const struct report_out report = {.file = out, .format = REPORT_JSON};
    const struct memory_options options = {.range = material->range, .top = HTML_MAX_MEMORY};
    struct memory *memory = &material->memory;
    enum mp_status status;
    const char *nothing;

    status = memory_build(material->trace, &options, memory, error);
    if (status) {
        if (!error->status)
            mp_error_set(error, status, "cannot add up the allocations: %s",
                         mp_status_name(status));
        material->no_memory = *error;
        return status;
    }
    html_at_most(material, "memory", HTML_MAX_MEMORY, longest_list(memory));
    nothing = memory_why_nothing(material->trace, memory);
    if (nothing)
        html_print_note(out, nothing);
    else
        print_memory(&report, material->trace, memory, options.range);
    return MP_OK;
}

/* ---- Over time ---- */

/* Points come step by step, in each step first devices, then pools. So they fill the rows of a
 * matrix that is printed column by column. */
struct points {
    size_t lines;                /* of a step */
    size_t shown;                /* of these */
    struct memory_point *points; /* [step * shown + line]; owned */
    size_t taken;
};

static void take_point(void *context, const struct memory_point *point)
{
    struct points *points = context;
    size_t step = points->taken / points->lines;
    size_t line = points->taken % points->lines;

    points->taken++;
    if (line < points->shown && step < HTML_MEMORY_STEPS)
        points->points[step * points->shown + line] = *point;
}

static uint64_t max_of(const struct memory_point *point)
{
    return point->max;
}

static uint64_t live_of(const struct memory_point *point)
{
    return point->live;
}

static void json_line(struct json_writer *json, const struct points *points, size_t line,
                      const char *key, uint64_t (*value_of)(const struct memory_point *point))
{
    json_key_array(json, key);
    for (size_t i = line; i < points->shown * HTML_MEMORY_STEPS; i += points->shown)
        json_number(json, value_of(&points->points[i]));
    json_close_array(json);
}

static void json_lines(struct json_writer *json, const struct memory *memory,
                       const struct points *points)
{
    json_key_array(json, "lines");
    for (size_t i = 0; i < points->shown; i++) {
        const struct memory_point *point = &points->points[i];
        char pool[32];

        json_open_object(json);
        memory_json_device(json, memory, point->device);
        if (point->pool)
            snprintf(pool, sizeof pool, "0x%" PRIx64, point->pool->address);
        JSON_FACTS(json, FACT_IF("pool", point->pool, pool));
        json_line(json, points, i, "max_bytes", max_of);
        json_line(json, points, i, "end_bytes", live_of);
        json_close_object(json);
    }
    json_close_array(json);
}

static void json_times(struct json_writer *json, const struct memory *memory,
                       const struct points *points)
{
    json_key_array(json, "time_ns");
    for (size_t i = 0; i < HTML_MEMORY_STEPS; i++)
        json_number(json, points->points[i * points->shown].time - memory->events.first_time);
    json_close_array(json);
}

static void print_lines(FILE *out, const struct memory *memory, const struct points *points)
{
    struct json_writer json;

    json_open_document(&json, out, 1);
    JSON_FACTS(&json, FACT("start_ns", memory->events.first_time));
    json_times(&json, memory, points);
    json_lines(&json, memory, points);
    json_close_document(&json);
}

enum mp_status html_print_memory_lines(FILE *out, struct html_material *material,
                                       struct mp_error *error)
{
    const struct memory *memory = &material->memory;
    struct points points = {.lines = memory->device_count + memory->pool_count};
    enum mp_status status;

    if (material->no_memory.status) {
        *error = material->no_memory;
        return error->status;
    }
    if (!memory->events.count) {
        html_print_note(out, "No allocations in the trace.");
        return MP_OK;
    }
    points.shown = html_at_most(material, "memory_lines", HTML_MAX_LINES, points.lines);
    points.points = calloc(points.shown * HTML_MEMORY_STEPS, sizeof *points.points);
    if (!points.points)
        return MP_ERR_MEMORY;
    status = memory_each_step(memory, HTML_MEMORY_STEPS, take_point, &points);
    if (!status)
        print_lines(out, memory, &points);
    free(points.points);
    return status;
}
