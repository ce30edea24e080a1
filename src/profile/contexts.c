/* Keeps the tables `context_info` and `stream_info`, and finds whose a stream is. */
#include "profile/contexts.h"

#include <stdlib.h>

#include "trace/schema.h"

#include "base/poison.h"

void contexts_init(struct contexts *contexts, size_t limit)
{
    *contexts = (struct contexts){.stream_count = 0};
    dense_init(&contexts->items, sizeof(struct context), limit);
}

void contexts_free(struct contexts *contexts)
{
    dense_free(&contexts->items);
    mp_map_free(&contexts->owners);
    mp_map_free(&contexts->by_names);
    free(contexts->streams);
    contexts->streams = NULL;
    contexts->stream_count = contexts->stream_capacity = 0;
}

void contexts_columns(uint32_t *masks)
{
    masks[MP_INDEX_context_info] |=
        MP_MASK(context_info, context, device, null_stream, parent, multiprocessors);
    masks[MP_INDEX_stream_info] |= MP_MASK(stream_info, stream, context, priority, flag);
}

/* ---- Filling ---- */

static enum mp_status take_contexts(struct contexts *contexts, const struct mp_batch *batch,
                                    uint64_t *refused)
{
    const struct mp_context_info_columns from = mp_context_info_columns(batch->columns);

    for (uint32_t row = 0; row < batch->rows; row++) {
        uint64_t parent = from.parent[row];
        enum mp_status status = dense_reach(&contexts->items, from.context[row]);

        if (status == MP_ERR_LIMIT) {
            ++*refused;
            continue;
        }
        MP_TRY(status);
        *(struct context *)dense_at(&contexts->items, from.context[row]) = (struct context){
            .device = from.device[row],
            .null_stream = from.null_stream[row],
            .parent = parent != from.context[row] ? parent : 0,
            .multiprocessors = from.multiprocessors[row],
            .defined = true,
        };
    }
    return MP_OK;
}

static enum mp_status reach_stream(struct contexts *contexts, uint64_t key, uint32_t *index)
{
    *index = mp_map_get(&contexts->by_names, key);
    if (*index != MP_MAP_ABSENT)
        return MP_OK;
    MP_TRY(MP_RESERVE(contexts->streams, contexts->stream_count, contexts->stream_capacity));
    *index = (uint32_t)contexts->stream_count++;
    return mp_map_put(&contexts->by_names, key, *index);
}

static enum mp_status take_streams(struct contexts *contexts, const struct mp_batch *batch)
{
    const struct mp_stream_info_columns from = mp_stream_info_columns(batch->columns);

    for (uint32_t row = 0; row < batch->rows; row++) {
        uint32_t index;

        MP_TRY(reach_stream(contexts, contexts_key(from.context[row], from.stream[row]), &index));
        contexts->streams[index] = (struct stream_description){
            .priority = (int64_t)from.priority[row], .flag = from.flag[row]};
    }
    return MP_OK;
}

enum mp_status contexts_take(struct contexts *contexts, const struct mp_batch *batch,
                             uint64_t *refused)
{
    if (batch->table->id == MP_TABLE_context_info)
        return take_contexts(contexts, batch, refused);
    return batch->table->id == MP_TABLE_stream_info ? take_streams(contexts, batch) : MP_OK;
}

enum mp_status contexts_claim(struct contexts *contexts, uint64_t context, uint64_t stream)
{
    uint64_t parent = contexts_parent(contexts, context);

    if (!parent || contexts_parent(contexts, parent) || context >= MP_MAP_ABSENT)
        return MP_OK; /* in a forged trace parents may go in a circle */
    return mp_map_put(&contexts->owners, contexts_key(parent, stream), (uint32_t)context);
}

/* ---- Questions ---- */

const struct context *contexts_find(const struct contexts *contexts, uint64_t id)
{
    const struct context *context = dense_at(&contexts->items, id);

    return context && context->defined ? context : NULL;
}

uint64_t contexts_parent(const struct contexts *contexts, uint64_t id)
{
    const struct context *context = contexts_find(contexts, id);

    return context ? context->parent : 0;
}

uint64_t contexts_owner(const struct contexts *contexts, uint64_t context, uint64_t stream)
{
    uint32_t owner = mp_map_get(&contexts->owners, contexts_key(context, stream));

    return owner == MP_MAP_ABSENT ? context : owner;
}

const struct stream_description *contexts_stream(const struct contexts *contexts, uint64_t context,
                                                 uint64_t stream)
{
    uint64_t parent = contexts_parent(contexts, context);
    uint32_t index = mp_map_get(&contexts->by_names, contexts_key(context, stream));

    if (index == MP_MAP_ABSENT && parent)
        index = mp_map_get(&contexts->by_names, contexts_key(parent, stream));
    return index == MP_MAP_ABSENT ? NULL : &contexts->streams[index];
}
