/* Names of NVTX ranges that end: a pop does not name its push. It keeps one stack a thread and
 * domain, and a map for ranges that were started by id.
 */
#include "model/nvtx/names.h"

#include <stdlib.h>

#include "base/data/hash.h"
#include "base/data/reserve.h"
#include "trace/codec/schema.h"

#include "base/poison.h"

/* The open pushes of a thread in a domain. */
struct nvtx_stack {
    uint64_t *names; /* owned */
    size_t count, capacity;
};

void nvtx_names_free(struct nvtx_names *names)
{
    for (size_t i = 0; i < names->count; i++)
        free(names->stacks[i].names);
    free(names->stacks);
    mp_map_free(&names->by_thread);
    mp_map_free(&names->by_range);
    *names = (struct nvtx_names){.stacks = NULL};
}

/* NULL when memory is out. */
static struct nvtx_stack *reach_stack(struct nvtx_names *names, const struct nvtx_event *event)
{
    uint64_t key = mp_mix64(event->thread) ^ event->domain;
    uint32_t index = mp_map_get(&names->by_thread, key);

    if (index == MP_MAP_ABSENT) {
        if (mp_reserve((void **)&names->stacks, names->count, &names->capacity,
                       sizeof *names->stacks))
            return NULL;
        index = (uint32_t)names->count;
        if (mp_map_put(&names->by_thread, key, index))
            return NULL;
        names->stacks[names->count++] = (struct nvtx_stack){.names = NULL};
    }
    return &names->stacks[index];
}

static enum mp_status nvtx_names_push(struct nvtx_names *names, const struct nvtx_event *event)
{
    struct nvtx_stack *stack = reach_stack(names, event);

    if (!stack)
        return MP_ERR_MEMORY;
    MP_TRY(
        mp_reserve((void **)&stack->names, stack->count, &stack->capacity, sizeof *stack->names));
    stack->names[stack->count++] = event->name;
    return MP_OK;
}

static enum mp_status nvtx_names_pop(struct nvtx_names *names, const struct nvtx_event *event,
                                     uint64_t *name)
{
    struct nvtx_stack *stack = reach_stack(names, event);

    if (!stack)
        return MP_ERR_MEMORY;
    if (stack->count)
        *name = stack->names[--stack->count];
    return MP_OK;
}

static void nvtx_names_end(struct nvtx_names *names, const struct nvtx_event *event, uint64_t *name)
{
    uint32_t found = mp_map_get(&names->by_range, event->range);

    if (found == MP_MAP_ABSENT)
        return;
    mp_map_remove(&names->by_range, event->range);
    *name = found;
}

enum mp_status nvtx_names_take(struct nvtx_names *names, const struct nvtx_event *event,
                               uint64_t *name)
{
    *name = event->name < MP_MAP_ABSENT ? event->name : 0;
    switch (event->kind) {
    case MP_nvtx_kind_push:
        return nvtx_names_push(names, event);
    case MP_nvtx_kind_pop:
        return nvtx_names_pop(names, event, name);
    case MP_nvtx_kind_start:
        return mp_map_put(&names->by_range, event->range, (uint32_t)*name);
    case MP_nvtx_kind_end:
        nvtx_names_end(names, event, name);
        return MP_OK;
    default:
        return MP_OK;
    }
}
