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

#define BIT(column) (1u << MP_COLUMN_shape_##column)

static void select_shapes(struct mp_cursor *cursor, void *context)
{
    (void)context;
    mp_cursor_select(cursor, mp_table_by_id(MP_TABLE_shape),
                     BIT(id) | BIT(grid_x) | BIT(grid_y) | BIT(grid_z) | BIT(block_x) |
                         BIT(block_y) | BIT(block_z) | BIT(dynamic_shared_memory));
}

#define CELL(column) ((uint32_t)batch->columns[MP_COLUMN_shape_##column][row])

static enum mp_status take_shapes(void *context, const struct mp_batch *batch)
{
    struct diff_shapes *shapes = context;

    if (batch->table->id != MP_TABLE_shape)
        return MP_OK;
    for (uint32_t row = 0; row < batch->rows; row++) {
        uint64_t id = batch->columns[MP_COLUMN_shape_id][row];
        enum mp_status status = dense_reach(&shapes->shapes, id);

        if (status == MP_ERR_LIMIT)
            continue;
        MP_TRY(status);
        *(struct shape *)dense_at(&shapes->shapes, id) = (struct shape){
            .grid = {CELL(grid_x), CELL(grid_y), CELL(grid_z)},
            .block = {CELL(block_x), CELL(block_y), CELL(block_z)},
            .shared = CELL(dynamic_shared_memory),
            .defined = true,
        };
    }
    return MP_OK;
}

enum mp_status diff_shapes_load(struct diff_shapes *shapes, struct mp_trace *trace,
                                struct mp_error *error)
{
    const struct reading reading = {
        .trace = trace,
        .what = "the launch shapes",
        .context = shapes,
        .select = select_shapes,
        .take = take_shapes,
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
