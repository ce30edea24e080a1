/* Finds out which marker pairs of nvprof's files were pushed and popped, since their rows do not
 * say. A range was pushed if it ends in the thread that began it, and inside of the range in which
 * it began.
 */
#include "export/nvvp/plain_markers.h"

#include <stdlib.h>
#include <string.h>

#include "base/data/reserve.h"

#include "base/poison.h"

struct nvvp_open_markers {
    uint64_t *ids;
    size_t count;
    size_t capacity;
};

/* The number of a thread; a new thread gets a new one. 0 when memory is out. */
static uint32_t thread_number(struct nvvp_marker_kinds *kinds, uint64_t thread)
{
    uint32_t known = kinds->threads.count;
    uint32_t number;

    if (mp_reserve((void **)&kinds->open, known, &kinds->capacity, sizeof *kinds->open))
        return 0;
    number = mp_intern_add(&kinds->threads, &thread, sizeof thread);
    if (number > known)
        kinds->open[number - 1] = (struct nvvp_open_markers){.ids = NULL};
    return number;
}

enum mp_status nvvp_marker_began(struct nvvp_marker_kinds *kinds, uint64_t id, uint64_t thread)
{
    uint32_t number = thread_number(kinds, thread);
    struct nvvp_open_markers *open;

    if (!number)
        return MP_ERR_MEMORY;
    open = &kinds->open[number - 1];
    MP_TRY(mp_reserve((void **)&open->ids, open->count, &open->capacity, sizeof *open->ids));
    MP_TRY(mp_map_put(&kinds->thread_of, id, number));
    open->ids[open->count++] = id;
    return MP_OK;
}

/* Removes a range from the open ones of its thread; true if it was the innermost. */
static bool take_out(struct nvvp_open_markers *open, uint64_t id)
{
    size_t at = open->count;

    while (at && open->ids[at - 1] != id)
        at--;
    if (!at)
        return false;
    memmove(&open->ids[at - 1], &open->ids[at], (open->count - at) * sizeof *open->ids);
    return at == open->count--;
}

enum mp_status nvvp_marker_ended(struct nvvp_marker_kinds *kinds, uint64_t id, uint64_t thread)
{
    uint32_t number = thread_number(kinds, thread);
    uint32_t began = mp_map_get(&kinds->thread_of, id);
    bool innermost = false;

    if (!number)
        return MP_ERR_MEMORY;
    if (began != MP_MAP_ABSENT) {
        innermost = take_out(&kinds->open[began - 1], id);
        mp_map_remove(&kinds->thread_of, id);
    }
    if (innermost && began == number)
        return MP_OK;
    return mp_map_put(&kinds->started, id, 1);
}

bool nvvp_marker_is_started(const struct nvvp_marker_kinds *kinds, uint64_t id)
{
    return mp_map_get(&kinds->started, id) != MP_MAP_ABSENT;
}

void nvvp_marker_kinds_free(struct nvvp_marker_kinds *kinds)
{
    for (uint32_t i = 0; i < kinds->threads.count; i++)
        free(kinds->open[i].ids);
    free(kinds->open);
    mp_intern_free(&kinds->threads);
    mp_map_free(&kinds->thread_of);
    mp_map_free(&kinds->started);
}
