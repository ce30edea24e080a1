/* Only rows of the trace name the nodes of graphs, so activities are found again by their times. */
#include "base/data/hash.h"
#include "profile/reading.h"
#include "reports/stacks/stacks.h"
#include "trace/codec/schema.h"

#include "base/poison.h"

struct pass {
    const struct call_stacks *stacks;
    struct stacks_makers *makers;
};

/* Nodes that begin at once in one launch share their maker. */
static uint64_t place_of(uint64_t begin, uint64_t correlation)
{
    return mp_mix64(begin ^ mp_mix64(correlation));
}

#define CELL(table, column) (batch->columns[MP_COLUMN_##table##_##column][row])
#define TAKE(table)                                                                                \
    put_maker(pass, CELL(table, node), place_of(CELL(table, start), CELL(table, correlation)))

static enum mp_status put_maker(struct pass *pass, uint64_t node, uint64_t place)
{
    uint32_t stack = node ? call_stacks_of_work(pass->stacks, 0, node) : 0;

    return stack ? mp_map_put(&pass->makers->of_places, place, stack) : MP_OK;
}

static enum mp_status take_row(struct pass *pass, const struct mp_batch *batch, uint32_t row)
{
    switch (batch->table->id) {
    case MP_TABLE_kernel:
        return TAKE(kernel);
    case MP_TABLE_copy:
        return TAKE(copy);
    default:
        return TAKE(set);
    }
}

static enum mp_status take(void *context, const struct mp_batch *batch)
{
    for (uint32_t row = 0; row < batch->rows; row++)
        MP_TRY(take_row(context, batch, row));
    return MP_OK;
}

#define MASK(table)                                                                                \
    (MP_COLUMN_MASK(table, node) | MP_COLUMN_MASK(table, start) |                                  \
     MP_COLUMN_MASK(table, correlation))

static void choose(struct mp_cursor *cursor, void *context)
{
    (void)context;
    reading_select_nothing(cursor);
    mp_cursor_select(cursor, mp_table_by_id(MP_TABLE_kernel), MASK(kernel));
    mp_cursor_select(cursor, mp_table_by_id(MP_TABLE_copy), MASK(copy));
    mp_cursor_select(cursor, mp_table_by_id(MP_TABLE_set), MASK(set));
}

enum mp_status stacks_makers_load(struct stacks_makers *makers, struct mp_trace *trace,
                                  const struct call_stacks *stacks, struct mp_error *error)
{
    struct pass pass = {stacks, makers};
    const struct reading reading = {
        .trace = trace, .what = "the nodes", .context = &pass, .select = choose, .take = take};

    *makers = (struct stacks_makers){.of_places = {.count = 0}};
    return stacks->nodes.count ? reading_run(&reading, error) : MP_OK;
}

uint32_t stacks_maker(const struct stacks_makers *makers, const struct deps *deps, uint32_t index)
{
    const struct deps_activity *work = &deps->activities[index];
    uint32_t stack = index >= deps->host_count && work->flags & DEPS_NODE
                         ? mp_map_get(&makers->of_places, place_of(work->begin, work->correlation))
                         : MP_MAP_ABSENT;

    return stack == MP_MAP_ABSENT ? 0 : stack;
}

void stacks_makers_free(struct stacks_makers *makers)
{
    mp_map_free(&makers->of_places);
}
