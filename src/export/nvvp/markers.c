/* Numbers for NVTX ranges while an .nvvp file is written. A pop does not name its push, so the
 * open ranges of each thread are kept as a stack of numbers.
 */
#include "export/nvvp/markers.h"

#include <stdlib.h>

#include "base/data/reserve.h"
#include "trace/codec/schema.h"

#include "base/poison.h"

struct nvvp_marker_stack {
    uint32_t *items;
    size_t count;
    size_t capacity;
};

/* The stack of a thread and domain, made now if there is none yet; NULL when memory is out. */
static struct nvvp_marker_stack *stack_of(struct nvvp_markers *markers, uint64_t thread,
                                          uint64_t domain)
{
    const uint64_t key[2] = {thread, domain};
    uint32_t known = markers->lanes.count;
    uint32_t lane;

    if (mp_reserve((void **)&markers->stacks, known, &markers->capacity, sizeof *markers->stacks))
        return NULL;
    lane = mp_intern_add(&markers->lanes, key, sizeof key);
    if (!lane)
        return NULL;
    if (lane > known)
        markers->stacks[lane - 1] = (struct nvvp_marker_stack){.items = NULL};
    return &markers->stacks[lane - 1];
}

static enum mp_status markers_push(struct nvvp_marker_stack *stack, uint32_t number)
{
    if (!stack)
        return MP_ERR_MEMORY;
    MP_TRY(
        mp_reserve((void **)&stack->items, stack->count, &stack->capacity, sizeof *stack->items));
    stack->items[stack->count++] = number;
    return MP_OK;
}

enum mp_status nvvp_markers_number(struct nvvp_markers *markers, uint64_t kind, uint64_t thread,
                                   uint64_t domain, uint64_t range, uint32_t *number)
{
    struct nvvp_marker_stack *stack = NULL;

    if (kind == MP_nvtx_kind_push || kind == MP_nvtx_kind_pop) {
        stack = stack_of(markers, thread, domain);
        if (!stack)
            return MP_ERR_MEMORY;
    }
    if (kind == MP_nvtx_kind_pop && stack->count) {
        *number = stack->items[--stack->count];
        return MP_OK;
    }
    if (kind == MP_nvtx_kind_end) {
        *number = mp_map_get(&markers->started, range);
        if (mp_map_remove(&markers->started, range))
            return MP_OK;
    }
    *number = ++markers->last;
    if (kind == MP_nvtx_kind_push)
        return markers_push(stack, *number);
    if (kind == MP_nvtx_kind_start)
        return mp_map_put(&markers->started, range, *number);
    return MP_OK;
}

void nvvp_markers_free(struct nvvp_markers *markers)
{
    for (uint32_t i = 0; i < markers->lanes.count; i++)
        free(markers->stacks[i].items);
    free(markers->stacks);
    mp_intern_free(&markers->lanes);
    mp_map_free(&markers->started);
}
