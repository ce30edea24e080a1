/* The critical path of many windows of one kind: mean and percentiles of each row, and what the
 * slowest windows have on their path that the median one does not.
 */
#include "reports/deps/paths.h"

#include <stdlib.h>

#include "base/data/reserve.h"

#include "base/poison.h"

/* A window's value of a row or part: kept only where it is not 0, since most names have nothing on
 * most paths. */
struct value {
    uint32_t column; /* 2 * name: critical; 2 * name + 1: waiting; behind them the parts */
    uint64_t ns;
};

struct collection {
    struct value *items;
    size_t count, capacity;
    uint32_t names; /* and one more */
};

static enum mp_status iterations_keep(struct collection *collection, uint32_t column, uint64_t ns)
{
    if (!ns)
        return MP_OK;
    MP_TRY(mp_reserve((void **)&collection->items, collection->count, &collection->capacity,
                      sizeof *collection->items));
    collection->items[collection->count++] = (struct value){column, ns};
    return MP_OK;
}

static enum mp_status keep_window(struct collection *collection, const struct deps_result *result)
{
    for (uint32_t name = 1; name < result->row_count; name++) {
        const struct deps_row *row = &result->rows[name];

        MP_TRY(iterations_keep(collection, 2 * name, row->critical));
        MP_TRY(iterations_keep(collection, 2 * name + 1, row->waiting + row->device_waiting));
    }
    for (uint32_t part = 0; part < DEPS_PARTS; part++)
        MP_TRY(iterations_keep(collection, 2 * collection->names + part, result->parts[part]));
    return MP_OK;
}

static void iterations_add_up(struct deps_result *total, const struct deps_result *one)
{
    for (uint32_t name = 1; name < one->row_count; name++) {
        total->rows[name].critical += one->rows[name].critical;
        total->rows[name].waiting += one->rows[name].waiting;
        total->rows[name].device_waiting += one->rows[name].device_waiting;
        total->rows[name].calls += one->rows[name].calls;
    }
    for (uint32_t part = 0; part < DEPS_PARTS; part++)
        total->parts[part] += one->parts[part];
    total->window += one->window;
}

static int compare_columns(const void *left, const void *right)
{
    uint32_t a = ((const struct value *)left)->column;
    uint32_t b = ((const struct value *)right)->column;

    return (a > b) - (a < b);
}

static struct statistics *statistics_slot(struct deps_iterations *iterations, uint32_t names,
                                          uint32_t column)
{
    if (column >= 2 * names)
        return &iterations->parts[column - 2 * names];
    return column % 2 ? &iterations->waiting[column / 2] : &iterations->critical[column / 2];
}

/* `values` has room for one value of each window; windows without one count as 0. */
static void sum_up(struct deps_iterations *iterations, struct collection *collection,
                   uint64_t *values, size_t windows)
{
    if (collection->count)
        qsort(collection->items, collection->count, sizeof *collection->items, compare_columns);
    for (size_t at = 0; at < collection->count;) {
        uint32_t column = collection->items[at].column;
        size_t count = 0;

        for (; at < collection->count && collection->items[at].column == column; at++)
            values[count++] = collection->items[at].ns;
        while (count < windows)
            values[count++] = 0;
        *statistics_slot(iterations, collection->names, column) = statistics_of(values, windows);
    }
}

struct length {
    uint64_t ns;
    uint32_t window;
};

static int compare_lengths(const void *left, const void *right)
{
    const struct length *a = left;
    const struct length *b = right;

    if (a->ns != b->ns)
        return a->ns < b->ns ? 1 : -1;
    return (a->window > b->window) - (a->window < b->window);
}

static enum mp_status order_by_length(const struct deps_windows *windows,
                                      struct deps_iterations *iterations, uint64_t *values)
{
    struct length *lengths = calloc(windows->count + 1, sizeof *lengths);

    if (!lengths)
        return MP_ERR_MEMORY;
    for (uint32_t i = 0; i < windows->count; i++) {
        values[i] = windows->items[i].end - windows->items[i].begin;
        lengths[i] = (struct length){values[i], i};
    }
    qsort(lengths, windows->count, sizeof *lengths, compare_lengths);
    for (uint32_t i = 0; i < windows->count; i++)
        iterations->by_length[i] = lengths[i].window;
    free(lengths);
    iterations->window = statistics_of(values, windows->count);
    /* P50 is the value with rank (count + 1) / 2 from below. */
    iterations->median = iterations->by_length[windows->count - (windows->count + 1) / 2];
    return MP_OK;
}

static enum mp_status collect(const struct deps *deps, const struct deps_windows *windows,
                              struct deps_iterations *iterations, struct collection *collection)
{
    struct deps_result one;
    enum mp_status status = deps_result_init(deps, &one);

    for (size_t i = 0; i < windows->count && !status; i++) {
        deps_result_clear(&one);
        deps_path(deps, &windows->items[i], &one, NULL);
        iterations_add_up(&iterations->total, &one);
        status = keep_window(collection, &one);
    }
    deps_result_free(&one);
    return status;
}

enum mp_status deps_iterations_build(const struct deps *deps, const struct deps_windows *windows,
                                     struct deps_iterations *iterations)
{
    struct collection collection = {.names = deps->names.count + 1};
    uint64_t *values = calloc(windows->count + 1, sizeof *values);
    enum mp_status status;

    *iterations = (struct deps_iterations){.median = 0};
    iterations->critical = calloc(collection.names, sizeof *iterations->critical);
    iterations->waiting = calloc(collection.names, sizeof *iterations->waiting);
    iterations->by_length = calloc(windows->count + 1, sizeof *iterations->by_length);
    status = deps_result_init(deps, &iterations->total);
    if (!values || !iterations->critical || !iterations->waiting || !iterations->by_length)
        status = MP_ERR_MEMORY;
    if (!status && windows->count)
        status = order_by_length(windows, iterations, values);
    if (!status)
        status = collect(deps, windows, iterations, &collection);
    if (!status)
        sum_up(iterations, &collection, values, windows->count);
    free(collection.items);
    free(values);
    if (status)
        deps_iterations_free(iterations);
    return status;
}

void deps_iterations_free(struct deps_iterations *iterations)
{
    free(iterations->critical);
    free(iterations->waiting);
    free(iterations->by_length);
    deps_result_free(&iterations->total);
    *iterations = (struct deps_iterations){.median = 0};
}
