/* Reads one trace: the calls of NCCL, its communicators, the kernels that carry its name, which
 * nodes of graphs they are, and which call launched which kernel. */
#include <stdlib.h>
#include <string.h>

#include "base/data/algorithms.h"
#include "base/data/storage.h"
#include "profile/reading.h"
#include "reports/ranks/inside.h"
#include "trace/codec/schema.h"

#include "base/poison.h"

static enum mp_status take_communicator(void *context, const struct mp_batch *batch, uint32_t row)
{
    const struct mp_communicator_columns from = mp_communicator_columns(batch->columns);
    struct ranks_part *part = context;
    enum mp_status status = dense_reach(&part->comms, from.id[row]);

    if (status)
        return status == MP_ERR_LIMIT ? MP_OK : status;
    *(struct ranks_comm *)dense_at(&part->comms, from.id[row]) =
        (struct ranks_comm){.hash = from.hash[row],
                            .ranks = from.ranks[row],
                            .rank = from.rank[row],
                            .name = from.name[row]};
    return MP_OK;
}

static enum mp_status take_node(void *context, const struct mp_batch *batch, uint32_t row)
{
    const struct mp_nccl_node_columns from = mp_nccl_node_columns(batch->columns);
    struct ranks_part *part = context;

    MP_TRY(mp_reserve((void **)&part->nodes, part->node_count, &part->node_capacity,
                      sizeof *part->nodes));
    part->nodes[part->node_count++] =
        (struct ranks_node){from.graph[row], from.graph_node[row], from.carrier[row]};
    return MP_OK;
}

struct ranks_call ranks_call_of(const uint64_t *const *columns, size_t row)
{
    const struct mp_collective_columns from = mp_collective_columns(columns);

    return (struct ranks_call){.communicator = from.communicator[row],
                               .function = from.function[row],
                               .number = from.number[row],
                               .sequence = from.sequence[row],
                               .datatype = from.datatype[row],
                               .bytes = from.bytes[row],
                               .peer = from.peer[row],
                               .carrier = from.carrier[row],
                               .correlation = from.correlation[row],
                               .thread = from.thread[row],
                               .algorithm = from.algorithm[row],
                               .protocol = from.protocol[row],
                               .start = from.start[row],
                               .duration = from.duration[row],
                               .captured = from.captured[row] != 0};
}

static enum mp_status take_call(void *context, const struct mp_batch *batch, uint32_t row)
{
    struct ranks_part *part = context;

    MP_TRY(mp_reserve((void **)&part->calls, part->call_count, &part->call_capacity,
                      sizeof *part->calls));
    part->calls[part->call_count++] = ranks_call_of(batch->columns, row);
    return MP_OK;
}

/* ---- Kernels ---- */

enum shape_kind { SHAPE_UNSEEN, SHAPE_OTHER, SHAPE_COLLECTIVE, SHAPE_PAIR };

static enum shape_kind look_at(const struct definitions *definitions, uint64_t id)
{
    const struct definition_shape *shape = dense_at(&definitions->shapes, id);
    const char *name =
        shape && shape->defined ? definitions_text(definitions, shape->kernel) : NULL;

    if (!name || !ranks_is_nccl(name))
        return SHAPE_OTHER;
    return strstr(name, "SendRecv") ? SHAPE_PAIR : SHAPE_COLLECTIVE;
}

static enum mp_status kind_of(struct ranks_part *part, uint64_t shape, enum shape_kind *kind)
{
    enum mp_status status = dense_reach(&part->shapes, shape);
    enum shape_kind *known;

    *kind = SHAPE_OTHER;
    if (status != MP_OK)
        return status == MP_ERR_LIMIT ? MP_OK : status;
    known = dense_at(&part->shapes, shape);
    if (*known == SHAPE_UNSEEN)
        *known = look_at(&part->definitions, shape);
    *kind = *known;
    return MP_OK;
}

static uint64_t stream_of(const struct definitions *definitions, uint64_t id)
{
    const struct definition_stream *stream = dense_at(&definitions->streams, id);

    return stream && stream->defined ? stream->stream : 0;
}

static enum mp_status keep_kernel(struct ranks_part *part, const struct mp_batch *batch,
                                  uint32_t row, bool is_pair)
{
    const struct mp_kernel_columns kernels = mp_kernel_columns(batch->columns);
    const uint64_t node = kernels.node[row];
    const struct definition_node *graph = node ? dense_at(&part->definitions.nodes, node) : NULL;
    struct ranks_kernel kernel = {.start = kernels.start[row],
                                  .correlation = kernels.correlation[row],
                                  .shape = kernels.shape[row],
                                  .stream = stream_of(&part->definitions, kernels.stream[row]),
                                  .is_pair = is_pair};

    kernel.end = kernel.start + kernels.duration[row];
    if (!kernel.start || kernel.end < kernel.start)
        return MP_OK;
    if (graph && graph->defined) {
        kernel.graph = graph->graph;
        kernel.graph_node = graph->graph_node;
    }
    MP_TRY(mp_reserve((void **)&part->kernels, part->kernel_count, &part->kernel_capacity,
                      sizeof *part->kernels));
    if (!node && part->kernel_count < MP_MAP_ABSENT)
        MP_TRY(mp_map_put(&part->by_correlation, kernel.correlation, (uint32_t)part->kernel_count));
    part->kernels[part->kernel_count++] = kernel;
    return MP_OK;
}

static enum mp_status take_kernel(void *context, const struct mp_batch *batch, uint32_t row)
{
    enum shape_kind kind;

    MP_TRY(kind_of(context, mp_kernel_columns(batch->columns).shape[row], &kind));
    return kind == SHAPE_OTHER ? MP_OK : keep_kernel(context, batch, row, kind == SHAPE_PAIR);
}

/* ---- The pass ---- */

static const struct reading_table tables[] = {
    {MP_TABLE_communicator, MP_MASK(communicator, id, hash, name, ranks, rank),
     .take_row = take_communicator},
    {MP_TABLE_nccl_node, MP_ALL_COLUMNS, .take_row = take_node},
    {MP_TABLE_collective, MP_ALL_COLUMNS, .take_row = take_call},
    {MP_TABLE_kernel, MP_MASK(kernel, stream, shape, node, start, duration, correlation),
     .take_row = take_kernel},
};

enum mp_status ranks_read(struct mp_trace *trace, struct ranks_part *part, struct quality *quality,
                          struct mp_error *error)
{
    const struct reading reading = {.trace = trace,
                                    .what = "NCCL's operations",
                                    .context = part,
                                    READING_TABLES(tables),
                                    .quality = quality,
                                    .definitions = &part->definitions,
                                    .kept = DEFINITIONS_ALL};

    *part = (struct ranks_part){0};
    definitions_init(&part->definitions, trace);
    quality_init(quality, trace);
    dense_init(&part->comms, sizeof(struct ranks_comm), definitions_limit(trace));
    dense_init(&part->shapes, sizeof(enum shape_kind), definitions_limit(trace));
    return reading_run(&reading, error);
}

void ranks_part_free(struct ranks_part *part)
{
    definitions_free(&part->definitions);
    dense_free(&part->comms);
    dense_free(&part->shapes);
    mp_map_free(&part->by_correlation);
    free(part->calls);
    free(part->kernels);
    free(part->nodes);
    *part = (struct ranks_part){0};
}

/* Which call launched which kernel, where nobody told: NVTX knows calls, and CUPTI launches.
 *
 *     thread   |- AllReduce -|     |- AllReduce -| |- AllReduce -|  |- ncclGroupEnd -|
 *                   launch                                              launch
 *
 * Outside of a group a call launches its kernel before it returns. In a group the calls wait for
 * the launch at the group's end. So a launch belongs to the call that it lies in, or else to all
 * calls of its thread since the last launch. Where these are of several communicators, each of them
 * has a kernel, and nothing says which one it is: such calls stay without a kernel.
 */

/* ---- When kernels were launched ---- */

static enum mp_status take_launch(void *context, const struct mp_batch *batch, uint32_t row)
{
    const struct mp_call_columns call = mp_call_columns(batch->columns);
    struct ranks_part *part = context;
    uint32_t index = mp_map_get(&part->by_correlation, call.correlation[row]);

    if (index == MP_MAP_ABSENT)
        return MP_OK;
    part->kernels[index].launch_thread = call.thread[row];
    part->kernels[index].launched = call.start[row];
    return MP_OK;
}

static const struct reading_table launch_tables[] = {
    {MP_TABLE_call, MP_MASK(call, thread, start, correlation), .take_row = take_launch},
};

/* ---- Calls and launches of a thread in order ---- */

/* A call or a launch. */
struct moment {
    uint64_t thread, time;
    size_t index;
    bool is_call, is_pair;
};

static int compare_moments(const void *left, const void *right)
{
    const struct moment *a = left;
    const struct moment *b = right;

    return MP_ORDER(a->thread, b->thread) ?: MP_ORDER(a->time, b->time) ?:
           ((int)b->is_call - (int)a->is_call);
}

static bool wants_launch(const struct ranks_call *call)
{
    return !call->captured && !call->correlation;
}

static size_t list_moments(const struct ranks_part *part, struct moment *moments)
{
    size_t count = 0;

    for (size_t i = 0; i < part->call_count; i++) {
        const struct ranks_call *call = &part->calls[i];
        const char *name = definitions_text(&part->definitions, call->function);

        if (wants_launch(call))
            moments[count++] =
                (struct moment){call->thread, call->start, i, true, name && ranks_is_pair(name)};
    }
    for (size_t i = 0; i < part->kernel_count; i++) {
        const struct ranks_kernel *kernel = &part->kernels[i];

        if (kernel->launched)
            moments[count++] =
                (struct moment){kernel->launch_thread, kernel->launched, i, false, kernel->is_pair};
    }
    return count;
}

static bool lies_in(const struct ranks_call *call, uint64_t time)
{
    return time >= call->start && time - call->start <= call->duration;
}

/* Whether the calls from `first` to before `end` that the launch may carry are of one
 * communicator. */
static bool is_one_communicator(const struct ranks_part *part, const struct moment *moments,
                                size_t first, size_t end, bool is_pair)
{
    const struct ranks_call *seen = NULL;

    for (size_t i = first; i < end; i++) {
        const struct ranks_call *call = &part->calls[moments[i].index];

        if (!moments[i].is_call || moments[i].is_pair != is_pair || call->correlation)
            continue;
        if (seen && seen->communicator != call->communicator)
            return false;
        seen = call;
    }
    return true;
}

/* Gives the calls from `first` on, of the launch's kind, its correlation. */
static void claim(struct ranks_part *part, const struct moment *moments, size_t first,
                  size_t launch)
{
    const bool is_pair = moments[launch].is_pair;
    const struct ranks_kernel *kernel = &part->kernels[moments[launch].index];

    if (!is_one_communicator(part, moments, first, launch, is_pair))
        return;
    for (size_t i = first; i < launch; i++) {
        struct ranks_call *call = &part->calls[moments[i].index];

        if (moments[i].is_call && moments[i].is_pair == is_pair && !call->correlation)
            call->correlation = kernel->correlation;
    }
}

/* Goes through the moments of all threads. `first` is where the group that is open began: behind
 * the last launch that was followed by a call. */
static void claim_all(struct ranks_part *part, const struct moment *moments, size_t count)
{
    size_t first = 0;

    for (size_t i = 0; i < count; i++) {
        if (i && moments[i].thread != moments[i - 1].thread)
            first = i;
        if (moments[i].is_call) {
            if (i && !moments[i - 1].is_call)
                first = i;
            continue;
        }
        if (i > first && moments[i - 1].is_call &&
            lies_in(&part->calls[moments[i - 1].index], moments[i].time))
            first = i - 1;
        claim(part, moments, first, i);
    }
}

static bool needs_launches(const struct ranks_part *part)
{
    for (size_t i = 0; i < part->call_count; i++) {
        if (wants_launch(&part->calls[i]))
            return true;
    }
    return false;
}

enum mp_status ranks_find_launches(struct mp_trace *trace, struct ranks_part *part,
                                   struct mp_error *error)
{
    const struct reading reading = {
        .trace = trace, .what = "the launches", .context = part, READING_TABLES(launch_tables)};
    struct moment *moments;
    size_t count;

    if (!part->kernel_count || !needs_launches(part))
        return MP_OK;
    MP_TRY(reading_run(&reading, error));
    moments = calloc(part->call_count + part->kernel_count, sizeof *moments);
    if (!moments)
        return mp_error_set(error, MP_ERR_MEMORY, "cannot read the launches: out of memory");
    count = list_moments(part, moments);
    qsort(moments, count, sizeof *moments, compare_moments);
    claim_all(part, moments, count);
    free(moments);
    return MP_OK;
}
