/* Counts the rows of `collective` by who told of them. */
#include "reports/summary/told.h"

#include <string.h>

#include "trace/codec/schema.h"

#include "base/poison.h"

void told_select(struct mp_cursor *cursor)
{
    mp_cursor_select(cursor, mp_table_by_id(MP_TABLE_collective), MP_MASK(collective, source));
}

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

void told_take(struct told *told, const struct mp_batch *batch)
{
    const struct mp_collective_columns collective = mp_collective_columns(batch->columns);

    if (batch->table->id == MP_TABLE_string && !told->kernels)
        told->kernels = has_kernel_of_nccl(batch);
    if (batch->table->id != MP_TABLE_collective)
        return;
    for (uint32_t row = 0; row < batch->rows; row++)
        count(told, collective.source[row]);
}
