/* Names and kinds of the timeline's events. Each is stored once, so that an event needs only four
 * bytes for it. */
#include <string.h>

#include "base/data/reserve.h"
#include "page/timeline/timeline.h"

#include "base/poison.h"

enum mp_status timeline_reach_name(struct timeline *timeline, unsigned category, const char *text,
                                   uint32_t *name)
{
    uint32_t id = mp_intern_add(&timeline->texts, text, strlen(text));
    uint64_t key = (uint64_t)category << 32 | id;

    if (!id)
        return MP_ERR_MEMORY;
    *name = mp_map_get(&timeline->name_index, key);
    if (*name != MP_MAP_ABSENT)
        return MP_OK;
    MP_TRY(mp_reserve((void **)&timeline->names, timeline->name_count, &timeline->name_capacity,
                      sizeof *timeline->names));
    *name = (uint32_t)timeline->name_count++;
    timeline->names[*name] = (struct timeline_name){.text = id, .category = (uint8_t)category};
    return mp_map_put(&timeline->name_index, key, *name);
}

enum mp_status timeline_reach_kind(struct timeline *timeline, uint32_t name, uint32_t detail,
                                   uint32_t *kind)
{
    uint64_t key = (uint64_t)name << 32 | detail;

    *kind = mp_map_get(&timeline->kind_index, key);
    if (*kind != MP_MAP_ABSENT)
        return MP_OK;
    MP_TRY(mp_reserve((void **)&timeline->kinds, timeline->kind_count, &timeline->kind_capacity,
                      sizeof *timeline->kinds));
    *kind = (uint32_t)timeline->kind_count++;
    timeline->kinds[*kind] = (struct timeline_kind){name, detail};
    return mp_map_put(&timeline->kind_index, key, *kind);
}
