/* Counts kernels without times, and says what is not known because of them. */
#include "profile/untimed.h"

#include <stdio.h>
#include <string.h>

#include "base/text/units.h"
#include "trace/codec/schema.h"

#include "base/poison.h"

/* A smaller share is as much as percentiles and sums move from run to run. */
#define MAX_PERCENT 2

void untimed_select_only(struct mp_cursor *cursor, unsigned table, uint64_t columns)
{
    size_t count;
    const struct mp_table_info *tables = mp_tables(&count);

    for (size_t i = 0; i < count; i++)
        mp_cursor_select(cursor, &tables[i], tables[i].id == table ? columns : 0);
}

static void take_kernels(struct untimed *untimed, const struct mp_batch *batch)
{
    const struct mp_kernel_columns kernel = mp_kernel_columns(batch->columns);
    const uint64_t *starts = kernel.start;
    const uint64_t *nodes = kernel.node;

    untimed->kernels += batch->rows;
    for (uint32_t row = 0; row < batch->rows; row++) {
        untimed->without += !starts[row];
        untimed->nodes += nodes[row] != 0;
        untimed->nodes_without += !starts[row] && nodes[row];
    }
}

enum mp_status untimed_count(struct untimed *untimed, struct mp_trace *trace,
                             struct mp_error *error)
{
    const char *concurrent = mp_trace_property(trace, "MINIPROF_CONCURRENT_KERNELS");
    struct mp_cursor *cursor;
    struct mp_batch batch;
    enum mp_status status;

    if (untimed->counted)
        return MP_OK;
    *untimed = (struct untimed){.serial = concurrent && !strcmp(concurrent, "off")};
    MP_TRY(mp_cursor_open(trace, &cursor, error));
    untimed_select_only(cursor, MP_TABLE_kernel, MP_MASK(kernel, start, node));
    while ((status = mp_cursor_next(cursor, &batch)) == MP_OK)
        take_kernels(untimed, &batch);
    mp_cursor_close(cursor);
    if (status != MP_END)
        return mp_error_set(error, status, "cannot read the kernels: %s", mp_status_name(status));
    untimed->counted = true;
    return MP_OK;
}

bool untimed_share_is_too_much(uint64_t part, uint64_t whole)
{
    return part > whole / 100 * MAX_PERCENT + whole % 100 * MAX_PERCENT / 100;
}

bool untimed_is_too_many(const struct untimed *untimed)
{
    return untimed_share_is_too_much(untimed->without, untimed->kernels) ||
           (untimed->nodes && untimed->nodes_without == untimed->nodes);
}

/* Where they are, as far as that is the same for all of them. */
static const char *where(const struct untimed *untimed)
{
    if (untimed->nodes_without < untimed->without)
        return untimed->serial ? " (--concurrent-kernels off)" : "";
    return untimed->serial ? " (nodes of CUDA graphs, --concurrent-kernels off)"
                           : " (nodes of CUDA graphs)";
}

const char *untimed_describe(const struct untimed *untimed, char *text, size_t size)
{
    *text = '\0';
    if (!untimed_is_too_many(untimed))
        return text;
    snprintf(text, size, "%s of %s kernel%s %s no times%s%s", mp_count(untimed->without).text,
             mp_count(untimed->kernels).text, untimed->kernels == 1 ? "" : "s",
             untimed->without == 1 ? "has" : "have", where(untimed),
             untimed->serial ? "; record without --concurrent-kernels off" : "");
    return text;
}
