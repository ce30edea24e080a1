/* Ends of iterations, and their order after they have got other times. */
#include <stdlib.h>

#include "analyze/iterations/build.h"
#include "base/data/sort.h"

#include "base/poison.h"

void iterations_find_ends(const struct deps *deps, struct iterations *result)
{
    for (size_t i = 0; i < result->count; i++)
        result->items[i].end = result->items[i].host_end;
    for (uint32_t i = deps->host_count; i < deps->count && result->way != ITERATIONS_REQUESTS;
         i++) {
        struct iteration *iteration;

        if (result->of[i] == DEPS_NONE)
            continue;
        iteration = &result->items[result->of[i]];
        if (deps->activities[i].end > iteration->end)
            iteration->end = deps->activities[i].end;
    }
    result->pipelined = 0;
    for (size_t i = 0; i < result->count; i++) {
        struct iteration *iteration = &result->items[i];

        iteration->pipelined = i + 1 < result->count && result->items[i + 1].begin < iteration->end;
        result->pipelined += iteration->pipelined;
    }
}

static bool begins_before(const void *context, uint32_t a, uint32_t b)
{
    const struct iteration *items = context;

    return items[a].begin < items[b].begin;
}

struct order {
    uint32_t *order; /* owned; the following too */
    uint32_t *scratch;
    struct iteration *items;
};

/* Threads come nearer to each other or not, so another one may be first now. */
static void put_in_order(const struct deps *deps, struct iterations *result,
                         const struct order *order)
{
    uint32_t count = (uint32_t)result->count;

    for (uint32_t i = 0; i < count; i++)
        order->order[i] = i;
    mp_sort(order->order, count, order->scratch, begins_before, result->items);
    for (uint32_t i = 0; i < count; i++) {
        order->items[i] = result->items[order->order[i]];
        order->scratch[order->order[i]] = i;
    }
    for (uint32_t i = 0; i < count; i++)
        result->items[i] = order->items[i];
    for (uint32_t i = 0; i < deps->count; i++) {
        if (result->of[i] != DEPS_NONE)
            result->of[i] = order->scratch[result->of[i]];
    }
}

enum mp_status iterations_renew(const struct deps *deps, struct iterations *result)
{
    struct order order = {
        .order = calloc(result->count + 1, sizeof *order.order),
        .scratch = calloc(result->count + 1, sizeof *order.scratch),
        .items = calloc(result->count + 1, sizeof *order.items),
    };
    enum mp_status status = order.order && order.scratch && order.items ? MP_OK : MP_ERR_MEMORY;

    if (!status) {
        put_in_order(deps, result, &order);
        iterations_find_ends(deps, result);
    }
    free(order.order);
    free(order.scratch);
    free(order.items);
    return status;
}
