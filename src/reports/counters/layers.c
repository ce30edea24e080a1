/* The work of a trace by the layers that launched it, by the innermost range of each. */
#include <stdlib.h>
#include <string.h>

#include "reports/counters/pass.h"
#include "reports/layers/layers.h"

#include "base/poison.h"

static enum mp_status counters_take_work(void *context, const struct layer_tree *tree,
                                         const struct layer_activity *activity)
{
    struct counters_pass *pass = context;
    uint32_t group;

    (void)tree;
    MP_TRY(counters_group(pass, activity->node, NULL, &group));
    return counters_add_piece(pass, activity->stream, activity->start, activity->duration, group);
}

/* Paths of the layers that have work, once all layers are known. */
static enum mp_status name_layers(struct counters_pass *pass, const struct layers_result *layers)
{
    struct mp_buffer text = {0};
    enum mp_status status = MP_OK;

    for (size_t i = 0; i < layers->count && status == MP_OK; i++) {
        uint32_t group = mp_map_get(&pass->by_name, layers->layers[i].node);

        if (group == MP_MAP_ABSENT)
            continue;
        mp_buffer_clear(&text);
        layers_put_path(&text, layers, (uint32_t)i);
        pass->names[group] = mp_arena_copy(&pass->result->names, text.data, text.size);
        status = text.status ? text.status : pass->names[group] ? MP_OK : MP_ERR_MEMORY;
    }
    mp_buffer_free(&text);
    return status;
}

enum mp_status counters_read_layers(struct counters_pass *pass, struct mp_trace *trace,
                                    struct mp_error *error)
{
    const struct layers_options *as = pass->options->as;
    const struct layers_options options = {.range = pass->options->range,
                                           .style = pass->options->style,
                                           .domain = as ? as->domain : NULL,
                                           .merge_numbers = as && as->merge_numbers,
                                           .each = counters_take_work,
                                           .context = pass};
    struct layers_result layers;
    enum mp_status status;

    MP_TRY(layers_build(trace, &options, &layers, error));
    status = name_layers(pass, &layers);
    layers_free(&layers);
    return status ? mp_error_set(error, status, "out of memory") : MP_OK;
}
