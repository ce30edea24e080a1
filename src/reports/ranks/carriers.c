/* What names of NCCL say. Joins the calls of NCCL with their kernels: by the launch's correlation
 * id, or, of captured calls, by the nodes of graphs that carry them, once for each replay. Where no
 * communicator is known, kernels are operations by their order.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/data/algorithms.h"
#include "base/data/hash.h"
#include "base/data/storage.h"
#include "profile/reading.h"
#include "reports/ranks/inside.h"
#include "trace/schema.h"

#include "base/poison.h"

/* ---- What names of functions and kernels say ---- */

const char *ranks_function(const struct ranks *ranks, uint32_t function)
{
    const char *name = mp_intern_get(&ranks->names, function, NULL);

    return name ? name : "";
}

bool ranks_is_nccl(const char *kernel)
{
    const char *nccl = strstr(kernel, "nccl");

    return nccl && strstr(nccl, "Kernel");
}

const char *ranks_function_in(const char *kernel, size_t *bytes)
{
    const char *prefix = strstr(kernel, "Kernel_");
    const char *function = prefix ? prefix + strlen("Kernel_") : kernel;

    *bytes = strcspn(function, "_(<");
    return function;
}

bool ranks_is_pair(const char *function)
{
    return !strcmp(function, "Send") || !strcmp(function, "Recv");
}

bool ranks_is_synchronous(const char *function)
{
    static const char *const names[] = {"AllReduce", "AllGather", "ReduceScatter", "AlltoAll",
                                        "AllToAll",  "Barrier",   "AllGatherV"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (!strcmp(function, names[i]))
            return true;
    }
    return false;
}

uint32_t ranks_missing(const struct ranks_communicator *communicator)
{
    return communicator->ranks > communicator->member_count
               ? communicator->ranks - (uint32_t)communicator->member_count
               : 0;
}

/* ---- Which call launched which kernel ----
 *
 * Where no row says it, NVTX knows calls, and CUPTI launches.
 *
 *     thread   |- AllReduce -|     |- AllReduce -| |- AllReduce -|  |- ncclGroupEnd -|
 *                   launch                                              launch
 *
 * Outside of a group a call launches its kernel before it returns. In a group the calls wait for
 * the launch at the group's end. So a launch belongs to the call that it lies in, or else to all
 * calls of its thread since the last launch. Where these are of several communicators, each of them
 * has a kernel, and nothing says which one it is: such calls stay without a kernel.
 */

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

/* A call or a launch. */
struct moment {
    uint64_t thread, time;
    size_t index;
    bool is_call, is_pair;
};

MP_COMPARE(compare_moments, struct moment,
           MP_ORDER(a->thread, b->thread) ?: MP_ORDER(a->time, b->time) ?:
           ((int)b->is_call - (int)a->is_call));

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

/* Goes through the moments of all threads. `first` is where the group that is open began: after
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

    if (!part->kernel_count || !needs_launches(part))
        return MP_OK;
    MP_TRY(reading_run(&reading, error));
    moments = calloc(part->call_count + part->kernel_count, sizeof *moments);
    if (!moments)
        return mp_error_set(error, MP_ERR_MEMORY, "cannot read the launches: out of memory");
    size_t count = list_moments(part, moments);
    qsort(moments, count, sizeof *moments, compare_moments);
    claim_all(part, moments, count);
    free(moments);
    return MP_OK;
}

/* ---- Which calls a kernel carries ---- */

#define MAX_FUSED 4096 /* calls in one kernel; NCCL's arguments have room for hundreds */

/* A part of kernels or calls that belongs to a carrier; sorted by it, then by time. */
struct carried {
    uint64_t carrier, time;
    size_t index;
};

struct joining {
    struct ranks *ranks;
    struct ranks_part *part;
    uint32_t process;
    uint32_t *fused;         /* by kernel: calls in it */
    struct carried *kernels; /* nodes of graphs */
    size_t kernel_count;
    struct carried *calls; /* captured */
    size_t call_count;
};

/* The number of a text of the trace in ranks->names; 0: none. */
static enum mp_status name_of(const struct joining *joining, uint64_t id, uint32_t *name)
{
    const char *text = definitions_text(&joining->part->definitions, id);

    *name = 0;
    if (!text)
        return MP_OK;
    *name = mp_intern_add(&joining->ranks->names, text, strlen(text));
    return *name ? MP_OK : MP_ERR_MEMORY;
}

static void place_pair(struct op *op, const char *function, uint32_t peer)
{
    op->root = RANKS_NONE;
    op->from = op->to = RANKS_NONE;
    if (!strcmp(function, "Send")) {
        op->from = op->rank;
        op->to = peer;
    } else if (!strcmp(function, "Recv")) {
        op->from = peer;
        op->to = op->rank;
    } else {
        op->root = peer;
    }
}

/* Appends the operation of a call in a kernel. */
static enum mp_status join(const struct joining *joining, size_t call_index, size_t kernel_index,
                           uint64_t replay)
{
    const struct ranks_call *call = &joining->part->calls[call_index];
    const struct ranks_kernel *kernel = &joining->part->kernels[kernel_index];
    const struct ranks_comm *comm = dense_at(&joining->part->comms, call->communicator);
    struct ranks *ranks = joining->ranks;
    struct op op = {.number = call->number, .sequence = call->sequence, .replay = replay};

    ranks->operations++;
    MP_TRY(name_of(joining, call->function, &op.function));
    if (!comm || !comm->hash || !op.function || !call->number || comm->rank >= RANKS_NONE) {
        ranks->unmatched.unnamed++;
        return MP_OK;
    }
    MP_TRY(name_of(joining, comm->name, &op.name));
    op.hash = comm->hash;
    op.bytes = call->bytes;
    op.start = op.recorded = kernel->start;
    op.end = kernel->end;
    op.process = joining->process;
    op.rank = (uint32_t)comm->rank;
    op.ranks = comm->ranks < RANKS_NONE ? (uint32_t)comm->ranks : 0;
    op.fused = joining->fused[kernel_index] ? joining->fused[kernel_index] : 1;
    MP_TRY(name_of(joining, call->algorithm, &op.algorithm));
    MP_TRY(name_of(joining, call->protocol, &op.protocol));
    place_pair(&op, mp_intern_get(&ranks->names, op.function, NULL),
               ranks_small(call->peer, RANKS_NONE));
    MP_TRY(MP_RESERVE(ranks->ops, ranks->op_count, ranks->op_capacity));
    ranks->ops[ranks->op_count++] = op;
    return MP_OK;
}

/* ---- Launched by the call ---- */

static uint32_t kernel_of(const struct ranks_part *part, const struct ranks_call *call)
{
    if (call->captured || !call->correlation)
        return MP_MAP_ABSENT;
    return mp_map_get(&part->by_correlation, call->correlation);
}

static void count_fused(const struct joining *joining)
{
    struct ranks_part *part = joining->part;

    for (size_t i = 0; i < part->call_count; i++) {
        uint32_t kernel = kernel_of(part, &part->calls[i]);

        if (kernel == MP_MAP_ABSENT)
            continue;
        joining->fused[kernel]++;
        part->kernels[kernel].claimed = true;
    }
}

/* A rank alone on its communicator copies or does nothing. */
static bool is_alone(const struct ranks_part *part, const struct ranks_call *call)
{
    const struct ranks_comm *comm = dense_at(&part->comms, call->communicator);

    return comm && comm->ranks == 1;
}

static enum mp_status join_launched(const struct joining *joining)
{
    const struct ranks_part *part = joining->part;

    for (size_t i = 0; i < part->call_count; i++) {
        uint32_t kernel = kernel_of(part, &part->calls[i]);

        if (kernel != MP_MAP_ABSENT) {
            MP_TRY(join(joining, i, kernel, 0));
        } else if (!part->calls[i].captured || !part->calls[i].carrier) {
            joining->ranks->operations++;
            joining->ranks->unmatched.without_kernel += !is_alone(part, &part->calls[i]);
        }
    }
    return MP_OK;
}

/* ---- Launched by a graph ---- */

MP_COMPARE(compare_carried, struct carried,
           MP_ORDER(a->carrier, b->carrier) ?: MP_ORDER(a->time, b->time));

/* Finds the carriers of the kernels that graphs launched. */
static enum mp_status list_kernels(struct joining *joining)
{
    struct ranks_part *part = joining->part;
    struct mp_map nodes = {0};
    enum mp_status status = MP_OK;

    for (size_t i = 0; i < part->node_count && i < MP_MAP_ABSENT && !status; i++)
        status = mp_map_put(&nodes, ranks_node_key(part->nodes[i].graph, part->nodes[i].graph_node),
                            (uint32_t)i);
    for (size_t i = 0; i < part->kernel_count && !status; i++) {
        struct ranks_kernel *kernel = &part->kernels[i];
        uint32_t node = kernel->graph_node
                            ? mp_map_get(&nodes, ranks_node_key(kernel->graph, kernel->graph_node))
                            : MP_MAP_ABSENT;

        if (node == MP_MAP_ABSENT)
            continue;
        kernel->claimed = true;
        joining->kernels[joining->kernel_count++] =
            (struct carried){part->nodes[node].carrier, kernel->start, i};
    }
    mp_map_free(&nodes);
    qsort(joining->kernels, joining->kernel_count, sizeof *joining->kernels, compare_carried);
    return status;
}

static void list_captured(struct joining *joining)
{
    const struct ranks_part *part = joining->part;

    for (size_t i = 0; i < part->call_count; i++) {
        const struct ranks_call *call = &part->calls[i];

        if (call->captured && call->carrier)
            joining->calls[joining->call_count++] =
                (struct carried){call->carrier, call->number, i};
    }
    qsort(joining->calls, joining->call_count, sizeof *joining->calls, compare_carried);
}

static size_t same_carrier(const struct carried *items, size_t count, size_t first)
{
    size_t end = first;

    while (end < count && items[end].carrier == items[first].carrier)
        end++;
    return end - first;
}

/* All kernels of a carrier with all calls in it. More calls than a kernel can carry are a forged
 * file's. */
static enum mp_status join_carrier(const struct joining *joining, size_t kernel, size_t kernels,
                                   size_t call, size_t calls)
{
    if (calls > MAX_FUSED)
        calls = 0;
    for (size_t i = 0; i < kernels; i++) {
        size_t index = joining->kernels[kernel + i].index;

        joining->fused[index] = (uint32_t)calls;
        for (size_t k = 0; k < calls; k++)
            MP_TRY(join(joining, joining->calls[call + k].index, index, i + 1));
        if (!calls)
            joining->part->kernels[index].claimed = false;
    }
    return MP_OK;
}

static enum mp_status join_captured(const struct joining *joining)
{
    size_t call = 0;

    for (size_t kernel = 0; kernel < joining->kernel_count;) {
        uint64_t carrier = joining->kernels[kernel].carrier;
        size_t kernels = same_carrier(joining->kernels, joining->kernel_count, kernel);
        size_t calls = 0;

        while (call < joining->call_count && joining->calls[call].carrier < carrier)
            call++;
        if (call < joining->call_count && joining->calls[call].carrier == carrier)
            calls = same_carrier(joining->calls, joining->call_count, call);
        MP_TRY(join_carrier(joining, kernel, kernels, call, calls));
        kernel += kernels;
    }
    return MP_OK;
}

static enum mp_status join_all(struct joining *joining)
{
    count_fused(joining);
    MP_TRY(join_launched(joining));
    MP_TRY(list_kernels(joining));
    list_captured(joining);
    return join_captured(joining);
}

enum mp_status ranks_join(struct ranks *ranks, struct ranks_part *part, uint32_t process)
{
    struct joining joining = {.ranks = ranks, .part = part, .process = process};
    enum mp_status status = MP_ERR_MEMORY;

    joining.fused = calloc(part->kernel_count + 1, sizeof *joining.fused);
    joining.kernels = calloc(part->kernel_count + 1, sizeof *joining.kernels);
    joining.calls = calloc(part->call_count + 1, sizeof *joining.calls);
    if (joining.fused && joining.kernels && joining.calls)
        status = join_all(&joining);
    for (size_t i = 0; i < part->kernel_count; i++)
        ranks->unmatched.unclaimed_kernels += !part->kernels[i].claimed;
    free(joining.fused);
    free(joining.kernels);
    free(joining.calls);
    return status;
}

/* ---- Kernels by their order, where no communicator is known ---- */

/* Operations of a process whose communicators are not known: NCCL before 2.25 without its
 * profiler plugin, NCCL_NVTX_DISABLE=1, or graphs that were captured before recording began.
 *
 * Then the kernels on a stream are taken for the operations of one communicator, in their order,
 * with the functions that their names have. That holds only if they overlap with those on the same
 * stream of the other ranks, which lanes.c checks. Sends and receives are left out: nothing names
 * their peers. */

#define MARK UINT64_C(0x6f72646572000000) /* no hash that NCCL would give to a small stream */

bool ranks_names_communicators(const struct ranks_part *part)
{
    for (size_t i = 0; i < part->call_count; i++) {
        const struct ranks_comm *comm = dense_at(&part->comms, part->calls[i].communicator);

        if (comm && comm->hash && part->calls[i].number && comm->rank < RANKS_NONE)
            return true;
    }
    return false;
}

MP_COMPARE(compare_kernels, struct ranks_kernel,
           MP_ORDER(a->stream, b->stream) ?: MP_ORDER(a->start, b->start));

/* Older payloads have the sizes. */
static void add_sizes(struct ranks_part *part)
{
    for (size_t i = 0; i < part->call_count; i++) {
        const struct ranks_call *call = &part->calls[i];
        uint32_t kernel = call->correlation && !call->captured
                              ? mp_map_get(&part->by_correlation, call->correlation)
                              : MP_MAP_ABSENT;

        if (kernel != MP_MAP_ABSENT)
            part->kernels[kernel].bytes += call->bytes;
    }
}

/* The function in a kernel's name, ncclDevKernel_AllReduce_Sum_f32_RING_LL(...); 0: memory is out.
 */
static uint32_t function_of(struct ranks *ranks, const struct ranks_part *part, uint64_t shape)
{
    const struct definition_shape *defined = dense_at(&part->definitions.shapes, shape);
    const char *name = definitions_text(&part->definitions, defined ? defined->kernel : 0);
    size_t bytes;
    const char *function =
        ranks_function_in(name && strstr(name, "Kernel_") ? name : "unknown", &bytes);

    return mp_intern_add(&ranks->names, function, bytes);
}

static enum mp_status append(struct ranks *ranks, const struct ranks_part *part,
                             const struct ranks_kernel *kernel, const struct op *like)
{
    struct op op = *like;
    char name[32];

    snprintf(name, sizeof name, "stream %" PRIu64, kernel->stream);
    op.hash = mp_mix64(MARK + kernel->stream);
    op.name = mp_intern_add(&ranks->names, name, strlen(name));
    op.function = function_of(ranks, part, kernel->shape);
    if (!op.name || !op.function)
        return MP_ERR_MEMORY;
    op.bytes = kernel->bytes;
    op.start = op.recorded = kernel->start;
    op.end = kernel->end;
    MP_TRY(MP_RESERVE(ranks->ops, ranks->op_count, ranks->op_capacity));
    ranks->ops[ranks->op_count++] = op;
    ranks->operations++;
    ranks->by_order++;
    return MP_OK;
}

enum mp_status ranks_join_by_order(struct ranks *ranks, struct ranks_part *part, uint32_t process,
                                   uint32_t rank)
{
    struct op op = {.process = process,
                    .rank = rank,
                    .from = RANKS_NONE,
                    .to = RANKS_NONE,
                    .root = RANKS_NONE,
                    .fused = 1,
                    .by_order = true};

    add_sizes(part);
    if (part->kernel_count)
        qsort(part->kernels, part->kernel_count, sizeof *part->kernels, compare_kernels);
    for (size_t i = 0; i < part->kernel_count; i++) {
        const struct ranks_kernel *kernel = &part->kernels[i];

        if (i && kernel->stream != kernel[-1].stream)
            op.number = 0;
        if (kernel->is_pair) {
            ranks->unmatched.unclaimed_kernels++;
            continue;
        }
        op.number++;
        MP_TRY(append(ranks, part, kernel, &op));
    }
    return MP_OK;
}
