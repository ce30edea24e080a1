/* Finds the kernel that a call launched, for calls in order of time. A kernel begins after its
 * launch, so a window of chunks ahead of the calls is kept by correlation id.
 */
#include "profile/names/launches.h"

#include <stdlib.h>

#include "base/data/map.h"
#include "base/data/storage.h"
#include "trace/codec/schema.h"

#include "base/poison.h"

/* The clocks of host and device are mapped to each other with an error, so a chunk stays this much
 * longer than its last kernel. */
#define CLOCK_SLACK_NS 10000000u

/* A chunk of kernels; in the window it has their correlation ids. */
struct kernels {
    uint64_t offset;
    uint64_t first_time;
    uint64_t last_time;
    uint64_t *correlations; /* owned; ids that this chunk has put into the map */
    uint32_t count;
};

struct launches {
    struct mp_cursor *cursor;
    struct kernels *chunks; /* owned; by first_time */
    size_t count, capacity;
    size_t next;       /* chunk that was not read yet */
    size_t oldest;     /* chunks before it have left the window */
    size_t ahead_from; /* chunks before it begin at the time of the last call, or earlier */
    size_t ahead;      /* kernels of those from ahead_from to next */
    struct mp_map by_correlation;
    size_t max;
};

static int compare_chunks(const void *left, const void *right)
{
    const struct kernels *a = left;
    const struct kernels *b = right;

    if (a->first_time != b->first_time)
        return a->first_time < b->first_time ? -1 : 1;
    return (a->offset > b->offset) - (a->offset < b->offset);
}

static enum mp_status read_directory(struct launches *launches)
{
    const struct mp_table_info *table = mp_table_by_id(MP_TABLE_kernel);
    struct mp_chunk chunk;
    enum mp_status status;

    mp_cursor_select(launches->cursor, table, MP_MASK(kernel, shape, node, correlation));
    while ((status = mp_cursor_next_chunk(launches->cursor, &chunk, false)) == MP_OK) {
        if (chunk.table != table)
            continue;
        MP_TRY(mp_reserve((void **)&launches->chunks, launches->count, &launches->capacity,
                          sizeof *launches->chunks));
        launches->chunks[launches->count++] = (struct kernels){
            .offset = chunk.offset, .first_time = chunk.first_time, .last_time = chunk.last_time};
    }
    if (launches->count)
        qsort(launches->chunks, launches->count, sizeof *launches->chunks, compare_chunks);
    return status == MP_END ? MP_OK : status;
}

enum mp_status launches_open(struct mp_trace *trace, struct launches **result,
                             struct mp_error *error)
{
    struct launches *launches = calloc(1, sizeof *launches);
    enum mp_status status;

    *result = NULL;
    if (!launches)
        return mp_error_set(error, MP_ERR_MEMORY, "out of memory");
    status = mp_cursor_open(trace, &launches->cursor, error);
    if (status == MP_OK) {
        status = read_directory(launches);
        if (status)
            mp_error_set(error, status, "cannot read the kernels: %s", mp_status_name(status));
    }
    if (status) {
        launches_close(launches);
        return status;
    }
    *result = launches;
    return MP_OK;
}

void launches_close(struct launches *launches)
{
    if (!launches)
        return;
    for (size_t i = 0; i < launches->count; i++)
        free(launches->chunks[i].correlations);
    free(launches->chunks);
    mp_map_free(&launches->by_correlation);
    mp_cursor_close(launches->cursor);
    free(launches);
}

/* Of several kernels with one correlation id (a cooperative launch on several devices) the first
 * counts. */
static enum mp_status put_kernels(struct launches *launches, struct kernels *chunk,
                                  const struct mp_batch *batch)
{
    const struct mp_kernel_columns kernel = mp_kernel_columns(batch->columns);
    const uint64_t *correlations = kernel.correlation;
    const uint64_t *shapes = kernel.shape;
    const uint64_t *nodes = kernel.node;

    for (uint32_t i = 0; i < batch->rows; i++) {
        if (nodes[i] || !correlations[i] || !shapes[i] || shapes[i] >= MP_MAP_ABSENT ||
            mp_map_get(&launches->by_correlation, correlations[i]) != MP_MAP_ABSENT)
            continue;
        MP_TRY(mp_map_put(&launches->by_correlation, correlations[i], (uint32_t)shapes[i]));
        chunk->correlations[chunk->count++] = correlations[i];
    }
    return MP_OK;
}

static enum mp_status read_next(struct launches *launches)
{
    struct kernels *chunk = &launches->chunks[launches->next++];
    struct mp_batch batch;
    enum mp_status status = mp_cursor_read_chunk(launches->cursor, chunk->offset, &batch);

    if (status == MP_ERR_DAMAGED)
        return MP_OK;
    MP_TRY(status);
    chunk->correlations = malloc(batch.rows * sizeof *chunk->correlations);
    if (!chunk->correlations)
        return MP_ERR_MEMORY;
    MP_TRY(put_kernels(launches, chunk, &batch));
    launches->ahead += chunk->count;
    if (launches->by_correlation.count > launches->max)
        launches->max = launches->by_correlation.count;
    return MP_OK;
}

/* The window moves on to a call at `time`. */
static void move_on(struct launches *launches, uint64_t time)
{
    struct kernels *chunks = launches->chunks;

    for (; launches->ahead_from < launches->next && chunks[launches->ahead_from].first_time <= time;
         launches->ahead_from++)
        launches->ahead -= chunks[launches->ahead_from].count;
    for (; launches->oldest < launches->ahead_from; launches->oldest++) {
        struct kernels *chunk = &chunks[launches->oldest];

        if (chunk->last_time + CLOCK_SLACK_NS >= time)
            return;
        for (uint32_t i = 0; i < chunk->count; i++)
            mp_map_remove(&launches->by_correlation, chunk->correlations[i]);
        free(chunk->correlations);
        chunk->correlations = NULL;
    }
}

/* A chunk that ended before the call is useless for this call and all later ones. */
static bool may_read(struct launches *launches, uint64_t time)
{
    while (launches->next < launches->count && launches->oldest == launches->next &&
           launches->chunks[launches->next].last_time + CLOCK_SLACK_NS < time) {
        launches->next++;
        launches->ahead_from++;
        launches->oldest++;
    }
    return launches->next < launches->count &&
           (launches->chunks[launches->next].first_time <= time ||
            launches->ahead < LAUNCHES_AHEAD);
}

enum mp_status launches_find(struct launches *launches, uint64_t correlation, uint64_t time,
                             uint64_t *shape)
{
    uint32_t found;

    *shape = 0;
    if (!correlation)
        return MP_OK;
    move_on(launches, time);
    while ((found = mp_map_get(&launches->by_correlation, correlation)) == MP_MAP_ABSENT &&
           may_read(launches, time)) {
        MP_TRY(read_next(launches));
        move_on(launches, time);
    }
    *shape = found == MP_MAP_ABSENT ? 0 : found;
    return MP_OK;
}

size_t launches_max(const struct launches *launches)
{
    return launches->max;
}
