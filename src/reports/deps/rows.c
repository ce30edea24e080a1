/* The rows of the table of names, in their order. Parts of the path that belong to no activity
 * (host code, launch latency) are rows too.
 */
#include "reports/deps/rows.h"

#include <stdlib.h>
#include <string.h>

#include "base/poison.h"

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

    for (int part = 0; part < DEPS_PARTS; part++)
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

static int compare_numbers(uint64_t a, uint64_t b)
{
    return a < b ? 1 : a > b ? -1 : 0;
}

static int deps_compare_rows(const void *left, const void *right)
{
    const struct deps_table_row *a = left;
    const struct deps_table_row *b = right;
    int order = compare_numbers(a->numbers.critical, b->numbers.critical);

    if (!order)
        order = compare_numbers(deps_row_waiting(&a->numbers), deps_row_waiting(&b->numbers));
    return order ? order : strcmp(a->name, b->name);
}

static bool occurs(const struct deps_row *row)
{
    return row->calls || row->critical || row->waiting || row->device_waiting;
}

static void add_part(struct deps_table_rows *rows, int part, uint64_t ns)
{
    rows->items[rows->count++] =
        (struct deps_table_row){.name = deps_part_name(part), .part = part, .numbers.critical = ns};
}

/* A part that has a row only if it is not 0. */
static bool is_seldom(int part)
{
    return part == DEPS_NO_KNOWN_CAUSE || part == DEPS_COMPUTING || part == DEPS_NOT_SCHEDULED ||
           part == DEPS_BLOCKED;
}

static void add_parts(struct deps_table_rows *rows, const uint64_t ns[DEPS_PARTS], bool split)
{
    if (!split)
        add_part(rows, DEPS_OTHER, deps_other(ns));
    for (int part = 0; split && part < DEPS_PARTS; part++) {
        if (ns[part] || !is_seldom(part))
            add_part(rows, part, ns[part]);
    }
}

enum mp_status deps_rows_build(const struct deps *deps, const struct deps_result *result,
                               bool parts, struct deps_table_rows *rows)
{
    *rows = (struct deps_table_rows){
        .items = calloc((size_t)result->row_count + DEPS_PARTS, sizeof *rows->items)};
    if (!rows->items)
        return MP_ERR_MEMORY;
    for (uint32_t id = 1; id < result->row_count; id++) {
        if (occurs(&result->rows[id]))
            rows->items[rows->count++] =
                (struct deps_table_row){.name = mp_intern_get(&deps->names, id, NULL),
                                        .id = id,
                                        .numbers = result->rows[id]};
    }
    add_parts(rows, result->parts, parts);
    qsort(rows->items, rows->count, sizeof *rows->items, deps_compare_rows);
    return MP_OK;
}

void deps_rows_free(struct deps_table_rows *rows)
{
    free(rows->items);
    *rows = (struct deps_table_rows){0};
}
