/* Reads one trace: the calls of NCCL, its communicators, the kernels that carry its name, and which
 * nodes of graphs they are. Then, for those who go through its rows themselves, what each kernel
 * carries.
 */
#include <stdlib.h>
#include <string.h>

#include "base/data/algorithms.h"
#include "base/data/storage.h"
#include "profile/reading.h"
#include "reports/ranks/inside.h"
#include "trace/schema.h"

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

    MP_TRY(MP_RESERVE(part->nodes, part->node_count, part->node_capacity));
    part->nodes[part->node_count++] =
        (struct ranks_node){from.graph[row], from.graph_node[row], from.carrier[row]};
    return MP_OK;
}

/* A row of `collective`, all of whose columns are known. */
static struct ranks_call call_of(const uint64_t *const *columns, size_t row)
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

    MP_TRY(MP_RESERVE(part->calls, part->call_count, part->call_capacity));
    part->calls[part->call_count++] = call_of(batch->columns, row);
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

    *kind = SHAPE_OTHER;
    if (status != MP_OK)
        return status == MP_ERR_LIMIT ? MP_OK : status;
    enum shape_kind *known = dense_at(&part->shapes, shape);
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
    MP_TRY(MP_RESERVE(part->kernels, part->kernel_count, part->kernel_capacity));
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

/* ---- What each kernel of one trace carries ----
 *
 * For those who go through its rows themselves: the calls, sorted by the launch's correlation id
 * or, if they were captured, by the carrier of their nodes.
 *
 *     calls   | a b | c | d e |      launches 17 -> a, 20 -> c; carriers 5 -> d
 *     nodes   (graph, node) -> carrier
 */

struct ranks_operations {
    struct ranks_part part;
    struct mp_map launches; /* correlation -> first call */
    struct mp_map carriers; /* carrier -> first call */
    struct mp_map nodes;    /* ranks_node_key() -> index of part.nodes */
};

/* ---- Loading ---- */

/* What comes together: captured calls of a carrier, others of a launch; 0: of neither. */
static uint64_t key_of(const struct ranks_call *call)
{
    return call->captured ? call->carrier : call->correlation;
}

MP_COMPARE(compare_calls, struct ranks_call,
           MP_ORDER(a->captured, b->captured) ?: MP_ORDER(key_of(a), key_of(b)) ?:
           MP_ORDER(a->start, b->start) ?: MP_ORDER(a->number, b->number));

static bool belong_together(const struct ranks_call *a, const struct ranks_call *b)
{
    return a->captured == b->captured && key_of(a) == key_of(b);
}

static enum mp_status index_calls(struct ranks_operations *operations)
{
    const struct ranks_part *part = &operations->part;
    enum mp_status status = MP_OK;

    for (size_t i = 0; i < part->call_count && i < MP_MAP_ABSENT && !status; i++) {
        const struct ranks_call *call = &part->calls[i];

        if (key_of(call) && (!i || !belong_together(call - 1, call)))
            status = mp_map_put(call->captured ? &operations->carriers : &operations->launches,
                                key_of(call), (uint32_t)i);
    }
    for (size_t i = 0; i < part->node_count && i < MP_MAP_ABSENT && !status; i++)
        status = mp_map_put(&operations->nodes,
                            ranks_node_key(part->nodes[i].graph, part->nodes[i].graph_node),
                            (uint32_t)i);
    return status;
}

static enum mp_status load(struct ranks_operations *operations, struct mp_trace *trace,
                           struct mp_error *error)
{
    struct ranks_part *part = &operations->part;
    struct quality quality;
    enum mp_status status = ranks_read(trace, part, &quality, error);

    quality_free(&quality);
    MP_TRY(status);
    MP_TRY(ranks_find_launches(trace, part, error));
    if (part->call_count)
        qsort(part->calls, part->call_count, sizeof *part->calls, compare_calls);
    status = index_calls(operations);
    return status ? mp_error_set(error, status, "cannot keep NCCL's calls: out of memory") : MP_OK;
}

enum mp_status ranks_has_calls(struct mp_trace *trace, bool *has, struct mp_error *error)
{
    return reading_has_rows(trace, MP_TABLE_collective, has, error);
}

enum mp_status ranks_operations_load(struct mp_trace *trace, struct ranks_operations **operations,
                                     struct mp_error *error)
{
    bool has;

    *operations = NULL;
    MP_TRY(ranks_has_calls(trace, &has, error));
    if (!has)
        return MP_OK;
    *operations = calloc(1, sizeof **operations);
    if (!*operations)
        return mp_error_set(error, MP_ERR_MEMORY, "cannot read NCCL's calls: out of memory");
    enum mp_status status = load(*operations, trace, error);
    if (status != MP_OK) {
        ranks_operations_free(*operations);
        *operations = NULL;
    }
    return status;
}

void ranks_operations_free(struct ranks_operations *operations)
{
    if (!operations)
        return;
    ranks_part_free(&operations->part);
    mp_map_free(&operations->launches);
    mp_map_free(&operations->carriers);
    mp_map_free(&operations->nodes);
    free(operations);
}

/* ---- Finding ---- */

static uint32_t first_of(const struct ranks_operations *operations, uint64_t correlation,
                         uint64_t graph, uint64_t graph_node)
{
    if (!graph_node)
        return correlation ? mp_map_get(&operations->launches, correlation) : MP_MAP_ABSENT;
    uint32_t node = mp_map_get(&operations->nodes, ranks_node_key(graph, graph_node));
    return node == MP_MAP_ABSENT
               ? MP_MAP_ABSENT
               : mp_map_get(&operations->carriers, operations->part.nodes[node].carrier);
}

size_t ranks_operations_find(const struct ranks_operations *operations, uint64_t correlation,
                             uint64_t graph, uint64_t graph_node, size_t *first)
{
    size_t end;

    *first = operations ? first_of(operations, correlation, graph, graph_node) : MP_MAP_ABSENT;
    if (*first == MP_MAP_ABSENT)
        return 0;
    const struct ranks_call *calls = operations->part.calls;
    for (end = *first + 1;
         end < operations->part.call_count && belong_together(&calls[*first], &calls[end]);)
        end++;
    return end - *first;
}

static struct ranks_operation describe(const struct ranks_part *part, const struct ranks_call *call)
{
    const struct ranks_comm *comm = dense_at(&part->comms, call->communicator);
    struct ranks_operation operation = {
        .function = definitions_text(&part->definitions, call->function),
        .datatype = definitions_text(&part->definitions, call->datatype),
        .rank = RANKS_NONE,
        .peer = ranks_small(call->peer, RANKS_NONE),
        .number = call->number,
        .sequence = call->captured ? 0 : call->sequence,
        .bytes = call->bytes,
    };

    if (!comm || !comm->hash)
        return operation;
    operation.hash = comm->hash;
    operation.name = definitions_text(&part->definitions, comm->name);
    operation.ranks = ranks_small(comm->ranks, 0);
    operation.rank = ranks_small(comm->rank, RANKS_NONE);
    return operation;
}

struct ranks_operation ranks_operations_at(const struct ranks_operations *operations, size_t place)
{
    return describe(&operations->part, &operations->part.calls[place]);
}

struct ranks_operation ranks_operations_of(const struct ranks_operations *operations,
                                           const uint64_t *const *columns, size_t row)
{
    const struct ranks_call call = call_of(columns, row);

    return operations ? describe(&operations->part, &call)
                      : (struct ranks_operation){.rank = RANKS_NONE, .peer = RANKS_NONE};
}

static bool are_alike(const struct ranks_operation *a, const struct ranks_operation *b)
{
    return b->function && !strcmp(a->function, b->function) && a->hash == b->hash &&
           !a->datatype == !b->datatype && (!a->datatype || !strcmp(a->datatype, b->datatype));
}

bool ranks_operations_sum(const struct ranks_operations *operations, size_t first, size_t count,
                          struct ranks_operation *sum)
{
    if (!count)
        return false;
    *sum = ranks_operations_at(operations, first);
    for (size_t i = 1; i < count && sum->function; i++) {
        const struct ranks_operation operation = ranks_operations_at(operations, first + i);

        if (!are_alike(sum, &operation))
            return false;
        sum->bytes += operation.bytes;
    }
    return sum->function;
}
