/* The second pass over the file: from rows to activities, each in its lane. */
#include <stdio.h>
#include <string.h>

#include "profile/activity.h"
#include "profile/names/names.h"
#include "profile/reading.h"
#include "reports/deps/build.h"
#include "reports/deps/lookup.h"
#include "trace/schema.h"

#include "base/poison.h"

enum mp_status deps_intern(struct deps *deps, const char *name, size_t bytes, uint32_t *id)
{
    *id = mp_intern_add(&deps->names, name, bytes);
    return *id ? MP_OK : MP_ERR_MEMORY;
}

/* ---- Names ---- */

/* Functions that synchronise by contract or in effect; a * stands for any ending. */
static const char *const blocking_calls[] = {
    "cudaFree",
    "cudaFreeHost",
    "cudaFreeArray",
    "cudaFreeMipmappedArray",
    "cudaMalloc",
    "cudaMalloc3D",
    "cudaMalloc3DArray",
    "cudaMallocArray",
    "cudaMallocHost",
    "cudaMallocManaged",
    "cudaMallocMipmappedArray",
    "cudaMallocPitch",
    "cudaHostAlloc",
    "cudaHostRegister",
    "cudaHostUnregister",
    "cudaDeviceReset",
    "cudaLibraryUnload",
    "cuMemFree",
    "cuMemFreeHost",
    "cuMemAlloc",
    "cuMemAllocHost",
    "cuMemAllocManaged",
    "cuMemAllocPitch",
    "cuMemHostAlloc",
    "cuMemHostRegister",
    "cuMemHostUnregister",
    "cuArrayDestroy",
    "cuMipmappedArrayDestroy",
    "cuModuleLoad*",
    "cuModuleUnload",
    "cuLibraryLoad*",
    "cuLibraryUnload",
    "cuCtxDestroy",
    "cuDevicePrimaryCtxReset",
};

static const char *const synchronising_calls[] = {
    "cudaDeviceSynchronize", "cudaThreadSynchronize", "cudaStreamSynchronize",
    "cudaEventSynchronize",  "cuCtxSynchronize",      "cuStreamSynchronize",
    "cuEventSynchronize",
};

static const char *const asking_calls[] = {"cudaEventQuery", "cudaStreamQuery", "cuEventQuery",
                                           "cuStreamQuery"};

/* Of the blocking ones, those that end a context and all that runs in it. */
static const char *const resetting_calls[] = {"cudaDeviceReset", "cuCtxDestroy",
                                              "cuDevicePrimaryCtxReset"};

static bool is_one_of(const char *const *list, size_t count, const char *name, size_t length)
{
    for (size_t i = 0; i < count; i++) {
        size_t wanted = strlen(list[i]);

        if (list[i][wanted - 1] == '*' ? length >= wanted - 1 && !memcmp(name, list[i], wanted - 1)
                                       : length == wanted && !memcmp(name, list[i], wanted))
            return true;
    }
    return false;
}

#define IS_ONE_OF(list, name, length) is_one_of(list, sizeof(list) / sizeof *(list), name, length)

/* nvprof's dependency analysis keeps CUPTI's version suffixes, except that of CUDA 3.2. */
static size_t length_with_suffixes(const char *name)
{
    static const char dropped[] = "_v3020";
    size_t length = strlen(name);
    size_t suffix = sizeof dropped - 1;

    if (length > suffix && !memcmp(name + length - suffix, dropped, suffix))
        return length - suffix;
    return length;
}

static enum mp_status name_call(struct deps_builder *builder, uint64_t function,
                                struct deps_name_memo *memo)
{
    const char *name = definitions_function(&builder->deps->profile->definitions, function);
    size_t length = name ? names_api_length(name) : 0;

    if (!name) {
        name = ACTIVITY_UNNAMED_CALL;
        length = strlen(name);
    }
    if (IS_ONE_OF(blocking_calls, name, length))
        memo->flags = DEPS_BLOCKS;
    if (IS_ONE_OF(resetting_calls, name, length))
        memo->flags |= DEPS_RESETS;
    if (IS_ONE_OF(synchronising_calls, name, length))
        memo->flags = DEPS_SYNCHRONISES;
    if (IS_ONE_OF(asking_calls, name, length))
        memo->flags = DEPS_ASKS;
    if (builder->suffixes)
        length = length_with_suffixes(name);
    return deps_intern(builder->deps, name, length, &memo->name);
}

static enum mp_status name_kernel(struct deps_builder *builder, uint64_t shape,
                                  struct deps_name_memo *memo)
{
    const char *name =
        definitions_kernel(&builder->deps->profile->definitions, shape, builder->style);

    if (!name)
        name = ACTIVITY_UNNAMED_KERNEL;
    return deps_intern(builder->deps, name, strlen(name), &memo->name);
}

static enum mp_status name_copy(struct deps_builder *builder, uint64_t kind,
                                struct deps_name_memo *memo)
{
    char buffer[NAMES_BYTES];
    const char *name = names_copy(kind, buffer, sizeof buffer);

    return deps_intern(builder->deps, name, strlen(name), &memo->name);
}

static enum mp_status name_graph(struct deps_builder *builder, uint64_t graph,
                                 struct deps_name_memo *memo)
{
    char buffer[NAMES_BYTES];
    const char *name = names_graph(graph, buffer, sizeof buffer);

    return deps_intern(builder->deps, name, strlen(name), &memo->name);
}

#define HOST_FUNCTION_BYTES 1024

static enum mp_status name_host_function(struct deps_builder *builder, uint64_t name,
                                         struct deps_name_memo *memo)
{
    const char *text = definitions_text(&builder->deps->profile->definitions, name);
    char buffer[HOST_FUNCTION_BYTES] = "[host function]";

    if (text && *text)
        snprintf(buffer, sizeof buffer, "[host function %s]", text);
    return deps_intern(builder->deps, buffer, strlen(buffer), &memo->name);
}

static enum mp_status name_wait(struct deps_builder *builder, uint64_t kind,
                                struct deps_name_memo *memo)
{
    const char *name = names_wait(kind);

    memo->flags = kind == MP_wait_kind_sleep                                  ? DEPS_SLEEPS
                  : kind == MP_wait_kind_mutex || kind == MP_wait_kind_rwlock ? DEPS_LOCKS
                                                                              : 0;
    return deps_intern(builder->deps, name, strlen(name), &memo->name);
}

/* What is known of the definition with this id, looked up once. An id beyond what the file can
 * justify is looked up each time. */
static enum mp_status look_up(struct deps_builder *builder, enum deps_memo_index index, uint64_t id,
                              struct deps_name_memo *memo)
{
    static enum mp_status (*const name[DEPS_MEMOS])(struct deps_builder *, uint64_t,
                                                    struct deps_name_memo *) = {
        [DEPS_MEMO_SHAPE] = name_kernel,
        [DEPS_MEMO_COPY] = name_copy,
        [DEPS_MEMO_GRAPH] = name_graph,
        [DEPS_MEMO_CALL] = name_call,
        [DEPS_MEMO_HOST_FUNCTION] = name_host_function,
        [DEPS_MEMO_WAIT] = name_wait,
    };
    struct dense *memos = &builder->memos[index];
    struct deps_name_memo *known = dense_at(memos, id);

    if (__builtin_expect(known && known->name, 1)) {
        *memo = *known;
        return MP_OK;
    }
    *memo = (struct deps_name_memo){0};
    MP_TRY(name[index](builder, id, memo));
    enum mp_status status = dense_reach(memos, id);
    if (status == MP_OK)
        *(struct deps_name_memo *)dense_at(memos, id) = *memo;
    return status == MP_ERR_LIMIT ? MP_OK : status;
}

/* ---- Rows ---- */

/* Whether the times of a row can be used. Times that cannot are counted. Distances are signed, so
 * no time may exceed 2^63 ns (the year 2262). */
static bool times_are_good(struct quality *quality, uint64_t start, uint64_t duration)
{
    if (__builtin_expect(start && start <= INT64_MAX && duration <= INT64_MAX - start, 1))
        return true;
    if (start)
        quality->reversed_times++;
    else
        quality->unknown_times++;
    return false;
}

static struct deps_activity blank(uint64_t start, uint64_t duration, uint64_t correlation)
{
    return deps_blank(start, start + duration, correlation);
}

static enum mp_status add_work(struct deps_builder *builder, struct deps_activity *activity,
                               enum deps_kind kind, uint64_t stream, uint64_t node)
{
    activity->kind = (uint8_t)kind;
    if (node)
        activity->flags |= DEPS_NODE;
    activity->node = node && node < DEPS_NONE ? (uint32_t)node : DEPS_NONE;
    activity->lane = mp_map_get(&builder->stream_rows, stream);
    deps_put(builder, activity);
    return MP_OK;
}

static enum mp_status take_kernel(void *context, const struct mp_batch *batch, uint32_t row)
{
    struct deps_builder *builder = context;
    const struct mp_kernel_columns kernel = mp_kernel_columns(batch->columns);
    struct deps_activity activity =
        blank(kernel.start[row], kernel.duration[row], kernel.correlation[row]);
    struct deps_name_memo memo;

    if (!times_are_good(&builder->deps->quality, activity.begin, kernel.duration[row]))
        return MP_OK;
    MP_TRY(look_up(builder, DEPS_MEMO_SHAPE, kernel.shape[row], &memo));
    activity.name = memo.name;
    if (kernel.shape[row] < DEPS_NONE)
        activity.shape = (uint32_t)kernel.shape[row];
    return add_work(builder, &activity, DEPS_KERNEL, kernel.stream[row], kernel.node[row]);
}

static bool is_pageable_copy(const struct mp_batch *batch, uint32_t row)
{
    const struct mp_copy_columns copy = mp_copy_columns(batch->columns);

    return copy.source[row] == MP_memory_kind_pageable ||
           copy.target[row] == MP_memory_kind_pageable;
}

/* Whether the call that makes such a copy may have to wait for the copy. */
static bool is_awaited_copy(const struct mp_batch *batch, uint32_t row)
{
    const struct mp_copy_columns copy = mp_copy_columns(batch->columns);

    return !copy.node[row] && (!(copy.flags[row] & 1) || is_pageable_copy(batch, row));
}

#define MAX_BYTES  ((UINT64_C(1) << 43) - 1)
#define MAX_COPIES ((UINT64_C(1) << 16) - 1)

static enum mp_status add_copy(struct deps *deps, const struct mp_batch *batch, uint32_t row,
                               uint32_t *index)
{
    const struct mp_copy_columns copy = mp_copy_columns(batch->columns);
    uint64_t kind = copy.kind[row], bytes = copy.bytes[row], count = copy.count[row];

    MP_TRY(MP_RESERVE(deps->copies, deps->copy_count, deps->copy_capacity));
    *index = (uint32_t)deps->copy_count;
    deps->copies[deps->copy_count++] = (struct deps_copy){
        .bytes = bytes < MAX_BYTES ? bytes : MAX_BYTES,
        .count = !count               ? 1
                 : count < MAX_COPIES ? count
                                      : MAX_COPIES,
        .pageable = is_pageable_copy(batch, row),
        .kind = kind <= MP_copy_kind_PtoP ? (unsigned)kind : MP_copy_kind_unknown,
    };
    return MP_OK;
}

static enum mp_status take_copy(void *context, const struct mp_batch *batch, uint32_t row)
{
    struct deps_builder *builder = context;
    const struct mp_copy_columns copy = mp_copy_columns(batch->columns);
    struct deps_activity activity =
        blank(copy.start[row], copy.duration[row], copy.correlation[row]);
    struct deps_name_memo memo;

    if (!times_are_good(&builder->deps->quality, activity.begin, copy.duration[row]))
        return MP_OK;
    MP_TRY(look_up(builder, DEPS_MEMO_COPY, copy.kind[row], &memo));
    activity.name = memo.name;
    MP_TRY(add_copy(builder->deps, batch, row, &activity.copy));
    if (is_awaited_copy(batch, row))
        activity.flags |= DEPS_AWAITED;
    return add_work(builder, &activity, DEPS_COPY, copy.stream[row], copy.node[row]);
}

static enum mp_status take_set(void *context, const struct mp_batch *batch, uint32_t row)
{
    struct deps_builder *builder = context;
    const struct mp_set_columns set = mp_set_columns(batch->columns);
    static const char name[] = ACTIVITY_SET_NAME;
    struct deps_activity activity = blank(set.start[row], set.duration[row], set.correlation[row]);

    if (!times_are_good(&builder->deps->quality, activity.begin, set.duration[row]))
        return MP_OK;
    if (!builder->set_name)
        MP_TRY(deps_intern(builder->deps, name, sizeof name - 1, &builder->set_name));
    activity.name = builder->set_name;
    return add_work(builder, &activity, DEPS_SET, set.stream[row], set.node[row]);
}

static enum mp_status take_graph(void *context, const struct mp_batch *batch, uint32_t row)
{
    struct deps_builder *builder = context;
    const struct mp_graph_columns graph = mp_graph_columns(batch->columns);
    struct deps_activity activity =
        blank(graph.start[row], graph.duration[row], graph.correlation[row]);
    struct deps_name_memo memo;

    if (!times_are_good(&builder->deps->quality, activity.begin, graph.duration[row]))
        return MP_OK;
    MP_TRY(look_up(builder, DEPS_MEMO_GRAPH, graph.graph[row], &memo));
    activity.name = memo.name;
    return add_work(builder, &activity, DEPS_GRAPH, graph.stream[row], 0);
}

static enum mp_status deps_read_take_call(void *context, const struct mp_batch *batch, uint32_t row)
{
    struct deps_builder *builder = context;
    const struct mp_call_columns call = mp_call_columns(batch->columns);
    struct deps_activity activity =
        blank(call.start[row], call.duration[row], call.correlation[row]);
    struct deps_name_memo memo;

    if (!times_are_good(&builder->deps->quality, activity.begin, call.duration[row]))
        return MP_OK;
    MP_TRY(look_up(builder, DEPS_MEMO_CALL, call.function[row], &memo));
    activity.name = memo.name;
    activity.flags = memo.flags | (call.stack[row] ? DEPS_STACKED : 0);
    activity.kind = DEPS_CALL;
    activity.lane = mp_map_get(&builder->thread_lanes, call.thread[row]);
    deps_put(builder, &activity);
    return MP_OK;
}

static enum mp_status take_host_function(void *context, const struct mp_batch *batch, uint32_t row)
{
    struct deps_builder *builder = context;
    const struct mp_host_function_columns host_function = mp_host_function_columns(batch->columns);
    uint64_t duration = host_function.duration[row];
    struct deps_activity activity =
        blank(host_function.start[row], duration, host_function.correlation[row]);
    struct deps_name_memo memo;

    if (!times_are_good(&builder->deps->quality, activity.begin, duration))
        return MP_OK;
    MP_TRY(look_up(builder, DEPS_MEMO_HOST_FUNCTION, host_function.name[row], &memo));
    activity.name = memo.name;
    activity.runner = mp_map_get(&builder->thread_lanes, host_function.thread[row]);
    return add_work(builder, &activity, DEPS_HOST_FUNCTION, host_function.stream[row],
                    host_function.node[row]);
}

/* Who woke a wait, as far as its row alone can say. */
static void read_waker(struct deps_builder *builder, const struct mp_batch *batch, uint32_t row,
                       struct deps_wait *wait)
{
    const struct mp_wait_columns waits = mp_wait_columns(batch->columns);
    struct deps_counts *counts = &builder->deps->counts;
    uint64_t waker = waits.waker[row];
    bool known = deps_knows_thread(builder->deps, waits.thread[row]);

    if (!waker && known)
        return;
    if (!known || waker == waits.thread[row] || !deps_knows_thread(builder->deps, waker))
        counts->unknown_wakers++;
    else if (waits.woken[row] > waits.duration[row])
        counts->wrong_wakers++;
    else
        wait->waker = mp_map_get(&builder->thread_lanes, waker);
}

static enum mp_status take_wait(void *context, const struct mp_batch *batch, uint32_t row)
{
    struct deps_builder *builder = context;
    const struct mp_wait_columns waits = mp_wait_columns(batch->columns);
    struct deps *deps = builder->deps;
    struct deps_activity activity = blank(waits.start[row], waits.duration[row], 0);
    struct deps_wait wait = {.woken = activity.begin + waits.woken[row],
                             .waker = DEPS_NONE,
                             .piece = DEPS_NONE,
                             .host_function = DEPS_NONE};
    struct deps_name_memo memo;

    if (!times_are_good(&deps->quality, activity.begin, waits.duration[row]))
        return MP_OK;
    MP_TRY(look_up(builder, DEPS_MEMO_WAIT, waits.kind[row], &memo));
    read_waker(builder, batch, row, &wait);
    activity.name = memo.name;
    activity.flags = memo.flags;
    activity.kind = DEPS_WAIT;
    activity.lane = mp_map_get(&builder->thread_lanes, waits.thread[row]);
    activity.wait = (uint32_t)deps->wait_count;
    MP_TRY(mp_reserve((void **)&deps->waits, deps->wait_count, &deps->wait_capacity, sizeof wait));
    deps->waits[deps->wait_count++] = wait;
    deps_put(builder, &activity);
    return MP_OK;
}

/* `host` and the rest are found when all calls are known (deps_lay_stretches). */
static enum mp_status take_host_time(void *context, const struct mp_batch *batch, uint32_t row)
{
    struct deps_builder *builder = context;
    const struct mp_host_time_columns host_time = mp_host_time_columns(batch->columns);
    struct deps *deps = builder->deps;
    uint64_t duration = host_time.duration[row];
    uint64_t computing = host_time.computing[row];
    struct deps_stretch stretch = {.begin = host_time.start[row],
                                   .end = host_time.start[row] + duration,
                                   .ready = host_time.ready[row],
                                   .lane =
                                       mp_map_get(&builder->thread_lanes, host_time.thread[row])};

    if (!times_are_good(&deps->quality, stretch.begin, duration) || stretch.lane == DEPS_NONE)
        return MP_OK;
    if (computing > duration)
        computing = duration;
    if (stretch.ready > duration - computing)
        stretch.ready = duration - computing;
    stretch.blocked = duration - computing - stretch.ready;
    MP_TRY(mp_reserve((void **)&deps->stretches, deps->stretch_count, &deps->stretch_capacity,
                      sizeof stretch));
    deps->stretches[deps->stretch_count++] = stretch;
    return MP_OK;
}

static enum mp_status take_sync(void *context, const struct mp_batch *batch, uint32_t row)
{
    struct deps_builder *builder = context;
    const struct mp_sync_columns syncs = mp_sync_columns(batch->columns);
    struct deps_sync sync = {
        .begin = syncs.start[row],
        .end = syncs.start[row] + syncs.duration[row],
        .correlation = syncs.correlation[row],
        .event = syncs.event[row],
        .context = syncs.context[row],
        .stream = DEPS_NONE,
        .kind = (uint8_t)syncs.kind[row],
        .failed = syncs.result[row] != 0,
    };

    if (!times_are_good(&builder->deps->quality, sync.begin, syncs.duration[row]) ||
        syncs.kind[row] > UINT8_MAX)
        return MP_OK;
    MP_TRY(mp_reserve((void **)&builder->syncs, builder->sync_count, &builder->sync_capacity,
                      sizeof sync));
    sync.thread = mp_map_get(&builder->thread_lanes, syncs.thread[row]);
    if (syncs.stream[row] != DEPS_NO_STREAM && sync.context)
        sync.stream = mp_map_get(&builder->streams, contexts_key(sync.context, syncs.stream[row]));
    builder->syncs[builder->sync_count++] = sync;
    return MP_OK;
}

/* It is a call among the rows of `sync`, with a thread that nobody asks for. */
static enum mp_status take_value(void *context, const struct mp_batch *batch, uint32_t row)
{
    struct deps_builder *builder = context;
    const struct mp_stream_value_columns values = mp_stream_value_columns(batch->columns);
    struct deps_value value = {.address = values.address[row],
                               .value = values.value[row],
                               .correlation = values.correlation[row],
                               .operation = (uint8_t)values.operation[row],
                               .wide = values.bits[row] > 32,
                               .lane = DEPS_NONE,
                               .stands = DEPS_NONE,
                               .write = DEPS_NONE};
    struct deps_sync sync = {.begin = values.start[row],
                             .end = values.start[row],
                             .correlation = values.correlation[row],
                             .event = builder->value_count,
                             .context = values.context[row],
                             .stream = DEPS_NONE,
                             .kind = DEPS_SYNC_VALUE};

    if (!times_are_good(&builder->deps->quality, values.start[row], 0) ||
        values.operation[row] > MP_value_operation_wait_nor)
        return MP_OK;
    if (values.stream[row] != DEPS_NO_STREAM && values.context[row] && value.correlation)
        sync.stream = value.lane =
            mp_map_get(&builder->streams, contexts_key(values.context[row], values.stream[row]));
    MP_TRY(MP_RESERVE(builder->values, builder->value_count, builder->value_capacity));
    MP_TRY(MP_RESERVE(builder->syncs, builder->sync_count, builder->sync_capacity));
    builder->values[builder->value_count++] = value;
    builder->syncs[builder->sync_count++] = sync;
    return MP_OK;
}

static enum mp_status take_edge(void *context, const struct mp_batch *batch, uint32_t row)
{
    struct deps_builder *builder = context;
    const struct mp_edge_columns edge = mp_edge_columns(batch->columns);

    MP_TRY(MP_RESERVE(builder->edges, builder->edge_count, builder->edge_capacity));
    builder->edges[builder->edge_count++] =
        (struct deps_edge){edge.graph[row], edge.from[row], edge.to[row]};
    return MP_OK;
}

/* ---- The pass over the file ---- */

static const struct reading_table tables[] = {
    {MP_TABLE_kernel, MP_MASK(kernel, start, duration, correlation, stream, shape, node),
     .take_row = take_kernel},
    {MP_TABLE_copy,
     MP_MASK(copy, start, duration, correlation, stream, kind, source, target, flags, bytes, node,
             count),
     .take_row = take_copy},
    {MP_TABLE_set, MP_MASK(set, start, duration, correlation, stream, node), .take_row = take_set},
    {MP_TABLE_graph, MP_MASK(graph, start, duration, correlation, stream, graph),
     .take_row = take_graph},
    {MP_TABLE_call, MP_MASK(call, start, duration, correlation, thread, function, stack),
     .take_row = deps_read_take_call},
    {MP_TABLE_sync,
     MP_MASK(sync, start, duration, correlation, thread, kind, context, stream, event, result),
     .take_row = take_sync},
    {MP_TABLE_stream_value,
     MP_MASK(stream_value, stream, context, operation, bits, address, value, start, correlation),
     .take_row = take_value},
    {MP_TABLE_host_function,
     MP_MASK(host_function, start, duration, correlation, stream, name, node, thread),
     .take_row = take_host_function},
    {MP_TABLE_wait, MP_MASK(wait, thread, kind, start, duration, waker, woken),
     .take_row = take_wait},
    {MP_TABLE_host_time, MP_MASK(host_time, thread, start, duration, computing, ready),
     .take_row = take_host_time},
    {MP_TABLE_edge, MP_MASK(edge, graph, from, to), .take_row = take_edge},
};

enum mp_status deps_read(struct deps_builder *builder, struct mp_trace *trace,
                         struct mp_error *error)
{
    const struct reading reading = {
        .trace = trace,
        .what = "the activities",
        .context = builder,
        READING_TABLES(tables),
    };

    for (int i = 0; i < DEPS_MEMOS; i++)
        dense_init(&builder->memos[i], sizeof(struct deps_name_memo), definitions_limit(trace));
    MP_TRY(reading_run(&reading, error));
    builder->deps->no_syncs = builder->sync_count == builder->value_count;
    return MP_OK;
}
