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

static enum mp_status put_maker(struct pass *pass, uint64_t node, uint64_t place)
{
    uint32_t stack = node ? call_stacks_of_work(pass->stacks, 0, node) : 0;

    return stack ? mp_map_put(&pass->makers->of_places, place, stack) : MP_OK;
}

#define TAKE_WORK(table)                                                                           \
    static enum mp_status take_##table(void *pass, const struct mp_batch *batch, uint32_t row)     \
    {                                                                                              \
        const struct mp_##table##_columns of = mp_##table##_columns(batch->columns);               \
                                                                                                   \
        return put_maker(pass, of.node[row], place_of(of.start[row], of.correlation[row]));        \
    }
TAKE_WORK(kernel)
TAKE_WORK(copy)
TAKE_WORK(set)
#undef TAKE_WORK

static const struct reading_table tables[] = {
    {MP_TABLE_kernel, MP_MASK(kernel, node, start, correlation), .take_row = take_kernel},
    {MP_TABLE_copy, MP_MASK(copy, node, start, correlation), .take_row = take_copy},
    {MP_TABLE_set, MP_MASK(set, node, start, correlation), .take_row = take_set},
};

enum mp_status stacks_makers_load(struct stacks_makers *makers, struct mp_trace *trace,
                                  const struct call_stacks *stacks, struct mp_error *error)
{
    struct pass pass = {stacks, makers};
    const struct reading reading = {
        .trace = trace, .what = "the nodes", .context = &pass, READING_TABLES(tables)};

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
