/* Layers by type, by precision and by mark. */
#include <stdlib.h>
#include <string.h>

#include "base/data/algorithms.h"
#include "base/data/storage.h"
#include "reports/layers/build.h"

#include "base/poison.h"

/* The text by which layers are grouped: type, precision or mark; NULL: the layer has none. */
typedef const char *kind_of(const struct layer *layer);

static const char *type_of(const struct layer *layer)
{
    return layer->said ? layer->said->type : NULL;
}

static const char *precision_of(const struct layer *layer)
{
    if (!layer->said)
        return NULL;
    return layer->said->type && !layer->said->precision ? "unknown" : layer->said->precision;
}

static const char *mark_of(const struct layer *layer)
{
    return trt_mark_name(layer->mark);
}

struct grouping {
    const struct layers_result *result;
    struct layer_groups *groups;
    struct mp_map known; /* name -> group */
    uint32_t *owners;    /* by layer: group of the innermost layer around it that has one, plus 1 */
    size_t capacity;
};

/* Names are interned or constant: equal ones are one text. */
static enum mp_status reach_group(struct grouping *grouping, const char *name, uint32_t *group)
{
    struct layer_groups *groups = grouping->groups;
    uint64_t key = (uint64_t)(uintptr_t)name;

    *group = mp_map_get(&grouping->known, key);
    if (*group != MP_MAP_ABSENT)
        return MP_OK;
    MP_TRY(MP_RESERVE(groups->items, groups->count, grouping->capacity));
    *group = (uint32_t)groups->count;
    groups->items[groups->count++] = (struct layer_group){.name = name};
    return mp_map_put(&grouping->known, key, *group);
}

static enum mp_status add_layer(struct grouping *grouping, size_t index, kind_of *kind)
{
    const struct layer *layer = &grouping->result->layers[index];
    const char *name = kind(layer);
    uint32_t around = layer->parent == LAYER_NONE ? 0 : grouping->owners[layer->parent];
    uint32_t group = around - 1;

    if (name)
        MP_TRY(reach_group(grouping, name, &group));
    grouping->owners[index] = group + 1;
    if (!grouping->owners[index])
        return MP_OK;
    grouping->groups->items[group].total += layer->self->device;
    if (name && group + 1 != around) {
        grouping->groups->items[group].layers++;
        grouping->groups->items[group].calls += layer->calls;
    }
    return MP_OK;
}

MP_COMPARE(compare_groups, struct layer_group,
           MP_ORDER(b->total, a->total) ?: strcmp(a->name, b->name));

static enum mp_status make_groups(const struct layers_result *result, struct layer_groups *groups,
                                  kind_of *kind)
{
    struct grouping grouping = {.result = result, .groups = groups};
    enum mp_status status = MP_OK;

    grouping.owners = calloc(result->count + 1, sizeof *grouping.owners);
    if (!grouping.owners)
        return MP_ERR_MEMORY;
    for (size_t i = 0; i < result->count && !status; i++)
        status = add_layer(&grouping, i, kind);
    for (size_t i = 0; i < groups->count; i++) {
        struct layer_group *group = &groups->items[i];

        group->percent = result->device ? 100.0 * (double)group->total / (double)result->device : 0;
    }
    if (groups->count)
        qsort(groups->items, groups->count, sizeof *groups->items, compare_groups);
    mp_map_free(&grouping.known);
    free(grouping.owners);
    return status;
}

enum mp_status layers_make_groups(struct layers_result *result)
{
    MP_TRY(make_groups(result, &result->types, type_of));
    MP_TRY(make_groups(result, &result->precisions, precision_of));
    return make_groups(result, &result->marks, mark_of);
}
