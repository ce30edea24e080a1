/* Reads one trace: the calls of NCCL, its communicators, the kernels that carry its name, and which
 * nodes of graphs they are. */
#include "reports/ranks/ranks_inside.h"

#include <stdlib.h>
#include <string.h>

#include "base/data/reserve.h"
#include "profile/reading.h"
#include "trace/codec/schema.h"

#include "base/poison.h"

struct pass {
    struct ranks_part *part;
    struct quality *quality;
};

static void ranks_select(struct mp_cursor *cursor, void *context)
{
    (void)context;
    definitions_select(cursor, true);
    quality_select(cursor);
    mp_cursor_select(cursor, mp_table_by_id(MP_TABLE_communicator),
                     MP_COLUMN_MASK(communicator, id) | MP_COLUMN_MASK(communicator, hash) |
                         MP_COLUMN_MASK(communicator, name) | MP_COLUMN_MASK(communicator, ranks) |
                         MP_COLUMN_MASK(communicator, rank));
    mp_cursor_select(cursor, mp_table_by_id(MP_TABLE_nccl_node), UINT32_MAX);
    mp_cursor_select(cursor, mp_table_by_id(MP_TABLE_collective), UINT32_MAX);
    mp_cursor_select(cursor, mp_table_by_id(MP_TABLE_kernel),
                     MP_COLUMN_MASK(kernel, stream) | MP_COLUMN_MASK(kernel, shape) |
                         MP_COLUMN_MASK(kernel, node) | MP_COLUMN_MASK(kernel, start) |
                         MP_COLUMN_MASK(kernel, duration) | MP_COLUMN_MASK(kernel, correlation));
}

static enum mp_status take_communicators(struct ranks_part *part, const struct mp_batch *batch)
{
    const uint64_t *const *columns = batch->columns;

    for (uint32_t row = 0; row < batch->rows; row++) {
        uint64_t id = columns[MP_COLUMN_communicator_id][row];
        enum mp_status status = dense_reach(&part->comms, id);

        if (status == MP_ERR_LIMIT)
            continue;
        MP_TRY(status);
        *(struct ranks_comm *)dense_at(&part->comms, id) =
            (struct ranks_comm){.hash = columns[MP_COLUMN_communicator_hash][row],
                                .ranks = columns[MP_COLUMN_communicator_ranks][row],
                                .rank = columns[MP_COLUMN_communicator_rank][row],
                                .name = columns[MP_COLUMN_communicator_name][row]};
    }
    return MP_OK;
}

static enum mp_status take_nodes(struct ranks_part *part, const struct mp_batch *batch)
{
    for (uint32_t row = 0; row < batch->rows; row++) {
        MP_TRY(mp_reserve((void **)&part->nodes, part->node_count, &part->node_capacity,
                          sizeof *part->nodes));
        part->nodes[part->node_count++] =
            (struct ranks_node){batch->columns[MP_COLUMN_nccl_node_graph][row],
                                batch->columns[MP_COLUMN_nccl_node_graph_node][row],
                                batch->columns[MP_COLUMN_nccl_node_carrier][row]};
    }
    return MP_OK;
}

struct ranks_call ranks_call_of(const uint64_t *const *columns, size_t row)
{
    return (struct ranks_call){.communicator = columns[MP_COLUMN_collective_communicator][row],
                               .function = columns[MP_COLUMN_collective_function][row],
                               .number = columns[MP_COLUMN_collective_number][row],
                               .sequence = columns[MP_COLUMN_collective_sequence][row],
                               .datatype = columns[MP_COLUMN_collective_datatype][row],
                               .bytes = columns[MP_COLUMN_collective_bytes][row],
                               .peer = columns[MP_COLUMN_collective_peer][row],
                               .carrier = columns[MP_COLUMN_collective_carrier][row],
                               .correlation = columns[MP_COLUMN_collective_correlation][row],
                               .thread = columns[MP_COLUMN_collective_thread][row],
                               .algorithm = columns[MP_COLUMN_collective_algorithm][row],
                               .protocol = columns[MP_COLUMN_collective_protocol][row],
                               .start = columns[MP_COLUMN_collective_start][row],
                               .duration = columns[MP_COLUMN_collective_duration][row],
                               .captured = columns[MP_COLUMN_collective_captured][row] != 0};
}

static enum mp_status take_calls(struct ranks_part *part, const struct mp_batch *batch)
{
    for (uint32_t row = 0; row < batch->rows; row++) {
        MP_TRY(mp_reserve((void **)&part->calls, part->call_count, &part->call_capacity,
                          sizeof *part->calls));
        part->calls[part->call_count++] = ranks_call_of(batch->columns, row);
    }
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
    const uint64_t node = batch->columns[MP_COLUMN_kernel_node][row];
    const struct definition_node *graph = node ? dense_at(&part->definitions.nodes, node) : NULL;
    struct ranks_kernel kernel = {
        .start = batch->columns[MP_COLUMN_kernel_start][row],
        .correlation = batch->columns[MP_COLUMN_kernel_correlation][row],
        .shape = batch->columns[MP_COLUMN_kernel_shape][row],
        .stream = stream_of(&part->definitions, batch->columns[MP_COLUMN_kernel_stream][row]),
        .is_pair = is_pair};

    kernel.end = kernel.start + batch->columns[MP_COLUMN_kernel_duration][row];
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

static enum mp_status take_kernels(struct ranks_part *part, const struct mp_batch *batch)
{
    for (uint32_t row = 0; row < batch->rows; row++) {
        enum shape_kind kind;

        MP_TRY(kind_of(part, batch->columns[MP_COLUMN_kernel_shape][row], &kind));
        if (kind != SHAPE_OTHER)
            MP_TRY(keep_kernel(part, batch, row, kind == SHAPE_PAIR));
    }
    return MP_OK;
}

/* ---- The pass ---- */

static enum mp_status ranks_take(void *context, const struct mp_batch *batch)
{
    struct pass *pass = context;

    switch (batch->table->id) {
    case MP_TABLE_communicator:
        return take_communicators(pass->part, batch);
    case MP_TABLE_nccl_node:
        return take_nodes(pass->part, batch);
    case MP_TABLE_collective:
        return take_calls(pass->part, batch);
    case MP_TABLE_kernel:
        return take_kernels(pass->part, batch);
    default:
        MP_TRY(definitions_take(&pass->part->definitions, batch));
        return quality_take(pass->quality, batch);
    }
}

enum mp_status ranks_read(struct mp_trace *trace, struct ranks_part *part, struct quality *quality,
                          struct mp_error *error)
{
    struct pass pass = {part, quality};
    const struct reading reading = {.trace = trace,
                                    .what = "NCCL's operations",
                                    .context = &pass,
                                    .select = ranks_select,
                                    .take = ranks_take,
                                    .quality = quality,
                                    .definitions = &part->definitions};

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
