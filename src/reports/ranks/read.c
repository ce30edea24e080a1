/* Reads one trace: the calls of NCCL, its communicators, the kernels that carry its name, and which
 * nodes of graphs they are. */
#include "reports/ranks/ranks_inside.h"

#include <stdlib.h>
#include <string.h>

#include "base/data/reserve.h"
#include "profile/reading.h"
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

/* ncclDevKernel_AllReduce_..., ncclKernel_SendRecv_..., ncclSymkDevKernel_... */
static enum shape_kind look_at(const struct definitions *definitions, uint64_t id)
{
    const struct definition_shape *shape = dense_at(&definitions->shapes, id);
    const char *name =
        shape && shape->defined ? definitions_text(definitions, shape->kernel) : NULL;
    const char *nccl = name ? strstr(name, "nccl") : NULL;

    if (!nccl || !strstr(nccl, "Kernel"))
        return SHAPE_OTHER;
    return strstr(nccl, "SendRecv") ? SHAPE_PAIR : SHAPE_COLLECTIVE;
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
