/* Operations of a process of which nobody told the communicators: NCCL before 2.25 without its
 * profiler plugin, NCCL_NVTX_DISABLE=1, or graphs that were captured before recording began.
 *
 * Then the kernels on a stream are taken for the operations of one communicator, in their order,
 * with the functions that their names have. That holds only if they overlap with those on the same
 * stream of the other ranks, which lanes.c checks. Sends and receives are left out: nothing names
 * their peers. */
#include "reports/ranks/ranks_inside.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/data/hash.h"
#include "base/data/reserve.h"

#include "base/poison.h"

#define MARK UINT64_C(0x6f72646572000000) /* no hash that NCCL would give to a small stream */

bool ranks_is_told(const struct ranks_part *part)
{
    for (size_t i = 0; i < part->call_count; i++) {
        const struct ranks_comm *comm = dense_at(&part->comms, part->calls[i].communicator);

        if (comm && comm->hash && part->calls[i].number && comm->rank < RANKS_NONE)
            return true;
    }
    return false;
}

static int compare_kernels(const void *left, const void *right)
{
    const struct ranks_kernel *a = left;
    const struct ranks_kernel *b = right;

    if (a->stream != b->stream)
        return a->stream < b->stream ? -1 : 1;
    return (a->start > b->start) - (a->start < b->start);
}

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
    const char *kernel = name ? strstr(name, "Kernel_") : NULL;
    const char *function = kernel ? kernel + strlen("Kernel_") : "unknown";

    return mp_intern_add(&ranks->names, function, strcspn(function, "_(<"));
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
    MP_TRY(mp_reserve((void **)&ranks->ops, ranks->op_count, &ranks->op_capacity, sizeof op));
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
