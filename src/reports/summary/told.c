/* Counts the rows of `collective` by who told of them. */
#include "reports/summary/told.h"

#include <string.h>

#include "trace/codec/schema.h"

#include "base/poison.h"

static bool has_kernel_of_nccl(const struct mp_batch *batch)
{
    static const char *const parts[] = {"ncclDevKernel", "ncclKernel"};
    const size_t length = batch->rows && batch->text ? batch->text_end[batch->rows - 1] : 0;

    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (length && memmem(batch->text, length, parts[i], strlen(parts[i])))
            return true;
    return false;
}

static void count(struct told *told, uint64_t source)
{
    told->by_plugin += source == MP_collective_source_plugin;
    told->by_nvtx += source == MP_collective_source_nvtx;
    told->by_name += source == MP_collective_source_name;
}

void told_take_strings(struct told *told, const struct mp_batch *batch)
{
    if (!told->kernels)
        told->kernels = has_kernel_of_nccl(batch);
}

void told_take_collectives(struct told *told, const struct mp_batch *batch)
{
    const struct mp_collective_columns collective = mp_collective_columns(batch->columns);

    for (uint32_t row = 0; row < batch->rows; row++)
        count(told, collective.source[row]);
}
