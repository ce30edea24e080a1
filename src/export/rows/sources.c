/* Which tables have rows to export, as data: their kinds, and what names a row. profile/activity.h
 * has their columns.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "export/rows/build.h"
#include "profile/names/names.h"

#include "base/poison.h"

const char *export_kind_key(enum export_kind kind)
{
    static const char *const keys[EXPORT_KINDS] = {
        [EXPORT_KERNEL] = "kernel",
        [EXPORT_COPY] = "copy",
        [EXPORT_SET] = "set",
        [EXPORT_GRAPH] = "graph",
        [EXPORT_HOST_FUNCTION] = "host_function",
        [EXPORT_CALL] = "call",
        [EXPORT_SYNC] = "sync",
        [EXPORT_WAIT] = "wait",
        [EXPORT_RANGE] = "range",
        [EXPORT_MARK] = "mark",
        [EXPORT_MEMORY] = "memory",
        [EXPORT_POOL] = "pool",
        [EXPORT_UNIFIED] = "unified",
        [EXPORT_OVERHEAD] = "overhead",
        [EXPORT_COLLECTIVE] = "collective",
        [EXPORT_METRIC] = "metric",
    };

    return keys[kind];
}

static enum mp_status use(struct export_rows *rows, struct export_row *row, const char *name)
{
    MP_TRY(export_text_put(rows, name, strlen(name), &row->name));
    row->raw_name = row->name;
    return MP_OK;
}

/* The name of a value of an enumeration, else its number. */
static enum mp_status use_value(struct export_rows *rows, struct export_row *row,
                                const char *enumeration, uint64_t value)
{
    const char *name = mp_enum_name(enumeration, value);
    char number[NAMES_BYTES];

    if (!name)
        snprintf(number, sizeof number, "%s %" PRIu64, enumeration, value);
    return use(rows, row, name ? name : number);
}

static enum mp_status describe_kernel(struct export_rows *rows, struct export_row *row)
{
    const struct mp_row_kernel kernel = export_row_kernel(row);

    row->shape = shapes_find(&rows->shapes, kernel.shape);
    return export_text_name(rows, EXPORT_MEMO_SHAPE, kernel.shape, row);
}

/* Copies, sets and graphs are called as summary calls them. */
static enum mp_status describe_by_table(struct export_rows *rows, struct export_row *row)
{
    const struct activity_table *table = rows->source->table;
    uint64_t id = activity_value(row->columns, table->id, row->index);
    char name[NAMES_BYTES];

    if (row->kind == EXPORT_GRAPH)
        row->graph = id;
    return use(rows, row, table->name(&rows->definitions, rows->options.style, id, name));
}

static enum mp_status describe_host_function(struct export_rows *rows, struct export_row *row)
{
    MP_TRY(export_rows_string(rows, export_row_host_function(row).name, &row->name));
    row->raw_name = row->name;
    return row->name.text ? MP_OK : use(rows, row, "[host function]");
}

static enum mp_status describe_call(struct export_rows *rows, struct export_row *row)
{
    return export_text_name(rows, EXPORT_MEMO_FUNCTION, export_row_call(row).function, row);
}

static enum mp_status describe_sync(struct export_rows *rows, struct export_row *row)
{
    return use_value(rows, row, "sync_kind", export_row_sync(row).kind);
}

static enum mp_status describe_wait(struct export_rows *rows, struct export_row *row)
{
    return use(rows, row, names_wait(export_row_wait(row).kind));
}

static enum mp_status describe_memory(struct export_rows *rows, struct export_row *row)
{
    return use_value(rows, row, "memory_operation", export_row_memory(row).operation);
}

static enum mp_status describe_pool(struct export_rows *rows, struct export_row *row)
{
    return use_value(rows, row, "pool_operation", export_row_pool(row).operation);
}

static enum mp_status describe_unified(struct export_rows *rows, struct export_row *row)
{
    return use(rows, row, activity_unified(export_row_unified(row).kind));
}

static enum mp_status describe_overhead(struct export_rows *rows, struct export_row *row)
{
    return use_value(rows, row, "overhead_kind", export_row_overhead(row).kind);
}

static enum mp_status describe_metric(struct export_rows *rows, struct export_row *row)
{
    return export_text_name(rows, EXPORT_MEMO_METRIC, export_row_metric_value(row).metric, row);
}

static enum mp_status describe_collective(struct export_rows *rows, struct export_row *row)
{
    MP_TRY(export_rows_string(rows, export_row_collective(row).function, &row->name));
    row->raw_name = row->name;
    return row->name.text ? MP_OK : use(rows, row, ACTIVITY_UNNAMED_CALL);
}

/* ---- The tables ---- */

#define SOURCE(kind, deps, describe)                                                               \
    {                                                                                              \
        &activity_tables[ACTIVITY_##kind], EXPORT_##kind, deps, describe                           \
    }

static const struct export_source sources[] = {
    SOURCE(KERNEL, DEPS_KERNEL, describe_kernel),
    SOURCE(COPY, DEPS_COPY, describe_by_table),
    SOURCE(SET, DEPS_SET, describe_by_table),
    SOURCE(GRAPH, DEPS_GRAPH, describe_by_table),
    SOURCE(HOST_FUNCTION, DEPS_HOST_FUNCTION, describe_host_function),
    SOURCE(CALL, DEPS_CALL, describe_call),
    SOURCE(SYNC, DEPS_KINDS, describe_sync),
    SOURCE(WAIT, DEPS_WAIT, describe_wait),
    {&activity_tables[ACTIVITY_NVTX], EXPORT_RANGE, DEPS_KINDS, export_nvtx_describe},
    SOURCE(MEMORY, DEPS_KINDS, describe_memory),
    SOURCE(POOL, DEPS_KINDS, describe_pool),
    SOURCE(UNIFIED, DEPS_KINDS, describe_unified),
    SOURCE(OVERHEAD, DEPS_KINDS, describe_overhead),
    SOURCE(COLLECTIVE, DEPS_KINDS, describe_collective),
    SOURCE(METRIC, DEPS_KINDS, describe_metric),
};

const struct export_source *export_sources(size_t *count)
{
    *count = sizeof sources / sizeof *sources;
    return sources;
}
