/* Launch shapes in words, so that one kernel with two shapes becomes two names. */
#include "reports/diff/shapes.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/reading.h"
#include "trace/codec/schema.h"

#include "base/poison.h"

struct shape {
    uint32_t grid[3];
    uint32_t block[3];
    uint32_t shared;
    uint32_t item; /* 0: not asked for yet */
    bool defined;
};

static enum mp_status take_shapes(void *context, const struct mp_batch *batch)
{
    const struct mp_shape_columns shape = mp_shape_columns(batch->columns);
    struct diff_shapes *shapes = context;

    for (uint32_t row = 0; row < batch->rows; row++) {
        uint64_t id = shape.id[row];
        enum mp_status status = dense_reach(&shapes->shapes, id);

        if (status == MP_ERR_LIMIT)
            continue;
        MP_TRY(status);
        *(struct shape *)dense_at(&shapes->shapes, id) = (struct shape){
            .grid = {(uint32_t)shape.grid_x[row], (uint32_t)shape.grid_y[row],
                     (uint32_t)shape.grid_z[row]},
            .block = {(uint32_t)shape.block_x[row], (uint32_t)shape.block_y[row],
                      (uint32_t)shape.block_z[row]},
            .shared = (uint32_t)shape.dynamic_shared_memory[row],
            .defined = true,
        };
    }
    return MP_OK;
}

static const struct reading_table tables[] = {
    {MP_TABLE_shape,
     MP_MASK(shape, id, grid_x, grid_y, grid_z, block_x, block_y, block_z, dynamic_shared_memory),
     .take = take_shapes},
};

enum mp_status diff_shapes_load(struct diff_shapes *shapes, struct mp_trace *trace,
                                struct mp_error *error)
{
    const struct reading reading = {
        .trace = trace,
        .what = "the launch shapes",
        .context = shapes,
        READING_TABLES(tables),
    };

    dense_init(&shapes->shapes, sizeof(struct shape), definitions_limit(trace));
    return reading_run(&reading, error);
}

void diff_shapes_free(struct diff_shapes *shapes)
{
    dense_free(&shapes->shapes);
}

#define SHAPE_BYTES 96

static enum mp_status name_shape(const struct shape *shape, struct diff_samples *samples,
                                 const char *name, uint32_t *item)
{
    size_t bytes = strlen(name) + SHAPE_BYTES;
    char *text = malloc(bytes);
    enum mp_status status;

    if (!text)
        return MP_ERR_MEMORY;
    snprintf(text, bytes,
             "%s<<<(%" PRIu32 ",%" PRIu32 ",%" PRIu32 "),(%" PRIu32 ",%" PRIu32 ",%" PRIu32
             "),%" PRIu32 ">>>",
             name, shape->grid[0], shape->grid[1], shape->grid[2], shape->block[0], shape->block[1],
             shape->block[2], shape->shared);
    status = diff_samples_item(samples, text, item);
    free(text);
    return status;
}

enum mp_status diff_shapes_item(struct diff_shapes *shapes, struct diff_samples *samples,
                                uint64_t id, const char *name, uint32_t *item)
{
    struct shape *shape = dense_at(&shapes->shapes, id);

    if (!shape || !shape->defined)
        return diff_samples_item(samples, name, item);
    if (!shape->item)
        MP_TRY(name_shape(shape, samples, name, &shape->item));
    *item = shape->item;
    return MP_OK;
}
