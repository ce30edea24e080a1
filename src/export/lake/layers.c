/* The layers of a run: NVTX ranges by path, with the work that they launched. */
#include <string.h>

#include "export/lake/build.h"
#include "reports/layers/layers.h"

#include "base/poison.h"

static void fill_work(const struct layer *layer, struct tables_cell *cells)
{
    cells[LAKE_LAYER_depth] = TABLES_NUMBER(layer->depth);
    cells[LAKE_LAYER_instances] = TABLES_NUMBER(layer->instances);
    cells[LAKE_LAYER_calls] = TABLES_NUMBER(layer->calls);
    cells[LAKE_LAYER_total_ns] = TABLES_NUMBER(layer->total->device);
    cells[LAKE_LAYER_self_ns] = TABLES_NUMBER(layer->self->device);
    cells[LAKE_LAYER_kernels] = TABLES_NUMBER(layer->total->counts[LAYER_KERNEL]);
    cells[LAKE_LAYER_copies] = TABLES_NUMBER(layer->total->counts[LAYER_COPY]);
    cells[LAKE_LAYER_sets] = TABLES_NUMBER(layer->total->counts[LAYER_SET]);
    cells[LAKE_LAYER_graphs] = TABLES_NUMBER(layer->total->counts[LAYER_GRAPH]);
    cells[LAKE_LAYER_p50_ns] = TABLES_NUMBER(layer->device.p50);
    cells[LAKE_LAYER_p99_ns] = TABLES_NUMBER(layer->device.p99);
    cells[LAKE_LAYER_launch_ns] = TABLES_NUMBER(layer->total->launch_time);
}

static enum mp_status put_layer(struct lake *lake, const struct layers_result *layers,
                                uint32_t index, struct mp_buffer *path)
{
    const struct layer *layer = &layers->layers[index];
    struct tables_cell cells[LAKE_LAYER_COLUMNS] = {{.kind = 0}};

    mp_buffer_clear(path);
    layers_put_path(path, layers, index);
    if (path->status != MP_OK)
        return path->status;
    cells[LAKE_LAYER_run_id] = lake_words(lake->run);
    cells[LAKE_LAYER_layer] = TABLES_WORDS((const char *)path->data, path->size);
    cells[LAKE_LAYER_name] = lake_words(layer->name ? layer->name : "<no range>");
    cells[LAKE_LAYER_domain] = lake_words(layer->domain);
    fill_work(layer, cells);
    return tables_put(lake->tables, LAKE_LAYER, cells);
}

/* A trace whose layers cannot be found has none. */
enum mp_status lake_put_layers(struct lake *lake, struct mp_error *error)
{
    const struct export_options *rows = export_rows_options(lake->process->rows);
    const struct layers_options options = {.range = rows->range, .style = rows->style};
    struct mp_buffer path = {.data = NULL};
    struct layers_result layers;
    struct mp_error why = {.status = MP_OK};
    enum mp_status status;

    if (!rows->analyses)
        return MP_OK;
    status = layers_build(lake->process->trace, &options, &layers, &why);
    if (status == MP_ERR_IO || status == MP_ERR_MEMORY)
        return mp_error_set(error, status, "%s", why.text);
    if (status != MP_OK)
        return MP_OK;
    for (uint32_t i = 0; i < layers.count && status == MP_OK; i++)
        status = put_layer(lake, &layers, i, &path);
    mp_buffer_free(&path);
    layers_free(&layers);
    return status;
}
