/* The first pass over the file: which lanes there are and how many rows each has, so that the
 * second pass can put every activity in its place. Reads one column of each table, in the
 * same pass as the profile.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "profile/reading.h"
#include "reports/deps/build.h"
#include "reports/deps/lookup.h"
#include "trace/schema.h"

#include "base/poison.h"

#define MAX_ACTIVITIES (DEPS_FRONT_BIT / 2)

static enum mp_status add_lane(struct deps_builder *builder, const struct deps_lane *lane,
                               uint32_t *index)
{
    struct deps *deps = builder->deps;

    MP_TRY(
        mp_reserve((void **)&deps->lanes, deps->lane_count, &builder->lane_capacity, sizeof *lane));
    deps->lanes[deps->lane_count] = *lane;
    *index = deps->lane_count++;
    return MP_OK;
}

static enum mp_status reach_thread(struct deps_builder *builder, uint64_t thread, uint32_t *lane)
{
    *lane = mp_map_get(&builder->thread_lanes, thread);
    if (*lane != MP_MAP_ABSENT)
        return MP_OK;
    const struct definition_thread *found =
        dense_at(&builder->deps->profile->definitions.threads, thread);
    MP_TRY(add_lane(
        builder,
        &(struct deps_lane){.id = thread, .tid = found ? found->tid : 0, .is_thread = true}, lane));
    return mp_map_put(&builder->thread_lanes, thread, *lane);
}

static enum mp_status reach_stream(struct deps_builder *builder, uint64_t device, uint64_t context,
                                   uint64_t stream, uint32_t *lane)
{
    uint64_t key = contexts_key(context, stream);

    *lane = mp_map_get(&builder->streams, key);
    if (*lane != MP_MAP_ABSENT)
        return MP_OK;
    MP_TRY(add_lane(builder,
                    &(struct deps_lane){.id = stream, .context = context, .device = device}, lane));
    return mp_map_put(&builder->streams, key, *lane);
}

bool deps_knows_thread(const struct deps *deps, uint64_t thread)
{
    const struct definition_thread *found = dense_at(&deps->profile->definitions.threads, thread);

    return found && found->tid;
}

/* The lane of a row of table `stream`. */
static enum mp_status reach_row(struct deps_builder *builder, uint64_t row, uint32_t *lane)
{
    *lane = mp_map_get(&builder->stream_rows, row);
    if (*lane != MP_MAP_ABSENT)
        return MP_OK;
    const struct definition_stream *found =
        dense_at(&builder->deps->profile->definitions.streams, row);
    if (found && found->defined)
        MP_TRY(reach_stream(builder, found->device, found->context, found->stream, lane));
    else /* its definition was lost: a stream of its own, of no context */
        MP_TRY(reach_stream(builder, 0, UINT32_MAX, row, lane));
    return mp_map_put(&builder->stream_rows, row, *lane);
}

/* The same of a row of work on the device; `sync` and host functions do not know which it is. */
static enum mp_status reach_work(struct deps_builder *builder, uint64_t row, uint32_t *lane)
{
    const struct definition_stream *found =
        dense_at(&builder->deps->profile->definitions.streams, row);

    MP_TRY(reach_row(builder, row, lane));
    if (found && found->defined)
        builder->deps->lanes[*lane].device = found->device;
    return MP_OK;
}

/* ---- Rows ---- */

static enum mp_status count_work(struct deps_builder *builder, const uint64_t *streams,
                                 uint32_t rows)
{
    uint32_t lane = DEPS_NONE;

    for (uint32_t row = 0; row < rows; row++) {
        if (!row || streams[row] != streams[row - 1])
            MP_TRY(reach_work(builder, streams[row], &lane));
        builder->deps->lanes[lane].count++;
    }
    return MP_OK;
}

static enum mp_status count_kernels(void *context, const struct mp_batch *batch)
{
    return count_work(context, mp_kernel_columns(batch->columns).stream, batch->rows);
}

static enum mp_status count_copies(void *context, const struct mp_batch *batch)
{
    return count_work(context, mp_copy_columns(batch->columns).stream, batch->rows);
}

static enum mp_status count_sets(void *context, const struct mp_batch *batch)
{
    return count_work(context, mp_set_columns(batch->columns).stream, batch->rows);
}

static enum mp_status count_graphs(void *context, const struct mp_batch *batch)
{
    return count_work(context, mp_graph_columns(batch->columns).stream, batch->rows);
}

static enum mp_status count_calls(void *context, const struct mp_batch *batch)
{
    struct deps_builder *builder = context;
    const uint64_t *threads = mp_call_columns(batch->columns).thread;
    uint32_t lane = DEPS_NONE;

    for (uint32_t row = 0; row < batch->rows; row++) {
        if (!row || threads[row] != threads[row - 1])
            MP_TRY(reach_thread(builder, threads[row], &lane));
        builder->deps->lanes[lane].count++;
    }
    return MP_OK;
}

/* A thread or stream that only `sync` names has a lane too, without activities. */
static enum mp_status count_sync(void *context, const struct mp_batch *batch, uint32_t row)
{
    struct deps_builder *builder = context;
    const struct mp_sync_columns sync = mp_sync_columns(batch->columns);
    uint32_t lane;

    MP_TRY(reach_thread(builder, sync.thread[row], &lane));
    if (sync.stream[row] == DEPS_NO_STREAM || !sync.context[row])
        return MP_OK;
    return reach_stream(builder, 0, sync.context[row], sync.stream[row], &lane);
}

static enum mp_status count_value(void *context, const struct mp_batch *batch, uint32_t row)
{
    const struct mp_stream_value_columns value = mp_stream_value_columns(batch->columns);
    uint32_t lane;

    if (value.stream[row] == DEPS_NO_STREAM || !value.context[row])
        return MP_OK;
    return reach_stream(context, 0, value.context[row], value.stream[row], &lane);
}

/* The threads of a wait have lanes, and that of a host function, if the trace knows them. */
static enum mp_status count_wait(void *context, const struct mp_batch *batch, uint32_t row)
{
    struct deps_builder *builder = context;
    const struct mp_wait_columns wait = mp_wait_columns(batch->columns);
    uint32_t lane;

    if (deps_knows_thread(builder->deps, wait.waker[row]))
        MP_TRY(reach_thread(builder, wait.waker[row], &lane));
    MP_TRY(reach_thread(builder, wait.thread[row], &lane));
    builder->deps->lanes[lane].count++;
    return MP_OK;
}

static enum mp_status count_host_function(void *context, const struct mp_batch *batch, uint32_t row)
{
    struct deps_builder *builder = context;
    const struct mp_host_function_columns host_function = mp_host_function_columns(batch->columns);
    uint32_t lane;

    if (deps_knows_thread(builder->deps, host_function.thread[row]))
        MP_TRY(reach_thread(builder, host_function.thread[row], &lane));
    MP_TRY(reach_row(builder, host_function.stream[row], &lane));
    builder->deps->lanes[lane].count++;
    return MP_OK;
}

static const struct reading_table tables[] = {
    {MP_TABLE_kernel, MP_MASK(kernel, stream), .take = count_kernels},
    {MP_TABLE_copy, MP_MASK(copy, stream), .take = count_copies},
    {MP_TABLE_set, MP_MASK(set, stream), .take = count_sets},
    {MP_TABLE_graph, MP_MASK(graph, stream), .take = count_graphs},
    {MP_TABLE_call, MP_MASK(call, thread), .take = count_calls},
    {MP_TABLE_sync, MP_MASK(sync, thread, context, stream), .take_row = count_sync},
    {MP_TABLE_stream_value, MP_MASK(stream_value, context, stream), .take_row = count_value},
    {MP_TABLE_wait, MP_MASK(wait, thread, waker), .take_row = count_wait},
    {MP_TABLE_host_function, MP_MASK(host_function, stream, thread),
     .take_row = count_host_function},
};

/* ---- The array ---- */

/* A stream that rows name by the parent of a green context is a stream of the green context. Its
 * rows join those of the green context's lane, whose number is in `joined`; other lanes keep
 * theirs. */
static void join_green(struct deps_builder *builder, uint32_t *joined)
{
    const struct contexts *contexts = &builder->deps->profile->definitions.contexts;
    struct deps_lane *lanes = builder->deps->lanes;

    for (uint32_t i = 0; i < builder->deps->lane_count; i++) {
        uint64_t owner =
            lanes[i].is_thread ? 0 : contexts_owner(contexts, lanes[i].context, lanes[i].id);
        uint32_t own = mp_map_get(&builder->streams, contexts_key(owner, lanes[i].id));

        joined[i] = lanes[i].is_thread || own == MP_MAP_ABSENT ? i : own;
        if (joined[i] != i)
            lanes[own].count += lanes[i].count;
    }
    mp_map_translate(&builder->stream_rows, joined);
    mp_map_translate(&builder->streams, joined);
}

/* Threads before streams, and none that joined another. `moved` gets the new numbers. */
static enum mp_status put_threads_first(struct deps *deps, const uint32_t *joined, uint32_t *moved)
{
    struct deps_lane *lanes = calloc(deps->lane_count + 1, sizeof *lanes);
    uint32_t next = 0;

    if (!lanes)
        return MP_ERR_MEMORY;
    for (int threads = 1; threads >= 0; threads--) {
        for (uint32_t i = 0; i < deps->lane_count; i++) {
            if (deps->lanes[i].is_thread != threads || joined[i] != i)
                continue;
            moved[i] = next;
            lanes[next++] = deps->lanes[i];
        }
        if (threads)
            deps->thread_count = next;
    }
    free(deps->lanes);
    deps->lanes = lanes;
    deps->lane_count = next;
    return MP_OK;
}

static enum mp_status renumber(struct deps_builder *builder)
{
    size_t count = builder->deps->lane_count + (size_t)1;
    uint32_t *joined = calloc(2 * count, sizeof *joined);

    if (!joined)
        return MP_ERR_MEMORY;
    uint32_t *moved = joined + count;
    join_green(builder, joined);
    enum mp_status status = put_threads_first(builder->deps, joined, moved);
    if (status == MP_OK) {
        mp_map_translate(&builder->thread_lanes, moved);
        mp_map_translate(&builder->stream_rows, moved);
        mp_map_translate(&builder->streams, moved);
    }
    free(joined);
    return status;
}

/* Memory for the activities. Most of this memory is touched only once, so large pages, if the
 * kernel offers them on request, save a quarter of the whole analysis's time. */
static void *new_array(size_t bytes)
{
    static const size_t large_page = (size_t)2 << 20;
    void *array = NULL;

    if (bytes < 8 * large_page)
        return malloc(bytes);
    if (posix_memalign(&array, large_page, bytes))
        return NULL;
    madvise(array, bytes, MADV_HUGEPAGE);
    return array;
}

/* Gives every lane its stretch of the array, still empty. */
static enum mp_status lay_out(struct deps_builder *builder)
{
    struct deps *deps = builder->deps;
    uint64_t total = 0;

    builder->room = calloc(deps->lane_count + 1, sizeof *builder->room);
    if (!builder->room)
        return MP_ERR_MEMORY;
    for (uint32_t i = 0; i < deps->lane_count; i++) {
        struct deps_lane *lane = &deps->lanes[i];

        builder->room[i] = lane->count;
        lane->first = (uint32_t)total;
        total += lane->count;
        lane->count = 0;
        if (total >= MAX_ACTIVITIES)
            return MP_ERR_LIMIT;
        if (lane->is_thread)
            deps->host_count = (uint32_t)total;
    }
    deps->count = (uint32_t)total;
    deps->activities = new_array((total + 1) * sizeof *deps->activities);
    return deps->activities ? MP_OK : MP_ERR_MEMORY;
}

void deps_put(struct deps_builder *builder, const struct deps_activity *activity)
{
    struct deps *deps = builder->deps;
    struct deps_lane *lane = &deps->lanes[activity->lane];

    if (activity->lane < deps->lane_count && lane->count < builder->room[activity->lane])
        deps->activities[lane->first + lane->count++] = *activity;
}

void deps_close_gaps(struct deps_builder *builder)
{
    struct deps *deps = builder->deps;
    uint32_t next = 0;

    for (uint32_t i = 0; i < deps->lane_count; i++) {
        struct deps_lane *lane = &deps->lanes[i];

        if (lane->first != next)
            memmove(&deps->activities[next], &deps->activities[lane->first],
                    lane->count * sizeof *deps->activities);
        lane->first = next;
        next += lane->count;
        if (lane->is_thread)
            deps->host_count = next;
    }
    deps->count = next;
    deps->no_calls = !deps->host_count;
}

enum mp_status deps_count(struct deps_builder *builder, struct mp_trace *trace,
                          struct mp_error *error)
{
    const struct reading reading = {.context = builder, READING_TABLES(tables)};
    struct deps *deps = builder->deps;

    deps->profile = calloc(1, sizeof *deps->profile);
    if (!deps->profile)
        return MP_ERR_MEMORY;
    MP_TRY(profile_load_with(deps->profile, trace, DEFINITIONS_ALL,
                             &(struct profile_options){builder->check, &reading}, error));
    deps->quality = deps->profile->quality;
    MP_TRY(renumber(builder));
    return lay_out(builder);
}

void deps_builder_free(struct deps_builder *builder)
{
    mp_map_free(&builder->thread_lanes);
    mp_map_free(&builder->stream_rows);
    mp_map_free(&builder->streams);
    for (int i = 0; i < DEPS_MEMOS; i++)
        dense_free(&builder->memos[i]);
    free(builder->room);
    free(builder->syncs);
    free(builder->edges);
    free(builder->values);
    *builder = (struct deps_builder){.deps = NULL};
}
