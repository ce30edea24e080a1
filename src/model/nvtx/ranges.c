/* Finds the NVTX ranges of one name. It counts open pushes instead of keeping their names, because
 * only the wanted name matters. It notes other names for the message that says what there is.
 */
#include "model/nvtx/ranges.h"
#include "model/trace/reading.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/data/hash.h"
#include "base/data/map.h"
#include "base/data/reserve.h"
#include "trace/codec/schema.h"

#include "base/poison.h"

/* The open pushes of a thread in a domain. Only their number matters, and where the name began. */
struct stack {
    uint64_t depth;
    uint64_t named_depth; /* of the outermost one of the name; 0: none is open */
    uint64_t begin;
};

struct pass {
    struct nvtx_ranges *ranges;
    const struct definitions *definitions;
    const char *name;
    struct stack *stacks;
    size_t stack_count, stack_capacity;
    struct mp_map by_thread; /* thread and domain -> stack */
    struct nvtx_range *open; /* nvtxRangeStart's */
    size_t open_count, open_capacity;
    struct mp_map by_id;       /* range id -> open */
    struct mp_map other_names; /* string ids that stand in `others` */
};

static enum mp_status add_range(struct nvtx_ranges *ranges, const struct nvtx_range *range)
{
    if (range->end < range->begin)
        return MP_OK;
    MP_TRY(mp_reserve((void **)&ranges->items, ranges->count, &ranges->capacity, sizeof *range));
    ranges->items[ranges->count++] = *range;
    return MP_OK;
}

/* Names go into a message of one line. */
static bool is_printable(const char *text)
{
    for (; *text; text++) {
        if ((unsigned char)*text < ' ' || *text == 127)
            return false;
    }
    return true;
}

static void note_other(struct pass *pass, uint64_t name)
{
    const char *text = definitions_text(pass->definitions, name);
    char *others = pass->ranges->others;
    size_t used = strlen(others);
    bool fits = text && used + strlen(text) + 3 < NVTX_OTHERS_BYTES && is_printable(text);

    if (pass->other_names.count >= NVTX_OTHERS_MOST || !fits ||
        mp_map_get(&pass->other_names, name) != MP_MAP_ABSENT ||
        mp_map_put(&pass->other_names, name, 0) != MP_OK)
        return;
    snprintf(others + used, NVTX_OTHERS_BYTES - used, "%s%s", used ? ", " : "", text);
}

static bool has_name(struct pass *pass, uint64_t name)
{
    const char *text = definitions_text(pass->definitions, name);

    if (text && !strcmp(text, pass->name))
        return true;
    note_other(pass, name);
    return false;
}

/* NULL when memory is out. */
static struct stack *reach_stack(struct pass *pass, uint64_t thread, uint64_t domain)
{
    uint64_t key = mp_mix64(thread) ^ domain;
    uint32_t index = mp_map_get(&pass->by_thread, key);

    if (index == MP_MAP_ABSENT) {
        if (mp_reserve((void **)&pass->stacks, pass->stack_count, &pass->stack_capacity,
                       sizeof *pass->stacks))
            return NULL;
        index = (uint32_t)pass->stack_count++;
        pass->stacks[index] = (struct stack){0};
        if (mp_map_put(&pass->by_thread, key, index))
            return NULL;
    }
    return &pass->stacks[index];
}

#define CELL(column) (batch->columns[MP_COLUMN_nvtx_##column][row])

static enum mp_status take_push(struct pass *pass, const struct mp_batch *batch, uint32_t row)
{
    struct stack *stack = reach_stack(pass, CELL(thread), CELL(domain));

    if (!stack)
        return MP_ERR_MEMORY;
    stack->depth++;
    if (has_name(pass, CELL(name)) && !stack->named_depth) {
        stack->named_depth = stack->depth;
        stack->begin = CELL(time);
    }
    return MP_OK;
}

static enum mp_status take_pop(struct pass *pass, const struct mp_batch *batch, uint32_t row)
{
    struct stack *stack = reach_stack(pass, CELL(thread), CELL(domain));

    if (!stack)
        return MP_ERR_MEMORY;
    if (!stack->depth)
        return MP_OK; /* pushed before the recording began */
    if (stack->depth-- != stack->named_depth)
        return MP_OK;
    stack->named_depth = 0;
    return add_range(pass->ranges, &(struct nvtx_range){stack->begin, CELL(time), CELL(thread)});
}

static enum mp_status take_start(struct pass *pass, const struct mp_batch *batch, uint32_t row)
{
    if (!has_name(pass, CELL(name)))
        return MP_OK;
    MP_TRY(mp_reserve((void **)&pass->open, pass->open_count, &pass->open_capacity,
                      sizeof *pass->open));
    pass->open[pass->open_count] = (struct nvtx_range){CELL(time), 0, CELL(thread)};
    return mp_map_put(&pass->by_id, CELL(range), (uint32_t)pass->open_count++);
}

static enum mp_status take_end(struct pass *pass, const struct mp_batch *batch, uint32_t row)
{
    uint32_t index = mp_map_get(&pass->by_id, CELL(range));

    if (index == MP_MAP_ABSENT)
        return MP_OK;
    mp_map_remove(&pass->by_id, CELL(range));
    pass->open[index].end = CELL(time);
    return add_range(pass->ranges, &pass->open[index]);
}

static enum mp_status ranges_take_row(struct pass *pass, const struct mp_batch *batch, uint32_t row)
{
    switch (CELL(kind)) {
    case MP_nvtx_kind_push:
        return take_push(pass, batch, row);
    case MP_nvtx_kind_pop:
        return take_pop(pass, batch, row);
    case MP_nvtx_kind_start:
        return take_start(pass, batch, row);
    case MP_nvtx_kind_end:
        return take_end(pass, batch, row);
    default:
        return MP_OK;
    }
}

#undef CELL

static void select_nvtx(struct mp_cursor *cursor, void *context)
{
    (void)context;
    mp_cursor_select(cursor, mp_table_by_id(MP_TABLE_nvtx),
                     MP_COLUMN_MASK(nvtx, thread) | MP_COLUMN_MASK(nvtx, kind) |
                         MP_COLUMN_MASK(nvtx, domain) | MP_COLUMN_MASK(nvtx, name) |
                         MP_COLUMN_MASK(nvtx, time) | MP_COLUMN_MASK(nvtx, range));
}

static enum mp_status ranges_take_batch(void *context, const struct mp_batch *batch)
{
    for (uint32_t row = 0; row < batch->rows; row++)
        MP_TRY(ranges_take_row(context, batch, row));
    return MP_OK;
}

static enum mp_status ranges_run_pass(struct pass *pass, struct mp_trace *trace,
                                      struct mp_error *error)
{
    const struct reading reading = {
        .trace = trace,
        .what = "the NVTX ranges",
        .context = pass,
        .select = select_nvtx,
        .take = ranges_take_batch,
    };

    return reading_run(&reading, error);
}

static int ranges_compare(const void *left, const void *right)
{
    const struct nvtx_range *a = left;
    const struct nvtx_range *b = right;

    if (a->begin != b->begin)
        return a->begin < b->begin ? -1 : 1;
    return (a->end > b->end) - (a->end < b->end);
}

enum mp_status nvtx_ranges_load(struct nvtx_ranges *ranges, struct mp_trace *trace,
                                const struct definitions *definitions, const char *name,
                                struct mp_error *error)
{
    struct pass pass = {.ranges = ranges, .definitions = definitions, .name = name};
    enum mp_status status;

    *ranges = (struct nvtx_ranges){.items = NULL};
    status = ranges_run_pass(&pass, trace, error);
    for (size_t i = 0; i < pass.stack_count; i++)
        ranges->unfinished += pass.stacks[i].named_depth != 0;
    ranges->unfinished += pass.by_id.count;
    if (ranges->count)
        qsort(ranges->items, ranges->count, sizeof *ranges->items, ranges_compare);
    free(pass.stacks);
    free(pass.open);
    mp_map_free(&pass.by_thread);
    mp_map_free(&pass.by_id);
    mp_map_free(&pass.other_names);
    if (status)
        nvtx_ranges_free(ranges);
    return status;
}

void nvtx_ranges_free(struct nvtx_ranges *ranges)
{
    free(ranges->items);
    *ranges = (struct nvtx_ranges){.items = NULL};
}
